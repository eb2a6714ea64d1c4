"""Windows: faults that last, one at a time in one place, with as long a rest after each as it took."""

import attrs

from umi_core.data import Owner
from umi_sim.faults.kinds import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.record.items import Args


@attrs.define
class Window(Owner):
    """Until when the last one lasts, and from when on the next one may start."""

    end_ms: int = 0
    rested_ms: int = 0

    def begin(self, now_ms: int, for_ms: int) -> None:
        self.end_ms = now_ms + for_ms
        self.rested_ms = self.end_ms + for_ms

    def is_open(self, now_ms: int) -> bool:
        return now_ms < self.end_ms

    def args(self, now_ms: int, draw: Draw) -> Args | None:
        """How long the next one takes; None if it is too early for one."""
        return {"for_ms": log_uniform(draw, "for_ms", WINDOW_MS_MAX)} if now_ms >= self.rested_ms else None

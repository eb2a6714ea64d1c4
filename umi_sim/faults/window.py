"""Windows: faults that last. At most one fault window per place; after N ms open, N ms closed."""

from typing import Final

import attrs

from umi_core.data import Owner
from umi_sim.faults.luck import Luck, log_uniform

WINDOW_MS_MAX: Final = 60_000


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

    def is_rested(self, now_ms: int) -> bool:
        """Whether the next one may start."""
        return now_ms >= self.rested_ms


def window_ms(luck: Luck) -> int:
    """How long a window lasts."""
    return log_uniform(luck, "for_ms", WINDOW_MS_MAX)

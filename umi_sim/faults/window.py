"""Windows: faults that last. At most one per place is open; after N ms open it stays closed for N ms."""

from typing import Any, Final

from umi_core.data import Owner

WINDOW_MS_MAX: Final = 60_000


class Window(Owner):
    """The end of the last window, the earliest start of the next one, and the fault of the last one."""

    end_ms: int = 0
    rested_ms: int = 0
    fault: Any = None

    def begin(self, now_ms: int, for_ms: int, fault: object = None) -> None:
        self.end_ms = now_ms + for_ms
        # As long again without one, or a run would be nothing but windows.
        self.rested_ms = self.end_ms + for_ms
        self.fault = fault

    def is_open(self, now_ms: int) -> bool:
        return now_ms < self.end_ms

    def is_rested(self, now_ms: int) -> bool:
        """Return whether the next window may begin."""
        return now_ms >= self.rested_ms

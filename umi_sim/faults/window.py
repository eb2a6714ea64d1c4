"""Windows: faults that last. At most one per place is open; after N ms none opens for another N ms."""

from typing import Any, Final

from umi_core.data import Owner

WINDOW_MS_MAX: Final = 60_000


class Window(Owner):
    """The last fault window of a place: its end, its fault, and the earliest start of the next window."""

    end_ms: int = 0
    rested_ms: int = 0
    fault: Any = None

    def begin(self, now_ms: int, for_ms: int, fault: object = None) -> None:
        self.end_ms = now_ms + for_ms
        # A pause of the same length follows, or a run would consist of windows only.
        self.rested_ms = self.end_ms + for_ms
        self.fault = fault

    def is_open(self, now_ms: int) -> bool:
        return now_ms < self.end_ms

    def is_rested(self, now_ms: int) -> bool:
        """Return whether the next window may open."""
        return now_ms >= self.rested_ms

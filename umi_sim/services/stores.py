"""Stores by name: each has its own rows, and its own windows in which it is dead, full or lagging.

An effect names its store (`Read.store`, `Commit.store`). Most worlds have only `main`. A fault of a call
affects the store of that call and no other.
"""

from umi_core.data import SET_LATER, Data, Owner
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_sim.services.storage import SimStorage


class Tight(Data):
    """A window in which the store has this capacity."""

    until_ms: int
    capacity_bytes: int


class Lag(Data):
    """A window of search index lag: until `until_ms` searches do not see rows younger than `lag_ms`."""

    until_ms: int
    lag_ms: int


class SimStore(Owner):
    """One store. `capacity_bytes`: its usual capacity (None: unlimited). `page_rows`: the most rows per page.

    It does not answer before `dead_until_ms`. Calls that were sent at `wiped_ms` or earlier are lost.
    """

    capacity_bytes: int | None = None
    page_rows: int = PAGE_ROW_COUNT_MAX
    storage: SimStorage = SET_LATER
    tight: Tight | None = None
    lags: list[Lag] = []
    dead_until_ms: int = 0
    wiped_ms: int = -1

    def __post_init__(self) -> None:
        self.storage = SimStorage(capacity_bytes=self.capacity_bytes, page_rows=self.page_rows)

    def turn_to(self, now_ms: int) -> None:
        """Set the time: begin or end windows, and forget old idempotency keys."""
        self.storage.forget(now_ms)
        tight = self.tight if self.tight is not None and now_ms < self.tight.until_ms else None
        self.storage.capacity_bytes = self.capacity_bytes if tight is None else tight.capacity_bytes
        lags = [lag.lag_ms for lag in self.lags if now_ms < lag.until_ms]
        self.storage.horizon_ms = now_ms - max(lags) if lags else None

    def is_dead(self, sent_ms: int, now_ms: int) -> bool:
        """Return whether a call that was sent at `sent_ms` and arrives now is lost."""
        return now_ms < self.dead_until_ms or sent_ms <= self.wiped_ms

    def lag_since(self, at_ms: int) -> int:
        """Return the longest lag that searches have had since `at_ms`, in ms."""
        return max((lag.lag_ms for lag in self.lags if at_ms < lag.until_ms), default=0)

    def crash(self, now_ms: int, for_ms: int) -> None:
        """Lose the pending batches, and answer nothing for a while."""
        self.storage.crash()
        self.dead_until_ms = now_ms + for_ms

    def wipe(self, now_ms: int, for_ms: int) -> None:
        """Lose everything, and answer nothing for a while."""
        self.storage.wipe()
        self.wiped_ms, self.dead_until_ms = now_ms, now_ms + for_ms

    def heal(self, now_ms: int) -> None:
        """End all windows, and remove the limit of capacity."""
        self.dead_until_ms = 0
        self.capacity_bytes = self.tight = None
        # Lags are ended rather than dropped, since `lag_since` still needs those of the past.
        self.lags = [Lag(min(now_ms, lag.until_ms), lag.lag_ms) for lag in self.lags]
        self.turn_to(now_ms)

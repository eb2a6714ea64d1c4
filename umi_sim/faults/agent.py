"""Faults of an agent: it crashes, comes back with less room, or nothing reaches it for a while."""

from typing import ClassVar, Final, Protocol, Self

from umi_core.limits import DAY_MS
from umi_sim.faults.declaration import family, fault, one_of, whole
from umi_sim.faults.luck import Luck, log_uniform, pick
from umi_sim.faults.window import WINDOW_MS_MAX, Window, window_ms

CLOCKS: Final = ("runs", "stands")


class Life(Protocol):
    """An agent before an event that would reach it."""

    @property
    def now_ms(self) -> int: ...
    @property
    def window(self) -> Window: ...
    @property
    def is_recovering(self) -> bool: ...

    def entry_counts(self) -> tuple[int, int]:
        """Of core as it is stored: the entries about itself, and all."""
        ...

    def crash(self, down_ms: int, entry_count_max: int | None = None) -> None:
        """It is down, and has this limit in its next life; None: the usual one."""
        ...

    def pause(self, for_ms: int, *, clock_stands: bool) -> None:
        """Nothing reaches it for a while."""
        ...


@family
class Down:
    """Memory and everything volatile are gone, for a while."""

    kind: ClassVar[str]
    down_ms: int = whole()

    @classmethod
    def may_strike(cls, life: Life) -> bool:
        return not life.is_recovering

    @classmethod
    def draw(cls, life: Life, luck: Luck) -> Self | None:
        return cls(down_ms=log_uniform(luck, "down_ms", WINDOW_MS_MAX))

    def strike(self, life: Life) -> None:
        life.crash(self.down_ms)


@fault("agent.event", "window", guards=("STO-1", "SER-5", "LIVE-4"), explored=True)
class Crash(Down):
    """Memory and everything volatile are gone; a new life recovers later."""


@fault("agent.event", "window", guards=("LIVE-4", "IDEM-1"), explored=True)
class CrashAgain(Down):
    """The same, during recovery."""

    @classmethod
    def may_strike(cls, life: Life) -> bool:
        return life.is_recovering


def crash_kind(*, is_recovering: bool) -> str:
    """The kind of a crash that comes now."""
    return CrashAgain.kind if is_recovering else Crash.kind


@fault("agent.event", "window", guards=("CORE-2", "STO-1", "LIVE-4"))
class LowerLimit(Down):
    """A crash, and later lives have room for fewer entries in core."""

    core_entry_count_max: int = whole()

    @classmethod
    def draw(cls, life: Life, luck: Luck) -> Self | None:
        """Below what core holds; its own entries never leave it."""
        own, count = life.entry_counts()
        if own >= count:
            return None
        limit = own + luck("core_entry_count_max", count - own)
        return cls(core_entry_count_max=limit, down_ms=log_uniform(luck, "down_ms", WINDOW_MS_MAX))

    def strike(self, life: Life) -> None:
        life.crash(self.down_ms, self.core_entry_count_max)


@fault("agent.event", "window", guards=("TTL-1", "DET-4"))
class Pause:
    """Nothing reaches the agent for a while; its clock runs on, or stands and catches up."""

    for_ms: int = whole(0, DAY_MS)  # the world goes on while something is held, so it must end
    clock: str = one_of(*CLOCKS)

    @classmethod
    def may_strike(cls, life: Life) -> bool:
        return life.window.is_rested(life.now_ms)

    @classmethod
    def draw(cls, life: Life, luck: Luck) -> Self:
        return cls(for_ms=window_ms(luck), clock=pick(luck, "clock", CLOCKS))

    def strike(self, life: Life) -> None:
        life.pause(self.for_ms, clock_stands=self.clock == "stands")

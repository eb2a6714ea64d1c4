"""Faults of an agent: it crashes, has less room, is taken over, or nothing reaches it for a while."""

from collections.abc import Callable
from typing import ClassVar, Final

from umi_core.data import Owner
from umi_core.limits import DAY_MS
from umi_sim.faults.arguments import among, below, one_of, span_ms
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.window import WINDOW_MS_MAX, Window

ASK_COUNT_MAX: Final = 4
# The most recoveries in a row that may crash. Otherwise a recovery that reads sixty pages would hardly ever
# end, and the run would fail for that reason alone.
RECOVERY_CRASH_COUNT_MAX: Final = 32


class AgentEvent(Owner):
    """An agent just before an event is delivered to it, with the functions that a fault may call.

    `entry_counts`: returns how many entries of stored core are about the agent itself, and how many there
    are in total.
    `recovery_crash_count`: how many recoveries in a row have crashed.
    `crash(down_ms, limit)`: stop the agent; its next incarnation has this limit of entries, if any.
    `pause(for_ms, clock_stands)`: hold all messages and operations for a while.
    `take_over(for_ms, ask_count)`: begin a new incarnation; the old one sleeps for a while, then runs beside
    it and gets the next `ask_count` operations.
    """

    now_ms: int
    window: Window
    is_recovering: bool
    recovery_crash_count: int
    entry_counts: Callable[[], tuple[int, int]]
    crash: Callable[[int, int | None], None]
    pause: Callable[[int, bool], None]
    take_over: Callable[[int, int], None]


class Down(FaultKind):
    """Family of crashes: all volatile state is lost, and the agent is down for a while."""

    in_recovery: ClassVar[bool] = False
    down_ms: int = span_ms(1, WINDOW_MS_MAX)

    @classmethod
    def can_apply(cls, event: AgentEvent) -> bool:
        # Recovery has few events, so a single kind for both would hardly ever be injected in a recovery.
        return event.is_recovering == cls.in_recovery

    def apply(self, event: AgentEvent) -> None:
        event.crash(self.down_ms, None)


class AgentCrash(Down, at="agent.event", is_a="window", guards=("STO-1", "SER-5", "LIVE-4"), explored=True):
    """Memory and everything volatile are gone; a new incarnation recovers later."""


class CrashAgain(Down, at="agent.event", is_a="window", guards=("LIVE-4", "IDEM-1"), explored=True):
    """The same, during recovery."""

    in_recovery = True

    @classmethod
    def can_apply(cls, event: AgentEvent) -> bool:
        return super().can_apply(event) and event.recovery_crash_count < RECOVERY_CRASH_COUNT_MAX


class LowerLimit(Down, at="agent.event", is_a="window", guards=("CORE-2", "STO-1", "LIVE-4")):
    """A crash, and later incarnations have room for fewer entries in core."""

    # Below the number of stored entries, so that the next incarnation has to evict. Not below the number of
    # entries about the agent itself, since those never leave core.
    core_entry_count_max: int = among(lambda event: range(*event.entry_counts()))

    def apply(self, event: AgentEvent) -> None:
        event.crash(self.down_ms, self.core_entry_count_max)


class Pause(FaultKind, at="agent.event", is_a="window", guards=("TTL-1", "DET-4")):
    """Nothing reaches the agent for a while; its clock runs on, or stands and catches up."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX, readable=DAY_MS)  # limited, since the world runs on during it
    clock: str = one_of("runs", "stands")

    def apply(self, event: AgentEvent) -> None:
        event.pause(self.for_ms, self.clock == "stands")


class TakenOver(FaultKind, at="agent.event", is_a="window", guards=("STO-8", "STO-1")):
    """The agent sleeps, its next incarnation starts, and the old one wakes up and goes on beside it."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX)
    ask_count: int = below(ASK_COUNT_MAX + 1)  # how many operations are still sent to the old incarnation

    @classmethod
    def can_apply(cls, event: AgentEvent) -> bool:
        return not event.is_recovering

    def apply(self, event: AgentEvent) -> None:
        """Take over, unless the agent still recovers: then the old incarnation would claim its epoch last."""
        # Checked again, since in a replay of fewer items this event may happen at another moment.
        if self.can_apply(event):
            event.take_over(self.for_ms, self.ask_count)

"""Faults of an agent: it crashes, has less room, is taken over, or nothing reaches it for a while."""

from collections.abc import Callable
from typing import ClassVar, Final

from umi_core.data import Owner
from umi_core.limits import DAY_MS
from umi_sim.faults.arguments import among, below, one_of, span_ms
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.window import WINDOW_MS_MAX, Window

ASK_COUNT_MAX: Final = 4
# Crashes of one recovery after the other, before one is left alone. A recovery that reads its rows on sixty
# pages would hardly ever end otherwise, and a run would fail for that alone: `narrow` seed 991015 did.
RECOVERY_CRASH_COUNT_MAX: Final = 32


class AgentEvent(Owner):
    """An agent before an event that would reach it, and what a fault may do to it.

    `entry_counts`: of core as it is stored, the entries about itself and all. `crash`: it is down for so
    long, and its next life has this limit, or the usual one. `pause`: nothing reaches it for so long, and
    its clock stands or not. `recovery_crash_count`: so many recoveries in a row have crashed. `take_over`: it
    sleeps for so long while a new life has its place, and then goes on beside it, with so many of the next
    operations.
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
    """Memory and everything volatile are gone, for a while."""

    in_recovery: ClassVar[bool] = False
    down_ms: int = span_ms(1, WINDOW_MS_MAX)

    @classmethod
    def may_strike(cls, life: AgentEvent) -> bool:
        # Recovery has few events, so one kind for both would hardly ever strike there.
        return life.is_recovering == cls.in_recovery

    def strike(self, life: AgentEvent) -> None:
        life.crash(self.down_ms, None)


class AgentCrash(Down, at="agent.event", is_a="window", guards=("STO-1", "SER-5", "LIVE-4"), explored=True):
    """Memory and everything volatile are gone; a new life recovers later."""


class CrashAgain(Down, at="agent.event", is_a="window", guards=("LIVE-4", "IDEM-1"), explored=True):
    """The same, during recovery."""

    in_recovery = True

    @classmethod
    def may_strike(cls, life: AgentEvent) -> bool:
        return super().may_strike(life) and life.recovery_crash_count < RECOVERY_CRASH_COUNT_MAX


class LowerLimit(Down, at="agent.event", is_a="window", guards=("CORE-2", "STO-1", "LIVE-4")):
    """A crash, and later lives have room for fewer entries in core."""

    # Below the number of stored entries, so that the next
    # life has to evict; never below its own ones, which stay.
    core_entry_count_max: int = among(lambda life: range(*life.entry_counts()))  # its own never leave core

    def strike(self, life: AgentEvent) -> None:
        life.crash(self.down_ms, self.core_entry_count_max)


class Pause(FaultKind, at="agent.event", is_a="window", guards=("TTL-1", "DET-4")):
    """Nothing reaches the agent for a while; its clock runs on, or stands and catches up."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX, readable=DAY_MS)  # the world goes on meanwhile, so it must end
    clock: str = one_of("runs", "stands")

    def strike(self, life: AgentEvent) -> None:
        life.pause(self.for_ms, self.clock == "stands")


class TakenOver(FaultKind, at="agent.event", is_a="window", guards=("STO-8", "STO-1")):
    """It sleeps, a new life takes its place, and it wakes up and goes on beside it."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX)
    ask_count: int = below(ASK_COUNT_MAX + 1)  # of the next operations, still sent to the old life

    @classmethod
    def may_strike(cls, life: AgentEvent) -> bool:
        return not life.is_recovering

    def strike(self, life: AgentEvent) -> None:
        """Take over, but not from a life that still recovers: it would claim its epoch last."""
        # Asked again, as a replay of fewer items may come to this
        # event at another moment than the run it was drawn in.
        if self.may_strike(life):
            life.take_over(self.for_ms, self.ask_count)

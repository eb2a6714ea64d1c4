"""Faults of an agent's clock, drawn for the next operation of the agent.

Their effects are moves of the clock, each an item with a time of its own; a move also ends a lasting fault.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Final, Self

from umi_core.data import Owner
from umi_sim.faults.arguments import flag, span_ms, whole
from umi_sim.faults.declaration import KINDS, FaultKind
from umi_sim.faults.draws import Draws, log_uniform, pick
from umi_sim.faults.window import WINDOW_MS_MAX, Window
from umi_sim.kernel.prng import DENOMINATOR_MAX
from umi_sim.record.items import Args

JUMP_MS_MAX: Final = 30 * 86_400_000
RARE: Final = 4  # one draw in four is of the rarer sort
SLIGHT: Final = 1_000  # the denominator of a usual drift, which is at most 10 / 1,000
RATES: Final = ((1, 2), (2, 3), (3, 2), (2, 1))

Moves = tuple[tuple[int, str, Args], ...]  # (delay in ms, move, its arguments)


class Moment(Owner):
    """The world time of the next operation.

    `remaining`: for each deadline of the agent, how many ms it is ahead.
    """

    now_ms: int
    window: Window
    remaining: Sequence[int]


class ClockFault(FaultKind):
    """Family of clock faults: one move begins the fault; if it lasts, another move ends it."""

    @classmethod
    @abstractmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        """Return whether this move begins such a fault."""


class Jump(ClockFault):
    """Family of jumps: the clock shows another time from now on."""

    by_ms: int = whole(-JUMP_MS_MAX, JUMP_MS_MAX)
    sign: ClassVar[int]

    @classmethod
    def can_apply(cls, moment: Moment) -> bool:
        return not moment.window.is_open(moment.now_ms)

    @classmethod
    def draw(cls, moment: Moment, draws: Draws) -> Self:
        """Draw a jump by up to 30 days, or exactly to a deadline."""
        bits = 1 + draws("bits", JUMP_MS_MAX.bit_length() - 1)
        # Jumps by milliseconds and by days are equally likely, since they find different bugs: a jump by 5 ms
        # finds those at deadlines.
        by_ms = (1 << (bits - 1)) + draws("by_ms", 1 << (bits - 1))
        if moment.remaining and draws("exact", RARE) == 0:
            # Jump exactly to a deadline.
            by_ms = pick(draws, "which", moment.remaining)
        return cls(by_ms=cls.sign * by_ms)

    def apply(self, moment: Moment) -> Moves:
        return ((0, "jump", {"by_ms": self.by_ms}),)

    @classmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        # A jump by 0 in a file that was edited by hand counts as a jump back.
        return move == "jump" and (int(str(args["by_ms"])) > 0) == (cls.sign > 0)


class JumpForward(Jump, at="agent.clock", is_a="quirk", guards=("TTL-1", "STO-7")):
    """The clock jumps ahead."""

    sign = 1


class JumpBack(Jump, at="agent.clock", is_a="quirk", guards=("TTL-3", "STO-7")):
    """The clock jumps back."""

    sign = -1


@cache
def jump_signs(kinds: tuple[str, ...]) -> tuple[int, ...]:
    """Return the directions in which a clock may jump with these kinds of faults: 1 ahead, -1 back."""
    return tuple(kind.sign for name, kind in KINDS.items() if name in kinds and issubclass(kind, Jump))


class Freeze(ClockFault, at="agent.clock", is_a="window", guards=("TTL-1", "STO-7")):
    """The clock stands for a while, then runs on or catches up."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX)
    catch_up: bool = flag()

    def apply(self, moment: Moment) -> Moves:
        return (0, "freeze", {}), (self.for_ms, "thaw", {"catch_up": self.catch_up})

    @classmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        return move == "freeze"


class ClockDrift(ClockFault, at="agent.clock", is_a="window", guards=("TTL-2", "SER-5")):
    """The clock is fast or slow for a while."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX)
    num: int = whole(1, DENOMINATOR_MAX)
    den: int = whole(1, DENOMINATOR_MAX)

    @classmethod
    def draw(cls, moment: Moment, draws: Draws) -> Self:
        """Draw a slightly wrong speed, or in one of four cases a grossly wrong one of RATES."""
        off = 1 + draws("off", 10)
        # 1,003/1,000 is three milliseconds too fast in a second: more than real clocks, so that it matters
        # within a minute.
        slight = SLIGHT + (off if draws("fast", 2) else -off), SLIGHT
        num, den = pick(draws, "rate", RATES) if draws("rough", RARE) == 0 else slight
        return cls(for_ms=log_uniform(draws, "for_ms", WINDOW_MS_MAX), num=num, den=den)

    def apply(self, moment: Moment) -> Moves:
        drift, usual = {"num": self.num, "den": self.den}, {"num": 1, "den": 1}
        return (0, "drift", drift), (self.for_ms, "drift", usual)

    @classmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        # A move back to 1/1 ends a drift.
        return move == "drift" and args["num"] != args["den"]

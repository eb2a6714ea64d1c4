"""Faults of an agent's clock, drawn for an operation that is about to come.

What such a fault does are moves of the clock, each an item with a time of its own; what lasts ends by a move.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Final, Self

import attrs

from umi_core.data import Owner
from umi_sim.faults.declaration import KINDS, family, fault, flag, whole
from umi_sim.faults.luck import Luck, pick
from umi_sim.faults.window import Window, window_ms
from umi_sim.kernel.prng import DENOMINATOR_MAX
from umi_sim.record.items import Args

JUMP_MS_MAX: Final = 30 * 86_400_000
RARE: Final = 4  # one draw in so many is of the rarer sort
SLIGHT: Final = 1_000  # the denominator of a usual drift, which is at most ten of these
RATES: Final = ((1, 2), (2, 3), (3, 2), (2, 1))

Moves = tuple[tuple[int, str, Args], ...]  # in so many ms: move, args


@attrs.define
class Moment(Owner):
    """World time of an operation to come.

    `remaining`: how far ahead the instants are that matter to its agent.
    """

    at_ms: int
    window: Window
    remaining: Sequence[int]


@family
class Jump:
    """The clock shows another time from now on."""

    by_ms: int = whole(-JUMP_MS_MAX, JUMP_MS_MAX)
    sign: ClassVar[int]

    @classmethod
    def may_strike(cls, moment: Moment) -> bool:
        return not moment.window.is_open(moment.at_ms)

    @classmethod
    def draw(cls, moment: Moment, luck: Luck) -> Self:
        """Up to 30 days, or exactly as long as something still has to live."""
        bits = 1 + luck("bits", JUMP_MS_MAX.bit_length() - 1)
        by_ms = (1 << (bits - 1)) + luck("by_ms", 1 << (bits - 1))
        if moment.remaining and luck("exact", RARE) == 0:
            by_ms = pick(luck, "which", moment.remaining)
        return cls(by_ms=cls.sign * by_ms)

    def strike(self, moment: Moment) -> Moves:
        return ((0, "jump", {"by_ms": self.by_ms}),)

    @classmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        """Whether this move is such a fault."""
        by_ms = args.get("by_ms")
        return move == "jump" and isinstance(by_ms, int) and (by_ms > 0) == (cls.sign > 0)


@fault("agent.clock", "quirk", guards=("TTL-1", "STO-7"))
class JumpForward(Jump):
    """The clock jumps ahead."""

    sign = 1


@fault("agent.clock", "quirk", guards=("TTL-3", "STO-7"))
class JumpBack(Jump):
    """The clock jumps back."""

    sign = -1


@cache
def jump_signs(kinds: tuple[str, ...]) -> tuple[int, ...]:
    """Which ways a clock may jump with these kinds of faults: 1 ahead, -1 back."""
    found = [KINDS[name].cls for name in KINDS if name in kinds]
    return tuple(cls.sign for cls in found if issubclass(cls, Jump))


@family
class Deviating:
    """The clock goes otherwise for a while."""

    for_ms: int = whole()

    @classmethod
    def may_strike(cls, moment: Moment) -> bool:
        return moment.window.is_rested(moment.at_ms)

    def strike(self, moment: Moment) -> Moves:
        moment.window.begin(moment.at_ms, self.for_ms)
        begins, ends = self.ends()
        return (0, *begins), (self.for_ms, *ends)

    @abstractmethod
    def ends(self) -> tuple[tuple[str, Args], tuple[str, Args]]:
        """The moves with which it begins and ends."""


@fault("agent.clock", "window", guards=("TTL-1", "STO-7"))
class Freeze(Deviating):
    """The clock stands for a while, then runs on or catches up."""

    catch_up: bool = flag()

    @classmethod
    def draw(cls, moment: Moment, luck: Luck) -> Self:
        return cls(for_ms=window_ms(luck), catch_up=luck("catch_up", 2) == 1)

    def ends(self) -> tuple[tuple[str, Args], tuple[str, Args]]:
        return ("freeze", {}), ("thaw", {"catch_up": self.catch_up})

    @classmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        return move == "freeze"


@fault("agent.clock", "window", guards=("TTL-2", "SER-5"))
class Drift(Deviating):
    """The clock is fast or slow for a while."""

    num: int = whole(1, DENOMINATOR_MAX)
    den: int = whole(1, DENOMINATOR_MAX)

    @classmethod
    def draw(cls, moment: Moment, luck: Luck) -> Self:
        """Seldom half or double speed, mostly a little fast or slow."""
        for_ms, (num, den) = window_ms(luck), (0, 0)
        if luck("rough", RARE) == 0:
            num, den = pick(luck, "rate", RATES)
        else:
            off = 1 + luck("off", 10)
            num, den = SLIGHT + (off if luck("fast", 2) else -off), SLIGHT
        return cls(for_ms=for_ms, num=num, den=den)

    def ends(self) -> tuple[tuple[str, Args], tuple[str, Args]]:
        return ("drift", {"num": self.num, "den": self.den}), ("drift", {"num": 1, "den": 1})

    @classmethod
    def is_begun_by(cls, move: str, args: Args) -> bool:
        return move == "drift" and args["num"] != args["den"]

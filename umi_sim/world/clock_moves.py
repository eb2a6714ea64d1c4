"""Moves of an agent's clock, made when their time comes.

Law 1. A move that lasts is two moves: its end is drawn with it, and has an item and a time of its own.
Law 2. A landing goes forward only, and over nothing that would happen meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import Final

from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import Args, ClockMove
from umi_sim.world.agent import Tally


def make(clock: SimClock, item: ClockMove, now_ms: int, free_ms: int, tally: Tally) -> bool:
    """Move the clock and count what that is; False if it is a landing that comes too late or goes too far.

    `free_ms`: how long nothing else happens.
    """
    before_ms = clock.reading(now_ms)
    if not MAKERS[item.move](clock, now_ms, item.args, free_ms):
        return False
    kind = kind_of(item)
    if kind:
        is_in_vain = item.move == "jump" and clock.reading(now_ms) == before_ms
        (tally.without_effect if is_in_vain else tally.fired)[kind] += 1
    return True


def kind_of(item: ClockMove) -> str:
    """The fault that a move is; the end of one is none, nor is a landing."""
    clocks = (kind for kind in KINDS.values() if kind.group == "clock")
    return next((kind.name for kind in clocks if kind.cls.is_begun_by(item.move, item.args)), "")


def whole(args: Args, name: str) -> int:
    value = args[name]
    assert isinstance(value, int)
    return value


def jump(clock: SimClock, now_ms: int, args: Args, free_ms: int) -> bool:
    clock.jump(now_ms, whole(args, "by_ms"))
    return True


def drift(clock: SimClock, now_ms: int, args: Args, free_ms: int) -> bool:
    clock.drift(now_ms, whole(args, "num"), whole(args, "den"))
    return True


def freeze(clock: SimClock, now_ms: int, args: Args, free_ms: int) -> bool:
    clock.freeze(now_ms)
    return True


def thaw(clock: SimClock, now_ms: int, args: Args, free_ms: int) -> bool:
    clock.thaw(now_ms, args["catch_up"] is True)
    return True


def land(clock: SimClock, now_ms: int, args: Args, free_ms: int) -> bool:
    return clock.land(now_ms, whole(args, "to_ms"), free_ms)


MAKERS: Final[Mapping[str, Callable[[SimClock, int, Args, int], bool]]] = {
    "jump": jump, "drift": drift, "freeze": freeze, "thaw": thaw, "land": land,
}  # fmt: skip

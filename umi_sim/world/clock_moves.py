"""Moves of an agent's clock: drawn for an operation that is about to come, and made when their time comes.

Law 1. A move that lasts is two moves: its end is drawn with it, and has an item and a time of its own.
Law 2. A landing goes forward only, and over nothing that would happen meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from umi_sim.faults.kinds import Draw
from umi_sim.faults.window import Window
from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import Args, ClockMove
from umi_sim.world.agent import Tally

JUMP_MS_MAX: Final = 30 * 86_400_000
LASTING: Final = ("clock_drift", "clock_freeze")
RARE: Final = 4  # one draw in so many is of the rarer sort
SLIGHT: Final = 1_000  # the denominator of a usual drift, which is at most ten of these
RATES: Final = ((1, 2), (2, 3), (3, 2), (2, 1))

Moves = tuple[tuple[int, str, Args], ...]  # in so many ms: move, args


# Drawing.


def drawn(kind: str, draw: Draw, window: Window, at_ms: int, remaining: Sequence[int]) -> Moves:
    """The moves of a kind that strikes the operation at `at_ms`; none while another one lasts.

    `remaining`: how far ahead the instants that matter are.
    """
    if kind not in LASTING:
        return () if window.is_open(at_ms) else ((0, "jump", {"by_ms": jump_ms(kind, draw, remaining)}),)
    args = window.args(at_ms, draw)
    if args is None:
        return ()
    for_ms = int(str(args["for_ms"]))
    window.begin(at_ms, for_ms)
    if kind == "clock_freeze":
        return (0, "freeze", {}), (for_ms, "thaw", {"catch_up": draw("catch_up", 2) == 1})
    num, den = rate(draw)
    return (0, "drift", {"num": num, "den": den}), (for_ms, "drift", {"num": 1, "den": 1})


def jump_ms(kind: str, draw: Draw, remaining: Sequence[int]) -> int:
    """Up to 30 days, or exactly as long as something still has to live."""
    bits = 1 + draw("bits", JUMP_MS_MAX.bit_length() - 1)
    by_ms = (1 << (bits - 1)) + draw("by_ms", 1 << (bits - 1))
    if remaining and draw("exact", RARE) == 0:
        by_ms = remaining[draw("which", len(remaining))]
    return by_ms if kind == "clock_jump_forward" else -by_ms


def rate(draw: Draw) -> tuple[int, int]:
    """Seldom half or double speed, mostly a little fast or slow."""
    if draw("rough", RARE) == 0:
        return RATES[draw("rate", len(RATES))]
    off = 1 + draw("off", 10)
    return SLIGHT + (off if draw("fast", 2) else -off), SLIGHT


# Making.


def make(clock: SimClock, item: ClockMove, now_ms: int, free_ms: int, tally: Tally) -> bool:
    """Move the clock and count what that is; False if it is a landing that comes too late or goes too far.

    `free_ms`: how long nothing else happens.
    """
    before_ms = clock.reading(now_ms)
    if not MAKERS[item.move](clock, now_ms, item.args, free_ms):
        return False
    kind = kind_of(item)
    if kind:
        is_blunt = item.move == "jump" and clock.reading(now_ms) == before_ms
        (tally.blunt if is_blunt else tally.fired)[kind] += 1
    return True


def kind_of(item: ClockMove) -> str:
    """The fault that a move is; the end of one is none, nor is a landing."""
    if item.move == "jump":
        return "clock_jump_forward" if whole(item.args, "by_ms") > 0 else "clock_jump_back"
    if item.move == "drift":
        return "clock_drift" if item.args["num"] != item.args["den"] else ""
    return "clock_freeze" if item.move == "freeze" else ""


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

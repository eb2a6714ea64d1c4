"""Moves of an agent's clock, made at their time.

Law 1. A move that lasts is two moves: its end is drawn with it, and has an item and a time of its own.
Law 2. A landing (a pause until a deadline) only goes forward, and skips nothing that would happen meanwhile.
"""

from typing import Final

from umi_sim.faults.clock import ClockFault
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import MOVES, ClockMove
from umi_sim.world.agent import Tally

CLOCK_FAULTS: Final = tuple(kind for kind in KINDS.values() if issubclass(kind, ClockFault))


def make(clock: SimClock, item: ClockMove, now_ms: int, free_ms: int, tally: Tally) -> bool:
    """Move the clock and count the fault that it is; False for a landing that is too late or too far.

    A move has the name of a method of the clock. `free_ms`: how long nothing else happens.
    """
    assert item.move in MOVES, item.move
    # The moves are the methods of a clock, under their own names; only `land` returns anything.
    before_ms = clock.reading(now_ms)
    forward = {"forward_ms_max": free_ms} if item.move == "land" else {}
    # A landing skips time that nothing else may need: if an event were due in between, it would come late.
    if getattr(clock, item.move)(now_ms, **item.args, **forward) is False:
        return False
    kind = kind_of(item)
    if kind:
        # A jump back from a reading of 0, or ahead from the last one, is clipped to nothing.
        is_in_vain = item.move == "jump" and clock.reading(now_ms) == before_ms
        (tally.without_effect if is_in_vain else tally.fired)[kind] += 1
    return True


def kind_of(item: ClockMove) -> str:
    """Return the kind of fault that a move begins; empty for the end of one, and for a landing."""
    return next((kind.name for kind in CLOCK_FAULTS if kind.is_begun_by(item.move, item.args)), "")

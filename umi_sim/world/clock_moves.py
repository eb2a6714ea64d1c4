"""Moves of an agent's clock, made at their time.

Law 1. A clock fault that lasts is two moves: its end is drawn with its beginning, and is an item of its own.
Law 2. A landing (a move to just around a deadline) only goes forward, and never skips another event.
"""

from typing import Final

from umi_sim.faults.clock import ClockFault
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import MOVES, ClockMove
from umi_sim.world.agent import Tally

CLOCK_FAULTS: Final = tuple(kind for kind in KINDS.values() if issubclass(kind, ClockFault))


def make(clock: SimClock, item: ClockMove, now_ms: int, free_ms: int, tally: Tally) -> bool:
    """Move the clock and count the fault that begins; return False for a landing that is too late or too far.

    A move has the name of a method of the clock. `free_ms`: the time until the next other event.
    """
    assert item.move in MOVES, item.move
    # A move is called as the method of its name; only `land` returns a value.
    before_ms = clock.reading(now_ms)
    forward = {"forward_ms_max": free_ms} if item.move == "land" else {}
    # A landing skips time, so an event that is due in between would come late; `free_ms` limits it.
    if getattr(clock, item.move)(now_ms, **item.args, **forward) is False:
        return False
    kind = kind_of(item)
    if kind:
        # A jump back from a reading of 0, or ahead from the largest one, is clipped and has no effect.
        is_in_vain = item.move == "jump" and clock.reading(now_ms) == before_ms
        (tally.without_effect if is_in_vain else tally.fired)[kind] += 1
    return True


def kind_of(item: ClockMove) -> str:
    """Return the kind of fault that a move begins; empty for a move that ends a fault, and for a landing."""
    return next((kind.name for kind in CLOCK_FAULTS if kind.is_begun_by(item.move, item.args)), "")

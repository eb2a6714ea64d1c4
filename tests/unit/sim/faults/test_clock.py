"""Goal: a clock jumps as far as matters, and what lasts ends by itself."""

from collections import Counter
from collections.abc import Sequence

import pytest

from umi_sim.faults.clock import Moment, Moves, jump_signs
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.window import WINDOW_MS_MAX, Window


def first(label: str, n: int) -> int:
    return 0


def moves(kind: str, window: Window, at_ms: int, remaining: Sequence[int] = ()) -> Moves:
    """The moves of a kind that is injected at the operation at that time."""
    moment = Moment(at_ms, window, remaining)
    args = KINDS[kind].args_for(moment, first, Counter())
    found: Moves = () if args is None else KINDS[kind](**args).inject(moment)
    return found


@pytest.mark.parametrize(("kind", "ends"), [("clock_freeze", "thaw"), ("clock_drift", "drift")])
def test_what_lasts_ends_by_a_move_of_its_own_and_rests(kind: str, ends: str) -> None:
    window = Window()
    (start, _, _), (end_ms, move, _) = moves(kind, window, 5_000)
    assert (start, move) == (0, ends)
    assert 1 <= end_ms <= WINDOW_MS_MAX
    assert moves("clock_jump_back", window, 5_000 + end_ms - 1) == ()
    assert moves(kind, window, 5_000 + 2 * end_ms - 1) == ()
    assert len(moves(kind, window, 5_000 + 2 * end_ms)) == 2


def test_a_jump_may_be_exactly_as_long_as_something_lives() -> None:
    assert moves("clock_jump_back", Window(), 0, (77,)) == ((0, "jump", {"by_ms": -77}),)


def test_a_set_of_kinds_says_which_ways_a_clock_jumps() -> None:
    assert jump_signs(("storage_lost", "clock_jump_back", "clock_drift")) == (-1,)
    assert jump_signs(tuple(KINDS)) == (1, -1)

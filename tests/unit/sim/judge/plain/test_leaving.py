"""Goal: who leaves core is the weakest that is needed, worked out plainly."""

import pytest

from umi_sim.judge.plain.leaving import Lack, Seat, leaving

A, B, C = Seat("a", "facts", 1, 300), Seat("b", "goals", 2, 1_200), Seat("c", "facts", 3, 200)
SELF = Seat("s", "persona", 0, 5_000)


@pytest.mark.parametrize(
    ("lack", "gone"),
    [
        (Lack(0, 0, {}), []),
        (Lack(900, 0, {}), ["b"]),
        (Lack(200, 0, {}), ["a"]),
        (Lack(0, 2, {}), ["a", "b"]),
        (Lack(0, 0, {"facts": 301}), ["a", "c"]),
        (Lack(1_701, 0, {}), None),
    ],
)
def test_the_weakest_that_are_needed_leave(lack: Lack, gone: list[str] | None) -> None:
    assert leaving([C, SELF, B, A], lack) == gone

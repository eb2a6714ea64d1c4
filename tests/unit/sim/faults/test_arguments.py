"""Goal: an argument is drawn within what a seed file may say, and from nothing nothing is drawn."""

from typing import Any

import pytest

from umi_sim.faults.arguments import among, below, flag, one_of, span_ms
from umi_sim.faults.draws import Draws
from umi_sim.formats.schema import Wrong


def low(label: str, n: int) -> int:
    return 0


def high(label: str, n: int) -> int:
    return n - 1


@pytest.mark.parametrize(
    ("argument", "ends"),
    [
        (below(7), (0, 6)),
        (below(len), (0, 2)),
        (among(lambda here: (5, 6, 9)), (5, 9)),
        (span_ms(1, 60_000), (1, 60_000)),
        (span_ms(0, 99, readable=100), (0, 99)),
        (flag(), (False, True)),
        (one_of("nothing", "unknown"), ("nothing", "unknown")),
    ],
)
def test_what_is_drawn_reaches_both_ends_and_can_be_read(argument: Any, ends: tuple[object, object]) -> None:
    for draws, end in zip((low, high), ends, strict=True):
        drawn = argument.draw("abc", draws, "name")
        assert drawn == end
        assert argument.schema.read(drawn) == drawn


def test_from_nothing_nothing_is_drawn() -> None:
    assert [each.draw("", low, "name") for each in (below(len), among(lambda here: ()))] == [None, None]


@pytest.mark.parametrize("n", [2, 4])
def test_a_flag_is_set_in_one_of_so_many_cases(n: int) -> None:
    def luck_of(number: int) -> Draws:
        return lambda label, count: number % count

    assert sum(bool(flag(one_in=n).draw(None, luck_of(at), "name")) for at in range(8)) == 8 // n


def test_the_longest_value_that_a_file_may_have_is_reported() -> None:
    with pytest.raises(Wrong, match="expected a whole number from 0 to 100, got 101"):
        span_ms(0, 99, readable=100).schema.read(101)

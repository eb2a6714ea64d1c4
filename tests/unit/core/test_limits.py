"""Goal: the bounds of the memory are those of the table of limits, all of them."""

from tests.spec_tables import plain, rows, whole
from umi_core import limits

TOLD = {plain(row["name"]): whole(row["value"]) for row in rows("memory", "limits")}


def test_the_bounds_are_those_of_the_table() -> None:
    assert {name: value for name, value in vars(limits).items() if name.isupper()} == TOLD

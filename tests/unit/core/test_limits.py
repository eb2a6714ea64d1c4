"""Goal: the bounds of the memory are those of the table of limits, each of them, and no other."""

from tests.spec_tables import plain, rows, whole
from umi_core import limits


def test_the_bounds_are_those_of_the_table() -> None:
    told = {plain(row["name"]): whole(row["value"]) for row in rows("memory", "limits")}
    assert {name: value for name, value in vars(limits).items() if name.isupper()} == told

"""Goal: the bounds of the memory are those of the table of limits, all of them; rules know the same."""

from tests.spec_tables import plain, rows, whole
from umi_core import limits
from umi_sim.judge import limits as limits_of_rules

TOLD = {plain(row["name"]): whole(row["value"]) for row in rows("memory", "limits")}


def test_the_bounds_are_those_of_the_table() -> None:
    assert {name: value for name, value in vars(limits).items() if name.isupper()} == TOLD


def test_rules_know_bounds_by_numbers_of_their_own() -> None:
    known = {name: value for name, value in vars(limits_of_rules).items() if name.isupper()}
    assert known
    assert known == {name: TOLD[name] for name in known}

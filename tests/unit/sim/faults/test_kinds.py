"""Goal: a kind of fault is active at one of four sites, or at all of them where it is the only one."""

from typing import Final

from tests.spec_tables import rows
from umi_sim.faults.kinds import KINDS, Dice

SITES: Final = [f"storage.commit.remember.row{number}" for number in range(200)]
WHAT: Final = "what happens, and what the memory sees"
RATES: Final = {"storage_refused": (1, 2)}


def test_the_kinds_are_those_of_the_table_but_the_planned_ones() -> None:
    table = rows("simulator", "fault_kinds")
    today = [row for row in table if not row[WHAT].startswith("planned")]
    told = [(row["kind"], row["class"], row["guards"]) for row in today]
    assert [(kind.name, kind.letter, kind.guards) for kind in KINDS.values()] == told


def struck(dice: Dice, site: str) -> int:
    """Of forty events at a site."""
    return sum(dice.struck("storage.commit", site, f"o{number}/commit#1") is not None for number in range(40))


def test_a_kind_is_active_at_one_site_of_four() -> None:
    active = [site for site in SITES if struck(Dice(7, RATES), site)]
    assert 30 < len(active) < 70


def test_the_only_kind_is_active_everywhere() -> None:
    counts = [struck(Dice(7, RATES, is_everywhere=True), site) for site in SITES]
    assert all(8 < count < 32 for count in counts)


def test_where_a_kind_is_active_it_strikes_the_same_events_as_ever() -> None:
    some, all_of_them = Dice(7, RATES), Dice(7, RATES, is_everywhere=True)
    assert {struck(some, site) - struck(all_of_them, site) for site in SITES if struck(some, site)} == {0}

"""Goal: a kind of fault is active at one of four sites, or at all of them where it is the only one."""

from typing import Final

from umi_sim.faults.dice import Dice

SITES: Final = [f"storage.commit.remember.row{number}" for number in range(200)]
RATES: Final = {"storage_refused": (1, 2)}


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


def test_everywhere_means_every_site() -> None:
    sites = [f"storage.commit.{name}.commit" for name in ("remember", "forget", "recover", "rebalance")]
    dice = [Dice(1, {"storage_lost": (1, 1)}, is_everywhere=each) for each in (True, False)]
    struck = [[it.struck("storage.commit", site, "o1/commit#1") for site in sites] for it in dice]
    assert struck[0] == ["storage_lost"] * 4
    assert None in struck[1]

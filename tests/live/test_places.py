"""Goal: what people move to is a place only if it is known to be one, and a region contains what it lists."""

import pytest

from umi_live.english import ORDINARY_WORDS
from umi_live.places import PARENTS, REGIONS, is_place, list_names, regions_of


@pytest.mark.parametrize(
    "name",
    [
        "Oslo",
        "oslo",
        "The Hague",
        "East London",
        "Salem County",
        "Austin TX",
        "New York City",
        "Nîmes",
        "USA",
    ],
)
def test_a_listed_name_and_what_has_only_parts_of_names_beside_it_are_places(name: str) -> None:
    assert is_place(name)


@pytest.mark.parametrize(
    "name",
    ["Gmail", "Team Berlin", "Berlin Labs", "Bank of Rome", "Central", "the Oslo", "", "Quellbrook"],
)
def test_any_other_name_is_no_place(name: str) -> None:
    assert not is_place(name)


@pytest.mark.parametrize(
    ("name", "regions"),
    [
        ("Oslo", {"norway", "europe"}),
        ("oslo norway", {"norway", "europe"}),
        ("East London", {"london", "england", "europe", "united kingdom", "the uk"}),
        ("Austin", {"texas", "united states", "usa", "the us", "america"}),
        ("Texas", {"united states", "the usa", "north america"}),
        ("the Bronx", {"new york", "nyc"}),
    ],
)
def test_a_place_is_in_the_regions_that_list_it_and_in_what_contains_these(
    name: str, regions: set[str]
) -> None:
    assert regions <= regions_of(name)


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("Norway", "oslo"),
        ("Oslo", "sweden"),
        ("London", "canada"),
        ("Buffalo", "new york"),
    ],
)
def test_no_place_is_in_another_region(name: str, region: str) -> None:
    assert region not in regions_of(name)


def test_the_table_is_in_small_letters_and_names_no_place_twice_in_one_region() -> None:
    assert [it for it in PARENTS if it != it.lower() or not it] == []
    for names, listed in REGIONS.items():
        rows = list_names(listed)
        assert sorted(set(rows)) == rows, names


def test_most_places_are_no_ordinary_words() -> None:
    doubtful = {it for it in PARENTS if it in ORDINARY_WORDS}  # read with a capital letter only
    assert doubtful == {"angers", "bath", "bend", "hull", "split", "tours"}

"""Lists, numbers and texts get smaller as long as something still works."""

from collections.abc import Sequence
from unittest.mock import Mock

from hypothesis import given
from hypothesis import strategies as st

from umi_sim.shrink.reduction import ending, fewer, lower, shorter


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 9), max_size=4))
def test_a_list_keeps_what_is_needed_and_nothing_else(units: list[int], needed: list[int]) -> None:
    def works(kept: Sequence[int]) -> bool:
        return all(kept.count(each) >= needed.count(each) for each in needed)

    whole = [*units, *needed]
    assert sorted(fewer(whole, works)) == sorted(needed)


@given(st.lists(st.integers(0, 99), max_size=40, unique=True), st.data())
def test_of_any_list_what_is_left_works_in_its_order(units: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.frozensets(st.sampled_from(units or [0]), max_size=3), max_size=3))

    def works(kept: Sequence[int]) -> bool:
        return kept == tuple(units) or any(choice <= set(kept) for choice in wanted)

    kept = fewer(units, works)
    assert works(kept)
    assert list(kept) == [unit for unit in units if unit in kept]


def test_a_list_that_works_without_anything_is_empty_after_two_questions() -> None:
    works = Mock(return_value=True)
    assert fewer([1, 2], works) == ()
    assert works.call_count == 2


@given(st.integers(1, 60), st.integers(0, 59))
def test_the_shortest_end_that_is_a_power_of_two_is_found(count: int, first: int) -> None:
    units = range(count)
    kept = ending(units, lambda end: first in end)
    if first >= count:
        assert kept == units
    else:
        assert first in kept
        assert len(kept) == count or len(kept) < 2 * (count - first)


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_a_number_falls_to_the_limit_at_which_it_works(least: int, more: int) -> None:
    works = Mock(side_effect=lambda number: number >= least)
    assert lower(least + more, works) == least
    assert works.call_count <= 2 + 2 * 65


@given(st.integers(-(2**63), -1))
def test_a_number_below_zero_keeps_its_sign_only_if_it_must(number: int) -> None:
    assert lower(number, lambda other: other < 0) == -1
    assert lower(number, lambda other: other != 0) == 1
    assert lower(number, lambda other: True) == 0


@given(st.text(max_size=60), st.text("xyz", min_size=1, max_size=3))
def test_a_text_keeps_the_characters_that_are_needed(text: str, needed: str) -> None:
    def works(other: str) -> bool:
        return all(other.count(char) >= needed.count(char) for char in needed)

    assert sorted(shorter(text + needed, "a", works)) == sorted(needed)


def test_a_text_becomes_nothing_or_one_letter() -> None:
    assert shorter("Alice", "a", lambda text: True) == ""
    assert shorter(b"Alice", b"a", lambda text: text != b"") == b"a"
    assert shorter("a", "a", lambda text: text != "") == "a"

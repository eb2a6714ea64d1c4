"""Goal: lists of hits become one, exactly as the worked example says (M12.7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import rows, whole
from tests.worlds import SCOPE
from umi_core.policies.ranking import (
    Ranked,
    cube_root,
    current,
    fuse_lists,
    join_lists,
    lower_others,
    unite_lists,
    united_ppm,
)
from umi_core.rows import Address, Entity, Row


def row(key: str, score_ppm: int | None, version: int = 1) -> Row:
    body = Entity(key, "person", key, "x", version, 500_000, 500_000, "human", 0, 0)
    return Row(Address(SCOPE, "entity", key), version, body, score_ppm)


def ranked(**scores: int) -> tuple[Row, ...]:
    """The list of one variant."""
    return unite_lists([row(key, score) for key, score in scores.items()], (), 10)


def shown(found: tuple[Ranked, ...]) -> list[tuple[str, int]]:
    return [(it.row.address.id, it.score_ppm) for it in found]


def listed(rows: list[Row], limit: int) -> list[tuple[str, int]]:
    return [(row.address.id, row.score_ppm or 0) for row in unite_lists(rows, (), limit)]


A_LIST, B_LIST = ranked(A=900_000, B=800_000), ranked(B=850_000, C=700_000)


# One list per variant.


def test_a_row_counts_once_at_its_best() -> None:
    assert listed([row("a", 5), row("b", 3), row("a", 7), row("b", 1)], 10) == [("a", 7), ("b", 3)]


def test_of_two_versions_the_newer_counts_in_every_list_and_equal_ones_stay() -> None:
    old, new, other = row("a", 7), row("a", 3, version=2), row("b", 1)
    assert current([[old, other], [new]]) == [(other,), (new,)]
    assert current([[new], [old, other], []]) == [(new,), (other,), ()]
    assert current([[old], [old]]) == [(old,), (old,)]
    assert listed([it for rows in current([[old, other], [new]]) for it in rows], 10) == [("a", 3), ("b", 1)]


def test_ties_go_to_the_smaller_id_in_any_order_of_arrival() -> None:
    rows = [row(key, 5) for key in "cab"]
    assert listed(rows, 10) == listed(rows[::-1], 10) == [("a", 5), ("b", 5), ("c", 5)]


def test_a_list_is_cut_behind_the_best() -> None:
    assert listed([row("a", 1), row("b", 3), row("c", 2)], 2) == [("b", 3), ("c", 2)]


def test_a_row_without_a_score_is_last() -> None:
    assert listed([row("a", None), row("b", 1)], 10) == [("b", 1), ("a", 0)]


@pytest.mark.parametrize("worked", rows("memory", "united"), ids=str)
def test_vector_and_words_are_united_as_the_table_says(worked: dict[str, str]) -> None:
    by_vector, by_words = whole(worked["by vector"]), whole(worked["by words"])
    assert united_ppm(by_vector, by_words) == whole(worked["relevance"])


# The lists by words of a query and of its dates.


def joined(*lists: list[Row] | None, least_ppm: int = 2) -> list[tuple[str, int]]:
    return [(row.address.id, row.score_ppm or 0) for row in join_lists(lists, least_ppm)]


def test_the_best_date_counts_and_what_only_the_query_finds_keeps_the_least_score() -> None:
    plain = [row("a", 9), row("b", 8), row("c", 7)]
    assert joined(plain) == [("a", 9), ("b", 8), ("c", 7)]
    assert joined(plain, [row("b", 5), row("d", 4)]) == [("b", 5), ("d", 4), ("a", 2), ("c", 2)]
    assert joined(plain, [row("b", 5)], [row("b", 6), row("d", 4)]) == [
        ("b", 6),
        ("d", 4),
        ("a", 2),
        ("c", 2),
    ]
    assert joined(plain, []) == [("a", 2), ("b", 2), ("c", 2)]
    assert joined([row("a", 32), row("b", 22), row("c", 2)], []) == [("a", 5), ("b", 4), ("c", 2)]


def test_a_list_that_failed_is_left_out_and_without_any_there_is_nothing() -> None:
    plain, dated = [row("a", 9)], [row("a", 5), row("b", 4)]
    assert joined(None, dated) == [("a", 5), ("b", 4)]
    assert joined(plain, None) == [("a", 9)]
    assert joined(plain, None, dated) == [("a", 5), ("b", 4)]
    assert joined() == joined(None, None) == []


def test_of_a_row_that_was_written_between_two_searches_the_newer_version_counts() -> None:
    assert joined([row("a", 9), row("b", 8)], [row("a", 5, version=2)]) == [("a", 5), ("b", 2)]
    (only,) = join_lists([[row("a", 9, version=2)], [row("a", 5)]], 2)
    assert (only.version, only.score_ppm) == (2, 2)


@pytest.mark.uncounted
@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(2, 9)), min_size=1, max_size=4))
def test_a_date_takes_no_hit_away(scores: list[dict[str, int]]) -> None:
    found = joined(*([row(key, ppm) for key, ppm in each.items()] for each in scores))
    assert {key for key, _ in found} == {key for each in scores for key in each}
    assert len(found) == len(dict(found))
    assert min((ppm for _, ppm in found), default=2) >= 2


SCORES = st.integers(0, 1_000_000)


@given(SCORES, SCORES, SCORES)
def test_a_row_is_no_less_relevant_than_either_list_says(by_vector: int, by_words: int, more: int) -> None:
    both = united_ppm(by_vector, by_words)
    assert max(by_vector, by_words) <= both <= 1_000_000
    assert united_ppm(by_vector, 0) == by_vector
    assert united_ppm(max(more, by_vector), by_words) >= both
    assert united_ppm(by_vector, max(more, by_words)) >= both


@given(st.integers(0, 10**18))
def test_the_cube_root_is_exact(number: int) -> None:
    assert cube_root(number) ** 3 <= number < (cube_root(number) + 1) ** 3


def test_what_both_lists_have_is_before_what_one_has() -> None:
    found = unite_lists([row("a", 500_000), row("b", 700_000)], [row("c", 400_000), row("a", 400_000)], 10)
    assert [(it.address.id, it.score_ppm) for it in found] == [
        ("a", united_ppm(500_000, 400_000)), ("c", united_ppm(0, 400_000)), ("b", 700_000),
    ]  # fmt: skip
    assert united_ppm(500_000, 400_000) > united_ppm(0, 400_000)


# Fusion.


def test_the_worked_example() -> None:
    """Its order and scores, and relevance: the best of all lists beside the fused score."""
    found = fuse_lists([A_LIST, B_LIST], 10)
    expected = [(row["id"], whole(row["score"]), whole(row["relevance"])) for row in rows("memory", "fusion")]
    assert [(it.row.address.id, it.score_ppm, it.relevance_ppm) for it in found] == expected


def test_the_order_of_lists_does_not_matter_behind_the_first() -> None:
    assert fuse_lists([(), A_LIST, B_LIST], 10) == fuse_lists([(), B_LIST, A_LIST], 10)


def test_variants_hardly_lower_what_the_query_itself_finds() -> None:
    """`Where does my sister live?` with `moved`: the fact about the sister stays first."""
    asked, moved = ranked(sister=929_862, porto=780_000), ranked(porto=826_349)
    assert shown(fuse_lists([asked, moved], 2)) == [("sister", 883_368), ("porto", 875_985)]
    assert shown(fuse_lists([moved, asked], 2)) == [("porto", 875_985), ("sister", 800_903)]


def test_a_variant_wins_by_what_is_nearly_as_relevant() -> None:
    """`Where do I live now?` with `moved`: the newer fact comes first."""
    asked, moved = ranked(oslo=899_826, bergen=743_346), ranked(bergen=835_980)
    assert shown(fuse_lists([asked, moved], 2)) == [("bergen", 882_726), ("oslo", 854_834)]


def test_a_single_list_keeps_its_scores() -> None:
    assert shown(fuse_lists([A_LIST], 10)) == [("A", 900_000), ("B", 800_000)]
    assert shown(fuse_lists([A_LIST], 1)) == [("A", 900_000)]


def test_an_empty_list_counts() -> None:
    """First in one list of two: half of what fusion gives, 70 % of the relevance."""
    assert shown(fuse_lists([(), ranked(A=1_000_000)], 10)) == [("A", 700_000 + 150_000)]
    assert shown(fuse_lists([(), ranked(A=1_000_000), ()], 10)) == [("A", 700_000 + 99_999)]


def test_first_everywhere_is_the_whole_score() -> None:
    best = ranked(A=1_000_000)
    assert shown(fuse_lists([best] * 3, 10)) == [("A", 1_000_000)]


def test_fused_ties_go_to_the_smaller_id() -> None:
    assert [key for key, _ in shown(fuse_lists([ranked(b=5, c=5), ranked(c=5, b=5)], 10))] == ["b", "c"]
    first, second = shown(fuse_lists([ranked(d=5), ranked(a=5)], 10))
    assert (first[0], second[0], first[1]) == ("a", "d", second[1])


def test_the_limit_cuts_the_fused_list_and_not_its_parts() -> None:
    assert shown(fuse_lists([B_LIST, A_LIST], 1)) == [("B", 892_540)]


def test_nothing_found_is_nothing() -> None:
    assert fuse_lists([(), ()], 10) == fuse_lists([()], 10) == ()


@pytest.mark.parametrize("count", [2, 3])
def test_no_score_is_out_of_range_even_for_the_last_of_a_long_list(count: int) -> None:
    long = unite_lists([row(f"{n:03}", 1) for n in range(200)], (), 200)
    scores = [score for _, score in shown(fuse_lists([long] * count, 200))]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] <= 300_001


# Hits of others.


def test_hits_of_others_have_four_fifths_of_their_score_and_are_cut_behind_the_rest() -> None:
    some = fuse_lists([ranked(a=900_001, b=800_000, c=720_000, d=719_999)], 10)
    lowered = lower_others(some, lambda it: it.address.id in "ad", 3)
    assert shown(lowered) == [("b", 800_000), ("a", 720_000), ("c", 720_000)]
    assert [it.relevance_ppm for it in lowered] == [800_000, 900_001, 720_000]

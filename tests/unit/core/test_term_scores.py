"""Goal: scores by words are those of BM25 in whole numbers, of one scope and kind alone (M12.5)."""

from fractions import Fraction
from math import isqrt, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import Row, read_cell, rows, whole
from umi_core.policies.term_scores import (
    TermStatistics,
    count_terms,
    floor_log,
    part_ppm,
    relative_length,
    score_alone,
    score_rows,
    score_share,
    weigh_term,
)

COLUMNS = ("first", "second", "third", "fourth", "fifth")
SEARCHED = [(read_cell(row["name"]), read_cell(row["text"])) for row in rows("memory", "searched")]
WORDS = st.lists(st.sampled_from("tea teas cake Ann the who 東京 🙂".split()), max_size=8).map(" ".join)
LINES = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8)


@pytest.mark.parametrize("row", rows("memory", "weights"), ids=str)
def test_a_term_weighs_what_the_table_says(row: Row) -> None:
    row_count, holding_count = whole(row["rows"]), whole(row["have it"])
    assert weigh_term(row_count, holding_count) == whole(row["weight"])


@pytest.mark.parametrize("row", rows("memory", "parts"), ids=str)
def test_a_term_earns_what_the_table_says(row: Row) -> None:
    assert part_ppm(whole(row["times"]), whole(row["length y"])) == whole(row["part"])


@pytest.mark.parametrize("row", rows("memory", "words_relevance"), ids=lambda row: row["query"])
def test_rows_score_what_the_table_says(row: Row) -> None:
    assert score_rows(read_cell(row["query"]), SEARCHED) == [whole(row[name]) for name in COLUMNS]


@given(st.integers(1, 2**24))
def test_the_logarithm_is_exact(number: int) -> None:
    found = floor_log(number)
    assert 2**found <= number**64 < 2 ** (found + 1)
    assert abs(found - 64 * log2(number)) < 1.001


@pytest.mark.uncounted
@given(WORDS, LINES)
def test_a_score_is_that_of_the_formula_but_for_its_roundings(
    query: str, lines: list[tuple[str, str]]
) -> None:
    counted = [count_terms(*line) for line in lines]
    lengths = [sum(counts.values()) for counts in counted]
    statistics = TermStatistics()
    for counts in counted:
        statistics.add(counts)
    weights = statistics.weigh_query(query)
    for score, counts, length in zip(score_rows(query, lines), counted, lengths, strict=True):
        assert 0 <= score < 1_000_000
        assert (score > 0) == any(term in counts for term in weights)
        share = Fraction(0)
        for term, weight in weights.items():
            times = min(4, counts.get(term, 0))
            if times:
                stretch = Fraction(length * len(lines), sum(lengths))
                share += weight * Fraction(times) / (times + Fraction(1, 4) + stretch / 4)
        exact = isqrt(int(10**12 * share / (sum(weights.values()) or 1)))
        assert abs(exact - score) < 1_500  # a 64th of the mean length


@pytest.mark.uncounted
@given(LINES, st.tuples(WORDS, WORDS))
def test_a_row_that_came_and_went_leaves_nothing(
    lines: list[tuple[str, str]], other: tuple[str, str]
) -> None:
    statistics, never = TermStatistics(), TermStatistics()
    statistics.add(count_terms(*other))
    for line in lines:
        statistics.add(count_terms(*line))
        never.add(count_terms(*line))
    statistics.remove(count_terms(*other))
    assert structs.asdict(statistics) == structs.asdict(never)


def test_a_rare_word_a_short_row_and_a_second_time_count_more() -> None:
    lines = ["tea cake", "tea", "tea tea", "tea and a long line about it", "tea with milk"]
    rare = score_rows("tea cake", [("", line) for line in lines])
    assert rare.index(max(rare)) == 0
    [cake, *teas] = score_rows("tea cake", [("", line) for line in ("cake", "tea", "tea", "tea")])
    assert cake > max(teas)
    [_, short, twice, long, _] = score_rows("tea", [("", line) for line in lines])
    assert twice > short > long


def test_a_name_that_begins_its_text_does_not_count_twice() -> None:
    assert count_terms("Green tea", "Green tea is hot, tea!") == {"green": 1, "tea": 2, "is": 1, "hot": 1}
    assert count_terms("Ann", "likes tea") == {"ann": 1, "like": 1, "tea": 1}


def test_a_row_alone_scores_by_the_share_of_the_words() -> None:
    assert score_alone("Alice tea", "Alice", "drinks tea") == 816_496
    assert score_alone("Alice cake", "Alice", "drinks tea") == 577_349
    assert score_alone("cake", "Alice", "") == score_alone("", "Alice", "") == 0


def test_without_terms_nothing_is_divided_by_zero() -> None:
    assert score_rows("tea", [("", "..."), ("", "")]) == [0, 0]
    assert score_rows("tea", []) == []
    assert relative_length(0, 3, 0) == 0
    assert score_share(0, 0) == 0

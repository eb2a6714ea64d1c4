"""Goal: relevance is exact and bounded; an unsound vector counts as missing, a wrong number of them fails."""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, whole
from tests.spec_tables import rows as table
from umi_core.limits import COMPONENT_MAX, EMBEDDING_DIMS_MAX
from umi_core.policies.similarity import (
    MemberVectors,
    Peaks,
    Posting,
    VectorRows,
    best_by_words,
    exact_type,
    lacking_vectors,
    measure_rows,
    nearest,
    relevance_table,
    sound_vectors,
    vector_relevance_ppm,
)
from umi_core.policies.term_scores import TermStatistics, count_terms, relative_length, score_rows

VECTORS = st.lists(st.integers(-127, 127), min_size=4, max_size=4).map(tuple)


@pytest.mark.parametrize(
    "row", table("memory", "vector_relevance"), ids=lambda row: f"{row['query']} {row['row']}"
)
def test_vector_relevance_is_the_floored_cosine(row: Row) -> None:
    assert vector_relevance_ppm(read_cell(row["query"]), read_cell(row["row"])) == whole(row["relevance"])


def test_the_longest_vectors_do_not_overflow() -> None:
    longest = (COMPONENT_MAX,) * EMBEDDING_DIMS_MAX
    assert vector_relevance_ppm(longest, longest) == 1_000_000


@given(VECTORS, VECTORS)
def test_vector_relevance_agrees_with_fifty_decimals(query: tuple[int, ...], row: tuple[int, ...]) -> None:
    dot = sum(a * b for a, b in zip(query, row, strict=True))
    with localcontext(prec=50):
        lengths = Decimal(sum(a * a for a in query)).sqrt() * Decimal(sum(b * b for b in row)).sqrt()
        exact = Decimal(dot) * 10**6 / lengths if dot > 0 else Decimal(0)
    score = vector_relevance_ppm(query, row)
    assert score <= exact + Decimal("1e-30")
    assert exact < score + 1
    assert score == vector_relevance_ppm(row, query)


@pytest.mark.uncounted
@given(st.lists(VECTORS, min_size=1, max_size=9), st.lists(VECTORS, min_size=1, max_size=9))
def test_a_table_has_the_relevance_of_each_pair(
    some: list[tuple[int, ...]], others: list[tuple[int, ...]]
) -> None:
    table = relevance_table(MemberVectors.of(some).matrix, MemberVectors.of(others).matrix)
    assert table.tolist() == [[vector_relevance_ppm(a, b) for b in others] for a in some]


def test_where_a_float_cannot_tell_whole_numbers_decide() -> None:
    """The cosine is below 0.8 by less than a float can show."""
    row, column = np.array([(70_000_809.0, 52_499_195.0, 385_011.0)]), np.array([(1.0, 0.0, 0.0)])
    assert relevance_table(row, column).tolist() == [[799_999]]


@given(VECTORS, st.integers(1, 9))
def test_vector_relevance_ignores_length(vector: tuple[int, ...], times: int) -> None:
    longer = tuple(component * times for component in vector)
    assert vector_relevance_ppm(vector, longer) == (1_000_000 if any(vector) else 0)


# Many rows by words.


WORDS = st.lists(st.sampled_from("tea teas cake Ann 東京 🙂".split()), max_size=8).map(" ".join)
LINES = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=40)


@settings(max_examples=100)  # a tie that is cut off is rare
@given(WORDS, LINES, st.integers(0, 9), st.integers(0, 1_000_000), st.integers(0, 2**40))
def test_the_best_by_words_are_those_of_all_scores(
    query: str, lines: list[tuple[str, str]], limit: int, least_ppm: int, mask: int
) -> None:
    ids = [f"e{n % 7}{n:02}" for n in range(len(lines))]
    allowed = np.array([bool(mask >> n & 1) for n in range(len(lines))])
    for mask_or_none in (None, allowed):
        scored = [
            (-score_ppm, row_id, n)
            for n, (score_ppm, row_id) in enumerate(zip(score_rows(query, lines), ids, strict=True))
            if score_ppm >= max(1, least_ppm) and (mask_or_none is None or mask_or_none[n])
        ]
        wanted = [(-score_ppm, n) for score_ppm, _, n in sorted(scored)[:limit]]
        assert best_of_lines(query, lines, ids, limit, least_ppm, mask_or_none) == wanted


def best_of_lines(
    query: str,
    lines: list[tuple[str, str]],
    ids: list[str],
    limit: int,
    least_ppm: int = 0,
    allowed: "np.ndarray[Any, np.dtype[np.bool_]] | None" = None,
) -> list[tuple[int, int]]:
    statistics, counted = TermStatistics(), [count_terms(*line) for line in lines]
    for counts in counted:
        statistics.add(counts)
    weights = statistics.weigh_query(query)
    postings = []
    for term, weight in weights.items():
        rows = [n for n, counts in enumerate(counted) if term in counts]
        postings.append(Posting(weight, np.array(rows, int), np.array([counted[n][term] for n in rows], int)))
    size, total = statistics.row_count, statistics.term_count
    lengths = np.array([relative_length(sum(counts.values()), size, total) for counts in counted])
    keys = np.array([int.from_bytes(row_id[:2].encode()) for row_id in ids], np.uint64)
    return best_by_words(postings, sum(weights.values()), lengths, keys, ids, limit, least_ppm, allowed)


@pytest.mark.uncounted
def test_of_many_equal_rows_the_first_by_id_are_the_best() -> None:
    ids = [f"e{n:04}" for n in range(5_000)][::-1]
    lines = [("", "tea")] * 4_998 + [("", "tea tea"), ("", "cake")]
    assert [row for _, row in best_of_lines("tea", lines, ids, 3)] == [4_998, 4_997, 4_996]
    assert [row for _, row in best_of_lines("tea", lines, ids, 1)] == [4_998]
    assert best_of_lines("tea", lines, ids, 1, 1_000_001) == []


@pytest.mark.parametrize(
    ("vector", "fault"),
    [
        ((1, 2), None),
        ([127, -127], None),
        ((0, 0), "zero"),
        ((1,), "wrong_length"),
        ((1, 2, 3), "wrong_length"),
        (None, "wrong_length"),
        ("ab", "wrong_length"),
        ((1, True), "not_whole"),
        ((1, 1.0), "not_whole"),
        ((1, "1"), "not_whole"),
        ((float("nan"), 1), "not_whole"),
        ((1, 128), "out_of_range"),
        ((-128, 1), "out_of_range"),
        ((10**400, 1), "out_of_range"),
    ],
)
def test_an_unsound_vector_is_missing_and_says_why(vector: object, fault: str | None) -> None:
    vectors = ((3, 4), vector, (0, 0))
    lacking = lacking_vectors("none", vectors, 2)
    assert lacking == (("none", fault or "zero", 2 if fault else 1),)
    assert lacking_vectors("none", ((3, 4),), 2) == ()
    sound = sound_vectors((vector, (3, 4)), 2, 2)
    assert sound is not None
    assert (sound[0] is None) == (fault is not None)
    assert sound[1] == (3, 4)


@pytest.mark.parametrize("vectors", [(), ((1, 2),), ((1, 2),) * 3, None, "ab", {}])
def test_a_wrong_number_of_vectors_is_a_failure(vectors: object) -> None:
    assert sound_vectors(vectors, 2, 2) is None


def test_no_vectors_for_no_texts_is_sound() -> None:
    assert lacking_vectors("none", (), 2) == ()
    assert sound_vectors((), 0, 2) == ()


# Many rows at once; the twin is in tests/twins/test_search_twin.py.


def rows_of(*vectors: tuple[int, ...]) -> VectorRows:
    matrix = np.array(vectors, exact_type(len(vectors[0])))
    return VectorRows(matrix, *measure_rows(matrix))


@pytest.mark.parametrize("dims", [1, 64, 1_040, 1_041, EMBEDDING_DIMS_MAX])
def test_the_largest_product_is_exact_in_the_float_of_its_length(dims: int) -> None:
    largest = dims * COMPONENT_MAX**2
    assert all(int(np.dtype(exact_type(dims)).type(number)) == number for number in (largest, largest - 1))


def test_a_float_is_as_small_as_it_can_be() -> None:
    assert [exact_type(dims) for dims in (64, 1_040, 1_041)] == ["float32", "float32", "float64"]


def test_the_nearest_come_by_relevance_and_then_by_id() -> None:
    rows = rows_of((4, 3, 0), (3, 4, 0), (0, 0, 1), (-3, -4, 0), (0, 0, 0), (6, 8, 0))
    ids = ("f", "e", "d", "c", "b", "a")
    assert nearest((3, 4, 0), rows, ids, 9, 0) == [(1_000_000, 5), (1_000_000, 1), (960_000, 0)]
    assert nearest((3, 4, 0), rows, ids, 1, 0) == [(1_000_000, 5)]
    assert nearest((3, 4, 0), rows, ids, 9, 960_001) == [(1_000_000, 5), (1_000_000, 1)]


def test_no_row_is_near_where_nothing_is_asked_for() -> None:
    rows = rows_of((1, 0), (0, 1))
    assert nearest((1, 1), rows, "ab", 0, 0) == []
    assert nearest((1, 1), rows, "ab", 2, 1_000_001) == []
    assert nearest((0, 0), rows, "ab", 2, 0) == []
    assert nearest((-1, -1), rows, "ab", 2, 0) == []
    assert nearest((1, 1), rows_of((1, 1)), (), 2, 0) == []


def test_a_row_outside_the_mask_or_without_a_scale_is_passed_over() -> None:
    rows = rows_of((1, 0), (1, 0), (1, 0))
    assert nearest((1, 0), rows, "abc", 1, 0, np.array([False, True, True])) == [(1_000_000, 1)]
    rows.scales[1] = 0
    assert nearest((1, 0), rows, "abc", 3, 0, np.array([False, True, True])) == [(1_000_000, 2)]


def test_a_tie_that_only_the_floor_makes_is_not_lost() -> None:
    """The first is further away, by less than a ppm, and its id is smaller."""
    query, near, far = (127, 0), (127, 0), (126, 0)
    one_less = ((127, 127), (126, 126), (127, 126))
    assert nearest(query, rows_of(far, near), "ab", 1, 0) == [(1_000_000, 0)]
    rows = rows_of(*[vector for vector in one_less for _ in range(700)])
    ids = [f"{len(rows.matrix) - n:04}" for n in range(len(rows.matrix))]
    assert nearest((1, 1), rows, ids, 2, 0) == [(1_000_000, 1_399), (1_000_000, 1_398)]


@pytest.mark.uncounted
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 60), st.sampled_from((1, 60)))
def test_peaks_find_what_reaches_a_bound_and_never_overrate_the_kth(
    some: list[int], k: int, times: int
) -> None:
    values = np.array(some * times, np.uint8)
    peaks = Peaks.of(values, k)
    kth = sorted(values.tolist(), reverse=True)[:k][-1]
    assert int(peaks.kth(k)) <= kth
    for bound in (0, 1, 5, 9, 10):
        reached = [place for place, value in enumerate(values.tolist()) if value >= bound]
        assert sorted(peaks.reaching(bound).tolist()) == reached

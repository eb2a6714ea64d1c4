"""Goal: fusion is what its rule says: a dumb twin over dictionaries and fractions gives the same list."""

from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worlds import SCOPE
from umi_core.policies.ranking import fuse_lists, unite_lists
from umi_core.rows import Address, Entity, Row

Found = dict[str, int]  # relevance by id, what one variant finds
Rows = list[tuple[str, int]]  # the same as it comes: an id may be there by vector and by words
TERM_SCALE = 10**12


def fused_slowly(lists: list[Found], limit: int) -> list[tuple[str, int, int]]:
    """(id, score, relevance), as M12.7 writes it; each list is cut to twice the limit."""
    ranked = [best_first(found)[: 2 * limit] for found in lists]
    shown = []
    for key in {key: None for keys in ranked for key in keys}:
        relevance = max(found[key] for found, keys in zip(lists, ranked, strict=True) if key in keys)
        ranks = [keys.index(key) for keys in ranked if key in keys]
        score = relevance if len(lists) == 1 else fusion(relevance, ranks, len(lists))
        shown.append((key, score, relevance))
    return sorted(shown, key=lambda it: (-it[1], it[0]))[:limit]


def best_first(found: Found) -> list[str]:
    return sorted(found, key=lambda key: (-found[key], key))


def fusion(relevance: int, ranks: list[int], list_count: int) -> int:
    first = TERM_SCALE // 60
    rrf = floor(Fraction(10**6 * sum(TERM_SCALE // (60 + rank) for rank in ranks), list_count * first))
    return floor(Fraction(7, 10) * relevance + Fraction(3, 10) * rrf)


def exactly(relevance: int, ranks: list[int], list_count: int) -> Fraction:
    """The same without any rounding."""
    rrf = sum((Fraction(60, 60 + rank) for rank in ranks), Fraction(0)) / list_count
    return Fraction(7, 10) * relevance + Fraction(3, 10) * 10**6 * rrf


def row(key: str, score_ppm: int) -> Row:
    body = Entity(key, "person", key, "x", 1, 500_000, 500_000, "human", 0, 0)
    return Row(Address(SCOPE, "entity", key), 1, body, score_ppm)


PPM = st.sampled_from([1, 2, 499_999, 500_000, 1_000_000]) | st.integers(1, 1_000_000)
ROWS = st.lists(st.tuples(st.sampled_from("abcdefghijkl"), PPM), max_size=16)


def fused_fast(lists: list[Rows], limit: int) -> list[tuple[str, int, int]]:
    ranked = [unite_lists([row(*it) for it in rows], (), 2 * limit) for rows in lists]
    return [(it.row.address.id, it.score_ppm, it.relevance_ppm) for it in fuse_lists(ranked, limit)]


LIMIT = st.integers(1, 6)


@pytest.mark.slow
@given(st.lists(ROWS, min_size=1, max_size=3), LIMIT)
def test_fusion_is_its_dumb_twin(lists: list[Rows], limit: int) -> None:
    assert fused_fast(lists, limit) == fused_slowly([dict(sorted(rows)) for rows in lists], limit)


@given(PPM, st.lists(st.integers(0, 199), min_size=1, max_size=3), st.integers(0, 2))
def test_whole_numbers_lose_less_than_two_millionths(
    relevance: int, ranks: list[int], empty_count: int
) -> None:
    list_count = len(ranks) + empty_count
    lost = exactly(relevance, ranks, list_count) - fusion(relevance, ranks, list_count)
    assert -1 < 1_000 * lost < 1_300


@given(ROWS, LIMIT)
def test_the_same_list_twice_or_beside_an_empty_one_keeps_its_order(rows: Rows, limit: int) -> None:
    once, twice, beside = (
        [key for key, _, _ in fused_fast(lists, limit)] for lists in ([rows], [rows, rows], [rows, []])
    )
    assert once == twice == beside

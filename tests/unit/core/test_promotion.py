"""Goal: the scores of M6.8 to M6.10 to the last digit (SCO-3), and their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, maybe, rows, whole
from umi_core.limits import HALF_LIFE_MS, PPM
from umi_core.policies.promotion import (
    ROOTS,
    TYPE_PPM,
    frequency_ppm,
    recency_ppm,
    score_ppm,
)
from umi_core.rows import AccessRecord
from umi_core.values import ENTITY_TYPES


def record(
    kind: str = "person", importance_ppm: int = 500_000, count: int = 1, first: int = 0, last: int = 0
) -> AccessRecord:
    return AccessRecord("ent_a", kind, importance_ppm, count, first, last)


def test_the_roots_are_those_of_the_table() -> None:
    roots = {whole(row["k"]): whole(row["c"]) for row in rows("memory", "roots")}
    assert {k: ROOTS[k - 1] for k in roots if k} == roots


@pytest.mark.parametrize("row", rows("memory", "scores"), ids=lambda row: row["age"])
def test_one_access_fades_as_the_table_says(row: Row) -> None:
    age_ms = whole(row["age"])
    assert recency_ppm(age_ms) == whole(row["recency"])
    assert frequency_ppm(1, 0, age_ms) == whole(row["frequency"])
    assert score_ppm(record(), age_ms) == whole(row["score"])


@pytest.mark.parametrize("row", rows("memory", "eligible"), ids=lambda row: row["type"])
def test_so_many_accesses_within_a_day_or_so_much_importance_make_an_entity_eligible(row: Row) -> None:
    kind, count, importance = row["type"], whole(row["accesses"]), maybe(row["importance for one"])
    assert score_ppm(record(kind, count=count - 1), 0) < 700_000
    assert 700_000 <= score_ppm(record(kind, count=count), 0) <= 715_000
    if importance is not None:
        assert score_ppm(record(kind, importance - 3), 0) < 700_000
        assert score_ppm(record(kind, importance), 0) == 700_000


def test_every_type_has_its_part() -> None:
    assert tuple(TYPE_PPM) == ENTITY_TYPES
    shares = {row["type"]: whole(row["part of the score"]) for row in rows("memory", "types")}
    assert dict(TYPE_PPM) == shares
    assert [row["type"] for row in rows("memory", "eligible")] == list(ENTITY_TYPES)


def test_a_clock_that_moved_back_counts_as_age_zero() -> None:
    assert recency_ppm(-5) == PPM
    assert frequency_ppm(3, 1_000, 0) == 300_000


TIMES = st.integers(0, 10**13)
RECORDS = st.builds(
    record,
    st.sampled_from(ENTITY_TYPES),
    st.integers(0, PPM),
    st.integers(0, 10**9),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
)


@given(TIMES, st.integers(0, 10 * HALF_LIFE_MS))
def test_recency_never_rises_with_age(age_ms: int, more_ms: int) -> None:
    assert PPM >= recency_ppm(age_ms) >= recency_ppm(age_ms + more_ms) >= 0


@given(st.integers(0, 10**9), st.integers(0, 10**6), TIMES, TIMES)
def test_frequency_never_falls_with_count(count: int, more: int, first_ms: int, now_ms: int) -> None:
    assert 0 <= frequency_ppm(count, first_ms, now_ms) <= frequency_ppm(count + more, first_ms, now_ms) <= PPM


@given(RECORDS, TIMES, st.integers(0, PPM), st.integers(0, 1_000))
def test_more_importance_or_accesses_never_lower_the_score(
    old: AccessRecord, now_ms: int, importance: int, more: int
) -> None:
    better = record(
        old.type, max(old.importance_ppm, importance), old.count + more, old.first_ms, old.last_ms + more
    )
    assert 0 <= score_ppm(old, now_ms) <= score_ppm(better, now_ms) <= PPM


@given(RECORDS)
def test_nothing_jumps_over_the_first_millisecond(old: AccessRecord) -> None:
    assert abs(recency_ppm(0) - recency_ppm(1)) <= 1
    first_ms = old.first_ms
    assert (
        frequency_ppm(old.count, first_ms, first_ms) - frequency_ppm(old.count, first_ms, first_ms + 1) <= 1
    )

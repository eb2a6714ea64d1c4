"""Goal: the scores of spec/memory.md 6 and 7 to the last digit, and their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.limits import DAY_MS, HALF_LIFE_MS, PPM
from umi_core.policies.promotion import (
    ROOTS,
    TYPE_PPM,
    frequency_ppm,
    recency_ppm,
    score_ppm,
)
from umi_core.rows import AccessRecord
from umi_core.values import ENTITY_TYPES

HOUR_MS = 3_600_000


def record(
    kind: str = "person", importance_ppm: int = 500_000, count: int = 1, first: int = 0, last: int = 0
) -> AccessRecord:
    return AccessRecord("ent_a", kind, importance_ppm, count, first, last)


def test_the_roots_are_those_of_the_spec() -> None:
    assert (ROOTS[0], ROOTS[1], ROOTS[19]) == (
        3_260_954_456_333_195_553,
        3_877_950_241_171_266_237,
        4_611_682_969_934_856_343,
    )


@pytest.mark.parametrize(
    ("age_ms", "recency", "frequency", "score"),
    [
        (0, 1_000_000, 100_000, 590_000),
        (1, 1_000_000, 100_000, 590_000),
        (576, 1_000_000, 100_000, 590_000),
        (577, 999_999, 100_000, 589_999),
        (HOUR_MS, 995_882, 100_000, 588_764),
        (DAY_MS, 905_724, 100_000, 561_717),
        (84 * HOUR_MS, 707_106, 28_571, 487_846),
        (7 * DAY_MS - 1, 500_000, 14_285, 422_857),
        (7 * DAY_MS, 500_000, 14_285, 422_857),
        (30 * DAY_MS, 51_270, 3_333, 286_047),
        (90 * DAY_MS, 134, 1_111, 270_262),
        (140 * DAY_MS, 0, 714, 270_142),
    ],
)
def test_one_access_fades_as_the_table_says(age_ms: int, recency: int, frequency: int, score: int) -> None:
    assert recency_ppm(age_ms) == recency
    assert frequency_ppm(1, 0, age_ms) == frequency
    assert score_ppm(record(), age_ms) == score


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("self", 5),
        ("project", 6),
        ("task", 6),
        ("organization", 6),
        ("event", 7),
        ("person", 7),
        ("preference", 7),
        ("location", 7),
        ("topic", 7),
        ("note", 8),
    ],
)
def test_so_many_accesses_within_a_day_make_an_entity_eligible(kind: str, count: int) -> None:
    assert score_ppm(record(kind, count=count - 1), 0) < 700_000
    assert 700_000 <= score_ppm(record(kind, count=count), 0) <= 715_000


@pytest.mark.parametrize(("kind", "importance"), [("person", 775_000), ("self", 700_000), ("note", 850_000)])
def test_one_access_suffices_from_this_importance(kind: str, importance: int) -> None:
    assert score_ppm(record(kind, importance - 3), 0) < 700_000
    assert score_ppm(record(kind, importance), 0) == 700_000


def test_every_type_has_a_weight() -> None:
    assert tuple(TYPE_PPM) == ENTITY_TYPES


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

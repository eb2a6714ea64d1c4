"""Goal: relevance is exact and bounded; an unsound vector counts as missing, a wrong number of them fails."""

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.words import words
from umi_core.policies.similarity import (
    shared_ppm,
    sound_vectors,
    vector_error,
    vector_relevance_ppm,
    words_relevance_ppm,
)

VECTORS = st.lists(st.integers(-127, 127), min_size=4, max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("query", "row", "expected"),
    [
        ((3, 4, 0), (4, 3, 0), 960_000),
        ((1, 0), (1, 1), 707_106),
        ((1, 0), (0, 1), 0),
        ((1, 0), (-1, 0), 0),
        ((5, -7), (5, -7), 1_000_000),
        ((127,) * 4_096, (127,) * 4_096, 1_000_000),
        ((0, 0), (1, 1), 0),
        ((1, 0), (1, 0, 0), 0),
        ((), (), 0),
    ],
)
def test_vector_relevance_is_the_floored_cosine(
    query: tuple[int, ...], row: tuple[int, ...], expected: int
) -> None:
    assert vector_relevance_ppm(query, row) == expected


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


@given(VECTORS, st.integers(1, 9))
def test_vector_relevance_ignores_length(vector: tuple[int, ...], times: int) -> None:
    longer = tuple(component * times for component in vector)
    assert vector_relevance_ppm(vector, longer) == (1_000_000 if any(vector) else 0)


@pytest.mark.parametrize(
    ("query", "name", "content", "expected"),
    [
        ("Where does Alice work?", "Alice", "works at Acme", 600_000),
        ("Acme", "Alice", "works at Acme", 1_000_000),
        ("dark mode", "Bob", "likes light mode", 500_000),
        ("東京", "旅行", "東京へ行く", 1_000_000),
        ("who is who", "The Who", "a band", 500_000),  # nothing but stop words: then all count
        ("what is the who", "The Who", "a band", 600_000),  # 2 of 4, raised: the whole name is asked
        ("Alice Alice tea", "Bob", "drinks tea", 500_000),
        ("plans for Alicia", "Alice", "plans", 500_000),  # no substring test
        ("tea", "🙂", "coffee", 0),  # a name without words is in no query
        ("🙂", "🙂", "🙂", 0),
        ("", "Alice", "", 0),
    ],
)
def test_words_relevance_is_the_share_of_the_query(
    query: str, name: str, content: str, expected: int
) -> None:
    assert words_relevance_ppm(query, name, content) == expected


TEXTS = st.lists(st.sampled_from(["Alice", "tea", "the", "who", "東", "🙂", "Bob's"]), max_size=4).map(
    " ".join
)


@given(TEXTS, TEXTS, TEXTS)
def test_words_relevance_is_a_score_and_asks_the_same_of_kept_words(
    query: str, name: str, content: str
) -> None:
    score = words_relevance_ppm(query, name, content)
    assert 0 <= score <= 1_000_000
    assert score == shared_ppm(words(query), words(name), words(name) + words(content))


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
    assert vector_error((vector,), 1, 2) == fault
    sound = sound_vectors((vector, (3, 4)), 2, 2)
    assert sound is not None
    assert (sound[0] is None) == (fault is not None)
    assert sound[1] == (3, 4)


@pytest.mark.parametrize("vectors", [(), ((1, 2),), ((1, 2),) * 3, None, "ab", {}])
def test_a_wrong_number_of_vectors_is_a_failure(vectors: object) -> None:
    assert vector_error(vectors, 2, 2) == "wrong_count"
    assert sound_vectors(vectors, 2, 2) is None


def test_no_vectors_for_no_texts_is_sound() -> None:
    assert vector_error((), 0, 2) is None
    assert sound_vectors((), 0, 2) == ()

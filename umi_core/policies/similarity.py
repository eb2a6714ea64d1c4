"""Similarity: how well a row answers a query, by vector and by words.

Law 1. Exact integers: no rounding but the stated floor, so every machine agrees. Law 2. Every score is in
0..1_000_000. Law 3. A vector that is not sound counts as missing, which scores 0 and is no failure.
"""

from collections.abc import Iterable, Sequence
from math import isqrt
from operator import mul
from typing import Final

from umi_core.language.words import content, words
from umi_core.limits import COMPONENT_MAX, PPM

NAME_FLOOR_PPM: Final = 600_000  # a query with every word of the name is about the row


def vector_relevance_ppm(query: Sequence[int], row: Sequence[int]) -> int:
    """The cosine of two whole-number vectors, floored; 0 unless they point the same way."""
    dot = inner(query, row) if len(query) == len(row) else 0
    if dot <= 0:
        return 0
    score_ppm = isqrt(dot * dot * PPM * PPM // (inner(query, query) * inner(row, row)))
    assert 0 <= score_ppm <= PPM  # Cauchy-Schwarz
    return score_ppm


def inner(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(map(mul, a, b))


def words_relevance_ppm(query: str, name: str, row_content: str) -> int:
    """The share of the query's words that the row has, raised for a row that the query names."""
    name_words = words(name)
    return shared_ppm(words(query), name_words, (*name_words, *words(row_content)))


def shared_ppm(query: Sequence[str], name: Sequence[str], row: Iterable[str]) -> int:
    """`words_relevance_ppm` over words, for those who keep them; `row` holds the words of the name too."""
    wanted = frozenset(content(query) or query)
    if not wanted:
        return 0
    share_ppm = PPM * len(wanted.intersection(row)) // len(wanted)
    named = bool(name) and frozenset(query).issuperset(name)
    return max(share_ppm, NAME_FLOOR_PPM) if named else share_ppm


# Vectors as an embedder answers them.


def sound_vectors(vectors: object, count: int, dims: int) -> tuple[tuple[int, ...] | None, ...] | None:
    """The vectors with None for each that counts as missing; None for a wrong number of them, a failure."""
    if not isinstance(vectors, tuple | list) or len(vectors) != count:
        return None
    return tuple(tuple(vector) if vector_fault(vector, dims) is None else None for vector in vectors)


def vector_error(vectors: object, count: int, dims: int) -> str | None:
    """The first thing wrong with an embedder's answer, by a fixed name; None if all is sound."""
    if not isinstance(vectors, tuple | list) or len(vectors) != count:
        return "wrong_count"
    return next((fault for vector in vectors if (fault := vector_fault(vector, dims))), None)


def vector_fault(vector: object, dims: int) -> str | None:
    """Why one vector counts as missing: wrong_length, not_whole, out_of_range, zero; None if it is sound."""
    if not isinstance(vector, tuple | list) or len(vector) != dims:
        return "wrong_length"
    if not all(type(component) is int for component in vector):  # a bool is no number
        return "not_whole"
    if not all(-COMPONENT_MAX <= component <= COMPONENT_MAX for component in vector):
        return "out_of_range"
    return None if any(vector) else "zero"

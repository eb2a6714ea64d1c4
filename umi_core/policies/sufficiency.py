"""Sufficiency: what a level of the archive gives for a query, and whether the levels so far are enough.

Law 1. Pure. Law 2. Each row counts once, at its best. Law 3. Only what a vector has found well enough counts
toward enough: words alone never do. Law 4. More hits, or higher scores, never make enough too little.
"""

from collections.abc import Iterable, Sequence

from umi_core.data import Data
from umi_core.policies.ranking import best_of, current, relevance, unite_lists
from umi_core.rows import Resource, Row

LIST_FACTOR = 2  # a list is asked for more than is wanted, since two lists are united


class ScoredRow(Data):
    """A row that a level gives, its score, and the one by vector alone; None if only words have found it."""

    level: str
    row: Row
    score_ppm: int
    vector_ppm: int | None


def union(level: str, by_vector: Iterable[Row], by_words: Iterable[Row], limit: int) -> tuple[ScoredRow, ...]:
    """Return two lists as one, the best first, with the better one of a text and its own part."""
    by_vector, by_words = current((by_vector, by_words))
    vectors = {key: relevance(row) for key, row in best_of(by_vector).items()}
    # A whole text and its segments are rows of one kind: a reader gets what fits better, and not both.
    rows = without_wholes(unite_lists(by_vector, by_words, len(by_vector) + len(by_words)))
    return tuple(ScoredRow(level, row, relevance(row), vectors.get(row.address.id)) for row in rows[:limit])


def without_wholes(rows: Sequence[Row]) -> list[Row]:
    """Return the rows but for a text of which a part is as good, and the parts of a text that is better."""
    scores = {row.address.id: relevance(row) for row in rows}
    best_part: dict[str, int] = {}
    for row in rows:
        if (parent := parent_of(row)) is not None:
            best_part[parent] = max(relevance(row), best_part.get(parent, 0))
    # A whole text that is better than each of its parts stays, without them.
    better = [parent for parent, part_ppm in best_part.items() if scores.get(parent, 0) > part_ppm]
    return [
        row
        for row in rows
        if best_part.get(row.address.id, -1) < relevance(row) and parent_of(row) not in better
    ]


def parent_of(row: Row) -> str | None:
    return row.body.parent_id if isinstance(row.body, Resource) else None


def is_enough(found: Iterable[ScoredRow], wanted: int, average_min_ppm: int) -> bool:
    """Check whether `wanted` rows count, and the best of them reach this average."""
    # Rows found by words alone have no relevance by vector, so they cannot make it enough.
    counted = sorted((it.vector_ppm for it in found if it.vector_ppm is not None), reverse=True)[:wanted]
    return len(counted) == wanted and sum(counted) >= wanted * average_min_ppm

"""Ranking: lists of hits become one, in whole numbers; and whether what levels of the archive give is enough.

Law 1. Order is by score, then by id. Law 2. A single list keeps its scores. Law 3. How many lists there are
is what was asked for, not what was found: an empty list counts. Law 4. If two lists have a row in two
versions the newer one counts, however much better the older one would have been. Law 5. A row that vector and
words have found is more relevant than either says, and never less. Law 6. Each row of a level counts once, at
its best. Law 7. Only what a vector has found well enough counts toward enough: words alone never do.
Law 8. More hits, or higher scores, never make enough too little.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from umi_core.data import Data
from umi_core.limits import PPM, RRF_K, RRF_SCALE
from umi_core.rows import Resource, Row

RELEVANCE_SHARE_PPM = 700_000
OTHERS_SHARE_PPM = 800_000


class Ranked(Data):
    """A row, its score among the others, and the best relevance that any list gave it."""

    row: Row
    score_ppm: int
    relevance_ppm: int


def current(lists: Iterable[Iterable[Row]]) -> list[tuple[Row, ...]]:
    """Return the same lists, read one after the other, without what a later one has in a newer version."""
    whole = [tuple(rows) for rows in lists]
    newest: dict[str, int] = {}
    for row in (row for rows in whole for row in rows):
        # Two lists are read one after the other: between them another commit may have written the row.
        newest[row.address.id] = max(row.version, newest.get(row.address.id, 0))
    return [tuple(row for row in rows if row.version == newest[row.address.id]) for rows in whole]


def unite_lists(by_vector: Iterable[Row], by_words: Iterable[Row], limit: int) -> tuple[Row, ...]:
    """Return one list of one query variant: each row once, with its relevance as score; at most `limit`."""
    vectors, words = best_of(by_vector), best_of(by_words)
    rows = [
        structs.replace(row, score_ppm=united_ppm(relevance(vectors.get(key)), relevance(words.get(key))))
        for key, row in {**words, **vectors}.items()
    ]
    return tuple(sorted(rows, key=lambda row: order(relevance(row), row))[:limit])


def join_lists(lists: Iterable[Iterable[Row] | None], least_ppm: int) -> tuple[Row, ...]:
    """Return the lists by words of one query as one: of the query as it is, and then of it with its dates.

    The best score with a date counts. A row that only the first list has is relevant by its other words, so
    it stays, with the least score that is asked for. None stands for a list that failed.
    """
    known = current(it for it in lists if it is not None)
    if len(known) < 2:
        return known[0] if known else ()
    # "Ann, last Friday (2026-11-20)" asks for three terms more, so rows without the date score less: they
    # come behind those that have it, but a question never finds less because it says when.
    plain, *dated = known
    best = best_of(row for rows in dated for row in rows)
    others = (row for row in plain if row.address.id not in best)
    return (*best.values(), *(structs.replace(row, score_ppm=least_ppm) for row in others))


def best_of(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the rows by id, each at its best."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.address.id not in best or relevance(row) > relevance(best[row.address.id]):
            best[row.address.id] = row
    return best


def united_ppm(vector_ppm: int, words_ppm: int) -> int:
    """Return the relevance of a row with these scores by vector and by words; 0 for not found.

    r**3 = 1 - (1 - v**3) * (1 - w): vector and words are taken for independent reasons to believe that a row
    is relevant. A vector counts by its cube, since texts that have nothing in common often have a cosine of
    0.3. Alone it keeps its score.
    """
    doubt = (PPM**3 - vector_ppm**3) * (PPM - words_ppm)
    # Doubt is rounded up, so that relevance is never rounded up. By words alone, 577,350 becomes 832,683.
    return cube_root(PPM**3 - -(-doubt // PPM))


def cube_root(number: int) -> int:
    """Return the cube root, floored."""
    root = 1 << -(-number.bit_length() // 3)  # not less than it
    while root**3 > number:
        # Newton's step: from above it falls, and never below the floored root.
        root = (2 * root + number // root**2) // 3
    return root


def relevance(row: Row | None) -> int:
    return 0 if row is None else row.score_ppm or 0


def order(score_ppm: int, row: Row) -> tuple[int, str]:
    return -score_ppm, row.address.id


def fuse_lists(lists: Sequence[tuple[Row, ...]], limit: int) -> tuple[Ranked, ...]:
    """Return the best of all lists: relevance and reciprocal rank fusion, 7 to 3. One list is only cut."""
    if len(lists) == 1:
        return tuple(Ranked(row, relevance(row), relevance(row)) for row in lists[0][:limit])
    best: dict[str, Row] = {}
    sums: dict[str, int] = {}
    for rows in lists:
        for rank, row in enumerate(rows):
            key = row.address.id
            # First in two lists and absent from a third: two thirds of the most that is possible.
            sums[key] = sums.get(key, 0) + RRF_SCALE // (RRF_K + rank)
            if key not in best or relevance(row) > relevance(best[key]):
                best[key] = row
    most = len(lists) * (RRF_SCALE // RRF_K)
    scored = [(fusion(relevance(row), PPM * sums[key] // most), row) for key, row in best.items()]
    scored.sort(key=lambda pair: order(*pair))
    return tuple(Ranked(row, score_ppm, relevance(row)) for score_ppm, row in scored[:limit])


def lower_others(
    hits: Iterable[Ranked], is_of_others: Callable[[Row], bool], limit: int
) -> tuple[Ranked, ...]:
    """Return the best hits once those that are of others have four fifths of their score.

    For `Where do I live?` the facts `I live in Rome.` and `Bob lives in Oslo.` have the same words, and score
    0.80 and 0.81: the shorter one comes first, whomever it is about.
    """
    lowered = [
        structs.replace(it, score_ppm=it.score_ppm * OTHERS_SHARE_PPM // PPM) if is_of_others(it.row) else it
        for it in hits
    ]
    return tuple(sorted(lowered, key=lambda it: order(it.score_ppm, it.row))[:limit])


def fusion(relevance_ppm: int, rrf_ppm: int) -> int:
    return (RELEVANCE_SHARE_PPM * relevance_ppm + (PPM - RELEVANCE_SHARE_PPM) * rrf_ppm) // PPM


# Sufficiency: what a level gives for a query, and whether the levels so far are enough.


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

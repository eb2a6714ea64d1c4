"""Ranking: merges lists of hits into one, in whole numbers, and decides whether the hits of levels suffice.

Law 1. Hits are ordered by score, then by id. Law 2. A single list keeps its scores. Law 3. Empty lists count:
scores depend on the number of lists asked for. Law 4. If two lists have different versions of a row, only the
newer one counts, even if the older one scores better. Law 5. A row found by both vector and words is at least
as relevant as by either. Law 6. Each row of a level counts once, with its best score. Law 7. Only hits by
vector decide whether hits suffice; hits by words alone never count. Law 8. If hits suffice, then so do more
hits or higher scores.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from umi_core.data import Data
from umi_core.limits import PPM, RRF_K, RRF_SCALE
from umi_core.rows import Resource, Row

RELEVANCE_SHARE_PPM = 700_000
ASKED_SHARE_PPM = 950_000
OTHERS_SHARE_PPM = 800_000


class Ranked(Data):
    """A row, its score in the merged list, and its best relevance in any list."""

    row: Row
    score_ppm: int
    relevance_ppm: int


def current(lists: Iterable[Iterable[Row]]) -> list[tuple[Row, ...]]:
    """Return the lists without rows of which another list has a newer version."""
    whole = [tuple(rows) for rows in lists]
    newest: dict[str, int] = {}
    for row in (row for rows in whole for row in rows):
        # Lists are read one after the other, and another commit may write the row in between.
        newest[row.address.id] = max(row.version, newest.get(row.address.id, 0))
    return [tuple(row for row in rows if row.version == newest[row.address.id]) for rows in whole]


def unite_lists(by_vector: Iterable[Row], by_words: Iterable[Row], limit: int) -> tuple[Row, ...]:
    """Unite two lists of one query variant: each row once, with its relevance as score; at most `limit`."""
    vectors, words = best_of(by_vector), best_of(by_words)
    rows = [
        structs.replace(row, score_ppm=united_ppm(relevance(vectors.get(key)), relevance(words.get(key))))
        for key, row in {**words, **vectors}.items()
    ]
    return tuple(sorted(rows, key=lambda row: order(relevance(row), row))[:limit])


def join_lists(lists: Iterable[Iterable[Row] | None], least_ppm: int) -> tuple[Row, ...]:
    """Join the lists by words of one query: the first with other spellings, others with dates.

    A row gets its best score in the later lists. A row that only the first list has matches by other words,
    so it stays, with `least_ppm` and a tenth of what it has above. None stands for a list that failed.
    """
    known = current(it for it in lists if it is not None)
    if len(known) < 2:
        return known[0] if known else ()
    # "Ann, last Friday (2026-11-20)" has three terms more, so rows without the date score lower. They are
    # ordered after rows with the date, but are still found: a date in a question never loses hits.
    plain, *dated = known
    best = best_of(row for rows in dated for row in rows)
    others = (
        structs.replace(row, score_ppm=least_ppm + max(0, relevance(row) - least_ppm) // 10)
        for row in plain
        if row.address.id not in best
    )
    return (*best.values(), *others)


def best_of(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the rows by id, each with its best relevance."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.address.id not in best or relevance(row) > relevance(best[row.address.id]):
            best[row.address.id] = row
    return best


def united_ppm(vector_ppm: int, words_ppm: int) -> int:
    """Return the relevance of a row with these scores by vector and by words; a score is 0 if not found.

    r**3 = 1 - (1 - v**3) * (1 - w): vector and words count as independent evidence that a row is relevant.
    The vector score is cubed because unrelated texts often have a cosine of 0.3. A row found by vector alone
    keeps its score.
    """
    doubt = (PPM**3 - vector_ppm**3) * (PPM - words_ppm)
    # Doubt is rounded up, so that relevance is never rounded up. By words alone, 577,350 gives 832,683.
    return cube_root(PPM**3 - -(-doubt // PPM))


def cube_root(number: int) -> int:
    """Return the cube root, floored."""
    root = 1 << -(-number.bit_length() // 3)  # an upper bound of the root
    while root**3 > number:
        # Newton's step decreases from above, and never below the floored root.
        root = (2 * root + number // root**2) // 3
    return root


def relevance(row: Row | None) -> int:
    return 0 if row is None else row.score_ppm or 0


def order(score_ppm: int, row: Row) -> tuple[int, str]:
    return -score_ppm, row.address.id


def fuse_lists(lists: Sequence[tuple[Row, ...]], limit: int) -> tuple[Ranked, ...]:
    """Merge the lists by relevance and reciprocal rank fusion, weighted 7 to 3; a single list is only cut.

    The first list is that of the query itself. No row scores less than ASKED_SHARE_PPM of its relevance
    there, since further words can also mislead: `Where does my sister live?` also searches for `moved`.
    """
    if len(lists) == 1:
        return tuple(Ranked(row, relevance(row), relevance(row)) for row in lists[0][:limit])
    best: dict[str, Row] = {}
    sums: dict[str, int] = {}
    for rows in lists:
        for rank, row in enumerate(rows):
            key = row.address.id
            # A row that is first in two of three lists gets two thirds of the maximum.
            sums[key] = sums.get(key, 0) + RRF_SCALE // (RRF_K + rank)
            if key not in best or relevance(row) > relevance(best[key]):
                best[key] = row
    most = len(lists) * (RRF_SCALE // RRF_K)
    asked = {row.address.id: relevance(row) * ASKED_SHARE_PPM // PPM for row in lists[0]}
    scored = [
        (max(asked.get(key, 0), fusion(relevance(row), PPM * sums[key] // most)), row)
        for key, row in best.items()
    ]
    scored.sort(key=lambda pair: order(*pair))
    return tuple(Ranked(row, score_ppm, relevance(row)) for score_ppm, row in scored[:limit])


def lower_others(
    hits: Iterable[Ranked], is_of_others: Callable[[Row], bool], limit: int
) -> tuple[Ranked, ...]:
    """Multiply the scores of facts about other people by OTHERS_SHARE_PPM; return the best hits.

    For `Where do I live?`, the facts `I live in Rome.` and `Bob lives in Oslo.` match the same words and
    score 0.80 and 0.81, so without this the fact about Bob would come first.
    """
    lowered = [
        structs.replace(it, score_ppm=it.score_ppm * OTHERS_SHARE_PPM // PPM) if is_of_others(it.row) else it
        for it in hits
    ]
    return tuple(sorted(lowered, key=lambda it: order(it.score_ppm, it.row))[:limit])


def fusion(relevance_ppm: int, rrf_ppm: int) -> int:
    return (RELEVANCE_SHARE_PPM * relevance_ppm + (PPM - RELEVANCE_SHARE_PPM) * rrf_ppm) // PPM


# Sufficiency: the hits of a level, and whether the hits of all levels so far suffice.


LIST_FACTOR = 2  # each list is asked for more rows than wanted, since two lists are united


class ScoredRow(Data):
    """A hit of a level, its score, and its score by vector alone; None if only words found it."""

    level: str
    row: Row
    score_ppm: int
    vector_ppm: int | None


def union(level: str, by_vector: Iterable[Row], by_words: Iterable[Row], limit: int) -> tuple[ScoredRow, ...]:
    """Unite two lists, the best first; of a text and its own part only the better one stays."""
    by_vector, by_words = current((by_vector, by_words))
    vectors = {key: relevance(row) for key, row in best_of(by_vector).items()}
    # A text and its segments are rows of one kind; the result has whichever fits better, not both.
    rows = without_wholes(unite_lists(by_vector, by_words, len(by_vector) + len(by_words)))
    return tuple(ScoredRow(level, row, relevance(row), vectors.get(row.address.id)) for row in rows[:limit])


def without_wholes(rows: Sequence[Row]) -> list[Row]:
    """Drop each text of which a part scores at least as high, and the parts of a text that scores higher."""
    scores = {row.address.id: relevance(row) for row in rows}
    best_part: dict[str, int] = {}
    for row in rows:
        if (parent := parent_of(row)) is not None:
            best_part[parent] = max(relevance(row), best_part.get(parent, 0))
    # A text that scores higher than each of its parts stays, without these.
    better = [parent for parent, part_ppm in best_part.items() if scores.get(parent, 0) > part_ppm]
    return [
        row
        for row in rows
        if best_part.get(row.address.id, -1) < relevance(row) and parent_of(row) not in better
    ]


def parent_of(row: Row) -> str | None:
    return row.body.parent_id if isinstance(row.body, Resource) else None


def is_enough(found: Iterable[ScoredRow], wanted: int, average_min_ppm: int) -> bool:
    """Check whether `wanted` rows have a vector score, and the best of these reach this average."""
    # Rows found by words alone have no vector score and do not count (law 7).
    counted = sorted((it.vector_ppm for it in found if it.vector_ppm is not None), reverse=True)[:wanted]
    return len(counted) == wanted and sum(counted) >= wanted * average_min_ppm

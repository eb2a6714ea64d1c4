"""Ranking: lists of hits become one, in whole numbers.

Law 1. Order is by score, then by id. Law 2. A single list keeps its scores. Law 3. How many lists there are
is what was asked for, not what was found: an empty list counts.
"""

from collections.abc import Iterable, Sequence

import attrs

from umi_core.limits import PPM, RRF_K, RRF_SCALE
from umi_core.values import Row

RELEVANCE_SHARE_PPM = 700_000


@attrs.frozen
class Ranked:
    """A row with its place's score, and the best relevance that any list gave it."""

    row: Row
    score_ppm: int
    relevance_ppm: int

    @property
    def order(self) -> tuple[int, str]:
        return -self.score_ppm, self.row.address.id


def merged(rows: Iterable[Row], limit: int) -> tuple[Ranked, ...]:
    """One list of one query variant: each row once, at its best; at most `limit`."""
    best: dict[str, Row] = {}
    for row in rows:
        known = best.get(row.address.id)
        if known is None or relevance(row) > relevance(known):
            best[row.address.id] = row
    ranked = (Ranked(row, relevance(row), relevance(row)) for row in best.values())
    return tuple(sorted(ranked, key=lambda it: it.order)[:limit])


def relevance(row: Row) -> int:
    """A row that storage gave no score answers nothing."""
    return row.score_ppm or 0


def fused(lists: Sequence[tuple[Ranked, ...]], limit: int) -> tuple[Ranked, ...]:
    """The best of all lists: relevance and reciprocal rank fusion, 7 to 3. One list is cut and no more."""
    if len(lists) == 1:
        return lists[0][:limit]
    best: dict[str, Ranked] = {}
    sums: dict[str, int] = {}
    for ranked in lists:
        for rank, it in enumerate(ranked):
            key = it.row.address.id
            sums[key] = sums.get(key, 0) + RRF_SCALE // (RRF_K + rank)
            if key not in best or it.relevance_ppm > best[key].relevance_ppm:
                best[key] = it
    most = len(lists) * (RRF_SCALE // RRF_K)
    fusions = (attrs.evolve(it, score_ppm=fusion(it, PPM * sums[key] // most)) for key, it in best.items())
    return tuple(sorted(fusions, key=lambda it: it.order)[:limit])


def fusion(it: Ranked, rrf_ppm: int) -> int:
    return (RELEVANCE_SHARE_PPM * it.relevance_ppm + (PPM - RELEVANCE_SHARE_PPM) * rrf_ppm) // PPM

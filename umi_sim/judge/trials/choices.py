"""Choices among many: who is nearest of thousands of vectors, who is grouped, who leaves a core, who is worth
how much. Few runs have so many rows, or rows so much alike, that the last rule of a choice decides.

Law 1. Numbers are small, so that many are equal. Law 2. What is chosen is worked out a second time, plainly.
"""

from collections.abc import Sequence
from typing import Any, Final

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.policies import clustering, eviction, promotion, ranking, similarity
from umi_core.rows import AccessRecord, Address, Row
from umi_core.values import ENTITY_TYPES, Scope
from umi_sim.judge.plain import groups, leaving, scores
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

PPM: Final = 1_000_000
SOME: Final = 8
MANY: Final = 2  # in one trial of so many, vectors are tried at all: that needs numpy
COUNTS: Final = (2, 60, 1_023, 1_024, 1_025, 1_500, 1_500, 2_100)
WIDTHS: Final = (1, 2, 2, 3, 4, 8)
WIDE: Final = 1_200  # of so many components products need the larger float
BLOCKS: Final = ("persona", "human", "facts", "goals", "scratch")
DAY_MS: Final = 86_400_000
WHO: Final = Scope("u", "a")


def try_choices(draw: Stream, config: Config) -> None:
    for _ in range(SOME):
        check_leaving(draw)
        check_worth(draw)
    check_fused(draw)
    check_angle(draw)
    if draw.chance(1, MANY):
        check_nearest(draw)
        check_grouped(draw)


# Room.


def check_leaving(draw: Stream) -> None:
    seats = [
        leaving.Seat(f"e{n}", draw.pick(BLOCKS), draw.below(4), draw.between(1, 4))
        for n in draw.shuffle(range(draw.below(9)))
    ]  # fmt: skip
    by_block = {block: draw.between(-3, 6) for block in BLOCKS if draw.chance(1, 2)}
    lack = leaving.Lack(draw.between(-4, 12), draw.between(-2, 4), by_block)
    given = [eviction.Standing(it.key, it.score_ppm, it.size_bytes, it.block) for it in seats]
    got = eviction.victims(given, eviction.Shortage(lack.size_bytes, lack.count, tuple(by_block.items())))
    wanted = leaving.leaving(seats, lack)
    told = f"of {seats} leave, if {lack} is lacking"
    demand(wanted == (None if got is None else list(got)), rules.FEWEST_VICTIMS, told, wanted, got)


def check_worth(draw: Stream) -> None:
    now_ms = draw.pick((0, draw.below(400 * DAY_MS)))
    last_ms = max(0, now_ms - draw.pick((0, 1, draw.below(8 * DAY_MS), draw.below(400 * DAY_MS))))
    first_ms = max(0, last_ms - draw.pick((0, DAY_MS - 1, DAY_MS, DAY_MS + 1, draw.below(300 * DAY_MS))))
    importance_ppm = draw.pick((0, PPM, draw.below(PPM)))
    kind, count = draw.pick(ENTITY_TYPES), draw.pick((0, 1, draw.below(4_000)))
    record = AccessRecord("e", kind, importance_ppm, count, first_ms, last_ms)
    wanted, got = scores.promotion_ppm(record, now_ms), promotion.score_ppm(record, now_ms)
    demand(wanted == got, rules.SCORE_GOLDENS, f"the score of {record} at {now_ms} ms", wanted, got)


# Lists.


def check_fused(draw: Stream) -> None:
    """Lists of one variant each, then all of them as one."""
    limit = draw.between(1, 6)
    lists = [
        [(f"e{draw.below(8)}", draw.below(5), draw.pick((3, 3, 3, 4))) for _ in range(draw.below(12))]
        for _ in range(draw.between(1, 3))
    ]
    told = ranking.current((row_of(*it) for it in each) for each in lists)
    best = [ranking.merged(each, 2 * limit) for each in told]
    fused = [(it.row.address.id, it.score_ppm, it.relevance_ppm) for it in ranking.fused(best, limit)]
    known = {(key, version) for each in lists for key, _, version in each}
    due = [[(key, ppm) for key, ppm, version in each if (key, version + 1) not in known] for each in lists]
    wanted = scores.fused([scores.ranked(each, limit) for each in due], limit)
    demand(wanted == fused, rules.FUSION_RULE, f"{lists} as one of {limit}", wanted, fused)


def row_of(key: str, relevance_ppm: int, version: int) -> Row:
    return Row(Address(WHO, "entity", key), version, None, score_ppm=relevance_ppm)


# Vectors.


def vectors(draw: Stream, count: int, width: int) -> list[tuple[int, ...]]:
    """Sound ones, many of them alike."""
    most = draw.pick((1, 2, 9, 127))
    drawn = (tuple(draw.between(-most, most) for _ in range(width)) for _ in range(count))
    return [it if any(it) else (1, *it[1:]) for it in drawn]


def check_angle(draw: Stream) -> None:
    """Of two vectors, also of two lengths: an embedder may have been exchanged for another."""
    query, row = (vectors(draw, 1, draw.pick(WIDTHS))[0] for _ in range(2))
    wanted, got = scores.vector_ppm(query, row), similarity.vector_relevance_ppm(query, row)
    demand(wanted == got, rules.HITS_ORDERED, f"how near {row} is to {query}", wanted, got)


def check_nearest(draw: Stream) -> None:
    count, width = draw.pick(COUNTS), draw.pick(WIDTHS)
    if draw.chance(1, 4):
        count, width = 20, WIDE
    rows = vectors(draw, count, width)
    query = vectors(draw, 1, width)[0]
    ids = [f"{key:05}" for key in draw.shuffle(range(count))]
    limit = draw.pick((1, 1, 2, 7, 7, 100)) if draw.chance(15, 16) else 0
    floor_ppm = draw.pick((0, 0, 0, 1, 300_000, 700_000, PPM)) if draw.chance(15, 16) else PPM + 1
    allowed = [draw.chance(2, 3) for _ in rows] if draw.chance(1, 2) else None
    found = [
        (scores.vector_ppm(query, row), at) for at, row in enumerate(rows) if allowed is None or allowed[at]
    ]
    found = [it for it in found if it[0] >= max(1, floor_ppm)]
    wanted = sorted(found, key=lambda it: (-it[0], ids[it[1]]))[:limit]
    got = similarity.nearest(query, as_rows(rows), ids, limit, floor_ppm, as_flags(allowed))
    told = f"the {limit} nearest of {count} vectors, from {floor_ppm} on"
    demand(wanted == got, rules.HITS_ORDERED, told, wanted, got)


def as_rows(rows: Sequence[Sequence[int]]) -> similarity.Rows:
    import numpy as np

    matrix = np.array(rows, similarity.exact_type(len(rows[0])))
    return similarity.Rows(matrix, *similarity.measured(matrix))


def as_flags(allowed: Sequence[bool] | None) -> Any:
    import numpy as np

    return None if allowed is None else np.array(allowed, bool)


def check_grouped(draw: Stream) -> None:
    width = draw.pick(WIDTHS)
    points = {f"m{n:02}": it for n, it in enumerate(vectors(draw, draw.below(14), width))}
    near_ppm = draw.pick((1, 300_000, 700_000, 900_000, PPM))
    merge_ppm = draw.between(near_ppm, PPM)
    size_min, count_max = draw.between(1, 3), draw.between(1, 4)
    known = [
        groups.Old(f"g{n}", draw.below(3), it, tuple(draw.subset(points, 1, 3)))
        for n, it in enumerate(vectors(draw, draw.below(4), width))
    ]
    afresh = draw.chance(1, 2)
    wanted = groups.groups_of(
        points, known, groups.Rules(near_ppm, merge_ppm, size_min, count_max), afresh=afresh
    )
    found = clustering.clusters(
        points, [clustering.Known(it.id, it.created_ms, it.centroid, it.members) for it in known],
        clustering.Bounds(near_ppm, merge_ppm, size_min, count_max), afresh=afresh,
    )  # fmt: skip
    want = [(it.old.id if it.old else "", it.members, groups.centre_of(it.members, points)) for it in wanted]
    got = [(it.known.id if it.known else "", it.member_ids, it.centroid) for it in found]
    demand(want == got, rules.CLUSTER_MEMBERS, f"groups of {points} beside {known}", want, got)

"""Goal: policies choose among many as their rules say: who leaves core, which vectors, groups and levels.

Numbers are small, so that many are equal and the last rule of a choice decides.
"""

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any, Final

import numpy as np
import pytest
from msgspec import structs

from tests.properties import hierarchy_reference as hierarchy
from tests.properties import scores_reference as plain_scores
from tests.properties.laws import Draw, law
from tests.properties.values import first_sound, sound
from umi_core.data import Data
from umi_core.messages.requests import Retrieve
from umi_core.policies import clustering, eviction, promotion, ranking, similarity
from umi_core.rows import AccessRecord, Address, Row
from umi_core.values import ENTITY_TYPES, Scope
from umi_core.workflows import retrieve
from umi_sim.judge.plain import levels as plain_levels
from umi_sim.judge.plain import scores

SCOPE: Final = Scope("u", "a")
PPM: Final = 1_000_000
DAY_MS: Final = 86_400_000
Standings = list[eviction.EvictionCandidate]
Vector = tuple[int, ...]


# Who leaves core.


def is_enough(leaving: Standings, lack: eviction.Shortage) -> bool:
    freed = sum(it.size_bytes for it in leaving)
    in_blocks = (
        sum(it.size_bytes for it in leaving if it.block == block) >= size_bytes
        for block, size_bytes in lack.block_bytes
    )
    return freed >= lack.core_bytes and len(leaving) >= lack.entry_count and all(in_blocks)


@pytest.mark.slow
def test_of_all_sets_that_make_room_the_one_leaves_that_spares_the_best() -> None:
    """The best entry stays if it can; then the second best stays if it can, and so on."""
    lacks = [
        eviction.Shortage(core_bytes, count, blocks)
        for core_bytes, count in product((-1, 0, 2, 4, 5), (0, 2))
        for blocks in ((), (("facts", 1),), (("facts", 3), ("human", -1)))
    ]
    for sizes in product((1, 2, 3), repeat=3):
        for blocks in product(("facts", "human", "persona"), repeat=3):
            for scores_ppm in ((2, 1, 3), (1, 1, 1)):
                entries = [*map(eviction.EvictionCandidate, ("a", "b", "c"), scores_ppm, sizes, blocks)]
                for lack in lacks:
                    check_victims(entries, lack)


def check_victims(entries: Standings, lack: eviction.Shortage) -> None:
    mobile = [it for it in entries if it.block != "persona"]
    best_first = sorted(mobile, key=lambda it: (it.score_ppm, it.entity_id), reverse=True)
    sets = (set_ for count in range(len(mobile) + 1) for set_ in combinations(mobile, count))
    enough = [set_ for set_ in sets if is_enough([*set_], lack)]
    wanted = min(enough, key=lambda set_: [it in set_ for it in best_first], default=None)
    got = eviction.victims(entries, lack)
    assert (wanted is None) == (got is None), (entries, lack)
    assert {it.entity_id for it in wanted or ()} == {*(got or ())}, (entries, lack)


def access_records(draw: Draw) -> tuple[AccessRecord, int]:
    now_ms = draw.pick((0, 400 * DAY_MS, draw.below(400 * DAY_MS)))
    last_ms = max(0, now_ms - draw.pick((0, 1, draw.below(8 * DAY_MS), draw.below(400 * DAY_MS))))
    age_ms = draw.pick((0, DAY_MS - 1, DAY_MS, DAY_MS + 1, draw.below(300 * DAY_MS)))
    kind, importance_ppm = draw.pick(ENTITY_TYPES), draw.pick((0, PPM, draw.below(PPM)))
    count = draw.pick((0, 1, draw.below(4_000)))
    return AccessRecord("e", kind, importance_ppm, count, max(0, last_ms - age_ms), last_ms), now_ms


@law(access_records)
def test_an_entity_has_its_score(record: AccessRecord, now_ms: int) -> None:
    assert plain_scores.promotion_ppm(record, now_ms) == promotion.score_ppm(record, now_ms)


# Lists.


def lists(draw: Draw) -> tuple[list[list[tuple[str, int, int]]], int]:
    def listed(draw: Draw) -> tuple[str, int, int]:
        return f"e{draw.below(8)}", draw.below(5), draw.pick((3, 3, 3, 4))

    return draw.many(lambda draw: draw.many(listed, 0, 11), 1, 3), draw.between(1, 6)


@law(lists, examples=200)
def test_lists_become_one_without_older_versions(lists: list[list[tuple[str, int, int]]], limit: int) -> None:
    rows = ranking.current((row_of(*it) for it in each) for each in lists)
    fused = ranking.fuse_lists([ranking.unite_lists(each, (), 2 * limit) for each in rows], limit)
    known = {(key, version) for each in lists for key, _, version in each}
    newest = [[(key, ppm) for key, ppm, version in it if (key, version + 1) not in known] for it in lists]
    wanted = scores.fuse_lists([scores.rank_variant(each, 2 * limit) for each in newest], limit)
    assert wanted == [(it.row.address.id, it.score_ppm, it.relevance_ppm) for it in fused]


def row_of(key: str, score_ppm: int, version: int) -> Row:
    return Row(Address(SCOPE, "entity", key), version, None, score_ppm=score_ppm)


# Vectors.

COUNTS: Final = (2, 60, 1_023, 1_024, 1_025, 1_500)


def vector(draw: Draw, width: int, most: int) -> Vector:
    it = tuple(draw.between(-most, most) for _ in range(width))
    return it if any(it) else (1, *it[1:])


def two_vectors(draw: Draw) -> tuple[Vector, Vector]:
    most = draw.pick((3, 9, 127))
    return vector(draw, draw.between(1, 4), most), vector(draw, draw.between(1, 4), most)


@law(two_vectors)
def test_vectors_of_two_lengths_have_nothing_in_common(query: Vector, row: Vector) -> None:
    """The embedder may have been exchanged for another one."""
    assert plain_scores.vector_ppm(query, row) == similarity.vector_relevance_ppm(query, row)


class Searched(Data):
    """A search among vectors, many of which are alike: a few are repeated `count` times in all."""

    few: list[Vector]
    count: int
    step: int
    times: int  # products of very many components need the larger float
    query_at: int
    is_backward: bool
    limit: int
    floor_ppm: int
    left_out: int | None

    @property
    def rows(self) -> list[Vector]:
        """The last eight fill no block of vectors."""
        few, last = self.few, self.count - 8
        places = ((at * self.step if at < last else at * 3) % len(few) for at in range(self.count))
        return [few[place] * self.times for place in places]

    @property
    def ids(self) -> list[str]:
        ids = [f"{at:05}" for at in range(self.count)]
        return ids[::-1] if self.is_backward else ids[::2] + ids[1::2]

    @property
    def may_be(self) -> list[bool]:
        """Which of the vectors may be found."""
        return [not self.left_out or at % self.left_out != 0 for at in range(self.count)]


def searched(draw: Draw) -> tuple[Searched]:
    is_wide = draw.chance(1, 16)
    count, times = (20, 300) if is_wide else (draw.pick(COUNTS), 1)
    width, most = 4 if is_wide else draw.between(1, 4), draw.pick((1, 2, 9, 127))
    few = draw.many(lambda draw: vector(draw, width, most), 1, 12)
    query_at = draw.pick((0, count - 1, draw.below(count)))
    limit, floor_ppm = draw.pick((1, 1, 2, 7, 100, 0)), draw.pick((0, 0, 1, 300_000, 700_000, PPM, PPM + 1))
    backward, left_out = draw.chance(1, 2), draw.pick((None, 2, 3, 5))
    step = draw.pick((0, 1, 5, 7))
    return (Searched(few, count, step, times, query_at, backward, limit, floor_ppm, left_out),)


@law(searched, examples=120)
def test_the_nearest_vectors_are_found_in_their_order(it: Searched) -> None:
    vectors, ids, may_be = it.rows, it.ids, it.may_be
    query = vectors[it.query_at]
    relevant = [(plain_scores.vector_ppm(query, row), at) for at, row in enumerate(vectors) if may_be[at]]
    found = [each for each in relevant if each[0] >= max(1, it.floor_ppm)]
    wanted = sorted(found, key=lambda each: (-each[0], ids[each[1]]))[: it.limit]
    matrix = np.array(vectors, similarity.exact_type(len(query)))
    rows = similarity.VectorRows(matrix, *similarity.measure_rows(matrix))
    flags = None if it.left_out is None else np.array(may_be, bool)
    assert wanted == similarity.nearest(query, rows, ids, it.limit, it.floor_ppm, flags)


def test_the_one_vector_that_fits_is_found_wherever_it_stands() -> None:
    for count in COUNTS:
        for place in {*range(0, count, 97), *range(max(0, count - 9), count)}:
            vectors = np.tile(np.array((1, 0), similarity.exact_type(2)), (count, 1))
            vectors[place] = (0, 1)
            rows = similarity.VectorRows(vectors, *similarity.measure_rows(vectors))
            ids = [f"{at:05}" for at in range(count)]
            assert similarity.nearest((0, 1), rows, ids, 1, 0, None) == [(PPM, place)]


class Scattered(Data):
    """Points to be grouped, the groups so far, and the rules."""

    points: Mapping[str, Vector]
    known: list[hierarchy.OldGroup]
    rules: hierarchy.Rules
    afresh: bool


def scattered(draw: Draw) -> tuple[Scattered]:
    """Draw points and known groups, so near each other that groups often meet and become one."""
    width, near_ppm = draw.pick((2, 3, 1)), draw.pick((300_000, 700_000, 900_000, 1, PPM))
    points = {f"m{n:02}": vector(draw, width, 9) for n in range(draw.pick((12, 1, 0, 5, 8)))}
    known = [
        hierarchy.OldGroup(f"g{n}", draw.below(3), vector(draw, width, 9), tuple(draw.subset(points, 1, 3)))
        for n in range(draw.below(4))
    ]
    merge_ppm = draw.pick((PPM, (near_ppm + PPM) // 2, near_ppm))
    rules = hierarchy.Rules(near_ppm, merge_ppm, draw.pick((1, 1, 2, 3)), draw.pick((4, 4, 2, 1)))
    return (Scattered(points, known, rules, draw.chance(1, 2)),)


@pytest.mark.slow
@law(scattered, examples=400)
def test_members_of_a_category_are_grouped(it: Scattered) -> None:
    points, rules = it.points, it.rules
    wanted = hierarchy.groups_of(points, it.known, rules, afresh=it.afresh)
    known = [clustering.KnownGroup(old.id, old.created_ms, old.centroid, old.members) for old in it.known]
    bounds = clustering.Bounds(*structs.astuple(rules))
    got = clustering.clusters(points, known, bounds, afresh=it.afresh)
    found = [(of.known.id if of.known else "", of.member_ids, of.centroid) for of in got]
    assert found == [
        (of.old.id if of.old else "", of.members, hierarchy.centre_of(of.members, points)) for of in wanted
    ]


# Levels of the archive: two lists of texts and their own parts, whose scores are often equal.

IDS: Final = ("r1", "r2", "r3", "r4")
TEXTS: Final = ("", "x", "Alice likes tea.", '日本 <"&\n', "é" * 30, "x" * 60)
Level = tuple[str, list[Row], list[Row]]


def level_rows(draw: Draw, level: str, bodies: dict[str, Any]) -> list[Row]:
    """Draw a list as a storage gives it: each row once, the best first."""
    chosen = draw.subset(IDS)
    found = sorted((-draw.pick((0, 1, 400_000, 400_000, 400_001, 700_000, PPM)), it) for it in chosen)
    kind = plain_levels.KINDS[level]
    return [
        Row(Address(SCOPE, kind, it), draw.pick((3, 3, 4)), bodies[it], score_ppm=-ppm) for ppm, it in found
    ]


def levels(draw: Draw) -> Level:
    level = draw.pick((*plain_levels.ALL, "resources"))
    bodies: dict[str, Any] = dict.fromkeys(IDS, sound(draw, plain_levels.KINDS[level]))
    if level == "resources":
        for row_id, body in bodies.items():
            parent, text = draw.pick((None, "r1", "r1", "r2")), draw.pick(TEXTS)
            bodies[row_id] = structs.replace(body, parent_id=parent, description=text)
    return level, level_rows(draw, level, bodies), level_rows(draw, level, bodies)


@law(lambda draw: (*levels(draw), draw.between(1, 5)), examples=200)
def test_a_level_gives_each_text_or_its_better_parts(
    level: str, by_vector: list[Row], by_words: list[Row], limit: int
) -> None:
    found = ranking.union(level, by_vector, by_words, limit)
    wanted = hierarchy.rank_level(level, by_vector, by_words)[:limit]
    assert wanted == [plain_levels.seen_row(level, it.row, it.score_ppm, it.vector_ppm) for it in found]
    for count in (1, 2, 3):
        for average_ppm in (0, 1, 400_000, 550_000, PPM):
            is_enough = plain_levels.is_enough(wanted, count, average_ppm)
            assert is_enough == ranking.is_enough(found, count, average_ppm)


def test_of_a_text_and_its_parts_those_are_given_that_are_better() -> None:
    whole: Any = first_sound("resource")
    bodies = [structs.replace(whole, parent_id=parent) for parent in (None, "r1", "r1")]
    for ppms in product((None, 1, 2, 3), repeat=3):
        found = [(ppm, key, it) for ppm, key, it in zip(ppms, IDS, bodies, strict=False) if ppm is not None]
        rows = [
            Row(Address(SCOPE, "resource", key), 1, it, score_ppm=ppm)
            for ppm, key, it in sorted(found, key=lambda it: (-it[0], it[1]))
        ]
        for by_vector, by_words in ((rows, []), ([], rows), (rows[:1], rows[1:])):
            given = [it.row.address.id for it in ranking.union("resources", by_vector, by_words, 3)]
            assert given == [it.id for it in hierarchy.rank_level("resources", by_vector, by_words)], ppms


def contexts(draw: Draw) -> tuple[Level, list[str], int]:
    return levels(draw), [draw.pick(TEXTS) for _ in range(8)], draw.pick((1, 16, 60, 200, 4_000))


@law(contexts, examples=60)
def test_a_context_shows_the_hits_that_fit_into_it(level: Level, texts: list[str], bytes_max: int) -> None:
    found, wanted = ranking.union(*level, 8), hierarchy.rank_level(*level)
    hits = tuple(
        structs.replace(retrieve.hit_of(it), text=text) for it, text in zip(found, texts, strict=False)
    )
    seen = [structs.replace(it, text=hit.text) for it, hit in zip(wanted, hits, strict=True)]
    text, left_out_count = retrieve.context_of(hits, bytes_max)
    shown = plain_levels.expect_context(seen, bytes_max)
    assert shown == plain_levels.read_context(text)
    assert len(hits) - len(shown) == left_out_count


def test_a_level_is_read_as_lists_of_twice_the_limit_or_as_many_as_a_model_ranks() -> None:
    """H6.11."""
    for limit in (1, 24, 25, 26, 50):
        for rank, least in (("vector", 0), ("model", 50)):
            request = Retrieve("", "x", limit_per_level=limit, rank=rank)
            assert retrieve.list_limit(request) == max(2 * limit, least)

"""Goal: the fast searches reply as slow ones that are easy to read: score all, sort, cut.

The slow search by vector knows only `vector_relevance_ppm`; the slow storage is the scan of SimStorage
itself, which the conformance kit compares with its own twin.
"""

from typing import Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.worlds import conditions
from umi_core.messages.effects import ByVector, ByWords, Commit, Write
from umi_core.policies.similarity import VectorRows, exact_type, measure_rows, nearest, vector_relevance_ppm
from umi_core.rows import Address, Entity, Head, Vector
from umi_core.values import Scope
from umi_sim.services.storage import SimStorage

# Many rows by vector.

COMPONENTS: Final = st.sampled_from((0, 0, 1, -1, 2, 126, 127, -127))
VECTORS: Final = st.lists(COMPONENTS, min_size=3, max_size=3).map(tuple)
SCORES: Final = st.sampled_from((0, 1, 300_000, 707_106, 707_107, 999_999, 1_000_000, 1_000_001))


@given(
    st.lists(st.tuples(VECTORS, st.integers(0, 9), st.booleans()), min_size=1, max_size=25),
    VECTORS,
    st.sampled_from((1, 2, 100)),
    st.integers(0, 40),
    SCORES,
    st.booleans(),
    st.sampled_from((3, 2_000)),
)
def test_the_nearest_are_those_that_a_sort_of_all_finds(
    some: list[tuple[tuple[int, ...], int, bool]],
    query: tuple[int, ...],
    times: int,
    limit: int,
    score_min: int,
    has_mask: bool,
    dims: int,
) -> None:
    """Repeated rows make ties by the hundred; padding with zeros takes the other float."""
    rows = some * (times if dims == 3 else 1)
    ids = [f"{letter}{place * 7_919 % 10_007}" for place, (_, letter, _) in enumerate(rows)]
    padding = (0,) * (dims - 3)
    matrix = np.array([vector + padding for vector, _, _ in rows], exact_type(dims))
    mask = np.array([is_allowed for _, _, is_allowed in rows]) if has_mask else None
    found = nearest(query + padding, VectorRows(matrix, *measure_rows(matrix)), ids, limit, score_min, mask)
    scores = {vector: vector_relevance_ppm(query, vector) for vector, _, _ in some}
    scored = [
        (scores[vector], place)
        for place, (vector, _, is_allowed) in enumerate(rows)
        if is_allowed or not has_mask
    ]
    hits = sorted((-score, ids[place], place) for score, place in scored if score >= max(1, score_min))
    assert found == [(-score, place) for score, _, place in hits[:limit]]


@given(st.lists(st.lists(st.integers(-127, 127), min_size=64, max_size=64), min_size=1, max_size=30))
def test_vectors_of_many_components_are_ranked_exactly(vectors: list[list[int]]) -> None:
    matrix = np.array(vectors, exact_type(64))
    ids = [str(place) for place in range(len(vectors))]
    for query in vectors[:3]:
        found = nearest(query, VectorRows(matrix, *measure_rows(matrix)), ids, 5, 0)
        scored = [
            (-vector_relevance_ppm(query, vector), row_id)
            for vector, row_id in zip(vectors, ids, strict=True)
        ]
        assert found == [(-score, int(row_id)) for score, row_id in sorted(scored)[:5] if score]


# A whole storage.

SCOPES: Final = (Scope("u", "a"), Scope("u", "b"))
ROW_IDS: Final = st.sampled_from(
    ("ent_00", "ent_01", "ent_0123456789", "ent_012345678a", "ent_ff", "", "x", "日")
)
WORDS: Final = ("alice", "bob", "tea", "the", "who", "is", "東", "Acme's", "🙂")
TEXTS: Final = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
LONG_TEXTS: Final = st.just(" ".join([*WORDS, *map(str, range(200))]))
TIMES: Final = st.sampled_from((0, 1, 2, 3, 2**63 - 1, 2**70))
ADDRESSES: Final = st.tuples(st.sampled_from(SCOPES), ROW_IDS)
SOUND: Final = st.lists(st.integers(-2, 2), min_size=2, max_size=2).map(tuple)
ODD: Final = st.sampled_from(((), (1,), (1, 0, 2), (128, 1), (-128, 1), (True, 0), (2**70, 1)))
COMPONENT_LISTS: Final = SOUND | SOUND | SOUND | ODD


@st.composite
def writes(draw: st.DrawFn) -> Write:
    scope, row_id = draw(ADDRESSES)
    what = draw(st.sampled_from(("entity", "entity", "vector", "vector", "gone", "strange")))
    if what == "vector":
        return Write(Address(scope, "vector", row_id), Vector(row_id, 1, draw(COMPONENT_LISTS)))
    if what == "entity":
        kind, name, content = draw(st.sampled_from(("person", "topic"))), draw(TEXTS), draw(TEXTS)
        own_id = draw(st.sampled_from((row_id, row_id, "another")))
        body = Entity(own_id, kind, name, content, 1, 1, 1, "human", 0, draw(TIMES))
        return Write(
            Address(scope, "entity", row_id), structs.replace(body, vector_missing=draw(st.booleans()))
        )
    kind = draw(st.sampled_from(("entity", "vector")))
    return Write(Address(scope, kind, row_id), Head("tea") if what == "strange" else None)


WHERES: Final = st.just(()) | st.builds(
    conditions,
    types=st.sampled_from((None, ("person",), ("person", "topic"), ("event",), ())),
    start_ms=st.none() | TIMES | st.just(-(2**70)),
    end_ms=st.none() | TIMES,
    vector_missing=st.sampled_from((None, True, False)),
    touches=st.sampled_from((None, None, None, "x")),
    without=st.just(()) | st.lists(ROW_IDS, max_size=3).map(tuple),
)
LIMITS: Final = st.sampled_from((-1, 0, 1, 2, 3, 100))
BY_VECTOR: Final = st.builds(ByVector, st.sampled_from(SCOPES), SOUND | ODD, WHERES, LIMITS, SCORES)
BY_WORDS: Final = st.builds(ByWords, st.sampled_from(SCOPES), TEXTS | LONG_TEXTS, WHERES, LIMITS, SCORES)


@given(
    st.lists(
        st.tuples(
            st.lists(writes(), max_size=12),
            st.sampled_from(("flush", "flush", "flush", "crash", "torn")),
            st.lists(BY_VECTOR | BY_WORDS, max_size=4),
        ),
        max_size=6,
    )
)
def test_a_storage_that_looks_up_answers_as_one_that_scans(
    story: list[tuple[list[Write], str, list[ByVector | ByWords]]],
) -> None:
    fast, slow = SimStorage(indexed_count_min=0), SimStorage(indexed_count_min=2**63)
    for batch, fate, queries in story:
        for storage in (fast, slow):
            ticket = storage.arrive(Commit(tuple(batch), ()), "a")
            if fate == "torn":
                storage.tear_batch(ticket, len(batch) // 2)
            elif fate == "crash":
                storage.crash()
            else:
                storage.flush(ticket, 0)
        for query in queries:
            assert fast.read(1, query) == slow.read(1, query)
    assert slow.index is None

"""Goal: what answers is found, by vector and by words; a failed read is an error (memory.md 12)."""

from typing import Any

import attrs
import pytest

from tests.worlds import ALICE, BOB, SCOPE, Pair
from umi_core.config import Config
from umi_core.effects import ByVector, ByWords, Degraded, Done, Embed, Failed, Outcome, Read, Where
from umi_core.errors import StorageFailed
from umi_core.inputs import Count, Embedded, Forget, Get, GetEntity, ReadDone, Recall, Remember
from umi_core.results import Hit, Recalled
from umi_core.values import Address, Entity, Row, Version


def recalled(outcome: Outcome) -> Recalled:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Recalled)
    return outcome.value


def hits(outcome: Outcome) -> list[Hit]:
    return list(recalled(outcome).hits)


def told() -> Pair:
    """Alice, with the time of an event, and Bob."""
    pair = Pair().run()
    pair.ask(Remember(1, "Alice works at Acme", event_time_ms=500))
    pair.ask(Remember(2, "Bob likes light mode"))
    return pair


def test_a_hit_shows_the_current_row_and_how_well_it_answers() -> None:
    (hit,) = hits(told().ask(Recall(3, "Where does Alice work?")))
    assert hit == Hit(ALICE, 1, "person", "Alice", "works at Acme", 600_000, 600_000, 500)


def test_each_list_is_asked_for_twice_the_limit_with_the_whole_filter() -> None:
    pair = told()
    pair.step(Recall(3, "Alice", limit=4, time_range=(1, 9), types=("person",), min_score_ppm=0))
    pair.answer()
    where = Where(("person",), 1, 9)
    (by_vector,) = pair.pending
    (by_words,) = pair.answer()
    assert isinstance(by_vector, Read)
    assert isinstance(by_words, Read)
    assert isinstance(by_vector.query, ByVector)
    assert attrs.evolve(by_vector.query, vector=()) == ByVector(SCOPE, (), where, 8, 1)
    assert by_words.query == ByWords(SCOPE, "Alice", where, 8, 1)


def test_without_options_the_settings_say_how_many_and_how_well() -> None:
    pair = Pair(config=Config(auto_rebalance=False, recall_limit_default=3, recall_min_score_ppm=7)).run()
    pair.step(Recall(1, "tea"))
    (by_vector,) = pair.answer()
    assert isinstance(by_vector, Read)
    assert isinstance(by_vector.query, ByVector)
    assert (by_vector.query.limit, by_vector.query.min_score_ppm) == (6, 7)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, [ALICE, BOB]),
        ({"limit": 1}, [ALICE]),
        ({"types": ("note",)}, []),
        ({"time_range": (500, 500)}, [ALICE]),
        ({"time_range": (501, None)}, []),
        ({"time_range": (None, 0)}, [BOB]),
        ({"min_score_ppm": 1_000_000}, []),
    ],
)
def test_filters_hold_before_anything_is_cut(options: dict[str, Any], found: list[str]) -> None:
    wanted = Recall(3, "Alice Bob Acme", **{"min_score_ppm": 1, **options})
    assert [hit.id for hit in hits(told().ask(wanted))] == found


# The better of both lists, in a total order.


def row(key: str, score_ppm: int | None) -> Row:
    body = Entity(key, "person", key, "x", 1, 500_000, 500_000, "human", 0, 0)
    return Row(Address(SCOPE, "entity", key), 1, body, score_ppm)


def test_a_row_counts_by_its_better_list_and_ties_go_to_the_smaller_id() -> None:
    pair = Pair().run()
    pair.step(Recall(1, "tea", limit=3))
    pair.answer()
    for rows in ((row("c", 5), row("b", 3)), (row("b", 9), row("c", 4), row("a", 5), row("d", 1))):
        pair.step(ReadDone(pair.pending.pop(0).request_id, rows))
    assert [(hit.id, hit.score_ppm) for hit in hits(pair.replies[1].outcome)] == [
        ("b", 9),
        ("a", 5),
        ("c", 5),
    ]


def test_a_row_without_a_score_is_found_last() -> None:
    pair = Pair().run()
    pair.step(Recall(1, "tea"))
    pair.answer()
    for rows in ((row("a", None),), ()):
        pair.step(ReadDone(pair.pending.pop(0).request_id, rows))
    assert [(hit.id, hit.score_ppm) for hit in hits(pair.replies[1].outcome)] == [("a", 0)]


# Without services.


def test_without_vectors_words_find_it_and_the_reply_says_so() -> None:
    outcome = told().ask(Recall(3, "Alice"), Embed)
    assert [hit.id for hit in hits(outcome)] == [ALICE]
    assert getattr(outcome, "degraded", None) == (Degraded("embed:words_only", "unavailable"),)


@pytest.mark.parametrize("vectors", [(), ((1,) * 64, (1,) * 64), ((0,) * 64,), ((128,) * 64,), ((1,) * 65,)])
def test_an_unsound_vector_is_no_vector(vectors: tuple[tuple[int, ...], ...]) -> None:
    pair = told()
    (embed,) = pair.step(Recall(3, "Alice"))
    pair.pending.clear()
    (read,) = pair.step(Embedded(embed.request_id, vectors))
    assert isinstance(read, Read)
    assert isinstance(read.query, ByWords)
    outcome = pair.run().replies[3].outcome
    assert getattr(outcome, "degraded", None) == (Degraded("embed:words_only", "unsound vectors"),)


def test_a_failed_search_by_vector_leaves_the_words() -> None:
    pair = told()
    pair.step(Recall(3, "Alice"))
    pair.answer()
    pair.fail("refused")
    outcome = pair.run().replies[3].outcome
    assert [hit.id for hit in hits(outcome)] == [ALICE]
    assert getattr(outcome, "degraded", None) == (Degraded("by_vector:words_only", "refused"),)


def test_a_failed_search_by_words_is_an_error_and_no_access() -> None:
    pair = told()
    before = pair.memory.state.tiers
    assert pair.ask(Recall(3, "Alice"), Read) == Failed(StorageFailed("by_words", "unavailable", 3))
    assert pair.memory.state.tiers == before


# What a recall leaves behind.


def test_each_hit_is_an_access_and_only_a_hit() -> None:
    pair = told()
    pair.now_ms = 70
    pair.ask(Recall(3, "Acme"))
    records = pair.memory.state.tiers.access.records
    assert [(records[key].count, records[key].last_ms) for key in (ALICE, BOB)] == [(2, 70), (1, 0)]
    pair.ask(GetEntity(4, ALICE))
    pair.ask(Count(5))
    assert pair.memory.state.tiers.access.records == records


def test_the_last_query_is_the_one_that_was_answered() -> None:
    pair = told()
    pair.ask(Recall(3, "Alice?"))
    pair.ask(Recall(4, "Bob?"), Read)
    assert pair.ask(Get(5, "__last_query")) == Done(b"Alice?")


# Single rows.


def test_get_gives_the_current_entity_one_of_its_versions_or_none() -> None:
    pair = told()
    pair.ask(Remember(3, "Alice likes tea"))
    current, first, absent = (
        pair.ask(request) for request in (GetEntity(4, ALICE), GetEntity(5, ALICE, 1), GetEntity(6, ALICE, 3))
    )
    assert isinstance(current, Done)
    assert isinstance(current.value, Entity)
    assert (current.value.version, current.value.content) == (2, "works at Acme\nlikes tea")
    assert isinstance(first, Done)
    assert isinstance(first.value, Version)
    assert (first.value.content, absent) == ("works at Acme", Done(None))


def test_count_counts_current_entities_of_the_scope_and_types() -> None:
    pair = told()
    other = Pair(storage=pair.storage, scope=attrs.evolve(SCOPE, agent="a2")).run()
    other.ask(Remember(1, "Carol sings"))
    pair.ask(Remember(3, "Umi helps"))
    pair.ask(Forget(4, BOB))
    counts = [
        pair.ask(Count(5)),
        pair.ask(Count(6, ("self",))),
        pair.ask(Count(7, ("task",))),
        other.ask(Count(8)),
    ]
    assert counts == [Done(2), Done(1), Done(0), Done(1)]


def test_a_read_that_fails_is_an_error_and_not_nothing() -> None:
    failed = Failed(StorageFailed("read", "unavailable", 3))
    assert told().ask(GetEntity(3, ALICE), Read) == told().ask(Count(3), Read) == failed

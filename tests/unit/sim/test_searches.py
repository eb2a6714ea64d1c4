"""Goal: the oracle of searches accepts what is due, and names the rule that a wrong answer breaks."""

from typing import Any

import attrs
import pytest

from tests.histories import (
    ACME,
    ALICE,
    NOW_MS,
    SCOPE,
    History,
    broken,
    entity,
    found,
    hit,
    ranked,
    remembered,
    two_known,
    vector_of,
)
from umi_core.effects import Degraded
from umi_core.inputs import Recall
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.values import entity_id

# Hits.


def test_all_that_match_are_hits() -> None:
    told = two_known()
    told.recall("tea", *ranked(told))
    told.recall("tea", ranked(told)[0], limit=1)
    told.recall("nothing at all", min_score_ppm=1_000_000)


@pytest.mark.parametrize("limit", [None, 1])
def test_no_match_is_left_out(limit: int | None) -> None:
    told = two_known()
    with broken("filter-before-cut"):
        told.recall("tea", ranked(told)[1], limit=limit)


def test_a_match_is_not_answered_by_nothing() -> None:
    told = two_known()
    with broken("error-is-not-empty"):
        told.recall("tea")


def test_scores_are_exact() -> None:
    told = two_known()
    first, second = ranked(told)
    with broken("filter-before-cut"):
        told.recall("tea", first, attrs.evolve(second, score_ppm=999_999, relevance_ppm=999_999))


def test_a_vector_finds_what_no_word_does() -> None:
    told = two_known()
    op_id = told.ask(Recall("", "xyz", min_score_ppm=1))
    told.hear(op_id, "embed", (vector_of(ALICE, "likes tea"),))
    second_ppm = vector_relevance_ppm(vector_of(ALICE, "likes tea"), vector_of(ACME, "sells tea"))
    told.reply(op_id, found("xyz", hit(ALICE, "likes tea", 1_000_000), hit(ACME, "sells tea", second_ppm)))
    op_id = told.ask(Recall("", "xyz", min_score_ppm=1))
    told.hear(op_id, "embed", (vector_of(ALICE, "likes tea"),))
    with broken("filter-before-cut"):
        told.reply(op_id, found("xyz", hit(ALICE, "likes tea", 1_000_000)))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"types": ("person",)}, "filter-before-cut"),
        ({"time_range": (NOW_MS + 1, None)}, "filter-before-cut"),
        ({"time_range": (None, NOW_MS - 1)}, "filter-before-cut"),
        ({"limit": 1}, "hits-ordered"),
    ],
)
def test_the_filter_holds(options: dict[str, Any], rule: str) -> None:
    told = two_known()
    with broken(rule):
        told.recall("tea", *ranked(told), **options)


def test_hits_are_unique_ordered_current_and_known() -> None:
    first, second = ranked(two_known())
    stale = attrs.evolve(first, content="likes coffee")
    stranger = attrs.evolve(first, id=entity_id(SCOPE, "person", "Bob"), name="Bob")
    for hits in (
        (second, first),
        (first, first),
        (stale, second),
        tuple(sorted((stranger, first), key=lambda it: it.id)),
    ):
        with broken("hits-ordered"):
            two_known().recall("tea", *hits)


def test_a_hit_may_be_of_a_write_in_flight() -> None:
    told = two_known()
    first, second = ranked(told)
    told.tell((ALICE, "naps"))
    newer = attrs.evolve(hit(ALICE, "likes tea\nnaps", 1_000_000, 2))
    told.recall("tea", *((newer if it.id == ALICE else it) for it in (first, second)))
    with broken("acknowledged-is-durable"):
        told.get(ALICE, entity(ALICE, "likes tea"))


def test_a_row_whose_vector_nobody_told_may_be_a_hit_or_not() -> None:
    told = History()
    op_id = told.tell((ALICE, "likes tea"))
    told.hear(op_id, "embed", None)
    told.reply(op_id, remembered((ALICE, 1, "created")), Degraded("embed:no_vectors", "unavailable"))
    told.recall("xyz")
    told.recall("xyz", hit(ALICE, "likes tea", 400_000))


# Degradation.


def test_there_is_no_other_degradation() -> None:
    with broken("degradation-named"):
        two_known().recall("tea", degraded=(Degraded("hits:fewer", "tired"),))


def test_without_vectors_words_find_it() -> None:
    told = two_known()
    op_id = told.ask(Recall("", "tea"))
    told.hear(op_id, "embed", None)
    told.reply(op_id, found("tea", *ranked(told)), Degraded("embed:words_only", "unavailable"))
    with broken("degradation-named"):
        told.recall("tea", *ranked(told), degraded=(Degraded("embed:words_only", "unavailable"),))


def test_a_search_that_lost_rows_is_not_held_to_all_of_them() -> None:
    told = two_known()
    told.recall("tea", ranked(told)[0], degraded=(Degraded("read:damaged_rows", "damaged"),))

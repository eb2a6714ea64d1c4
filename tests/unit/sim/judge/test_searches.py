"""Goal: the oracle of searches accepts what is due, and names the rule that a wrong answer breaks."""

from contextlib import nullcontext
from typing import Any

import attrs
import pytest

from tests.histories import (
    ACME,
    ALICE,
    DIMS,
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
from umi_core import errors
from umi_core.config import Config
from umi_core.ids import entity_id
from umi_core.limits import RESOLVE_CACHE_MS
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Degraded, Failed
from umi_core.messages.requests import Recall
from umi_core.messages.results import Hit
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.rows import Address, Row
from umi_core.values import Turn
from umi_sim.judge.oracle.archive import searches
from umi_sim.judge.plain.scores import fused_ppm
from umi_sim.services.embedder import embed

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
    told.recall("tea", ranked(told)[0], degraded=(Degraded("read:foreign_rows", "foreign"),))


@pytest.mark.parametrize(
    ("options", "lie", "rule"),
    [
        ({"types": ("note",)}, {}, "filter-before-cut"),
        ({"min_score_ppm": 500_000}, {"score_ppm": 499_999, "relevance_ppm": 499_999}, "filter-before-cut"),
        ({}, {"time_ms": NOW_MS - 1}, "hits-ordered"),
        ({}, {"time_ms": NOW_MS + 1}, "hits-ordered"),
    ],
)
def test_where_rows_were_lost_each_hit_is_judged_all_the_same(
    options: dict[str, Any], lie: dict[str, Any], rule: str
) -> None:
    told = two_known()
    first = attrs.evolve(ranked(told)[0], **lie)
    with broken(rule):
        told.recall("tea", first, degraded=(Degraded("read:foreign_rows", "foreign"),), **options)


def test_a_time_that_was_read_is_the_time_of_the_hit() -> None:
    told = two_known()
    for row in (entity(ALICE, "likes tea"), entity(ACME, "sells tea")):
        told.get(row.id, row)
    told.context.see(NOW_MS + 5)
    first, second = ranked(told)
    told.recall("tea", first, second)
    with broken("hits-ordered"):
        told.recall("tea", attrs.evolve(first, time_ms=NOW_MS + 1), second)


# What a query was taken for.

QUERY = "What did he say about that?"
JOHN = "What did John say about the database migration?"
TERMS = ("he", "that")
TURNS = (
    Turn("user", "Ask John about the database migration"),
    Turn("assistant", "John mentioned the DB migration is late"),
)
ASKED: dict[str, Any] = {"turns": TURNS, "deep": False}
RESOLVED: dict[str, Any] = {
    "outcome": "resolved", "query": JOHN, "terms": TERMS, "confidence_ppm": 1_000_000,
}  # fmt: skip
ORIGINAL = Degraded("resolve:original", "unavailable")


@pytest.mark.parametrize(
    ("query", "options", "outcome", "terms"),
    [
        ("Where is the schema?", {"turns": TURNS, "deep": False}, "clear", ()),
        (QUERY, {"deep": False}, "no_context", TERMS),
        (QUERY, {"turns": (Turn("user", " "),), "deep": False}, "no_context", TERMS),
        (QUERY, {"turns": TURNS, "resolve": False, "deep": False}, "disabled", ()),
    ],
)
def test_what_refers_to_nothing_said_is_searched_as_it_is(
    query: str, options: dict[str, Any], outcome: str, terms: tuple[str, ...]
) -> None:
    value = found(query, outcome=outcome, terms=terms)
    told = History()
    told.end(told.seek(query, **options), value)
    with broken("rewrite-only-if-needed"):
        told.end(told.seek(query, ("resolve", query), **options), value)
    with broken("reference-agrees"):
        told.end(told.seek(query, **options), found(query, outcome="unchanged", terms=terms))


@pytest.mark.parametrize(
    ("reply", "resolution", "degraded"),
    [
        (JOHN, RESOLVED, ()),
        (QUERY, {"outcome": "unchanged", "terms": TERMS}, ()),
        (
            "What did John say about that?",
            {"query": "What did John say about that?", "confidence_ppm": 500_000},
            (),
        ),
        ("garbage", {"outcome": "rejected", "reason": "dropped_words"}, (ORIGINAL,)),
        ("What did John say about it?", {"outcome": "rejected", "reason": "new_reference"}, (ORIGINAL,)),
        ("", {"outcome": "rejected", "reason": "empty_reply"}, (ORIGINAL,)),
        (None, {"outcome": "failed", "reason": "unavailable"}, (ORIGINAL,)),
    ],
)
def test_a_query_is_what_the_answer_makes_of_it(
    reply: str | None, resolution: dict[str, Any], degraded: tuple[Degraded, ...]
) -> None:
    value = found(QUERY, **({"outcome": "resolved", "terms": TERMS} | resolution))
    told = History()
    told.end(told.seek(QUERY, ("resolve", reply), **ASKED), value, *degraded)
    told = History()
    with broken("degradation-named"):
        told.end(told.seek(QUERY, ("resolve", reply), **ASKED), value, *([] if degraded else [ORIGINAL]))
    told = History()
    other = attrs.evolve(value.resolution, reason="other")
    with broken("reference-agrees"):
        told.end(
            told.seek(QUERY, ("resolve", reply), **ASKED), attrs.evolve(value, resolution=other), *degraded
        )


def test_not_every_reference_need_be_gone() -> None:
    query, reply = "What did he say about that and this?", "What did John say about that and this?"
    for name, is_fair in ((None, True), (ORIGINAL, False)):
        told = History()
        op_id = told.seek(query, ("resolve", reply), **ASKED)
        value = found(query, outcome="rejected", reason="unresolved", terms=("he", "that", "this"))
        if is_fair:
            told.end(op_id, value)
        else:
            assert name is not None
            with broken("degradation-named"):
                told.end(op_id, value, name)


def test_the_last_answer_is_what_the_query_is_taken_for() -> None:
    told = History()
    told.end(told.seek(QUERY, ("resolve", None), ("resolve", JOHN), **ASKED), found(QUERY, **RESOLVED))
    told = History()
    with broken("reference-agrees"):
        told.end(
            told.seek(QUERY, ("resolve", None), ("resolve", JOHN), **ASKED),
            found(QUERY, outcome="failed", terms=TERMS),
            ORIGINAL,
        )


def test_of_a_search_that_took_long_any_answer_may_have_come_too_late() -> None:
    late_ms = NOW_MS + Config().model_timeout_ms
    for value, degraded in (
        (found(QUERY, **RESOLVED), ()),
        (found(QUERY, outcome="failed", terms=TERMS, reason="timeout"), (ORIGINAL,)),
    ):
        told = History()
        told.end(told.seek(QUERY, ("resolve", JOHN), **ASKED), value, *degraded, now_ms=late_ms)
    told = History()
    with broken("reference-agrees"):
        told.end(told.seek(QUERY, ("resolve", "x"), **ASKED), found(QUERY, **RESOLVED), now_ms=late_ms)


LIES = [
    {"query": "What did John say?"},
    {"query": "What did Theo say about that plan?"},
    {"outcome": "unchanged"},
]


@pytest.mark.parametrize("lie", LIES)
def test_what_any_parser_lets_pass_is_weighed_again(
    monkeypatch: pytest.MonkeyPatch, lie: dict[str, Any]
) -> None:
    query = "What did he say about that plan?"
    value = found(query, **(RESOLVED | {"query": "What did John say about that plan?"} | lie))
    monkeypatch.setattr(searches, "read_rewrite", lambda *_: value.resolution)
    told = History()
    with broken("rewrite-gate"):
        told.end(told.seek(query, ("resolve", "x"), **ASKED), value)


# The cache.


def resolved(told: History, now_ms: int = NOW_MS) -> None:
    told.end(
        told.seek(QUERY, ("resolve", JOHN), now_ms=now_ms, **ASKED), found(QUERY, **RESOLVED), now_ms=now_ms
    )


def once_resolved(**config: Any) -> History:
    told = History(**config)
    resolved(told)
    return told


def again(told: History, now_ms: int = NOW_MS, query: str = QUERY, **options: Any) -> None:
    """The same question, and no model is asked."""
    value = found(query, **RESOLVED)
    told.end(told.seek(query, now_ms=now_ms, **(ASKED | options)), value, now_ms=now_ms)


def test_a_question_asked_again_within_five_minutes_needs_no_model() -> None:
    told = once_resolved()
    for now_ms in (NOW_MS, NOW_MS + RESOLVE_CACHE_MS - 1):
        again(told, now_ms)
        again(told, now_ms, limit=1)
        with broken("cache-invisible"):
            told.end(told.seek(QUERY, now_ms=now_ms, **ASKED), found(QUERY, outcome="unchanged", terms=TERMS))


def test_nobody_asks_what_he_knows() -> None:
    for now_ms in (NOW_MS, NOW_MS + RESOLVE_CACHE_MS - 1):
        told = once_resolved()
        with broken("rewrite-only-if-needed"):
            told.seek(QUERY, ("resolve", JOHN), now_ms=now_ms, **ASKED)


def test_after_five_minutes_it_is_asked_again() -> None:
    told = once_resolved()
    again(told, NOW_MS + RESOLVE_CACHE_MS - 1)  # which makes it live no longer
    with broken("cache-invisible"):
        again(told, NOW_MS + RESOLVE_CACHE_MS)
    resolved(told, NOW_MS + RESOLVE_CACHE_MS)
    again(told, NOW_MS + 2 * RESOLVE_CACHE_MS - 1)


def test_a_search_that_began_in_time_may_end_later() -> None:
    told = once_resolved()
    op_id = told.seek(QUERY, now_ms=NOW_MS + RESOLVE_CACHE_MS - 1, **ASKED)
    told.end(op_id, found(QUERY, **RESOLVED), now_ms=NOW_MS + RESOLVE_CACHE_MS + 9)


@pytest.mark.parametrize(
    "other", [{"turns": TURNS[:1]}, {"turns": TURNS[::-1]}, {"turns": (*TURNS, Turn("user", "x"))}]
)
def test_a_rewrite_serves_no_other_conversation(other: dict[str, Any]) -> None:
    with broken("cache-invisible"):
        again(once_resolved(), **other)


def test_a_rewrite_serves_no_other_query() -> None:
    with broken("cache-invisible"):
        again(once_resolved(), query="what did he say about that?")


def test_turns_that_are_not_shown_make_no_other_conversation() -> None:
    again(once_resolved(), turns=(Turn("tool", " \n"), *TURNS))


def test_a_rewrite_is_lost_with_a_crash_and_never_kept_without_a_cache() -> None:
    told = once_resolved()
    told.oracle.crashed()
    with broken("cache-invisible"):
        again(told)
    resolved(told)
    told = once_resolved(resolve_cache=False)
    with broken("cache-invisible"):
        again(told)
    resolved(told)


def test_only_what_was_resolved_or_unchanged_is_known() -> None:
    told = History()
    refused = found(QUERY, outcome="rejected", reason="dropped_words", terms=TERMS)
    told.end(told.seek(QUERY, ("resolve", "x"), **ASKED), refused, ORIGINAL)
    with broken("cache-invisible"):
        told.end(told.seek(QUERY, **ASKED), refused, ORIGINAL)
    told.end(told.seek(QUERY, ("resolve", "x"), **ASKED), refused, ORIGINAL)


def test_what_was_asked_at_the_same_time_may_be_asked_twice() -> None:
    told = History()
    first, second = told.seek(QUERY, **ASKED), told.seek(QUERY, **ASKED)
    for op_id in (first, second):
        told.hear(op_id, "resolve", JOHN)
        told.end(op_id, found(QUERY, **RESOLVED))


def test_what_was_resolved_is_known_whatever_became_of_the_search() -> None:
    told = History()
    op_id = told.seek(QUERY, ("resolve", JOHN), **ASKED)
    told.reply(op_id, Failed(errors.StorageFailed("by_words", "unavailable", 3)))
    again(told)


def test_what_came_late_may_be_known_or_not() -> None:
    told = History()
    late_ms = NOW_MS + Config().model_timeout_ms
    op_id = told.seek(QUERY, **ASKED)
    told.context.see(late_ms)
    told.hear(op_id, "resolve", JOHN)
    told.end(op_id, found(QUERY, **RESOLVED), now_ms=late_ms)
    again(told, late_ms)
    resolved(told, late_ms)


def test_a_user_may_wait_until_a_rewrite_lapses() -> None:
    told = once_resolved()
    assert told.oracle.searches.lapses() == (NOW_MS + RESOLVE_CACHE_MS,)
    told.context.see(NOW_MS + RESOLVE_CACHE_MS)  # others may act in the same millisecond
    assert told.oracle.searches.lapses() == (NOW_MS + RESOLVE_CACHE_MS,)
    told.context.see(NOW_MS + RESOLVE_CACHE_MS + 1)
    assert told.oracle.searches.lapses() == ()


# Variants.

SINGLE = Degraded("expand:single", "unavailable")


@pytest.mark.parametrize(
    ("query", "deep", "is_deep"),
    [
        ("tea", None, False),
        ("tea", True, True),
        ("tea", False, False),
        ("Who likes tea?", None, True),
        ("Who likes tea?", False, False),
        ("whole foods", None, False),
        ("anything about tea", None, True),
    ],
)
def test_a_deep_search_is_what_was_told_or_triggered(query: str, deep: bool | None, is_deep: bool) -> None:
    told = History()
    if is_deep:
        told.end(
            told.seek(query, ("expand", '["coffee"]'), deep=deep), found(query, variants=(query, "coffee"))
        )
        with broken("deep-by-trigger"):
            told.end(told.seek(query, deep=deep), found(query))
    else:
        told.end(told.seek(query, deep=deep), found(query))
        with broken("deep-by-trigger"):
            told.end(told.seek(query, ("expand", "[]"), deep=deep), found(query))
    with broken("deep-by-trigger"):
        told.end(told.seek(query, deep=deep), found(query, variants=(query, "coffee")))


def test_a_trigger_may_come_with_the_rewrite() -> None:
    query, reply, turns = "Show me that", "Show me last week", (Turn("user", "Bob came last week"),)
    value = found(query, outcome="resolved", query=reply, terms=("that",), confidence_ppm=1_000_000)
    told = History()
    told.end(told.seek(query, ("resolve", reply), ("expand", "[]"), turns=turns), value)
    told = History()
    with broken("deep-by-trigger"):
        told.end(told.seek(query, ("resolve", reply), turns=turns), value)


@pytest.mark.parametrize(
    ("reply", "variants", "degraded"),
    [
        ('["coffee", "cake", "milk"]', ("tea", "coffee", "cake"), ()),
        ('["TEA", " ", 7, "coffee  cake"]', ("tea", "coffee cake"), ()),
        ("[]", ("tea",), ()),
        ("no idea", ("tea",), (SINGLE,)),
        (None, ("tea",), (SINGLE,)),
    ],
)
def test_variants_are_those_of_the_answer(
    reply: str | None, variants: tuple[str, ...], degraded: tuple[Degraded, ...]
) -> None:
    def seek() -> tuple[History, str]:
        told = History()
        return told, told.seek("tea", ("expand", reply), deep=True)

    told, op_id = seek()
    told.end(op_id, found("tea", variants=variants), *degraded)
    for wrong in (variants[::-1], (*variants, "more"), variants[1:]):
        if wrong and wrong != variants:
            told, op_id = seek()
            with broken("deep-by-trigger"):
                told.end(op_id, found("tea", variants=wrong), *degraded)
    told, op_id = seek()
    with broken("degradation-named"):
        told.end(op_id, found("tea", variants=variants), *([] if degraded else [SINGLE]))


def test_the_last_answer_gives_the_variants() -> None:
    for variants, rule in ((("tea", "coffee"), ""), (("tea",), "deep-by-trigger")):
        told = History()
        op_id = told.seek("tea", ("expand", None), ("expand", '["coffee"]'), deep=True)
        if rule:
            with broken(rule):
                told.end(op_id, found("tea", variants=variants), SINGLE)
        else:
            told.end(op_id, found("tea", variants=variants))


def test_of_a_search_that_took_long_variants_may_be_lacking() -> None:
    late_ms = NOW_MS + Config().model_timeout_ms
    for variants, degraded in ((("tea", "coffee"), ()), (("tea",), (SINGLE,))):
        told = History()
        op_id = told.seek("tea", ("expand", '["coffee"]'), deep=True)
        told.end(op_id, found("tea", variants=variants), *degraded, now_ms=late_ms)


# Several lists.

A, B, C = "ent_a", "ent_b", "ent_c"
GOLDEN: dict[str, tuple[int, ...]] = {A: (900_000, 0), B: (800_000, 850_000), C: (0, 700_000)}
SCORES = {B: (892_540, 850_000), A: (780_000, 900_000), C: (637_540, 700_000)}


def fused(**changes: tuple[int, int]) -> tuple[Hit, ...]:
    scores = SCORES | changes
    order = sorted(scores, key=lambda key: (-scores[key][0], key))
    return tuple(Hit(key, 1, "note", key, "", *scores[key], NOW_MS) for key in order)


def test_lists_are_fused_by_the_rule() -> None:
    judge = History().oracle.searches.judge_fusion
    judge(fused(), GOLDEN, 10)
    judge(fused()[:2], GOLDEN, 2)
    judge((), {A: (0, 0)}, 10)
    for hits, limit in (
        (fused(**{B: (892_541, 850_000)}), 10),
        (fused(**{B: (895_000, 850_000), A: (781_200, 900_000)}), 10),
        (fused()[:2], 10),
        (fused(), 2),
        (fused()[1:], 2),
    ):
        with broken("fusion-rule"):
            judge(hits, GOLDEN, limit)


def test_each_list_is_cut_at_twice_the_limit() -> None:
    relevances: dict[str, tuple[int, ...]] = {f"e{n}": (1_000_000 - n, 500_000 + n) for n in range(4)}
    judge = History().oracle.searches.judge_fusion
    most = 2 * (10**12 // 60)

    def rank_ppm(first: int, second: int) -> int:
        ranks = [10**12 // (60 + rank) for rank in (first, second) if rank < 2]
        return 10**6 * sum(ranks) // most

    scores = {f"e{n}": fused_ppm(1_000_000 - n, rank_ppm(n, 3 - n)) for n in range(4)}
    best = max(scores, key=lambda key: (scores[key], key))
    judge((Hit(best, 1, "note", best, "", scores[best], relevances[best][0], NOW_MS),), relevances, 1)


def deep(told: History, *hits: Hit, heard: Any = None, **options: Any) -> None:
    """A search for `tea` and `likes`, by words alone unless vectors were heard."""
    op_id = told.seek("tea", ("expand", '["likes"]'), deep=True, **options)
    told.hear(op_id, "embed", heard)
    degraded = () if heard else (Degraded("embed:words_only", "unavailable"),)
    told.reply(op_id, found("tea", *hits, variants=("tea", "likes")), *degraded)


def in_two_lists() -> tuple[Hit, Hit]:
    """Both variants find Alice; Acme is found by one, in the place that its id gives it."""
    place = sorted((ALICE, ACME)).index
    first, last = (10**12 // (60 + place(key)) for key in (ALICE, ACME))
    most = 2 * (10**12 // 60)
    both, one = 10**6 * (first + 10**12 // 60) // most, 10**6 * last // most
    return (
        hit(ALICE, "likes tea", fused_ppm(1_000_000, both), relevance_ppm=1_000_000),
        hit(ACME, "sells tea", fused_ppm(1_000_000, one), relevance_ppm=1_000_000),
    )


def test_two_variants_are_fused() -> None:
    alice, acme = in_two_lists()
    deep(two_known(), alice, acme)
    deep(two_known(), alice, limit=1)
    deep(two_known(), alice, types=("person",))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda alice, acme: (alice,), "filter-before-cut"),
        (lambda alice, acme: (), "error-is-not-empty"),
        (
            lambda alice, acme: (attrs.evolve(alice, score_ppm=alice.score_ppm - 1), acme),
            "fusion-rule",
        ),
        (lambda alice, acme: (alice, attrs.evolve(acme, relevance_ppm=999_999)), "filter-before-cut"),
        (lambda alice, acme: (alice, attrs.evolve(acme, score_ppm=699_999)), "fusion-rule"),
        (lambda alice, acme: (alice, attrs.evolve(acme, score_ppm=acme.score_ppm - 1)), "fusion-rule"),
    ],
)
def test_what_two_variants_find_is_all_there_as_it_is_fused(change: Any, rule: str) -> None:
    with broken(rule):
        deep(two_known(), *change(*in_two_lists()))


def one_uncertain() -> History:
    """What is said of Acme is certain; whether Alice has a vector nobody knows."""
    told = History()
    told.store((ACME, "sells tea"))
    op_id = told.tell((ALICE, "naps"))
    told.hear(op_id, "embed", None)
    told.reply(op_id, remembered((ALICE, 1, "created")), Degraded("embed:no_vectors", "unavailable"))
    return told


def test_beside_what_is_uncertain_all_that_is_certain_is_judged() -> None:
    heard = (vector_of(ACME, "sells tea"), vector_of(ACME, "sells tea"))
    acme = hit(ACME, "sells tea", 1_000_000)
    unsure = hit(ALICE, "naps", 600_000, relevance_ppm=800_000)
    deep(one_uncertain(), acme, heard=heard)
    deep(one_uncertain(), acme, unsure, heard=heard)
    deep(one_uncertain(), attrs.evolve(acme, score_ppm=1_000_000), heard=heard, limit=1)
    for score_ppm in (559_999, 860_001):  # seven tenths of its relevance, and up to three for its rank
        with broken("fusion-rule"):
            hits = sorted((acme, attrs.evolve(unsure, score_ppm=score_ppm)), key=lambda it: -it.score_ppm)
            deep(one_uncertain(), *hits, heard=heard)
    with broken("filter-before-cut"):
        deep(one_uncertain(), unsure, heard=heard)
    with broken("filter-before-cut"):
        deep(one_uncertain(), unsure, heard=heard, limit=1)
    with broken("error-is-not-empty"):
        deep(one_uncertain(), heard=heard)
    with broken("filter-before-cut"):
        deep(one_uncertain(), attrs.evolve(acme, relevance_ppm=900_000, score_ppm=900_000), heard=heard)


def test_some_variants_without_vectors_leave_the_fusion_open() -> None:
    told = two_known()
    op_id = told.seek("tea", ("expand", '["likes"]'), deep=True)
    told.hear(op_id, "embed", (vector_of(ACME, "tea"), vector_of(ACME, "likes")))
    value = found("tea", in_two_lists()[0], variants=("tea", "likes"))
    told.reply(op_id, value, Degraded("by_vector:words_only", "unavailable"))


@pytest.mark.parametrize(
    ("lie", "rule"),
    [
        ({"score_ppm": 1_000_001, "relevance_ppm": 1_000_001}, "hits-ordered"),
        ({"score_ppm": 1_000_000, "relevance_ppm": -1}, "hits-ordered"),
        ({"score_ppm": 1_000_000, "relevance_ppm": 999_999}, "fusion-rule"),
    ],
)
def test_a_single_list_keeps_its_scores(lie: dict[str, Any], rule: str) -> None:
    told = two_known()
    first, second = ranked(told)
    with broken(rule):
        told.recall("tea", attrs.evolve(first, **lie), second)


def test_hits_are_as_relevant_as_was_asked_for() -> None:
    told = two_known()
    low = attrs.evolve(ranked(told)[1], score_ppm=299_999, relevance_ppm=299_999)
    with broken("filter-before-cut"):
        told.recall("tea", ranked(told)[0], low)


# Searches that lie behind.


@pytest.mark.parametrize(("lag_ms", "is_fair"), [(100, False), (101, True)])
def test_a_hit_may_be_missing_only_while_it_is_younger_than_the_lag(lag_ms: int, is_fair: bool) -> None:
    told = History()
    told.surroundings.lag_since = lambda at_ms: lag_ms
    told.at(50)
    told.store((ALICE, "likes tea"))
    told.at(150)
    with nullcontext() if is_fair else broken("error-is-not-empty"):
        told.recall("tea")


def test_what_landed_after_a_crash_is_young_until_the_next_life_replies() -> None:
    told = History()
    told.surroundings.lag_since = lambda at_ms: 100
    told.at(50)
    told.tell((ALICE, "likes tea"), embed=False)
    told.oracle.crashed()
    told.at(1_000)
    told.get(ALICE, entity(ALICE, "likes tea"))
    told.recall("tea")
    told.at(1_100)
    with broken("error-is-not-empty"):
        told.recall("tea")


def test_what_a_write_in_flight_may_change_is_not_at_rest() -> None:
    told = History()
    told.surroundings.lag_since = lambda at_ms: 100
    told.at(50)
    told.store((ALICE, "likes tea"), embed=False)
    told.at(1_000)
    told.tell((ALICE, "likes tea"), embed=False, importance_ppm=1)
    told.recall("tea")


# Damage.


def test_a_hit_that_came_damaged_may_be_missing_if_that_is_said_and_no_other_may() -> None:
    told = two_known()
    first, second = ranked(told)
    for lost, is_fair, said in ((second, True, DAMAGED), (second, False, ()), (first, False, DAMAGED)):
        op_id = told.seek("tea")
        told.hear(op_id, "embed", (embed("tea", DIMS),))
        rows = (Row(Address(SCOPE, "entity", lost.id), 1, None, 1_000_000),)
        told.answer(op_id, "by_vector", ReadDone(0, rows))
        with nullcontext() if is_fair else broken("filter-before-cut"):
            told.reply(op_id, found("tea", first), *said)


DAMAGED = (Degraded("read:damaged_rows", "damaged"),)

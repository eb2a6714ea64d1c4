"""Goal: each degradation has a cause among the answers, and what failed is named."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.histories import (
    ACME,
    ALICE,
    NOW_MS,
    History,
    as_stored,
    broken,
    decision,
    fact,
    found,
    note,
    stated,
    two_known,
    vector_of,
)
from umi_core.config import Config
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Degraded
from umi_core.messages.results import Remembered
from umi_core.values import RoutingDecision

LATE_MS = NOW_MS + Config().model_timeout_ms
TEA = fact(ALICE, "likes tea")
SOUND, UNSOUND = vector_of(ALICE, "likes tea"), (0,) * 16
MISCOUNTED = "wrong number of vectors"


def named(text: str, reason: str = "refused") -> tuple[Degraded, ...]:
    """A name, and behind it why, if that is another reason."""
    name, _, other = text.partition(" ")
    return (Degraded(name, other or reason),) if name else ()


# What stands in for an answer, in a remember.


def evolved(answer: str | None) -> tuple[History, str, Remembered]:
    history = two_known()
    op_id = history.tell((ALICE, "naps"), embed=False)
    history.hear(op_id, "evolve", answer)
    return history, op_id, as_stored((ALICE, "naps"))


def embedded(answer: tuple[Any, ...] | None) -> tuple[History, str, Remembered]:
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    history.hear(op_id, "embed", answer, text_count=1)
    return history, op_id, as_stored((ALICE, "likes tea"))


def routed(answer: str | None) -> tuple[History, str, Remembered]:
    history = History(semantic_routing=True)
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    history.hear(op_id, "route", answer)
    return history, op_id, as_stored((ALICE, "likes tea"))


def route(*rows: dict[str, Any]) -> str:
    made = {"entity_id": TEA, "block": "human", "promote": False, "confidence": 0.9}
    return json.dumps([made | row for row in rows])


BY_MODEL = structs.replace(decision(TEA, kind="person"), routed_by="model", confidence_ppm=900_000)
CASES: list[tuple[Any, str]] = [
    (lambda: evolved(None), "evolve:none"),
    (lambda: evolved("no idea"), "evolve:none no_json"),
    (lambda: evolved("[]"), ""),
    (lambda: embedded(None), "embed:no_vectors"),
    (lambda: embedded(()), f"embed:no_vectors {MISCOUNTED}"),
    (lambda: embedded((UNSOUND,)), "embed:no_vectors zero"),
    (lambda: embedded((SOUND,)), ""),
    (lambda: routed(None), "route:table"),
    (lambda: routed("no idea"), "route:table no_json"),
]


@pytest.mark.parametrize(("case", "due"), CASES)
def test_a_substitute_is_named_and_why_if_and_only_if_an_answer_failed(case: Any, due: str) -> None:
    for name in dict.fromkeys(due for _, due in CASES):
        history, op_id, value = case()
        if name == due:
            history.reply(op_id, value, *named(name))
        else:
            with broken("degradation-named"):
                history.reply(op_id, value, *named(name))


def test_a_commit_that_failed_without_a_conflict_was_not_planned_again() -> None:
    history, op_id, value = evolved("no idea")
    history.answer(op_id, "commit", EffectFailed(0, "unavailable"))
    with broken("degradation-named"):
        history.reply(op_id, value)


def test_the_last_answer_counts() -> None:
    history, op_id, value = embedded(None)
    history.hear(op_id, "embed", (SOUND,))
    with broken("degradation-named"):
        history.reply(op_id, value, *named("embed:no_vectors"))
    history, op_id, value = embedded(None)
    history.hear(op_id, "embed", (SOUND,))
    history.reply(op_id, value)


def test_what_was_asked_last_and_not_answered_has_timed_out() -> None:
    history, op_id, value = embedded(None)
    history.wait(op_id, "embed", 1)
    with broken("degradation-named"):
        history.reply(op_id, value)
    history, op_id, value = embedded(None)
    history.wait(op_id, "embed", 1)
    history.reply(op_id, value, *named("embed:no_vectors", "timeout"))


def replanned(*answers: tuple[Any, ...]) -> tuple[History, str, Any]:
    """One that met a conflict between the two answers, if there are two: each to one text."""
    first, *rest = answers
    history, op_id, value = embedded(first)
    history.answer(op_id, "commit", EffectFailed(0, "conflict"))
    for answer in rest:
        history.hear(op_id, "embed", answer, text_count=1)
    return history, op_id, value


@pytest.mark.parametrize(
    ("answers", "reason"),
    [(((SOUND,), ()), MISCOUNTED), (((SOUND,), (UNSOUND,)), "zero"), (((UNSOUND,), (SOUND,)), "zero")],
)
def test_of_two_plans_either_may_be_the_one_that_went_without(
    answers: tuple[tuple[Any, ...], ...], reason: str
) -> None:
    for name in ("", f"embed:no_vectors {reason}"):
        history, op_id, value = replanned(*answers)
        history.reply(op_id, value, *named(name))


def test_two_plans_that_had_their_vectors_did_not_go_without() -> None:
    history, op_id, value = replanned((SOUND,), (SOUND,))
    with broken("degradation-named"):
        history.reply(op_id, value, *named("embed:no_vectors"))


def test_vectors_that_a_second_plan_did_not_need_are_a_cause_all_the_same() -> None:
    """It found that nothing had changed, and kept the name of what had failed: all_faults, seed 182."""
    history, op_id, _ = replanned((UNSOUND,))
    history.reply(history.tell((ALICE, "likes tea"), embed=False), as_stored((ALICE, "likes tea")))
    history.reply(op_id, as_stored((ALICE, "likes tea"), change="unchanged"), *named("embed:no_vectors zero"))


def test_a_second_plan_may_have_met_another_failure() -> None:
    for name, rule in (("", ""), ("route:table", "degradation-named")):
        history, op_id, value = embedded((SOUND,))
        history.answer(op_id, "commit", EffectFailed(0, "conflict"))
        if rule:
            with broken(rule):
                history.reply(op_id, value, *named(name))
        else:
            history.reply(op_id, value, *named(name))


def test_a_failed_extraction_is_named_even_if_it_took_long() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    history.hear(op_id, "extract", None)
    with broken("degradation-named"):
        history.reply(op_id, note("likes tea")[1], now_ms=LATE_MS)


def test_without_any_sound_vectors_their_lack_is_named_even_if_it_took_long() -> None:
    history, op_id, value = embedded((UNSOUND,))
    with broken("degradation-named"):
        history.reply(op_id, value, now_ms=LATE_MS)


# Parts of an answer.


def test_what_was_malformed_in_an_extraction_is_named() -> None:
    whole = {"name": "Alice", "type": "person", "content": "naps", "confidence": 1}
    for elements, dropped, due in (
        ([whole], (), ""),
        ([whole, 7], ((1, "not_object"),), "extract:partial"),
        ([whole, whole | {"name": "he"}], ((1, "pronoun"),), ""),
    ):
        for name in ("", "extract:partial"):
            history = History()
            op_id = history.tell((ALICE, "naps"), embed=False)
            history.hear(op_id, "extract", json.dumps({"entities": elements}))
            value = as_stored((ALICE, "naps"), dropped=dropped)
            if name == due:
                history.reply(op_id, value, *named(name))
            else:
                with broken("degradation-named"):
                    history.reply(op_id, value, *named(name))


OLDER = json.loads(stated("extend", (fact(ACME, "sells tea"), 1), (fact(ALICE, "naps"), 7)))
BAD = [{"new": "x", "old": "y", "type": "loves", "confidence": 1}]


@pytest.mark.parametrize(
    ("rows", "allowed"),
    [
        ([], ("",)),
        (OLDER, ("",)),
        (BAD, ("evolve:partial",)),
        ([*OLDER, 7], ("evolve:partial",)),
        ([*OLDER, *OLDER], ("evolve:partial",)),
    ],
)
def test_what_was_malformed_in_verdicts_is_named(rows: list[Any], allowed: tuple[str, ...]) -> None:
    for name in ("", "evolve:partial"):
        history, op_id, value = evolved(json.dumps(rows))
        if name in allowed:
            history.reply(op_id, value, *named(name))
        else:
            with broken("degradation-named"):
                history.reply(op_id, value, *named(name))


@pytest.mark.parametrize(
    ("rows", "by", "due"),
    [
        ([{}], BY_MODEL, ""),
        ([{}, {"entity_id": fact(ACME, "likes tea")}], BY_MODEL, "route:partial"),
        ([{"confidence": 0.1}], decision(TEA, kind="person"), ""),
        ([{}, {}], decision(TEA, kind="person"), "route:partial"),
        ([{"block": "attic"}], decision(TEA, kind="person"), "route:partial"),
    ],
)
def test_what_was_malformed_in_routes_is_named(
    rows: list[dict[str, Any]], by: RoutingDecision, due: str
) -> None:
    for name in ("", "route:partial"):
        history, op_id, value = routed(route(*rows))
        value = structs.replace(value, routing=(cause_of(rows, by),))
        if name == due:
            history.reply(op_id, value, *named(name))
        else:
            with broken("degradation-named"):
                history.reply(op_id, value, *named(name))


def cause_of(rows: list[dict[str, Any]], by: RoutingDecision) -> RoutingDecision:
    """A decision of the table says why the model's did not count."""
    if by.routed_by == "model":
        return by
    if len(rows) > 1:
        return structs.replace(by, cause="duplicate_id")
    return structs.replace(by, cause="bad_block" if "block" in rows[0] else "low_confidence")


# In a search.


@pytest.mark.parametrize(
    ("vectors", "due"),
    [
        ((SOUND,), ""),
        (None, "embed:words_only"),
        ((), f"embed:words_only {MISCOUNTED}"),
        ((UNSOUND,), "embed:words_only zero"),
    ],
)
def test_a_search_says_that_it_went_by_words_alone(vectors: Any, due: str) -> None:
    for name in ("", due or "embed:words_only"):
        history = History()
        op_id = history.seek("tea")
        history.hear(op_id, "embed", vectors, text_count=1)
        if name == due:
            history.reply(op_id, found("tea"), *named(name))
        else:
            with broken("degradation-named"):
                history.reply(op_id, found("tea"), *named(name))

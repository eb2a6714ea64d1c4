"""Goal: a fact ends by a verdict that names it, by the fact that is named, and only so."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from msgspec import structs

from tests.histories import (
    ALICE,
    BY_MODEL,
    NOW_MS,
    History,
    as_stored,
    broken,
    entity,
    fact,
    hit,
    note,
    relation,
    stated,
)
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Degraded, Unknown
from umi_core.messages.requests import GetEntity, List, Remember, UpdateEntity
from umi_core.messages.results import Listed, Remembered, Stored
from umi_core.rows import Ended
from umi_core.values import Period

PARIS, BERLIN, OSLO = (ALICE, "lives in Paris"), (ALICE, "lives in Berlin"), (ALICE, "lives in Oslo")
OLD, NEW, OTHER = fact(*PARIS), fact(*BERLIN), fact(*OSLO)


def ended(by: str = NEW, how: str = "update", version: int = 1, **more: Any) -> Ended:
    return Ended(OLD, entity(*PARIS, version, **({"relation_count": 1} | more)), by, how, NOW_MS)


def in_paris() -> History:
    history = History()
    history.store(PARIS, embed=False)
    return history


def moving(history: History | None = None, kind: str = "update", **options: Any) -> tuple[History, str]:
    """Alice lives in Berlin now, of which a model says this."""
    history = history or in_paris()
    op_id = history.tell(BERLIN, embed=False, **options)
    history.hear(op_id, "evolve", stated(kind, (OLD, 1), (NEW, 1)))
    return history, op_id


def moved(kind: str = "update", **more: Any) -> Remembered:
    """What is replied then."""
    stated_relation = relation((OLD, 1), (NEW, 1), kind, **BY_MODEL)
    due: dict[str, Any] = {"relations": (stated_relation,), "ended": (OLD,)}
    return as_stored(BERLIN, **(due | more))


def in_berlin(kind: str = "update") -> History:
    history, op_id = moving(kind=kind)
    history.reply(op_id, moved(kind))
    return history


# By a verdict.


@pytest.mark.parametrize("kind", ["update", "contradict"])
def test_a_verdict_ends_the_fact_that_it_names(kind: str) -> None:
    history = in_berlin(kind)
    history.get(OLD, ended(how=kind, contradicts=(f"{NEW}@1",) if kind == "contradict" else ()))
    history.count_of(1)


@pytest.mark.parametrize("kind", ["extend", "derive"])
def test_another_verdict_ends_nothing(kind: str) -> None:
    history, op_id = moving(kind=kind)
    with broken("ended-as-named"):
        history.reply(op_id, moved(kind))
    history, op_id = moving(kind=kind)
    history.reply(op_id, moved(kind, ended=()))
    history.get(OLD, entity(*PARIS, relation_count=1))
    with broken("reference-agrees"):
        history.get(OLD, ended(how=kind))


def test_no_fact_ends_without_a_verdict() -> None:
    history = in_paris()
    op_id = history.tell(BERLIN, embed=False)
    with broken("ended-as-named"):
        history.reply(op_id, as_stored(BERLIN, ended=(OLD,)))
    history = in_paris()
    history.reply(history.tell(BERLIN, embed=False), as_stored(BERLIN))
    with broken("reference-agrees"):
        history.get(OLD, ended())


def test_no_fact_ends_that_no_model_was_asked_about() -> None:
    history = in_paris()
    history.store(OSLO, embed=False)
    history, op_id = moving(history)
    with broken("ended-as-named"):
        history.reply(op_id, moved(ended=(OLD, OTHER)))


def test_a_fact_that_a_verdict_ends_is_named() -> None:
    history, op_id = moving()
    with broken("ended-as-named"):
        history.reply(op_id, moved(ended=()))


def test_a_verdict_that_is_not_sure_enough_ends_nothing() -> None:
    history = in_paris()
    op_id = history.tell(BERLIN, embed=False)
    history.hear(op_id, "evolve", stated("update", (OLD, 1), (NEW, 1), 0.2))
    history.reply(op_id, as_stored(BERLIN))
    history.get(OLD, entity(*PARIS))


@pytest.mark.parametrize(
    "lie",
    [
        {"by": OTHER},
        {"by": OLD},
        {"how": "contradict"},
        {"at_ms": NOW_MS - 1},
        {"at_ms": NOW_MS + 1},
        {"id": NEW},
        {"fact": entity(*OSLO)},
        {"fact": entity(*PARIS, 2)},
    ],
)
def test_an_ended_fact_is_shown_as_it_ended(lie: dict[str, Any]) -> None:
    history = in_berlin()
    with broken("once-only" if lie == {"fact": entity(*PARIS, 2)} else "reference-agrees"):
        history.get(OLD, structs.replace(ended(), **lie))


def test_an_ended_fact_is_not_current_and_not_gone() -> None:
    history = in_berlin()
    with broken("reference-agrees"):
        history.get(OLD, entity(*PARIS))
    with broken("acknowledged-is-durable"):
        history.get(OLD, None)
    with broken("error-is-not-empty"):
        history.count_of(2)


def test_an_ended_fact_is_not_found() -> None:
    history = in_berlin()
    with broken("hits-ordered"):
        history.recall("Paris", hit(*PARIS, 1_000_000))


def test_a_current_fact_is_not_shown_as_ended() -> None:
    history = in_paris()
    with broken("reference-agrees"):
        history.get(OLD, ended())


@pytest.mark.parametrize("first", [BERLIN, OSLO])
def test_of_two_facts_that_end_one_the_first_that_is_named_does(first: tuple[str, str]) -> None:
    second = OSLO if first == BERLIN else BERLIN
    history = in_paris()
    op_id = history.tell(BERLIN, OSLO, embed=False)
    rows = [json.loads(stated("update", (OLD, 1), (fact(*it), 1)))[0] for it in (first, second)]
    history.hear(op_id, "evolve", json.dumps(rows))
    relations = tuple(relation((OLD, 1), (fact(*it), 1), "update", **BY_MODEL) for it in (first, second))
    history.reply(op_id, as_stored(BERLIN, OSLO, relations=relations, ended=(OLD,)))
    history.get(OLD, ended(by=fact(*first), relation_count=2))
    with broken("reference-agrees"):
        history.get(OLD, ended(by=fact(*second)))


def test_a_verdict_on_an_older_version_ends_nothing() -> None:
    history = in_berlin()
    history.store(PARIS, version=2, embed=False)
    op_id = history.tell(OSLO, embed=False)
    history.hear(op_id, "evolve", stated("update", (OLD, 1), (OTHER, 1)))
    stated_relation = relation((OLD, 1), (OTHER, 1), "update", **BY_MODEL)
    with broken("ended-as-named"):
        history.reply(op_id, as_stored(OSLO, relations=(stated_relation,), ended=(OLD,)))


@pytest.mark.parametrize(
    ("old_ms", "new_ms", "is_past"),
    [(9, 8, True), (9, 9, False), (9, None, False), (None, NOW_MS, False), (None, NOW_MS - 1, True)],
)
def test_the_fact_that_happened_first_ends(old_ms: int | None, new_ms: int | None, is_past: bool) -> None:
    first, last = ((NEW, 1), (OLD, 1)) if is_past else ((OLD, 1), (NEW, 1))
    for is_right in (True, False):
        history = History()
        history.store(PARIS, embed=False, event_time_ms=old_ms)
        op_id = history.tell(BERLIN, embed=False, event_time_ms=new_ms)
        history.hear(op_id, "evolve", stated("update", (OLD, 1), (NEW, 1)))
        stated_relation = relation(first, last, "update", **BY_MODEL)
        value = as_stored(BERLIN, relations=(stated_relation,), ended=(first[0] if is_right else last[0],))
        # A fact that ends as it comes has no decision.
        value = structs.replace(value, routing=()) if is_past else value
        with nullcontext() if is_right else broken("ended-as-named"):
            history.reply(op_id, value)
        if is_right and is_past:
            past = entity(*BERLIN, event_time_ms=new_ms, relation_count=1)
            history.get(NEW, Ended(NEW, past, OLD, "update", NOW_MS))
            history.get(OLD, entity(*PARIS, event_time_ms=old_ms, relation_count=1))
            history.count_of(1)


def test_a_fact_that_is_too_long_to_be_shown_to_a_model_stays() -> None:
    text = "x" * (EXTRACT_CONTENT_BYTES_MAX + 1)
    for is_ended in (False, True):
        history = History()
        history.reply(history.ask(Remember("", text, extract=False, embed=False)), note(text)[1])
        key = note(text)[0]
        op_id = history.tell(BERLIN, embed=False)
        history.hear(op_id, "evolve", stated("update", (key, 1), (NEW, 1)))
        stated_relation = relation((key, 1), (NEW, 1), "update", **BY_MODEL)
        value = as_stored(BERLIN, relations=(stated_relation,), ended=(key,) * is_ended)
        if is_ended:
            with broken("ended-as-named"):
                history.reply(op_id, value)
        else:
            history.reply(op_id, value)
            history.count_of(2)


# In doubt.


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_write_in_doubt_has_ended_a_fact_if_and_only_if_it_made_the_other(is_durable: bool) -> None:
    history, op_id = moving()
    if is_durable:
        history.land(op_id)
    history.reply(op_id, Unknown())
    history.oracle.observe_crash()
    history.get(NEW, entity(*BERLIN, relation_count=1) if is_durable else None)
    history.get(OLD, ended() if is_durable else entity(*PARIS))
    with broken("all-or-nothing" if is_durable else "reference-agrees"):
        history.get(OLD, entity(*PARIS) if is_durable else ended())


def test_a_read_may_show_the_fact_as_it_was_before_it_ended() -> None:
    for row in (entity(*PARIS), ended()):
        history, op_id = moving()
        read = history.ask(GetEntity("", OLD))
        history.reply(op_id, moved())
        history.reply(read, row)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_plans_the_one_that_is_durable_has_ended_a_fact(is_first: bool) -> None:
    history, op_id = moving()
    first = history.send(op_id)
    history.answer(op_id, "commit", EffectFailed(0, "conflict"))
    history.hear(op_id, "evolve", None)
    if is_first:
        history.oracle.observe_commit(first)
    value = moved() if is_first else as_stored(BERLIN)
    history.reply(op_id, value, *() if is_first else (Degraded("evolve:none", "refused"),))
    history.get(OLD, ended() if is_first else entity(*PARIS))


@pytest.mark.parametrize("wrong", [(), (OTHER,), (OLD, OTHER)])
def test_a_repeated_reply_names_the_facts_that_have_ended(wrong: tuple[str, ...]) -> None:
    history, op_id = moving(request_key="k")
    history.reply(op_id, moved())
    again = Remember("", "lives in Berlin", embed=False, request_key="k")
    history.reply(history.ask(again), moved(repeated=True))
    with broken("once-only"):
        history.reply(history.ask(again), moved(ended=wrong, repeated=True))


def test_the_first_reply_may_be_a_repeated_one() -> None:
    for is_lie in (False, True):
        history, op_id = moving(request_key="k")
        history.land(op_id)
        history.reply(op_id, Unknown())
        again = history.ask(Remember("", "lives in Berlin", embed=False, request_key="k"))
        if is_lie:
            with broken("once-only"):
                history.reply(again, moved(ended=(), repeated=True))
        else:
            history.reply(again, moved(repeated=True))
            history.get(OLD, ended())


# What becomes of an ended fact.


def test_an_ended_fact_that_is_remembered_again_is_current_again() -> None:
    history = in_berlin()
    history.store(PARIS, version=2, embed=False)
    first = Period(NOW_MS, NOW_MS, NEW, "update")
    history.get(OLD, entity(*PARIS, 2, relation_count=1, periods=(first,)))
    for wrong in (ended(version=2), entity(*PARIS, 2, relation_count=1)):
        with broken("reference-agrees"):
            history.get(OLD, wrong)


@pytest.mark.parametrize(("change", "version"), [("unchanged", 1), ("created", 1), ("created", 3)])
def test_an_ended_fact_that_is_remembered_again_is_its_next_version(change: str, version: int) -> None:
    history = in_berlin()
    rules = {("created", 1): "acknowledged-is-durable"}
    with broken(rules.get((change, version), "once-only")):
        history.store(PARIS, change=change, version=version, embed=False)


def test_an_ended_fact_can_be_forgotten() -> None:
    history = in_berlin()
    history.forget(OLD)
    history.get(OLD, None)
    with broken("deleted-stays-deleted"):
        history.get(OLD, ended())
    history = in_berlin()
    with broken("acknowledged-is-durable"):
        history.forget(OLD, existed=False)


def test_a_list_shows_the_facts_that_have_ended() -> None:
    history = in_berlin()
    history.reply(history.ask(List("", "ended")), Listed((ended(),)))
    with broken("acknowledged-is-durable"):
        history.reply(history.ask(List("", "ended")), Listed(()))
    history = in_berlin()
    with broken("reference-agrees"):
        history.reply(history.ask(List("", "ended")), Listed((ended(by=OTHER),)))
    history = in_berlin()
    with broken("reference-agrees"):
        history.reply(history.ask(List("", "entity")), Listed((entity(*PARIS),)))


# By an update.


def updated(history: History, value: Stored) -> None:
    op_id = history.ask(UpdateEntity("", OLD, "lives in Berlin"))
    history.hear(op_id, "embed", None)
    history.reply(op_id, value, Degraded("embed:no_vectors", "refused"))


def test_an_update_ends_the_fact_and_makes_another_one() -> None:
    history = History()
    history.store(PARIS, embed=False, importance_ppm=7, metadata=(("k", "v"),))
    updated(history, Stored(NEW, 1, "created"))
    more: dict[str, Any] = {"importance_ppm": 7, "metadata": (("k", "v"),)}
    history.get(OLD, ended(relation_count=0, **more))
    history.get(NEW, entity(*BERLIN, vector_missing=True, **more))
    for lie in ({"importance_ppm": 8}, {"metadata": ()}, {"block": "scratch"}, {"is_direct": False}):
        with broken("reference-agrees"):
            history.get(NEW, structs.replace(entity(*BERLIN, vector_missing=True, **more), **lie))


def test_an_update_with_another_content_is_another_fact() -> None:
    with broken("reference-agrees"):
        updated(in_paris(), Stored(OLD, 2, "created"))


def test_an_update_leaves_no_old_fact() -> None:
    history = in_paris()
    updated(history, Stored(NEW, 1, "created"))
    with broken("reference-agrees"):
        history.get(OLD, entity(*PARIS))

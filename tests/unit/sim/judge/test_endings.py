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

PARIS, BERLIN, OSLO = (ALICE, "lives in Paris"), (ALICE, "lives in Berlin"), (ALICE, "lives in Oslo")
OLD, NEW, OTHER = fact(*PARIS), fact(*BERLIN), fact(*OSLO)


def ended(by: str = NEW, how: str = "update", version: int = 1, **more: Any) -> Ended:
    return Ended(OLD, entity(*PARIS, version, **({"relation_count": 1} | more)), by, how, NOW_MS)


def in_paris() -> History:
    told = History()
    told.store(PARIS, embed=False)
    return told


def moving(told: History | None = None, kind: str = "update", **options: Any) -> tuple[History, str]:
    """Alice lives in Berlin now, of which a model says this."""
    told = told or in_paris()
    op_id = told.tell(BERLIN, embed=False, **options)
    told.hear(op_id, "evolve", stated(kind, (OLD, 1), (NEW, 1)))
    return told, op_id


def moved(kind: str = "update", **more: Any) -> Remembered:
    """What is replied then."""
    said = relation((OLD, 1), (NEW, 1), kind, **BY_MODEL)
    due: dict[str, Any] = {"relations": (said,), "ended": (OLD,)}
    return as_stored(BERLIN, **(due | more))


def in_berlin(kind: str = "update") -> History:
    told, op_id = moving(kind=kind)
    told.reply(op_id, moved(kind))
    return told


# By a verdict.


@pytest.mark.parametrize("kind", ["update", "contradict"])
def test_a_verdict_ends_the_fact_that_it_names(kind: str) -> None:
    told = in_berlin(kind)
    told.get(OLD, ended(how=kind, contradicts=(f"{NEW}@1",) if kind == "contradict" else ()))
    told.count_of(1)


@pytest.mark.parametrize("kind", ["extend", "derive"])
def test_another_verdict_ends_nothing(kind: str) -> None:
    told, op_id = moving(kind=kind)
    with broken("ended-as-named"):
        told.reply(op_id, moved(kind))
    told, op_id = moving(kind=kind)
    told.reply(op_id, moved(kind, ended=()))
    told.get(OLD, entity(*PARIS, relation_count=1))
    with broken("reference-agrees"):
        told.get(OLD, ended(how=kind))


def test_no_fact_ends_without_a_verdict() -> None:
    told = in_paris()
    op_id = told.tell(BERLIN, embed=False)
    with broken("ended-as-named"):
        told.reply(op_id, as_stored(BERLIN, ended=(OLD,)))
    told = in_paris()
    told.reply(told.tell(BERLIN, embed=False), as_stored(BERLIN))
    with broken("reference-agrees"):
        told.get(OLD, ended())


def test_no_fact_ends_that_no_model_was_asked_about() -> None:
    told = in_paris()
    told.store(OSLO, embed=False)
    told, op_id = moving(told)
    with broken("ended-as-named"):
        told.reply(op_id, moved(ended=(OLD, OTHER)))


def test_a_fact_that_a_verdict_ends_is_named() -> None:
    told, op_id = moving()
    with broken("ended-as-named"):
        told.reply(op_id, moved(ended=()))


def test_a_verdict_that_is_not_sure_enough_ends_nothing() -> None:
    told = in_paris()
    op_id = told.tell(BERLIN, embed=False)
    told.hear(op_id, "evolve", stated("update", (OLD, 1), (NEW, 1), 0.2))
    told.reply(op_id, as_stored(BERLIN))
    told.get(OLD, entity(*PARIS))


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
    told = in_berlin()
    with broken("once-only" if lie == {"fact": entity(*PARIS, 2)} else "reference-agrees"):
        told.get(OLD, structs.replace(ended(), **lie))


def test_an_ended_fact_is_not_current_and_not_gone() -> None:
    told = in_berlin()
    with broken("reference-agrees"):
        told.get(OLD, entity(*PARIS))
    with broken("acknowledged-is-durable"):
        told.get(OLD, None)
    with broken("error-is-not-empty"):
        told.count_of(2)


def test_an_ended_fact_is_not_found() -> None:
    told = in_berlin()
    with broken("hits-ordered"):
        told.recall("Paris", hit(*PARIS, 1_000_000))


def test_a_current_fact_is_not_shown_as_ended() -> None:
    told = in_paris()
    with broken("reference-agrees"):
        told.get(OLD, ended())


@pytest.mark.parametrize("first", [BERLIN, OSLO])
def test_of_two_facts_that_end_one_the_first_that_is_named_does(first: tuple[str, str]) -> None:
    second = OSLO if first == BERLIN else BERLIN
    told = in_paris()
    op_id = told.tell(BERLIN, OSLO, embed=False)
    rows = [json.loads(stated("update", (OLD, 1), (fact(*it), 1)))[0] for it in (first, second)]
    told.hear(op_id, "evolve", json.dumps(rows))
    said = tuple(relation((OLD, 1), (fact(*it), 1), "update", **BY_MODEL) for it in (first, second))
    told.reply(op_id, as_stored(BERLIN, OSLO, relations=said, ended=(OLD,)))
    told.get(OLD, ended(by=fact(*first), relation_count=2))
    with broken("reference-agrees"):
        told.get(OLD, ended(by=fact(*second)))


def test_a_verdict_on_an_older_version_ends_nothing() -> None:
    told = in_berlin()
    told.store(PARIS, version=2, embed=False)
    op_id = told.tell(OSLO, embed=False)
    told.hear(op_id, "evolve", stated("update", (OLD, 1), (OTHER, 1)))
    said = relation((OLD, 1), (OTHER, 1), "update", **BY_MODEL)
    with broken("ended-as-named"):
        told.reply(op_id, as_stored(OSLO, relations=(said,), ended=(OLD,)))


@pytest.mark.parametrize(
    ("old_ms", "new_ms", "is_past"),
    [(9, 8, True), (9, 9, False), (9, None, False), (None, NOW_MS, False), (None, NOW_MS - 1, True)],
)
def test_the_fact_that_happened_first_ends(old_ms: int | None, new_ms: int | None, is_past: bool) -> None:
    first, last = ((NEW, 1), (OLD, 1)) if is_past else ((OLD, 1), (NEW, 1))
    for is_right in (True, False):
        told = History()
        told.store(PARIS, embed=False, event_time_ms=old_ms)
        op_id = told.tell(BERLIN, embed=False, event_time_ms=new_ms)
        told.hear(op_id, "evolve", stated("update", (OLD, 1), (NEW, 1)))
        said = relation(first, last, "update", **BY_MODEL)
        value = as_stored(BERLIN, relations=(said,), ended=(first[0] if is_right else last[0],))
        # A fact that ends as it comes has no decision.
        value = structs.replace(value, routing=()) if is_past else value
        with nullcontext() if is_right else broken("ended-as-named"):
            told.reply(op_id, value)
        if is_right and is_past:
            past = entity(*BERLIN, event_time_ms=new_ms, relation_count=1)
            told.get(NEW, Ended(NEW, past, OLD, "update", NOW_MS))
            told.get(OLD, entity(*PARIS, event_time_ms=old_ms, relation_count=1))
            told.count_of(1)


def test_a_fact_that_is_too_long_to_be_shown_to_a_model_stays() -> None:
    text = "x" * (EXTRACT_CONTENT_BYTES_MAX + 1)
    for is_ended in (False, True):
        told = History()
        told.reply(told.ask(Remember("", text, extract=False, embed=False)), note(text)[1])
        key = note(text)[0]
        op_id = told.tell(BERLIN, embed=False)
        told.hear(op_id, "evolve", stated("update", (key, 1), (NEW, 1)))
        said = relation((key, 1), (NEW, 1), "update", **BY_MODEL)
        value = as_stored(BERLIN, relations=(said,), ended=(key,) * is_ended)
        if is_ended:
            with broken("ended-as-named"):
                told.reply(op_id, value)
        else:
            told.reply(op_id, value)
            told.count_of(2)


# In doubt.


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_write_in_doubt_has_ended_a_fact_if_and_only_if_it_made_the_other(is_durable: bool) -> None:
    told, op_id = moving()
    if is_durable:
        told.land(op_id)
    told.reply(op_id, Unknown())
    told.oracle.observe_crash()
    told.get(NEW, entity(*BERLIN, relation_count=1) if is_durable else None)
    told.get(OLD, ended() if is_durable else entity(*PARIS))
    with broken("all-or-nothing" if is_durable else "reference-agrees"):
        told.get(OLD, entity(*PARIS) if is_durable else ended())


def test_a_read_may_show_the_fact_as_it_was_before_it_ended() -> None:
    for row in (entity(*PARIS), ended()):
        told, op_id = moving()
        read = told.ask(GetEntity("", OLD))
        told.reply(op_id, moved())
        told.reply(read, row)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_plans_the_one_that_is_durable_has_ended_a_fact(is_first: bool) -> None:
    told, op_id = moving()
    first = told.send(op_id)
    told.answer(op_id, "commit", EffectFailed(0, "conflict"))
    told.hear(op_id, "evolve", None)
    if is_first:
        told.oracle.observe_commit(first)
    value = moved() if is_first else as_stored(BERLIN)
    told.reply(op_id, value, *() if is_first else (Degraded("evolve:none", "refused"),))
    told.get(OLD, ended() if is_first else entity(*PARIS))


@pytest.mark.parametrize("wrong", [(), (OTHER,), (OLD, OTHER)])
def test_a_repeated_reply_names_the_facts_that_have_ended(wrong: tuple[str, ...]) -> None:
    told, op_id = moving(request_key="k")
    told.reply(op_id, moved())
    again = Remember("", "lives in Berlin", embed=False, request_key="k")
    told.reply(told.ask(again), moved(repeated=True))
    with broken("once-only"):
        told.reply(told.ask(again), moved(ended=wrong, repeated=True))


def test_the_first_reply_may_be_a_repeated_one() -> None:
    for is_lie in (False, True):
        told, op_id = moving(request_key="k")
        told.land(op_id)
        told.reply(op_id, Unknown())
        again = told.ask(Remember("", "lives in Berlin", embed=False, request_key="k"))
        if is_lie:
            with broken("once-only"):
                told.reply(again, moved(ended=(), repeated=True))
        else:
            told.reply(again, moved(repeated=True))
            told.get(OLD, ended())


# What becomes of an ended fact.


def test_an_ended_fact_that_is_told_again_is_current_again() -> None:
    told = in_berlin()
    told.store(PARIS, version=2, embed=False)
    told.get(OLD, entity(*PARIS, 2, relation_count=1))
    with broken("reference-agrees"):
        told.get(OLD, ended(version=2))


@pytest.mark.parametrize(("change", "version"), [("unchanged", 1), ("created", 1), ("created", 3)])
def test_an_ended_fact_that_is_told_again_is_its_next_version(change: str, version: int) -> None:
    told = in_berlin()
    rules = {("created", 1): "acknowledged-is-durable"}
    with broken(rules.get((change, version), "once-only")):
        told.store(PARIS, change=change, version=version, embed=False)


def test_an_ended_fact_can_be_forgotten() -> None:
    told = in_berlin()
    told.forget(OLD)
    told.get(OLD, None)
    with broken("deleted-stays-deleted"):
        told.get(OLD, ended())
    told = in_berlin()
    with broken("acknowledged-is-durable"):
        told.forget(OLD, existed=False)


def test_a_list_shows_the_facts_that_have_ended() -> None:
    told = in_berlin()
    told.reply(told.ask(List("", "ended")), Listed((ended(),)))
    with broken("acknowledged-is-durable"):
        told.reply(told.ask(List("", "ended")), Listed(()))
    told = in_berlin()
    with broken("reference-agrees"):
        told.reply(told.ask(List("", "ended")), Listed((ended(by=OTHER),)))
    told = in_berlin()
    with broken("reference-agrees"):
        told.reply(told.ask(List("", "entity")), Listed((entity(*PARIS),)))


# By an update.


def updated(told: History, value: Stored) -> None:
    op_id = told.ask(UpdateEntity("", OLD, "lives in Berlin"))
    told.hear(op_id, "embed", None)
    told.reply(op_id, value, Degraded("embed:no_vectors", "refused"))


def test_an_update_ends_the_fact_and_makes_another_one() -> None:
    told = History()
    told.store(PARIS, embed=False, importance_ppm=7, metadata=(("k", "v"),))
    updated(told, Stored(NEW, 1, "created"))
    more: dict[str, Any] = {"importance_ppm": 7, "metadata": (("k", "v"),)}
    told.get(OLD, ended(relation_count=0, **more))
    told.get(NEW, entity(*BERLIN, vector_missing=True, **more))
    for lie in ({"importance_ppm": 8}, {"metadata": ()}, {"block": "scratch"}, {"is_direct": False}):
        with broken("reference-agrees"):
            told.get(NEW, structs.replace(entity(*BERLIN, vector_missing=True, **more), **lie))


def test_an_update_with_another_content_is_another_fact() -> None:
    with broken("reference-agrees"):
        updated(in_paris(), Stored(OLD, 2, "created"))


def test_an_update_leaves_no_old_fact() -> None:
    told = in_paris()
    updated(told, Stored(NEW, 1, "created"))
    with broken("reference-agrees"):
        told.get(OLD, entity(*PARIS))

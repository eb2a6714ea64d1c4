"""Goal: relations of statements were stated, are replied, and are shown at both ends."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.histories import (
    ACME,
    ALICE,
    BY_MODEL,
    NOW_MS,
    History,
    as_stored,
    broken,
    entity,
    fact,
    hit,
    relation,
    stated,
)
from tests.properties.scores_reference import alone_ppm, united_ppm
from umi_core.limits import RELATION_COUNT_MAX
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Degraded, Unknown
from umi_core.messages.requests import GetEntity
from umi_core.messages.results import Remembered
from umi_core.rows import Ended, Entity, Relation

PARTIAL = Degraded("evolve:partial", "unknown_pair")
LIKES_TEA, SELLS_TEA, NAPS = (ALICE, "likes tea"), (ACME, "sells tea"), (ALICE, "naps")
TEA, SALES, NAP = fact(*LIKES_TEA), fact(*SELLS_TEA), fact(*NAPS)


RELATED: dict[str, Any] = {"relation_count": 1}


def ended(fact_row: Entity, by: str = SALES, how: str = "contradict") -> Ended:
    return Ended(fact_row.id, fact_row, by, how, NOW_MS)


# Verdicts.


EXTENDED = relation((TEA, 1), (SALES, 1), "extend", **BY_MODEL)


def extending(
    history: History | None = None, verdict: str | None = "", **options: Any
) -> tuple[History, str]:
    """Acme sells tea is new, and extends that Alice likes tea, or stands to it as this verdict says."""
    if history is None:
        history = History()
        history.store(LIKES_TEA)
    op_id = history.tell(SELLS_TEA, embed=False, **options)
    history.hear(op_id, "evolve", stated("extend", (TEA, 1), (SALES, 1)) if verdict == "" else verdict)
    return history, op_id


def extended(*relations: Relation, **more: Any) -> Remembered:
    return as_stored(SELLS_TEA, relations=relations, **more)


@pytest.mark.parametrize("kind", ["extend", "derive"])
def test_a_verdict_is_reported_and_ends_nothing(kind: str) -> None:
    history, op_id = extending(verdict=stated(kind, (TEA, 1), (SALES, 1)))
    history.reply(op_id, extended(relation((TEA, 1), (SALES, 1), kind, **BY_MODEL)))
    history.get(TEA, entity(*LIKES_TEA, **RELATED))
    history.get(SALES, entity(*SELLS_TEA, **RELATED))


@pytest.mark.parametrize("verdict", [None, "[]", stated("extend", (TEA, 1), (SALES, 1), 0.2)])
def test_without_a_sure_verdict_nothing_is_related(verdict: str | None) -> None:
    table = (Degraded("evolve:none", "refused"),) if verdict is None else ()
    history, op_id = extending(verdict=verdict)
    history.reply(op_id, extended(), *table)
    history, op_id = extending(verdict=verdict)
    with broken("relation-ends"):
        history.reply(op_id, extended(EXTENDED), *table)


@pytest.mark.parametrize(
    "lie",
    [
        {"kind": "derive"},
        {"confidence_ppm": 900_001},
        {"reason": ""},
        {"by": "table"},
        {"source": (TEA, 2)},
        {"target": (SALES, 2)},
        {"source": (SALES, 1), "target": (TEA, 1)},
        {"source": ("fct_x", 1)},
        {"kind": "knows"},
        {"id": "rel_x"},
    ],
)
def test_no_relation_is_reported_that_was_not_stated(lie: dict[str, Any]) -> None:
    history, op_id = extending()
    wrong = structs.replace(EXTENDED, **lie)
    right_id = relation(wrong.source, wrong.target, wrong.kind).id
    with broken("relation-ends"):
        history.reply(op_id, extended(structs.replace(wrong, **({"id": right_id} | lie))))


def test_without_evolving_no_model_is_asked() -> None:
    history, op_id = extending(evolve=False)
    with broken("reference-agrees"):
        history.reply(op_id, extended(EXTENDED))


def test_a_second_plan_may_go_by_either_answer() -> None:
    history, op_id = extending()
    history.answer(op_id, "commit", EffectFailed(0, "conflict"))
    history.hear(op_id, "evolve", None)
    history.reply(op_id, extended(), Degraded("evolve:none", "refused"))
    history, op_id = extending()
    history.answer(op_id, "commit", EffectFailed(0, "conflict"))
    history.hear(op_id, "evolve", stated("derive", (TEA, 1), (SALES, 1)))
    history.reply(op_id, extended(relation((TEA, 1), (SALES, 1), "derive", **BY_MODEL)))


def full() -> History:
    """Alice likes tea, and has no room for another relation."""
    history = History()
    history.store(LIKES_TEA)
    state = history.log.state(TEA)
    assert state.entity is not None
    crowded = state.with_fact(structs.replace(state.entity, relation_count=RELATION_COUNT_MAX))
    history.log.facts.put(TEA, history.log.position, crowded)
    return history


def test_a_verdict_that_was_stated_is_reported_or_dropped() -> None:
    for count in (0, 1):
        history, op_id = extending()
        with broken("relation-ends"):
            history.reply(op_id, extended(relation_dropped_count=count))
    history, op_id = extending(full())
    history.reply(op_id, extended(relation_dropped_count=1))


def test_fewer_than_none_are_never_dropped() -> None:
    history, op_id = extending()
    with broken("relation-ends"):
        history.reply(op_id, extended(EXTENDED, relation_dropped_count=-1))


@pytest.mark.parametrize("target", [(TEA, 1), ("fct_y", 1)])
def test_a_verdict_counts_for_the_new_statements_of_this_text_alone(target: tuple[str, int]) -> None:
    history, op_id = extending(verdict=stated("extend", ("fct_x", 1), target))
    with broken("relation-ends"):
        history.reply(op_id, extended(relation(("fct_x", 1), target, "extend", **BY_MODEL)))


CLASH = relation((TEA, 1), (SALES, 1), "contradict", **BY_MODEL)


def clashing(history: History | None = None) -> tuple[History, str]:
    """Acme sells tea is new, and contradicts that Alice likes tea."""
    return extending(history, stated("contradict", (TEA, 1), (SALES, 1)))


def clash(*relations: Relation, **more: Any) -> Remembered:
    return extended(*relations, **({"ended": (TEA,)} | more))


# What is shown.


def clashed() -> History:
    """Both contradict each other, and everybody knows: what Acme sells has ended what Alice likes."""
    history, op_id = clashing()
    history.reply(op_id, clash(CLASH))
    return history


FOUND_PPM = united_ppm(0, alone_ppm("tea", "Acme", "sells tea"))
TO_TEA, TO_SALES = f"{TEA}@1", f"{SALES}@1"
CLASHED = entity(*LIKES_TEA, contradicts=(TO_SALES,), **RELATED)


def test_both_ends_show_a_contradiction() -> None:
    history = clashed()
    history.get(TEA, ended(CLASHED))
    history.get(SALES, entity(*SELLS_TEA, contradicts=(TO_TEA,), **RELATED))
    replaced = ((TEA, "likes tea"),)
    history.recall("tea", hit(*SELLS_TEA, FOUND_PPM, contradicts=(TO_TEA,), replaced=replaced))


@pytest.mark.parametrize(
    ("refs", "rule"),
    [
        ((), "acknowledged-is-durable"),
        ((TO_TEA, TO_TEA), "relation-ends"),
        ((TO_TEA, f"{TEA}@2"), "relation-ends"),
        ((TO_TEA, "fct_x@1"), "relation-ends"),
        ((TO_TEA, TO_SALES), "relation-ends"),
    ],
)
def test_a_contradicted_fact_is_shown_as_it_was_stated(refs: tuple[str, ...], rule: str) -> None:
    history = clashed()
    with broken(rule):
        history.get(SALES, entity(*SELLS_TEA, contradicts=refs, **RELATED))
    history = clashed()
    with broken(rule):
        history.recall("tea", hit(*SELLS_TEA, FOUND_PPM, contradicts=refs))


@pytest.mark.parametrize(
    ("refs", "rule"), [((), "acknowledged-is-durable"), ((TO_SALES, TO_TEA), "relation-ends")]
)
def test_an_ended_fact_shows_what_it_contradicts(refs: tuple[str, ...], rule: str) -> None:
    history = clashed()
    with broken(rule):
        history.get(TEA, ended(structs.replace(CLASHED, contradicts=refs)))


def test_a_read_in_flight_may_show_what_was_before_the_contradiction() -> None:
    history, op_id = clashing()
    read = history.ask(GetEntity("", TEA))
    history.reply(op_id, clash(CLASH))
    history.reply(read, entity(*LIKES_TEA))


def test_what_is_forgotten_is_contradicted_no_more() -> None:
    history = clashed()
    history.forget(TEA)
    history.get(SALES, entity(*SELLS_TEA))


def test_a_contradiction_may_have_happened_without_an_answer() -> None:
    for is_durable in (True, False):
        history, op_id = clashing()
        if is_durable:
            history.land(op_id)
        history.reply(op_id, Unknown())
        history.get(TEA, ended(CLASHED) if is_durable else entity(*LIKES_TEA))


def test_refs_that_a_model_made_up_are_no_statements() -> None:
    history = History()
    op_id = history.tell(LIKES_TEA, embed=False)
    rows = [{"new": "x", "old": old, "type": "contradict", "confidence": 1} for old in ("@", "y@²", "z@-1")]
    history.hear(op_id, "evolve", json.dumps(rows))
    history.reply(op_id, as_stored(LIKES_TEA), PARTIAL)
    history.get(TEA, entity(*LIKES_TEA))

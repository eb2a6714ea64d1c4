"""Goal: what statements do to each other was said, is told, and is shown at both ends."""

import json
from typing import Any

import attrs
import pytest

from tests.histories import (
    ACME,
    ALICE,
    BY_MODEL,
    NOW_MS,
    History,
    broken,
    entity,
    extending,
    extraction,
    hit,
    relation,
    remembered,
    stated,
    two_known,
)
from umi_core.config import Config
from umi_core.limits import RELATION_COUNT_MAX
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Degraded, Done, Unknown
from umi_core.messages.requests import Forget, GetEntity, Remember
from umi_core.messages.results import Remembered
from umi_core.rows import Relation, Version

PARTIAL = Degraded("evolve:partial", "unknown_pair")


def next_alice(verdict: str | None, told: History | None = None, **options: Any) -> tuple[History, str]:
    """`Alice naps` was told after `likes tea`, and this was answered about the two."""
    told = told or two_known()
    op_id = told.tell((ALICE, "naps"), embed=False, **options)
    told.hear(op_id, "evolve", verdict)
    return told, op_id


def second(*relations: Relation, **more: Any) -> Remembered:
    return remembered((ALICE, 2, "updated"), relations=relations, **more)


# From each version to the next.


@pytest.mark.parametrize("kind", ["update", "contradict", "extend", "derive"])
def test_a_next_version_is_what_the_model_said_of_it(kind: str) -> None:
    said = extending(ALICE, 2, kind, **BY_MODEL)
    told, op_id = next_alice(stated(kind, (ALICE, 1), (ALICE, 2)))
    told.reply(op_id, second(said, needs_resolution=kind == "contradict"))
    content = "likes tea\nnaps" if kind in ("extend", "derive") else "naps"
    told.get(ALICE, Version(ALICE, 2, "naps", kind, content, None, (), None, NOW_MS), 2)
    refs = (f"{ALICE}@1",) if kind == "contradict" else ()
    told.get(ALICE, entity(ALICE, content, 2, contradicts=refs))


def test_without_a_verdict_a_next_version_extends() -> None:
    for verdict in (None, "[]", stated("update", (ALICE, 1), (ALICE, 2), 0.2)):
        told, op_id = next_alice(verdict)
        table = (Degraded("evolve:table", "refused"),) if verdict is None else ()
        told.reply(op_id, second(extending(ALICE, 2)), *table)
        told.get(ALICE, entity(ALICE, "likes tea\nnaps", 2))


UPDATE = stated("update", (ALICE, 1), (ALICE, 2))
UPDATED = extending(ALICE, 2, "update", **BY_MODEL)


@pytest.mark.parametrize(
    ("relations", "rule"),
    [
        ((), "version-chain"),
        ((UPDATED, UPDATED), "version-chain"),
        ((extending(ALICE, 1, "update", **BY_MODEL),), "version-chain"),
        ((relation((ALICE, 2), (ALICE, 1), "update", **BY_MODEL),), "version-chain"),
        ((extending(ALICE, 2),), "version-chain"),
        ((extending(ALICE, 2, "derive", **BY_MODEL),), "version-chain"),
        ((attrs.evolve(UPDATED, confidence_ppm=1),), "version-chain"),
        ((attrs.evolve(UPDATED, reason="other"),), "version-chain"),
        ((attrs.evolve(UPDATED, by="table"),), "version-chain"),
        ((attrs.evolve(UPDATED, id="rel_x"),), "relation-ends"),
        ((UPDATED, extending(ACME, 2, "update", **BY_MODEL)), "version-chain"),
    ],
)
def test_a_next_version_has_one_relation_as_it_was_said(relations: tuple[Relation, ...], rule: str) -> None:
    told, op_id = next_alice(UPDATE)
    with broken(rule):
        told.reply(op_id, second(*relations))


def test_the_table_says_the_same_of_every_next_version() -> None:
    told, op_id = next_alice("[]")
    with broken("version-chain"):
        told.reply(op_id, second(extending(ALICE, 2, confidence_ppm=1)))


def test_what_is_told_of_a_version_is_what_it_shows() -> None:
    told, op_id = next_alice(UPDATE)
    told.reply(op_id, second(UPDATED))
    with broken("reference-agrees"):
        told.get(ALICE, entity(ALICE, "likes tea\nnaps", 2))


def test_without_evolving_no_model_is_asked_and_a_next_version_extends() -> None:
    told = two_known()
    op_id = told.tell((ALICE, "naps"), embed=False, evolve=False)
    told.reply(op_id, second(extending(ALICE, 2)))
    told = two_known()
    op_id = told.tell((ALICE, "naps"), embed=False, evolve=False)
    with broken("version-chain"):
        told.reply(op_id, second(UPDATED))
    told, op_id = next_alice(UPDATE, evolve=False)
    with broken("reference-agrees"):
        told.reply(op_id, second(UPDATED))


def test_a_model_is_asked_about_every_next_version() -> None:
    late_ms, value = NOW_MS + Config().model_timeout_ms, second(extending(ALICE, 2))
    for now_ms, degraded in ((NOW_MS, ()), (late_ms, (Degraded("evolve:table", "timeout"),))):
        told = two_known()
        op_id = told.tell((ALICE, "naps"), embed=False)
        if degraded:
            told.close(op_id, Done(value, degraded), now_ms)
        else:
            with broken("version-chain"):
                told.close(op_id, Done(value), now_ms)


def test_a_first_version_has_no_relation() -> None:
    told = History()
    op_id = told.tell((ALICE, "naps"), embed=False)
    with broken("version-chain"):
        told.reply(op_id, remembered((ALICE, 1, "created"), relations=(extending(ALICE, 1),)))


def test_a_second_plan_may_go_by_either_answer() -> None:
    told, op_id = next_alice(UPDATE)
    told.answer(op_id, "commit", EffectFailed(0, "conflict"))
    told.hear(op_id, "evolve", None)
    told.reply(op_id, second(extending(ALICE, 2)), Degraded("evolve:table", "refused"))
    told, op_id = next_alice(UPDATE)
    told.answer(op_id, "commit", EffectFailed(0, "conflict"))
    told.hear(op_id, "evolve", stated("derive", (ALICE, 1), (ALICE, 2)))
    told.reply(op_id, second(extending(ALICE, 2, "derive", **BY_MODEL)))


# Verdicts on what is known of others.


CLASH = relation((ALICE, 1), (ACME, 1), "contradict", **BY_MODEL)


def clashing(told: History | None = None) -> tuple[History, str]:
    """Acme is new, and contradicts what is known of Alice."""
    if told is None:
        told = History()
        told.store((ALICE, "likes tea"))
    op_id = told.tell((ACME, "sells tea"), embed=False)
    told.hear(op_id, "evolve", stated("contradict", (ALICE, 1), (ACME, 1)))
    return told, op_id


def clash(*relations: Relation, **more: Any) -> Remembered:
    return remembered((ACME, 1, "created"), relations=relations, **({"needs_resolution": True} | more))


def test_a_verdict_is_told() -> None:
    told, op_id = clashing()
    told.reply(op_id, clash(CLASH))


@pytest.mark.parametrize(
    "lie",
    [
        {"kind": "update"},
        {"confidence_ppm": 900_001},
        {"reason": ""},
        {"by": "table"},
        {"source": (ALICE, 2)},
        {"target": (ACME, 2)},
        {"source": (ACME, 1), "target": (ALICE, 1)},
        {"source": ("ent_x", 1)},
        {"kind": "knows"},
        {"id": "rel_x"},
    ],
)
def test_no_relation_is_told_that_was_not_stated(lie: dict[str, Any]) -> None:
    told, op_id = clashing()
    wrong = attrs.evolve(CLASH, **lie)
    right_id = relation(wrong.source, wrong.target, wrong.kind).id
    with broken("relation-ends"):
        told.reply(op_id, clash(attrs.evolve(wrong, **({"id": right_id} | lie))))


def test_a_verdict_that_was_stated_is_told_or_dropped() -> None:
    told, op_id = clashing()
    with broken("relation-ends"):
        told.reply(op_id, clash(needs_resolution=False))
    told, op_id = clashing()
    with broken("relation-ends"):
        told.reply(op_id, clash(needs_resolution=False, relation_dropped_count=1))
    told, op_id = clashing()
    told.oracle.relations.stated_count = RELATION_COUNT_MAX
    told.reply(op_id, clash(needs_resolution=False, relation_dropped_count=1))


def test_fewer_than_none_are_never_dropped() -> None:
    told, op_id = clashing()
    with broken("relation-ends"):
        told.reply(op_id, clash(CLASH, relation_dropped_count=-1))


def test_verdicts_may_be_lost_with_rows_that_nobody_asked_for() -> None:
    told, op_id = clashing()
    told.reply(op_id, clash(needs_resolution=False), PARTIAL)


def test_a_verdict_on_what_is_not_current_any_more_may_be_lost() -> None:
    told = History()
    told.store((ALICE, "likes tea"))
    other = told.tell((ALICE, "naps"), embed=False)
    told, op_id = clashing(told)
    told.reply(other, second(extending(ALICE, 2)))
    told.reply(op_id, clash(needs_resolution=False))


def test_a_verdict_leads_to_a_new_version_of_this_text() -> None:
    told = two_known()
    op_id = told.tell((ACME, "sells tea"))
    told.hear(op_id, "evolve", stated("contradict", (ALICE, 1), (ACME, 1)))
    with broken("relation-ends"):
        told.reply(op_id, remembered((ACME, 1, "unchanged"), relations=(CLASH,), needs_resolution=True))


def test_a_verdict_leads_from_a_statement_of_another_text() -> None:
    told = History()
    op_id = told.tell((ALICE, "likes tea"), (ACME, "sells tea"), embed=False)
    told.hear(op_id, "evolve", stated("contradict", (ALICE, 1), (ACME, 1)))
    value = remembered((ALICE, 1, "created"), (ACME, 1, "created"), relations=(CLASH,), needs_resolution=True)
    with broken("relation-ends"):
        told.reply(op_id, value)


@pytest.mark.parametrize(("confidence", "needed"), [(0.9, True), (0.8, True), (0.799999, False)])
def test_a_sure_contradiction_needs_an_answer(confidence: float, needed: bool) -> None:
    for said in (needed, not needed):
        told = History()
        told.store((ALICE, "likes tea"))
        op_id = told.tell((ACME, "sells tea"), embed=False)
        told.hear(op_id, "evolve", stated("contradict", (ALICE, 1), (ACME, 1), confidence))
        row = attrs.evolve(CLASH, confidence_ppm=round(confidence * 1_000_000))
        if said == needed:
            told.reply(op_id, clash(row, needs_resolution=said))
        else:
            with broken("reference-agrees"):
                told.reply(op_id, clash(row, needs_resolution=said))


@pytest.mark.parametrize("target", [(ALICE, 1), ("ent_y", 1)])
def test_a_verdict_counts_for_the_new_statements_of_this_text_alone(target: tuple[str, int]) -> None:
    told, op_id = next_alice(stated("contradict", ("ent_x", 1), target))
    said = relation(("ent_x", 1), target, "contradict", **BY_MODEL)
    with broken("relation-ends"):
        told.reply(op_id, second(extending(ALICE, 2), said, needs_resolution=True))


def test_a_verdict_on_what_nobody_can_follow_need_not_be_told() -> None:
    told = History()
    told.store((ALICE, "likes tea"))
    told.tracks.give_up(told.tracks.track(ALICE))
    told.reply(clashing(told)[1], clash(needs_resolution=False))


# Links.


LINK = relation((ALICE, 0), (ACME, 0), "works_at", confidence_ppm=1_000_000, by="model")
SAID = {"source": "Alice", "target": "Acme", "type": "works_at", "confidence": 1}


def linked(told: History, *links: dict[str, Any], version: int = 1) -> str:
    """Both are told of, with these links between them."""
    mentions = ((ALICE, f"tea {version}"), (ACME, f"cake {version}"))
    op_id = told.tell(*mentions, embed=False)
    told.hear(op_id, "extract", extraction(*mentions, relations=list(links)))
    return op_id


def both(*relations: Relation, version: int = 1, **more: Any) -> Remembered:
    change = "created" if version == 1 else "updated"
    value = remembered((ALICE, version, change), (ACME, version, change), **more)
    return attrs.evolve(value, relations=(*value.relations, *relations))


def test_a_link_is_told_once() -> None:
    told = History()
    told.reply(linked(told, SAID), both(LINK))
    told.reply(linked(told, SAID, version=2), both(version=2))
    with broken("once-only"):
        told.reply(linked(told, SAID, version=3), both(LINK, version=3))


def test_a_link_may_be_told_again_once_an_end_was_forgotten() -> None:
    told = History()
    told.reply(linked(told, SAID), both(LINK))
    told.ask(Forget("", ALICE))
    told.oracle.crashed()
    told.reply(linked(told, SAID, version=2), both(LINK, version=2))


@pytest.mark.parametrize(
    "lie",
    [
        {"kind": "knows"},
        {"confidence_ppm": 1},
        {"by": "table"},
        {"reason": "so"},
        {"source": (ACME, 0), "target": (ALICE, 0)},
        {"source": (ALICE, 1)},
        {"target": ("ent_x", 0)},
    ],
)
def test_a_link_is_told_as_it_was_stated(lie: dict[str, Any]) -> None:
    told = History()
    wrong = attrs.evolve(LINK, **lie)
    wrong = attrs.evolve(wrong, id=relation(wrong.source, wrong.target, wrong.kind).id)
    with broken("relation-ends"):
        told.reply(linked(told, SAID), both(wrong))


@pytest.mark.parametrize("there", [ALICE, ACME])
def test_a_link_of_another_attempt_is_none_of_a_text_that_names_one_end(there: str) -> None:
    told, request = History(), Remember("", "tea", embed=False, request_key="k")
    for mentions, links in ((((ALICE, "tea"), (ACME, "tea")), [SAID]), (((there, "tea"),), [])):
        op_id = told.ask(request)
        told.hear(op_id, "extract", extraction(*mentions, relations=links))
        if links:
            told.reply(op_id, Unknown())
    with broken("relation-ends"):
        told.reply(op_id, remembered((there, 1, "created"), relations=(LINK,)))


def test_a_new_link_is_told_or_dropped() -> None:
    told = History()
    with broken("relation-ends"):
        told.reply(linked(told, SAID), both())
    told = History()
    told.oracle.relations.stated_count = RELATION_COUNT_MAX
    told.reply(linked(told, SAID), both(relation_dropped_count=1))


def test_a_link_that_may_be_stored_need_not_be_told() -> None:
    for has_happened in (True, False):
        told = History()
        told.reply(linked(told, SAID), Unknown())
        version = 2 if has_happened else 1
        told.reply(
            linked(told, SAID, version=version), both(*[] if has_happened else [LINK], version=version)
        )


# What is shown.


def clashed() -> History:
    """Alice and Acme contradict each other, and everybody knows."""
    told, op_id = clashing()
    told.reply(op_id, clash(CLASH))
    return told


def alice(*refs: str) -> Any:
    return entity(ALICE, "likes tea", contradicts=refs)


TO_ALICE, TO_ACME = f"{ALICE}@1", f"{ACME}@1"


def test_both_ends_show_a_contradiction() -> None:
    told = clashed()
    told.get(ALICE, alice(TO_ACME))
    told.get(ACME, entity(ACME, "sells tea", contradicts=(TO_ALICE,)))
    hits = (
        hit(ALICE, "likes tea", 1_000_000, contradicts=(TO_ACME,)),
        hit(ACME, "sells tea", 1_000_000, contradicts=(TO_ALICE,)),
    )
    told.recall("tea", *sorted(hits, key=lambda it: it.id))


@pytest.mark.parametrize(
    ("refs", "rule"),
    [
        ((), "acknowledged-is-durable"),
        ((TO_ACME, TO_ACME), "relation-ends"),
        ((TO_ACME, f"{ACME}@2"), "relation-ends"),
        ((TO_ACME, "ent_x@1"), "relation-ends"),
        ((TO_ACME, TO_ALICE), "relation-ends"),
    ],
)
def test_what_is_contradicted_is_shown_as_it_was_said(refs: tuple[str, ...], rule: str) -> None:
    told = clashed()
    with broken(rule):
        told.get(ALICE, alice(*refs))
    told = clashed()
    with broken(rule):
        told.recall("Alice", hit(ALICE, "likes tea", 1_000_000, contradicts=refs), types=("person",))


def test_a_read_in_flight_may_show_what_was_before_the_contradiction() -> None:
    told, op_id = clashing()
    read = told.ask(GetEntity("", ALICE))
    told.reply(op_id, clash(CLASH))
    told.reply(read, alice())


def test_what_may_be_forgotten_need_not_be_contradicted() -> None:
    told = clashed()
    told.ask(Forget("", ACME))
    told.get(ALICE, alice())


def test_a_contradicted_former_version_is_shown() -> None:
    told, op_id = next_alice(stated("contradict", (ALICE, 1), (ALICE, 2)))
    told.reply(op_id, second(extending(ALICE, 2, "contradict", **BY_MODEL), needs_resolution=True))
    row = hit(ALICE, "naps", 1_000_000, 2, contradicts=(TO_ALICE,))
    told.recall("naps", row)
    with broken("hits-ordered"):
        told.recall("naps", attrs.evolve(row, contradicts=()))


def test_a_contradiction_may_have_happened_without_an_answer() -> None:
    told, op_id = clashing()
    told.reply(op_id, Unknown())
    told.get(ALICE, alice(TO_ACME))
    told.get(ALICE, alice())


def test_refs_that_a_model_made_up_are_no_statements() -> None:
    told = History()
    op_id = told.tell((ALICE, "likes tea"), embed=False)
    rows = [{"new": "x", "old": old, "type": "contradict", "confidence": 1} for old in ("@", "y@²", "z@-1")]
    told.hear(op_id, "evolve", json.dumps(rows))
    told.reply(op_id, remembered((ALICE, 1, "created")), PARTIAL)
    told.get(ALICE, entity(ALICE, "likes tea"))

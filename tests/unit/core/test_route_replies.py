"""Goal: each asked entity gets one decision by the routing table, whatever the model says (ROU-1, ROU-2)."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import rows as table
from umi_core.config import Config
from umi_core.language.replies import UnusableReply
from umi_core.language.routing import MALFORMED, Cause, Routes, parse_routes
from umi_core.policies.routing import table_decision
from umi_core.rows import Entity
from umi_core.values import RoutingDecision

CONFIG = Config()


def entity(entity_id: str, entity_type: str) -> Entity:
    return Entity(
        id=entity_id,
        type=entity_type,
        name=entity_id,
        content="",
        version=1,
        importance_ppm=500_000,
        confidence_ppm=500_000,
        block="scratch",
        created_ms=0,
        updated_ms=0,
    )


ALICE, ACME, ME = entity("ent_a", "person"), entity("ent_b", "organization"), entity("ent_c", "self")


def row(entity_id: object = "ent_a", **rest: object) -> dict[str, object]:
    return {
        "entity_id": entity_id,
        "block": "goals",
        "promote": True,
        "confidence": 0.9,
        "reason": "why",
    } | rest


def without(key: str) -> dict[str, object]:
    return {name: value for name, value in row().items() if name != key}


def routes(rows: list[object], asked: tuple[Entity, ...] = (ALICE,), config: Config = CONFIG) -> Routes:
    result = parse_routes(json.dumps(rows), asked, config)
    assert isinstance(result, Routes)
    return result


def by_table(asked: Entity, cause: str) -> RoutingDecision:
    return structs.replace(table_decision(asked), cause=cause)


def test_a_sound_row_decides() -> None:
    decision = RoutingDecision("ent_a", "goals", True, 900_000, "why", "model", None)
    assert routes([row()]) == Routes((decision,), ())


@pytest.mark.parametrize(("reply", "reason"), [("", "empty"), ("[" * 50_001, "too_long"), ("[1]", "no_json")])
def test_an_unusable_reply_says_why(reply: str, reason: str) -> None:
    assert parse_routes(reply, (ALICE,), CONFIG) == UnusableReply(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stray", "cause"),
    [
        (7, "not_object"),
        (None, "not_object"),
        ([], "not_object"),
        ({}, "bad_id"),
        (row(3), "bad_id"),
        (row(None), "bad_id"),
        (row("ent_z"), "unknown_id"),
        (row("ENT_A"), "unknown_id"),
    ],
)
def test_a_row_without_an_owner_degrades_and_costs_nothing(stray: object, cause: str) -> None:
    result = routes([stray, row()])
    assert result.decisions == routes([row()]).decisions
    assert result.degraded == (cause,)


def test_rows_that_share_an_id_are_all_dropped() -> None:
    result = routes([row(), row("ent_b"), row(block="bad")], (ALICE, ACME))
    assert result.decisions[0] == by_table(ALICE, "duplicate_id")
    assert result.decisions[1].routed_by == "model"
    assert result.degraded == ("duplicate_id",)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        (without("block"), "bad_block"),
        (row(block=1), "bad_block"),
        (row(block="attic"), "bad_block"),
        (row(block=""), "bad_block"),
        (row(block="system"), "system_block"),
        (row(block="System"), "system_block"),
        (row(promote="yes"), "bad_promote"),
        (row(promote=None), "bad_promote"),
        (row(promote=1), "bad_promote"),
        (without("confidence"), "bad_confidence"),
        (row(confidence="sure"), "bad_confidence"),
        (row(confidence=1.5), "bad_confidence"),
        (row(confidence=True), "bad_confidence"),
        (row(confidence=0.599999), "low_confidence"),
        (row(block="persona"), "persona_not_self"),
    ],
)
def test_an_unsound_row_is_dropped_for_its_entity_alone(changed: object, cause: str) -> None:
    result = routes([changed, row("ent_b")], (ALICE, ACME))
    assert result.decisions[0] == by_table(ALICE, cause)
    assert result.decisions[1] == RoutingDecision("ent_b", "goals", True, 900_000, "why", "model", None)
    assert result.degraded == ((cause,) if cause in MALFORMED else ())


def test_the_causes_are_those_of_the_table_and_only_a_models_good_right_does_not_degrade() -> None:
    degrades = {row["cause"]: row["degrades"] == "yes" for row in table("memory", "route_causes")}
    causes = {cause for cause in get_args(Cause) if not cause.startswith("reason ")}  # those mend, not decide
    assert {cause for cause in degrades if degrades[cause]} == set(MALFORMED)
    assert {cause for cause in degrades if not degrades[cause]} == causes


@pytest.mark.parametrize("block", ["persona", "facts", "scratch"])
def test_self_stays_where_the_table_puts_it(block: str) -> None:
    result = routes([row("ent_c", block=block, promote=False)], (ME,))
    assert result == Routes((by_table(ME, "self_is_fixed"),), ())
    assert result.decisions[0].block == "persona"
    assert result.decisions[0].promote


def test_the_rows_are_checked_in_order() -> None:
    wrongs: list[tuple[str, object, str]] = [
        ("block", "attic", "bad_block"),
        ("promote", 1, "bad_promote"),
        ("confidence", 7, "bad_confidence"),
        ("confidence", 0.1, "low_confidence"),
    ]
    changed = row("ent_c")
    for key, value, cause in reversed(wrongs):
        changed[key] = value
        assert routes([changed], (ME,)).decisions[0].cause == cause


@pytest.mark.parametrize("block", ["Human", "FACTS", "goals", "Scratch"])
def test_blocks_are_read_in_any_case(block: str) -> None:
    assert routes([row(block=block, promote=False)]).decisions[0].block == block.lower()


@pytest.mark.parametrize(
    ("changes", "promote", "cause"),
    [
        ({"confidence": 0.8}, True, None),
        ({"confidence": 0.799999}, False, "promote_low"),
        ({"confidence": 0.6}, False, "promote_low"),
        ({"confidence": 0.6, "promote": False}, False, None),
        ({"block": "scratch"}, False, "promote_scratch"),
        ({"block": "scratch", "confidence": 0.7}, False, "promote_low"),
        ({"block": "scratch", "promote": False}, False, None),
    ],
)
def test_a_promotion_needs_more_than_a_block(
    changes: dict[str, object], promote: bool, cause: str | None
) -> None:
    (decision,) = routes([row(**changes)]).decisions
    assert decision.routed_by == "model"
    assert decision.promote is promote
    assert decision.cause == cause


def test_absent_promote_is_false() -> None:
    (decision,) = routes([without("promote")]).decisions
    assert decision == RoutingDecision("ent_a", "goals", False, 900_000, "why", "model", None)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (without("reason"), ""),
        (row(reason=4), ""),
        (row(reason="日" * 99), "日" * 66),
        (row(reason="ok"), "ok"),
    ],
)
def test_reasons_are_texts_of_200_bytes(changed: object, expected: str) -> None:
    assert routes([changed]).decisions[0].reason == expected


@pytest.mark.parametrize("rows", [[], [row("ent_b")]])
def test_an_entity_without_row_is_missing(rows: list[object]) -> None:
    result = routes(rows, (ALICE, ACME))
    assert result.decisions[0] == by_table(ALICE, "missing")
    assert "missing" in result.degraded


def test_the_configured_floors_rule() -> None:
    config = Config(route_confidence_min_ppm=0, promote_confidence_min_ppm=1_000_000)
    (decision,) = routes([row(confidence=0)], config=config).decisions
    assert (decision.routed_by, decision.cause) == ("model", "promote_low")


def test_decisions_come_in_the_order_asked_and_strays_first() -> None:
    result = routes([row("ent_b"), 5, row("ent_z"), row("ent_a", block=0)], (ME, ALICE, ACME))
    assert [decision.entity_id for decision in result.decisions] == ["ent_c", "ent_a", "ent_b"]
    assert result.degraded == ("not_object", "unknown_id", "missing", "bad_block")


ROWS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "entity_id": st.sampled_from(["ent_a", "ent_b", "ent_c", "ent_z", 1]),
        "block": st.sampled_from(["persona", "human", "system", "scratch", "x", None]),
        "promote": st.booleans() | st.none(),
        "confidence": st.floats(-1, 2) | st.text(max_size=2),
        "reason": st.text(max_size=3),
    },
)


@pytest.mark.uncounted
@given(st.lists(ROWS, max_size=5).map(lambda rows: [{}, *rows]))
def test_every_asked_entity_gets_one_decision(rows: list[object]) -> None:
    asked = (ALICE, ACME, ME)
    result = routes(rows, asked)
    assert [decision.entity_id for decision in result.decisions] == [each.id for each in asked]
    for each, decision in zip(asked, result.decisions, strict=True):
        assert decision.block != "system"
        assert (decision.block == "persona") == (each.type == "self")
        if decision.routed_by == "table":
            assert decision == by_table(each, decision.cause or "")
            assert decision.cause is not None


@given(st.text())
def test_no_reply_raises(reply: str) -> None:
    assert isinstance(parse_routes(reply, (ALICE, ME), CONFIG), Routes | UnusableReply)


def test_all_that_is_not_followed_as_it_stands_is_named() -> None:
    assert routes([row(), row(entity_id="ent_x"), row(reason=None)]).shapes == (
        "unknown_id",
        "duplicate_id",
        "reason missing",
    )
    assert routes([row(confidence=0.7, reason="x" * 201)]).shapes == ("promote_low", "reason cut")
    assert routes([row()]).shapes == ()

"""Goal: a reply to `route` is read as M9 says.

That the memory reads it so too: tests/properties/test_replies.py.
"""

import json
from collections.abc import Sequence

import pytest

from tests.properties.readings import entity_of
from tests.properties.replies_reference import (
    BLOCK_OF,
    CHOICES,
    Asked,
    ExpectedRoutes,
    by_table,
    read_routes,
)
from tests.spec_tables import rows as table_rows
from umi_core.config import Config
from umi_core.policies.routing import table_decision
from umi_core.values import ENTITY_TYPES

ASKED: Sequence[Asked] = (("ent_a", "person"), ("ent_u", "self"))
CONFIG = Config()


def read(*reply: object) -> ExpectedRoutes:
    found = read_routes(json.dumps(reply), ASKED, CONFIG)
    assert found is not None
    return found


def row(**fields: object) -> dict[str, object]:
    return {
        "entity_id": "ent_a",
        "block": "Goals",
        "promote": False,
        "confidence": 0.9,
        "reason": "x",
    } | fields


# The tables, row by row.


def test_the_blocks_of_types_and_the_causes_that_degrade_are_those_of_the_tables() -> None:
    assert {row["type"]: row["block"] for row in table_rows("memory", "types")} == BLOCK_OF
    choices = [row["cause"] for row in table_rows("memory", "route_causes") if row["degrades"] == "no"]
    assert choices == [*CHOICES, "promote_low", "promote_scratch"]


@pytest.mark.parametrize(
    ("fields", "cause", "is_fault"),
    [
        (row(block=7), "bad_block", True),
        (row(block="attic"), "bad_block", True),
        (row(block="System"), "system_block", True),
        (row(promote=1), "bad_promote", True),
        (row(confidence="sure"), "bad_confidence", True),
        (row(confidence=0.59), "low_confidence", False),
        (row(block="persona"), "persona_not_self", False),
    ],
)
def test_a_row_that_cannot_be_followed_leaves_its_entity_to_the_table(
    fields: dict[str, object], cause: str, is_fault: bool
) -> None:
    found = read(fields, row(entity_id="ent_u"))
    assert found.decisions == (by_table("ent_a", "person", cause), by_table("ent_u", "self", "self_is_fixed"))
    assert found.faults == ((cause,) if is_fault else ())


@pytest.mark.parametrize(
    ("fields", "promote", "cause"),
    [
        (row(promote=True), True, None),
        (row(promote=True, confidence=0.79), False, "promote_low"),
        (row(promote=True, block="scratch"), False, "promote_scratch"),
        (row(promote=True, block="scratch", confidence=0.7), False, "promote_low"),
    ],
)
def test_a_row_is_followed_as_far_as_it_is_sure(
    fields: dict[str, object], promote: bool, cause: str | None
) -> None:
    decision = read(fields).decisions[0]
    assert (decision.routed_by, decision.promote, decision.cause) == ("model", promote, cause)


def test_a_row_about_an_unknown_entity_is_a_fault_and_so_is_no_row() -> None:
    found = read(7, {}, row(entity_id="ent_z"), row(), row(block="facts"))
    assert found.faults == ("not_object", "bad_id", "unknown_id", "duplicate_id", "missing")
    assert [it.cause for it in found.decisions] == ["duplicate_id", "missing"]


@pytest.mark.parametrize(("given", "reason"), [(7, ""), ("é" * 101, "é" * 100)])
def test_a_reason_is_a_short_text(given: object, reason: str) -> None:
    assert read(row(reason=given)).decisions[0].reason == reason


# Against the memory.


def test_the_table_of_the_memory_is_this_one() -> None:
    for kind in ENTITY_TYPES:
        assert table_decision(entity_of("ent_a", kind)) == by_table("ent_a", kind)

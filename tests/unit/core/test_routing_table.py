"""Goal: the routing table of M9.1 is total, and keeps system and persona to themselves."""

import pytest

from tests.spec_tables import rows
from umi_core.policies.routing import BLOCK_OF_TYPE, table_decision
from umi_core.rows import Entity
from umi_core.values import ENTITY_TYPES, RoutingDecision


def entity(kind: str) -> Entity:
    return Entity("ent_a", kind, "A", "is", 1, 500_000, 500_000, "scratch", 0, 0)


@pytest.mark.parametrize(("kind", "block"), [(row["type"], row["block"]) for row in rows("memory", "types")])
def test_each_type_goes_where_the_table_says(kind: str, block: str) -> None:
    expected = RoutingDecision("ent_a", block, kind == "self", None, "", "table", None, "not_asked")
    assert table_decision(entity(kind)) == expected


def test_the_table_is_total() -> None:
    assert tuple(BLOCK_OF_TYPE) == ENTITY_TYPES == tuple(row["type"] for row in rows("memory", "types"))


def test_nothing_is_routed_to_system_and_only_self_to_persona() -> None:
    assert "system" not in BLOCK_OF_TYPE.values()
    assert [kind for kind, block in BLOCK_OF_TYPE.items() if block == "persona"] == ["self"]


def test_only_self_enters_core_at_once() -> None:
    assert [kind for kind in ENTITY_TYPES if table_decision(entity(kind)).promote] == ["self"]


def test_a_decision_says_why_the_table_was_asked() -> None:
    assert table_decision(entity("note"), "missing").cause == "missing"

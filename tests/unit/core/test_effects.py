"""Goal: the conditions of a query mean the same to the memory as to storage."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import conditions
from umi_core.conditions import Condition, Where, admits
from umi_core.rows import Body, Ended, Entity, Head, Relation

ANN = Entity("e1", "person", "Ann", "likes tea", 1, 0, 0, "human", 5, 10)
FIRST = Ended("e1", structs.replace(ANN, about=("ent_1",), sources=("res_1",)), "e2", "update", 7)
LINK = Relation("r1", "extend", ("e1", 1), ("e2", 2), 0, "", "table", 5)


@pytest.mark.parametrize(
    ("where", "body", "expected"),
    [
        ((), ANN, True),
        (conditions(types=("person",)), ANN, True),
        (conditions(types=("note",)), ANN, False),
        (conditions(start_ms=10, end_ms=10), ANN, True),
        (conditions(start_ms=11), ANN, False),
        (conditions(end_ms=9), ANN, False),
        (conditions(end_ms=7), structs.replace(ANN, event_time_ms=7), True),
        (conditions(vector_missing=True), ANN, False),
        (conditions(vector_missing=False), ANN, True),
        (conditions(touches="res_1"), FIRST, True),
        (conditions(touches="e2"), FIRST, False),  # the fact that ended it does not mention it
        ((Condition("about", "contains", "ent_1"),), FIRST, True),
        ((Condition("about", "contains", "ent_2"),), FIRST, False),
        (conditions(touches="e2"), LINK, True),
        (conditions(touches="e3"), LINK, False),
        (conditions(touches="e1"), Head(""), False),
        (conditions(types=("person",)), FIRST, False),
        (conditions(without=(ANN.id,)), ANN, False),
        (conditions(without=("ent_other",)), ANN, True),
        (conditions(without=("ent_other",), types=("note",)), ANN, False),
        (conditions(without=("ent_other",)), LINK, True),
        (conditions(without=("r1",)), LINK, False),
    ],
)
def test_a_row_is_admitted_iff_it_holds_every_condition(where: Where, body: Body, expected: bool) -> None:
    assert admits(where, body) == expected


ALICE = structs.replace(ANN, metadata=(("team", "red"),), contradicts=("e2@1",))


@pytest.mark.parametrize(
    ("field", "operator", "value", "expected"),
    [
        ("version", "eq", 1, True), ("version", "eq", True, False), ("source", "eq", None, True),
        ("version", "ne", 1, False), ("version", "ne", "1", True), ("type", "in", ("note", "person"), True),
        ("type", "in", "person", False), ("version", "in", (True, 1), True),
        ("version", "in", (True, "1"), False), ("version", "not_in", (True,), True),
        ("type", "not_in", ("note",), True), ("type", "not_in", "note", False),
        ("created_ms", "lt", 5, False), ("created_ms", "lt", 6, True), ("created_ms", "lte", 5, True),
        ("created_ms", "gt", 5, False), ("created_ms", "gte", 5, True), ("created_ms", "gte", "5", False),
        ("name", "lt", 5, False), ("contradicts", "contains", "e2@1", True),
        ("contradicts", "contains", "e2", False),
        ("name", "contains", "A", False), ("metadata", "has_key", "team", True),
        ("metadata", "has_key", "red", False),
        ("colour", "ne", "red", False), ("name", "like", "A", False), ("own_id", "ne", 1, False),
    ],
)  # fmt: skip
def test_operators_compare_like_with_like(field: str, operator: str, value: Any, expected: bool) -> None:
    """H9.4 to H9.8; an unknown field or operator holds for no row."""
    assert admits((Condition(field, operator, value),), ALICE) is expected


def test_what_is_no_row_of_ours_holds_no_condition() -> None:
    assert not admits((Condition("type", "eq", "person"),), {"type": "person"})

"""Goal: the conditions of a query mean the same to the memory as to storage."""

import attrs
import pytest

from tests.worlds import conditions
from umi_core.conditions import Where, admits
from umi_core.rows import Body, Entity, Relation, Tombstone, Version

ANN = Entity("e1", "person", "Ann", "likes tea", 1, 0, 0, "human", 5, 10)
FIRST = Version("e1", 1, "likes tea", None, "likes tea", None, (), None, 5)
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
        (conditions(end_ms=7), attrs.evolve(ANN, event_time_ms=7), True),
        (conditions(vector_missing=True), ANN, False),
        (conditions(vector_missing=False), ANN, True),
        (conditions(touches="e1"), FIRST, True),
        (conditions(touches="e2"), FIRST, False),
        (conditions(touches="e2"), LINK, True),
        (conditions(touches="e3"), LINK, False),
        (conditions(touches="e1"), Tombstone(1), False),
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

"""Goal: the conditions of a query mean the same to the memory as to storage."""

import attrs
import pytest

from umi_core.conditions import Where
from umi_core.rows import Body, Entity, Relation, Tombstone, Version

ANN = Entity("e1", "person", "Ann", "likes tea", 1, 0, 0, "human", 5, 10)
FIRST = Version("e1", 1, "likes tea", None, "likes tea", None, (), None, 5)
LINK = Relation("r1", "extend", ("e1", 1), ("e2", 2), 0, "", "table", 5)


@pytest.mark.parametrize(
    ("where", "body", "expected"),
    [
        (Where(), ANN, True),
        (Where(types=("person",)), ANN, True),
        (Where(types=("note",)), ANN, False),
        (Where(start_ms=10, end_ms=10), ANN, True),
        (Where(start_ms=11), ANN, False),
        (Where(end_ms=9), ANN, False),
        (Where(end_ms=7), attrs.evolve(ANN, event_time_ms=7), True),
        (Where(vector_missing=True), ANN, False),
        (Where(vector_missing=False), ANN, True),
        (Where(touches="e1"), FIRST, True),
        (Where(touches="e2"), FIRST, False),
        (Where(touches="e2"), LINK, True),
        (Where(touches="e3"), LINK, False),
        (Where(touches="e1"), Tombstone(1), False),
        (Where(types=("person",)), FIRST, False),
        (Where(without=(ANN.id,)), ANN, False),
        (Where(without=("ent_other",)), ANN, True),
        (Where(without=("ent_other",), types=("note",)), ANN, False),
        (Where(without=("ent_other",)), LINK, False),
    ],
)
def test_a_row_is_admitted_iff_it_holds_every_condition(where: Where, body: Body, expected: bool) -> None:
    assert where.admits(body) == expected

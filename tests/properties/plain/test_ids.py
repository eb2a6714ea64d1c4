"""Goal: ids are those of M2. The memory derives the same: tests/properties/test_stated.py."""

from collections.abc import Callable, Mapping

import pytest

from tests.properties import ids_reference as ids
from tests.spec_tables import Row, plain, read_cell, rows
from umi_core.values import Scope

MADE: Mapping[str, Callable[..., str]] = {
    "entity": ids.entity_id,
    "fact": lambda scope, about, content: ids.fact_id(scope, tuple(about), content),
    "relation": lambda scope, source, target, kind: ids.relation_id(
        scope, tuple(source), tuple(target), kind
    ),
    "session": ids.session_id,
    "block": ids.block_id,
}


TABLE = [row for row in rows("memory", "ids") if row["what"] in MADE]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["id"])
def test_ids_are_those_of_the_table(row: Row) -> None:
    assert MADE[row["what"]](Scope(*read_cell(row["scope"])), *read_cell(row["parts"])) == plain(row["id"])

"""Goal: ids are those of M2, and the memory derives the same."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, plain, rows, told
from tests.unit.sim.judge.plain.drawn import ANY_TEXT, NAMES, TEXTS
from umi_core import ids as memory
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, Scope
from umi_sim.judge.plain import ids
from umi_sim.workload.pools import NEIGHBOURS

MADE: Mapping[str, Callable[..., str]] = {
    "entity": ids.entity_id,
    "note": ids.note_id,
    "relation": lambda scope, source, target, kind: ids.relation_id(
        scope, tuple(source), tuple(target), kind
    ),
    "session": ids.session_id,
    "content hash": lambda scope, content: ids.content_hash(content),
}


TABLE = [row for row in rows("memory", "ids") if row["what"] in MADE]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["id"])
def test_ids_are_those_of_the_table(row: Row) -> None:
    assert MADE[row["what"]](Scope(*told(row["scope"])), *told(row["parts"])) == plain(row["id"])


# Against the memory.

SCOPES = st.sampled_from([Scope(*pair) for pairs in NEIGHBOURS for pair in pairs])
NUMBERS = st.integers(0, 2**63 - 1) | st.integers(0, 300)


@given(SCOPES, st.sampled_from(ENTITY_TYPES), NAMES | TEXTS)
def test_the_memory_calls_entities_alike(scope: Scope, entity_type: str, text: str) -> None:
    assert memory.entity_id(scope, entity_type, text) == ids.entity_id(scope, entity_type, text)
    assert memory.note_id(scope, text) == ids.note_id(scope, text)


@given(SCOPES, st.tuples(ANY_TEXT, NUMBERS), st.tuples(ANY_TEXT, NUMBERS), st.sampled_from(BLOCK_KINDS))
def test_the_memory_calls_everything_else_alike(
    scope: Scope, one: tuple[str, int], other: tuple[str, int], kind: str
) -> None:
    _, number = one
    assert memory.relation_id(scope, one, other, kind) == ids.relation_id(scope, one, other, kind)
    assert memory.session_id(scope, number, 1) == ids.session_id(scope, number, 1)

"""Goal: a mistake in how rows become bytes is seen in a run, and each row is looked at once (STO-9)."""

import pytest

from tests.worlds import Pair
from umi_core import row_bytes
from umi_core.messages.requests import Remember
from umi_core.rows import Address, Entity, Head, Row
from umi_core.values import Scope
from umi_sim.judge.invariants.written import OF_A_KIND_MAX, OF_A_LOOK_MAX, RowBytes, check_row_bytes
from umi_sim.record.broken import Broken

SCOPE = Scope("u", "a")


def test_rows_of_a_life_are_what_they_were() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Anna lives in Oslo."))
    kinds = set[str]()
    for row in pair.storage.live_rows(pair.memory.state.scope):
        assert row.body is not None
        check_row_bytes(row.body)
        kinds.add(row.address.kind)
    assert "entity" in kinds


def test_a_version_too_low_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_bytes, "row_version", lambda cls: 1)
    entity = Entity("ent_1", "note", "x", "tea", 1, 500_000, 500_000, "facts", 0, 0)
    with pytest.raises(Broken, match="entity"):
        check_row_bytes(entity)


def test_bytes_that_are_believed_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_bytes, "BODIES", dict.fromkeys(("head", ""), Head))
    with pytest.raises(Broken, match="invalid bytes"):
        check_row_bytes(Head("e1"))


def test_a_few_rows_of_each_kind_are_looked_at_and_none_twice() -> None:
    looked = RowBytes()
    rows = [Row(Address(SCOPE, "session", f"s{at}"), 1, Head("e1")) for at in range(20)]
    looked.observe_rows(rows)
    assert len(looked.seen) == OF_A_LOOK_MAX
    for _ in range(9):
        looked.observe_rows(rows)
    assert (len(looked.seen), looked.counts["session"]) == (OF_A_KIND_MAX, OF_A_KIND_MAX)

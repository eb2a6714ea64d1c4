"""Goal: what is lost across a death of the process is named by what lost it."""

import json
import os
from collections.abc import Sequence

import pytest

from tests.file_stores import Replaced
from tests.unit.sim.targets.test_rules import RemovesFirst
from umi_sim.targets import MISSING, Kv
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.shrinking import shrink


class Batched(Replaced):
    """Saves every third write, and when it is closed."""

    pending = 0

    def _save(self, rows: dict[str, object]) -> None:
        self.rows, self.pending = rows, self.pending + 1
        if not self.pending % 3:
            super()._save(rows)

    def close(self) -> None:
        super()._save(self.rows)


class ForgetsDeletes(Replaced):
    """A delete that frees a key is not written down."""

    def delete(self, key: str) -> bool:
        return self.rows.pop(key, MISSING) is not MISSING


class ForgetsSecond(Replaced):
    """The second value of a key is not written down."""

    def put(self, key: str, value: object) -> None:
        if key in self.rows:
            self.rows[key] = value
        else:
            super().put(key, value)


class RaisesAfterwards(Replaced):
    """The file is written before the sync that fails; what is in memory is as before."""

    def _save(self, rows: dict[str, object]) -> None:
        self.path.with_suffix(".new").write_text(json.dumps(rows))
        os.replace(self.path.with_suffix(".new"), self.path)
        number = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
        self.rows = rows


class Swallows(Replaced):
    """An error of the disk is not told."""

    def _save(self, rows: dict[str, object]) -> None:
        try:
            super()._save(rows)
        except OSError:
            self.rows = rows


class ErrorsAsNothing(Replaced):
    """The first request of a process writes a log; where that fails, nothing is there."""

    is_logged = False

    def get(self, key: str) -> object:
        try:
            if not self.is_logged:
                (self.folder / "log").write_text("begun")
        except OSError:
            return MISSING
        self.is_logged = True
        return super().get(key)

    def put(self, key: str, value: object) -> None:
        self.get(key)
        super().put(key, value)


class OldInMemory(Replaced):
    """A delete leaves what is in memory: no death is needed to see it."""

    def delete(self, key: str) -> bool:
        rows, existed = self.rows, key in self.rows
        self._save({each: value for each, value in self.rows.items() if each != key})
        self.rows = rows
        return existed


def op(name: str, **args: object) -> Item:
    return Item("op", (ContractOp(name, args),))


def within(kind: str, item: Item, site: str) -> Item:
    return Item(kind, item.ops, 1, site)


V1, V2, OTHER = op("put", key="a", value=1), op("put", key="a", value=2), op("put", key="b", value=3)
GET, DELETE, CRASH, REOPEN = op("get", key="a"), op("delete", key="a"), Item("crash"), Item("reopen")
DIES, DIES_ELSEWHERE = within("crash_in", V2, "open"), within("crash_in", OTHER, "open")
NOT_DELETED, NOT_PUT = within("fail", DELETE, "sync"), within("fail", V2, "sync")
TEXT, OTHER_TEXT = op("put", key="a", value="v1"), op("put", key="a", value="v2")
CASES: tuple[tuple[type[Kv], tuple[Item, ...], str, tuple[str, ...]], ...] = (
    # an earlier write is gone, and the one in which the process died was not done
    (Batched, (V1, DIES, GET), "reopen-lost", ("op", "crash", "op")),
    (Batched, (V1, DIES_ELSEWHERE, GET), "reopen-lost", ("op", "crash", "op")),
    (Batched, (V1, CRASH, GET), "reopen-lost", ("op", "crash", "op")),
    (Batched, (within("crash_in", V1, "replace"), GET), "reopen-lost", ("op", "crash", "op")),
    (Batched, (V1, V2, OTHER, DELETE, CRASH, GET), "reopen-lost", ("op", "crash", "op")),
    # it was removed to be replaced
    (RemovesFirst, (TEXT, within("crash_in", OTHER_TEXT, "open"), GET), "crash-split",
     ("op", "crash_in", "op")),
    # what was removed, or replaced, is back
    (ForgetsDeletes, (V1, DELETE, CRASH, GET), "reopen-lost", ("op", "op", "crash", "op")),
    (ForgetsDeletes, (V1, DELETE, REOPEN, GET), "reopen-lost", ("op", "op", "reopen", "op")),
    (ForgetsDeletes, (V1, DELETE, CRASH, DELETE), "reopen-lost", ("op", "op", "crash", "op")),
    (ForgetsDeletes, (V1, DELETE, DIES, GET), "reopen-lost", ("op", "op", "crash", "op")),
    (ForgetsSecond, (V1, V2, CRASH, GET), "reopen-lost", ("op", "op", "crash", "op")),
    (ForgetsSecond, (V1, V2, GET, REOPEN, GET), "reopen-lost", ("op", "op", "reopen", "op")),
    (OldInMemory, (V1, DELETE, GET), "answer", ("op", "op", "op")),
    (OldInMemory, (V1, CRASH, DELETE, GET), "answer", ("op", "op", "op")),
    (OldInMemory, (V1, V2, REOPEN, DELETE, GET), "answer", ("op", "op", "op")),
    # it raised, and was done
    (RaisesAfterwards, (within("fail", V1, "sync"), CRASH, GET), "error-applied", ("fail", "crash", "op")),
    (RaisesAfterwards, (V1, NOT_DELETED, CRASH, GET), "error-applied", ("op", "fail", "crash", "op")),
    (RaisesAfterwards, (V1, NOT_DELETED, CRASH, DELETE), "error-applied", ("op", "fail", "crash", "op")),
    (RaisesAfterwards, (V1, NOT_PUT, CRASH, GET), "error-applied", ("fail", "crash", "op")),
    # the failing delete has nothing to do with it
    (Batched, (V1, within("fail", OTHER, "open"), CRASH, GET), "reopen-lost", ("op", "crash", "op")),
    (ErrorsAsNothing, (V1, CRASH, within("fail", GET, "open")), "answer", ("op", "crash", "fail")),
    # it was answered as done, though something failed below
    (Swallows, (within("fail", V1, "write"), CRASH, GET), "reopen-lost", ("fail", "crash", "op")),
    (Swallows, (within("fail", V1, "write"), DIES, GET), "reopen-lost", ("fail", "crash", "op")),
    (Swallows, (V1, within("fail", DELETE, "write"), CRASH, GET), "done-lost", ("op", "fail", "crash", "op")),
)  # fmt: skip


@pytest.mark.parametrize(("store", "items", "rule", "kinds"), CASES)
def test_a_loss_is_named_by_what_lost_it(
    store: type[Kv], items: Sequence[Item], rule: str, kinds: Sequence[str]
) -> None:
    found = run(store, items)
    assert found.broken is not None
    small = shrink(store, found)
    assert (rule_of(small), tuple(item.kind for item in small.items)) == (rule, kinds)
    if "crash_in" not in (item.kind for item in items):  # else the shrinker alone can tell
        assert rule_of(shrink(store, run(store, small.items))) == rule


def rule_of(verdict: TargetVerdict) -> str:
    assert verdict.broken is not None
    return verdict.broken.rule


def test_a_write_that_was_cut_off_is_not_taken_for_undone_by_a_removal() -> None:
    """After the removal the key is gone by both; before it, it was there by both."""

    class Merges(Replaced):
        """Loses each row that is put after a torn write."""

        def put(self, key: str, value: object) -> None:
            if (self.folder / "torn").exists():
                self.rows[key] = value
                return
            (self.folder / "torn").write_text("")
            super().put(key, value)
            (self.folder / "torn").unlink()

    items = (within("crash_in", V1, "replace"), OTHER, REOPEN, op("delete", key="b"))
    assert rule_of(run(Merges, items)) == "reopen-lost"


@pytest.mark.parametrize("store", [Replaced, type("Calm", (Replaced,), {"fails": ()})])
def test_a_store_that_keeps_all_is_not_accused(store: type[Adapter]) -> None:
    assert hunt(store, range(40)).first is None

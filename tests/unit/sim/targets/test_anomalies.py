"""A failure has its standard name where its rule and its operations leave no doubt, and else none."""

import asyncio

import pytest

from tests.counters_in_jobs import InFile
from tests.memory_rows import AppliesWhatFails
from umi_sim.kernel.report import laid_out
from umi_sim.targets import MISSING, Kv
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.promises import ANOMALIES
from umi_sim.targets.reports import report_hunt


def op(name: str, **args: object) -> ContractOp:
    return ContractOp(name, args)


def one(name: str, **args: object) -> Item:
    return Item("op", (op(name, **args),))


class Changes(Kv):
    """Correct; each class below has one bug."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    async def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    async def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    async def delete(self, key: str) -> bool:
        return self.rows.pop(key, MISSING) is not MISSING

    async def count(self) -> int:
        return len(self.rows)

    async def scan(self, limit: int, cursor: int | None = None) -> object:
        first = cursor or 0
        keys = sorted(self.rows)[first : first + limit]
        return keys, first + limit if first + limit < len(self.rows) else None


class IgnoresChanges(Changes):
    async def put(self, key: str, value: object) -> None:
        self.rows.setdefault(key, value)


class IgnoresDeletes(Changes):
    async def delete(self, key: str) -> bool:
        return key in self.rows


class ReadsOnce(Changes):
    async def get(self, key: str) -> object:
        return self.rows.pop(key, MISSING)


class CountsOneLess(Changes):
    async def count(self) -> int:
        return max(0, len(self.rows) - 1)


PUT, CHANGE, GET = one("put", key="a", value="v1"), one("put", key="a", value="v2"), one("get", key="a")
INCR = op("incr", key="a", by=1)
FAILED = Item("fail", (op("add", id="m1", text="tea", user="ann"),), 1, "commit")
CASES: dict[str, tuple[type[Adapter], tuple[Item, ...]]] = {
    "lost update": (InFile, (Item("at_once", (INCR, INCR), pauses=(3,)), one("get", key="a"))),
    "dirty read": (
        AppliesWhatFails,
        (FAILED, one("add", id="m2", text="milk", user="ann"), one("list", user="ann")),
    ),
    "stale read": (IgnoresChanges, (PUT, CHANGE, GET)),
    "resurrection": (IgnoresDeletes, (PUT, one("delete", key="a"), GET)),
    "non-repeatable read": (ReadsOnce, (PUT, GET, GET)),
    "phantom": (
        Changes,
        (
            *(one("put", key=key, value=key) for key in "abc"),
            Item("paged", (op("scan", limit=1), op("delete", key="a"))),
        ),
    ),
    "": (CountsOneLess, (PUT, CHANGE, one("put", key="b", value="v3"), one("count"))),
}


def test_each_name_has_a_case() -> None:
    others = "undeclared bound", "write skew"  # test_bounds.py and test_wide_contracts.py
    assert {*CASES, *others} == {"", *(each.name for each in ANOMALIES)}


@pytest.mark.parametrize("name", CASES)
def test_a_failure_has_its_standard_name(name: str) -> None:
    broken = run(*CASES[name]).broken
    assert broken is not None
    assert broken.anomaly == name


def test_a_value_that_is_gone_has_no_name_since_it_may_be_lost() -> None:
    broken = run(ReadsOnce, (PUT, GET, one("count"), CHANGE, GET, PUT, one("delete", key="a"), GET)).broken
    assert broken is not None
    assert (broken.op, broken.anomaly) == ("count", "")


def test_a_report_has_the_name() -> None:
    report = report_hunt("mine:Mine", hunt(InFile, range(60)), "")
    assert report.value is not None
    assert report.value()["anomaly"] == "lost update"
    assert "anomaly  lost update: of concurrent changes, one left no trace" in "\n".join(laid_out(report))


class KeepsLast(Changes):
    """Keeps only the last of several concurrent changes."""

    async def put(self, key: str, value: object) -> None:
        rows = dict(self.rows)
        await asyncio.sleep(0)
        self.rows = {**rows, key: value}
        await asyncio.sleep(0)


def test_a_change_that_was_lost_is_named_after_another_was_cut_off() -> None:
    together = Item("at_once", (op("put", key="a", value="a"), op("put", key="b", value="b")))
    cut = Item("cancel", (op("put", key="c", value="c"),), 2)
    broken = run(KeepsLast, (together, cut, one("get", key="c"), GET)).broken
    assert broken is not None
    assert (broken.rule, broken.anomaly) == ("at-once", "lost update")


def test_two_of_three_concurrent_changes_are_lost_together() -> None:
    together = Item("at_once", tuple(op("put", key=key, value=key) for key in "abc"))
    broken = run(KeepsLast, (together, one("count"))).broken
    assert broken is not None
    assert (broken.rule, broken.anomaly, broken.got) == ("at-once", "lost update", "1")


class SplitsBatches(Changes):
    """Lets other tasks run before each entry of a batch, for as many steps as its value."""

    batch_atomic = True

    async def put_many(self, pairs: dict[str, int]) -> None:
        for key, value in pairs.items():
            for _ in range(value):
                await asyncio.sleep(0)
            self.rows[key] = value


def test_two_concurrent_batches_that_mix_break_at_once_and_neither_is_lost() -> None:
    first, second = (op("put_many", pairs=pairs) for pairs in ({"a": 1, "b": 9}, {"a": 2, "b": 3}))
    together = Item("at_once", (first, second))
    broken = run(SplitsBatches, (together, GET, one("get", key="b"))).broken
    assert broken is not None
    assert (broken.rule, broken.anomaly) == ("at-once", "")

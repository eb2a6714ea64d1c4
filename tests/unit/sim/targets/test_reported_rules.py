"""Goal: each planted bug is reported by the simplest rule that it breaks, wherever a hunt begins."""

import json

import pytest

from tests import counters_in_jobs, kv_store
from tests.memory_rows import AppliesWhatFails, NeverAgain
from umi_sim.kernel.report import laid_out
from umi_sim.targets import MISSING, Kv, reports
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.hunt import Hunt, hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.values import key_of

EXPECTED = {
    kv_store.LivesTooLong: "ttl",
    kv_store.LeavesTimers: "ttl",
    kv_store.MatchesPrefix: "answer",
    kv_store.DeletesPrefix: "answer",
    kv_store.PrefixOfSession: "scope",
    kv_store.LosesUpdates: "at-once",
    counters_in_jobs.InFile: "at-once",
    AppliesWhatFails: "error-applied",
}
CORRECT = (
    kv_store.PlainStore, kv_store.LocksUpdates, kv_store.EndsByTimers, counters_in_jobs.LockedFile,
    NeverAgain,
)  # fmt: skip
KINDS = {"at-once": ["at_once"], "error-applied": ["fail"]}  # of items that are more than an operation


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 8_000])
@pytest.mark.parametrize("store", EXPECTED)
def test_a_bug_is_reported_by_its_own_rule(store: type[Adapter], start: int) -> None:
    small = hunt(store, range(start, start + 400)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule == EXPECTED[store]
    kinds = [item.kind for item in small.items if item.kind not in ("op", "advance")]
    assert kinds == KINDS.get(EXPECTED[store], [])


@pytest.mark.slow
@pytest.mark.parametrize("store", CORRECT)
def test_a_store_without_a_bug_is_left_alone(store: type[Adapter]) -> None:
    found: Hunt = hunt(store, range(10))
    assert (found.first, found.not_recurring) == (None, [])


def test_values_of_different_writes_differ() -> None:
    """One in sixteen repeats what its key had; no other two writes of a run have the same value."""
    count = repeated = 0
    for seed in range(200):
        by_place: dict[object, set[object]] = {}
        known: set[object] = set()
        for item in draw_items(kv_store.PlainStore, seed, {}):
            for op in item.ops:
                if "value" not in op.args:
                    continue
                place, value = (op.args["ns"], op.args["key"]), key_of(op.args["value"])
                count += 1
                if value in known:
                    repeated += 1
                    assert value in by_place[place]
                known.add(value)
                by_place.setdefault(place, set()).add(value)
    assert 1 / 100 < repeated / count < 1 / 8


def put(ttl: int | None = None) -> Item:
    args = {"ns": "u", "key": "a", "value": "v"}
    return Item("op", (ContractOp("put", args if ttl is None else {**args, "ttl": ttl}),))


def get() -> Item:
    return Item("op", (ContractOp("get", {"ns": "u", "key": "a"}),))


def delete() -> Item:
    return Item("op", (ContractOp("delete", {"ns": "u", "key": "a"}),))


class KeepsDeleted(kv_store.PlainStore):
    async def delete(self, ns: str, key: str) -> bool:
        return self._read(ns, key) is not MISSING


def test_a_report_says_why_nothing_was_expected() -> None:
    late = run(kv_store.LivesTooLong, (put(1_000), Item("advance", number=1_500), get())).broken
    assert late is not None
    assert late.allowed == "MISSING or None: its time to live was over 500 ms ago"
    removed = run(KeepsDeleted, (put(), delete(), get())).broken
    assert removed is not None
    assert removed.allowed == "MISSING or None: it was not written, or was removed"


class AliveAtDeadline(kv_store.PlainStore):
    extra_s = 0.000_5  # less than the shortest time that passes


def test_what_was_inferred_is_reported_on_a_pass() -> None:
    """The class does not say whether an entry is there at the very moment of its deadline."""
    for store, boundary in ((kv_store.PlainStore, "expired"), (AliveAtDeadline, "alive")):
        found = hunt(store, range(15))
        assert found.first is None
        assert ("boundary", boundary) in found.inferred
        shown = "\n".join(laid_out(reports.report_hunt("mine:Mine", found, "")))
        assert f"boundary = '{boundary}'" in shown
        declared = type("Declared", (store,), {"boundary": boundary, "delete_reports": "existed"})
        assert hunt(declared, range(15)).inferred == ()


def test_an_answer_that_two_writes_explain_is_not_reported_as_scope() -> None:
    """The value of another key was written to this one, too."""
    here = {"ns": "u", "key": "a"}
    items = [Item("op", (ContractOp("put", {**here, "value": value}),)) for value in ("same", "new")]
    other = Item("op", (ContractOp("put", {"ns": "u", "key": "b", "value": "same"}),))
    stale = run(Stale, (*items, other, get())).broken
    assert stale is not None
    assert stale.rule == "answer"


class Stale(kv_store.PlainStore):
    """The first value of a key stays."""

    async def put(self, ns: str, key: str, value: object, ttl: float | None = None) -> None:
        if self._read(ns, key) is MISSING:
            await super().put(ns, key, value, ttl)


class Folds(Kv):
    """Names of files on a disk that knows no case: keys, and namespaces where there are any."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key.lower()] = value

    def get(self, key: str) -> object:
        return self.rows.get(key.lower(), MISSING)

    def delete(self, key: str) -> bool:
        return self.rows.pop(key.lower(), MISSING) is not MISSING


class FoldsBoth(Folds):
    def put(self, ns: str, key: str, value: object) -> None:  # type: ignore[override] # with a namespace
        super().put(f"{ns}/{key}", value)

    def get(self, ns: str, key: str) -> object:  # type: ignore[override] # with a namespace
        return super().get(f"{ns}/{key}")

    def delete(self, ns: str, key: str) -> bool:  # type: ignore[override] # with a namespace
        return super().delete(f"{ns}/{key}")


def op(name: str, **args: object) -> Item:
    return Item("op", (ContractOp(name, args),))


@pytest.mark.parametrize(
    ("store", "items", "rule", "words"),
    [
        (Folds, (op("put", key="a", value=1), op("get", key="A")), "answer", "; as if key 'a' were 'A'"),
        (
            Folds, (op("put", key="a", value=1), op("delete", key="A")),
            "answer", "; as if key 'a' were 'A'",
        ),
        (
            FoldsBoth, (op("put", ns="u", key="a", value=1), op("get", ns="u", key="A")),
            "answer", "; as if key 'a' were 'A'",
        ),
        (FoldsBoth, (op("put", ns="u", key="a", value=1), op("get", ns="U", key="a")), "scope", "removed"),
        (FoldsBoth, (op("put", ns="u", key="a", value=1), op("get", ns="U", key="A")), "scope", "removed"),
    ],
)  # fmt: skip
def test_two_keys_that_are_one_are_no_scopes(
    store: type[Adapter], items: tuple[Item, ...], rule: str, words: str
) -> None:
    broken = run(store, items).broken
    assert broken is not None
    assert broken.rule == rule
    assert broken.allowed.endswith(words)


class DecodesItsFile(Kv):
    def make(self) -> None:
        self.rows: dict[str, str] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = str(value)

    def get(self, key: str) -> object:
        return json.loads(self.rows[key])  # no JSON


def test_an_error_of_the_standard_library_is_reported_where_the_store_raised_it() -> None:
    ops = ContractOp("put", {"key": "a", "value": "v1"}), ContractOp("get", {"key": "a"})
    broken = run(DecodesItsFile, [Item("op", (op,)) for op in ops]).broken
    assert broken is not None
    assert (broken.error, broken.frame) == ("JSONDecodeError", "test_reported_rules.py:get")

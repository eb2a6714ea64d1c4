"""Goal: each promise has a store that breaks it, and is named when it does."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.cancelled_stores import SharesItsTask
from tests.kv_store import LivesTooLong
from tests.sessions_store import AddsOneByOne, ClearSwallows, PopReadsThenDeletes
from tests.unit.sim.targets.test_contracts import Dict, Lists, Notes, Stale
from tests.wide_stores import CountsTwice, LeavesBytes
from tools.tables import DOCS
from umi_sim.targets import MISSING, Kv, Sessions
from umi_sim.targets.adapter import CONTRACTS, Adapter
from umi_sim.targets.checker import Checker, Got, TooMany
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.model import mark
from umi_sim.targets.promises import RULES
from umi_sim.targets.shrinking import shrink


class RefusesAndKeeps(Dict):
    def put(self, ns: str, key: str, value: Any, ttl: float | None = None) -> None:
        super().put(ns, key, value, ttl)
        if not key:
            raise ValueError


class CountsOneMore(Dict):
    def count(self, ns: str) -> int:
        return super().count(ns) + 1


class Fails(Dict):
    def get(self, ns: str, key: str) -> Any:
        raise RuntimeError


class InMemory(Dict):
    durable = True


class LosesTheLastPage(Dict):
    def scan(self, ns: str, limit: int, cursor: str | None = None) -> tuple[list[str], str | None]:
        page, cursor = super().scan(ns, limit, cursor)
        return (page, cursor) if cursor else ([], None)


class Joined(Kv):
    """It keeps a name of two parts, joined by a separator."""

    separator = "::"

    def make(self) -> None:
        self.rows: dict[str, Any] = {}

    def put(self, ns: str, key: str, value: Any) -> None:
        self.rows[f"{ns}{self.separator}{key}"] = value

    def get(self, ns: str, key: str) -> Any:
        return self.rows.get(f"{ns}{self.separator}{key}")


class JoinedByLine(Joined):
    separator = "|"


class SkipsAsRowsGo(Dict):
    """Its cursor is a count of rows."""

    def scan(self, ns: str, limit: int, cursor: Any = None) -> Any:
        keys, at = sorted(self._alive(ns)), cursor or 0
        return keys[at : at + limit], at + limit if at + limit < len(keys) else None


class AppendsAnyway(Lists):
    def append(self, user: str, session: str, items: list[Any], version: Any) -> None:
        self.add(user, session, items)


class NeverStale(Lists):
    """It looks whether a version is the latest too early: both of two at once are."""

    async def append(  # type: ignore[override]  # the same, to be waited for
        self, user: str, session: str, items: list[Any], version: Any
    ) -> None:
        is_latest = self.version(user, session) == version
        await asyncio.sleep(0)
        if not is_latest:
            raise Stale
        self.add(user, session, items)


class AlwaysStale(Lists):
    def append(self, user: str, session: str, items: list[Any], version: Any) -> None:
        raise Stale


class CountsRequests(Lists):
    """Its version is the number of requests that may change a session, whether they did or not."""

    def make(self) -> None:
        super().make()
        self.counts: dict[tuple[str, str], int] = {}

    def _count_up(self, user: str, session: str) -> None:
        self.counts[user, session] = self.counts.get((user, session), 0) + 1

    def add(self, user: str, session: str, items: list[Any]) -> None:
        self._count_up(user, session)
        super().add(user, session, items)

    def pop(self, user: str, session: str) -> Any:
        self._count_up(user, session)
        return super().pop(user, session)

    def clear(self, user: str, session: str) -> None:
        self._count_up(user, session)
        super().clear(user, session)

    def replace(self, user: str, session: str, items: list[Any]) -> None:
        self._count_up(user, session)
        super().replace(user, session, items)

    def version(self, user: str, session: str) -> Any:
        return self.counts.get((user, session), 0)


class Backwards(Lists):
    def get(self, user: str, session: str, limit: int | None = None) -> list[Any]:
        return super().get(user, session, limit)[::-1]


class Prefixes(Notes):
    def list(self, user: str) -> list[tuple[str, str]]:
        return [(name, texts[-1]) for name, (owner, texts) in self.rows.items() if owner.startswith(user)]


class WaitsInBetween(Sessions):
    def make(self) -> None:
        self.rows: list[Any] = []

    async def add(self, session: str, items: list[Any]) -> None:
        for item in items:
            self.rows.append(item)
            await asyncio.sleep(0)

    async def get(self, session: str) -> list[Any]:
        return self.rows


class Waits(Kv):
    async def count(self) -> int:
        return int(await asyncio.get_running_loop().create_future())


def op(name: str, **args: object) -> Item:
    return Item("op", (ContractOp(name, args),))


def around(kind: str, item: Item, number: int = 1, site: str = "") -> Item:
    return Item(kind, item.ops, number, site)


def paged(*items: Item) -> Item:
    return Item("paged", tuple(op for item in items for op in item.ops))


def version(name: str) -> Item:
    return op("version", user="a", session="a", version=name)


def append(name: str) -> Item:
    return op("append", user="a", session="a", items=TWO, version=name)


TWO = [{"role": "user", "content": content} for content in ("v1", "v2")]
TIMED_PUT = op("put", ns="", key="a", value="v", ttl=1_000)
PUT, GET = op("put", ns="", key="a", value="v"), op("get", ns="", key="a")
ADD, READ, POP = op("add", session="a", items=TWO), op("get", session="a"), op("pop", session="a")
CASES: dict[str, tuple[type[Adapter], Sequence[Item]]] = {
    "answer": (CountsOneMore, (PUT, op("count", ns=""))),
    "raises": (Fails, (PUT, GET)),
    "error-applied": (RefusesAndKeeps, (op("put", ns="", key="", value="v"), op("get", ns="", key=""))),
    "done-lost": (ClearSwallows, (ADD, around("fail", op("clear", session="a"), 1, "commit"), READ)),
    "batch-split": (AddsOneByOne, (around("fail", ADD, 2, "commit"), READ)),
    "crash-split": (AddsOneByOne, (around("crash_in", ADD, 2, "commit"), READ)),
    "cancel-split": (WaitsInBetween, (around("cancel", ADD, 1), READ)),
    "cancel-spread": (SharesItsTask, (Item("cancel", op("get", key="a").ops * 2, 1),)),
    "at-once": (PopReadsThenDeletes, (ADD, Item("at_once", POP.ops * 2))),
    "reopen-lost": (InMemory, (PUT, Item("reopen"), GET)),
    "scope": (Prefixes, (op("add", id="m1", text="tea", user="ab"), op("list", user="a"))),
    "order": (Backwards, (op("add", user="", session="a", items=TWO), op("get", user="", session="a"))),
    "ttl": (LivesTooLong, (TIMED_PUT, Item("advance", number=1_500), GET)),
    "pages": (LosesTheLastPage, (PUT, op("scan", ns="", limit=1))),
    "erased": (LeavesBytes, (op("put", key="a", value=mark("v")), op("delete", key="a"))),
    "invariant": (CountsTwice, (PUT, PUT)),
    "hang": (Waits, (op("count"),)),
}  # fmt: skip


def test_each_promise_has_a_case() -> None:
    assert {*CASES, "process", "alike"} == {*RULES}  # test_pipes.py and test_alike.py have the others


@pytest.mark.parametrize("rule", CASES)
def test_a_broken_promise_is_named(rule: str) -> None:
    store, items = CASES[rule]
    broken = run(store, items).broken
    assert broken is not None
    assert broken.rule == rule


@pytest.mark.parametrize("between", [op(name, user="a", session="a") for name in ("clear", "pop")])
@pytest.mark.parametrize("store", [CountsRequests, Lists])
def test_a_change_of_an_empty_session_may_make_a_version_stale(store: type[Adapter], between: Item) -> None:
    assert run(store, (version("r1"), between, append("r1"))).broken is None


def test_a_store_that_counts_its_requests_as_versions_passes() -> None:
    assert hunt(CountsRequests, range(80)).small is None


BEYOND: Sequence[tuple[str, type[Adapter], Sequence[Item]]] = (
    ("pages", SkipsAsRowsGo, (
        op("put_many", ns="", pairs={"a": 1, "b": 2, "c": 3}),
        paged(op("scan", ns="", limit=1), op("delete", ns="", key="a")),
    )),
    ("answer", AppendsAnyway, (version("r1"), op("add", user="a", session="a", items=TWO), append("r1"))),
    ("at-once", NeverStale, (version("r1"), Item("at_once", append("r1").ops * 2))),
    ("raises", AlwaysStale, (version("r1"), append("r1"))),
)  # fmt: skip
FIRST: Mapping[type[Adapter], int] = {NeverStale: 125, AppendsAnyway: 40}  # seeds; earlier ones pass


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "store", "items"), BEYOND)
def test_what_comes_between_two_calls_is_judged(
    rule: str, store: type[Adapter], items: Sequence[Item]
) -> None:
    broken = run(store, items).broken
    assert broken is not None
    assert broken.rule == rule
    found = hunt(store, range(FIRST.get(store, 0), 200)).small
    assert found is not None
    assert len(found.items) <= 4


class RemovesFirst(Kv):
    """A file for each key, removed before the new one is written."""

    durable = True

    def make(self) -> None:
        pass

    def put(self, key: str, value: str) -> None:
        (self.folder / key).unlink(missing_ok=True)
        (self.folder / key).write_text(value)

    def get(self, key: str) -> object:
        return (self.folder / key).read_text() if (self.folder / key).exists() else MISSING


@pytest.mark.parametrize(("kind", "rule"), [("fail", "error-applied"), ("crash_in", "crash-split")])
def test_what_was_to_be_replaced_and_is_gone_names_the_interruption(kind: str, rule: str) -> None:
    put = op("put", key="a", value="v1")
    lost = around(kind, op("put", key="a", value="v3"), 1, "open")
    broken = run(RemovesFirst, (put, lost, op("get", key="a"))).broken
    assert broken is not None
    assert (broken.rule, broken.got) == (rule, "MISSING")


class DropsTexts(Kv):
    """A store that drops texts, and keeps all other values for a minute."""

    default_ttl_ms = 60_000

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.rows |= {} if isinstance(value, str) else {key: value}

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)


def test_what_is_missing_before_any_time_has_passed_has_not_expired() -> None:
    broken = run(DropsTexts, (op("put", key="a", value="v"), op("get", key="a"))).broken
    assert broken is not None
    assert broken.rule == "answer"


@pytest.mark.parametrize("store", [Joined, JoinedByLine])
def test_names_that_are_joined_are_distinguished_by_no_rule(store: type[Adapter]) -> None:
    small = hunt(store, range(400)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule in ("scope", "answer")
    assert len(small.items) == 2


def test_no_argument_is_shrunk_away_that_a_method_needs() -> None:
    """A call that cannot be made raises TypeError, which looks like a refusal."""
    two = (ContractOp("get", {"ns": "a", "key": "a"}), ContractOp("delete", {"ns": "a", "key": "b"}))
    verdict = run(RefusesToRead, (Item("at_once", two, 5),))
    small = shrink(RefusesToRead, verdict)
    assert all({"ns", "key"} <= {*op.args} for item in small.items for op in item.ops)


class RefusesToRead(Dict):
    async def get(self, ns: str, key: str) -> Any:  # so that it is asked at once
        raise ValueError


def test_what_was_there_for_a_part_of_the_pages_may_be_in_them_or_not() -> None:
    """Dict gives pages by the last key: steady for what stays, and whatever comes or goes."""
    rows = op("put_many", ns="", pairs={"a": 1, "c": 3, "d": 4})
    for other in (op("put", ns="", key="b", value=2), op("delete", ns="", key="d"), op("clear", ns="")):
        assert run(Dict, (rows, paged(op("scan", ns="", limit=1), other, GET))).broken is None


def test_what_was_changed_and_changed_back_may_count_as_unchanged() -> None:
    """Lists compares what a session holds, so that it is as it was; a store that counts changes refuses."""
    there_and_back = (op("add", user="a", session="a", items=TWO[:1]), op("pop", user="a", session="a"))
    for store in (Lists, Counts):
        assert run(store, (version("r1"), *there_and_back, append("r1"))).broken is None


class Counts(Lists):
    def make(self) -> None:
        super().make()
        self.count_of_changes = 0

    def add(self, user: str, session: str, items: list[Any]) -> None:
        super().add(user, session, items)
        self.count_of_changes += 1

    def version(self, user: str, session: str) -> Any:
        return self.count_of_changes


def test_the_page_of_targets_has_all_promises_operations_and_flags() -> None:
    text = (DOCS / "targets.md").read_text()
    contracts = [adapter.contract for adapter in CONTRACTS.values()]
    names = [*RULES, *(name for each in contracts for name in (*each.flags, *each.settings))]
    assert [name for name in names if f"`{name}`" not in text] == []
    for adapter in CONTRACTS.values():
        (listed,) = re.findall(rf"^\*\*`{adapter.__name__}`\*\*:\s`([^`]+)`", text, re.MULTILINE)
        shown = {name: re.findall(r"\w+", args) for name, args in re.findall(r"(\w+)\(([^)]*)\)", listed)}
        hidden = {"ns", "user", "agent", "run"}  # described once for all operations
        made = adapter.contract.made
        assert shown == {
            name: [each for each in args if each not in {*hidden, made.get(name)}]
            + ["cursor"] * (name == "scan")  # the next page
            for name, args in adapter.contract.ops.items()
        }


@pytest.mark.parametrize("count", [6, 9])
def test_a_clear_that_failed_may_have_removed_all_of_many(count: int) -> None:
    """Where it may fail half way: with nine, so much is possible that no rule holds any more."""
    ops = {name: Kv.contract.ops[name] for name in ("put", "get", "clear")}
    checker = Checker(Kv.contract, {"batch_atomic": False}, ops)
    keys = [f"k{number}" for number in range(count)]
    for key in keys:
        assert (
            checker.take_answer(ContractOp("put", {"ns": "", "key": key, "value": 1}), Got(None), [0]) is None
        )
    if count == 9:
        with pytest.raises(TooMany):
            checker.take_failure(ContractOp("clear", {"ns": ""}), [0])
        return
    checker.take_failure(ContractOp("clear", {"ns": ""}), [0])
    for key in keys:
        assert checker.take_answer(ContractOp("get", {"ns": "", "key": key}), Got(MISSING), [0]) is None

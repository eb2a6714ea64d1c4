"""Goal: a store that keeps so much and no more can say so, and is accused of losing more than that alone."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests import bounded_stores as stores
from umi_sim.targets.adapter import Adapter, Kv
from umi_sim.targets.checker import Checker, Got
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.reports import report_hunt
from umi_sim.targets.values import MISSING

CORRECT = (
    stores.LastUsed, stores.Listed, stores.FirstIn, stores.Unlucky, stores.Culls, stores.Latest,
    stores.LatestFew, stores.ShowsLatest, stores.Capped,
)  # fmt: skip
BROKEN = (  # and the number that would explain it, if there is one
    (stores.KeepsFewer, "answers as if it kept 19 entries, not 20: maxsize = 19 promises that"),
    (stores.ListsFewer, "answers as if it kept 19 entries, not 20: maxsize = 19 promises that"),
    (stores.EmptiesItself, ""), (stores.BringsBack, ""), (stores.KeepsFirst, ""),
    (
        stores.KeepsOneLess,
        "answers as if it kept 19 messages of a session, not 20: keeps_last = 19 promises that",
    ),
    (
        stores.KeepsOneMore,
        "answers as if it kept 21 messages of a session, not 20: keeps_last = 21 promises that",
    ),
    (stores.CapsLower, "answers as if it kept 9 entries, not 10: maxsize = 9 promises that"),
)  # fmt: skip
UNDECLARED = (
    (stores.Undeclared, "answers as if it kept 20 entries: maxsize = 20 promises that"),
    (stores.UndeclaredLatest, "answers as if it kept 20 messages of a session: keeps_last = 20"),
    (stores.UndeclaredCap, "answers as if it kept 10 entries: maxsize = 10 promises that"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("store", CORRECT)
def test_a_store_that_keeps_what_it_declares_is_not_accused(store: type[Adapter]) -> None:
    assert hunt(store, range(12)).small is None


@pytest.mark.slow
@pytest.mark.parametrize(("store", "hint"), BROKEN)
def test_a_store_that_keeps_another_number_is_found(store: type[Adapter], hint: str) -> None:
    small = hunt(store, range(30)).small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, small.broken.hint) == ("answer", hint)


@pytest.mark.slow
@pytest.mark.parametrize(("store", "message"), UNDECLARED)
def test_a_bound_that_is_not_declared_is_named(store: type[Adapter], message: str) -> None:
    found = hunt(store, range(60))
    assert found.small is not None
    assert found.small.broken is not None
    assert (found.small.broken.rule, found.small.broken.anomaly) == ("answer", "undeclared bound")
    report = report_hunt("mine:Mine", found, "FILE")
    assert message in " ".join(str(report).split())
    assert message in found.small.broken.hint


def check(maxsize: int, evicts: str, *steps: tuple[str, dict[str, Any], object]) -> list[bool]:
    """Return of each answer whether it is allowed."""
    ops = dict.fromkeys(("put", "get"), ("key", "value")) | {"keys": ("limit",), "count": ()}
    checker = Checker(Kv.contract, {"maxsize": maxsize, "evicts": evicts}, ops)
    return [checker.take_answer(ContractOp(*step[:2]), Got(step[2]), [0]) is None for step in steps]


def put(*keys: str) -> Sequence[tuple[str, dict[str, Any], object]]:
    return [("put", {"key": key, "value": key}, None) for key in keys]


def get(key: str, answer: object) -> tuple[str, dict[str, Any], object]:
    return ("get", {"key": key}, answer)


@pytest.mark.parametrize(
    ("evicts", "steps", "allowed"),
    [
        ("few", [*put("a", "b"), get("a", MISSING)], False),  # two fit
        ("few", [*put("a", "b", "c"), get("a", MISSING)], True),
        ("few", [*put("a", "b", "c"), get("b", MISSING)], True),  # by whatever rule it evicts
        ("few", [*put("a", "b", "c"), get("c", MISSING)], False),  # what was just written
        ("few", [*put("a", "b", "c"), get("a", "b")], False),  # a wrong value
        ("few", [*put("a", "b", "c"), get("a", MISSING), get("b", MISSING)], False),  # one is enough
        ("many", [*put("a", "b", "c"), get("a", MISSING), get("b", MISSING)], True),
        ("few", [*put("a", "b", "c"), get("a", MISSING), get("a", "a")], False),  # it comes back
        ("few", [*put("a", "b", "c", "c"), get("c", "c"), get("a", "a"), get("b", MISSING)], True),
        ("few", [*put("a", "b", "c"), get("a", "a"), *put("b"), get("a", MISSING)], True),  # b made room
        ("few", [*put("a", "b", "c"), ("count", {}, 2)], True),
        ("few", [*put("a", "b", "c"), ("count", {}, 3)], True),
        ("few", [*put("a", "b", "c"), ("count", {}, 1)], False),
        ("few", [*put("a", "b", "c"), ("keys", {}, ["a", "c"])], True),
        ("few", [*put("a", "b", "c"), ("keys", {}, ["a", "b"])], False),
        ("few", [*put("a", "b", "c"), ("keys", {}, ["c"])], False),
        ("few", [*put("a", "b", "c"), ("keys", {"limit": 2}, ["c"])], False),
        ("few", [*put("a", "b", "c"), ("keys", {"limit": 1}, ["b"])], True),
    ],
)
def test_no_more_may_be_gone_than_had_to_make_room(evicts: str, steps: Any, allowed: bool) -> None:
    *before, last = check(2, evicts, *steps)
    assert all(before)
    assert last == allowed


def test_room_that_was_made_for_a_write_that_failed_is_no_loss() -> None:
    checker = Checker(Kv.contract, {"maxsize": 1}, {"put": ("key", "value"), "get": ("key",)})
    for key in "ab":
        put_op = ContractOp("put", {"key": key, "value": key})
        if key == "a":
            assert checker.take_answer(put_op, Got(None), [0]) is None
        else:
            checker.take_failure(put_op, [0])
    assert checker.take_answer(ContractOp("get", {"key": "a"}), Got(MISSING), [0]) is None


def test_messages_beyond_the_last_are_gone_or_come_back_all_the_same_way() -> None:
    items = [{"role": "user", "content": f"{n}"} for n in range(4)]
    add, pop, get = (
        Item("op", (ContractOp(name, {"session": "s", **more}),))
        for name, more in (("add", {"items": items}), ("pop", {}), ("get", {}))
    )
    assert run(stores.ShowsLatest, (add, get, pop, get)).inferred == (("trims_on", "read"),)
    assert run(stores.LatestFew, (add, get, pop, get)).inferred == (("trims_on", "write"),)
    broken = run(stores.ShowsLatest, (add, add, get, pop, get)).broken
    assert broken is None

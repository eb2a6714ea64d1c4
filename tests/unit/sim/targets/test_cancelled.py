"""Goal: what a cancelled request does to the others, and to what is read later, is found and named."""

from typing import Any

import pytest

from tests import cancelled_stores as stores
from umi_sim.targets.adapter import Adapter, Kv
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.hunt import hunt, moments_of
from umi_sim.targets.items import ContractOp, Item, item_to_json, read_item
from umi_sim.targets.life import run
from umi_sim.targets.shrinking import shrink

BROKEN = (
    (stores.SharesItsTask, "cancel-spread", "get"),
    (stores.SharesItsFuture, "cancel-spread", "get"),
    (stores.KeepsCancelled, "cancel-spread", "get"),
    (stores.SharesAFlush, "cancel-spread", "add"),
    (stores.DatabaseAfterCache, "cancel-split", "get"),
    (stores.IndexAfterValue, "cancel-split", "get"),
)
CORRECT = stores.SingleFlight, stores.SharesAWrite, stores.WriteThrough


@pytest.mark.slow
@pytest.mark.parametrize(("store", "rule", "op"), BROKEN)
def test_the_bug_is_found_and_named(store: type[Adapter], rule: str, op: str) -> None:
    small = hunt(store, range(200)).small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, small.broken.op) == (rule, op)
    assert small.broken.anomaly == ""  # half of a write is no stale read
    assert run(store, small.items, small.seed).trace == small.trace


@pytest.mark.slow
@pytest.mark.parametrize("store", CORRECT)
def test_a_store_without_the_bug_is_not_accused(store: type[Adapter]) -> None:
    assert hunt(store, range(45, 60)).small is None  # seed 53 shows the bug of DatabaseAfterCache


def test_requests_are_cancelled_at_each_of_their_steps() -> None:
    """A put takes more steps than most; a get takes one, after which there is nothing to cancel."""
    moments = moments_of(stores.IndexAfterValue)
    most = {name: max(n for _, n in moments[name]) for name in ("put", "get")}
    assert most["put"] > 100 > 2 > most["get"]
    drawn: dict[str, set[int]] = {"put": set(), "get": set()}
    for seed in range(600):
        for item in draw_items(stores.IndexAfterValue, seed, moments):
            if item.kind == "cancel" and item.ops[0].name in drawn:
                drawn[item.ops[0].name].add(item.number)
                assert item.number <= most[item.ops[0].name] * len(item.ops)
    early, late = ({it for it in drawn["put"] if it in some} for some in (range(30), range(60, 101)))
    assert early
    assert late


def op(name: str, **args: Any) -> ContractOp:
    return ContractOp(name, args)


GET, PUT = op("get", key="a"), op("put", key="a", value="v1")
CHANGE, ITEMS = op("put", key="a", value="v2"), op("items")


def test_only_the_first_of_several_is_cancelled_and_shrinks_to_two() -> None:
    item = Item("cancel", (GET, GET, op("get", key="b")), 2)
    assert str(item) == (
        "at once: get(key='a'); get(key='a'); get(key='b'), the first cancelled after 2 steps"
    )
    assert read_item(item_to_json(item), Kv.contract.ops) == item
    verdict = run(stores.SharesItsTask, (Item("op", (PUT,)), item, Item("op", (GET,))))
    assert verdict.steps[-1].replies == ("cancelled", "cancelled", "nothing")
    small = shrink(stores.SharesItsTask, verdict)
    assert small.items == (Item("cancel", (GET, GET), 1),)
    assert run(stores.SingleFlight, verdict.items).broken is None


def test_requests_beside_a_cancelled_one_are_judged_with_and_without_it() -> None:
    both = Item("cancel", (CHANGE, GET), 1)
    for store in (stores.WriteThrough, stores.DatabaseAfterCache):
        assert run(store, (Item("op", (PUT,)), both, Item("op", (GET,)))).broken is None


def test_the_report_says_which_write_was_done_by_one_answer_alone() -> None:
    items = (Item("op", (PUT,)), Item("cancel", (CHANGE,), 1), Item("op", (ITEMS,)), Item("op", (GET,)))
    broken = run(stores.DatabaseAfterCache, items).broken
    assert broken is not None
    assert (broken.rule, broken.anomaly) == ("cancel-split", "")
    states = f"by one answer {CHANGE}, which was cut off, was done, and by another not"
    assert broken.allowed == f"'v1'; {states}"


def test_a_later_write_decides_what_was_undecided() -> None:
    """Else any stale read after a cancelled write would be taken for half of that."""

    class Forgets(stores.DatabaseAfterCache):
        async def get(self, key: str) -> object:
            return "v2" if self.db.get(key) == "v3" else await super().get(key)

    last = op("put", key="a", value="v3")
    items = [Item("op", (each,)) for each in (PUT, last, GET)]
    broken = run(Forgets, (*items[:1], Item("cancel", (CHANGE,), 1), *items[1:])).broken
    assert broken is not None
    assert (broken.rule, broken.got) == ("answer", "'v2'")

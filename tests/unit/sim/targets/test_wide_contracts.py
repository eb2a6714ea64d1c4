"""Goal: pages, replaced histories, times to live, filters and own invariants are judged as all else."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import wide_stores as stores
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.exporting import script_of
from umi_sim.targets.hunt import hunt, name_skew
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.model import CROWD, AnyOrder, mark, marks_in

BROKEN = (
    (stores.FirstPage, "answer", "keys"),
    (stores.CountsTwice, "invariant", "check"),
    (stores.CountsBeforeItWaits, "invariant", "check"),
    (stores.CountsWithEachPut, "invariant", "check"),
    (stores.LeavesBytes, "erased", "delete"),
    (stores.LeavesLog, "erased", "delete"),
    (stores.LeavesWhatIsConcurrent, "erased", "delete+delete"),
    (stores.LosesWhileReplacing, "batch-split", "get"),
    (stores.EndsLate, "ttl", "get"),
    (stores.FiltersTheCut, "answer", "search"),
    (stores.LimitsFirst, "answer", "search"),
    (stores.LimitsFirstInOrder, "answer", "search"),
    (stores.LimitsFirstOfManyRanked, "answer", "search"),
    (stores.FitsByAnyKey, "answer", "search"),
    (stores.KeepsOneKey, "answer", "search"),
    (stores.TakesZeroForNone, "ttl", "get"),
    (stores.TakesNoneForZero, "answer", "get"),
)


FIRST = {"FirstPage": 90, "FirstPageOfSingle": 150, "CountsBeforeItWaits": 195}  # earlier seeds pass


@cache
def first_failure(name: str) -> TargetVerdict:
    small = hunt(getattr(stores, name), range(FIRST.get(name, 0), 400)).small
    assert small is not None
    return small


@pytest.mark.parametrize(("store", "rule", "op"), BROKEN, ids=[store.__name__ for store, *_ in BROKEN])
def test_a_broken_promise_is_found_and_named(store: type[Adapter], rule: str, op: str) -> None:
    small = first_failure(store.__name__)
    assert small.broken is not None
    assert (small.broken.rule, small.broken.op) == (rule, op)
    assert len(small.items) <= 4


CORRECT = (
    stores.Paged, stores.Counting, stores.Limited, stores.Replacing, stores.Ending, stores.Filtering,
    stores.Erasing, stores.LimitsLast, stores.EndsAtOnce, stores.NeverEnds, stores.SaysNothingOfZero,
)  # fmt: skip


@pytest.mark.parametrize("store", CORRECT)
def test_a_store_that_keeps_them_is_not_accused(store: type[Adapter]) -> None:
    assert hunt(store, range(12)).small is None


def test_an_invariant_that_writes_of_different_entries_break_together_is_write_skew() -> None:
    broken = first_failure("CountsBeforeItWaits").broken
    assert broken is not None
    assert broken.anomaly == "write skew"


PUT_A, PUT_B = (ContractOp("put", {"key": key, "value": 1}) for key in "ab")
GET_B = ContractOp("get", {"key": "b"})


@pytest.mark.parametrize(
    ("store", "item", "anomaly"),
    [
        (stores.AllowsOneCall, Item("at_once", (PUT_A, PUT_B)), "write skew"),
        (stores.AllowsOneCall, Item("at_once", (PUT_A, PUT_A)), ""),
        (stores.AllowsOneCall, Item("at_once", (PUT_A, GET_B)), ""),
        (stores.AllowsOneCall, Item("cancel", (PUT_A, PUT_B), 9), ""),
        (stores.CountsWithEachPut, Item("at_once", (PUT_A, PUT_B)), ""),  # in any order
    ],
)
def test_only_concurrent_writes_of_different_entries_are_write_skew(
    store: type[Adapter], item: Item, anomaly: str
) -> None:
    broken = name_skew(store, run(store, (item,)), run).broken
    assert broken is not None
    assert (broken.rule, broken.anomaly) == ("invariant", anomaly)


def test_a_broken_invariant_is_shown_by_its_script(tmp_path: Path) -> None:
    small = first_failure("CountsTwice")
    script = tmp_path / "show.py"
    script.write_text(script_of(stores.CountsTwice, small))
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "check raises AssertionError('counted 2 of 1')" in done.stdout


def test_a_page_too_short_is_shown_with_one_key_more_than_it_holds() -> None:
    small = first_failure("FirstPage")
    (crowd,) = (op for item in small.items for op in item.ops if op.name == "put_many")
    pairs = crowd.args["pairs"]
    assert isinstance(pairs, dict)
    assert stores.PAGE < len(pairs) <= CROWD


@pytest.mark.parametrize(
    ("store", "op"),
    [
        (stores.FirstPageOfSingle, "keys"),
        (stores.FirstPageOfTexts, "list"),
        (stores.FirstPageOfSessions, "sessions"),
    ],
)
def test_a_listing_that_ends_with_its_first_page_is_found_without_a_batch(
    store: type[Adapter], op: str
) -> None:
    small = first_failure(store.__name__)
    assert small.broken is not None
    assert (small.broken.rule, small.broken.op) == ("answer", op)
    crowd = next(item for item in small.items if item.kind == "in_turn")
    assert (len(small.items), len(crowd.ops)) == (2, stores.PAGE + 1)


def test_a_scan_of_one_key_for_each_page_may_come_to_its_end() -> None:
    class Scanned(stores.FirstPage):
        def scan(self, limit: int, cursor: int | None = None) -> tuple[list[str], int | None]:
            start = cursor or 0
            keys = sorted(self.rows)[start : start + limit]
            return keys, start + limit if start + limit < len(self.rows) else None

    pairs = {f"c{n}": n for n in range(CROWD)}
    put, scan = ContractOp("put_many", {"pairs": pairs}), ContractOp("scan", {"limit": 1})
    assert run(Scanned, (Item("op", (put,)), Item("op", (scan,)))).broken is None


@pytest.mark.parametrize(
    ("got", "is_allowed"),
    [(["a", "b"], True), (["b", "c"], True), (["a"], False), (["a", "a"], False), (["a", "d"], False),
     (["a", "b", "c"], False), ("ab", False), (["e", "a"], True), (["e"], False)],
)  # fmt: skip
def test_a_limit_cuts_and_nothing_else_does(got: object, is_allowed: bool) -> None:
    assert AnyOrder(["a", "b", "c"], ["e"], limit=2).takes(got) == is_allowed


def test_all_that_is_asked_for_is_returned_if_it_is_no_more_than_the_limit() -> None:
    assert AnyOrder(["a"], ["e"], limit=2).takes(["a"])
    assert not AnyOrder(["a"], ["e"], limit=2).takes(["e"])


def test_a_session_lives_on_from_its_first_or_its_last_write() -> None:
    """The checker infers which of both a store does; the store must then keep to it."""
    add = Item("op", (ContractOp("add", {"session": "s", "items": [{"role": "user", "content": "x"}]}),))
    get = Item("op", (ContractOp("get", {"session": "s"}),))
    wait = Item("advance", number=3_000)
    assert run(stores.Ending, (add, wait, add, wait, get)).broken is None
    broken = run(stores.EndsLate, (add, Item("advance", number=5_500), get)).broken
    assert broken is not None
    assert broken.rule == "ttl"


def test_what_is_written_again_may_be_in_a_file() -> None:
    text = mark("v1")
    put, delete, get = (Item("op", (ContractOp(name, args),)) for name, args in (
        ("put", {"key": "a", "value": text}), ("delete", {"key": "a"}), ("get", {"key": "a"})))  # fmt: skip
    assert run(stores.LeavesBytes, (put, delete, put, get)).broken is not None
    assert run(stores.Erasing, (put, delete, put, get)).broken is None
    found = run(stores.LeavesBytes, (put, delete, get)).broken
    assert found is not None
    assert (found.rule, found.got) == ("erased", f"rows.db still has {text!r}")


def test_a_mark_is_in_no_other_text() -> None:
    marks = [mark(f"v{n}") for n in range(2_000)]
    assert not any(one in other for one in marks[:60] for other in marks if one != other)
    assert [*marks_in({"a": [mark("x"), "x"], "b": (1, {"c": mark("y")})})] == [mark("x"), mark("y")]


def test_calls_in_turn_are_shown_by_plain_calls() -> None:
    item = Item("in_turn", (ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})))
    lines = item.of.script(item, "Mine", iter(["None", "1"]))
    assert [*(lines or ())] == [
        "for name, args, said in (",
        "    ('put', {'key': 'a', 'value': 1}, 'None'),",
        "    ('get', {'key': 'a'}, '1'),",
        "):",
        "    await expect([said], lambda: getattr(store, name)(**args))",
    ]


def test_a_long_list_is_described_by_what_it_lacks() -> None:
    broken = first_failure("FirstPageOfSingle").broken
    assert broken is not None
    assert broken.allowed.endswith(" in any order; it lacks 1 of 101: ['c99']")

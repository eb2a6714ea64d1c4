"""Our own host under our own target tool, by the adapter of examples/targets."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from umi_sim.targets import MemoryStore
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run

pytest.importorskip("apsw", reason="the extra `live` is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples/targets/umi_live_memory.py"


@pytest.fixture
def module() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def test_umi_live_keeps_its_promises(module: dict[str, Any]) -> None:
    """More of it: umi-sim target umi_live_memory:Live --seconds 60, in examples/targets."""
    assert hunt(module["Live"], range(6)).first is None


def test_what_is_remembered_outlives_a_crash_and_a_user_can_be_taken_out(module: dict[str, Any]) -> None:
    live: type[MemoryStore] = module["Live"]
    add = Item("op", (ContractOp("add", {"id": "m0", "text": "likes tea", "user": "ann"}),))
    listed = Item("op", (ContractOp("list", {"user": "ann"}),))
    delete = Item("op", (ContractOp("delete_all", {"user": "ann"}),))
    verdict = run(live, (add, Item("crash"), listed, delete, Item("reopen"), listed))
    assert verdict.broken is None
    assert [verdict.steps[at].told for at in (2, 5)] == ["[['m0', 'likes tea']]", "[]"]


def test_a_planted_bug_is_found(module: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(path: Path, user: str) -> int:
        return 0

    live = module["Live"]
    monkeypatch.setitem(live.delete_all.__globals__, "delete_user", nothing)
    small = hunt(live, range(10)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule in ("erased", "answer")
    assert len(small.items) <= 3


@pytest.mark.parametrize("steps", range(8))
def test_a_close_that_is_cancelled_gives_up_the_scope(module: dict[str, Any], steps: int) -> None:
    """Seed 182: cancelled before anything was closed, it kept the scope, which could not be opened again."""
    user = {"user": "a"}
    delete = Item("cancel", (ContractOp("delete_all", user),), number=steps)
    items = (Item("op", (ContractOp("list", user),)), delete, Item("op", (ContractOp("count", user),)))
    assert run(module["Live"], items).broken is None


@pytest.mark.parametrize("number", range(1, 5))
def test_a_commit_that_fails_blocks_no_later_request(module: dict[str, Any], number: int) -> None:
    """A transaction that only reads stayed open after it, and no other could begin."""
    add = Item("op", (ContractOp("add", {"id": "m0", "text": "likes tea", "user": "ann"}),))
    count = Item("op", (ContractOp("count", {"user": "ann"}),))
    verdict = run(module["Live"], (Item("fail", add.ops, number, "commit"), count, add, count))
    assert verdict.broken is None


@pytest.mark.parametrize("number", range(1, 16))
def test_a_deletion_of_a_user_in_which_a_statement_fails_is_done_or_not(
    module: dict[str, Any], number: int
) -> None:
    """Let each statement of a deletion fail in turn: the error must say whether the rows are gone."""
    user = {"user": "a"}
    add = Item("op", (ContractOp("add", {"id": "m0", "text": "likes tea", **user}),))
    delete = (ContractOp("delete_all", user),)
    count = Item("op", (ContractOp("count", user),))
    assert run(module["Live"], (add, Item("fail", delete, number, "statement"), count)).broken is None

"""Goal: core changes when the commit is durable, and no write in between is lost (M3)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import QUIET, Pair, id_of_fact
from umi_core.errors import BlockNotFound, CoreFull, Error, StorageFailed, StorageRefused, TooManyBlocks
from umi_core.messages.effects import Commit, Done, Failed, Read, Refused, Unknown
from umi_core.messages.requests import (
    Blocks,
    InCore,
    Rebalance,
    Remember,
    RemoveBlock,
    SetBlock,
    SetImportance,
)
from umi_core.messages.results import BlockRemoved, BlockSet
from umi_core.rows import Core
from umi_core.values import Block

SMALL = structs.replace(QUIET, core_bytes_max=4_096)
TEA, HELPS = id_of_fact("Alice", "likes tea"), id_of_fact("Umi", "helps")


def blocks(pair: Pair) -> tuple[Block, ...]:
    """What the memory shows; storage holds the same."""
    row = pair.row("core", "core")
    shown = pair.memory.state.tiers.core
    assert row is not None
    assert (row.body, row.version) == (Core(shown.blocks), shown.guard_version)
    return shown.blocks


def test_text_importance_and_removal_are_each_one_write_of_core() -> None:
    pair = Pair().run()
    assert pair.ask(SetBlock(1, "human", "User: A", importance_ppm=9)) == Done(BlockSet())
    assert pair.ask(SetBlock(2, "human", "User: B", label="work")) == Done(BlockSet())
    assert blocks(pair) == (
        Block("human", text="User: A", importance_ppm=9),
        Block("human", "work", "User: B"),
    )
    assert pair.ask(SetImportance(3, "human", 7, "work")) == Done(None)
    assert [block.importance_ppm for block in blocks(pair)] == [9, 7]
    assert pair.ask(RemoveBlock(4, "human")) == Done(BlockRemoved("User: A"))
    assert [block.label for block in blocks(pair)] == ["work"]
    assert pair.memory.state.tiers.core.guard_version == 4


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (SetImportance(1, "goals", 5), BlockNotFound("goals")),
        (RemoveBlock(1, "human", "work"), BlockNotFound("human/work")),
        (SetBlock(1, "human", "x" * 5_000), CoreFull(0, 4_096, 5_000)),
    ],
)
def test_what_the_tier_does_not_allow_is_refused_and_nothing_is_written(request_: Any, error: Error) -> None:
    pair = Pair(config=SMALL).run()
    before = pair.storage.digest()
    assert pair.ask(request_) == Refused(error)
    assert pair.storage.digest() == before


def test_at_most_32_blocks_are_authored() -> None:
    pair = Pair().run()
    for n in range(32):
        pair.ask(SetBlock(n, "human", "", label=f"l{n}"))
    assert pair.ask(SetBlock(99, "goals", "")) == Refused(TooManyBlocks(32, 32))


def test_entries_make_room_for_text_and_are_reported() -> None:
    pair = Pair(config=structs.replace(SMALL, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Umi helps. Alice likes tea"))
    pair.ask(Rebalance(2))
    assert pair.ask(InCore(3, TEA)) == Done(True)
    full = 4_096 - len("Umihelps")
    assert pair.ask(SetBlock(4, "human", "x" * full)) == Done(BlockSet((TEA,)))
    assert pair.ask(InCore(5, HELPS)) == Done(True)
    assert pair.ask(SetBlock(6, "human", "x" * (full + 1))) == Refused(CoreFull(4_096, 4_096, full + 1))
    assert pair.ask(RemoveBlock(7, "persona")) == Done(BlockRemoved(None, (HELPS,)))
    assert [block.kind for block in blocks(pair)] == ["human"]


def test_the_tier_changes_when_the_commit_is_durable_and_not_before() -> None:
    pair = Pair().run()
    pair.step(SetBlock(1, "human", "x"))
    commit = pair.hold(Commit)
    assert pair.ask(Blocks(2)) == Done(())
    pair.land(commit)
    assert pair.ask(Blocks(3)) == Done(())
    pair.release()
    assert pair.ask(Blocks(4)) == Done((Block("human", text="x"),))


def test_a_write_in_between_is_kept() -> None:
    pair = Pair().run()
    pair.step(SetBlock(1, "human", "one"))
    pair.hold(Commit)
    pair.ask(SetBlock(2, "goals", "two"))
    pair.release()
    assert pair.replies[1].outcome == Done(BlockSet())
    assert [block.text for block in blocks(pair)] == ["one", "two"]


def test_a_slow_answer_never_takes_core_back() -> None:
    pair = Pair().run()
    pair.step(SetBlock(1, "human", "one"))
    first = pair.hold(Commit)
    answer = pair.land(first)
    pair.held.clear()
    pair.now_ms = 5_000
    pair.step(Remember(2, "Umi helps"))
    while 2 not in pair.replies:
        pair.answer()
    known = pair.memory.state.tiers.core
    assert [block.kind for block in known.blocks] == ["persona", "human"]
    pair.step(answer)
    assert pair.memory.state.tiers.core == known


def test_a_failed_read_or_commit_leaves_core_as_it_was() -> None:
    pair = Pair().run()
    pair.ask(SetBlock(1, "human", "old"))
    before = blocks(pair)
    assert pair.ask(SetBlock(2, "human", "new"), Read) == Failed(StorageFailed("load", "unavailable", 3))
    assert pair.ask(SetBlock(3, "human", "new"), Commit) == Failed(StorageFailed("commit", "unavailable", 3))
    pair.step(SetBlock(4, "human", "new"))
    pair.until(Commit)
    pair.fail("refused")
    assert pair.replies[4].outcome == Failed(StorageRefused("commit", "refused", 1))
    assert blocks(pair) == before


def test_after_an_unknown_commit_core_is_read_before_it_is_written_again() -> None:
    pair = Pair().run()
    pair.step(SetBlock(1, "human", "one"))
    pair.land(pair.until(Commit))
    for _ in range(6):
        pair.pending.clear()
        _ = pair.memory.state.operations and pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert pair.memory.state.tiers.core.blocks == ()
    pair.ask(SetBlock(2, "goals", "two"))
    assert [block.text for block in blocks(pair)] == ["one", "two"]


def test_a_removal_that_may_have_happened_is_not_refused() -> None:
    """It landed, its answer was lost; planned again it finds nothing to remove."""
    pair = Pair().run()
    pair.ask(SetBlock(1, "human", "old"))
    pair.step(RemoveBlock(2, "human"))
    pair.land(pair.until(Commit))
    pair.fail("unknown")
    pair.wake()
    pair.until(Commit)
    pair.fail("conflict")
    pair.run()
    assert pair.replies[2].outcome == Unknown()
    assert blocks(pair) == ()

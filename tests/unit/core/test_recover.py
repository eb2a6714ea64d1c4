"""Goal: a life begins with what was committed, claims its epoch, and never with nothing (M14)."""

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, id_of_fact
from umi_core.errors import Fenced
from umi_core.messages.answers import EffectFailed, ReadDone, Wake
from umi_core.messages.effects import ByFilter, Commit, Done, Failed, FailureKind, Read, Unknown
from umi_core.messages.requests import (
    Blocks,
    CoreBytes,
    Count,
    Get,
    GetEntity,
    InCore,
    LastRoutingDecisions,
    Rebalance,
    Recall,
    Remember,
    Set,
    SetBlock,
)
from umi_core.rows import AccessRecord, Address, Core, Epoch, Row
from umi_core.workflows.recover import RECOVER

EASY = structs.replace(QUIET, promote_score_min_ppm=0)
SMALL = structs.replace(QUIET, core_bytes_max=4_096)
HELPS, TEA = id_of_fact("Umi", "helps"), id_of_fact("Alice", "likes tea")


def fill_every_tier() -> Pair:
    """A life with something in every tier."""
    pair = Pair(now_ms=5, config=EASY).run()
    pair.ask(Remember(1, "Umi helps. Alice likes tea"))
    pair.ask(SetBlock(2, "human", "User: A"))
    pair.ask(Set(3, "k", b"v"))
    pair.ask(Rebalance(4))
    return pair


def test_a_restart_restores_what_was_committed_and_nothing_volatile() -> None:
    first = fill_every_tier()
    later = Pair(storage=first.storage, now_ms=9).run()
    before, after = first.memory.state.tiers, later.memory.state.tiers
    assert later.memory.state.epoch == 2
    assert after.core == before.core
    assert after.access.records == before.access.records
    assert isinstance(later.ask(GetEntity(1, TEA)), Done)
    volatile = [
        later.ask(request) for request in (Get(2, "k"), LastRoutingDecisions(3), Get(4, "__last_input"))
    ]
    assert volatile == [Done(None), Done(()), Done(None)]


def test_two_restarts_find_the_same() -> None:
    storage = fill_every_tier().storage
    one, two = Pair(storage=storage).run(), Pair(storage=storage).run()
    assert structs.replace(one.memory.state, epoch=3) == two.memory.state


def test_an_empty_storage_is_an_empty_memory_of_epoch_one() -> None:
    pair = Pair(now_ms=7).run()
    assert [row.body for row in pair.rows("epoch")] == [Epoch(7)]
    assert (pair.memory.state.epoch, pair.memory.state.phase) == (1, "ready")
    assert pair.ask(Blocks(1)) == Done(())


# It never gives up, and never starts from "no data" on an error.


@pytest.mark.uncounted
@pytest.mark.parametrize("kind", ["unavailable", "timeout", "refused", "full", "too_long", "rate_limited"])
@pytest.mark.parametrize("answered", range(4))
def test_whatever_fails_at_whichever_row_is_tried_again_without_end(kind: FailureKind, answered: int) -> None:
    later = Pair(storage=fill_every_tier().storage)
    later.step(Wake())
    for _ in range(answered):
        later.answer()
    for attempt in range(12):
        later.fail(kind)
        wait_ms = min(5_000, 100 * 2**attempt)
        assert later.memory.deadline_ms() == later.now_ms + wait_ms
        later.wake()
    assert later.memory.state.phase == "recovering"
    later.run()
    assert later.ask(InCore(1, HELPS)) == Done(True)


@pytest.mark.parametrize("row_kind", ["epoch", "core", "access"])
def test_a_damaged_row_is_no_data_and_is_waited_for(row_kind: str) -> None:
    later = Pair(storage=fill_every_tier().storage)
    later.step(Wake())
    while f"'{row_kind}'" not in str(later.until(Read).query):
        later.answer()
    answer = later.world(later.pending.pop())
    assert isinstance(answer, ReadDone)
    damaged = tuple(structs.replace(row, body=None) for row in answer.rows)
    assert later.step(structs.replace(answer, rows=damaged)) == []
    assert later.memory.deadline_ms() == 100
    later.run()
    assert later.ask(InCore(1, HELPS)) == Done(True)


def test_access_records_are_loaded_page_by_page() -> None:
    pair = Pair()
    pair.step(Wake())
    while not (isinstance(pair.pending[0], Read) and isinstance(pair.pending[0].query, ByFilter)):
        pair.answer()
    for n, cursor in ((1, "c1"), (2, None)):
        record = AccessRecord(f"e{n}", "person", 0, 1, 0, 0)
        row = Row(Address(SCOPE, "access", record.entity_id), 1, record)
        pair.step(ReadDone(pair.pending.pop(0).request_id, (row,), cursor))
    assert list(pair.memory.state.tiers.access.records) == ["e1", "e2"]
    assert pair.run().memory.state.phase == "ready"


# The epoch.


def test_of_two_lives_that_read_one_epoch_both_cannot_hold_it() -> None:
    one = Pair()
    two = Pair(storage=one.storage)
    for pair in (one, two):
        pair.step(Wake())
        pair.answer()
    two.run()
    one.run()
    assert (two.memory.state.epoch, one.memory.state.epoch) == (1, 2)
    assert two.ask(Remember(1, "Alice likes tea")) == Failed(Fenced(1))


def test_a_claim_whose_answer_is_lost_is_claimed_again() -> None:
    pair = Pair()
    pair.step(Wake())
    pair.land(pair.until(Commit))
    pair.fail("unknown")
    pair.run()
    assert (pair.memory.state.epoch, len(pair.rows("epoch"))) == (2, 1)


def test_nothing_that_an_earlier_life_sent_lands_later() -> None:
    first = Pair().run()
    first.step(Remember(1, "Alice likes tea"))
    sent = first.hold(Commit)
    later = Pair(storage=first.storage).run()
    answer = first.land(sent)
    assert isinstance(answer, EffectFailed)
    assert answer.changed == ((Address(SCOPE, "epoch", "epoch"), 2),)
    assert later.ask(Count(1)) == Done(0)
    first.held.clear()
    first.step(answer)
    assert first.replies[1].outcome == Failed(Fenced(1))


def test_what_was_scheduled_when_a_process_is_fenced_is_not_sent() -> None:
    """One remember waits to ask again, and is due in the very step in which another one reads the epoch."""
    first = Pair().run()
    first.step(Remember(1, "Alice likes tea"))
    first.fail("unavailable")
    first.step(Remember(2, "Bob snores"))
    while not isinstance(first.pending[0], Commit):
        first.answer()
    Pair(storage=first.storage).run()
    first.now_ms = first.memory.deadline_ms() or 0
    assert first.answer() == []
    assert first.memory.state.phase == "fenced"


def test_a_process_fenced_while_it_recovers_stops_instead_of_spinning() -> None:
    full = Pair(config=EASY).run()
    full.ask(Remember(1, "Alice likes tea"))
    full.ask(Rebalance(2))
    full.ask(SetBlock(3, "goals", "x" * 4_000))
    slow = Pair(storage=full.storage, config=structs.replace(SMALL, core_entry_count_max=0))
    slow.step(Blocks(1))
    slow.until(Commit)
    slow.answer()
    slow.hold(Commit)
    Pair(storage=full.storage).run()
    slow.release()
    assert slow.replies[1].outcome == Failed(Fenced(2))
    assert (slow.memory.state.phase, slow.memory.deadline_ms()) == ("fenced", None)
    assert slow.ask(Set(2, "k", b"v")) == Done()


# Limits that were lowered.


def test_entries_leave_when_limits_were_lowered_and_text_never_does() -> None:
    pair = fill_every_tier()
    pair.ask(SetBlock(10, "goals", "x" * 4_070))
    assert pair.ask(InCore(11, TEA)) == Done(True)
    later = Pair(storage=pair.storage, config=SMALL).run()
    shown = later.memory.state.tiers.core
    assert [later.ask(InCore(1, TEA)), later.ask(InCore(2, HELPS))] == [Done(False), Done(True)]
    assert [block.text for block in shown.blocks] == [None, "User: A", "x" * 4_070]
    (row,) = later.rows("core")
    assert (row.body, row.version) == (Core(shown.blocks), shown.guard_version)


def fitted() -> Pair:
    """A life with less room whose core is stored as it fits, and that has no answer about it."""
    pair = fill_every_tier()
    pair.ask(SetBlock(10, "goals", "x" * 4_070))
    later = Pair(storage=pair.storage, config=SMALL)
    later.step(Wake())
    later.until(Commit)
    later.answer()
    later.land(later.until(Commit))
    later.fail("unknown")
    return later


def test_a_fit_whose_answer_is_lost_is_done_once() -> None:
    later = fitted()
    version = later.rows("core")[0].version
    later.run()
    assert later.memory.state.tiers.core.guard_version == later.rows("core")[0].version == version
    assert later.memory.state.phase == "ready"


def test_a_fit_that_an_earlier_plan_won_is_read_again() -> None:
    later = fitted()
    later.wake()
    later.fail("conflict")
    later.run()
    assert later.memory.state.phase == "ready"
    assert later.memory.state.tiers.core.guard_version == later.rows("core")[0].version
    assert later.ask(InCore(1, TEA)) == Done(False)


def test_what_waited_is_answered_in_order_when_recovery_ends() -> None:
    later = Pair(storage=fill_every_tier().storage)
    for request in (CoreBytes(1), Recall(2, "Alice"), InCore(3, HELPS)):
        later.step(request)
    later.run()
    assert list(later.replies) == [1, 3, 2]
    assert all(isinstance(reply.outcome, Done) for reply in later.replies.values())
    assert later.replies[2].outcome != Unknown()


def test_recovery_asks_without_end_at_every_row() -> None:
    rows = [step for step in RECOVER.steps if step.on_failure is not None]
    assert {row.id: row.on_failure.attempts for row in rows if row.on_failure} == {
        "head": 0, "claim": 0, "load": 0, "access": 0, "pending": 0, "commit": 0, "settle": 0,
    }  # fmt: skip

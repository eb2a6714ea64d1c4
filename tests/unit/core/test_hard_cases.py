"""Goal: what few worlds ever meet: lost answers, full tables, clocks that were never set, odd types."""

from enum import IntEnum, StrEnum

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, id_of_fact, input_of, recovered
from umi_core import limits
from umi_core.codec import load_state
from umi_core.config import Config
from umi_core.errors import BadConfig, BadImportance, BadKind, BadOption, KeyReused, Rejected
from umi_core.ids import pack
from umi_core.memory import Memory
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import (
    AskModel,
    ByWords,
    Commit,
    CountRows,
    Done,
    Failed,
    Read,
    Refused,
    Reply,
    Unknown,
)
from umi_core.messages.requests import (
    Blocks,
    Count,
    CreateSession,
    Forget,
    LastRoutingDecisions,
    Len,
    LoadSession,
    Rebalance,
    Recall,
    Remember,
    SaveSession,
    Set,
    SetBlock,
)
from umi_core.messages.results import Forgotten, Remembered
from umi_core.rows import AccessRecord, Address
from umi_core.tiers import session
from umi_core.values import Scope, Turn
from umi_sim.judge.state import check_memory

TEA = id_of_fact("Alice", "likes tea")

# What became of a commit.


def test_a_commit_that_timed_out_at_the_host_may_have_happened() -> None:
    """An adapter that gives up waiting knows no more than a memory that does."""
    pair = recovered(Pair())
    pair.step(Remember(1, "Alice likes tea"))
    pair.land(pair.until(Commit))
    while 1 not in pair.replies:
        if pair.pending:
            pair.fail("timeout")
        else:
            pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert len(pair.rows("entity")) == 1


def test_a_save_that_landed_is_no_conflict_with_itself() -> None:
    pair = recovered(Pair())
    pair.ask(CreateSession(1))
    pair.step(SaveSession(2))
    pair.land(pair.until(Commit))
    pair.fail("timeout")
    pair.storage.receipts.clear()  # a day later
    pair.run()
    assert pair.replies[2].outcome == Unknown()


def test_the_last_decisions_are_those_of_the_plan_that_won() -> None:
    """A commit landed and its answer was lost; the next attempt met a conflict with that commit itself."""
    pair = recovered(Pair())
    pair.ask(Remember(1, "Bob snores"))
    pair.step(Remember(2, "Alice likes tea"))
    pair.land(pair.until(Commit))
    pair.fail("unknown")
    pair.now_ms += 100
    pair.wake(pair.now_ms)
    pair.fail("conflict")
    pair.run()
    done = pair.replies[2].outcome
    assert isinstance(done, Done)
    assert isinstance(done.value, Remembered)
    assert [decision.entity_id for decision in done.value.routing] == [TEA]
    assert pair.ask(LastRoutingDecisions(3)) == Done(done.value.routing)


# Request keys.


def test_a_forget_that_found_nothing_keeps_its_request_key() -> None:
    """Else a message that is delivered twice deletes what was remembered in between."""
    pair = recovered(Pair())
    assert pair.ask(Forget(1, TEA, request_key="k")) == Done(Forgotten(False))
    pair.ask(Remember(2, "Alice likes tea"))
    again = pair.ask(Forget(3, TEA, request_key="k"))
    assert again == Done(Forgotten(False, repeated=True))
    assert len(pair.rows("entity")) == 1
    assert pair.ask(Remember(4, "Bob snores", request_key="k")) == Refused(KeyReused("k"))


def test_a_forget_that_found_nothing_and_has_no_key_writes_nothing() -> None:
    pair = recovered(Pair())
    before = pair.storage.durable_count
    assert pair.ask(Forget(1, TEA)) == Done(Forgotten(False))
    assert pair.storage.durable_count == before


# Access records.


def full_of_records(last_ms: int) -> Pair:
    pair = Pair()
    for n in range(limits.ACCESS_RECORD_COUNT_MAX):
        key = f"ent_{n:024x}"
        record = AccessRecord(key, "person", 500_000, 1, last_ms, last_ms)
        pair.storage._put(Address(SCOPE, "access", key), record)
    return recovered(pair)


@pytest.mark.uncounted
def test_where_the_table_is_full_and_the_clock_behind_the_newest_record_stays() -> None:
    pair = full_of_records(10**12)
    pair.now_ms = 1_000
    assert isinstance(pair.ask(Remember(1, "Umi is calm")), Done)
    assert len(pair.memory.state.tiers.access.records) == limits.ACCESS_RECORD_COUNT_MAX


@pytest.mark.uncounted
def test_two_that_overfill_the_table_leave_no_more_than_it_holds_after_a_crash() -> None:
    pair = full_of_records(5)
    pair.now_ms = 10**6
    pair.step(Remember(1, "Alice likes tea"))
    pair.hold(Commit)
    pair.step(Remember(2, "Bob snores"))
    pair.hold(Commit)
    pair.release()
    after = recovered(Pair(storage=pair.storage))
    assert len(after.memory.state.tiers.access.records) == limits.ACCESS_RECORD_COUNT_MAX
    check_memory(after.memory.state)


def importance_of_alice(pair: Pair) -> int:
    return pair.memory.state.tiers.access.records[TEA].importance_ppm


def test_a_recall_that_read_an_older_importance_takes_no_newer_one_back() -> None:
    pair = recovered(Pair(config=structs.replace(QUIET, promote_score_min_ppm=0)))
    pair.ask(Remember(1, "Alice likes tea", importance_ppm=100_000))
    pair.step(Recall(2, "Alice tea", resolve=False, deep=False))
    while not (isinstance(pair.pending[0], Read) and isinstance(pair.pending[0].query, ByWords)):
        pair.answer()
    held = pair.pending.pop(0)
    late = pair.world(held)
    pair.held.append(held)
    pair.ask(Remember(3, "Alice likes tea", importance_ppm=900_000))
    pair.held.clear()
    pair.step(late)
    pair.run()
    assert importance_of_alice(pair) == 900_000
    pair.ask(Rebalance(4))
    stored = pair.row("access", TEA)
    assert stored is not None
    assert stored.body == pair.memory.state.tiers.access.records[TEA]


def test_of_two_commits_that_are_answered_in_the_wrong_order_the_newer_importance_stays() -> None:
    pair = recovered(Pair())
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Remember(2, "Alice likes tea", importance_ppm=100_000))
    first = pair.land(pair.until(Commit))
    held = pair.pending.pop(0)
    pair.held.append(held)
    pair.ask(Remember(3, "Alice likes tea", importance_ppm=900_000))
    assert importance_of_alice(pair) == 900_000
    pair.held.clear()
    pair.step(first)
    pair.run()
    assert importance_of_alice(pair) == 900_000


def test_a_decoded_memory_forgets_in_the_same_order() -> None:
    """Of a thousand that are known to be forgotten, which one is the oldest does not depend on its name."""
    pair = recovered(Pair())
    access = pair.memory.state.tiers.access
    keys = [f"ent_{n:024x}" for n in reversed(range(limits.FORGOTTEN_COUNT_MAX))]
    pair.memory.state.tiers.access = access.record_commit((), keys, 5, ())
    copy = Memory.restore(pair.memory.snapshot(), life=0)
    for memory in (pair.memory, copy):
        memory.state.tiers.access = memory.state.tiers.access.record_commit((), ["ent_z"], 6, ())
    assert copy.state.tiers.access.forgotten == pair.memory.state.tiers.access.forgotten
    assert keys[0] not in copy.state.tiers.access.forgotten
    assert copy.digest() == pair.memory.digest()


# Clocks and counters at their ends.


def test_a_clock_past_its_range_stands() -> None:
    pair = recovered(Pair())
    pair.now_ms = 2**64
    pair.ask(Set(1, "a", b"b"))
    assert isinstance(pair.ask(CreateSession(2)), Done)
    assert isinstance(pair.ask(Remember(3, "Alice likes tea")), Done)
    assert pair.memory.state.seen_ms == limits.NOW_MS_MAX
    load_state(pair.memory.snapshot())


def saved_with_count(count: int) -> tuple[Pair, str]:
    pair = recovered(Pair())
    created = pair.ask(CreateSession(1))
    assert isinstance(created, Done)
    own = created.value.session_id  # type: ignore[attr-defined]  # of a SessionCreated
    row = pair.storage.rows[Address(Scope(SCOPE.user, own), "session", own)]
    snapshot = session.seal_body(pack([0, [], [own, 0, count, None, None, []]]))
    body = structs.replace(row.body, snapshot=snapshot)  # type: ignore[type-var]  # a SessionRow
    pair.storage.rows[row.address] = structs.replace(row, body=body)
    return pair, own


@pytest.mark.parametrize(("count", "is_loaded"), [(limits.I64_MAX, True), (limits.I64_MAX + 1, False)])
def test_a_session_whose_count_is_at_its_end_goes_on(count: int, is_loaded: bool) -> None:
    pair, own = saved_with_count(count)
    assert isinstance(pair.ask(LoadSession(2, own)), Done) is is_loaded
    pair.ask(Remember(3, "Alice likes tea"))
    assert isinstance(pair.ask(SaveSession(4)), Done)
    assert isinstance(pair.ask(LoadSession(5, own)), Done) is True


# Answers that say nothing.


@pytest.mark.parametrize("count", [None, -3])
def test_no_count_is_never_a_number(count: int | None) -> None:
    pair = recovered(Pair())
    pair.step(Count(1))
    asked = pair.until(Read)
    assert isinstance(asked.query, CountRows)
    pair.pending.remove(asked)
    pair.step(ReadDone(asked.request_id, count=count))
    pair.run()
    assert isinstance(pair.replies[1].outcome, Failed)


def test_a_refusal_for_lack_of_room_names_the_limit_that_is_short() -> None:
    pair = recovered(Pair())
    pair.ask(Remember(1, "Umi is calm"))
    after = recovered(Pair(storage=pair.storage, config=structs.replace(QUIET, core_entry_count_max=0)))
    assert after.ask(Blocks(2)) == Failed(BadConfig("core_entry_count_max", "0", "room for self"))


# Types that look like others.


class Kind(StrEnum):
    HUMAN = "human"


class Ppm(IntEnum):
    HIGH = 900_000


def test_what_only_looks_like_text_or_a_number_is_refused() -> None:
    """Nothing else could be encoded."""
    pair = recovered(Pair())
    kind = pair.ask(SetBlock(1, Kind.HUMAN, "x"))
    importance = pair.ask(SetBlock(2, "human", "x", importance_ppm=Ppm.HIGH))
    assert isinstance(kind, Refused)
    assert isinstance(kind.error, BadKind)
    assert isinstance(importance, Refused)
    assert isinstance(importance.error, BadImportance)
    assert isinstance(pair.ask(Remember(3, Kind.HUMAN)), Refused)
    with pytest.raises(Rejected):
        Config.of({"core_bytes_max": Ppm.HIGH})


# What is kept of a request.


@pytest.mark.parametrize("op_id", [True, 1.5, None, "x" * 129, 2**63, b"1"])
def test_every_request_has_a_label_that_can_be_written_down(op_id: object) -> None:
    pair = recovered(Pair())
    (reply,) = pair.memory.step(0, Set(op_id, "a", b"b"))  # type: ignore[arg-type]
    assert isinstance(reply, Reply)
    assert isinstance(reply.outcome, Refused)
    assert isinstance(reply.outcome.error, BadOption)
    assert pair.ask(Len(1)) == Done(0)


def test_of_a_long_conversation_only_what_may_be_shown_is_kept() -> None:
    pair = recovered(Pair())
    turns = tuple(Turn("user", f"{n} {'x' * 1_000}") for n in range(1_000))
    blank = Turn("user", " " * 501 + "x")  # nothing of it would be seen
    pair.step(Recall(1, "What did he say?", turns=(*turns, blank)))
    assert len(pair.memory.snapshot()) < 20_000
    (asked,) = pair.pending
    assert isinstance(asked, AskModel)
    shown = input_of(asked.prompt, "turns")
    assert [turn["text"][:3] for turn in shown] == [str(n) for n in range(999, 989, -1)]

"""Goal: operations begin, wait and end, and hosts see where they stand (EN3, EN4)."""

from msgspec import structs

from tests.unit.core.engine.trial import END, MODEL, asking, planned, trial
from tests.worlds import SCOPE, Pair, id_of_fact
from umi_core.engine import middleware as hooks
from umi_core.engine.engine import fence
from umi_core.engine.middleware import Interceptor, Pass, Verdict
from umi_core.engine.workflow import (
    retry,
)
from umi_core.errors import (
    EmptyQuery,
    EmptyText,
    Fenced,
    TooBusy,
)
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.answers import Committed, ReadDone, Wake
from umi_core.messages.effects import (
    Commit,
    Done,
    Effect,
    Expect,
    Failed,
    ModelCall,
    Read,
    Refused,
    Unknown,
)
from umi_core.messages.requests import Blocks, Count, Get, Recall, Remember, Set, SetBlock
from umi_core.rows import Address

# What hosts see.


def test_an_effect_in_flight_tells_where_it_stands() -> None:
    pair = Pair().run()
    (asked,) = pair.step(Remember(9, "Alice likes tea"))
    pair.fail("unavailable")
    assert pair.memory.in_flight == {}
    (again,) = pair.wake()
    operation = pair.memory.in_flight[again.request_id]
    seen = (
        operation.number,
        operation.op_id,
        operation.workflow,
        operation.revision,
        operation.row,
        operation.unit,
    )
    assert (seen, operation.attempt) == ((2, 9, "remember", 1, 2, 0), 2)
    assert asked.request_id + 1 == again.request_id


def test_each_attempt_of_model_and_embedder_leaves_a_call_without_user_text() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    pair.pending.clear()
    pair.wake()
    pair.wake()
    pair.now_ms += 7
    pair.run()
    calls = pair.replies[1].calls
    shown = [(call.operation, call.attempt, call.asked_ms, call.answered_ms, call.outcome) for call in calls]
    assert shown == [
        ("extract", 1, 0, None, "timeout"),
        ("extract", 2, 30_100, 30_107, "ok"),
        ("embed", 1, 30_107, 30_107, "ok"),
    ]
    assert calls[1].prompt_hash == calls[0].prompt_hash
    assert (calls[1].reply_bytes > 0, calls[2].texts_count, calls[2].profile) == (True, 1, "default")
    assert not any("Alice" in str(value) for call in calls for value in structs.astuple(call))


def test_a_call_without_an_answer_stays_open() -> None:
    run = trial(asking("a", MODEL, retry(1), config=(("profile", "fast"),)), END)
    run.engine(lambda engine: fence(engine, 3))
    (call,) = run.replies[0].calls
    assert isinstance(call, ModelCall)
    assert (call.outcome, call.answered_ms, call.profile) == ("open", None, "fast")


# Fenced.

EPOCH_MOVED = ((Address(SCOPE, "epoch", "epoch"), 9),)


def test_a_newer_epoch_ends_everything_in_flight() -> None:
    run = planned()
    run.answer(ReadDone(0))
    run.begin(2)
    run.sent.append(run.sent[1])
    run.fail("conflict", changed=EPOCH_MOVED)
    assert [(reply.op_id, reply.outcome) for reply in run.replies] == [
        (1, Failed(Fenced(3))),
        (2, Failed(Fenced(3))),
    ]
    assert (run.state.phase, run.state.operations) == ("fenced", {})


def test_a_commit_in_flight_when_its_memory_is_fenced_may_have_happened() -> None:
    run = planned()
    run.answer(ReadDone(0))
    run.begin(2)
    run.answer(ReadDone(0))
    run.fail("conflict", changed=EPOCH_MOVED)
    assert [reply.outcome for reply in run.replies] == [Unknown(), Failed(Fenced(3))]


def test_a_fenced_memory_serves_the_working_tier_and_nothing_else() -> None:
    pair = Pair().run()
    Pair(storage=pair.storage).run()
    assert pair.ask(Remember(1, "Alice likes tea")) == Failed(Fenced(1))
    assert pair.ask(Recall(2, "tea")) == pair.ask(Blocks(3)) == Failed(Fenced(1))
    assert pair.ask(Set(4, "k", b"v")) == Done()
    assert (pair.memory.deadline_ms(), pair.rows("entity")) == (None, [])


# Busy, and before recovery.


def test_at_most_64_requests_are_in_flight() -> None:
    pair = Pair().run()
    for n in range(OP_COUNT_MAX):
        pair.step(Count(n))
    assert pair.ask(Get(64, "k")) == Done(None)
    assert pair.replies.keys() == {*range(65)}
    for n in range(100, 100 + OP_COUNT_MAX):
        pair.step(Count(n))
    pair.step(Count(200))
    assert pair.replies[200].outcome == Refused(TooBusy(OP_COUNT_MAX, OP_COUNT_MAX))
    pair.step(Blocks(201))
    assert pair.replies[201].outcome == Done(())
    pair.step(Recall(202, ""))
    assert pair.replies[202].outcome == Refused(EmptyQuery())
    pair.answer()
    assert len(pair.step(Count(203))) == 1


def test_what_waits_for_recovery_is_bounded_reads_of_core_too() -> None:
    pair = Pair()
    for n in range(OP_COUNT_MAX):
        pair.step(Blocks(n))
    pair.step(Blocks(64))
    pair.step(SetBlock(65, "human", "x"))
    busy = Refused(TooBusy(OP_COUNT_MAX, OP_COUNT_MAX))
    assert {n: reply.outcome for n, reply in pair.replies.items()} == {64: busy, 65: busy}
    pair.run()
    assert len(pair.replies) == OP_COUNT_MAX + 2


def test_before_recovery_archive_and_core_wait_in_order_and_the_working_tier_answers() -> None:
    pair = Pair()
    pair.step(Remember(1, "Alice likes tea"))
    pair.step(Blocks(2))
    pair.step(Set(3, "k", b"v"))
    assert (list(pair.replies), len(pair.memory.state.queue)) == ([3], 2)
    pair.run()
    assert list(pair.replies) == [3, 2, 1]
    assert pair.memory.state.queue == ()


def test_a_request_may_be_refused_before_recovery() -> None:
    pair = Pair()
    pair.step(Remember(1, ""))
    assert pair.replies[1].outcome == Refused(EmptyText())


def test_operations_are_numbered_by_their_order_and_requests_never_share_an_id() -> None:
    pair = Pair().run()
    asked: list[Effect] = []
    for n in range(3):
        asked += pair.memory.step(0, Count(n))
    assert [
        pair.memory.in_flight[effect.request_id].number for effect in asked if isinstance(effect, Read)
    ] == [2, 3, 4]
    assert pair.memory.step(0, Wake()) == ()


def test_a_hook_that_refuses_a_retry_does_not_make_an_unknown_commit_failed() -> None:
    pair = Pair().run()
    verdicts: list[Verdict] = [Pass(), hooks.Refuse("no")]
    pair.memory.intercept(Interceptor("h", "effect", lambda *_: verdicts.pop(0), effects=("commit",)))
    pair.step(Remember(1, "Alice likes tea"))
    commit = pair.until(Commit)
    assert isinstance(pair.land(commit), Committed)
    pair.fail("unknown")
    pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert pair.row("entity", id_of_fact("Alice", "likes tea")) is not None


def test_a_commit_names_what_it_expects() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    commit = pair.until(Commit)
    assert commit.expects[0] == Expect(Address(SCOPE, "epoch", "epoch"), 1)

"""Goal: questions are asked again, planned again and given up as policies say (EN3, EN4)."""

from collections.abc import Sequence
from typing import Any, Final, get_args

import pytest
from msgspec import structs

from tests.spec_tables import rows, whole
from tests.unit.core.engine.tables import learns
from tests.unit.core.engine.trial import (
    CHANGED,
    COMMIT,
    EMBED,
    END,
    MODEL,
    READ,
    SEARCH,
    SEEN,
    Trial,
    asking,
    planned,
    trial,
)
from tests.worlds import SCOPE
from umi_core.engine.engine import FINAL_KINDS
from umi_core.engine.workflow import (
    Learned,
    Step,
    backoff_ms,
    degrade,
    forever,
    retry,
)
from umi_core.errors import (
    BadLimit,
    Conflict,
    EmbedFailed,
    Error,
    ModelFailed,
    StorageFailed,
    StorageFull,
    StorageRefused,
)
from umi_core.limits import RETRY_AFTER_MS_MAX
from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import (
    Asked,
    Commit,
    Degraded,
    Done,
    Failed,
    FailureKind,
    Read,
    Refused,
    Unknown,
    Write,
)
from umi_core.rows import Address, Receipt, Row
from umi_core.state import Waiting

# Retries.


def test_kinds_of_failure_are_those_of_the_table_and_end_a_policy_where_it_says() -> None:
    then = {row["kind"]: row["then"] for row in rows("engine", "failure_kinds")}
    assert set(then) == set(get_args(FailureKind))
    assert {kind for kind in then if then[kind] == "the end of the policy at once"} == set(FINAL_KINDS)


def test_the_waits_are_those_of_the_table() -> None:
    waits = {whole(row["attempts so far"]): whole(row["wait"]) for row in rows("engine", "waits")}
    assert {count: backoff_ms(count) for count in waits} == waits


def test_waits_double_from_100_to_5000_and_the_same_question_is_sent_again() -> None:
    run = trial(asking("a", READ, retry(9)), END)
    waits = []
    for _ in range(8):
        asked_ms = run.state.seen_ms
        run.fail("unavailable")
        assert run.due_ms is not None
        waits.append(run.due_ms - asked_ms)
        assert run.at(run.due_ms - 1) == []
        run.at(run.due_ms)
    assert waits == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]
    assert [effect.request_id for effect in run.sent] == list(range(1, 10))
    assert {structs.replace(effect, request_id=0) for effect in run.sent} == {
        structs.replace(READ, timeout_ms=10_000)
    }
    run.fail("unavailable")
    assert run.outcome == Failed(StorageFailed("a", "unavailable", 9))
    assert run.marks.count("w.a: retried") == 8


@pytest.mark.parametrize(
    ("retry_after_ms", "wait_ms"),
    [(0, 100), (99, 100), (101, 101), (RETRY_AFTER_MS_MAX, RETRY_AFTER_MS_MAX)],
)
def test_a_service_that_names_a_time_is_left_alone_so_long(retry_after_ms: int, wait_ms: int) -> None:
    run = trial(asking("a", MODEL, retry(2)), END)
    run.fail("rate_limited", retry_after_ms)
    assert run.due_ms == wait_ms


def test_a_time_beyond_the_limit_ends_the_policy_at_once() -> None:
    run = trial(asking("a", MODEL, retry(2)), END)
    run.fail("rate_limited", RETRY_AFTER_MS_MAX + 1)
    assert run.outcome == Failed(ModelFailed("a", "rate_limited", 1))


def test_recovery_waits_at_most_the_limit_and_never_gives_up() -> None:
    run = trial(asking("a", READ, forever()), END)
    for _ in range(30):
        run.fail("rate_limited", RETRY_AFTER_MS_MAX + 1)
        assert run.due_ms == run.state.seen_ms + RETRY_AFTER_MS_MAX
        run.at(run.due_ms)
    run.answer(ReadDone(0))
    assert run.outcome == Done("fine")


@pytest.mark.parametrize(
    ("asked", "kind", "error"),
    [
        (MODEL, "too_long", ModelFailed("a", "too_long", 1)),
        (EMBED, "refused", EmbedFailed("a", "refused", 1)),
        (READ, "refused", StorageFailed("a", "refused", 1)),
        (COMMIT, "refused", StorageRefused("a", "refused", 1)),
        (COMMIT, "full", StorageFull("a", "full", 1)),
        (COMMIT, "conflict", Conflict("a", "conflict", 1)),
    ],
)
def test_what_is_final_is_not_asked_again_and_named_by_effect(
    asked: Asked, kind: FailureKind, error: Error
) -> None:
    run = trial(asking("a", asked, retry(3)), END)
    assert run.fail(kind) == []
    assert run.outcome == Failed(error)


@pytest.mark.parametrize("asked", [MODEL, EMBED, READ])
def test_an_answer_at_its_deadline_is_late(asked: Asked) -> None:
    run = trial(asking("a", asked, retry(2, then=degrade("none"))), END)
    timeout_ms = 10_000 if isinstance(asked, Read) else 30_000
    assert run.due_ms == run.sent[0].timeout_ms == timeout_ms
    assert run.at(timeout_ms - 1) == []
    run.at(timeout_ms)
    assert run.fail("refused") == []
    assert run.marks == ["w.a: timeout", "w.a: retried", "late answer"]
    run.at(timeout_ms + 100)
    run.at(2 * timeout_ms + 100)
    assert run.outcome == Done("fine", (Degraded("a:none", "timeout"),))


def test_dues_are_handled_in_order_of_time_then_operation() -> None:
    run = trial(asking("a", READ, retry(1)), END)
    assert isinstance(run.operation.progress, Waiting)
    run.operation.progress = structs.replace(run.operation.progress, due_ms=10_005)
    for op_id, now_ms in ((2, 0), (3, 5)):
        run.state.seen_ms = now_ms
        run.begin(op_id)
    run.at(10_005)
    assert [reply.op_id for reply in run.replies] == [2, 1, 3]


# Planning again.


def test_a_conflict_drops_the_facts_and_plans_anew_from_what_is_there_now() -> None:
    run = planned()
    run.answer(ReadDone(0, cursor="old"))
    run.fail("conflict", changed=CHANGED)
    assert run.operation.facts == {}
    run.answer(ReadDone(0, cursor="new"))
    run.answer(Committed(0))
    assert run.outcome == Done(("new", 2))
    assert [type(effect).__name__ for effect in run.sent] == ["Read", "Commit", "Read", "Commit"]
    assert run.marks == [
        "w.look: ok", "w.plan: no question", "w.commit: conflict", "w.commit: planned again",
        "w.look: ok", "w.plan: no question", "w.commit: ok", "w.end: no question",
    ]  # fmt: skip


def test_three_plans_are_made_in_all() -> None:
    run = planned()
    for _ in range(3):
        run.answer(ReadDone(0))
        run.fail("conflict", changed=CHANGED)
    assert (len(run.sent), run.outcome) == (6, Failed(Conflict("commit", "conflict", 1)))


def test_attempts_are_counted_anew_in_each_plan() -> None:
    run = planned(attempts=2)
    run.answer(ReadDone(0))
    run.fail("unavailable")
    run.at(100)
    run.fail("conflict", changed=CHANGED)
    run.answer(ReadDone(0))
    run.fail("unavailable")
    run.at(200)
    run.answer(Committed(0))
    assert isinstance(run.outcome, Done)


def test_a_conflict_may_be_the_fault_of_the_caller() -> None:
    run = planned(conflict_error=lambda facts, failure, view: BadLimit("9") if failure.changed else None)
    run.answer(ReadDone(0))
    run.fail("conflict")
    run.answer(ReadDone(0))
    run.fail("conflict", changed=CHANGED)
    assert run.outcome == Refused(BadLimit("9"))


# Commits that may have happened.


@pytest.mark.parametrize("last", ["unknown", "unavailable", "full", "refused"])
def test_a_commit_that_may_have_happened_never_ends_as_failed(last: FailureKind) -> None:
    run = planned(attempts=2)
    run.answer(ReadDone(0))
    run.fail("unknown")
    run.at(100)
    run.fail(last)
    assert run.outcome == Unknown()


def test_a_commit_that_times_out_may_have_happened() -> None:
    run = planned(attempts=1)
    run.answer(ReadDone(0))
    run.at(10_000)
    assert run.outcome == Unknown()


def test_a_conflict_does_not_prove_that_no_attempt_has_happened() -> None:
    run = planned(attempts=2)
    run.answer(ReadDone(0))
    run.fail("unknown")
    run.at(100)
    run.fail("conflict", changed=CHANGED)
    run.fail("refused")
    assert run.outcome == Unknown()


RECEIPT: Final = Address(SCOPE, "receipt", "key")


def committed(digest: bytes) -> Committed:
    """The answer of storage that the plan of this digest has won."""
    return Committed(0, ((RECEIPT, 1),), Receipt("key", b"request", digest, None, 0))


def lacking(digests: Sequence[bytes], read: Read = READ) -> Trial:
    """ask -> look -> commit: each read lacks as much as its cursor says."""

    def take(facts: Any, answer: Any, view: Any) -> Learned:
        count = int(getattr(answer, "cursor", None) or 0)
        return Learned({"seen": None}, degraded=(("partial", "bad", count),) * (count > 0))

    def commit(facts: Any, view: Any) -> Commit:
        digest = digests[view.plan_count - 1]
        return Commit((Write(RECEIPT, Receipt("key", b"request", digest, None, 0)),), (), "key")

    first = asking("ask", read, retry(1), take=lambda *args: structs.replace(take(*args), facts={}))
    look = asking("look", read, retry(1), take=take, produces=(SEEN,))
    return trial(
        first,
        look,
        Step("commit", learns(), effect=Commit, ask=commit, on_failure=retry(1, replan="look")),
        END,
    )


@pytest.mark.parametrize(
    ("is_in_doubt", "winner", "counts"),
    [(True, b"1", (2, 24)), (True, b"2", (2, 13)), (True, b"3", (2,)), (False, b"3", (2,))],
)
def test_a_reply_names_what_the_plan_that_won_lacked(
    is_in_doubt: bool, winner: bytes, counts: Sequence[int]
) -> None:
    run = lacking((b"1", b"2", b"3"))
    run.answer(ReadDone(0, cursor="2"))
    for lacks in ("24", "13"):
        run.answer(ReadDone(0, cursor=lacks))
        if is_in_doubt:
            run.operation.may_have_happened = True
        run.fail("conflict", changed=CHANGED)
    run.answer(ReadDone(0))
    run.answer(committed(winner))
    names = ("ask:partial", "look:partial")
    assert run.outcome == Done("fine", tuple(map(Degraded, names, ("bad", "bad"), counts)))
    assert run.state.counters["degraded look:partial"] == 24 + 13


def test_equal_plans_are_one_and_lack_what_the_last_one_lacked() -> None:
    run = lacking((b"1", b"1"))
    run.answer(ReadDone(0))
    run.answer(ReadDone(0, cursor="24"))
    run.operation.may_have_happened = True
    run.fail("conflict", changed=CHANGED)
    run.answer(ReadDone(0, cursor="13"))
    run.answer(committed(b"1"))
    assert run.outcome == Done("fine", (Degraded("look:partial", "bad", 13),))


def test_rows_that_a_dropped_plan_could_not_read_are_not_counted() -> None:
    run, damaged = lacking((b"1", b"2"), SEARCH), Row(Address(SCOPE, "entity", "e"), 1, None, 3)
    run.answer(ReadDone(0, (damaged,)))
    run.answer(ReadDone(0, (damaged,)))
    run.fail("conflict", changed=CHANGED)
    run.answer(ReadDone(0, (damaged,)))
    run.answer(committed(b"2"))
    assert run.outcome == Done("fine", (Degraded("read:damaged_rows", "damaged", 2),))
    assert run.state.counters["degraded read:damaged_rows"] == 3


def test_what_fails_after_a_durable_commit_is_unknown_too() -> None:
    run = trial(asking("commit", COMMIT, retry(1)), asking("a", READ, retry(1)), END)
    run.answer(Committed(0))
    run.fail("unavailable")
    assert run.outcome == Unknown()

"""Goal: rows run as their table says, and fail as their policies say (hierarchy.md 1.3 and 1.4)."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tests.unit.core.engine.tables import X, Y, learns, named, row
from tests.worlds import ALICE, SCOPE, Pair
from umi_core.conditions import Where
from umi_core.config import Config
from umi_core.engine import interceptors as hooks
from umi_core.engine import lifecycle
from umi_core.engine.engine import Engine
from umi_core.engine.facts import Fact
from umi_core.engine.interceptors import Interceptor, Pass, Verdict
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Learned,
    Refuse,
    Step,
    Unusable,
    Workflow,
    degrade,
    forever,
    nothing,
    retry,
)
from umi_core.errors import (
    BadLimit,
    Conflict,
    Deposed,
    EmbedFailed,
    EmptyQuery,
    EmptyText,
    Error,
    ModelFailed,
    StorageFailed,
    StorageFull,
    StorageRefused,
    TooBusy,
    WorkflowBroken,
)
from umi_core.ids import commit_key
from umi_core.limits import OP_COUNT_MAX, RETRY_AFTER_MS_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, ModelReplied, ReadDone, Wake
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByWords,
    Commit,
    Degraded,
    Done,
    Effect,
    Embed,
    Expect,
    Failed,
    FailureKind,
    ModelCall,
    Outcome,
    Read,
    Refused,
    Reply,
    Unknown,
)
from umi_core.messages.requests import Blocks, Count, Get, Recall, Remember, Set, SetBlock
from umi_core.rows import Address, Core, Entity, Row
from umi_core.state import Operation, State
from umi_core.values import Scope

READ = Read(ByIds((Address(SCOPE, "entity", "e"),)))
SEARCH = Read(ByWords(SCOPE, "tea", Where(), 10, 1))
ALL = Read(ByFilter(SCOPE, ("entity",)))
COMMIT = Commit((), (), "key")
MODEL = AskModel("extract", "p")
EMBED = Embed(("x",))


def asking(row_id: str, asked: Asked, on_failure: Any, take: Any = None, **more: Any) -> Step:
    take = take or learns()
    return Step(row_id, take, effect=type(asked), ask=lambda *_: asked, on_failure=on_failure, **more)


END = row("end", outcome=Done("fine"))
N, PLAN, SEEN, UNITS = named("n plan seen units")
COUNT, COUNTS = Fact("n", int), Fact("n", tuple[int, ...])


def rows_told(facts: Any, answer: Any, view: Any) -> Learned:
    return Learned({"outcome": Done(tuple(row.address.id for row in answer.rows))})


@attrs.define
class Trial:
    """One operation of a table of its own, stepped by hand."""

    state: State
    registry: Registry
    sent: list[Asked] = attrs.field(factory=list)
    replies: list[Reply] = attrs.field(factory=list)
    marks: list[str] = attrs.field(factory=list)

    def engine(self, call: Callable[[Engine], object]) -> list[Asked]:
        engine = Engine(self.state, self.registry)
        call(engine)
        asked = [effect for effect in engine.effects if not isinstance(effect, Reply)]
        self.replies += [effect for effect in engine.effects if isinstance(effect, Reply)]
        self.sent += asked
        self.marks += engine.marks
        return asked

    def begin(self, op_id: int | None, **given: object) -> list[Asked]:
        return self.engine(lambda engine: lifecycle.begin(engine, "w", op_id, given))

    def answer(self, answer: Answer) -> list[Asked]:
        """The answer to what was asked last."""
        answer = attrs.evolve(answer, request_id=self.sent[-1].request_id)
        return self.engine(lambda engine: lifecycle.resume(engine, answer))

    def fail(self, kind: FailureKind, retry_after_ms: int = 0, changed: Any = ()) -> list[Asked]:
        return self.answer(EffectFailed(0, kind, retry_after_ms, changed))

    def at(self, now_ms: int) -> list[Asked]:
        self.state.seen_ms = now_ms
        return self.engine(lifecycle.handle_due)

    @property
    def operation(self) -> Operation:
        (operation,) = self.state.operations.values()
        return operation

    @property
    def due_ms(self) -> int | None:
        return self.operation.due_ms

    @property
    def outcome(self) -> Outcome:
        assert not self.state.operations
        assert not self.state.waiting
        (reply,) = self.replies
        return reply.outcome


def trial(*steps: Step, op_id: int | None = 1, **given: object) -> Trial:
    return begun(Registry().register(Workflow("w", named(" ".join(given)), steps)), op_id, **given)


def begun(registry: Registry, op_id: int | None, **given: object) -> Trial:
    run = Trial(State(SCOPE, Config(), phase="ready", epoch=3), registry)
    run.begin(op_id, **given)
    return run


# Rows.


def test_facts_of_a_row_are_seen_by_the_later_ones() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"outcome": Done((facts[X], facts[Y], view.number, view.epoch))})

    steps = row("a", y=2), Step("b", take, (X, Y), (OUTCOME,))
    assert trial(*steps, x=1).outcome == Done((1, 2, 1, 3))


BROKEN: dict[str, tuple[tuple[Step, ...], str, str, tuple[str, ...]]] = {
    "requires": ((row("a", requires="x", outcome=Done()),), "a", "requires", ("x",)),
    "produces": ((Step("a", learns(outcome=Done()), (), (Y, OUTCOME)),), "a", "produces", ("y",)),
    "undeclared": ((Step("a", learns(outcome=Done(), z=1)), END), "a", "undeclared", ("outcome", "z")),
    "a given fact": ((row("a", take=learns(given=2)), END), "a", "undeclared", ("given",)),
    "skip": ((row("a", take=lambda *_: Learned({}, "end")), END), "a", "skip", ("end",)),
    "effect": ((attrs.evolve(asking("a", READ, retry(1)), effect=Embed), END), "a", "effect", ("Read",)),
    "type": ((Step("a", learns(n=True), (), (COUNT,)), END), "a", "type", ("n",)),
    "type of a unit": (
        (
            row("u", units=(1,)),
            asking("a", READ, retry(1), take=learns(n="x"), each=UNITS, produces=(COUNTS,)),
            END,
        ),
        "a", "type", ("n",),
    ),
    "of a unit": (
        (row("u", units=(1,)), asking("a", READ, retry(1), take=learns(z=1), each=UNITS), END),
        "a", "undeclared", ("z",),
    ),
}  # fmt: skip


def unchecked(*steps: Step, **given: object) -> Trial:
    """Begun without the validation that would refuse such a table."""
    return begun(Registry({"w": (Workflow("w", named(" ".join(given)), steps),)}), 1, **given)


@pytest.mark.parametrize(("steps", "step", "kind", "fact_names"), BROKEN.values(), ids=BROKEN)
def test_a_row_that_breaks_its_table_ends_the_operation(
    steps: tuple[Step, ...], step: str, kind: str, fact_names: tuple[str, ...]
) -> None:
    broken = unchecked(*steps, given=1)
    if broken.state.waiting:
        broken.answer(ReadDone(0))
    assert broken.outcome == Failed(WorkflowBroken("w", 1, step, kind, fact_names))


def test_what_a_policy_gives_instead_is_checked_as_well() -> None:
    wrong = retry(1, then=degrade("none", {"n": None}))
    run = trial(asking("a", READ, wrong, produces=(COUNT,)), END)
    run.fail("refused")
    assert run.outcome == Failed(WorkflowBroken("w", 1, "a", "type", ("n",)))


def test_an_operation_begins_with_facts_of_their_types() -> None:
    registry = Registry().register(Workflow("w", (COUNT, Fact("name", str | None)), (END,)))
    assert begun(registry, 1, n=1, name=None).outcome == Done("fine")
    wrong = begun(registry, 1, n="1", name=5)
    assert wrong.outcome == Failed(WorkflowBroken("w", 1, "end", "type", ("n", "name")))


def test_a_fact_is_never_replaced_but_may_be_learnt_again() -> None:
    same = unchecked(Step("a", learns(x=1), (), (X,)), END, x=1)
    other = unchecked(Step("a", learns(x=2), (), (X,)), END, x=1)
    assert same.outcome == Done("fine")
    assert other.outcome == Failed(WorkflowBroken("w", 1, "a", "replaces", ("x",)))


def test_a_take_that_refuses_ends_the_operation() -> None:
    steps = row("a", take=lambda *_: Refuse(EmptyText())), END
    assert trial(*steps).outcome == Refused(EmptyText())


def test_nothing_learnt_is_visible_before_the_row_is_sound() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        view.tiers.decisions = ("learnt",)
        view.marks.append("learnt")
        return Learned({"z": 1})

    broken = unchecked(Step("a", take), END)
    assert isinstance(broken.outcome, Failed)
    assert (broken.state.tiers.decisions, broken.marks) == ((), ["w.a: no question"])


def test_a_row_whose_when_is_false_leaves_its_otherwise() -> None:
    def told(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"outcome": Done(facts[Y])})

    a = Step("a", learns(y=1), (X,), (Y,), when=lambda facts: bool(facts[X]), otherwise={"y": 0})
    steps = a, Step("b", told, (Y,), (OUTCOME,))
    assert (trial(*steps, x=True).outcome, trial(*steps, x=False).outcome) == (Done(1), Done(0))


def test_a_skip_runs_no_row_between_and_leaves_their_otherwise() -> None:
    jump = Step("jump", lambda *_: Learned(skip_to="end"), skips_to=("end",))
    between = asking("between", READ, retry(1), produces=(Y,), otherwise=nothing(Y))
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[Y])}), (Y,), (OUTCOME,))
    skipped = trial(jump, between, Step("more", learns()), end)
    assert (skipped.outcome, skipped.sent) == (Done(None), [])


def test_an_ask_that_gives_none_is_taken_without_an_answer() -> None:
    ask_nothing = attrs.evolve(asking("a", READ, retry(1)), ask=lambda *_: None)
    assert trial(ask_nothing, END).outcome == Done("fine")


def test_a_background_operation_replies_to_nobody_and_is_counted() -> None:
    quiet = trial(END, op_id=None)
    assert (quiet.replies, quiet.state.counters) == ([], {"w done": 1})


# Units.


def test_units_are_asked_one_after_the_other_and_their_facts_are_tuples() -> None:
    def ask(facts: Any, view: Any) -> Read | None:
        return Read(ByWords(SCOPE, facts.unit(UNITS), Where(), 1, 1)) if facts.unit(UNITS) else None

    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"n": 0 if answer is None else len(answer.rows)})

    each = Step("each", take, (), (N,), Read, ask, retry(2, then=degrade("none", {"n": -1})), each=UNITS)
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[N])}), (N,), (OUTCOME,))
    run = trial(each, end, units=("a", "", "b", "c"))
    assert [len(run.answer(ReadDone(0))) for _ in range(1)] == [1]
    run.fail("refused")
    run.answer(ReadDone(0, (found("e", 1),)))
    assert [read.query.text for read in run.sent if isinstance(read, Read)] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert run.outcome == Done((0, 0, -1, 1), (Degraded("each:none", "refused"),))
    assert trial(each, end, units=()).outcome == Done(())


def test_a_commit_without_a_key_gets_one_for_all_its_attempts() -> None:
    run = trial(asking("a", Commit((), ()), retry(3)), END)
    run.fail("unknown")
    run.at(100)
    run.answer(Committed(0))
    keys = [commit.key for commit in run.sent if isinstance(commit, Commit)]
    assert keys == [commit_key(SCOPE, 3, 1, "a")] * 2
    assert run.outcome == Done("fine")


# Retries.


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
    assert {attrs.evolve(effect, request_id=0) for effect in run.sent} == {
        attrs.evolve(READ, timeout_ms=10_000)
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
    run.operation.due_ms = 10_005
    for op_id, now_ms in ((2, 0), (3, 5)):
        run.state.seen_ms = now_ms
        run.begin(op_id)
    run.at(10_005)
    assert [reply.op_id for reply in run.replies] == [2, 1, 3]


# Degrading.


def test_a_degradation_is_named_counted_and_tells_the_last_reason() -> None:
    policy = retry(2, then=Degrade("half", lambda facts, reason: {"y": facts[X]}))
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[Y])}), (Y,), (OUTCOME,))
    run = trial(asking("a", MODEL, policy, produces=(Y,)), end, x=7)
    run.fail("timeout")
    run.at(100)
    run.fail("unavailable")
    assert run.outcome == Done(7, (Degraded("a:half", "unavailable"),))
    assert run.state.counters == {"degraded a:half": 1, "w done": 1}
    met = ["timeout", "retried", "unavailable", "degraded"]
    assert run.marks == [*(f"w.a: {it}" for it in met), "w.end: no question"]


def test_an_unusable_answer_is_the_end_of_the_policy_with_its_reason() -> None:
    run = trial(asking("a", MODEL, retry(3, then=degrade("none")), take=lambda *_: Unusable("no_json")), END)
    run.answer(ModelReplied(0, "?"))
    assert (len(run.sent), run.outcome) == (1, Done("fine", (Degraded("a:none", "no_json"),)))


def test_an_unusable_answer_without_a_substitute_aborts() -> None:
    run = trial(asking("a", MODEL, retry(3), take=lambda *_: Unusable("no_json")), END)
    run.answer(ModelReplied(0, "?"))
    assert run.outcome == Failed(ModelFailed("a", "unusable", 1))


def test_what_a_take_leaves_out_is_summed_by_name_and_reason() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned(degraded=(("partial", "bad", 2), ("partial", "worse", 1)))

    run = trial(row("a", take=take), attrs.evolve(row("b", take=take), id="a2"), END)
    assert run.outcome == Done(
        "fine",
        (
            Degraded("a:partial", "bad", 2), Degraded("a:partial", "worse"),
            Degraded("a2:partial", "bad", 2), Degraded("a2:partial", "worse"),
        ),
    )  # fmt: skip
    assert run.state.counters["degraded a:partial"] == 3


# Planning again.

CHANGED = ((Address(SCOPE, "entity", "e"), 4),)


def planned(*, attempts: int = 3, conflict_error: Any = None) -> Trial:
    """look -> plan -> commit; the plan is how often it was made."""

    def plan(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"plan": (facts[SEEN], view.plan_count)})

    policy = retry(attempts, replan="look", conflict_error=conflict_error)
    look = asking(
        "look",
        READ,
        retry(1),
        take=lambda facts, answer, view: Learned({"seen": answer.cursor}),
        produces=(SEEN,),
    )
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[PLAN])}), (PLAN,), (OUTCOME,))
    return trial(look, Step("plan", plan, (SEEN,), (PLAN,)), asking("commit", COMMIT, policy), end)


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


def test_what_fails_after_a_durable_commit_is_unknown_too() -> None:
    run = trial(asking("commit", COMMIT, retry(1)), asking("a", READ, retry(1)), END)
    run.answer(Committed(0))
    run.fail("unavailable")
    assert run.outcome == Unknown()


# Reads.

HERE, THERE = Address(SCOPE, "entity", "e"), Address(Scope("u2", "a1"), "entity", "e")


def found(row_id: str, score_ppm: int | None = None, kind: str = "entity") -> Row:
    entity = Entity(row_id, "note", row_id, "x", 1, 0, 0, "scratch", 0, 0)
    return Row(Address(SCOPE, kind, row_id), 1, entity, score_ppm)


def reading(read: Read, attempts: int = 2) -> Trial:
    return trial(asking("a", read, retry(attempts), take=rows_told, produces=(OUTCOME,)))


def test_all_pages_of_a_filter_are_one_answer_in_order_each_row_once() -> None:
    run = reading(ALL)
    assert isinstance(run.sent[0], Read)
    assert run.sent[0].query == ByFilter(SCOPE, ("entity",), limit=1_000)
    run.answer(ReadDone(0, (found("c"), found("a")), cursor="1"))
    run.answer(ReadDone(0, (found("a"),), cursor="2"))  # nothing new: not at once
    run.at(100)
    run.answer(ReadDone(0, (found("b"), found("c"))))
    assert [read.query.cursor for read in run.sent if isinstance(read, Read)] == [None, "1", "2"]  # type: ignore[union-attr]
    assert run.outcome == Done(("a", "b", "c"))


def test_pages_that_bring_nothing_new_come_to_an_end() -> None:
    run = reading(ALL)
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    run.at(100)
    run.answer(ReadDone(0, (), cursor="1"))
    assert run.outcome == Failed(StorageFailed("a", "unavailable", 2))


def test_each_page_has_attempts_of_its_own() -> None:
    run = reading(ALL)
    run.fail("unavailable")
    run.at(100)
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    run.fail("unavailable")
    assert run.due_ms == 200
    run.at(200)
    run.answer(ReadDone(0, (found("b"),)))
    assert run.outcome == Done(("a", "b"))


def test_a_filter_with_a_limit_is_one_page() -> None:
    run = reading(Read(ByFilter(SCOPE, ("entity",), limit=2)))
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    assert run.outcome == Done(("a",))


def test_rows_of_a_search_come_by_score_then_id_and_of_ids_as_asked() -> None:
    search, by_ids = reading(SEARCH), reading(Read(ByIds((found("b").address, found("a").address))))
    search.answer(ReadDone(0, (found("b", 5), found("a", 5), found("c", 9), found("b", 5))))
    by_ids.answer(ReadDone(0, (found("a"), found("b"))))
    assert (search.outcome, by_ids.outcome) == (Done(("c", "a", "b")), Done(("b", "a")))


BAD_ROWS = {
    "another scope": Row(THERE, 1, found("e").body, 3),
    "another kind": found("e", 3, "vector"),
    "damaged": Row(HERE, 1, None, 3),
    "the body of another": Row(HERE, 1, found("a").body, 3),
    "the body of another kind": Row(HERE, 1, Core(()), 3),
}


@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_search_goes_on_without_bad_rows_and_says_so(bad: Row) -> None:
    run = reading(SEARCH)
    run.answer(ReadDone(0, (found("a", 3), bad)))
    name, reason = (
        ("read:damaged_rows", "damaged") if bad.address == HERE else ("read:foreign_rows", "foreign")
    )
    assert run.outcome == Done(("a",), (Degraded(name, reason),))


@pytest.mark.parametrize("score_ppm", [None, 0, -1, 1_000_001])
def test_a_hit_without_a_score_that_was_asked_for_is_foreign(score_ppm: int | None) -> None:
    run = reading(SEARCH)
    run.answer(ReadDone(0, (found("a", 3), found("b", score_ppm))))
    assert run.outcome == Done(("a",), (Degraded("read:foreign_rows", "foreign"),))


@pytest.mark.parametrize("read", [READ, ALL], ids=["by ids", "by filter"])
@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS)
def test_any_other_read_with_a_bad_row_has_failed(read: Read, bad: Row) -> None:
    run = reading(read)
    run.answer(ReadDone(0, (bad,)))
    run.at(100)
    run.answer(ReadDone(0, (bad,)))
    kind = "damaged" if bad.address == HERE else "unavailable"
    assert run.outcome == Failed(StorageFailed("a", kind, 2))


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
    assert (seen, operation.attempt) == ((2, 9, "remember", 1, 1, 0), 2)
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
    assert not any("Alice" in str(value) for call in calls for value in attrs.astuple(call))


def test_a_call_that_nobody_answered_stays_open() -> None:
    run = trial(asking("a", MODEL, retry(1), config=(("profile", "fast"),)), END)
    run.engine(lambda engine: lifecycle.depose(engine, Deposed(3)))
    (call,) = run.replies[0].calls
    assert isinstance(call, ModelCall)
    assert (call.outcome, call.answered_ms, call.profile) == ("open", None, "fast")


# Deposed.

EPOCH_MOVED = ((Address(SCOPE, "epoch", "epoch"), 9),)


def test_a_newer_epoch_ends_everything_in_flight() -> None:
    run = planned()
    run.answer(ReadDone(0))
    run.begin(2)
    run.sent.append(run.sent[1])
    run.fail("conflict", changed=EPOCH_MOVED)
    assert [(reply.op_id, reply.outcome) for reply in run.replies] == [
        (1, Failed(Deposed(3))),
        (2, Failed(Deposed(3))),
    ]
    assert (run.state.phase, run.state.operations, run.state.waiting) == ("deposed", {}, {})


def test_a_commit_on_its_way_when_its_memory_is_deposed_may_have_happened() -> None:
    run = planned()
    run.answer(ReadDone(0))
    run.begin(2)
    run.answer(ReadDone(0))
    run.fail("conflict", changed=EPOCH_MOVED)
    assert [reply.outcome for reply in run.replies] == [Unknown(), Failed(Deposed(3))]


def test_a_deposed_memory_serves_the_working_tier_and_nothing_else() -> None:
    pair = Pair().run()
    Pair(storage=pair.storage).run()
    assert pair.ask(Remember(1, "Alice likes tea")) == Failed(Deposed(1))
    assert pair.ask(Recall(2, "tea")) == pair.ask(Blocks(3)) == Failed(Deposed(1))
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
    pair.memory.intercept(Interceptor("h", lambda *_: verdicts.pop(0), effects=("commit",)))
    pair.step(Remember(1, "Alice likes tea"))
    commit = pair.until(Commit)
    assert isinstance(pair.land(commit), Committed)
    pair.fail("unknown")
    pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert pair.row("entity", ALICE) is not None


def test_a_commit_names_what_it_expects() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    commit = pair.until(Commit)
    assert commit.expects[0] == Expect(Address(SCOPE, "epoch", "epoch"), 1)

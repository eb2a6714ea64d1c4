"""The engine: runs the rows of operations, one effect in flight each.

Law 1. A row: requires, `when`, ask, emit, answer, take, produces checked, facts and tiers put in place.
Law 2. Time-outs belong to the memory: an answer at its deadline is late. Late answers reach nothing.
Law 3. A failure is retried, planned again, degraded or the end, as the row says; each is counted and marked.
Law 4. Until a row is done nothing it learnt is visible.
Law 5. A commit that may have happened ends as Done or Unknown, whatever its last attempt met. Not even a
       conflict proves that it has not: the rows may have moved on because of it, and storage forgets keys.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from umi_core.answer_checks import has_more, held, in_order, judged_rows
from umi_core.engine.interceptors import Place, inward, outward
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Degrade, Learned, Refuse, Step, Unusable, abort_error
from umi_core.errors import Deposed, Error, WorkflowBroken
from umi_core.ids import commit_key
from umi_core.limits import BACKOFF_MS_MAX, BACKOFF_MS_MIN, RETRY_AFTER_MS_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    Commit,
    Degraded,
    Done,
    Effect,
    Embed,
    Failed,
    FailureKind,
    OpId,
    Outcome,
    Read,
    Refused,
    Reply,
    Unknown,
    filled_in,
)
from umi_core.rows import Address
from umi_core.state import Facts, Operation, State, View, closed_calls, opened_calls, task_of

FINAL_KINDS: Final = ("refused", "full", "too_long", "unusable")
EPOCH: Final = "epoch"


@attrs.define
class Engine:
    """One step of a memory: the state, the tables, and the effects and marks that the step gives."""

    state: State
    registry: Registry
    effects: list[Effect] = attrs.field(factory=list)
    marks: list[str] = attrs.field(factory=list)
    ended: Operation | None = None  # the last operation that nobody waited for

    # From the memory.

    def begin(self, workflow: str, op_id: OpId | None, given: Facts) -> Operation:
        state = self.state
        state.operation_count += 1
        hooks = len(self.registry.generations) - 1
        revision = self.registry.latest(workflow)
        operation = Operation(state.operation_count, op_id, workflow, revision, hooks, given)
        state.operations[operation.number] = operation
        self.proceed(operation)
        return operation

    def resume(self, answer: Answer) -> None:
        number = self.state.waiting.get(answer.request_id)
        if number is None:
            self.marks.append("late answer")
            return
        operation = self.state.operations[number]
        self.answered(operation, answer)
        self.proceed(operation)

    def handle_due(self) -> None:
        """What is due by now, in order of (time, operation): give up or wake up."""
        while operation := self.next_due():
            if operation.waiting is not None:
                self.timed_out(operation)
            elif operation.asked is not None:
                self.send(operation, self.row_of(operation))
            else:
                operation.due_ms = None  # planned again: the row begins anew
            self.proceed(operation)

    def next_due(self) -> Operation | None:
        now_ms = self.state.seen_ms
        due = [op for op in self.state.operations.values() if op.due_ms is not None and op.due_ms <= now_ms]
        return min(due, key=lambda op: (op.due_ms, op.number), default=None)

    def depose(self, epoch: int) -> None:
        """A newer life holds the rows: everything in flight fails, and nothing more is sent."""
        state = self.state
        state.phase, state.epoch = "deposed", epoch
        self.marks.append("deposed")
        for operation in list(state.operations.values()):
            operation.may_have_happened |= isinstance(operation.sent, Commit)
            self.fail(operation, Deposed(epoch))

    # Rows.

    def proceed(self, operation: Operation) -> None:
        """Run rows until one waits, or the operation is over."""
        while operation.due_ms is None and operation.number in self.state.operations:
            self.run_row(operation, self.row_of(operation))

    def run_row(self, operation: Operation, row: Step) -> None:
        facts = operation.facts
        if missing := tuple(name for name in row.requires if name not in facts):
            self.broken(operation, row, "requires", missing)
        elif row.when is not None and not row.when(facts):
            self.mark(operation, row, "skipped")
            self.row_done(operation, row, Learned(row.otherwise or {}))
        elif operation.unit >= self.unit_count(operation, row):
            self.units_done(operation, row)
        else:
            operation.asked = row.ask(facts, self.view(operation, row)) if row.ask else None
            operation.attempt, operation.pages = 0, ()
            if operation.asked is None:
                self.mark(operation, row, "no question")
                self.take(operation, row, None)
            elif type(operation.asked) is row.effect:
                self.send(operation, row)
            else:
                self.broken(operation, row, "effect", (type(operation.asked).__name__,))

    def send(self, operation: Operation, row: Step) -> None:
        """Emit the question of this row once more: a new attempt with a new request_id."""
        state = self.state
        assert operation.asked is not None
        state.request_count += 1
        operation.attempt += 1
        request = self.filled_in(operation, row, operation.asked)
        sent = outward(self.registry.interceptors(operation.hooks), self.place(operation, row), request)
        operation.sent, operation.onion = sent.request, sent.onion
        state.noted(operation, sent.notes)
        operation.waiting = state.request_count
        operation.due_ms = state.seen_ms + sent.request.timeout_ms
        state.waiting[state.request_count] = operation.number
        if sent.answer is not None:
            self.settle(operation, sent.answer)
            return
        operation.calls = opened_calls(operation, row.id, sent.request, state.seen_ms)
        self.effects.append(sent.request)

    def answered(self, operation: Operation, told: Answer) -> None:
        assert operation.sent is not None
        answer = held(operation.sent, told)
        operation.calls = closed_calls(operation.calls, answer, self.state.seen_ms)
        self.settle(operation, answer)

    def timed_out(self, operation: Operation) -> None:
        """The memory gives up waiting; a commit may have happened all the same."""
        assert operation.waiting is not None
        kind: FailureKind = "unknown" if isinstance(operation.asked, Commit) else "timeout"
        failure = EffectFailed(operation.waiting, kind)
        operation.calls = closed_calls(operation.calls, failure, None)
        self.settle(operation, failure)

    def settle(self, operation: Operation, answer: Answer) -> None:
        """What came of the attempt: back through the onion, then the row takes it, or its policy does."""
        row = self.row_of(operation)
        asked, sent = operation.asked, operation.sent
        assert asked is not None
        assert sent is not None
        assert operation.waiting is not None
        del self.state.waiting[operation.waiting]
        operation.waiting = operation.due_ms = operation.sent = None
        answer = self.through_onion(operation, row, sent, answer) if operation.onion else answer
        operation.may_have_happened |= isinstance(answer, Committed)
        kind = answer.kind if isinstance(answer, EffectFailed) else "ok"
        self.mark(operation, row, kind)
        known_count = len(operation.pages)
        if isinstance(answer, ReadDone) and isinstance(asked, Read):
            answer = self.checked_rows(operation, row, asked, answer)
        if isinstance(answer, EffectFailed):
            self.failed(operation, row, answer)
        elif isinstance(answer, ReadDone) and has_more(asked, answer):
            self.next_page(operation, row, answer, is_new=len(operation.pages) > known_count)
        else:
            self.take(operation, row, answer)

    def through_onion(self, operation: Operation, row: Step, sent: Asked, answer: Answer) -> Answer:
        """The answer as the interceptors leave it; one that a hook gives in place of a failure is less."""
        hooks, place = self.registry.interceptors(operation.hooks), self.place(operation, row)
        after, notes = inward(hooks, operation.onion, place, sent, answer)
        self.state.noted(operation, notes)
        for note in notes:
            if (note.hook, note.what) == ("on_error", "substituted"):
                reason = answer.kind if isinstance(answer, EffectFailed) else "refused"
                self.degraded(operation, f"{row.id}:hook:{note.name}", reason)
        return after

    def take(self, operation: Operation, row: Step, answer: Answer | None) -> None:
        view = self.view(operation, row)
        view.tiers = self.state.tiers.copy()
        taken = row.take(operation.facts, answer, view)
        if isinstance(taken, Unusable):
            self.mark(operation, row, "unusable")
            self.mark(operation, row, taken.reason, of=" reply")
            self.give_up(operation, row, "unusable", taken.reason)
        elif isinstance(taken, Refuse):
            is_certain = isinstance(answer, Committed) or not operation.may_have_happened
            self.finish(operation, Refused(taken.error) if is_certain else Unknown())
        else:
            self.mark(operation, row, *taken.shapes, of=" reply")
            for name, reason, count in taken.degraded:
                self.degraded(operation, f"{row.id}:{name}", reason, count)
            self.learn(operation, row, taken, view)

    def learn(self, operation: Operation, row: Step, learned: Learned, view: View | None) -> None:
        """One unit is known; without `each` that is the row."""
        if row.each is None:
            self.row_done(operation, row, learned, view)
            return
        if self.is_sound(operation, row, learned.facts):
            operation.learned += (dict(learned.facts),)
            operation.unit += 1
            self.apply(view)

    def units_done(self, operation: Operation, row: Step) -> None:
        """Each produced fact becomes the tuple of what the units gave."""
        facts = {name: tuple(unit[name] for unit in operation.learned) for name in row.produces}
        self.row_done(operation, row, Learned(facts))

    def row_done(self, operation: Operation, row: Step, learned: Learned, view: View | None = None) -> None:
        skip_to = learned.skip_to
        if not self.is_sound(operation, row, learned.facts):
            return
        if skip_to is not None and skip_to not in row.skips_to:
            self.broken(operation, row, "skip", (skip_to,))
            return
        operation.facts.update(learned.facts)
        self.apply(view)
        self.go_on(operation, skip_to)

    def go_on(self, operation: Operation, skip_to: str | None) -> None:
        """The next row, or the one skipped to; rows between leave their otherwise."""
        steps = self.registry.at(operation.workflow, operation.revision).steps
        operation.row += 1
        operation.unit, operation.learned, operation.asked, operation.pages = 0, (), None, ()
        while skip_to is not None and steps[operation.row].id != skip_to:
            self.mark(operation, steps[operation.row], "skipped")
            operation.facts.update(steps[operation.row].otherwise or {})
            operation.row += 1
        if operation.row == len(steps):
            outcome = operation.facts["outcome"]
            assert isinstance(outcome, Done | Refused), outcome
            self.finish(operation, outcome)

    def is_sound(self, operation: Operation, row: Step, facts: Mapping[str, object]) -> bool:
        """Declared facts, all of them, and none that says something else than what is known."""
        undeclared = [name for name in facts if name not in row.produces]
        lacking = [name for name in row.produces if name not in facts]
        changed = [n for n in facts if n in operation.facts and operation.facts[n] != facts[n]]
        for kind, names in (("undeclared", undeclared), ("produces", lacking), ("replaces", changed)):
            if names:
                self.broken(operation, row, kind, tuple(sorted(names)))
                return False
        return True

    def apply(self, view: View | None) -> None:
        if view is not None:
            self.state.tiers = view.tiers
            self.marks += view.marks

    def mark(self, operation: Operation, row: Step, *names: str, of: str = "") -> None:
        """What this row met, or the reply that it took, for whoever counts what is reached."""
        self.marks += [f"{operation.workflow}.{row.id}{of}: {name}" for name in names]

    # Failures.

    def failed(self, operation: Operation, row: Step, failure: EffectFailed) -> None:
        policy = row.on_failure
        assert policy is not None
        if failure.kind in ("unknown", "timeout") and isinstance(operation.asked, Commit):
            operation.may_have_happened = True
        if failure.kind == "conflict" and self.is_deposed(operation, failure):
            self.depose(self.epoch_of(operation))
        elif failure.kind == "conflict" and (policy.replan or policy.conflict_error):
            self.conflicted(operation, row, failure)
        elif policy.attempts == 0 or self.may_retry(operation, row, failure):
            self.sleep(operation, row, failure)
        else:
            self.give_up(operation, row, failure.kind, "")

    def is_deposed(self, operation: Operation, failure: EffectFailed) -> bool:
        epoch = Address(self.state.scope, EPOCH, EPOCH)
        return self.epoch_of(operation) > 0 and any(address == epoch for address, _ in failure.changed)

    def epoch_of(self, operation: Operation) -> int:
        """The epoch of this life; recovery has claimed it before the memory knows."""
        epoch = operation.facts.get(EPOCH, self.state.epoch)
        assert isinstance(epoch, int)
        return epoch

    def may_retry(self, operation: Operation, row: Step, failure: EffectFailed) -> bool:
        assert row.on_failure is not None
        is_final = failure.kind in FINAL_KINDS or failure.retry_after_ms > RETRY_AFTER_MS_MAX
        return not is_final and failure.kind != "conflict" and operation.attempt < row.on_failure.attempts

    def sleep(self, operation: Operation, row: Step, failure: EffectFailed) -> None:
        asked_for_ms = min(failure.retry_after_ms, RETRY_AFTER_MS_MAX)
        operation.due_ms = self.state.seen_ms + max(backoff_ms(operation.attempt), asked_for_ms)
        self.mark(operation, row, "retried")

    def conflicted(self, operation: Operation, row: Step, failure: EffectFailed) -> None:
        policy = row.on_failure
        assert policy is not None
        view = self.view(operation, row)
        error = policy.conflict_error(operation.facts, failure, view) if policy.conflict_error else None
        if error is not None:
            self.finish(operation, Unknown() if operation.may_have_happened else Refused(error))
        elif policy.replan is not None and (policy.attempts == 0 or operation.plan_count < policy.plans_max):
            self.mark(operation, row, "planned again")
            self.replan(operation, policy.replan)
            if policy.attempts == 0:  # without end, so never without a wait
                operation.due_ms = self.state.seen_ms + backoff_ms(operation.plan_count - 1)
        else:
            self.give_up(operation, row, "conflict", "")

    def replan(self, operation: Operation, target: str) -> None:
        """Back to an earlier row: its facts and all later ones are dropped."""
        workflow = self.registry.at(operation.workflow, operation.revision)
        start = workflow.index(target)
        assert start is not None
        again = workflow.steps[start : operation.row + 1]
        for name in (name for row in again for name in row.produces):
            operation.facts.pop(name, None)
        if not operation.may_have_happened:  # else this plan may be the one that is replied of
            self.forget_degraded(operation, [row.id for row in again])
        operation.row, operation.unit, operation.learned, operation.asked = start, 0, (), None
        operation.plan_count += 1

    def forget_degraded(self, operation: Operation, rows: list[str]) -> None:
        """What these rows went without, they may have the next time."""
        operation.degraded = tuple(it for it in operation.degraded if it.name.partition(":")[0] not in rows)

    def give_up(self, operation: Operation, row: Step, kind: str, reason: str) -> None:
        """The end of the policy: degrade, or abort with an error that names row, kind and attempts."""
        policy = row.on_failure
        assert policy is not None, (row.id, kind)
        if isinstance(policy.then, Degrade):
            self.degraded(operation, f"{row.id}:{policy.then.name}", reason or kind)
            self.mark(operation, row, "degraded")
            self.learn(operation, row, Learned(policy.then.facts(operation.facts, reason or kind)), None)
        else:
            self.mark(operation, row, "aborted")
            self.fail(operation, abort_error(row, kind, operation.attempt))

    def degraded(self, operation: Operation, name: str, reason: str, count: int = 1) -> None:
        """Once more less than asked for: named in the reply, summed in the counters."""
        known = [item for item in operation.degraded if (item.name, item.reason) == (name, reason)]
        others = tuple(item for item in operation.degraded if item not in known)
        total = count + sum(item.count for item in known)
        operation.degraded = (*others, Degraded(name, reason, total))
        self.state.count(f"degraded {name}", count)

    def broken(self, operation: Operation, row: Step, kind: str, names: tuple[str, ...]) -> None:
        error = WorkflowBroken(operation.workflow, operation.revision, row.id, kind, names)
        self.finish(operation, Failed(error))

    def fail(self, operation: Operation, error: Error) -> None:
        """The world's fault; unless a commit of it may yet be there, nothing has changed."""
        self.finish(operation, Unknown() if operation.may_have_happened else Failed(error))

    def finish(self, operation: Operation, outcome: Outcome) -> None:
        state = self.state
        if operation.waiting is not None:
            del state.waiting[operation.waiting]
        del state.operations[operation.number]
        operation.due_ms = None
        if isinstance(outcome, Done):
            outcome = Done(outcome.value, operation.degraded)
        state.count(f"{operation.workflow} {type(outcome).__name__.lower()}")
        if operation.op_id is None:
            self.ended = operation
        else:
            self.effects.append(Reply(operation.op_id, outcome, operation.calls, operation.notes))

    # Answers to reads.

    def checked_rows(self, operation: Operation, row: Step, asked: Read, answer: ReadDone) -> Answer:
        """Rows that were asked for: a search goes on without the others, any other read has failed."""
        judged = judged_rows(asked, answer, row.spares)
        self.marks += [f"read: {reason} row" for reason, _ in judged.left_out[:1]]
        if judged.failure:
            return EffectFailed(answer.request_id, judged.failure)
        for reason, count in judged.left_out:
            self.degraded(operation, f"read:{reason}_rows", reason, count)
        operation.pages = in_order(asked, operation.pages + judged.rows)
        return ReadDone(answer.request_id, operation.pages, answer.cursor, answer.count)

    def next_page(self, operation: Operation, row: Step, answer: ReadDone, *, is_new: bool) -> None:
        """Follow the cursor. Each page has attempts of its own, but for those that bring nothing new."""
        assert isinstance(operation.asked, Read)
        assert isinstance(operation.asked.query, ByFilter)
        query = attrs.evolve(operation.asked.query, cursor=answer.cursor)
        operation.asked = attrs.evolve(operation.asked, query=query)
        if not is_new:
            self.failed(operation, row, EffectFailed(answer.request_id, "unavailable"))
            return
        operation.attempt = 0
        self.send(operation, row)

    # Views.

    def row_of(self, operation: Operation) -> Step:
        return self.registry.at(operation.workflow, operation.revision).steps[operation.row]

    def unit_count(self, operation: Operation, row: Step) -> int:
        if row.each is None:
            return 1
        units = operation.facts[row.each]
        assert isinstance(units, tuple), (row.id, row.each)
        return len(units)

    def view(self, operation: Operation, row: Step) -> View:
        state = self.state
        units = operation.facts[row.each] if row.each is not None else (None,)
        assert isinstance(units, tuple)
        unit = units[operation.unit] if operation.unit < len(units) else None
        return View(
            state.seen_ms, state.scope, state.config, state.epoch, operation.number, operation.plan_count,
            operation.may_have_happened and operation.plan_count > 1, dict(row.config), unit, state.tiers, [],
        )  # fmt: skip

    def place(self, operation: Operation, row: Step) -> Place:
        return Place(operation.workflow, row.id, operation.attempt, task_of(operation.asked))

    def filled_in(self, operation: Operation, row: Step, asked: Asked) -> Asked:
        """The question with what the engine knows; before the epoch is known no commit has a key."""
        state, config, key = self.state, self.state.config, ""
        is_of_model = isinstance(asked, AskModel | Embed)
        if isinstance(asked, Commit) and not asked.key and state.epoch:
            key = commit_key(state.scope, state.epoch, operation.number, row.id)
        timeout_ms = config.model_timeout_ms if is_of_model else config.store_timeout_ms
        profile = str(dict(row.config).get("profile", "default"))
        return filled_in(asked, state.request_count, timeout_ms, profile, key)


def backoff_ms(count: int) -> int:
    """How long to wait after so many attempts, or plans: each time twice as long, up to a limit."""
    return min(BACKOFF_MS_MAX, BACKOFF_MS_MIN << min(count - 1, 16))

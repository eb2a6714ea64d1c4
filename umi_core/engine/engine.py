"""The engine: runs each operation through the rows of its workflow table, from begin to reply.

A row here is one step of the table; rows in storage are named as such. Read the file from the top: an
operation begins; each row asks, waits and learns; failures follow the policy of the row; the operation ends.

    begin -> proceed -> run_row -> send ~~~ answer ~~~ settle -> take -> leave_row -> proceed ...
                                    ^          |
                                    +-- fail --+-> sleep | replan | give_up -> degrade | finish

Law 1. A row runs in this order: check required facts, `when`, ask, send, answer, take, check produced facts.
       Then its facts and tiers are installed together; before that, nothing it learnt is visible.
Law 2. Scheduled work runs in order of (time, operation). An answer at its deadline is late, and a late answer
       changes nothing.
Law 3. After a failure the policy of the row decides: retry, plan again, degrade, or end the operation.
Law 4. An operation whose commit may have happened ends as Done or Unknown, whatever its last attempt met. A
       conflict proves nothing: the commit itself may have changed the rows, and storage forgets keys.
Law 5. Reasoning is removed from a model's reply once, before any row reads the reply.
Law 6. An operation ends once, with the reply to the request that began it.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from msgspec import structs

from umi_core.answer_checks import check_answer, following_page, in_order, judged_rows
from umi_core.data import Owner
from umi_core.engine.facts import Facts, View
from umi_core.engine.middleware import (
    EMBED_TASK,
    Attempt,
    HookContext,
    Interceptors,
    StepResult,
    StepRun,
    run_after,
    run_before,
)
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import (
    EPOCH,
    OUTCOME,
    Degrade,
    Learned,
    Rejection,
    Step,
    Unusable,
    Workflow,
    abort_error,
    backoff_ms,
)
from umi_core.errors import Error, Fenced, StepFailed, WorkflowBroken
from umi_core.ids import commit_key
from umi_core.language.prompts import state_problem
from umi_core.language.reasoning import strip_reasoning
from umi_core.limits import OP_COUNT_MAX, READ_PAGE_COUNT_MAX, RETRY_AFTER_MS_MAX, SPARE_ATTEMPTS
from umi_core.messages.answers import Answer, Committed, EffectFailed, ModelReplied, ReadDone
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    Commit,
    Degraded,
    Done,
    Effect,
    Embed,
    Expect,
    Failed,
    FailureKind,
    HookNote,
    ModelCall,
    OpId,
    Outcome,
    Read,
    Refused,
    Reply,
    Unknown,
    filled_in,
)
from umi_core.messages.request import WorkflowRequest
from umi_core.rows import Address, Receipt
from umi_core.state import ALONE, Operation, PlanInDoubt, Queued, RowRead, Running, Sleeping, State, Waiting

FINAL_KINDS: Final = ("refused", "full", "too_long")
EPOCH_ROW: Final = "epoch"


class Engine(Owner):
    """One call of `Memory.step`: the state and tables that it works on, and its effects and marks."""

    state: State
    registry: Registry
    effects: list[Effect] = []
    marks: list[str] = []
    ended: Operation | None = None  # the last background operation that ended
    is_switched: bool = False  # the agent may have been closed or opened

    # What rows, their functions and interceptors see.

    def table_of(self, operation: Operation) -> Workflow:
        """Return the revision of the workflow that the operation began with."""
        return self.registry.revisions[operation.workflow][operation.revision - 1]

    def row_of(self, operation: Operation) -> Step:
        return self.table_of(operation).steps[operation.row]

    def hooks_of(self, operation: Operation) -> Interceptors:
        """Return the set of interceptors that the operation began with."""
        return self.registry.generations[operation.hooks]

    def view(self, operation: Operation, row: Step) -> View:
        state = self.state
        return View(
            state.seen_ms, state.scope, state.config, state.epoch, operation.number,
            operation.op_id is None, operation.plan_number,
            operation.may_have_happened and operation.plan_number > 1,
            state.committed_count - operation.committed_before, row.options, state.tiers, [],
        )  # fmt: skip

    # What is reported about an operation.

    def mark(self, operation: Operation, row: Step, *names: str, of: str = "") -> None:
        """Record coverage marks of this row; with `of=" reply"`, marks of the reply that it read."""
        for name in names:
            self.marks.append(f"{operation.workflow}.{row.id}{of}: {name}")

    def add_degradation(
        self, operation: Operation, row: Step, name: str, reason: str, count: int = 1
    ) -> None:
        """Record that this row went on without `count` things, in the plan and in the memory's counters."""
        degradation = Degraded(f"{row.id}:{name}", reason, count)
        operation.degraded = (*operation.doubts, *sum_degradations((*operation.degradations, degradation)))
        self.state.count(f"degraded {name_in_reply(degradation.name)}", count)

    def record_after_notes(
        self, operation: Operation, row: Step, notes: Iterable[HookNote], reason: str
    ) -> int:
        """Record what `after` and `on_error` hooks did; return how many of them gave a fallback."""
        self.state.record_notes(operation, tuple(notes))
        fallbacks = [note for note in notes if (note.hook, note.what) == ("on_error", "substituted")]
        for note in fallbacks:
            self.add_degradation(operation, row, f"hook:{note.name}", reason)
        return len(fallbacks)


def sum_degradations(degradations: Iterable[Degraded]) -> tuple[Degraded, ...]:
    """Merge degradations of equal name and reason by adding their counts, at the position of the last one."""
    counts: dict[tuple[str, str], int] = {}
    for degradation in degradations:
        key = degradation.name, degradation.reason
        counts[key] = counts.pop(key, 0) + degradation.count
    return tuple(Degraded(*key, count) for key, count in counts.items())


def name_in_reply(name: str) -> str:
    """Return the name used in replies: `search:read:damaged_rows` becomes `read:damaged_rows`."""
    rest = name.partition(":")[2]
    return rest if rest.startswith("read:") else name


def facts_of(operation: Operation) -> Facts:
    """Return the facts of the operation in the form that the functions of its rows read."""
    return Facts(operation.facts, operation.unit)


def in_flight(engine: Engine, operation: Operation) -> bool:
    return operation.number in engine.state.operations


# An operation begins, and is resumed by answers and time.


def begin(engine: Engine, workflow: str, op_id: OpId | None, given: dict[str, object]) -> None:
    """Begin an operation on the latest revision and interceptors; a background operation has no `op_id`."""
    state = engine.state
    state.operation_count += 1
    hooks = len(engine.registry.generations) - 1
    revision = engine.registry.latest(workflow)
    operation = Operation(state.operation_count, op_id, workflow, revision, hooks, given)
    # Commits of this memory from now on may make the first plan stale: see `may_yield`.
    operation.committed_before = state.committed_count
    state.operations[operation.number] = operation
    table = engine.table_of(operation)
    if wrong := tuple(name for name, fact in table.knows.items() if not fact.holds(given.get(name))):
        break_off(engine, operation, table.steps[0], "type", wrong)
    # If `break_off` has ended the operation, it is no longer in flight and `proceed` does nothing.
    proceed(engine, operation)


def resume(engine: Engine, answer: Answer) -> None:
    """Give the answer to the operation that waits for it; a late answer changes nothing."""
    operation = engine.state.waiting_for(answer.request_id)
    if operation is None:
        engine.marks.append("late answer")
        return
    assert operation.sent is not None
    checked = check_answer(operation.sent, answer)
    operation.calls = closed_calls(operation.calls, checked, engine.state.seen_ms)
    settle(engine, operation, checked)
    proceed(engine, operation)


def handle_due(engine: Engine) -> None:
    """Handle all time-outs and wake-ups that are due, in order of (time, operation)."""
    # Each round looks up the next one, because handling one may end or wake other operations. The loop ends,
    # since a wait that begins now is due later than now: time-outs are at least 1 ms, backoffs at least 100.
    while operation := next_due(engine):
        if isinstance(operation.progress, Waiting):
            time_out(engine, operation)
        elif asked := operation.asked:
            send(engine, operation, engine.row_of(operation), asked)
        else:  # the operation waited before a new plan: run the row from its start
            operation.progress = Running()
        proceed(engine, operation)


def next_due(engine: Engine) -> Operation | None:
    now_ms = engine.state.seen_ms
    due = [op for op in engine.state.operations.values() if op.due_ms is not None and op.due_ms <= now_ms]
    return min(due, key=lambda op: (op.due_ms, op.number)) if due else None


def proceed(engine: Engine, operation: Operation) -> None:
    """Run rows until one waits or the operation has ended; then start those that were queued behind it."""
    while isinstance(operation.progress, Running) and in_flight(engine, operation):
        run_row(engine, operation, engine.row_of(operation))
    if operation.claims and not in_flight(engine, operation):
        release_queued(engine)


def run_row(engine: Engine, operation: Operation, row: Step) -> None:
    """Begin a row, or its next unit."""
    facts = facts_of(operation)
    # In a validated table this cannot happen; it names the fault of a table that was never validated.
    if missing := tuple(name for name in row.needs if name not in operation.facts):
        break_off(engine, operation, row, "requires", missing)
        return
    if row.when is not None and not row.when(facts):
        leave_out(engine, operation, row)
        advance(engine, operation, None)
        return
    # Attempts and pages are counted per unit: with three attempts, each unit may fail twice.
    operation.attempt, operation.pages, operation.page_count = 0, (), 0
    if must_wait(engine, operation, row):
        engine.mark(operation, row, "queued")
    # Hooks around a row enclose all its units, so they are called before the first, and even without units.
    elif operation.unit == 0 and (given := enter_row(engine, operation, row)) is not None:
        result, _ = leave_row(engine, operation, row, given)
        substitute(engine, operation, result)
    elif row.each is not None and operation.unit >= len(facts[row.each]):
        facts_by_name = {name: tuple(unit[name] for unit in operation.learned) for name in row.learns}
        finish_row(engine, operation, row, Learned(facts_by_name))
    else:
        ask(engine, operation, row)


def ask(engine: Engine, operation: Operation, row: Step) -> None:
    """Send the question of the row, or let the row learn immediately if it asks nothing."""
    asked = row.question(facts_of(operation), engine.view(operation, row))
    if asked is None:
        engine.mark(operation, row, "no question")
        # A read that asks nothing gets an empty answer, so its `take` need not handle None.
        take(engine, operation, row, ReadDone(0) if row.effect is Read else None)
    elif type(asked) is not row.effect:
        break_off(engine, operation, row, "effect", (type(asked).__name__,))
    else:
        send(engine, operation, row, guard(engine, operation, asked) if isinstance(asked, Commit) else asked)


# One attempt of a question, until it is answered or times out.


def send(engine: Engine, operation: Operation, row: Step, asked: Asked) -> None:
    """Begin a new attempt of the question, under a new request_id."""
    state = engine.state
    # Without a new id, a late answer to attempt 1 would be taken for the answer to attempt 2.
    state.request_count += 1
    operation.attempt += 1
    request = complete_question(engine, operation, row, asked)
    sent, given = enter_attempt(engine, operation, row, request)
    # A retry starts from `asked`, not from `sent`, so the hooks of the next attempt rewrite the original.
    operation.progress = Waiting(state.seen_ms + sent.timeout_ms, asked, sent)
    if given is not None:
        settle(engine, operation, given)
        return
    operation.calls = opened_calls(operation, row.id, sent, state.seen_ms)
    engine.effects.append(sent)


def complete_question(engine: Engine, operation: Operation, row: Step, asked: Asked) -> Asked:
    """Fill in request_id, time-out, profile and commit key; before the epoch is known there is no key."""
    state, config, key = engine.state, engine.state.config, ""
    is_of_model = isinstance(asked, AskModel | Embed)
    if isinstance(asked, Commit) and not asked.key and state.epoch:
        key = commit_key(state.scope, state.epoch, operation.number, row.id)
    timeout_ms = config.model_timeout_ms if is_of_model else config.store_timeout_ms
    return filled_in(asked, state.request_count, timeout_ms, str(row.options.get("profile", "")), key)


def time_out(engine: Engine, operation: Operation) -> None:
    """End the wait for an answer: the attempt failed, and a commit has an unknown outcome."""
    assert isinstance(operation.progress, Waiting)
    # A read can simply be repeated, but a commit may be durable although no answer came.
    kind: FailureKind = "unknown" if isinstance(operation.progress.asked, Commit) else "timeout"
    failure = EffectFailed(operation.progress.request_id, kind)
    operation.calls = closed_calls(operation.calls, failure, None)
    settle(engine, operation, failure)


def settle(engine: Engine, operation: Operation, answer: Answer) -> None:
    """Pass the result of an attempt through the interceptors, then to `take` or to the failure policy."""
    row, waiting = engine.row_of(operation), operation.progress
    assert isinstance(waiting, Waiting)
    operation.progress = Running()
    answer = leave_attempt(engine, operation, row, waiting, answer) if operation.entered else answer
    if isinstance(answer, Committed):
        operation.may_have_happened = True
        settle_doubt(operation, waiting.asked, answer)
        engine.state.committed_count += 1
        # The next commit of this operation expects the versions that this one wrote, not those read before.
        operation.reads = tuple(RowRead(operation.row, *it, is_named=True) for it in answer.versions)
    engine.mark(operation, row, answer.kind if isinstance(answer, EffectFailed) else "ok")
    asked = waiting.asked
    if isinstance(asked, Read) and isinstance(answer, ReadDone):
        pages, asked = collect_page(engine, operation, row, asked, answer)
        if pages is None:
            send(engine, operation, row, asked)
            return
        answer = pages
        if isinstance(pages, ReadDone) and engine.table_of(operation).commits:
            operation.reads += rows_read(operation.row, asked, pages)
    if isinstance(answer, EffectFailed):
        fail(engine, operation, row, asked, answer)
    else:
        take(engine, operation, row, answer, asked)


# Pages of a read.


def collect_page(
    engine: Engine, operation: Operation, row: Step, asked: Read, answer: ReadDone
) -> tuple[ReadDone | EffectFailed | None, Read]:
    """Return all rows as one answer, a failure, or None if another page follows; and the next question.

    Every page is checked against the question, and each row counts once. A page without a new row, or beyond
    READ_PAGE_COUNT_MAX, is a failed attempt. Otherwise a store that repeats pages, or invents a row for each
    page, could keep a read going for ever. Attempts are counted from 0 again after each good page.
    """
    known_count = len(operation.pages)
    checked = check_rows(engine, operation, row, asked, answer)
    following = following_page(asked, answer)
    if isinstance(checked, EffectFailed) or following is None:
        return checked, asked
    # The count stops at the maximum, because restoring a saved memory rejects a larger count.
    is_beyond = operation.page_count >= READ_PAGE_COUNT_MAX
    operation.page_count += not is_beyond
    if len(operation.pages) == known_count or is_beyond:
        return EffectFailed(answer.request_id, "unavailable"), following
    operation.attempt = 0
    return None, following


def check_rows(
    engine: Engine, operation: Operation, row: Step, asked: Read, answer: ReadDone
) -> ReadDone | EffectFailed:
    """Return the valid rows of this and all earlier pages as one answer; report the rows left out."""
    # Damage may be in one answer alone, so a damaged row is spared only once reading again has not helped.
    attempts = row.on_failure.attempts if row.on_failure else 0
    is_last = operation.attempt >= (attempts or SPARE_ATTEMPTS)
    judged = judged_rows(asked, answer, row.spares if is_last else ())
    engine.marks += [f"read: {reason} row" for reason, _ in judged.left_out[:1]]
    if judged.failure:
        return EffectFailed(answer.request_id, judged.failure)
    for reason, count in judged.left_out:
        engine.add_degradation(operation, row, f"read:{reason}_rows", reason, count)
    operation.pages = in_order(asked, operation.pages + judged.rows)
    return ReadDone(answer.request_id, operation.pages, answer.cursor, answer.count)


# Expectations of a commit (optimistic concurrency control).
#
#   remember   read Alice@1 ........................ commit Alice@2, expecting Alice@1: a conflict
#   forget         read Alice@1   commit no Alice
#
# A commit expects that each storage row read by its plan still has that version, and that each row it puts
# without having read it is absent. The engine derives this, so no workflow can forget an expectation. A plan
# begins at the row `replan`: earlier reads are never repeated, so they would conflict in every further plan.

UNGUARDED: Final = (
    "receipt",  # guarded by its key: storage answers a known key with the first outcome
    "access",  # counts of uses: losing a count loses no statement
    "vector",  # derived from the row of its entity, which is expected
)
"""Kinds of storage rows that no commit expects."""


def rows_read(step: int, asked: Read, answer: ReadDone) -> tuple[RowRead, ...]:
    """Return the versions that a complete answer shows; a read by ids also shows which rows are absent."""
    query = asked.query
    is_named = isinstance(query, ByIds | ByFilter)
    versions = dict.fromkeys(query.addresses, 0) if isinstance(query, ByIds) else {}
    versions |= {row.address: row.version for row in answer.rows}
    return tuple(
        RowRead(step, address, version, is_named)
        for address, version in versions.items()
        if address.kind not in UNGUARDED
    )


def guard(engine: Engine, operation: Operation, commit: Commit) -> Commit:
    """Return the commit with all expectations: the epoch, those of its plan, and the versions read."""
    state, table = engine.state, engine.table_of(operation)
    epoch = epoch_of(engine, operation)
    expects = {Address(state.scope, EPOCH_ROW, EPOCH_ROW): epoch} if epoch else {}
    expects |= {it.address: it.version for it in commit.expects}
    policy = table.steps[operation.row].on_failure
    start = (table.index(policy.replan) or 0) if policy and policy.replan else 0
    planned_from = [it for it in operation.reads if it.step >= start]
    for read in planned_from:
        if read.is_named and read.address.kind not in table.steps[read.step].loose:
            # If the plan read a row twice, the first version counts: facts may be derived from it.
            expects.setdefault(read.address, read.version)
    written = {write.address: write.body for write in commit.writes}
    # A row that is written is expected even if its kind is loose or only a search found it.
    for read in (*planned_from, *operation.reads):
        if read.address in written:
            expects.setdefault(read.address, read.version)
    # Deleting a row that was never read expects nothing: the row is absent afterwards in any case.
    for address, body in written.items():
        if body is not None and address.kind not in UNGUARDED:
            expects.setdefault(address, 0)
    return structs.replace(commit, expects=tuple(Expect(*it) for it in expects.items()))


# What a row learns.


def take(
    engine: Engine, operation: Operation, row: Step, answer: Answer | None, asked: Asked | None = None
) -> None:
    """Let the row learn from the answer; the answer is None if the row asked nothing."""
    view = engine.view(operation, row)
    # `take` changes a copy of the tiers, which is dropped if the learnt facts break the table.
    view.tiers = engine.state.tiers.copy()
    if isinstance(answer, ModelReplied):
        answer = without_reasoning(engine, operation, row, answer)
    taken = row.take(facts_of(operation), answer, view)
    if isinstance(taken, Unusable):
        engine.mark(operation, row, "unusable")
        engine.mark(operation, row, taken.reason, of=" reply")
        if isinstance(asked, AskModel) and row.on_failure and operation.attempt < row.on_failure.attempts:
            # An unchanged prompt may get the same reply, so the next prompt says what was wrong.
            sleep(engine, operation, row, state_problem(asked, taken.reason))
        else:
            give_up(engine, operation, row, "unusable", taken.reason)
    elif isinstance(taken, Rejection):
        leave_row(engine, operation, row, taken.error, is_final=True)
        # `Refused` means that nothing changed; an earlier attempt may have committed, so that is uncertain.
        is_certain = isinstance(answer, Committed) or not operation.may_have_happened
        finish(engine, operation, Refused(taken.error) if is_certain else Unknown())
    else:
        engine.mark(operation, row, *taken.shapes, of=" reply")
        learn(engine, operation, row, taken, view)


def without_reasoning(engine: Engine, operation: Operation, row: Step, answer: ModelReplied) -> ModelReplied:
    """Remove the reasoning of a model, so that no `take` reads a draft from it."""
    text = strip_reasoning(answer.text)
    if text == answer.text:
        return answer
    engine.mark(operation, row, "reasoning", of=" reply")
    engine.state.count("reasoning stripped")
    return structs.replace(answer, text=text)


def learn(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None = None
) -> None:
    """Store what the row learnt about one unit, or finish the row if it has no `each`."""
    if row.each is None:
        finish_row(engine, operation, row, learned, view)
    elif wrong := find_unsound(operation, row, learned.facts, is_unit=True):
        break_off(engine, operation, row, *wrong)
    else:
        operation.learned += (dict(learned.facts),)
        operation.unit += 1
        put_in_place(engine, operation, row, learned, view)


def finish_row(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None = None
) -> None:
    """Install the facts and tiers of the row if they fit the table, and go on."""
    if wrong := find_unsound(operation, row, learned.facts):
        break_off(engine, operation, row, *wrong)
        return
    if learned.skip_to is not None and learned.skip_to not in row.skips_to:
        break_off(engine, operation, row, "skip", (learned.skip_to,))
        return
    result, is_fallback = leave_row(engine, operation, row, learned.facts)
    if isinstance(result, Error) or is_fallback:
        substitute(engine, operation, result)
        return
    put_in_place(engine, operation, row, learned, view)
    operation.facts.update(result)
    advance(engine, operation, learned.skip_to)


def substitute(engine: Engine, operation: Operation, result: StepResult) -> None:
    """Go on with the facts that an interceptor gave instead of the row, or end with its error."""
    if isinstance(result, Error):
        abort(engine, operation, result)
    else:
        operation.facts.update(result)
        advance(engine, operation, None)


def put_in_place(
    engine: Engine, operation: Operation, row: Step, learned: Learned, view: View | None
) -> None:
    """Install the tiers that `take` returned, and record what is degraded."""
    for name, reason, count in learned.degraded:
        engine.add_degradation(operation, row, name, reason, count)
    if view is not None:
        engine.state.tiers = view.tiers
        engine.marks += view.marks


def leave_out(engine: Engine, operation: Operation, row: Step) -> None:
    """Skip a row: add the facts that it leaves when it does not run."""
    engine.mark(operation, row, "skipped")
    operation.facts.update(row.skipped_values)


def advance(engine: Engine, operation: Operation, skip_to: str | None) -> None:
    """Go to the next row, or forward to row `skip_to`; end the operation after the last row."""
    steps = engine.table_of(operation).steps
    operation.row += 1
    operation.unit, operation.learned = 0, ()
    # Validation allows only forward jumps, so the target is always found.
    while skip_to is not None and steps[operation.row].id != skip_to:
        leave_out(engine, operation, steps[operation.row])
        operation.row += 1
    if operation.row >= len(steps):
        finish(engine, operation, facts_of(operation)[OUTCOME])


def find_unsound(
    operation: Operation, row: Step, facts: Mapping[str, object], *, is_unit: bool = False
) -> tuple[str, tuple[str, ...]] | None:
    """Return how these facts, or those of one unit, break the table, and their names; None if they fit."""
    learns, known = row.learns, operation.facts
    if facts.keys() != learns.keys() or not known.keys().isdisjoint(facts):
        found = {
            "undeclared": [name for name in facts if name not in learns],
            "produces": [name for name in learns if name not in facts],
            "replaces": [name for name in facts if name in known and known[name] != facts[name]],
        }
        for kind, names in found.items():
            if names:
                return kind, tuple(sorted(names))
    for name, fact in learns.items():
        if not (fact.holds_unit(facts[name]) if is_unit else fact.holds(facts[name])):
            return "type", (name,)
    return None


# Failures: retry, plan again, degrade or give up.


def fail(engine: Engine, operation: Operation, row: Step, asked: Asked, failure: EffectFailed) -> None:
    """Apply the policy of the row to a failed attempt."""
    policy = row.on_failure
    assert policy is not None
    if failure.kind in ("unknown", "timeout") and isinstance(asked, Commit):
        operation.may_have_happened = True
    is_final = failure.kind in (*FINAL_KINDS, "conflict") or failure.retry_after_ms > RETRY_AFTER_MS_MAX
    may_retry = not is_final and operation.attempt < policy.attempts
    # Fencing comes first: a new plan, or an error for the caller, would judge rows of a newer incarnation.
    if failure.kind == "conflict" and is_fenced(engine, operation, failure):
        fence(engine, epoch_of(engine, operation))
    elif failure.kind == "conflict" and (policy.replan or policy.conflict_error):
        handle_conflict(engine, operation, row, asked, failure)
    elif policy.attempts == 0 or may_retry:
        sleep(engine, operation, row, asked, min(failure.retry_after_ms, RETRY_AFTER_MS_MAX))
    else:
        give_up(engine, operation, row, failure.kind, "")


def sleep(engine: Engine, operation: Operation, row: Step, asked: Asked, asked_for_ms: int = 0) -> None:
    """Schedule the next attempt: after the backoff, or after the time that the service named if longer."""
    wait_ms = max(backoff_ms(operation.attempt), asked_for_ms)
    operation.progress = Sleeping(engine.state.seen_ms + wait_ms, asked)
    engine.mark(operation, row, "retried")


def is_fenced(engine: Engine, operation: Operation, failure: EffectFailed) -> bool:
    """Return whether a newer incarnation has claimed the epoch.

    Closing or opening the agent writes the epoch itself, so its conflict may be with its own earlier attempt.
    """
    epoch = Address(engine.state.scope, EPOCH_ROW, EPOCH_ROW)
    if operation.workflow in ALONE and operation.may_have_happened:
        return False
    return epoch_of(engine, operation) > 0 and any(address == epoch for address, _ in failure.changed)


def epoch_of(engine: Engine, operation: Operation) -> int:
    """Return the epoch of this incarnation; during recovery it is known only as a fact."""
    return facts_of(operation).get(EPOCH) or engine.state.epoch


def handle_conflict(
    engine: Engine, operation: Operation, row: Step, asked: Asked, failure: EffectFailed
) -> None:
    """Handle a conflict: refuse the request, plan again, or give up."""
    policy = row.on_failure
    assert policy is not None
    view = engine.view(operation, row)
    error = policy.conflict_error(facts_of(operation), failure, view) if policy.conflict_error else None
    if error is not None:
        leave_row(engine, operation, row, error, is_final=True)
        finish(engine, operation, Unknown() if operation.may_have_happened else Refused(error))
        return
    is_own = policy.attempts > 0 and may_yield(engine, operation)
    is_last = policy.attempts > 0 and operation.plan_count >= policy.plans_max
    if policy.replan is None or (is_last and not is_own):
        give_up(engine, operation, row, "conflict", "")
        return
    engine.mark(operation, row, "planned again")
    leave_row(engine, operation, row, abort_error(row, "conflict", operation.attempt), is_final=True)
    count_plan(engine, operation, is_own)
    replan(engine, operation, policy.replan, digest_of(asked))
    if policy.attempts == 0:  # it plans again without limit, so it must wait in between
        due_ms = engine.state.seen_ms + backoff_ms(operation.plan_count - 1)
        operation.progress = Sleeping(due_ms, None)


def replan(engine: Engine, operation: Operation, target: str, digest: bytes) -> None:
    """Go back to row `target`: drop the facts and degradations of that row and all later ones.

    If the commit of this plan is in doubt, its degradations are kept, for the reply may be about it:

        plan 1 lacks 24 vectors, commit: unknown ... lands
                                         plan 2 lacks 13, commit: the receipt of plan 1     reply: lacks 24
    """
    workflow = engine.table_of(operation)
    start = workflow.index(target)
    assert start is not None
    again = workflow.steps[start : operation.row + 1]
    for name in (name for row in again for name in row.learns):
        operation.facts.pop(name, None)
    # Degradations are named `row:what`; the first part says which belong to rows that run again.
    dropped = [row.id for row in again]
    degradations = tuple(it for it in operation.degradations if it.name.partition(":")[0] not in dropped)
    doubts = operation.doubts
    if operation.may_have_happened:
        doubts += (PlanInDoubt(digest, operation.degradations),)
    operation.degraded = (*doubts, *degradations)
    operation.reads = tuple(it for it in operation.reads if it.step < start)
    operation.row, operation.unit, operation.learned = start, 0, ()


def digest_of(asked: Asked) -> bytes:
    """Return the digest that identifies the plan in the receipt of a commit; empty without a receipt."""
    writes = asked.writes if isinstance(asked, Commit) else ()
    return next((write.body.plan_digest for write in writes if isinstance(write.body, Receipt)), b"")


def settle_doubt(operation: Operation, asked: Asked, answer: Committed) -> None:
    """Keep only the degradations of the plan that was committed: this one, or an earlier one in doubt."""
    won = answer.receipt.plan_digest if isinstance(answer.receipt, Receipt) else b""
    # If the receipt names another plan than this one, the reply reports the degradations of that plan.
    earlier = [it.degraded for it in operation.doubts if it.digest == won != digest_of(asked)]
    operation.degraded = earlier[0] if earlier else operation.degradations


def give_up(engine: Engine, operation: Operation, row: Step, kind: str, reason: str) -> None:
    """End the retries: degrade, or abort with an error that names the row, the kind and the attempts."""
    policy = row.on_failure
    assert policy is not None, (row.id, kind)
    if isinstance(policy.then, Degrade):
        engine.add_degradation(operation, row, policy.then.name, reason or kind)
        engine.mark(operation, row, "degraded")
        learn(engine, operation, row, Learned(policy.then.facts(facts_of(operation), reason or kind)))
        return
    engine.mark(operation, row, "aborted")
    result, _ = leave_row(engine, operation, row, abort_error(row, kind, operation.attempt))
    substitute(engine, operation, result)


# The end of an operation.


def abort(engine: Engine, operation: Operation, error: Error) -> None:
    """End with an error that the caller did not cause: Failed, or Unknown if a commit may have happened."""
    finish(engine, operation, Unknown() if operation.may_have_happened else Failed(error))


def break_off(engine: Engine, operation: Operation, row: Step, kind: str, names: tuple[str, ...]) -> None:
    """End an operation whose functions or facts break its workflow table."""
    error = WorkflowBroken(operation.workflow, operation.revision, row.id, kind, names)
    leave_row(engine, operation, row, error, is_final=True)
    finish(engine, operation, Failed(error))


def fence(engine: Engine, epoch: int) -> None:
    """End all operations: a newer incarnation owns the rows, so this one sends nothing more."""
    state = engine.state
    # Questions already asked in this step are dropped: they would go out under a lost epoch.
    engine.effects[:] = [effect for effect in engine.effects if isinstance(effect, Reply)]
    state.phase, state.epoch = "fenced", epoch
    engine.marks.append("fenced")
    for operation in list(state.operations.values()):
        # A commit in flight may have become durable before the newer epoch was claimed.
        operation.may_have_happened |= isinstance(operation.sent, Commit)
        abort(engine, operation, Fenced(epoch))


def finish(engine: Engine, operation: Operation, outcome: Outcome) -> None:
    """Remove the operation and reply; a background operation may start a further one instead."""
    state = engine.state
    del state.operations[operation.number]
    if isinstance(outcome, Done):
        named = (structs.replace(it, name=name_in_reply(it.name)) for it in operation.degradations)
        outcome = Done(outcome.value, sum_degradations(named))
    state.count(f"{operation.workflow} {type(outcome).__name__.lower()}")
    # A delete_agent that timed out may have closed the agent; only recovery finds out.
    engine.is_switched |= operation.workflow in ALONE and operation.may_have_happened
    if operation.op_id is not None:
        engine.effects.append(Reply(operation.op_id, outcome, operation.calls, operation.notes))
        return
    engine.ended = operation
    if isinstance(outcome, Done) and isinstance(outcome.value, WorkflowRequest):
        begin(engine, outcome.value.workflow, None, {"request": outcome.value})


# Turns: an operation that would write the same rows as an earlier one waits for it.
#
#   SetBlock persona   claims core      turn 1   loads, plans, commits
#   SetBlock human     claims core      turn 2   queued until the first has ended
#   Memorize "Ann..."  claims res_1     turn 3   runs beside the first, and asks a model about the text
#   Remember "Ann..."  claims ent_ann   turn 4   runs beside both
#   Memorize           claims ent_ann   turn 5   queued until the remember has ended
#
# Claims last until the operation ends. All claims of one row share one turn. If a table claims at two rows,
# the later row claims only facts and entities (EN4.14), and an operation with such claims makes no more.
# Operations therefore never wait for each other in a circle.


def must_wait(engine: Engine, operation: Operation, row: Step) -> bool:
    """Claim what this row will write; queue the operation, and return True, if an earlier turn claims it."""
    # Only the first plan claims. Later plans keep its turns, so operations queued behind cannot overtake.
    # They add no claims, even if they read more facts: a new claim could close a circle of waits.
    if row.claims is not None and operation.plan_number == 1:
        held = {claim for _, claim in operation.claims}
        wanted = row.claims(facts_of(operation), engine.view(operation, row))
        if more := tuple(it for it in dict.fromkeys(wanted) if it not in held):
            engine.state.turn_count += 1
            operation.claims += tuple((engine.state.turn_count, it) for it in more)
        if engine.state.ahead_of(operation):
            operation.progress = Queued()
    return isinstance(operation.progress, Queued)


def release_queued(engine: Engine) -> None:
    """Start the queued operations that no longer wait for an earlier turn, in order of turns."""
    # The list is a copy, because an operation started here may end immediately and release others.
    queued = [it for it in engine.state.operations.values() if isinstance(it.progress, Queued)]
    for operation in sorted(queued, key=lambda it: it.claims[-1]):
        if isinstance(operation.progress, Queued) and not engine.state.ahead_of(operation):
            operation.progress = Running()
            proceed(engine, operation)


def may_yield(engine: Engine, operation: Operation) -> bool:
    """Return whether this memory has committed since the plan began; then its conflict is not counted."""
    # plan A   read core 4 ................ commit expecting 4: a conflict, but with B of this memory
    # plan B     read core 4   commit: 5                              A plans again, and no plan is counted
    return engine.state.committed_count > operation.committed_before and operation.yield_count < OP_COUNT_MAX


def count_plan(engine: Engine, operation: Operation, is_own: bool) -> None:
    """Count a new plan; conflicts with commits of this memory itself are counted separately."""
    if is_own:
        operation.yield_count += 1
    else:
        operation.plan_count += 1
    operation.committed_before = engine.state.committed_count


# Interceptors around rows and around their attempts.


def enter_row(engine: Engine, operation: Operation, row: Step) -> StepResult | None:
    """Call the `before` hooks of the row; return what a hook gave in its place, None if the row runs."""
    hooks = engine.hooks_of(operation).around_steps
    if not hooks:
        return None
    before = run_before(hooks, run_of(engine, operation, row))
    operation.entered = before.names
    engine.state.record_notes(operation, before.notes)
    return before.result


def leave_row(
    engine: Engine, operation: Operation, row: Step, result: StepResult, *, is_final: bool = False
) -> tuple[StepResult, bool]:
    """Return the result as interceptors leave it, and whether one gave a fallback for a failure.

    The policy of the row comes first: interceptors see a failure only when the policy has given up.
    """
    if not operation.entered:
        return result, False
    names, operation.entered = operation.entered, ()
    run = run_of(engine, operation, row, is_final=is_final)
    after, notes = run_after(engine.hooks_of(operation), names, run, result)
    reason = result.kind if isinstance(result, StepFailed) else "refused"
    return after, engine.record_after_notes(operation, row, notes, reason) > 0


def run_of(engine: Engine, operation: Operation, row: Step, *, is_final: bool = False) -> StepRun:
    """Describe this run of the row to interceptors, with a copy of the facts, so that originals stay safe."""
    context = HookContext(operation.workflow, row.id, 0, "", operation.number)
    facts, never_ends = Facts(dict(operation.facts)), engine.table_of(operation).never_ends
    return StepRun(context, row, facts, never_ends, operation.attempt, is_final)


def enter_attempt(
    engine: Engine, operation: Operation, row: Step, request: Asked
) -> tuple[Asked, Answer | None]:
    """Return the question as interceptors leave it, and an answer if one of them gave it."""
    hooks = engine.hooks_of(operation).around_effects
    if not hooks:
        return request, None
    before = run_before(hooks, Attempt(context_of(operation, row, request), request))
    operation.entered += before.names
    engine.state.record_notes(operation, before.notes)
    assert isinstance(before.wrapped, Attempt)
    return before.wrapped.seen, before.result


def leave_attempt(
    engine: Engine, operation: Operation, row: Step, waiting: Waiting, answer: Answer
) -> Answer:
    """Return the answer as the interceptors around this attempt leave it; those around the row come later."""
    hooks = engine.hooks_of(operation)
    around_row = tuple(name for name in operation.entered if hooks.named[name].site == "step")
    # ("trace", "slow") with "trace" around the row: "slow" is called now, "trace" when the row ends.
    names, operation.entered = operation.entered[len(around_row) :], around_row
    attempt = Attempt(context_of(operation, row, waiting.asked), waiting.sent)
    after, notes = run_after(hooks, names, attempt, answer)
    engine.record_after_notes(
        operation, row, notes, answer.kind if isinstance(answer, EffectFailed) else "refused"
    )
    return after


def context_of(operation: Operation, row: Step, asked: Asked) -> HookContext:
    return HookContext(operation.workflow, row.id, operation.attempt, task_of(asked), operation.number)


# The record of each request to a model or an embedder: sizes and a hash, but no text of a user.


def opened_calls(operation: Operation, step: str, request: Asked, now_ms: int) -> tuple[ModelCall, ...]:
    if not isinstance(request, AskModel | Embed):
        return operation.calls
    texts = (request.prompt,) if isinstance(request, AskModel) else request.texts
    data = "\n".join(texts).encode(errors="surrogatepass")
    texts_count = len(texts) if isinstance(request, Embed) else 0
    call = ModelCall(
        operation.workflow, operation.revision, step, operation.unit, operation.attempt, request.request_id,
        task_of(request), request.profile, now_ms, None, "open", blake2b(data, digest_size=8).hexdigest(),
        len(data), 0, texts_count,
    )  # fmt: skip
    return (*operation.calls, call)


def task_of(asked: Asked) -> str:
    """Return the task of a model request; an embedder has a single task, storage has none (empty)."""
    return asked.task if isinstance(asked, AskModel) else EMBED_TASK if isinstance(asked, Embed) else ""


def closed_calls(
    calls: tuple[ModelCall, ...], answer: Answer, answered_ms: int | None
) -> tuple[ModelCall, ...]:
    """Return the calls with the result of the last attempt; `answered_ms` is None if no answer came."""
    if not calls or calls[-1].request_id != answer.request_id:
        return calls
    outcome = answer.kind if isinstance(answer, EffectFailed) else "ok"
    # A reply may hold lone surrogates: they are counted here, and parsers replace them with U+FFFD.
    size = len(answer.text.encode(errors="surrogatepass")) if isinstance(answer, ModelReplied) else 0
    last = structs.replace(calls[-1], answered_ms=answered_ms, outcome=outcome, reply_bytes=size)
    return (*calls[:-1], last)

"""Attempts: one question of a step until it is answered or given up, and what is done about failures.

Law 1. The memory decides what a time-out is: an answer that comes at its deadline is late.
Law 2. A failure is retried, planned again, degraded or the end, as the step says; each is counted and marked.
Law 3. A commit that may have happened ends as Done or Unknown, whatever its last attempt met. Not even a
       conflict proves that it has not: the rows may have moved on because of it, and storage forgets keys.
"""

from typing import Final

from umi_core.answer_checks import held
from umi_core.engine import around, paging, steps, turns
from umi_core.engine.calls import closed_calls, opened_calls, task_of
from umi_core.engine.engine import Ending, Engine, facts_of
from umi_core.engine.interceptors import Place
from umi_core.engine.onion import Attempt, inward, outward
from umi_core.engine.workflow import EPOCH, Step, abort_error
from umi_core.errors import Deposed
from umi_core.ids import commit_key
from umi_core.limits import BACKOFF_MS_MAX, BACKOFF_MS_MIN, RETRY_AFTER_MS_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    Asked,
    AskModel,
    Commit,
    Embed,
    FailureKind,
    Read,
    Refused,
    Unknown,
    filled_in,
)
from umi_core.rows import Address
from umi_core.state import ALONE, Operation

FINAL_KINDS: Final = ("refused", "full", "too_long", "unusable")
EPOCH_ROW: Final = "epoch"


# Questions and answers.


def send(engine: Engine, operation: Operation, row: Step) -> Ending:
    """Emit the question of this row once more: a new attempt with a new request_id."""
    state = engine.state
    assert operation.asked is not None
    state.request_count += 1
    operation.attempt += 1
    request = completed(engine, operation, row, operation.asked)
    operation.sent, given = hooked(engine, operation, row, request)
    operation.waiting = state.request_count
    operation.due_ms = state.seen_ms + operation.sent.timeout_ms
    state.waiting[state.request_count] = operation.number
    if given is not None:
        return settle(engine, operation, given)
    operation.calls = opened_calls(operation, row.id, operation.sent, state.seen_ms)
    engine.effects.append(operation.sent)
    return None


def hooked(engine: Engine, operation: Operation, row: Step, request: Asked) -> tuple[Asked, Answer | None]:
    """The question as interceptors leave it, and what one of them gives in place of an answer."""
    hooks = engine.hooks_of(operation).around_effects
    if not hooks:
        return request, None
    entered = outward(hooks, Attempt(place(operation, row), request))
    operation.onion += entered.names
    engine.state.noted(operation, entered.notes)
    sent = entered.wrapped
    assert isinstance(sent, Attempt)
    return sent.seen, entered.came


def completed(engine: Engine, operation: Operation, row: Step, asked: Asked) -> Asked:
    """The question with what the engine knows; before the epoch is known no commit has a key."""
    state, config, key = engine.state, engine.state.config, ""
    is_of_model = isinstance(asked, AskModel | Embed)
    if isinstance(asked, Commit) and not asked.key and state.epoch:
        key = commit_key(state.scope, state.epoch, operation.number, row.id)
    timeout_ms = config.model_timeout_ms if is_of_model else config.store_timeout_ms
    profile = str(row.options.get("profile", "default"))
    return filled_in(asked, state.request_count, timeout_ms, profile, key)


def answered(engine: Engine, operation: Operation, told: Answer) -> Ending:
    assert operation.sent is not None
    answer = held(operation.sent, told)
    operation.calls = closed_calls(operation.calls, answer, engine.state.seen_ms)
    return settle(engine, operation, answer)


def timed_out(engine: Engine, operation: Operation) -> Ending:
    """The memory gives up waiting; a commit may have happened all the same."""
    assert operation.waiting is not None
    kind: FailureKind = "unknown" if isinstance(operation.asked, Commit) else "timeout"
    failure = EffectFailed(operation.waiting, kind)
    operation.calls = closed_calls(operation.calls, failure, None)
    return settle(engine, operation, failure)


def settle(engine: Engine, operation: Operation, answer: Answer) -> Ending:
    """What came of the attempt: back through the onion, then the row takes it, or its policy does."""
    row = engine.row_of(operation)
    asked, sent = operation.asked, operation.sent
    assert asked is not None
    assert sent is not None
    assert operation.waiting is not None
    del engine.state.waiting[operation.waiting]
    operation.waiting = operation.due_ms = operation.sent = None
    answer = unhooked(engine, operation, row, sent, answer) if operation.onion else answer
    if isinstance(answer, Committed):
        operation.may_have_happened = True
        engine.state.landed_count += 1
    engine.mark(operation, row, answer.kind if isinstance(answer, EffectFailed) else "ok")
    if isinstance(asked, Read) and isinstance(answer, ReadDone):
        rows = paging.collected(engine, operation, row, asked, answer)
        if rows is None:
            return send(engine, operation, row)
        answer = rows
    if isinstance(answer, EffectFailed):
        return failed(engine, operation, row, answer)
    return steps.take(engine, operation, row, answer)


def unhooked(engine: Engine, operation: Operation, row: Step, sent: Asked, answer: Answer) -> Answer:
    """The answer as the interceptors around this attempt leave it; those around the step stay."""
    hooks = engine.hooks_of(operation)
    around_step = tuple(name for name in operation.onion if hooks.named[name].site == "step")
    names, operation.onion = operation.onion[len(around_step) :], around_step
    after, notes = inward(hooks, names, Attempt(place(operation, row), sent), answer)
    engine.noted(operation, row, notes, answer.kind if isinstance(answer, EffectFailed) else "refused")
    return after


def place(operation: Operation, row: Step) -> Place:
    return Place(operation.workflow, row.id, operation.attempt, task_of(operation.asked), operation.number)


# Failures.


def failed(engine: Engine, operation: Operation, row: Step, failure: EffectFailed) -> Ending:
    policy = row.on_failure
    assert policy is not None
    if failure.kind in ("unknown", "timeout") and isinstance(operation.asked, Commit):
        operation.may_have_happened = True
    if failure.kind == "conflict" and is_deposed(engine, operation, failure):
        return Deposed(epoch_of(engine, operation))
    if failure.kind == "conflict" and (policy.replan or policy.conflict_error):
        return conflicted(engine, operation, row, failure)
    if policy.attempts == 0 or may_retry(operation, row, failure):
        sleep(engine, operation, row, failure)
        return None
    return steps.give_up(engine, operation, row, failure.kind, "")


def is_deposed(engine: Engine, operation: Operation, failure: EffectFailed) -> bool:
    """A batch that closes or opens the agent may have met what an earlier attempt of it has done."""
    epoch = Address(engine.state.scope, EPOCH_ROW, EPOCH_ROW)
    if operation.workflow in ALONE and operation.may_have_happened:
        return False
    return epoch_of(engine, operation) > 0 and any(address == epoch for address, _ in failure.changed)


def epoch_of(engine: Engine, operation: Operation) -> int:
    """The epoch of this life; recovery has claimed it before the memory knows."""
    return facts_of(operation).get(EPOCH) or engine.state.epoch


def may_retry(operation: Operation, row: Step, failure: EffectFailed) -> bool:
    assert row.on_failure is not None
    is_final = failure.kind in FINAL_KINDS or failure.retry_after_ms > RETRY_AFTER_MS_MAX
    return not is_final and failure.kind != "conflict" and operation.attempt < row.on_failure.attempts


def sleep(engine: Engine, operation: Operation, row: Step, failure: EffectFailed) -> None:
    """The same question once more, after a wait."""
    asked_for_ms = min(failure.retry_after_ms, RETRY_AFTER_MS_MAX)
    operation.due_ms = engine.state.seen_ms + max(backoff_ms(operation.attempt), asked_for_ms)
    engine.mark(operation, row, "retried")


def conflicted(engine: Engine, operation: Operation, row: Step, failure: EffectFailed) -> Ending:
    """The caller's fault, another plan, or the end of the policy."""
    policy = row.on_failure
    assert policy is not None
    view = engine.view(operation, row)
    error = policy.conflict_error(facts_of(operation), failure, view) if policy.conflict_error else None
    if error is not None:
        around.left(engine, operation, row, error, is_final=True)
        return Unknown() if operation.may_have_happened else Refused(error)
    is_own = policy.attempts > 0 and turns.may_yield(engine, operation)
    is_last = policy.attempts > 0 and operation.plan_count >= policy.plans_max
    if policy.replan is None or (is_last and not is_own):
        return steps.give_up(engine, operation, row, "conflict", "")
    engine.mark(operation, row, "planned again")
    around.left(engine, operation, row, abort_error(row, "conflict", operation.attempt), is_final=True)
    turns.count_plan(engine, operation, is_own)
    replan(engine, operation, policy.replan)
    if policy.attempts == 0:  # without end, so never without a wait
        operation.due_ms = engine.state.seen_ms + backoff_ms(operation.plan_count - 1)
    return None


def replan(engine: Engine, operation: Operation, target: str) -> None:
    """Back to an earlier row: its facts and all later ones are dropped."""
    workflow = engine.table_of(operation)
    start = workflow.index(target)
    assert start is not None
    again = workflow.steps[start : operation.row + 1]
    for name in (name for row in again for name in row.learns):
        operation.facts.pop(name, None)
    if not operation.may_have_happened:  # else this plan may be the one that is replied of
        forget_degraded(operation, [row.id for row in again])
    operation.row, operation.unit, operation.learned, operation.asked = start, 0, (), None


def forget_degraded(operation: Operation, rows: list[str]) -> None:
    """What these rows went without, they may have the next time."""
    operation.degraded = tuple(it for it in operation.degraded if it.name.partition(":")[0] not in rows)


def backoff_ms(count: int) -> int:
    """How long to wait after so many attempts, or plans: each time twice as long, up to a limit."""
    return min(BACKOFF_MS_MAX, BACKOFF_MS_MIN << min(count - 1, 16))

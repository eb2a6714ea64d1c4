"""Operations from begin to end: step after step of their table, one effect in flight each.

Law 1. A step: requires, `when`, ask, emit, answer, take, produces checked, facts and tiers put in place.
Law 2. What is due is handled in order of (time, operation). Late answers reach nothing.
Law 3. An operation ends once, with the reply to whoever asked; what nobody asked for is counted.
"""

from umi_core.engine import around, attempts, steps, turns
from umi_core.engine.engine import Ending, Engine, facts_of
from umi_core.engine.workflow import Step
from umi_core.errors import Deposed
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Commit, Done, OpId, Outcome, Reply
from umi_core.messages.request import WorkflowRequest
from umi_core.state import ALONE, Operation


def begin(engine: Engine, workflow: str, op_id: OpId | None, given: dict[str, object]) -> None:
    """A new operation, on the latest revision and set of interceptors; `op_id` None: nobody waits for it."""
    state = engine.state
    state.operation_count += 1
    hooks = len(engine.registry.generations) - 1
    revision = engine.registry.latest(workflow)
    operation = Operation(state.operation_count, op_id, workflow, revision, hooks, given)
    operation.landed_before = state.landed_count
    state.operations[operation.number] = operation
    table = engine.table_of(operation)
    if wrong := tuple(name for name, fact in table.knows.items() if not fact.holds(given.get(name))):
        end(engine, operation, steps.broken(engine, operation, table.steps[0], "type", wrong))
    proceed(engine, operation)


def resume(engine: Engine, answer: Answer) -> None:
    """The operation that waits for this answer goes on; a late one reaches nobody."""
    number = engine.state.waiting.get(answer.request_id)
    if number is None:
        engine.marks.append("late answer")
        return
    operation = engine.state.operations[number]
    end(engine, operation, attempts.answered(engine, operation, answer))
    proceed(engine, operation)


def handle_due(engine: Engine) -> None:
    """What is due by now, in order of (time, operation): give up or wake up."""
    while operation := next_due(engine):
        if operation.waiting is not None:
            end(engine, operation, attempts.timed_out(engine, operation))
        elif operation.asked is not None:
            end(engine, operation, attempts.send(engine, operation, engine.row_of(operation)))
        else:
            operation.due_ms = None  # planned again: the row begins anew
        proceed(engine, operation)


def next_due(engine: Engine) -> Operation | None:
    now_ms = engine.state.seen_ms
    due = [op for op in engine.state.operations.values() if op.due_ms is not None and op.due_ms <= now_ms]
    return min(due, key=lambda op: (op.due_ms, op.number)) if due else None


def proceed(engine: Engine, operation: Operation) -> None:
    """Run steps until one waits, or the operation is over; then those go on that waited for it."""
    operations = engine.state.operations
    while operation.due_ms is None and not operation.is_queued and operation.number in operations:
        end(engine, operation, run_step(engine, operation, engine.row_of(operation)))
    if operation.claims and operation.number not in operations:
        turns.advance(engine, proceed)


def run_step(engine: Engine, operation: Operation, row: Step) -> Ending:
    """Begin a step, or its next unit."""
    facts = facts_of(operation)
    if missing := tuple(name for name in row.needs if name not in operation.facts):
        return steps.broken(engine, operation, row, "requires", missing)
    if row.when is not None and not row.when(facts):
        return steps.skip(engine, operation, row)
    operation.attempt, operation.pages, operation.page_count = 0, (), 0
    if turns.must_wait(engine, operation, row):
        engine.mark(operation, row, "queued")
        return None
    if operation.unit == 0 and (came := around.entered(engine, operation, row)) is not None:
        came, _ = around.left(engine, operation, row, came)
        return steps.given(engine, operation, came)
    if operation.unit >= steps.unit_count(operation, row):
        return steps.units_done(engine, operation, row)
    operation.asked = row.ask(facts, engine.view(operation, row)) if row.ask else None
    if operation.asked is None:
        engine.mark(operation, row, "no question")
        return steps.take(engine, operation, row, None)
    if type(operation.asked) is not row.effect:
        return steps.broken(engine, operation, row, "effect", (type(operation.asked).__name__,))
    return attempts.send(engine, operation, row)


# The end.


def end(engine: Engine, operation: Operation, ending: Ending) -> None:
    """Finish the operation, if it has come to its end."""
    if ending is None:
        return
    if isinstance(ending, Deposed):
        depose(engine, ending)
    else:
        finish(engine, operation, ending)


def depose(engine: Engine, deposed: Deposed) -> None:
    """A newer life holds the rows: all in flight fails, and from this step on nothing more is sent."""
    state = engine.state
    engine.effects[:] = [effect for effect in engine.effects if isinstance(effect, Reply)]
    state.phase, state.epoch = "deposed", deposed.epoch
    engine.marks.append("deposed")
    for operation in list(state.operations.values()):
        operation.may_have_happened |= isinstance(operation.sent, Commit)
        end(engine, operation, steps.abort(operation, deposed))


def finish(engine: Engine, operation: Operation, outcome: Outcome) -> None:
    state = engine.state
    if operation.waiting is not None:
        del state.waiting[operation.waiting]
    del state.operations[operation.number]
    operation.due_ms = None
    if isinstance(outcome, Done):
        outcome = Done(outcome.value, operation.degraded)
    state.count(f"{operation.workflow} {type(outcome).__name__.lower()}")
    engine.is_switched |= operation.workflow in ALONE and operation.may_have_happened
    if operation.op_id is None:
        engine.ended = operation
        follow(engine, outcome)
    else:
        engine.effects.append(Reply(operation.op_id, outcome, operation.calls, operation.notes))


def follow(engine: Engine, outcome: Outcome) -> None:
    """What ends with a request, and was asked for by nobody, is followed by it."""
    if isinstance(outcome, Done) and isinstance(outcome.value, WorkflowRequest):
        begin(engine, outcome.value.workflow, None, {"request": outcome.value})

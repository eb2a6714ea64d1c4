"""Interceptors around steps: called once when a step begins, and once when it is done or has failed.

Law 1. What a step has learnt is shown to them before it is put in place; if they refuse it, it is dropped.
Law 2. The policy of the step (retry, substitute, give up) comes first: interceptors are told of a failure
       only when the policy is used up. What they substitute then counts as degraded.
"""

from umi_core.engine.engine import Engine
from umi_core.engine.facts import Facts
from umi_core.engine.interceptors import Place
from umi_core.engine.onion import StepCame, StepRun, inward, outward
from umi_core.engine.workflow import Step
from umi_core.errors import StepFailed
from umi_core.state import Operation


def entered(engine: Engine, operation: Operation, row: Step) -> StepCame | None:
    """What an interceptor gives in place of the step; None: it runs."""
    hooks = engine.hooks_of(operation).around_steps
    if not hooks:
        return None
    entered = outward(hooks, run_of(engine, operation, row))
    operation.onion = entered.names
    engine.state.noted(operation, entered.notes)
    return entered.came


def left(
    engine: Engine, operation: Operation, row: Step, came: StepCame, *, is_final: bool = False
) -> tuple[StepCame, bool]:
    """What the interceptors make of it, and whether that is a fallback for what has failed."""
    if not operation.onion:
        return came, False
    names, operation.onion = operation.onion, ()
    run = run_of(engine, operation, row, is_final=is_final)
    after, notes = inward(engine.hooks_of(operation), names, run, came)
    fallbacks = engine.noted(operation, row, notes, came.kind if isinstance(came, StepFailed) else "refused")
    return after, fallbacks > 0


def run_of(engine: Engine, operation: Operation, row: Step, *, is_final: bool = False) -> StepRun:
    """What they are around; they see a copy of what is known, so that nobody looks on later."""
    place = Place(operation.workflow, row.id, 0, "", operation.number)
    facts, never_ends = Facts(dict(operation.facts)), engine.table_of(operation).never_ends
    return StepRun(place, row, facts, never_ends, operation.attempt, is_final)

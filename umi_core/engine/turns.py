"""Turns: operations of one memory that would write the same rows wait for each other.

    SetBlock persona   claims core      turn 1   loads, plans, commits
    SetBlock human     claims core      turn 2   queued until the first has ended
    Remember "Ann..."  claims ent_ann   turn 3   runs beside the first

Law 1. All claims of an operation are made at once, at one row, and kept until it ends: so turns are an order,
       and nobody waits in a circle.
Law 2. Who conflicts all the same, with a commit of this memory that landed since its plan began, plans again
       without being blamed for it, at most OP_COUNT_MAX times.
"""

from collections.abc import Callable

from umi_core.engine.engine import Engine, facts_of
from umi_core.engine.workflow import Step
from umi_core.limits import OP_COUNT_MAX
from umi_core.state import Operation


def must_wait(engine: Engine, operation: Operation, row: Step) -> bool:
    """Whether this row claims what an earlier turn has; from now on it is queued then."""
    if row.claims is not None and not operation.turn:
        engine.state.turn_count += 1
        operation.turn = engine.state.turn_count
        operation.claims = row.claims(facts_of(operation), engine.view(operation, row))
        operation.is_queued = is_behind(engine, operation)
    return operation.is_queued


def is_behind(engine: Engine, operation: Operation) -> bool:
    """Whether an earlier turn has one of its claims."""
    others = (other for other in engine.state.operations.values() if 0 < other.turn < operation.turn)
    return any(claim in operation.claims for other in others for claim in other.claims)


def advance(engine: Engine, proceed: Callable[[Engine, Operation], None]) -> None:
    """One has ended: who waits for nobody any more goes on, in the order of turns."""
    queued = [operation for operation in engine.state.operations.values() if operation.is_queued]
    for operation in sorted(queued, key=lambda it: it.turn):
        if operation.is_queued and not is_behind(engine, operation):
            operation.is_queued = False
            proceed(engine, operation)


def may_yield(engine: Engine, operation: Operation) -> bool:
    """Whether it was a commit of this memory that came first."""
    return engine.state.landed_count > operation.landed_before and operation.yield_count < OP_COUNT_MAX


def count_plan(engine: Engine, operation: Operation, is_own: bool) -> None:
    """Another plan begins; one that gave way to this memory itself is counted apart."""
    if is_own:
        operation.yield_count += 1
    else:
        operation.plan_count += 1
    operation.landed_before = engine.state.landed_count

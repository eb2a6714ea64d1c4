"""Snapshots: the state of operations before a step, and the input of the step.

Law 1. Values that change in place are copied; all others are kept by reference. Nothing is judged here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from umi_core.answer_checks import check_answer
from umi_core.data import Owner
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ModelReplied, ReadDone, Value
from umi_core.messages.effects import Asked, Degraded, ModelCall
from umi_core.state import Operation, Phase, State, Tiers


class OperationSnapshot(NamedTuple):
    """The place of an operation in its workflow, and all its fields that a step can change."""

    pinned: tuple[str, int, int]
    place: tuple[int, int, int]
    attempt: int
    waiting: int | None
    due_ms: int | None
    asked: Asked | None
    request: object
    facts: Mapping[str, object]
    reported_counts: tuple[int, int]  # numbers of degradations and of notes of interceptors so far
    calls: tuple[ModelCall, ...]
    yields: tuple[int, int]  # how many plans gave way, and how many batches were durable when its plan began
    is_asked: bool = True  # whether a request began it, rather than background work


def snapshot_operation(operation: Operation) -> OperationSnapshot:
    it = operation
    pinned, place = (it.workflow, it.revision, it.hooks), (it.row, it.unit, it.plan_number)
    facts, reported_counts = (
        dict(it.facts),
        (count_degradations(it.degradations) if it.degraded else 0, len(it.notes)),
    )
    return OperationSnapshot(
        pinned, place, it.attempt, it.waiting, it.due_ms, it.asked, facts.get("request"), facts,
        reported_counts, it.calls, (it.yield_count, it.committed_before), it.op_id is not None,
    )  # fmt: skip


def count_degradations(degradations: Iterable[Degraded]) -> int:
    return sum(degradation.count for degradation in degradations)


class StateSnapshot(Owner):
    """The state after one step, for comparison with the next one.

    `hooked_count`: how often an interceptor has refused a question, or answered it in place of the world.
    """

    phase: Phase
    tiers: Tiers
    working_size: tuple[int, int]
    operation_count: int
    request_count: int
    hooked_count: int
    counters: Mapping[str, int]
    snapshots: dict[int, OperationSnapshot]


def before_step(state: State) -> StateSnapshot:
    """Return a snapshot of a state, at any time between two steps."""
    working = state.tiers.working
    size = working.used_bytes, len(working.entries)
    snapshots = {number: snapshot_operation(operation) for number, operation in state.operations.items()}
    counters = dict(state.counters)
    hooked_count = counters.get("hook refused", 0) + counters.get("hook substituted", 0)
    counts = state.operation_count, state.request_count, hooked_count
    # The working tier changes in place, so its size is recorded; everything else is replaced as a whole.
    return StateSnapshot(state.phase, state.tiers.copy(), size, *counts, counters, snapshots)


class StepInput(Owner):
    """The input of a step, as the memory treats it.

    `answered`: the operation that waited for it, or None. `is_hooked`: an interceptor refused or answered a
    question in this step. `still`: each operation that continues, before the step and after it. `after`: the
    state after the step.
    """

    value: Value
    answered: OperationSnapshot | None
    is_hooked: bool
    still: Sequence[tuple[OperationSnapshot, OperationSnapshot]]
    after: StateSnapshot


def describe_step(before: StateSnapshot, value: Value, state: State) -> StepInput:
    """Describe the step with the input `value`; `state` is the state after it."""
    answered, after = find_waiting(before, value), before_step(state)
    now = after.snapshots
    still = [(snapshot, now[number]) for number, snapshot in before.snapshots.items() if number in now]
    is_hooked = after.hooked_count != before.hooked_count
    return StepInput(normalise_answer(answered, value), answered, is_hooked, still, after)


def find_waiting(before: StateSnapshot, value: Value) -> OperationSnapshot | None:
    request_id = getattr(value, "request_id", None)
    if request_id is not None:
        for snapshot in before.snapshots.values():
            if snapshot.waiting == request_id:
                return snapshot
    return None


def normalise_answer(answered: OperationSnapshot | None, value: Value) -> Value:
    """Return an answer as the memory treats it: a malformed one becomes a failure."""
    if answered is None or answered.asked is None:
        return value
    assert isinstance(value, ModelReplied | Embedded | ReadDone | Committed | EffectFailed)
    return check_answer(answered.asked, value)


def find_operation(before: StateSnapshot, answered: OperationSnapshot, state: State) -> Operation | None:
    """Return the operation that waited, in its state after the step; None if it has ended."""
    number = next(number for number, snapshot in before.snapshots.items() if snapshot is answered)
    return state.operations.get(number)


def is_late(snapshot: OperationSnapshot, state: State) -> bool:
    return snapshot.due_ms is not None and snapshot.due_ms <= state.seen_ms

"""Moments of a life, each continued in two ways that must give the same result.

Law 1. Both ways begin with a twin of the same memory. Law 2. At most MOMENT_COUNT_MAX moments of a life are
compared, so the cost does not grow with its length.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from umi_core.background import is_switching
from umi_core.codec import encode
from umi_core.errors import TooManyEntries, WorkingFull
from umi_core.kelpie.requests import AgentRequest
from umi_core.limits import BACKOFF_MS_MIN
from umi_core.memory import Memory
from umi_core.messages.answers import Value, Wake
from umi_core.messages.effects import Effect, Refused, Reply
from umi_core.messages.requests import (
    REQUESTS,
    WORKING,
    CoreRead,
    CreateSession,
    Len,
    LoadSession,
    SaveSession,
    arguments_of,
)
from umi_sim.judge.equivalences.lives import LifeStep, RecordedLife, shorten_value, twin
from umi_sim.record import rules
from umi_sim.record.broken import Broken

MOMENT_COUNT_MAX: Final = 16
STOP_COUNT_MAX: Final = 100

AtMoment = Callable[[int, LifeStep, Memory], bool]  # of the number of a step, the step, the memory before it

KEYED: Final = tuple(  # working requests about one key
    cls for cls in WORKING if any(argument.name == "key" for argument in arguments_of(cls))
)
REQUEST_TYPES: Final = frozenset(REQUESTS.values())
SESSION: Final = (CreateSession, SaveSession, LoadSession)


def at_moments(
    life: RecordedLife, fits: AtMoment, compare: AtMoment, count_max: int = MOMENT_COUNT_MAX
) -> int:
    """Compare at moments of a life that fit; return how often there was something to compare.

    The moments are spread over the life: of `count_max` at most a quarter is used in its first quarter.
    """
    used, compared = 0, 0
    for moment in life.replay_steps():
        # For 16 moments of 160 steps this is at most one in ten steps.
        if used * len(life.steps) <= moment[0] * count_max and fits(*moment):
            used += 1
            compared += compare(*moment)
    return compared


def step_twin(memory: Memory, inputs: Sequence[tuple[int, Value]]) -> tuple[Memory, list[Effect]]:
    """Return a twin that got these inputs, and its effects."""
    other = twin(memory)
    return other, [effect for now_ms, value in inputs for effect in other.step(now_ms, value)]


# E-JUMP.


def compare_jumps(life: RecordedLife) -> int:
    """Run E-JUMP: one jump of the clock, or stops in between."""
    return at_moments(life, has_scheduled_work, compare_jump)


def has_scheduled_work(number: int, step: LifeStep, memory: Memory) -> bool:
    """Return True if something is due later, and nothing is due now."""
    deadline_ms = memory.deadline_ms()
    return bool(list_due_times(memory)) and (deadline_ms is None or deadline_ms > memory.state.seen_ms)


def list_due_times(memory: Memory) -> list[int]:
    """List all later times at which this state changes: operations, entries, the next deadline."""
    state = memory.state
    deadline_ms = memory.deadline_ms()
    found = [
        *(op.due_ms for op in state.operations.values() if op.due_ms is not None),
        *([] if deadline_ms is None else [deadline_ms]),
        *(expires_ms for _, expires_ms in state.tiers.working.entries.values()),
    ]
    return sorted({at_ms: None for at_ms in found if at_ms > state.seen_ms})


def compare_jump(number: int, step: LifeStep, memory: Memory) -> bool:
    now_ms, deadline_ms, times = memory.state.seen_ms, memory.deadline_ms(), list_due_times(memory)
    if deadline_ms is None:
        until_ms = times[-1] + 1
    else:
        # Work that is due at 1,000 ms is due again after the shortest wait, at 1,100 ms or later; exactly
        # when depends on when it woke. So the jump goes to the last due time before that.
        config = memory.state.config
        least_ms = min(BACKOFF_MS_MIN, config.model_timeout_ms, config.store_timeout_ms)
        until_ms = max(at_ms for at_ms in times if at_ms < deadline_ms + least_ms)
    end = until_ms, Len("jump")
    once, _ = step_twin(memory, [end])
    often, _ = step_twin(
        memory, [*((at_ms, Wake()) for at_ms in list_stops(now_ms, until_ms, times)), end, end]
    )
    # After the deadline the state contains the time at which the memory was woken (an operation begun at
    # 1,000 or at 1,003 ms), so only the progress of operations is compared then.
    is_exact = deadline_ms is None or until_ms <= deadline_ms
    one, other = ((it.digest() if is_exact else describe_progress(it)) for it in (once, often))
    if one != other:
        message = f"before step {number}, from {now_ms} to {until_ms}: the state after one jump"
        expected, got = (shorten_value(describe_progress(it)) for it in (often, once))
        raise Broken(rules.JUMP_OR_STEPS, message, expected, got)
    return True


def list_stops(now_ms: int, until_ms: int, times: Sequence[int]) -> list[int]:
    """List the stops of a jump: each millisecond, or those around each due time if these are too many."""
    if until_ms - now_ms <= STOP_COUNT_MAX:
        return list(range(now_ms + 1, until_ms + 1))
    # For a due time of 5,000 the stops are 4,999, 5,000 and 5,001.
    around = (at_ms + by_ms for at_ms in times for by_ms in (-1, 0, 1))
    return sorted({at_ms: None for at_ms in around if now_ms < at_ms <= until_ms})


def describe_progress(memory: Memory) -> object:
    """Return how far each operation has come, without times; the phase; and the entries."""
    operations = [
        (op.number, op.workflow, op.row, op.unit, op.attempt, op.plan_number, type(op.progress).__name__)
        for op in memory.state.operations.values()
    ]
    return operations, memory.state.phase, memory.state.tiers.working.entries


# E-COMMUTE.


def compare_orders(life: RecordedLife) -> int:
    """Run E-COMMUTE: two independent requests, in either order."""
    following = [step.value for step in life.steps[1:]]

    def fits(number: int, step: LifeStep, memory: Memory) -> bool:
        if number == len(following):
            return False
        is_ready = memory.state.phase == "ready" and not is_switching(memory.state)
        return are_independent(step.value, following[number], is_ready)

    return at_moments(
        life, fits, lambda number, step, memory: compare_exchange(step, life.steps[number + 1], memory)
    )


key_of: Final = attrgetter("key")


def are_independent(one: Value, two: Value, is_ready: bool) -> bool:
    """Return True if the order of two requests does not matter while there is room.

    `is_ready`: no request waits for recovery or for a switch of the agent; the order of waiting ones matters.
    """
    kinds = one.__class__, two.__class__
    if not all(kind in REQUEST_TYPES for kind in kinds):
        return False
    if type(one) in KEYED and type(two) in KEYED:
        return bool(key_of(one) != key_of(two))
    # Requests of sessions save or replace the working tier, so their order with its requests matters.
    if any(kind in WORKING for kind in kinds):
        is_other_tier = not all(kind in WORKING for kind in kinds)
        return is_other_tier and not any(kind in SESSION for kind in kinds)
    is_alone = any(issubclass(kind, AgentRequest) for kind in kinds)
    return is_ready and not is_alone and any(issubclass(kind, CoreRead) for kind in kinds)


def compare_exchange(one: LifeStep, two: LifeStep, memory: Memory) -> bool:
    now_ms = max(one.now_ms, two.now_ms)
    first, replies = step_twin(memory, [(now_ms, one.value), (now_ms, two.value)])
    second, exchanged = step_twin(memory, [(now_ms, two.value), (now_ms, one.value)])
    outcomes = [it.outcome for it in (*replies, *exchanged) if isinstance(it, Reply)]
    errors = [it.error for it in outcomes if isinstance(it, Refused)]
    if any(isinstance(it, WorkingFull | TooManyEntries) for it in errors):
        return False  # there is room for only one of them: the first
    what = f"{one.name} and {two.name} at {now_ms}"
    if sorted(map(encode, replies)) != sorted(map(encode, exchanged)):
        message = f"the effects of {what} in both orders"
        raise Broken(rules.EITHER_ORDER, message, shorten_value(replies), shorten_value(exchanged))
    if first.digest() != second.digest():
        raise Broken(rules.EITHER_ORDER, f"{what} leave different states in both orders")
    return True

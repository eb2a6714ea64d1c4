"""One moment of a life, left in two ways that must meet.

Law 1. Both ways begin with a twin of the same memory. Law 2. Of a long life at most MOMENT_COUNT_MAX
moments are looked at, evenly spread, so the cost does not grow with its length.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from umi_core.background import is_switching
from umi_core.codec import encode
from umi_core.config import Config
from umi_core.errors import TooManyEntries, WorkingFull
from umi_core.invariants.broken import Broken
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
    Get,
    Len,
    LoadSession,
    SaveSession,
    Sweep,
    arguments_of,
)
from umi_sim.judge.equivalences.lives import RecordedLife, RecordedStep, told, twin
from umi_sim.record import rules

MOMENT_COUNT_MAX: Final = 48
STOP_COUNT_MAX: Final = 1_000

Leave = Callable[[int, RecordedStep, Memory], bool]

KEYED: Final = tuple(  # working requests about one key
    cls for cls in WORKING if any(argument.name == "key" for argument in arguments_of(cls))
)
REQUEST_TYPES: Final = frozenset(REQUESTS.values())
SESSION: Final = (CreateSession, SaveSession, LoadSession)


def at_moments(life: RecordedLife, fits: Leave, leave: Leave, count_max: int = MOMENT_COUNT_MAX) -> int:
    """Leave a life at moments that fit; how often there was something to compare.

    Of `count_max` no more than what is due of them by then: a quarter in the first quarter of a life.
    """
    left, compared = 0, 0
    for moment in life.lived():
        if left * len(life.steps) <= moment[0] * count_max and fits(*moment):
            left += 1
            compared += leave(*moment)
    return compared


def also(memory: Memory, inputs: Sequence[tuple[int, Value]]) -> tuple[Memory, list[Effect]]:
    """A twin that got these inputs, and what it said."""
    other = twin(memory)
    return other, [effect for now_ms, value in inputs for effect in other.step(now_ms, value)]


# E-JUMP.


def jumped(life: RecordedLife) -> int:
    """E-JUMP: one jump of the clock, against a stop each millisecond, or before, at and after each due."""
    return at_moments(life, has_dues, jump)


def has_dues(number: int, step: RecordedStep, memory: Memory) -> bool:
    """Something is due; what is due already waits for no clock."""
    deadline_ms = memory.deadline_ms()
    return bool(dues(memory)) and (deadline_ms is None or deadline_ms > memory.state.seen_ms)


def dues(memory: Memory) -> list[int]:
    """Whatever time decides in this state, from now on: operations and entries."""
    state = memory.state
    deadline_ms = memory.deadline_ms()
    found = [
        *(op.due_ms for op in state.operations.values() if op.due_ms is not None),
        *([] if deadline_ms is None else [deadline_ms]),
        *(expires_ms for _, expires_ms in state.tiers.working.entries.values()),
    ]
    return sorted({at_ms: None for at_ms in found if at_ms > state.seen_ms})


def jump(number: int, step: RecordedStep, memory: Memory) -> bool:
    now_ms, deadline_ms, times = memory.state.seen_ms, memory.deadline_ms(), dues(memory)
    if deadline_ms is None:
        until_ms = times[-1] + 1
    else:
        until_ms = max(at_ms for at_ms in times if at_ms < deadline_ms + wait_ms_min(memory.state.config))
    end = until_ms, Len("jump")
    once, _ = also(memory, [end])
    often, _ = also(memory, [*((at_ms, Wake()) for at_ms in stops(now_ms, until_ms, times)), end, end])
    is_exact = deadline_ms is None or until_ms <= deadline_ms
    one, other = ((it.digest() if is_exact else standing(it)) for it in (once, often))
    if one != other:
        what = f"before step {number}, from {now_ms} to {until_ms}: one jump, another state than by steps"
        raise Broken(rules.JUMP_OR_STEPS, what, told(standing(often)), told(standing(once)))
    return True


def wait_ms_min(config: Config) -> int:
    """Whatever begins to wait when something is due waits so long: a backoff, or the next question."""
    return min(BACKOFF_MS_MIN, config.model_timeout_ms, config.store_timeout_ms)


def stops(now_ms: int, until_ms: int, times: Sequence[int]) -> list[int]:
    if until_ms - now_ms <= STOP_COUNT_MAX:
        return list(range(now_ms + 1, until_ms + 1))
    near = (at_ms + by_ms for at_ms in times for by_ms in (-1, 0, 1))
    return sorted({at_ms: None for at_ms in near if now_ms < at_ms <= until_ms})


def standing(memory: Memory) -> object:
    """Where operations stand, without the times, which follow from when they were woken; and the entries."""
    operations = [
        (op.number, op.workflow, op.row, op.unit, op.attempt, op.plan_number, type(op.progress).__name__)
        for op in memory.state.operations.values()
    ]
    return operations, memory.state.phase, memory.state.tiers.working.entries


# E-EXPIRE.


def expired(life: RecordedLife) -> int:
    """E-EXPIRE: entries that one sweep finds expired, against a read of each when it expires."""
    return at_moments(life, has_entries, expire)


def has_entries(number: int, step: RecordedStep, memory: Memory) -> bool:
    return bool(memory.state.tiers.working.entries)


def expire(number: int, step: RecordedStep, memory: Memory) -> bool:
    entries = [(expires_ms, key) for key, (_, expires_ms) in memory.state.tiers.working.entries.items()]
    first = sorted(entries)[: len(entries) // 2 + 1]
    until_ms = max(first[-1][0], memory.state.seen_ms)
    swept, said = also(memory, [(until_ms, Sweep("expire"))])
    reads: list[tuple[int, Value]] = [(at_ms, Get("read", key)) for at_ms, key in first]
    read, rest = also(memory, [*reads, (until_ms, Sweep("expire"))])
    counts = [outcomes(effects, "expire") for effects in (said, rest)]
    if counts[0] != counts[1]:
        what = f"at {until_ms}, before step {number}, a sweep counts otherwise than after reads"
        raise Broken(rules.SWEEP_OR_READ, what, told(counts[0]), told(counts[1]))
    if encode(swept.state.tiers.working) != encode(read.state.tiers.working):
        what = f"at {until_ms}, before step {number}, a sweep leaves another tier than reads"
        raise Broken(rules.SWEEP_OR_READ, what)
    return True


def outcomes(effects: Sequence[Effect], op_id: str) -> list[object]:
    return [it.outcome for it in effects if isinstance(it, Reply) and it.op_id == op_id]


# E-COMMUTE.


def exchanged(life: RecordedLife) -> int:
    """E-COMMUTE: two requests that have nothing to do with each other, in either order."""
    following = [step.value for step in life.steps[1:]]

    def fits(number: int, step: RecordedStep, memory: Memory) -> bool:
        if number == len(following):
            return False
        is_ready = memory.state.phase == "ready" and not is_switching(memory.state)
        return independent(step.value, following[number], is_ready)

    return at_moments(life, fits, lambda number, step, memory: exchange(step, life.steps[number + 1], memory))


key_of: Final = attrgetter("key")


def independent(one: Value, two: Value, is_ready: bool) -> bool:
    """Whether neither can matter to the other, while there is room. Where others wait, as for recovery, or
    for what closes or opens the agent, their order does."""
    kinds = one.__class__, two.__class__
    if not all(kind in REQUEST_TYPES for kind in kinds):
        return False
    if type(one) in KEYED and type(two) in KEYED:
        return bool(key_of(one) != key_of(two))
    if any(kind in WORKING for kind in kinds):
        is_other_tier = not all(kind in WORKING for kind in kinds)
        return is_other_tier and not any(kind in SESSION for kind in kinds)
    is_alone = any(issubclass(kind, AgentRequest) for kind in kinds)
    return is_ready and not is_alone and any(issubclass(kind, CoreRead) for kind in kinds)


def exchange(one: RecordedStep, two: RecordedStep, memory: Memory) -> bool:
    now_ms = max(one.now_ms, two.now_ms)
    first, said = also(memory, [(now_ms, one.value), (now_ms, two.value)])
    second, told_then = also(memory, [(now_ms, two.value), (now_ms, one.value)])
    if any(is_short_of_room(effect) for effect in (*said, *told_then)):
        return False  # only one of them may fit, and then the first does
    what = f"{one.name} and {two.name} at {now_ms}"
    if in_any_order(said) != in_any_order(told_then):
        raise Broken(
            rules.EITHER_ORDER, f"{what} say other things when exchanged", told(said), told(told_then)
        )
    if first.digest() != second.digest():
        raise Broken(rules.EITHER_ORDER, f"{what} leave another state when exchanged")
    return True


def is_short_of_room(effect: Effect) -> bool:
    outcome = effect.outcome if isinstance(effect, Reply) else None
    return isinstance(outcome, Refused) and isinstance(outcome.error, WorkingFull | TooManyEntries)


def in_any_order(effects: Sequence[Effect]) -> list[bytes]:
    return sorted(encode(effect) for effect in effects)

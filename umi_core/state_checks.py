"""Requirements on the state of a memory, checked with only the state and the tables of its workflows.

`saved_state.py` refuses a saved state that breaks one; the simulator checks the same ones after each step.

Law 1. A check changes nothing and raises nothing: it yields requirements, each with whether it holds.
Law 2. Bytes, entries and due times are computed again from the entries, and compared with stored totals.
Law 3. A reader stops at the first requirement that does not hold: later ones rely on it.
"""

from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final, Literal

from umi_core import limits
from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import bad_stored_key
from umi_core.engine.middleware import Interceptor
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Step, Workflow
from umi_core.messages.effects import EFFECT_NAMES, Asked, AskModel, Embed
from umi_core.state import Operation, Queued, Sleeping, State, Waiting
from umi_core.text import core_text
from umi_core.tiers.core import CoreTier
from umi_core.tiers.working import WorkingTier
from umi_core.values import BLOCK_KINDS, Block

Promise = Literal[
    "backoff",
    "core-bijection",
    "hook-order",
    "progress",
    "render-order",
    "session-keys-true",
    "space-accounting",
    "system-is-authored",
    "tables-bounded",
    "ttl-boundary",
    "ttl-range",
    "workflow-contract",
]
"""Names of rules of docs/spec."""

BACKGROUND_COUNT_MAX: Final = 4  # recover, rebalance, evolve_category, and upkeep or purge


class Requirement(Data):
    """One requirement of a promise; the reader converts `expected` and `got` to text."""

    holds: bool
    promise: Promise
    message: str
    expected: object = ""
    got: object = ""


Requirements = Iterator[Requirement]


def check_cheap(state: State) -> Requirements:
    """Check that totals are within limits and operations in flight are sound, without recounting."""
    config, tiers = state.config, state.tiers
    used, count = tiers.working.used_bytes, len(tiers.working.entries)
    if not 0 <= used <= config.working_bytes_max:
        message = "bytes of the working tier"
        yield Requirement(False, "space-accounting", message, config.working_bytes_max, used)
    if count > config.working_entry_count_max:
        message = "working entries"
        yield Requirement(False, "space-accounting", message, config.working_entry_count_max, count)
    # For speed, these three yield nothing if they hold: the simulator checks them after every step.
    if (rewrites := len(tiers.rewrites.rewrites)) > limits.RESOLVE_CACHE_COUNT_MAX:
        yield Requirement(False, "tables-bounded", "kept rewrites", limits.RESOLVE_CACHE_COUNT_MAX, rewrites)
    if state.operations or state.queue:
        yield from check_in_flight(state)


# Operations in flight: between two steps, each waits for one answer, sleeps until a due time, or is queued.


def check_in_flight(state: State) -> Requirements:
    yield from check_counts(state)
    operations = state.operations
    asking = [operation for operation in operations.values() if operation.waiting is not None]
    waiting = {operation.waiting for operation in asking}
    holds = len(waiting) == len(asking)
    yield Requirement(holds, "workflow-contract", "two operations wait for one answer", "", waiting)
    for number, operation in operations.items():
        yield from check_operation(number, operation, state)
    yield check_queue(state)


def check_queue(state: State) -> Requirement:
    """Check that every queued operation waits, directly or not, for one that runs: there is no cycle."""
    queued = {it.number: it for it in state.operations.values() if isinstance(it.progress, Queued)}
    while free := [number for number, it in queued.items() if queued.keys().isdisjoint(state.ahead_of(it))]:
        for number in free:
            del queued[number]
    message = "operations are queued behind each other"
    return Requirement(not queued, "progress", message, "one that goes on", [*queued])


def check_counts(state: State) -> Requirements:
    asked_count = sum(operation.op_id is not None for operation in state.operations.values())
    busy_count, limit = len(state.queue) + asked_count, limits.OP_COUNT_MAX
    yield Requirement(busy_count <= limit, "tables-bounded", "requests in flight", limit, busy_count)
    own_count, limit = len(state.operations) - asked_count, BACKGROUND_COUNT_MAX
    yield Requirement(own_count <= limit, "tables-bounded", "operations without a request", limit, own_count)


def check_operation(number: int, operation: Operation, state: State) -> Requirements:
    """Check the number of an operation, and that it waits for one answer, sleeps or is queued."""
    own, last = operation.number, state.operation_count
    yield Requirement(number == own <= last, "workflow-contract", "number of an operation", number, own)
    progress = operation.progress
    if isinstance(progress, Queued):
        # For example, the operations with turns 3 and 5 claim the same fact: 5 is queued until 3 has ended.
        ahead, message = state.ahead_of(operation), f"{operation.workflow} is queued behind no operation"
        yield Requirement(bool(ahead), "progress", message, "an earlier turn", ahead)
        return
    least, count, most = bool(operation.pages), operation.page_count, limits.READ_PAGE_COUNT_MAX
    within = f"{int(least)} to {most}"
    yield Requirement(least <= count <= most, "tables-bounded", "pages of a read", within, count)
    waiting, last = operation.waiting or 0, state.request_count
    message = "it waits for an answer to no question"
    yield Requirement(waiting <= last, "workflow-contract", message, last, waiting)
    holds = isinstance(progress, Waiting | Sleeping)
    yield Requirement(holds, "workflow-contract", f"{operation.workflow} neither waits nor sleeps")
    assert isinstance(progress, Waiting | Sleeping)
    # Only recovery sleeps before a new plan (`handle_conflict`), and so without a question.
    is_between_plans = operation.workflow == "recover" and operation.plan_count > 1
    holds = progress.asked is not None or (is_between_plans and isinstance(progress, Sleeping))
    yield Requirement(holds, "workflow-contract", f"{operation.workflow} has asked nothing and stands still")
    # A failed service may ask for a pause of an hour. A question waits at most for its timeout, which
    # interceptors can only shorten.
    timeout_ms = max(state.config.model_timeout_ms, state.config.store_timeout_ms)
    most_ms = limits.RETRY_AFTER_MS_MAX if operation.waiting is None else timeout_ms
    left_ms = progress.due_ms - state.seen_ms
    yield Requirement(left_ms > 0, "progress", "what was due was not done", "a later time", left_ms)
    yield Requirement(left_ms <= most_ms, "backoff", "time to wait", most_ms, left_ms)


# Operations against their tables.


def check_tables(state: State, registry: Registry, known: Container[int | None] = ()) -> Requirements:
    """Check every operation in flight against its table: facts, effect, attempts, interceptors.

    `known`: request ids of operations that were checked before; an operation that still waits for one of them
    is skipped.
    """
    for operation in state.operations.values():
        if operation.waiting in known:
            continue
        table = registry.at(operation.workflow, operation.revision)
        yield from check_facts(operation, table)
        row = table.steps[operation.row]
        yield from check_attempts(operation, row)
        hooks = registry.generations[operation.hooks].ordered
        yield from check_patience(operation, state.config, bool(hooks))
        yield from check_hooks(operation, row, hooks)


def check_facts(operation: Operation, table: Workflow) -> Requirements:
    """Check that the operation has exactly the facts that its table declares up to its row."""
    declared: dict[str, object] = dict(table.knows)
    # At row 3: the given facts, and those that rows 0 to 2 produce.
    for row in table.steps[: operation.row]:
        declared |= row.learns
    where, holds = f"facts of {operation.workflow}", operation.facts.keys() == declared.keys()
    yield Requirement(holds, "workflow-contract", where, sorted(declared), sorted(operation.facts))
    known, learned = operation.unit, len(operation.learned)
    yield Requirement(known == learned, "workflow-contract", f"units of {operation.workflow}", known, learned)


def check_attempts(operation: Operation, row: Step) -> Requirements:
    where, policy, effect = f"{operation.workflow}.{row.id}", row.on_failure, type(operation.asked)
    holds = effect is row.effect or operation.asked is None
    yield Requirement(holds, "workflow-contract", f"effect of {where}", row.effect, effect)
    if policy is None:
        message = f"{where} waits, and its table has no plan for a failure"
        yield Requirement(False, "workflow-contract", message)
    elif policy.attempts == 0:
        yield Requirement(operation.workflow == "recover", "backoff", f"{where} would try without end")
    else:
        attempts, most = operation.attempt, policy.attempts
        yield Requirement(attempts <= most, "backoff", f"attempts of {where}", most, attempts)
        plans, most = operation.plan_count, policy.plans_max
        yield Requirement(plans <= most, "backoff", f"plans of {where}", most, plans)
        # Plans given up for a commit of this memory are counted separately (`may_yield` in engine.py).
        yields, most = operation.yield_count, limits.OP_COUNT_MAX
        yield Requirement(yields <= most, "backoff", f"plans of {where} that gave way", most, yields)


def check_patience(operation: Operation, config: Config, is_hooked: bool) -> Requirements:
    """Check that the timeout of a question is the configured one, or shorter if there are interceptors."""
    sent = operation.sent
    if sent is None:
        return
    of_model = isinstance(sent, AskModel | Embed)
    due_ms = config.model_timeout_ms if of_model else config.store_timeout_ms
    holds = sent.timeout_ms == due_ms or (is_hooked and sent.timeout_ms < due_ms)
    message = f"time-out of a question of {operation.workflow}"
    yield Requirement(holds, "backoff", message, due_ms, sent.timeout_ms)


def check_hooks(operation: Operation, row: Step, hooks: Sequence[Interceptor]) -> Requirements:
    """Check that the interceptors entered, which will see the answer, are those that `row` implies.

    These are the interceptors around the step and, while a question is in flight, around the question, if
    their filters match. One that failed before is in the notes instead; an operation without a reply has no
    notes, so any subset is right. `hooks`: the generation of the operation, outermost first.
    """
    # While a question is in flight, the interceptors around it are entered, too.
    has_begun = operation.asked is not None or operation.unit > 0
    sites = ("step", "effect") if operation.waiting is not None else ("step",) * has_begun
    around = [hook for site in sites for hook in hooks if hook.site == site]
    due = [hook.name for hook in around if is_named(hook, operation, row.id, row.effect)]
    failed = [it.name for it in operation.notes if it.step == row.id]
    must_enter = operation.op_id is not None
    entered = [name for name in due if name in operation.entered or (must_enter and name not in failed)]
    where, holds = f"interceptors around {operation.workflow}.{row.id}", entered == list(operation.entered)
    yield Requirement(holds, "hook-order", where, entered, operation.entered)


def is_named(hook: Interceptor, operation: Operation, step: str, asks: type[Asked] | None) -> bool:
    """Check that every filter of `hook` that is not empty matches this place."""
    effect = EFFECT_NAMES[asks] if asks is not None else ""
    task = operation.asked.task if isinstance(operation.asked, AskModel) else ""
    here = (operation.workflow, step, effect, task)
    filters = (hook.workflows, hook.steps, hook.effects, hook.tasks)
    return all(each in names for each, names in zip(here, filters, strict=True) if names)


# Tiers.


def check_working(tier: WorkingTier, now_ms: int) -> Requirements:
    used_bytes = 0
    for key, (value, expires_ms) in tier.entries.items():
        yield from check_entry(key, value)
        left_ms, due_ms = expires_ms - now_ms, tier.due_ms
        yield Requirement(
            left_ms <= limits.TTL_MS_MAX, "ttl-range", "time left to live", limits.TTL_MS_MAX, left_ms
        )
        message = "the tier looks for expired keys later than it expires"
        yield Requirement(due_ms <= expires_ms, "ttl-boundary", message, expires_ms, due_ms)
        used_bytes += len(key.encode()) + len(value)
    holds = used_bytes == tier.used_bytes
    yield Requirement(holds, "space-accounting", "bytes used", used_bytes, tier.used_bytes)
    holds = tier.expired_count >= 0
    yield Requirement(holds, "space-accounting", "expired entries", 0, tier.expired_count)


def check_entry(key: str, value: bytes) -> Requirements:
    is_free, is_bounded = not key.startswith("__"), bad_stored_key("key", key) is None
    yield Requirement(is_free, "session-keys-true", "a reserved key is stored", "", key)
    yield Requirement(is_bounded, "tables-bounded", "a key beyond its limits", "", key)
    size, limit = len(value), limits.WORKING_VALUE_BYTES_MAX
    yield Requirement(size <= limit, "tables-bounded", "bytes of a value", limit, size)


def check_core(core: CoreTier) -> Requirements:
    """Check that each entry and each block is in core once, and that they are in order."""
    ids = [entry.entity_id for block in core.blocks for entry in block.entries]
    holds = len(dict.fromkeys(ids)) == len(ids)
    yield Requirement(holds, "core-bijection", "an entity is in core twice", "", ids)
    slots = [(block.kind, block.label) for block in core.blocks]
    holds = len(dict.fromkeys(slots)) == len(slots)
    yield Requirement(holds, "core-bijection", "two blocks in one slot", "", slots)
    yield check_ascending("blocks", [(BLOCK_KINDS.index(kind), label.encode()) for kind, label in slots])
    for block in core.blocks:
        yield from check_block(block)


def check_ascending(what: str, keys: Sequence[tuple[int, bytes]]) -> Requirement:
    holds = all(one < other for one, other in pairwise(keys))
    return Requirement(holds, "render-order", f"{what} are out of order", sorted(keys), keys)


def check_block(block: Block) -> Requirements:
    slot, entries = (block.kind, block.label), block.entries
    holds = block.text is not None or bool(entries)
    yield Requirement(holds, "core-bijection", "a block with nothing in it", "", slot)
    holds = not entries or block.kind != "system"
    yield Requirement(holds, "system-is-authored", "entries in the system block", "", slot)
    yield Requirement(not entries or not block.label, "core-bijection", "entries under a label", "", slot)
    yield check_ascending("entries", [(entry.promoted_ms, entry.entity_id.encode()) for entry in entries])
    # `core_text` was applied when a text was added, so applying it again must change nothing.
    texts = [block.label, block.text or "", *(text for entry in entries for text in (entry.name, entry.text))]
    holds = all(text == core_text(text) for text in texts)
    yield Requirement(holds, "core-bijection", "a character that XML cannot write", "", slot)

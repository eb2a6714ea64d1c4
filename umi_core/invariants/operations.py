"""Operations in flight: one effect each, facts as declared, attempts within their policy.

Law 1. After a step an operation waits for one answer or sleeps until a stated time; what was due is done.
Law 2. It knows the facts that its table declares up to its row, and no others.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Final, Protocol

from umi_core.config import Config
from umi_core.invariants import limits, rules
from umi_core.invariants.broken import Broken, demand
from umi_core.invariants.hooks import Hook, check_hooks
from umi_core.messages.effects import Asked, AskModel, Embed
from umi_core.state import Operation, Queued, Sleeping, State, Waiting

BACKGROUND_COUNT_MAX: Final = (
    4  # recover, rebalance, evolve_category, and upkeep or purge, which no request asked for
)
CONTRACT: Final = rules.WORKFLOW_CONTRACT


def check_in_flight(state: State) -> None:
    check_counts(state)
    operations = state.operations
    asking = [operation for operation in operations.values() if operation.waiting is not None]
    waiting = {operation.waiting for operation in asking}
    demand(len(waiting) == len(asking), CONTRACT, "two operations wait for one answer", "", waiting)
    for number, operation in operations.items():
        check_operation(number, operation, state)


def check_counts(state: State) -> None:
    asked_count = sum(operation.op_id is not None for operation in state.operations.values())
    busy_count, limit = len(state.queue) + asked_count, limits.OP_COUNT_MAX
    demand(busy_count <= limit, rules.TABLES_BOUNDED, "requests in flight", limit, busy_count)
    own_count, limit = len(state.operations) - asked_count, BACKGROUND_COUNT_MAX
    demand(own_count <= limit, rules.TABLES_BOUNDED, "operations nobody asked for", limit, own_count)


def check_operation(number: int, operation: Operation, state: State) -> None:
    """Check the number of an operation, and that it waits for one answer or sleeps until a stated time."""
    own, last = operation.number, state.operation_count
    demand(number == own <= last, CONTRACT, "number of an operation", number, own)
    if isinstance(operation.progress, Queued):
        check_turn(operation, state)
        return
    least, count, most = bool(operation.pages), operation.page_count, limits.READ_PAGE_COUNT_MAX
    demand(least <= count <= most, rules.TABLES_BOUNDED, "pages of a read", f"{int(least)} to {most}", count)
    waiting, last = operation.waiting or 0, state.request_count
    demand(waiting <= last, CONTRACT, "it waits for an answer to no question", last, waiting)
    progress = operation.progress
    demand(
        isinstance(progress, Waiting | Sleeping), CONTRACT, f"{operation.workflow} neither waits nor sleeps"
    )
    assert isinstance(progress, Waiting | Sleeping)
    is_between_plans = operation.workflow == "recover" and operation.plan_count > 1
    holds = progress.asked is not None or (is_between_plans and isinstance(progress, Sleeping))
    demand(holds, CONTRACT, f"{operation.workflow} has asked nothing and stands still")
    left_ms, most_ms = progress.due_ms - state.seen_ms, longest_ms(operation, state)
    demand(left_ms > 0, rules.PROGRESS, "what was due was not done", "a later time", left_ms)
    demand(left_ms <= most_ms, rules.BACKOFF, "time to wait", most_ms, left_ms)


def check_turn(operation: Operation, state: State) -> None:
    """Demand that a queued operation waits for an earlier one that claimed the same."""
    # turns 3 and 5 claim one block: 5 is queued until 3 has ended
    others = [it for it in state.operations.values() if 0 < it.turn < operation.turn]
    shared = [it.number for it in others if any(claim in it.claims for claim in operation.claims)]
    demand(
        shared,
        rules.PROGRESS,
        f"{operation.workflow} is queued behind no operation",
        "an earlier turn",
        shared,
    )


def longest_ms(operation: Operation, state: State) -> int:
    """Return the longest time an operation may wait: interceptors only shorten time-outs."""
    config = state.config
    # a failure may name an hour to sleep; a question waits for its time-out at most
    is_asleep = operation.waiting is None
    return limits.RETRY_AFTER_MS_MAX if is_asleep else max(config.model_timeout_ms, config.store_timeout_ms)


# Against the tables. What is needed of them stands here, since workflows lie a layer above this one.


class FailurePolicy(Protocol):
    @property
    def attempts(self) -> int: ...
    @property
    def plans_max(self) -> int: ...


class TableRow(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def learns(self) -> Mapping[str, object]: ...
    @property
    def effect(self) -> type[Asked] | None: ...
    @property
    def on_failure(self) -> FailurePolicy | None: ...


class WorkflowTable(Protocol):
    @property
    def knows(self) -> Mapping[str, object]: ...
    @property
    def steps(self) -> Sequence[TableRow]: ...


class Generation(Protocol):
    """The interceptors registered at one time, outermost first."""

    @property
    def ordered(self) -> Sequence[Hook]: ...


class WorkflowTables(Protocol):
    """A registry of workflows."""

    def at(self, name: str, revision: int | None = None) -> WorkflowTable: ...
    @property
    def generations(self) -> Sequence[Generation]: ...


def check_tables(state: State, tables: WorkflowTables, known: Container[int | None] = ()) -> None:
    """Demand that every operation in flight is as its table says: facts, effect, attempts, hooks.

    `known`: questions of operations that were checked before; one that still waits for its answer is skipped.
    """
    for operation in state.operations.values():
        if operation.waiting in known:
            continue
        table = tables.at(operation.workflow, operation.revision)
        check_facts(operation, table)
        row = table.steps[operation.row]
        check_attempts(operation, row)
        hooks = tables.generations[operation.hooks].ordered
        check_patience(operation, state.config, bool(hooks))
        check_hooks(operation, row.id, row.effect, hooks)


def check_facts(operation: Operation, table: WorkflowTable) -> None:
    declared = dict(table.knows)
    # at row 3: what it began with, and what rows 0 to 2 have learnt
    for row in table.steps[: operation.row]:
        declared |= row.learns
    where, holds = f"facts of {operation.workflow}", operation.facts.keys() == declared.keys()
    demand(holds, CONTRACT, where, sorted(declared), sorted(operation.facts))
    known, learned = operation.unit, len(operation.learned)
    demand(known == learned, CONTRACT, f"units of {operation.workflow}", known, learned)


def check_patience(operation: Operation, config: Config, is_hooked: bool) -> None:
    """Demand that the time-out of a question is the configured one; only interceptors shorten it."""
    sent = operation.sent
    if sent is None:
        return
    of_model = isinstance(sent, AskModel | Embed)
    due_ms = config.model_timeout_ms if of_model else config.store_timeout_ms
    holds = sent.timeout_ms == due_ms or (is_hooked and sent.timeout_ms < due_ms)
    demand(holds, rules.BACKOFF, f"time-out of a question of {operation.workflow}", due_ms, sent.timeout_ms)


def check_attempts(operation: Operation, row: TableRow) -> None:
    where, policy, effect = f"{operation.workflow}.{row.id}", row.on_failure, type(operation.asked)
    holds = effect is row.effect or operation.asked is None
    demand(holds, CONTRACT, f"effect of {where}", row.effect, effect)
    if policy is None:
        raise Broken(CONTRACT, f"{where} waits, and its table has no plan for a failure")
    if policy.attempts == 0:
        demand(operation.workflow == "recover", rules.BACKOFF, f"{where} would try without end")
        return
    attempts, plans = operation.attempt, operation.plan_count
    demand(attempts <= policy.attempts, rules.BACKOFF, f"attempts of {where}", policy.attempts, attempts)
    demand(plans <= policy.plans_max, rules.BACKOFF, f"plans of {where}", policy.plans_max, plans)
    yields, most = operation.yield_count, limits.OP_COUNT_MAX
    demand(yields <= most, rules.BACKOFF, f"plans of {where} that gave way", most, yields)

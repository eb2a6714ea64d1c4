"""The whole state of a memory as plain data: tiers, operations in flight, counters, the latest time seen.

Law 1. This state alone decides what a memory does next.
Law 2. Tiers are values: a step of a workflow replaces a tier by a new one. Only the working tier is changed
in place, because its requests never wait for an answer.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from umi_core.config import Config
from umi_core.data import Data, Mutable
from umi_core.domains import Count, Moment, OpLabel, Texts, VersionNumber
from umi_core.limits import LIFE_NUMBER_COUNT
from umi_core.messages.effects import Asked, Degraded, HookNote, ModelCall
from umi_core.messages.requests import CoreRead, WorkflowRequest
from umi_core.rows import Address, Row
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier
from umi_core.tiers.rewrites import RewriteCache
from umi_core.tiers.session import SessionInfo
from umi_core.tiers.working import WorkingTier
from umi_core.values import RoutingDecision, Scope

HOOKED: Final = ("refused", "substituted")  # acts of an interceptor that replace an answer of the world

ALONE: Final = ("delete_agent", "open_agent")  # workflows that run while no other operation does

Phase = Literal["new", "recovering", "ready", "over_limit", "closed", "fenced"]
"""`over_limit`: the stored blocks exceed the limits of the settings. `closed`: the agent is deleted.
`fenced`: another incarnation has claimed a newer epoch. Saved states contain these words."""


class Tiers(Mutable):
    """All that an operation can change. Steps get a shallow copy and put new values into it.

    `divisions`: due time of the next division of a category, by its name. `upkeep`: due time of the work that
    a row is missing, by its id; in a closed agent, of the next page of the purge. `retired`: ids of stored
    categories that the settings no longer list.
    """

    tag = 90
    core: CoreTier = msgspec.field(default_factory=CoreTier)
    working: WorkingTier = msgspec.field(default_factory=WorkingTier)
    session: SessionInfo = msgspec.field(default_factory=SessionInfo)
    access: AccessTable = msgspec.field(default_factory=AccessTable)
    decisions: tuple[RoutingDecision, ...] = ()
    rewrites: RewriteCache = msgspec.field(default_factory=RewriteCache)
    divisions: Mapping[str, Moment] = {}
    upkeep: Mapping[str, Moment] = {}
    retired: Texts = ()

    # A shallow copy is enough, since tiers are values; only the working tier is shared.
    def copy(self) -> "Tiers":
        return Tiers(
            self.core, self.working, self.session, self.access, self.decisions, self.rewrites, self.divisions,
            self.upkeep, self.retired,
        )  # fmt: skip


# The progress of an operation in flight: exactly one of these.


class Running(Data):
    """The operation runs within the current step of the memory; never so between two steps."""

    tag = 632


class Queued(Data):
    """The operation waits for another one that has an earlier turn for one of its claims."""

    tag = 633


class Sleeping(Data):
    """At `due_ms` the operation asks `asked` again; if that is None, it begins its row under a new plan."""

    tag = 634
    due_ms: Count
    asked: Asked | None


class Waiting(Data):
    """One attempt is in flight, until its timeout at `due_ms`. `sent`: `asked` as interceptors changed it."""

    tag = 635
    due_ms: Count
    asked: Asked
    sent: Asked

    @property
    def request_id(self) -> int:
        return self.sent.request_id


Progress = Running | Queued | Sleeping | Waiting


class RowRead(Data):
    """A stored row that an operation has read, at the row `step` of its table; version 0: it was absent.

    `is_named`: it was read by id or by a filter, and not found by a search.
    """

    tag = 636
    step: Count
    address: Address
    version: Count
    is_named: bool


class PlanInDoubt(Data):
    """An earlier plan whose commit may be durable: the digest of its receipt, and its degradations."""

    tag = 637
    digest: bytes
    degraded: tuple[Degraded, ...]


class Operation(Mutable):
    """One running workflow: the row of its table, its facts and its progress.

    `may_have_happened`: a commit is durable, or its outcome is unknown. `op_id` is None if it has no caller.
    `entered`: interceptors whose `before` has passed, outermost first; those around the row come before those
    around the attempt. `pages`: the rows of a read so far, of `page_count` pages. `claims`: ids that it works
    on exclusively, each with its turn. `reads`: rows from which its next commit is planned.
    `committed_before`: the `committed_count` of the memory when its plan began; `yield_count`: plans given up
    because of a conflict with a commit of this memory. `degraded`: degradations of its plan, and earlier
    plans in doubt with theirs.
    """

    tag = 91
    number: VersionNumber
    op_id: OpLabel | None
    workflow: str
    revision: VersionNumber
    hooks: Count
    facts: dict[str, object]
    progress: Progress = Running()
    row: Count = 0
    unit: Count = 0
    learned: tuple[Mapping[str, object], ...] = ()
    attempt: Count = 0
    plan_count: VersionNumber = 1
    yield_count: Count = 0
    committed_before: Count = 0
    claims: tuple[tuple[Count, str], ...] = ()
    may_have_happened: bool = False
    pages: tuple[Row, ...] = ()
    page_count: Count = 0
    reads: tuple[RowRead, ...] = ()
    entered: tuple[str, ...] = ()
    degraded: tuple[Degraded | PlanInDoubt, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[HookNote, ...] = ()

    @property
    def plan_number(self) -> int:
        """The number of the current plan, from 1."""
        return self.plan_count + self.yield_count

    @property
    def degradations(self) -> tuple[Degraded, ...]:
        """The degradations of the current plan."""
        return tuple(it for it in self.degraded if isinstance(it, Degraded))

    @property
    def doubts(self) -> tuple[PlanInDoubt, ...]:
        """Earlier plans whose commits may be durable."""
        return tuple(it for it in self.degraded if isinstance(it, PlanInDoubt))

    @property
    def asked(self) -> Asked | None:
        """The question that is in flight or will be asked again."""
        return self.progress.asked if isinstance(self.progress, Waiting | Sleeping) else None

    @property
    def sent(self) -> Asked | None:
        """The question that is in flight, as interceptors changed it."""
        return self.progress.sent if isinstance(self.progress, Waiting) else None

    @property
    def waiting(self) -> int | None:
        """The request_id of the question in flight."""
        return self.progress.request_id if isinstance(self.progress, Waiting) else None

    @property
    def due_ms(self) -> int | None:
        """The time at which the operation goes on without an answer."""
        return self.progress.due_ms if isinstance(self.progress, Waiting | Sleeping) else None


class State(Mutable):
    """The state of a memory. `epoch`: 0 until recovery has ended. `queue`: requests that wait for recovery,
    or for an operation that runs alone.

    `turn_count`: turns given to operations so far; `committed_count`: commits known to be durable.
    """

    tag = 92
    scope: Scope
    config: Config
    seen_ms: Moment = 0
    phase: Phase = "new"
    epoch: Count = 0
    tiers: Tiers = msgspec.field(default_factory=Tiers)
    operations: dict[int, Operation] = {}
    operation_count: Count = 0
    request_count: Count = 0
    # Counters never decrease, so a later turn or commit has a higher number.
    turn_count: Count = 0
    committed_count: Count = 0
    queue: tuple[WorkflowRequest | CoreRead, ...] = ()
    counters: dict[str, int] = {}

    @property
    def life(self) -> int:
        """The number that its host gave to the last `restore`; 0 if the memory was never restored."""
        return self.request_count // LIFE_NUMBER_COUNT

    def begin_life(self, life: int) -> None:
        """Make questions, operations and commit keys use numbers of no earlier incarnation."""
        # If `life` is the one of the state, nothing changes: the restored memory has the same future.
        first = life * LIFE_NUMBER_COUNT
        self.request_count = max(self.request_count, first)
        self.operation_count = max(self.operation_count, first)

    def waiting_for(self, request_id: int) -> Operation | None:
        """Return the operation that waits for this answer; None for a late one."""
        # A scan is fast enough: at most OP_COUNT_MAX operations have a caller, and few have none.
        return next((op for op in self.operations.values() if op.waiting == request_id), None)

    def ahead_of(self, operation: Operation) -> list[int]:
        """Return the numbers of the operations with an earlier turn for one of its claims."""
        turns = {claim: turn for turn, claim in operation.claims}
        return [
            other.number
            for other in self.operations.values()
            if any(turn < turns.get(claim, 0) for turn, claim in other.claims)
        ]

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by

    def record_notes(self, operation: Operation, notes: tuple[HookNote, ...]) -> None:
        """Add notes of interceptors to the operation, and count them: not every operation has a reply."""
        if operation.op_id is not None:
            operation.notes += notes
        for note in notes:
            self.count(f"hook {note.what if note.what in HOOKED else 'failed'}")

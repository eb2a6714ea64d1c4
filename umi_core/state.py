"""The whole state of a memory as plain data: tiers, operations in flight, counters, the latest time seen.

Law 1. Everything that decides what a memory does next is here; nothing is kept beside it.
Law 2. Tiers are values: a row of a workflow puts a new one in place of the old. The working tier alone is
changed in place, because nothing ever waits while it is used.
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

HOOKED: Final = ("refused", "substituted")  # what an interceptor does in place of the world

ALONE: Final = ("delete_agent", "open_agent")  # workflows that run while nothing else does

Phase = Literal["new", "recovering", "ready", "unfit", "closed", "deposed"]


class Tiers(Mutable):
    """All that an operation can learn into. Rows get a shallow copy and put new values into it.

    `divisions`: by the name of a category, when its members are to be divided anew. `upkeep`: by the id of
    a row, when what it lacks is to be done; of a closed agent when the purge goes on. `retired`: ids of the
    stored categories that the settings do not list.
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

    # Shallow, since tiers are values. The working tier alone is one object in both.
    def copy(self) -> "Tiers":
        return Tiers(
            self.core, self.working, self.session, self.access, self.decisions, self.rewrites, self.divisions,
            self.upkeep, self.retired,
        )  # fmt: skip


# What an operation in flight does at this moment: exactly one of these.


class Running(Data):
    """Its row goes on within this step of the memory; between two steps no operation is in this state."""

    tag = 632


class Queued(Data):
    """An operation of an earlier turn has one of its claims. It asks nothing until that one has ended."""

    tag = 633


class Sleeping(Data):
    """At `due_ms` it asks the same question again; with None its row begins anew, after another plan."""

    tag = 634
    due_ms: Count
    asked: Asked | None


class Waiting(Data):
    """One attempt is in flight and is given up at `due_ms`. `sent`: `asked` as interceptors left it."""

    tag = 635
    due_ms: Count
    asked: Asked
    sent: Asked

    @property
    def request_id(self) -> int:
        return self.sent.request_id


Progress = Running | Queued | Sleeping | Waiting


class RowRead(Data):
    """A row that an operation has seen, at the row `step` of its table; version 0: it was not there.

    `is_named`: it was requested by its id or by a filter, and not found by a search.
    """

    tag = 636
    step: Count
    address: Address
    version: Count
    is_named: bool


class PlanInDoubt(Data):
    """An earlier plan whose commit may be durable: the digest in its receipt, and its degradations."""

    tag = 637
    digest: bytes
    degraded: tuple[Degraded, ...]


class Operation(Mutable):
    """One running workflow: its row, what it knows, and what it does at this moment.

    `may_have_happened`: a commit is durable, or its outcome is unknown. `op_id` None means that it has no
    caller. `entered`: interceptors whose `before` has passed, outermost first, those around the row before
    those around the attempt. `pages`: the rows of a read so far, out of `page_count` pages. `claims`: what it
    works on alone, each with the turn that it got for it. `reads`: what its next commit is planned from.
    `committed_before`: commits of this memory that had landed when its plan began; `yield_count`: plans that
    gave way to one of those. `degraded`: degradations of its plan, each as `row:what`, and of other
    plans that may have won.
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
        """The number of its present plan, from 1."""
        return self.plan_count + self.yield_count

    @property
    def degradations(self) -> tuple[Degraded, ...]:
        """Return what the present plan of this operation goes without."""
        return tuple(it for it in self.degraded if isinstance(it, Degraded))

    @property
    def doubts(self) -> tuple[PlanInDoubt, ...]:
        """Earlier plans that may have won."""
        return tuple(it for it in self.degraded if isinstance(it, PlanInDoubt))

    @property
    def asked(self) -> Asked | None:
        """The question of its row that is in flight or will be asked again."""
        return self.progress.asked if isinstance(self.progress, Waiting | Sleeping) else None

    @property
    def sent(self) -> Asked | None:
        """The question that is in flight, as interceptors left it."""
        return self.progress.sent if isinstance(self.progress, Waiting) else None

    @property
    def waiting(self) -> int | None:
        """The request_id of the answer that it waits for."""
        return self.progress.request_id if isinstance(self.progress, Waiting) else None

    @property
    def due_ms(self) -> int | None:
        """When it wants to go on without an answer."""
        return self.progress.due_ms if isinstance(self.progress, Waiting | Sleeping) else None


class State(Mutable):
    """Everything a memory is. `epoch` 0: not recovered yet. `queue`: requests that wait for recovery, or for
    one that runs alone.

    `turn_count`: how many turns operations got; `committed_count`: how many commits have landed.
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
    # Counters only grow: each gives numbers by which a later thing is told from an earlier one.
    turn_count: Count = 0
    committed_count: Count = 0
    queue: tuple[WorkflowRequest | CoreRead, ...] = ()
    counters: dict[str, int] = {}

    @property
    def life(self) -> int:
        """The number that its host gave it when it was restored last; 0 for one that was made anew."""
        return self.request_count // LIFE_NUMBER_COUNT

    def begin_life(self, life: int) -> None:
        """Let questions, operations and commit keys continue with numbers of no earlier incarnation."""
        # With the life that the state has already nothing changes: the memory restored has the same future.
        first = life * LIFE_NUMBER_COUNT
        self.request_count = max(self.request_count, first)
        self.operation_count = max(self.operation_count, first)

    def waiting_for(self, request_id: int) -> Operation | None:
        """Return the operation that waits for this answer; None for a late one."""
        # No table of questions: OP_COUNT_MAX operations have a caller at most, and few others are in flight.
        return next((op for op in self.operations.values() if op.waiting == request_id), None)

    def ahead_of(self, operation: Operation) -> list[int]:
        """Return the numbers of the operations that got an earlier turn for one of its claims."""
        turns = {claim: turn for turn, claim in operation.claims}
        return [
            other.number
            for other in self.operations.values()
            if any(turn < turns.get(claim, 0) for turn, claim in other.claims)
        ]

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by

    def record_notes(self, operation: Operation, notes: tuple[HookNote, ...]) -> None:
        """Note what interceptors did, and count it, because recovery and scans have no reply for notes."""
        if operation.op_id is not None:
            operation.notes += notes
        for note in notes:
            self.count(f"hook {note.what if note.what in HOOKED else 'failed'}")

"""The whole state of a memory as plain data: tiers, operations in flight, counters, the latest time seen.

Law 1. Everything that decides what a memory does next is here; nothing is kept beside it.
Law 2. Tiers are values: a row of a workflow puts a new one in place of the old. The working tier alone is
changed in place, because nothing ever waits while it is used.
"""

from collections.abc import Mapping
from typing import Final, Literal

import attrs

from umi_core.config import Config
from umi_core.domains import Count, Moment, OpLabel, VersionNumber
from umi_core.limits import LIFE_NUMBER_COUNT
from umi_core.messages.effects import Asked, Degraded, HookNote, ModelCall
from umi_core.messages.requests import CoreRead, WorkflowRequest
from umi_core.rows import Row
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier
from umi_core.tiers.rewrites import RewriteCache
from umi_core.tiers.session import SessionInfo
from umi_core.tiers.working import WorkingTier
from umi_core.values import RoutingDecision, Scope

HOOKED: Final = ("refused", "substituted")  # what an interceptor does in place of the world

ALONE: Final = ("delete_agent", "open_agent")  # workflows that run while nothing else does

Phase = Literal["new", "recovering", "ready", "unfit", "closed", "deposed"]


@attrs.define
class Tiers:
    """All that an operation can learn into. Rows get a shallow copy and put new values into it.

    `dues`: by the name of a category, when its members are to be divided anew. `upkeep`: by the id of a row,
    when what it lacks is to be done; of a closed agent when the purge goes on.
    """

    tag = 90
    core: CoreTier = attrs.field(factory=CoreTier)
    working: WorkingTier = attrs.field(factory=WorkingTier)
    session: SessionInfo = attrs.field(factory=SessionInfo)
    access: AccessTable = attrs.field(factory=AccessTable)
    decisions: tuple[RoutingDecision, ...] = ()
    rewrites: RewriteCache = attrs.field(factory=RewriteCache)
    dues: Mapping[str, Moment] = {}
    upkeep: Mapping[str, Moment] = {}

    def copy(self) -> "Tiers":
        return Tiers(
            self.core, self.working, self.session, self.access, self.decisions, self.rewrites, self.dues,
            self.upkeep,
        )  # fmt: skip


@attrs.define
class Operation:
    """One running workflow: where it stands, what it knows, what it waits for.

    `asked` is the question of the current row; a retry sends it again. `sent` is what interceptors made of it
    for this attempt. Waiting for an answer: `waiting` is its request_id and `due_ms` the time it is given up.
    Asleep before the next attempt: `waiting` is None and `due_ms` when it wakes up. `may_have_happened`: a
    commit is durable, or its outcome is unknown. `op_id` None means that nobody waits for a reply. `onion`:
    interceptors still to hear of it, outermost first: those around the row, then those around the attempt.
    `pages`: the rows of a read so far, out of `page_count` pages. `claims`: what it works on alone, since it
    got its `turn`; `is_queued`: an earlier turn has one of them. `landed_before`: commits of this memory that
    had landed when its plan began; `yield_count`: plans that gave way to one of those.
    """

    tag = 91
    number: VersionNumber
    op_id: OpLabel | None
    workflow: str
    revision: VersionNumber
    hooks: Count
    facts: dict[str, object]
    row: Count = 0
    unit: Count = 0
    learned: tuple[Mapping[str, object], ...] = ()
    attempt: Count = 0
    plan_count: VersionNumber = 1
    yield_count: Count = 0
    landed_before: Count = 0
    turn: Count = 0
    claims: tuple[str, ...] = ()
    is_queued: bool = False
    asked: Asked | None = None
    sent: Asked | None = None
    may_have_happened: bool = False
    pages: tuple[Row, ...] = ()
    page_count: Count = 0
    waiting: Count | None = None
    due_ms: Count | None = None
    onion: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    notes: tuple[HookNote, ...] = ()

    @property
    def plan_number(self) -> int:
        """Of its present plan, from 1."""
        return self.plan_count + self.yield_count


@attrs.define
class State:
    """Everything a memory is. `epoch` 0: not recovered yet. `queue`: requests that wait for recovery, or for
    one that runs alone.

    `turn_count`: how often an operation claimed something; `landed_count`: how many commits have landed.
    """

    tag = 92
    scope: Scope
    config: Config
    seen_ms: Moment = 0
    phase: Phase = "new"
    epoch: Count = 0
    tiers: Tiers = attrs.field(factory=Tiers)
    operations: dict[int, Operation] = attrs.field(factory=dict)
    waiting: dict[int, int] = attrs.field(factory=dict)
    operation_count: Count = 0
    request_count: Count = 0
    turn_count: Count = 0
    landed_count: Count = 0
    queue: tuple[WorkflowRequest | CoreRead, ...] = ()
    counters: dict[str, int] = attrs.field(factory=dict)

    @property
    def life(self) -> int:
        """The number that its host gave it when it was restored last; 0 for one that was made anew."""
        return self.request_count // LIFE_NUMBER_COUNT

    def begin_life(self, life: int) -> None:
        """From now on no question, operation or commit key has a number of an earlier life."""
        first = life * LIFE_NUMBER_COUNT
        self.request_count = max(self.request_count, first)
        self.operation_count = max(self.operation_count, first)

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by

    def noted(self, operation: Operation, notes: tuple[HookNote, ...]) -> None:
        """What interceptors did; counted, because recovery and scans reply to nobody."""
        if operation.op_id is not None:
            operation.notes += notes
        for note in notes:
            self.count(f"hook {note.what if note.what in HOOKED else 'failed'}")

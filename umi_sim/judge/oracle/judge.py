"""The judge of a whole run: hands each request, answer, reply and crash to the oracle that knows the tier.

It sees what users and services see, never the faults behind it. Inside checks are umi_sim.judge.invariants'.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.errors import Conflict, SessionConflict, SnapshotDamaged
from umi_core.ids import session_id
from umi_core.invariants.broken import demand
from umi_core.limits import PLAN_COUNT_MAX
from umi_core.messages.answers import Answer, Committed
from umi_core.messages.effects import Asked, Commit, Done, Embed, Failed, Outcome, Refused, Reply, Unknown
from umi_core.messages.requests import (
    CoreRead,
    Count,
    CreateSession,
    Forget,
    GetEntity,
    LoadSession,
    Recall,
    Remember,
    RemoveBlock,
    Request,
    SaveSession,
    SetBlock,
    SetImportance,
    WorkingRequest,
    is_working,
)
from umi_core.messages.results import Remembered, SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Receipt
from umi_core.text import cut
from umi_sim.judge.oracle.archive import ArchiveOracle
from umi_sim.judge.oracle.core import CoreOracle
from umi_sim.judge.oracle.refusals import check_refusal
from umi_sim.judge.oracle.sessions import OpenLoad, OpenSave, Saved, SessionOracle
from umi_sim.judge.oracle.working import Twin, judge
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.services.atlas import Atlas
from umi_sim.services.calls import Call, Services

ArchiveRequest = Remember | Recall | Forget | GetEntity | Count
PHASES: Final = ("drain:", "audit:")
BlockWrite = SetBlock | SetImportance | RemoveBlock


@attrs.define
class Watch(Owner):
    """What the judge knows of one agent: its possible working tiers, its oracles, and what is in flight."""

    config: AgentConfig
    twins: list[Twin]
    core: CoreOracle
    archive: ArchiveOracle
    seen_ms: int = 0
    requests: dict[str, Request] = attrs.field(factory=dict)
    saves: dict[str, OpenSave] = attrs.field(factory=dict)
    loads: dict[str, OpenLoad] = attrs.field(factory=dict)
    spoken: dict[str, None] = attrs.field(factory=dict)  # who has changed the reserved keys already
    request_keys: dict[str, str] = attrs.field(factory=dict)  # of all that was asked, by op_id
    begun: dict[str, int] = attrs.field(factory=dict)  # how many batches were durable when each was asked


class Oracle:
    """Judges from outside. Raises Broken with the readable name of the rule."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.memory = Config.of(config.memory)
        self.sessions = SessionOracle()
        self.committers: dict[str, str] = {}  # who first sent a batch under this key
        self.world_ms: Callable[[], int] = lambda: 0  # for what storage forgets by its own time
        self.atlas = Atlas()
        self.durable_count: Callable[[], int] = lambda: 0  # batches, whoever sent them
        self.watches = {agent.name: self.watch(agent) for agent in config.agents}
        for watch in self.watches.values():
            watch.archive.is_elsewhere = partial(self.is_elsewhere, watch)

    def is_elsewhere(self, watch: Watch, key: str) -> bool:
        """Whether an id is known to another agent than this one."""
        return any(key in other.archive.known for other in self.watches.values() if other is not watch)

    def meet(self, world_ms: Callable[[], int], services: Services) -> None:
        """The world's time, and what services own up to: what is durable, what is lost, how searches lag."""
        self.world_ms, self.atlas = world_ms, services.atlas
        self.durable_count = lambda: services.storage.durable_count
        for watch in self.watches.values():
            watch.archive.lag_since = services.lag_since

    def watch(self, agent: AgentConfig) -> Watch:
        archive = ArchiveOracle(agent.scope, self.memory, self.config.off)
        return Watch(agent, [Twin(self.memory)], CoreOracle(self.memory), archive)

    # What happens.

    def read_clock(self, agent: str, reading_ms: int) -> int:
        """The latest time this life has seen."""
        watch = self.watches[agent]
        if reading_ms > watch.seen_ms:
            watch.seen_ms = reading_ms
        return watch.seen_ms

    def issued(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None:
        watch, now_ms = self.watches[agent], self.read_clock(agent, reading_ms)
        watch.requests[op_id] = request
        if is_working(request):
            return
        watch.begun[op_id] = self.durable_count()
        if isinstance(key := getattr(request, "request_key", None), str):
            watch.request_keys[op_id] = key
        match request:
            case SaveSession():
                watch.saves[op_id] = self.sessions.begin_save(request, watch.twins, now_ms)
            case LoadSession(session_id=session_id):
                scope = watch.config.scope
                watch.loads[op_id] = self.sessions.begin_load(scope.user, scope.agent, session_id)
            case SetBlock() | SetImportance() | RemoveBlock():
                watch.core.issued(op_id, request)
            case Remember() | Recall() | Forget() | GetEntity() | Count():
                watch.archive.saw(now_ms, self.world_ms())
                watch.archive.issued(op_id, request, now_ms)

    def answered(self, call: Call, answer: Answer) -> None:
        watch = self.watches[call.agent]
        request = watch.requests.get(call.op_id)
        if isinstance(call.effect, Commit) and call.effect.key:
            self.sent(watch, call.op_id, call.effect.key)
        if isinstance(request, ArchiveRequest):
            # A row may be made at this step, and its reply lost.
            watch.archive.saw(watch.seen_ms, self.world_ms())
            texts = call.effect.texts if isinstance(call.effect, Embed) else ()
            watch.archive.answered(call.op_id, call.step, answer, len(texts))
        if isinstance(request, Remember) and is_own_batch(call.effect, answer):
            self.remembered(watch, call.op_id, request)

    def sent(self, watch: Watch, op_id: str, key: str) -> None:
        """Operations share a key only if their requests do: else storage takes one for the other."""
        asked = watch.request_keys.get(op_id)
        committer = op_id if asked is None else f"{watch.config.name}: request key {asked}"
        first = self.committers.setdefault(key, committer)
        told = f"{committer} commits under the key of {first}"
        demand(first == committer, "keys-differ", told, "another key", key)

    def crashed(self, agent: str) -> None:
        watch = self.watches[agent]
        for save in watch.saves.values():
            self.sessions.ended(save)
            self.sessions.may_have_saved(save)
        watch.saves.clear()
        watch.loads.clear()
        watch.requests.clear()
        watch.begun.clear()
        watch.spoken.clear()
        watch.twins = [Twin(self.memory)]
        watch.seen_ms = 0
        watch.core.crashed()
        watch.archive.crashed()

    def wiped(self) -> None:
        """Storage is empty and every life has ended: nothing that was promised is there, or comes back."""
        self.sessions = SessionOracle()
        self.committers.clear()
        for watch in self.watches.values():
            watch.core = CoreOracle(self.memory)
            watch.archive.wiped()

    def replied(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None:
        watch = self.watches[agent]
        now_ms, request, outcome = watch.seen_ms, watch.requests.pop(op_id), reply.outcome
        if is_working(request):
            self.worked(watch, request, outcome, reading_ms)
            return
        others_count = self.durable_count() - watch.begun.pop(op_id)
        if not is_conflict(outcome) or not self.is_crowded(watch, request, others_count, now_ms):
            self.must_be_fair(op_id, outcome)
        self.must_be_whole(op_id, request, outcome)
        check_refusal(request, outcome, len(watch.requests))
        is_sure = not self.atlas.has_struck(op_id)
        match request:
            case CreateSession():
                self.created(watch, request, outcome, now_ms, is_sure)
            case SaveSession():
                self.saved(watch, op_id, outcome, is_sure)
            case LoadSession():
                self.loaded(watch, op_id, request, outcome, now_ms)
            case SetBlock() | SetImportance() | RemoveBlock():
                watch.core.replied(op_id, request, outcome)
            case Remember() | Recall() | Forget() | GetEntity() | Count():
                watch.archive.saw(now_ms, self.world_ms())
                watch.archive.replied(op_id, outcome if is_sure else Unknown(), now_ms)
                self.spoken(watch, op_id, request, outcome)
            case _ if isinstance(request, CoreRead):
                watch.core.judge(request, outcome)

    def worked(self, watch: Watch, request: WorkingRequest, outcome: Outcome, reading_ms: int) -> None:
        """Of several possible tiers those are left that explain the reply; so others who loaded learn it."""
        if len(watch.twins) == 1:
            watch.twins = judge(watch.twins, request, outcome, watch.seen_ms, reading_ms)
            return
        possible = [twin for twin in watch.twins if not is_refuted(twin)]
        watch.twins = judge(possible or watch.twins, request, outcome, watch.seen_ms, reading_ms)
        if len(watch.twins) < len(possible):
            session_id = watch.twins[0].session_id
            assert session_id is not None, "only a load makes several of one"
            self.sessions.settle(session_id, watch.twins)

    def must_be_fair(self, op_id: str, outcome: Outcome) -> None:
        """In a plain world nothing fails, nothing is unknown, nothing degrades."""
        if self.config.faults or self.config.mode != "plain":
            return
        rule, where, end = "degradation-named", "in a world without faults", type(outcome).__name__
        demand(not isinstance(outcome, Failed | Unknown), rule, f"{op_id} ended as {end} {where}")
        for lack in outcome.degraded if isinstance(outcome, Done) else ():
            demand(False, rule, f"{op_id} degraded {lack.name} {where}")

    def must_be_whole(self, op_id: str, request: Request, outcome: Outcome) -> None:
        """In a healed world all succeeds, but for what is lost: of that it is said that it is damaged."""
        error = getattr(outcome, "error", None)
        is_damaged = isinstance(error, SnapshotDamaged) or getattr(error, "kind", "") == "damaged"
        if not op_id.startswith(PHASES):
            return
        key = getattr(request, "entity_id", getattr(request, "session_id", ""))
        is_well = not (is_damaged or isinstance(outcome, Failed | Unknown))
        holds = is_well or (is_damaged and self.atlas.explains(str(key)))
        told = f"{op_id} {type(request).__name__} fails in a healed world"
        demand(holds, "acknowledged-is-durable", told, "an answer, or damage", outcome)

    # Sessions.

    def is_crowded(self, watch: Watch, request: Request, others_count: int, now_ms: int) -> bool:
        """Whether each plan may have met a conflict: others were first so often, or all its ids are taken.

        A create tries one id after the other, all of this millisecond.
        """
        ids = [session_id(watch.config.scope, now_ms, n) for n in range(PLAN_COUNT_MAX)]
        is_taken = isinstance(request, CreateSession) and all(key in self.sessions.sessions for key in ids)
        return is_taken or others_count >= PLAN_COUNT_MAX

    def created(
        self, watch: Watch, request: CreateSession, outcome: Outcome, now_ms: int, is_sure: bool
    ) -> None:
        if not isinstance(outcome, Done):
            return
        done = outcome.value
        assert isinstance(done, SessionCreated)
        for twin in watch.twins:
            twin.expire(now_ms)
        is_fitting = done.dropped_count in [len(twin.entries) for twin in watch.twins]
        demand(is_fitting, "reference-agrees", f"create_session dropped {done.dropped_count} entries")
        scope = watch.config.scope
        fresh = Twin(self.memory, session_id=done.session_id, started_ms=done.started_ms, version=1)
        self.sessions.created(scope.user, scope.agent, request, done, fresh, now_ms, is_sure)
        watch.twins = [in_place(fresh, twin) for twin in watch.twins]

    def saved(self, watch: Watch, op_id: str, outcome: Outcome, is_sure: bool) -> None:
        save = watch.saves.pop(op_id)
        self.sessions.ended(save)
        if isinstance(outcome, Done):
            assert isinstance(outcome.value, SessionSaved)
            watch.twins = self.sessions.saved(save, outcome.value, watch.twins, is_sure)
        elif isinstance(outcome, Unknown):
            self.sessions.may_have_saved(save)
        elif self.is_lost(save):
            return
        elif isinstance(outcome, Refused) and isinstance(outcome.error, SessionConflict):
            self.sessions.refused(save, outcome.error)
        if isinstance(outcome, Refused | Failed):
            self.sessions.failed(save)

    def is_lost(self, save: OpenSave) -> bool:
        """Whether a version of this session was told and is not there: then storage has an older one."""
        return any(self.atlas.explains(it.twin.session_id or "") for it in save.candidates)

    def loaded(self, watch: Watch, op_id: str, request: LoadSession, outcome: Outcome, now_ms: int) -> None:
        load = watch.loads.pop(op_id)
        scope = watch.config.scope
        if isinstance(outcome, Refused):
            self.load_refused(request, outcome, load)
        if not isinstance(outcome, Done):
            return
        assert isinstance(outcome.value, SessionLoaded)
        version, told = outcome.value.version, outcome.value.expired_at_rest
        candidates = self.sessions.loaded(scope.user, scope.agent, request, load, outcome.value)
        for twin in watch.twins:
            twin.expire(now_ms)
        rested = [(saved, *saved.at_load(now_ms)) for saved in candidates]
        fitting = [(saved, twin) for saved, twin, expired in rested if expired == told]
        counts = sorted({expired for _, _, expired in rested})
        demand(fitting, "rest-time", f"load told {told} expired at rest", counts)
        self.sessions.shown(request.session_id, version, [saved for saved, _ in fitting])
        loaded = [attrs.evolve(twin, version=version, origins=(saved,)) for saved, twin in fitting]
        watch.twins = once([in_place(twin, old) for twin in loaded for old in watch.twins])

    def load_refused(self, request: LoadSession, outcome: Refused, load: OpenLoad) -> None:
        name = type(outcome.error).__name__
        if name == "SessionNotFound":
            self.sessions.not_found(request, load)
        elif name.startswith("Snapshot"):
            told = f"load refused with {name} where no byte was ever damaged"
            demand("storage_bit_flip" in self.config.faults, "snapshot-guarded", told)

    def spoken(self, watch: Watch, op_id: str, request: Request, outcome: Outcome) -> None:
        """The reserved keys follow answered recalls, and remembers that had nothing to commit."""
        value = outcome.value if isinstance(outcome, Done) else None
        if isinstance(request, Remember) and isinstance(value, Remembered) and not value.repeated:
            self.remembered(watch, op_id, request)
        elif isinstance(request, Recall) and value is not None:
            for twin in watch.twins:
                twin.last_query = cut(request.query, 200)
        watch.spoken.pop(op_id, None)

    def remembered(self, watch: Watch, op_id: str, request: Remember) -> None:
        """The reserved keys follow the order of commits, which is not the one of replies. Once for each."""
        if op_id in watch.spoken:
            return
        watch.spoken[op_id] = None
        for twin in watch.twins:
            twin.interactions += 1
            twin.last_input = cut(request.text, 200)

    # For the workload and the audit.

    def keys(self, agent: str) -> Sequence[str]:
        return tuple(self.watches[agent].twins[0].entries)

    def entity_ids(self, agent: str) -> Sequence[str]:
        return self.watches[agent].archive.known_ids()

    def session_ids(self, agent: str) -> Sequence[str]:
        user = self.watches[agent].config.scope.user
        return tuple(key for key, session in self.sessions.sessions.items() if session.user == user)

    def other_agents(self, agent: str) -> Sequence[str]:
        scope = self.watches[agent].config.scope
        others = (watch.config.scope for watch in self.watches.values())
        return tuple(other.agent for other in others if other.user == scope.user and other != scope)

    def expiries(self, agent: str) -> Sequence[int]:
        """Deadlines of live entries, on the agent's own clock."""
        return tuple(expires_ms for _, expires_ms in self.watches[agent].twins[0].entries.values())


def is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and isinstance(outcome.error, Conflict)


def is_own_batch(effect: Asked, answer: Answer) -> bool:
    """Whether a batch is durable, and not the one of an earlier request with the same request key."""
    if not isinstance(effect, Commit) or not isinstance(answer, Committed):
        return False
    own = [write.body.by for write in effect.writes if isinstance(write.body, Receipt)]
    return not isinstance(answer.receipt, Receipt) or answer.receipt.by in own


def in_place(twin: Twin, old: Twin) -> Twin:
    """A session put in place of what there was; what has expired stays counted."""
    return attrs.evolve(twin.copy(), expired=old.expired, place=old.place + 1)


def once(twins: list[Twin]) -> list[Twin]:
    """Equal possibilities count once."""
    kept: list[Twin] = []
    for twin in twins:
        if twin in kept:
            kept[kept.index(twin)].origins += twin.origins
        else:
            kept.append(twin)
    return kept


def is_refuted(twin: Twin) -> bool:
    """None of the saves that it may come from was the one that was saved."""
    found = [saved for saved in twin.origins if isinstance(saved, Saved)]
    return bool(found) and all(saved.is_refuted for saved in found)

"""The model of sessions: what one memory may be told when it creates, saves and loads a session.

What all memories know of all sessions is in `sessions`; this is the side of one memory, with its saves and
loads in flight and the working tier that they pack or replace.
"""

from umi_core import errors
from umi_core.invariants.broken import demand
from umi_core.messages.effects import Done, Refused, Unknown
from umi_core.messages.requests import CreateSession, EndSession, LoadSession, SaveSession
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved
from umi_core.values import Scope
from umi_sim.judge.oracle.model import Ending, Model, Surroundings
from umi_sim.judge.oracle.sessions import OpenLoad, OpenSave, Sessions
from umi_sim.judge.oracle.twin import Twin
from umi_sim.judge.oracle.working import WorkingModel
from umi_sim.record import rules
from umi_sim.record.run_config import RunConfig


class SessionModel(Model):
    """What sessions of one memory must answer. `saves` and `loads` are in flight, by op_id."""

    judges = (CreateSession, SaveSession, LoadSession)
    watches = (EndSession,)

    def __init__(
        self,
        scope: Scope,
        run: RunConfig,
        surroundings: Surroundings,
        sessions: Sessions,
        working: WorkingModel,
    ) -> None:
        self.scope, self.run, self.surroundings = scope, run, surroundings
        self.sessions, self.working = sessions, working
        self.saves: dict[str, OpenSave] = {}
        self.loads: dict[str, OpenLoad] = {}

    def issued(self, op_id: str, request: object, now_ms: int) -> None:
        if isinstance(request, SaveSession):
            self.saves[op_id] = self.sessions.begin_save(request, self.working.twins, now_ms)
        elif isinstance(request, LoadSession | EndSession):
            scope = self.scope
            self.loads[op_id] = self.sessions.begin_load(scope.user, scope.agent, request.session_id)

    def crashed(self) -> None:
        for save in self.saves.values():
            self.sessions.end_save(save)
            self.sessions.may_have_saved(save)
        self.saves.clear()
        self.loads.clear()

    def replied(self, ending: Ending) -> None:
        match ending.request:
            case CreateSession():
                self.judge_create(ending)
            case SaveSession():
                self.judge_save(ending)
            case LoadSession():
                self.judge_load(ending)
            case EndSession():
                self.judge_end(ending)

    def judge_create(self, ending: Ending) -> None:
        done = ending.value(SessionCreated)
        if done is None:
            return
        self.working.expire(ending.now_ms)
        counts = [len(twin.entries) for twin in self.working.twins]
        message = f"create_session dropped {done.dropped_count} entries"
        demand(done.dropped_count in counts, rules.REFERENCE_AGREES, message)
        fresh = Twin(self.working.config, session_id=done.session_id, started_ms=done.started_ms, version=1)
        self.sessions.judge_create(self.scope, ending, done, fresh)
        self.working.open_session([fresh])

    def judge_save(self, ending: Ending) -> None:
        save, outcome = self.saves.pop(ending.op_id), ending.outcome
        self.sessions.end_save(save)
        done = ending.value(SessionSaved)
        if done is not None:
            twins = self.sessions.judge_save(save, done, self.working.twins, ending.is_sure)
            self.working.twins = twins
        elif isinstance(outcome, Unknown):
            self.sessions.may_have_saved(save)
        elif not self.is_lost(save):
            if isinstance(outcome, Refused) and isinstance(outcome.error, errors.SessionConflict):
                self.sessions.judge_conflict(save, outcome.error)
            self.sessions.take_back(save)

    def is_lost(self, save: OpenSave) -> bool:
        """Whether a version of this session was told and is not there: then storage has an older one."""
        return any(self.surroundings.atlas.explains(it.twin.session_id or "") for it in save.candidates)

    def judge_load(self, ending: Ending) -> None:
        load, outcome = self.loads.pop(ending.op_id), ending.outcome
        if isinstance(outcome, Refused):
            self.judge_refused_load(ending.request, outcome, load)
        done = ending.value(SessionLoaded)
        if done is None:
            return
        candidates = self.sessions.judge_load(self.scope, ending.request, load, done)
        self.working.expire(ending.now_ms)
        rested = [(saved, *saved.at_load(ending.now_ms)) for saved in candidates]
        fitting = [(saved, twin) for saved, twin, expired in rested if expired == done.expired_at_rest]
        counts = sorted({expired for _, _, expired in rested})
        demand(fitting, rules.REST_TIME, f"load told {done.expired_at_rest} expired at rest", counts)
        self.sessions.show(ending.request.session_id, done.version, [saved for saved, _ in fitting])
        self.working.open_session([twin.loaded_from(saved, done.version) for saved, twin in fitting])

    def judge_refused_load(self, request: LoadSession, outcome: Refused, load: OpenLoad) -> None:
        name = type(outcome.error).__name__
        if isinstance(outcome.error, errors.SessionNotFound):
            self.sessions.judge_missing(request, load)
        elif name.startswith("Snapshot"):
            has_damage = "storage_bit_flip" in self.run.faults
            message = f"load refused with {name} where no byte was ever damaged"
            demand(has_damage, rules.SNAPSHOT_GUARDED, message)

    def judge_end(self, ending: Ending) -> None:
        """Who may load a session may end it, and nobody else."""
        load, outcome = self.loads.pop(ending.op_id), ending.outcome
        if isinstance(outcome, Refused) and isinstance(outcome.error, errors.SessionNotFound):
            self.sessions.judge_missing(ending.request, load)
        elif isinstance(outcome, Done):
            self.sessions.judge_member(self.scope, ending.request.session_id, "ended")

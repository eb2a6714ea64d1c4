"""The oracle: judges a whole run from outside, by requests, answers of the world, and replies.

It has a set of models (model.py) for each agent, and passes each event to the models that override its
method. umi_sim.judge.invariants judges a memory from inside.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from umi_core.data import Owner
from umi_core.messages.answers import Answer, EffectFailed, ModelReplied
from umi_core.messages.effects import Outcome, Refused, Reply
from umi_core.messages.requests import ALL, Request
from umi_core.values import Pairs, Scope
from umi_sim.judge.oracle.agents import Closing, CommitKeys, ReplacedIncarnation, Tampered
from umi_sim.judge.oracle.api_model import ApiModel
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.model import BACKGROUND, ArchiveModel
from umi_sim.judge.oracle.core_model import CoreModel
from umi_sim.judge.oracle.migration_model import MigrationModel
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings, check_models
from umi_sim.judge.oracle.promises import Failures, Promises, check_error
from umi_sim.judge.oracle.working import SessionModel, SessionsModel, WorkingModel
from umi_sim.judge.plain.requests import describe_misfit
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.category_lists import config_of_incarnation
from umi_sim.record.run_config import (
    LATE_REFUSING_HOOK,
    REFUSING_HOOK,
    SUBSTITUTING_HOOK,
    AgentConfig,
    RunConfig,
)
from umi_sim.services.calls import Call, Services

# Closing comes first: a reply that closes the agent empties the other models before they judge it.
MODELS: Final[tuple[type[OracleModel], ...]] = (
    Closing,
    Promises,
    Failures,
    SessionModel,
    CoreModel,
    ArchiveModel,
    ApiModel,
    MigrationModel,
    WorkingModel,
)
"""The models, in the order in which they observe an event."""

Listeners = Mapping[type, tuple[int, ...]]
# Checked at import, so that no run can contain a new kind of request that no model judges.
check_models(MODELS, ALL)


def list_listeners(event: str) -> Listeners:
    """Return, by kind of request, the indexes in MODELS of the models that override this event."""
    method = getattr(OracleModel, event)
    return {
        cls: tuple(
            at
            for at, model in enumerate(MODELS)
            if cls in (*model.judges, *model.watches) and getattr(model, event) is not method
        )
        for cls in ALL
    }


# Most models ignore most events, so the listeners are looked up once: ISSUED[Remember] -> (0, 1, 2, 5),
# ISSUED[Get] -> ().
ISSUED: Final = list_listeners("observe_request")
ANSWERED: Final = list_listeners("observe_answer")
REPLIED: Final = list_listeners("observe_reply")
AWAY: Final = list_listeners("turned_away")


def list_substitutes(reply: Reply) -> Iterator[tuple[str, Answer]]:
    """Yield the answers by interceptors of the simulator that a reply names, each with its step.

    These interceptors are in umi_sim/machines/revisions.py. The world has not sent these answers, so without
    them the models could not explain why an operation continues or fails.
    """
    for note in reply.hooks:
        if note.name == REFUSING_HOOK:
            is_answered = note.what == "substituted"  # otherwise it refused or raised, with equal effect
            yield note.step, ModelReplied(0, "") if is_answered else EffectFailed(0, "refused")
        elif note.name == SUBSTITUTING_HOOK:
            yield note.step, ModelReplied(0, "")
        elif note.name == LATE_REFUSING_HOOK:
            yield note.step, EffectFailed(0, "unknown")


def check_reply(op_id: str, request: Request, outcome: Outcome) -> None:
    """Demand that a reply has the class for its request, and that each field has an allowed value."""
    wrong, message = describe_misfit(request, outcome), f"the reply to {op_id} {type(request).__name__}"
    demand(not wrong, rules.WHOLE_VALUES, message, "", wrong)


class AgentModel(Owner):
    """All models of one agent.

    `models`: in the order of MODELS. `seen_ms`: the latest time that this incarnation has seen. `requests`:
    those in flight.
    """

    config: AgentConfig
    closing: Closing
    promises: Promises
    failures: Failures
    sessions: SessionModel
    core: CoreModel
    archive: ArchiveModel
    api: ApiModel
    migration: MigrationModel
    working: WorkingModel
    seen_ms: int = 0
    requests: dict[str, Request] = {}
    models: tuple[OracleModel, ...] = ()

    def __post_init__(self) -> None:
        self.core.api, self.api.find_fit = self.api.blocks_now, self.archive.find_fit
        self.working.list_stored_facts = self.archive.log.list_stored_facts
        self.closing.keys, self.closing.on_closed = self.api.keys, self.observe_closing
        self.models = (
            self.closing, self.promises, self.failures, self.sessions, self.core, self.archive, self.api,
            self.migration, self.working,
        )  # fmt: skip

    def observe_closing(self) -> None:
        """Empty all models, and issue the requests in flight to them again."""
        for model in self.models:
            model.observe_closing()
        in_flight: dict[str, Any] = dict(self.requests)
        for op_id, request in in_flight.items():
            # These models have forgotten the requests in flight, which now run on the empty agent.
            for model in (self.core, self.archive, self.api):
                if type(request) in (*model.judges, *model.watches):
                    model.observe_request(op_id, request, self.seen_ms)

    def observe_crash(self) -> None:
        for model in self.models:
            model.observe_crash()
        self.requests.clear()
        self.seen_ms = 0


class Oracle:
    """Judges a run from outside. Raises Broken with the readable name of the rule."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.memory = config_of_incarnation(config, 0)
        self.surroundings = Surroundings()
        self.sessions = SessionsModel()
        self.commit_keys = CommitKeys()
        self.replaced: dict[str, ReplacedIncarnation] = {}
        self.tampered: Tampered | None = None
        self.agents = {agent.name: self.model_agent(agent) for agent in config.agents}
        for name, agent in self.agents.items():
            agent.archive.context.is_elsewhere = partial(self.is_elsewhere, name)
            agent.api.others = partial(self.other_apis, name)
            logs = partial(self.find_logs, agent.config.scope.user)
            agent.sessions.handoffs.logs = agent.archive.sharing.logs = logs

    def model_agent(self, agent: AgentConfig) -> AgentModel:
        scope, run, surroundings, sessions = agent.scope, self.config, self.surroundings, self.sessions
        working = WorkingModel(scope, self.memory, sessions)
        return AgentModel(
            agent,
            Closing(surroundings),
            Promises(scope, run, surroundings, sessions),
            Failures(self.memory),
            SessionModel(scope, run, surroundings, sessions, working),
            CoreModel(self.memory),
            # Revisions add interceptors that refuse questions (REFUSING_HOOK)
            # only if `revise_every` is 2, 6, 10 and so on.
            ArchiveModel(scope, self.memory, surroundings, run.off, may_turn_away=run.revise_every % 4 == 2),
            ApiModel(scope, surroundings),
            MigrationModel(),
            working,
        )

    def scope_of(self, agent: str) -> Scope:
        """Return the scope of an agent, or of an old incarnation of it."""
        # A replaced incarnation runs on as "a1~1", in the scope of "a1".
        return self.agents[agent.partition("~")[0]].config.scope

    def is_elsewhere(self, name: str, key: str) -> bool:
        """Return True if another agent than `name` knows an id."""
        return any(key in it.archive.log.known for other, it in self.agents.items() if other != name)

    def find_logs(self, user: str) -> Mapping[str, BatchLog]:
        """Return the archives of a user, by the agent part of their scopes."""
        every = [(it.config.scope, it.archive.log) for it in self.agents.values()]
        return {scope.agent: log for scope, log in every if scope.user == user}

    def other_apis(self, name: str) -> Iterator[ApiModel]:
        return (it.api for other, it in self.agents.items() if other != name)

    def meet(self, world_ms: Callable[[], int], services: Services) -> None:
        """Connect the oracle to a world: its time, durable batches, losses and lags of searches."""
        self.surroundings.world_ms, self.surroundings.atlas = world_ms, services.atlas
        self.surroundings.durable_count = lambda: services.storage.durable_count
        self.surroundings.lag_since = services.lag_since
        self.surroundings.durable_keys = lambda: frozenset(services.storage.receipts)
        self.surroundings.is_durable = services.is_durable
        self.surroundings.epoch_of = services.storage.epoch_of
        self.surroundings.entities = services.storage.entities

    # Events.

    def read_clock(self, agent: str, reading_ms: int) -> int:
        """Return the latest time that an incarnation has seen; `reading_ms` for an unknown agent."""
        if old := self.replaced.get(agent):
            return old.read_clock(reading_ms)
        model = self.agents.get(agent)
        if model is None:
            return reading_ms
        if reading_ms > model.seen_ms:
            model.seen_ms = reading_ms
        return model.seen_ms

    def begin_incarnation(self, agent: str, categories: Pairs) -> None:
        """Observe the categories of a new incarnation."""
        if model := self.agents.get(agent):
            model.archive.context.list_categories(categories)

    def observe_request(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None:
        if self.tampered is not None:
            self.tampered.requests[op_id] = request
            return
        now_ms = self.read_clock(agent, reading_ms)
        if old := self.replaced.get(agent):
            self.commit_keys.observe_request(old.agent, op_id, request)
            old.observe_request(op_id, request)
            return
        model = self.agents[agent]
        model.requests[op_id] = request
        self.commit_keys.observe_request(agent, op_id, request)
        for at in ISSUED[type(request)]:
            model.models[at].observe_request(op_id, request, now_ms)

    def observe_call(self, call: Call) -> None:
        """Observe a question or batch that a memory has sent."""
        if self.tampered is None and call.old_asker not in self.replaced:
            model = self.agents[call.agent]
            model.archive.observe_call(call, model.seen_ms)

    def observe_commit(self, call: Call) -> None:
        """Observe that a batch of the main store has become durable."""
        if self.tampered is None:
            self.agents[call.agent].archive.observe_commit(call)

    def observe_answer(self, call: Call, answer: Answer) -> None:
        if self.tampered is not None:
            self.tampered.observe_answer(call, answer)
            return
        self.commit_keys.observe_answer(call)
        if old := self.replaced.get(call.old_asker):
            old.observe_answer(call, answer)
            return
        model = self.agents[call.agent]
        request = model.requests.get(call.op_id)
        # The archive observes every rebalance this way, whether it was requested or not.
        if call.workflow == "rebalance" or (request is None and call.workflow in BACKGROUND):
            model.archive.observe_background(call, answer, model.seen_ms)
        for at in ANSWERED[type(request)] if request is not None else ():
            model.models[at].observe_answer(call, request, answer, model.seen_ms)

    def observe_reply(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None:
        outcome = reply.outcome
        if self.tampered is not None:
            self.tampered.observe_reply(agent, self.scope_of(agent), op_id, outcome)
            return
        away = tuple(list_substitutes(reply)) if reply.hooks else ()
        if old := self.replaced.get(agent):
            for step, answer in away if op_id in old.failures.calls else ():
                old.failures.turned_away(op_id, step, answer)
            if outcome.__class__ is Refused:
                check_error(op_id, old.requests[op_id], outcome, self.memory)
            old.is_purged = self.agents[old.agent].closing.was_closed()
            old.observe_reply(op_id, reply, reading_ms)
            return
        model = self.agents[agent]
        request = model.requests[op_id]
        for step, answer in away:
            for at in AWAY[type(request)]:
                model.models[at].turned_away(op_id, step, answer)
        atlas = self.surroundings.atlas
        is_sure = not atlas.losses or not atlas.may_have_lost(op_id)
        ending = Ending(op_id, request, outcome, model.seen_ms, reading_ms, is_sure, bool(away))
        try:
            for at in REPLIED[type(request)]:
                model.models[at].observe_reply(ending)
            if outcome.__class__ is Refused:
                check_error(op_id, request, outcome, self.memory)
        finally:  # if the broken rule is off, the run continues
            del model.requests[op_id]

    def request_of(self, agent: str, op_id: str) -> Request:
        """Return a request that has no reply yet."""
        if self.tampered is not None:
            return self.tampered.requests[op_id]
        return (self.replaced.get(agent) or self.agents[agent]).requests[op_id]

    def observe_crash(self, agent: str) -> None:
        if self.tampered is not None:
            self.tampered.end_incarnation(agent)
        else:
            self.agents[agent].observe_crash()

    def rows_tampered(self) -> None:
        """From now on judge only what is certain after stored rows were tampered with."""
        if self.tampered is None:
            tables = [life.requests for life in self.agents.values()]
            tables += [life.requests for life in self.replaced.values()]
            requests = {op_id: request for table in tables for op_id, request in table.items()}
            old = dict.fromkeys(self.replaced)
            # True, not False: the stored epoch may have gone back, so an incarnation may claim it again.
            fenced = {name: True for name, life in self.replaced.items() if life.is_fenced}
            self.tampered = Tampered(self.memory, self.surroundings, requests, old, fenced)

    def observe_takeover(self, agent: str, old: str) -> None:
        """Keep models for the incarnation that runs on as `old`, and begin new ones for `agent`."""
        if self.tampered is not None:
            self.tampered.observe_takeover(agent, old)
            return
        model, surroundings = self.agents[agent], self.surroundings
        failures = Failures(self.memory)
        working = WorkingModel(model.config.scope, self.memory, self.sessions)
        # Requests in flight continue in the old incarnation with their answers; the new one has none.
        failures.calls = dict(model.failures.calls)
        working.twins = [twin.copy() for twin in model.working.twins]
        working.counted = dict(model.working.counted)
        working.list_stored_facts = model.working.list_stored_facts
        epoch, requests = surroundings.epoch_of(model.config.scope), dict(model.requests)
        self.replaced[old] = ReplacedIncarnation(
            agent, surroundings, epoch, requests, failures, working, model.seen_ms
        )
        self.observe_crash(agent)

    def observe_successor(self, old: str) -> None:
        """Observe that the successor of an old incarnation has recovered."""
        if self.tampered is None:
            self.replaced[old].woke()

    def observe_wipe(self) -> None:
        """Forget everything: storage is empty and every incarnation has ended."""
        self.replaced.clear()
        self.sessions.observe_wipe()
        self.commit_keys.observe_wipe()
        for agent in self.agents.values():
            for model in agent.models:
                model.observe_wipe()

    # For the workload and the audit.

    def keys(self, agent: str) -> Sequence[str]:
        return tuple(self.agents[agent].working.twins[0].entries)

    def entity_ids(self, agent: str) -> Sequence[str]:
        return self.agents[agent].archive.known_ids()

    def record_ids(self, agent: str) -> Sequence[str]:
        return self.agents[agent].api.record_ids()

    def blocks(self, agent: str) -> Sequence[tuple[str, str, str]]:
        return self.agents[agent].api.blocks_there()

    def resource_ids(self, agent: str) -> Sequence[str]:
        return tuple(self.agents[agent].archive.resource_ids)

    def session_ids(self, agent: str) -> Sequence[str]:
        user = self.agents[agent].config.scope.user
        return tuple(key for key, session in self.sessions.sessions.items() if session.user == user)

    def joined_ids(self, agent: str) -> Sequence[str]:
        """List the sessions of this user of which the agent may be a member."""
        name, known = self.agents[agent].config.scope.agent, self.sessions.sessions
        return tuple(key for key in self.session_ids(agent) if name in known[key].members)

    def other_agents(self, agent: str) -> Sequence[str]:
        scope = self.agents[agent].config.scope
        others = (other.config.scope for other in self.agents.values())
        return tuple(other.agent for other in others if other.user == scope.user and other != scope)

    def sharing_agents(self, agent: str) -> Sequence[str]:
        """List the agents that grant this one access to their archive."""
        return self.agents[agent].archive.sharing.list_granting()

    def audit(self, agent: str) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """List requests, by name, whose replies show all stored rows of this agent."""
        model = self.agents[agent]
        return (*model.archive.audit(), *model.api.audit(), *model.migration.audit())

    def lapses(self, agent: str) -> Sequence[int]:
        """List the times at which the cached rewrites of queries of this agent expire."""
        return self.agents[agent].archive.searches.lapses()

    def expiries(self, agent: str) -> Sequence[int]:
        """List the deadlines of live entries, by the agent's own clock."""
        return tuple(expires_ms for _, expires_ms in self.agents[agent].working.twins[0].entries.values())

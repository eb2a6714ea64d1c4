"""The archive's model: hears what happens to one memory's archive, and has each part judge what it knows.

Law 1. A read shows the states of some position of the log between issue and reply. A reply of a write is what
its batch did. Law 2. A refused or failed request changed nothing.
"""

from collections.abc import Container, Mapping
from typing import Any, Final

import attrs

from umi_core import errors
from umi_core.config import Config
from umi_core.invariants import limits
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import AddArchival, DeleteArchival, RecentEntities, SearchArchival
from umi_core.messages.answers import Answer
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Failed, Refused, Unknown
from umi_core.messages.requests import (
    Count,
    CreateEntity,
    Descent,
    EndSession,
    EvolveCategory,
    Forget,
    ForgetResource,
    GetEntity,
    List,
    Memorize,
    Recall,
    Remember,
    Retrieve,
    Search,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Memorized, Recalled, RecordAdded, Remembered
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.context import Context
from umi_sim.judge.oracle.archive.documents import Documents
from umi_sim.judge.oracle.archive.evidence import Degradations, Evidence
from umi_sim.judge.oracle.archive.facts import id_of, moved_id
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import (
    ArchiveOperation,
    ArchiveRequest,
    Exchange,
    extraction_of,
    memorized,
)
from umi_sim.judge.oracle.archive.plain_memory import mentions_of
from umi_sim.judge.oracle.archive.reads import (
    LISTED,
    OF_RECORDS,
    Lists,
    Reads,
    as_remember,
    is_of_facts,
    told_fit,
)
from umi_sim.judge.oracle.archive.reflections import Reflections
from umi_sim.judge.oracle.archive.retrievals import Retrievals
from umi_sim.judge.oracle.archive.searches import Searches
from umi_sim.judge.oracle.archive.summaries import Groups, Summaries, Upkeep
from umi_sim.judge.oracle.archive.writes import Writes
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings
from umi_sim.judge.plain.extraction import given_fact
from umi_sim.judge.plain.requests import is_gone, is_same, refuse_unlisted, wrong
from umi_sim.judge.plain.text import show_value
from umi_sim.record import rules
from umi_sim.record.run_config import USHER
from umi_sim.services.calls import Call

TELLING: Final = (Remember, Memorize, CreateEntity, UpdateEntity)
WRITING: Final = (*TELLING, Forget, ForgetResource, DeleteArchival, Summarise, EvolveCategory, EndSession)
BY_USHER: Final = f":hook:{USHER}"  # what an interceptor of the world's own gave in the place of a failure
AUDIT_SEARCH_COUNT_MAX: Final = 8
AUDIT_ENTITY_COUNT_MAX: Final = 150


class ArchiveModel(OracleModel):
    """What one memory must say about its archive. Raises Broken with the readable name of a rule.

    `life`: the last one that has written anything. `may_turn_away`: see Context.
    """

    judges = (
        Remember, Recall, Forget, GetEntity, Count, Memorize, CreateEntity, UpdateEntity, List, Summarise,
        EvolveCategory, RecentEntities, Retrieve, Search, EndSession, ForgetResource,
    )  # fmt: skip
    watches = OF_RECORDS

    def __init__(
        self,
        scope: Scope,
        config: Config,
        surroundings: Surroundings,
        off: Container[str] = (),
        *,
        may_turn_away: bool = False,
    ) -> None:
        self.context = context = Context(scope, config, off, surroundings, may_turn_away=may_turn_away)
        self.evidence = evidence = Evidence(context)
        self.degradations = degradations = Degradations(context, evidence)
        self.log = log = BatchLog(context)
        self.writes = writes = Writes(context, degradations, log)
        self.searches = Searches(context, degradations, log)
        self.reads = Reads(context, log)
        self.documents = Documents(context, degradations, log, writes)
        self.summaries = Summaries(context, degradations, log)
        self.groups = Groups(context, log)
        self.reflections = reflections = Reflections(context, degradations, log)
        self.lists = Lists(context, log, self.summaries, reflections)
        self.retrievals = Retrievals(context, evidence, log, self.searches, self.summaries, reflections)
        self.upkeep = Upkeep(context)
        self.life = 0
        self.searched: ArchiveOperation | None = None  # the search of records that has just ended

    # What happens.

    def observe_request(self, op_id: str, asked: ArchiveRequest | AddArchival, now_ms: int) -> None:
        context = self.context
        context.tick += 1
        context.see(now_ms)
        if op_id in self.log.ops or (isinstance(asked, OF_RECORDS) and not is_of_facts(asked)):
            return
        self.log.flying[op_id] = op = self.begin(op_id, asked, now_ms)
        self.documents.begin(op)

    def begin(
        self, op_id: str, asked: ArchiveRequest | AddArchival, now_ms: int, *, is_unasked: bool = False
    ) -> ArchiveOperation:
        context, record = self.context, asked if isinstance(asked, AddArchival) else None
        listed = context.config.abouts
        error = wrong(asked) or refuse_unlisted(asked, listed, context.abouts)
        op = ArchiveOperation(
            as_remember(asked) if isinstance(asked, AddArchival) else asked, error, context.tick,
            self.log.position, now_ms, context.now_ms, scope=context.scope, record=record, listed=listed,
            is_unasked=is_unasked,
        )  # fmt: skip
        self.log.ops[op_id] = op
        return op

    def observe_call(self, call: Call, now_ms: int) -> None:
        """A question has been sent, or a batch."""
        op = self.log.ops.get(call.op_id)
        request = self.upkeep.begun(call, self.context.scope) if op is None else None
        if request is not None:
            op = self.begin(call.op_id, request, now_ms, is_unasked=True)
        if op is not None:
            self.context.see(now_ms)
            op.sent(call.step, call.event, call.effect, self.context.seen_ms)
            if isinstance(call.effect, AskModel):
                self.log.judge_times(op, op.attempts[-1])

    def observe_commit(self, call: Call) -> None:
        """A batch has become durable."""
        self.context.see_world()
        op, effect, self.life = self.log.ops.get(call.op_id), call.effect, max(self.life, call.life)
        if op is not None and self.life > 1:
            told = f"{call.event} is of an earlier life than has written"
            self.context.demand(call.life == self.life, rules.OLD_LIFE_FENCED, told, self.life, call.life)
        if call.workflow == "delete_agent":
            self.log.empty()
        elif op is None or not isinstance(effect, Commit):
            self.log.advance()
        else:
            self.writes.judge_receipt(effect)
            batch = self.log.landed(op, call.event, effect)
            is_once = op.ended is None or self.log.batch_of(op) is batch
            self.context.demand(is_once, rules.ONCE_ONLY, f"{call.op_id} is durable twice", 1, batch.did)
            self.summaries.judge_landed(op, batch)
            told = f"{call.op_id} was refused or failed, and is durable"
            self.context.demand(not (op.is_refuted and batch.did), rules.REFERENCE_AGREES, told, batch.did)

    def observe_answer(
        self, call: Call, asked: ArchiveRequest | AddArchival, answer: Answer, now_ms: int
    ) -> None:
        self.context.see(now_ms)  # a row may be made at this step, and its reply lost
        if (op := self.log.ops.get(call.op_id)) is None:
            return  # a record alone
        told = f"{call.op_id} asks at {call.step}, and must be refused"
        self.context.demand(op.error is None, rules.REFERENCE_AGREES, told, op.error, call.effect)
        request = op.request
        op.answered(call.step, call.event, call.effect, answer, self.context.seen_ms)
        if isinstance(request, Memorize):
            self.documents.answered(op, call.step, call.effect, answer)
        elif isinstance(request, Summarise):
            self.summaries.answered(op, call.step, call.effect)
        elif isinstance(request, EndSession):
            self.reflections.answered(op, call.step, call.effect)
        elif isinstance(request, CreateEntity | UpdateEntity) and isinstance(call.effect, Embed):
            self.writes.hear_shelf(call)
        elif isinstance(request, Descent):
            self.retrievals.answered(op, call.step, call.effect)
        if call.step == "resolve":
            self.searches.hear_rewrite(op, answer)

    def tended(self, call: Call, answer: Answer, now_ms: int) -> None:
        """An answer to what nobody asked for."""
        self.context.see(now_ms)
        if call.workflow == "upkeep":
            self.upkeep.looked(answer)
        if (op := self.log.ops.get(call.op_id)) is not None:
            self.observe_answer(call, op.asked, answer, now_ms)

    def turned_away(self, op_id: str, step: str, came: Answer) -> None:
        if (op := self.log.flying.get(op_id)) is None:
            return  # a record alone
        op.is_turned_away = True
        op.attempts.append(Exchange(step, "", None, came))

    def observe_reply(self, ending: Ending) -> None:
        self.context.tick += 1
        self.context.see(ending.now_ms)
        if ending.op_id not in self.log.flying and isinstance(ending.request, OF_RECORDS):
            return  # a record alone
        op = self.log.flying.pop(ending.op_id)
        self.end(op)
        if isinstance(op.request, SearchArchival):
            self.searched = op
            return  # which another model judges
        outcome = ending.outcome if ending.is_sure else Unknown()
        if isinstance(outcome, Refused | Failed):
            self.judge_failure(op, outcome)
        elif isinstance(outcome, Done):
            self.judge_done(op, outcome)
        else:
            is_write = isinstance(op.request, WRITING)
            self.context.demand(is_write, rules.ERROR_IS_NOT_EMPTY, "a read ended as Unknown")
        self.documents.ended(op, outcome.value if isinstance(outcome, Done) else None)

    def observe_crash(self) -> None:
        """Nothing in flight will reply; what is on its way to storage may become durable all the same."""
        self.context.tick += 1
        for op in self.log.flying.values():
            self.end(op)
            self.documents.ended(op, None)
        self.log.flying.clear()
        self.searches.rewrites.clear()
        self.context.seen_ms = 0  # the next life has a clock of its own

    def observe_wipe(self) -> None:
        """Nothing is there any more; what was known is asked about all the same."""
        self.log.empty()
        self.log.by_key.clear()

    def observe_closing(self) -> None:
        """The agent was closed, which the log knows already; a later life resolves queries anew."""
        self.searches.rewrites.clear()

    def end(self, op: ArchiveOperation) -> None:
        """It has ended, in whatever way: what it told may be stored."""
        op.ended = self.context.tick
        self.log.known |= dict.fromkeys(self.told_ids(op))

    def told_ids(self, op: ArchiveOperation) -> list[str]:
        """The ids that a request tells of, as far as answers say."""
        request, plan = op.request, op.plan
        if op.error is not None or not isinstance(request, TELLING):
            return []
        if isinstance(request, CreateEntity):
            mention = given_fact(request.content, request.memory_type, request.categories, op.listed)
            return [id_of(mention, op.scope)]
        if isinstance(request, Memorize):
            return [*memorized(plan, op.scope, op.listed)] if plan.last("lookup") is not None else []
        if isinstance(request, UpdateEntity):
            states = self.log.states_since(request.entity_id, op)
            ids = [moved_id(it.entity, request, op.scope) for it in states if it.entity is not None]
            return [request.entity_id, *ids] if ids else []
        if self.log.key_holder(op, self.log.batch_of(op)) is not None:
            return []
        found = extraction_of(op, plan, self.context.config.extract_confidence_min_ppm)
        return [id_of(mention, op.scope) for mention in mentions_of(request, found)]

    # Judging.

    def judge_failure(self, op: ArchiveOperation, outcome: Refused | Failed) -> None:
        """Nothing changed, and for a good reason."""
        error, demand, batch = outcome.error, self.context.demand, self.log.batch_of(op)
        if isinstance(error, errors.ModelFailed | errors.EmbedFailed):
            is_telling = isinstance(op.request, TELLING)
            rule = rules.TEXT_NEVER_LOST if is_telling else rules.DEGRADATION_NAMED
            demand(False, rule, f"a failing model or embedder made it fail: {error}")
        elif op.record is not None or isinstance(op.request, DeleteArchival):
            pass  # what an agent server is refused, another model judges
        elif isinstance(error, errors.KeyReused) and op.error is None:
            holder = self.log.key_holder(op)
            told = "the same request under one key was taken for another one"
            demand(holder is not None and not holder.op.is_like(op), rules.ONCE_ONLY, told)
        elif isinstance(outcome, Refused) and not (isinstance(error, errors.TooBusy) or is_gone(outcome)):
            is_unknown = isinstance(op.request, EndSession) and isinstance(error, errors.SessionNotFound)
            is_fair = is_same(op.error, error) or (op.error is None and is_unknown)  # which sessions judge
            if isinstance(op.request, Summarise | EvolveCategory) and op.error is None:
                is_fair = self.may_be_unknown(op, op.request.category, error)
            if isinstance(op.request, UpdateEntity) and op.error is None:
                key = op.request.entity_id
                may_lack = any(state.entity is None for state in self.log.states_since(key, op))
                is_fair = is_same(NotFound("entity", key), error) and may_lack
            demand(is_fair, rules.REFERENCE_AGREES, "refused without a reason", op.error, error)
        op.is_refuted = True
        told = "refused or failed, and is durable"
        demand(batch is None or not batch.did, rules.REFERENCE_AGREES, told, batch and batch.did, outcome)

    def may_be_unknown(self, op: ArchiveOperation, name: str, error: errors.Error | None) -> bool:
        """Return whether a category is listed no more, and was never stored for all that is known."""
        is_stored = bool(self.log.members(name)) and not self.context.surroundings.atlas.losses
        unknown = errors.BadOption("category", show_value(name), "")
        return name not in op.listed and not is_stored and is_same(unknown, error)

    def judge_done(self, op: ArchiveOperation, outcome: Done) -> None:
        demand, value = self.context.demand, outcome.value
        is_read = not op.record or isinstance(value, RecordAdded)
        demand(op.error is None, rules.REFERENCE_AGREES, "done, and must be refused", op.error, outcome)
        demand(is_read, rules.REFERENCE_AGREES, "what was read of a record", RecordAdded.__name__, value)
        lacks = [item for item in outcome.degraded if not item.name.endswith(BY_USHER)]
        names = [item.name for item in lacks]
        self.degradations.judge_names(names)
        if op.error is None and is_read:
            if isinstance(value, RecordAdded):
                value = attrs.evolve(value.facts, repeated=value.repeated)
            if isinstance(value, Memorized):
                self.documents.judge_limits(op, lacks)
            if isinstance(value, Memorized) or (isinstance(value, Remembered) and not value.repeated):
                self.writes.judge_limits(op, lacks)
            self.judge_value(op, value, names)
            if isinstance(value, Recalled) or (isinstance(value, Remembered) and not value.repeated):
                self.degradations.judge_reasons(op, lacks)

    def judge_value(self, op: ArchiveOperation, value: Any, names: list[str]) -> None:
        match op.request:
            case Remember():
                self.writes.judge_remember(op, value, names)
            case Forget():
                self.writes.judge_forget(op, value)
            case Recall():
                self.searches.judge_recall(op, value, names)
            case GetEntity():
                self.reads.judge_entity(op, value)
            case Count():
                self.reads.judge_count(op, value)
            case CreateEntity() | UpdateEntity():
                self.writes.judge_create(op, value, names)
            case Memorize():
                self.documents.judge_memorize(op, value, names)
            case Summarise():
                self.summaries.judge_summarise(op, value, names)
            case EvolveCategory():
                self.groups.judge_evolve(op, value, names)
            case ForgetResource() as request:
                self.documents.judge_forgotten(op, request, value)
                self.writes.judge_forget_resource(op, value, names)
            case DeleteArchival():
                self.writes.judge_forget_resource(op, value, names)
            case EndSession():
                self.reflections.judge_end(op, value, names)
            case Descent():
                self.retrievals.judge_retrieve(op, value, names)
            case List():
                self.lists.judge_list(op, value)
            case RecentEntities():
                self.lists.judge_recent(op, value)

    def told_fit(self, query: str, record: str) -> tuple[int, int]:
        return told_fit(self.log, self.searched, query, record)

    # For the workload and the audit.

    def known_ids(self) -> tuple[str, ...]:
        """Every id that was ever stored, or may have been."""
        return tuple(self.log.known)

    def audit(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """The requests whose replies settle everything."""
        reads: list[tuple[str, Mapping[str, object]]] = [("count", {})]
        known = {key: self.log.state(key) for key in self.log.known}
        has_members = any(state.links for state in known.values())
        kinds = LISTED if self.documents.told or has_members else ()
        reads += [("list", {"kind": kind, "limit": limits.RECALL_LIMIT_MAX}) for kind in kinds]
        for key in spread([*known], AUDIT_ENTITY_COUNT_MAX):
            reads.append(("get_entity", {"entity_id": key}))
        names = {state.entity.name: None for state in known.values() if state.entity}
        searched = spread([*names], AUDIT_SEARCH_COUNT_MAX)
        return (*reads, *(("recall", {"query": name, "limit": limits.RECALL_LIMIT_MAX}) for name in searched))


def spread(every: list[str], most: int) -> list[str]:
    """All if they are fewer than `most`; else every second, third and so on, which are not more."""
    return every[:: 1 + len(every) // most]

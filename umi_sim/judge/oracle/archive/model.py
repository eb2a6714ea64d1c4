"""The archive's model: observes all events of one memory's archive, and passes each to its judge.

Law 1. A read shows the states of some position of the log between request and reply. The reply of a write
reports the effect of its batch.
Law 2. A refused or failed request has changed nothing.
"""

from collections.abc import Container, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.ids import category_id, resource_id
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import AddArchival, DeleteArchival, RecentEntities, SearchArchival
from umi_core.language.descriptions import Description, parse_description
from umi_core.messages.answers import Answer, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByIds, Commit, Done, Failed, Read, Refused, Unknown
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
    LoadSession,
    Memorize,
    Rebalance,
    Recall,
    Remember,
    Retrieve,
    Search,
    ShareArchive,
    Summarise,
    UpdateEntity,
    bad_request,
)
from umi_core.messages.results import RecordAdded, SessionLoaded
from umi_core.policies.term_scores import score_alone
from umi_core.rows import Resource
from umi_core.text import show_value
from umi_core.values import MEMORY_TYPES, Scope
from umi_sim.judge.oracle.archive.context import Context
from umi_sim.judge.oracle.archive.degradations import Degradations
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import (
    ArchiveOperation,
    Exchange,
    as_mention,
    find_day,
    list_mentions,
    list_with_dates,
    read_carried,
    read_extracted,
    read_given,
    read_memorized,
)
from umi_sim.judge.oracle.archive.reads import LISTED, Reads
from umi_sim.judge.oracle.archive.searches import Searches
from umi_sim.judge.oracle.archive.sharing import Sharing
from umi_sim.judge.oracle.archive.states import FactState, find_moved_id, make_fact_id
from umi_sim.judge.oracle.archive.writes import Writes
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings
from umi_sim.judge.plain.requests import is_no_agent, is_same, refuse_unlisted
from umi_sim.judge.plain.scores import fit_alone
from umi_sim.record import rules
from umi_sim.record.run_config import SUBSTITUTING_HOOK
from umi_sim.services.calls import Call

TELLING: Final = (Remember, Memorize, CreateEntity, UpdateEntity)
WRITING: Final = (
    *TELLING, LoadSession, Forget, ForgetResource, DeleteArchival, Summarise, EvolveCategory, EndSession,
    ShareArchive,
)  # fmt: skip
OF_RECORDS: Final = (AddArchival, DeleteArchival, SearchArchival)
BACKGROUND: Final = ("upkeep", "memorize", "summarise", "reflect")  # workflows that a memory starts by itself
SUBSTITUTED: Final = f":hook:{SUBSTITUTING_HOOK}"  # end of a degradation's name if this hook gave the answer
AUDIT_SEARCH_COUNT_MAX: Final = 8
AUDIT_ENTITY_COUNT_MAX: Final = 150


class ArchiveModel(OracleModel):
    """Judges all replies of one memory about its archive.

    `life`: the last incarnation that has written a batch. `resource_ids`: ids of all memorized texts.
    `unfinished`: by id, the texts with pending work when upkeep last read them. `searched`: the search of
    records that has just ended. `may_turn_away`: see Context.
    """

    judges = (
        Remember, Recall, Forget, GetEntity, Count, Memorize, CreateEntity, UpdateEntity, List, Summarise,
        EvolveCategory, RecentEntities, Retrieve, Search, EndSession, ForgetResource, ShareArchive,
    )  # fmt: skip
    watches = (*OF_RECORDS, LoadSession)

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
        self.log = log = BatchLog(context)
        self.degradations = Degradations(context)
        self.writes = Writes(context, log)
        self.reads = Reads(context, log)
        self.sharing = Sharing(context, log)
        self.searches = Searches(context, self.degradations, log, self.sharing)
        self.life = 0
        self.resource_ids = dict[str, None]()
        self.unfinished = dict[str, Resource]()
        self.searched: ArchiveOperation | None = None

    # Events.

    def observe_request(self, op_id: str, asked: Any, now_ms: int) -> None:
        self.context.tick += 1
        self.context.see(now_ms)
        is_bare = isinstance(asked, AddArchival) and not asked.extract
        is_of_records = isinstance(asked, OF_RECORDS) and (is_bare or bad_request(asked) is not None)
        if op_id in self.log.ops or is_of_records:
            # A record without `extract` has no facts, and a malformed request changes nothing. A known op_id
            # was issued again because the agent was closed (AgentModel.observe_closing).
            return
        self.log.flying[op_id] = op = self.begin(op_id, asked, now_ms)
        if isinstance(asked, Memorize) and op.error is None:
            self.resource_ids[resource_id(op.scope, asked.uri, asked.text)] = None

    def begin(self, op_id: str, asked: Any, now_ms: int, *, is_unasked: bool = False) -> ArchiveOperation:
        context, record = self.context, asked if isinstance(asked, AddArchival) else None
        listed = context.config.abouts
        error = bad_request(asked) or refuse_unlisted(asked, listed, context.abouts)
        # A record with `extract` stores its facts like this request.
        request = Remember(record.op_id, record.content, speaker=record.speaker) if record else asked
        op = ArchiveOperation(
            request, error, context.tick, self.log.position, now_ms, context.now_ms, scope=context.scope,
            record=record, listed=listed, is_unasked=is_unasked,
        )  # fmt: skip
        self.sharing.begin(op)
        self.log.ops[op_id] = op
        return op

    def find_upkeep(self, call: Call) -> Any:
        """Return a request that has the effect of the background work of a call; None if unknown."""
        query = call.effect.query if isinstance(call.effect, Read) else None
        if call.workflow == "rebalance" or not isinstance(query, ByIds):
            return Rebalance(call.op_id) if call.workflow == "rebalance" else None
        # Upkeep runs the workflow of a request for one row, which its first read contains.
        ids = {it.kind: it.id for it in query.addresses}
        if call.workflow == "summarise":
            known = self.context.abouts
            names = [it for it in known if category_id(self.context.scope, it) == ids["category"]]
            return Summarise(call.op_id, *names)
        if call.workflow == "reflect":
            return EndSession(call.op_id, ids["session"])
        it = self.unfinished.get(query.addresses[0].id) if call.workflow == "memorize" else None
        if it is None:
            return None
        kinds = tuple(kind for kind in MEMORY_TYPES if kind in it.pending) or it.extracted_types
        return Memorize(call.op_id, it.text, it.modality, it.uri, kinds, it.happened_ms)

    def observe_call(self, call: Call, now_ms: int) -> None:
        """Observe that a question or a batch was sent."""
        op = self.log.ops.get(call.op_id)
        if op is None and (request := self.find_upkeep(call)) is not None:
            op = self.begin(call.op_id, request, now_ms, is_unasked=True)
        if op is not None:
            self.context.see(now_ms)
            op.sent(call.step, call.event, call.effect, self.context.seen_ms)
            self.sharing.judge_question(op, call.effect)
            if isinstance(call.effect, AskModel):
                self.log.judge_times(op, op.attempts[-1])

    def observe_commit(self, call: Call) -> None:
        """Observe that a batch has become durable."""
        self.context.see_world()
        op, effect, self.life = self.log.ops.get(call.op_id), call.effect, max(self.life, call.incarnation)
        if op is not None and self.life > 1:
            message = f"the life that wrote the batch {call.event}"
            self.context.demand(
                call.incarnation == self.life, rules.OLD_LIFE_FENCED, message, self.life, call.incarnation
            )
        if call.workflow == "delete_agent":
            self.log.empty()
        elif op is None or not isinstance(effect, Commit):
            self.log.advance()
        else:
            self.writes.judge_receipt(effect)
            batch = self.log.apply_durable(op, call.event, effect)
            # If a batch becomes durable after the reply, the outcome was
            # unknown, and no earlier batch of the operation may count.
            is_once = op.ended is None or self.log.find_own_batch(op) is batch
            self.context.demand(is_once, rules.ONCE_ONLY, f"{call.op_id} is durable twice", 1, batch.applied)
            self.writes.judge_summary(op, batch)
            self.writes.judge_compared(op, batch)
            message = f"{call.op_id} was refused or failed, and is durable"
            self.context.demand(
                not (op.is_refuted and batch.applied), rules.REFERENCE_AGREES, message, batch.applied
            )

    def observe_answer(self, call: Call, asked: Any, answer: Answer, now_ms: int) -> None:
        self.context.see(now_ms)  # a row may have the time of this step, which may have no reply
        if (op := self.log.ops.get(call.op_id)) is None:
            return  # a record without facts
        message = f"{call.op_id} asks at {call.step}, and must be refused"
        self.context.demand(op.error is None, rules.REFERENCE_AGREES, message, op.error, call.effect)
        it = op.answered(call.step, call.event, call.effect, answer, self.context.seen_ms)
        request = op.request
        it.position = self.log.position
        if call.step == "preprocess" and isinstance(answer, ModelReplied):
            # Descriptions have no position in the log: any later
            # reading of the same payload may use them.
            key, given = resource_id(op.scope, request.uri, request.text), (request.modality, request.text)
            found, described = parse_description(answer.text), self.log.said.setdefault((key, given), {})
            described |= {found: None} if isinstance(found, Description) else {}
        if isinstance(request, Descent):
            self.searches.judge_conditions(op, it)
        else:
            self.writes.judge_question(op, it)
        if call.step == "resolve":
            self.searches.hear_rewrite(op, answer)

    def observe_background(self, call: Call, answer: Answer, now_ms: int) -> None:
        """Observe an answer to a question of background work."""
        self.context.see(now_ms)
        if call.workflow == "upkeep" and isinstance(answer, ReadDone):
            self.unfinished |= {it.address.id: it.body for it in answer.rows if isinstance(it.body, Resource)}
        if (op := self.log.ops.get(call.op_id)) is not None:
            self.observe_answer(call, op.asked, answer, now_ms)

    def turned_away(self, op_id: str, step: str, answer: Answer) -> None:
        if (op := self.log.flying.get(op_id)) is not None:  # otherwise a record without facts
            op.is_turned_away = True
            asked = op.plan.questions(step)
            # After an empty reply in place of a failure the memory asks again, and may get an answer.
            is_replaced = isinstance(answer, ModelReplied) and asked and all(it.text for it in asked)
            op.attempts += [] if is_replaced else [Exchange(step, "", None, answer)]

    def observe_reply(self, ending: Ending) -> None:
        self.context.tick += 1
        self.context.see(ending.now_ms)
        if ending.op_id not in self.log.flying and isinstance(ending.request, OF_RECORDS):
            return  # a record without facts
        op = self.log.flying.pop(ending.op_id)
        self.end(op)
        if isinstance(op.request, SearchArchival):
            self.searched = op
            return  # the model of records judges it
        outcome = ending.outcome if ending.is_sure else Unknown()
        if isinstance(outcome, Refused | Failed):
            self.judge_failure(op, outcome)
        elif isinstance(outcome, Done):
            self.judge_done(op, outcome)
        else:
            is_write = isinstance(op.request, WRITING)
            message = f"{ending.op_id} is a read and ends as Unknown"
            self.context.demand(is_write, rules.ERROR_IS_NOT_EMPTY, message)

    def observe_crash(self) -> None:
        """End all requests in flight without a reply; their batches may still become durable."""
        self.context.tick += 1
        for op in self.log.flying.values():
            self.end(op)
        self.log.flying.clear()
        self.searches.rewrites.clear()
        self.context.seen_ms = 0  # the next incarnation may read an earlier time

    def observe_wipe(self) -> None:
        """Forget all rows; known ids stay known, so that the audit reads them."""
        self.log.empty()
        self.log.by_key.clear()

    def observe_closing(self) -> None:
        """Forget rewrites of queries; the log has seen the batch that closed the agent."""
        self.searches.rewrites.clear()

    def end(self, op: ArchiveOperation) -> None:
        """End an operation: add the ids that it may have stored to the known ones."""
        op.ended, request, plan = self.context.tick, op.request, op.plan
        ids = list[str]()
        match request:
            case _ if op.error is not None:
                pass
            case CreateEntity():
                ids = [make_fact_id(read_given(request, op.listed)[0], op.scope)]
            case Memorize() if plan.last("lookup") is not None:
                ids = [*read_memorized(plan, op.scope, op.listed, find_day(op, self.context.config))]
            case UpdateEntity(entity_id=key):
                facts = [it.entity for it in self.log.states_since(key, op) if it.entity is not None]
                ids = [key, *(find_moved_id(it, request, op.scope) for it in facts)] if facts else []
            case LoadSession():
                ids = [make_fact_id(as_mention(it), op.scope) for it in read_carried(plan).values()]
            # If its key was used before, the memory has not processed this text, so it gives no ids.
            case Remember() if self.log.find_key_holder(op, self.log.find_own_batch(op)) is None:
                found = read_extracted(op, plan, self.context.config)
                ids = [
                    make_fact_id(mention, op.scope)
                    for mention in list_mentions(op, found, self.context.config)
                ]
        self.log.known |= dict.fromkeys(ids)

    # Judging.

    def judge_failure(self, op: ArchiveOperation, outcome: Refused | Failed) -> None:
        """Demand that a failed or refused request had a reason and changed nothing."""
        error, demand, batch = outcome.error, self.context.demand, self.log.find_own_batch(op)
        is_telling = isinstance(op.request, TELLING)
        rule = rules.TEXT_NEVER_LOST if is_telling else rules.DEGRADATION_NAMED
        is_of_service = isinstance(error, errors.ModelFailed | errors.EmbedFailed)
        demand(not is_of_service, rule, f"a model or an embedder made a request fail: {error}")
        if op.record is not None or isinstance(op.request, DeleteArchival | LoadSession):
            pass  # other models judge refusals to an agent server, or of a load
        elif isinstance(error, errors.KeyReused) and op.error is None:
            holder = self.log.find_key_holder(op)
            message = "the same request under one key was taken for another one"
            demand(holder is not None and not holder.op.is_like(op), rules.ONCE_ONLY, message)
        # TooBusy is judged by Promises, and refusals of a closed agent by Closing.
        elif isinstance(outcome, Refused) and not (isinstance(error, errors.TooBusy) or is_no_agent(outcome)):
            expected = op.error or self.find_absence(op, error)
            is_unknown = isinstance(op.request, EndSession) and isinstance(error, errors.SessionNotFound)
            is_right = is_same(expected, error) or (op.error is None and is_unknown)  # SessionModel judges it
            rule = rules.SHARED_AS_GRANTED if isinstance(error, errors.NotShared) else rules.REFERENCE_AGREES
            message = f"the error that {type(op.request).__name__} is refused with"
            demand(is_right, rule, message, expected or "none", error)
        op.is_refuted, message = True, "what a refused or failed request has stored"
        demand(
            batch is None or not batch.applied, rules.REFERENCE_AGREES, message, {}, batch and batch.applied
        )

    def find_absence(self, op: ArchiveOperation, error: errors.Error) -> errors.Error | None:
        """Return the expected error if the request names a fact that is not current, a category that is
        neither listed nor stored, or an archive that is not shared; else None."""
        match op.request:
            case UpdateEntity(entity_id=key) if any(
                it.entity is None for it in self.log.states_since(key, op)
            ):
                return NotFound("entity", key)
            case Summarise(category=name) | EvolveCategory(category=name) if name not in op.listed:
                # A category that is not listed any more stays valid as long as it has members; these may have
                # been destroyed by a loss.
                is_stored = bool(self.log.members(name)) and not self.context.surroundings.atlas.losses
                return None if is_stored else errors.BadOption("category", show_value(name), "")
            case Recall():
                return self.sharing.find_refusal(op, error)
        return None

    def judge_done(self, op: ArchiveOperation, outcome: Done) -> None:
        demand, request = self.context.demand, op.request
        value: Any = outcome.value
        is_read = not op.record or isinstance(value, RecordAdded)
        message = "the reply to a malformed request"
        demand(op.error is None, rules.REFERENCE_AGREES, message, op.error, outcome)
        demand(is_read, rules.REFERENCE_AGREES, "the reply about a record", RecordAdded.__name__, value)
        degradations = [item for item in outcome.degraded if not item.name.endswith(SUBSTITUTED)]
        self.degradations.judge_names(degradations)
        if op.error is not None or not is_read:
            return
        if isinstance(value, RecordAdded):
            value = structs.replace(value.facts, repeated=value.repeated)
        value = value.facts if isinstance(value, SessionLoaded) else value
        names, batch, count = [it.name for it in degradations], None, 0
        match request:
            case Recall():
                self.searches.judge_recall(op, value, names)
                count = len(value.variants) if self.sharing.list_archives(op) else 0
            case Retrieve() | Search():
                self.searches.judge_retrieve(op, value, names)
            case GetEntity():
                self.reads.judge_entity(op, value)
            case Count() | List() | RecentEntities():
                self.reads.judge(op, value)
            case LoadSession() if value is None:
                own = self.log.find_own_batch(op)
                message = "a load stores facts that its reply does not name"
                demand(own is None, rules.HANDOFF_AS_DECLARED, message, None, own)
            case ShareArchive():
                self.sharing.judge_shared(op, value, self.writes.find_batch(op, value))
            case _:
                batch = self.writes.find_batch(op, value)
                count = len(batch.created) if batch is not None and getattr(request, "embed", True) else 0
        is_repeated = getattr(value, "repeated", False)
        if batch is not None and isinstance(request, Remember) and not is_repeated:
            self.degradations.judge_extraction(names, batch)
        if isinstance(request, WRITING) and value is not None:
            self.writes.judge(op, value, batch)
        if not is_repeated:
            self.degradations.judge(op, degradations, batch, count)

    def find_fit(self, query: str, content: str, record: str) -> tuple[int, int]:
        """Return the lowest and highest relevance of a record for the query of the last search.

        The relevance is that of its text or of a fact extracted from it, whichever is higher.
        """
        if self.searched is None:
            return fit_alone(query, content, record)
        texts = list_with_dates(query, self.searched, self.context.config)
        own = max(score_alone(text, "", content) for text in texts)
        states = [self.log.states_since(key, self.searched) for key in self.log.facts.entries]
        fits = [[measure_fit(it, texts, record) for it in each] for each in states]
        low, high = (max(map(end, fits), default=0) for end in (min, max))
        # After a loss any of the facts may be missing, so only the text gives a lower bound.
        return max(own, 0 if self.context.surroundings.atlas.losses else low), max(own, high)

    # For the workload and the audit.

    def known_ids(self) -> tuple[str, ...]:
        """Return every fact id that was or may have been stored."""
        return tuple(self.log.known)

    def audit(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """Return requests whose replies show all stored rows."""
        known, most = {key: self.log.state(key) for key in self.log.known}, limits.RECALL_LIMIT_MAX
        kinds = LISTED if self.resource_ids or any(state.links for state in known.values()) else ()
        names = {state.entity.name: None for state in known.values() if state.entity}
        return (
            ("count", {}), *(("list", {"kind": kind, "limit": most}) for kind in kinds),
            *(("get_entity", {"entity_id": key}) for key in spread([*known], AUDIT_ENTITY_COUNT_MAX)),
            *(("recall", {"query": it, "limit": most}) for it in spread([*names], AUDIT_SEARCH_COUNT_MAX)),
            *(("recall", args) for args in self.sharing.audit()),
        )  # fmt: skip


def measure_fit(state: FactState, texts: tuple[str, ...], record: str) -> int:
    it = state.entity
    is_of = it is not None and record in it.sources
    return max(score_alone(text, *it.name_and_text()) for text in texts) if it and is_of else 0


def spread(every: list[str], most: int) -> list[str]:
    """Return a list, or at most `most` of its elements, evenly spread."""
    # Ten elements, at most four: 1 + 10 // 4 = 3, so elements 0, 3, 6 and 9.
    return every[:: 1 + len(every) // most]

"""The archive's model: hears what happens to one memory's archive, and has each part judge what it knows.

Law 1. A read must be explained by a state that was possible between issue and reply. A reply of a write is a
claim: the states in which it is not true are not possible any more.
Law 2. A refused or failed request changed nothing.
"""

from collections.abc import Container, Mapping
from typing import Any, Final

import attrs

from umi_core import errors
from umi_core.config import Config
from umi_core.invariants import limits
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import AddArchival, DeleteArchival, RecentEntities, SearchArchival
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import AskModel, Done, Embed, Failed, Refused, Unknown
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
from umi_core.messages.results import (
    Memorized,
    Recalled,
    RecordAdded,
    Remembered,
)
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.context import Context
from umi_sim.judge.oracle.archive.documents import Documents
from umi_sim.judge.oracle.archive.evidence import OF_SHELF, Degradations, Evidence
from umi_sim.judge.oracle.archive.possible import ArchiveRequest, Operation, Track
from umi_sim.judge.oracle.archive.reads import (
    LISTED,
    OF_RECORDS,
    Lists,
    Reads,
    as_remember,
    is_of_facts,
    next_records,
    told_fit,
)
from umi_sim.judge.oracle.archive.reflections import Reflections
from umi_sim.judge.oracle.archive.relations import Relations
from umi_sim.judge.oracle.archive.retrievals import Retrievals
from umi_sim.judge.oracle.archive.searches import Searches
from umi_sim.judge.oracle.archive.summaries import Groups, Summaries, Upkeep
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.oracle.archive.writes import Writes
from umi_sim.judge.oracle.model import NOBODY_TOLD, Ending, Model, Surroundings
from umi_sim.judge.plain.extraction import read_extraction, with_speaker
from umi_sim.judge.plain.requests import is_gone, is_same, wrong
from umi_sim.judge.plain.text import asked_about
from umi_sim.record import rules
from umi_sim.record.run_config import USHER
from umi_sim.services.calls import Call

TELLING: Final = (Remember, Memorize, CreateEntity, UpdateEntity)
FORGETTING: Final = (ForgetResource, DeleteArchival)
WRITING: Final = (*TELLING, Forget, *FORGETTING, Summarise, EvolveCategory, EndSession)
BY_USHER: Final = f":hook:{USHER}"  # what an interceptor of the world's own gave in the place of a failure
AUDIT_SEARCH_COUNT_MAX: Final = 8
AUDIT_ENTITY_COUNT_MAX: Final = 150


class ArchiveModel(Model):
    """What one memory must say about its archive. Raises Broken with the readable name of a rule.

    `restless`: ids that may have changed since the last life ended.
    """

    judges = (
        Remember, Recall, Forget, GetEntity, Count, Memorize, CreateEntity, UpdateEntity, List, Summarise,
        EvolveCategory, RecentEntities, Retrieve, Search, EndSession, ForgetResource,
    )  # fmt: skip
    watches = OF_RECORDS

    def __init__(
        self, scope: Scope, config: Config, surroundings: Surroundings, off: Container[str] = ()
    ) -> None:
        self.context = context = Context(scope, config, off, surroundings)
        self.evidence = evidence = Evidence(context)
        self.degradations = degradations = Degradations(context, evidence)
        self.tracks = tracks = Tracks(context, evidence)
        self.relations = relations = Relations(context, evidence, tracks)
        self.writes = Writes(context, evidence, degradations, tracks, relations)
        self.searches = Searches(context, evidence, degradations, tracks, relations)
        self.reads = Reads(context, tracks, relations)
        self.documents = Documents(context, evidence, degradations, tracks, self.writes)
        self.summaries = Summaries(context, evidence, degradations, tracks)
        self.groups = Groups(context, evidence, tracks)
        self.reflections = reflections = Reflections(context, evidence, degradations, self.documents)
        self.lists = Lists(context, tracks, self.documents, self.summaries, reflections)
        self.retrievals = Retrievals(
            context, evidence, tracks, self.searches, self.documents, self.summaries, reflections
        )
        self.upkeep = Upkeep(context)
        self.restless: dict[Track, None] = {}
        self.searched: Operation | None = None  # the search of records that has just ended

    # What happens.

    def issued(self, op_id: str, asked: ArchiveRequest | AddArchival, now_ms: int) -> None:
        context = self.context
        context.tick += 1
        context.see(now_ms)
        if isinstance(asked, OF_RECORDS) and not is_of_facts(asked):
            return
        record = asked if isinstance(asked, AddArchival) else None
        request = as_remember(asked) if isinstance(asked, AddArchival) else asked
        op = Operation(
            request, wrong(asked), context.tick, now_ms, context.now_ms, scope=context.scope, record=record,
            is_unasked=op_id in self.upkeep.going,
        )  # fmt: skip
        self.tracks.flying[op_id] = op
        if op.error is None and isinstance(op.key, str):
            self.tracks.by_key.setdefault(op.key, []).append(op)
        if isinstance(request, Forget):
            self.relations.hear_forget(request)
        self.writes.offer(op)
        self.documents.begin(op)
        self.reflections.begin(op)
        self.groups.begin(op)

    def answered(self, call: Call, asked: ArchiveRequest | AddArchival, answer: Answer, now_ms: int) -> None:
        self.context.see(now_ms)  # a row may be made at this step, and its reply lost
        if call.op_id not in self.tracks.flying and isinstance(asked, AddArchival):
            return  # a record alone
        op = self.tracks.flying[call.op_id]
        told = f"{call.op_id} asks at {call.step}, and must be refused"
        self.context.demand(op.error is None, rules.REFERENCE_AGREES, told, op.error, call.effect)
        request = op.request
        if op.record is not None and call.step == "lookup":
            op.record_ids |= dict.fromkeys(next_records(answer))
        op.answers.append((call.step, answer))
        if isinstance(request, Memorize):
            self.documents.answered(op, call.step, call.effect, answer)
        elif isinstance(request, Summarise):
            self.summaries.answered(op, call.step, call.effect, answer)
        elif isinstance(request, EndSession):
            self.reflections.answered(op, call.step, call.effect, answer)
        elif isinstance(request, EvolveCategory):
            self.groups.answered(op, call.step, answer)
        elif isinstance(request, ForgetResource | DeleteArchival) and call.step == "told":
            self.writes.hear_told(op, request)
        elif isinstance(request, CreateEntity | UpdateEntity) and isinstance(call.effect, Embed):
            self.writes.hear_shelf(call)
        elif isinstance(request, UpdateEntity) and call.step == "lookup" and not op.mentions:
            self.writes.offer(op)  # whoever made it meanwhile has told of it
        elif isinstance(request, Descent):
            self.retrievals.answered(op, call.step, call.effect)
        if call.step == "embed":
            op.text_counts.append(len(call.effect.texts) if isinstance(call.effect, Embed) else 0)
        elif call.step in OF_SHELF:
            op.shelf_counts.append(len(call.effect.texts) if isinstance(call.effect, Embed) else 0)
        elif call.step == "resolve":
            self.searches.hear_rewrite(op, answer)
        elif call.step == "evolve":
            op.pairs |= asked_pairs(call.effect)
            self.relations.hear_verdicts(answer)
            self.tracks.widen(op, self.relations.endings(op))
        elif call.step == "extract" and isinstance(request, Remember):
            reply = answer.text if isinstance(answer, ModelReplied) else ""
            floor_ppm = self.context.config.extract_confidence_min_ppm
            found = read_extraction(reply, request.text, floor_ppm)
            op.extraction = with_speaker(found, request.text, request.speaker)
            self.writes.offer(op)

    def tended(self, call: Call, answer: Answer, now_ms: int) -> None:
        """An answer to what nobody asked for; a later one of these begins when this one has ended."""
        self.context.see(now_ms)
        if call.workflow == "summarise":
            self.summaries.overheard(call.step, call.effect, answer)
        if call.workflow == "reflect":
            self.reflections.overheard(call, answer)
        if call.op_id not in self.upkeep.going:
            self.tended_before()
        if call.workflow == "upkeep":
            self.upkeep.looked(answer)
        if call.workflow != "memorize":
            return
        request = self.upkeep.going.get(call.op_id)
        if request is None:
            if (request := self.upkeep.begun(call)) is None:
                return
            self.issued(call.op_id, request, now_ms)
        if call.op_id in self.tracks.flying:
            self.answered(call, request, answer, now_ms)

    def tended_before(self) -> None:
        """What was being done has ended, in whatever way."""
        for op_id in self.upkeep.going:
            if (op := self.tracks.flying.pop(op_id, None)) is not None:
                self.context.tick += 1
                self.end(op)
                self.doubt(op)
                self.groups.ended(op)
                self.documents.ended(op, None, is_unsure=True)
        self.upkeep.going.clear()

    def turned_away(self, op_id: str, step: str, came: Answer) -> None:
        if (op := self.tracks.flying.get(op_id)) is None:
            return  # a record alone
        op.is_turned_away = True
        op.answers.append((step, came))
        if step == "evolve":
            self.tracks.widen(op, self.relations.endings(op))  # what a model said counts for nothing then

    def replied(self, ending: Ending) -> None:
        self.context.tick += 1
        self.context.see(ending.now_ms)
        for track in self.restless:
            track.moved_ms = self.context.world_ms
        self.restless.clear()
        if ending.op_id not in self.tracks.flying and isinstance(ending.request, OF_RECORDS):
            return  # a record alone
        op = self.tracks.flying.pop(ending.op_id)
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
            self.doubt(op)
        value, is_unsure = outcome.value if isinstance(outcome, Done) else None, isinstance(outcome, Unknown)
        self.summaries.ended(op)
        self.reflections.ended(op, value, is_unsure=is_unsure)
        self.groups.ended(op)
        self.retrievals.ended(op)
        self.documents.ended(op, value, is_unsure=is_unsure)
        self.summaries.shortened(value)

    def crashed(self) -> None:
        """Nothing in flight will reply; what has not taken effect before the next life never will."""
        self.context.tick += 1
        for op in self.tracks.flying.values():
            self.end(op)
            self.doubt(op)
            self.documents.ended(op, None, is_unsure=True)
            self.reflections.ended(op, None, is_unsure=True)
            if isinstance(op.request, Remember) and self.context.world_ms == NOBODY_TOLD:
                self.context.latest_ms = limits.I64_MAX  # nobody told when its steps were
        self.reflections.doubted.clear()
        self.tracks.flying.clear()
        self.upkeep.going.clear()
        self.groups.forget()
        self.searches.rewrites.clear()
        self.context.seen_ms = 0  # the next life has a clock of its own
        self.restless |= {track: None for track in self.tracks.tracks.values() if track.open}
        for op in {op: None for track in self.restless for op in track.open}:
            self.tracks.close(op)
        for track in self.restless:
            track.moved_ms = None  # what was on its way may land until the next life has recovered

    def wiped(self) -> None:
        """Nothing is there any more; what was known is asked about all the same."""
        for table in (self.tracks.tracks, self.tracks.by_key, self.writes.replies_by_key, self.restless):
            table.clear()
        self.documents.resources.clear()
        self.groups.forget()
        self.summaries.wiped()
        self.reflections.wiped()
        self.relations.wiped()

    def emptied(self) -> None:
        """Nothing is there any more; what was asked under a key before may still be told."""
        self.tended_before()
        by_key, replies = dict(self.tracks.by_key), dict(self.writes.replies_by_key)
        self.wiped()
        self.tracks.flying.clear()
        self.searches.rewrites.clear()
        for key in (key for key in by_key if isinstance(key, str)):
            self.tracks.by_key[key] = by_key[key]
            for op in by_key[key]:
                op.is_gone = True
        for key in (key for key in replies if isinstance(key, str)):
            self.writes.replies_by_key[key] = replies[key]

    def end(self, op: Operation) -> None:
        """It has ended, in whatever way."""
        op.ended = self.context.tick
        is_telling = isinstance(op.request, TELLING)
        self.tracks.known |= dict.fromkeys(op.mentions) if is_telling else {}
        if not self.context.keeps_receipt(op.asked_ms):  # its key may have been forgotten meanwhile
            self.tracks.release_ids(op.mentions)

    def doubt(self, op: Operation) -> None:
        """It may have happened; perhaps as one note, if the answer of its model came too late."""
        if op.extraction is not None and (self.evidence.is_late(op) or self.context.world_ms == NOBODY_TOLD):
            twin = attrs.evolve(op, mentions={}, extraction=None, did={})
            self.tracks.by_key.setdefault(op.key, [op]).append(twin)
            self.writes.offer(twin)
            self.tracks.known |= dict.fromkeys(twin.mentions)

    # Judging.

    def judge_failure(self, op: Operation, outcome: Refused | Failed) -> None:
        """Nothing changed, and for a good reason."""
        error, demand = outcome.error, self.context.demand
        if isinstance(error, errors.ModelFailed | errors.EmbedFailed):
            is_telling = isinstance(op.request, TELLING)
            rule = rules.TEXT_NEVER_LOST if is_telling else rules.DEGRADATION_NAMED
            demand(False, rule, f"a failing model or embedder made it fail: {error}")
        elif op.record is not None or isinstance(op.request, DeleteArchival):
            pass  # what an agent server is refused, another model judges
        elif isinstance(error, errors.KeyReused) and op.error is None:
            is_fair = any(not it.is_like(op) for it in self.may_hold_key(op))
            demand(is_fair, rules.ONCE_ONLY, "the same request under one key was taken for another one")
        elif isinstance(outcome, Refused) and not (isinstance(error, errors.TooBusy) or is_gone(outcome)):
            is_unknown = isinstance(op.request, EndSession) and isinstance(error, errors.SessionNotFound)
            is_fair = is_same(op.error, error) or (op.error is None and is_unknown)  # which sessions judge
            if isinstance(op.request, UpdateEntity) and op.error is None:
                key = op.request.entity_id
                is_fair = is_same(NotFound("entity", key), error) and self.writes.may_lack(op, key)
            demand(is_fair, rules.REFERENCE_AGREES, "refused without a reason", op.error, error)
        op.is_refuted = True
        self.tracks.withdraw(op)

    def may_hold_key(self, op: Operation) -> list[Operation]:
        """Who may have left a receipt under the key of this operation; a forget may even in doubt."""
        others = self.tracks.by_key.get(op.key, ())
        may_hold = [it for it in others if it.has_key or not (it.did or it.is_refuted)]
        return [*may_hold, *(it for it in others if isinstance(it.request, Forget))]

    def judge_done(self, op: Operation, outcome: Done) -> None:
        demand, value = self.context.demand, outcome.value
        is_read = not op.record or isinstance(value, RecordAdded)
        demand(op.error is None, rules.REFERENCE_AGREES, "done, and must be refused", op.error, outcome)
        demand(is_read, rules.REFERENCE_AGREES, "what was read of a record", RecordAdded.__name__, value)
        lacks = [item for item in outcome.degraded if not item.name.endswith(BY_USHER)]
        names = [item.name for item in lacks]
        self.degradations.judge_names(names)
        if op.error is None and is_read:
            if isinstance(value, RecordAdded):
                op.record_ids = dict.fromkeys(value.ids)
                value = attrs.evolve(value.facts, repeated=value.repeated)
            if isinstance(value, Memorized):
                self.documents.judge_limits(op, lacks)
            self.judge_value(op, value, names)
            if isinstance(value, Recalled) or (isinstance(value, Remembered) and self.is_its_own(op, value)):
                self.degradations.judge_reasons(op, lacks)

    def is_its_own(self, op: Operation, value: Remembered) -> bool:
        """Whether nobody else can have done what it says."""
        return not value.repeated and self.tracks.alike(op) == [op]

    def judge_value(self, op: Operation, value: Any, names: list[str]) -> None:
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
            case CreateEntity():
                self.writes.judge_create(op, value, names)
            case UpdateEntity():
                self.writes.judge_update(op, value, names)
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
                self.writes.judge_delete_record(op, value, names)
            case EndSession():
                self.reflections.judge_end(op, value, names)
            case Descent():
                self.retrievals.judge_retrieve(op, value, names)
            case List():
                self.lists.judge_list(op, value)
            case RecentEntities():
                self.lists.judge_recent(op, value)

    def told_fit(self, query: str, record: str) -> tuple[int, int]:
        return told_fit(self.tracks, self.searched, query, record)

    # For the workload and the audit.

    def known_ids(self) -> tuple[str, ...]:
        """Every id that was ever stored, or may have been."""
        return tuple(self.tracks.known)

    def audit(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """The requests whose replies settle everything."""
        reads: list[tuple[str, Mapping[str, object]]] = [("count", {})]
        known = {key: self.tracks.states_of(self.tracks.track(key)) for key in self.tracks.known}
        has_members = any(state.links for each in known.values() for state in each)
        kinds = LISTED if self.documents.resources or has_members else ()
        reads += [("list", {"kind": kind, "limit": limits.RECALL_LIMIT_MAX}) for kind in kinds]
        for key in spread([*known], AUDIT_ENTITY_COUNT_MAX):
            reads.append(("get_entity", {"entity_id": key}))
        names = {state.entity.name: None for each in known.values() for state in each if state.entity}
        searched = spread([*names], AUDIT_SEARCH_COUNT_MAX)
        return (*reads, *(("recall", {"query": name, "limit": limits.RECALL_LIMIT_MAX}) for name in searched))


def asked_pairs(effect: object) -> dict[tuple[str, str], None]:
    """Return the references, new and old, of the statements that a model is asked about."""
    pairs = asked_about(effect.prompt).get("pairs", ()) if isinstance(effect, AskModel) else ()
    return {(it["new"], it["old"]): None for it in pairs}


def spread(every: list[str], most: int) -> list[str]:
    """All if they are fewer than `most`; else every second, third and so on, which are not more."""
    return every[:: 1 + len(every) // most]

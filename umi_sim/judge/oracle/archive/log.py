"""The log: the durable batches of an archive, the rows that each stored, and the states that reads may show.

Law 1. Each id has one state at each position; position n is the state after n durable batches.
Law 2. Storage reports which batch became durable, and when. Its effect is derived from its request, the
answers before it was sent, and the states before it, and never from the rows of the batch itself.
Law 3. A read shows the states of some position between its request and its reply.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, permutations
from typing import Any, Final

import msgspec
from msgspec import structs

from umi_core.conversations import NORMALISERS
from umi_core.data import Owner
from umi_core.ids import relation_id, resource_id
from umi_core.kelpie.requests import DeleteArchival
from umi_core.kelpie.rows import Log as RecordLog
from umi_core.language.descriptions import Description
from umi_core.language.evolution import Evolution, StatementVerdict, parse_evolution
from umi_core.language.extraction import Extraction, Mention
from umi_core.language.routing import Routes, parse_routes
from umi_core.language.summaries import parse_summary
from umi_core.language.times import minute_of
from umi_core.limits import EMBED_TEXT_BYTES_MAX, EXTRACT_CONTENT_BYTES_MAX, RELATION_COUNT_MAX
from umi_core.messages.effects import Commit
from umi_core.messages.requests import (
    CreateEntity,
    EndSession,
    Forget,
    ForgetResource,
    LoadSession,
    Memorize,
    Rebalance,
    Remember,
    ShareArchive,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Stored
from umi_core.policies.routing import table_decision
from umi_core.rows import Ended, Entity, Relation, fact_of
from umi_core.text import cut, size
from umi_core.values import RoutingDecision, Scope
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.operations import (
    NOT_ASKED,
    ArchiveOperation,
    BatchContext,
    Categorised,
    Exchange,
    as_mention,
    find_day,
    list_mentions,
    read_carried,
    read_extracted,
    read_given,
    read_memorized,
    read_stated,
)
from umi_sim.judge.oracle.archive.states import (
    MEDIA,
    NOTHING,
    CategoryState,
    End,
    FactState,
    Given,
    MemorizedText,
    ReflectionState,
    Timeline,
    Vector,
    add_categories,
    add_source,
    drop_relations,
    drop_source,
    find_moved_id,
    make_fact_id,
    move_fact,
    store_fact,
    update_fact,
)
from umi_sim.judge.plain.pairs import order_by_text
from umi_sim.record import rules
from umi_sim.record.rules import Rule

BEGINNING_BYTES: Final = 500
SHOWN_BYTES: Final = 100_000
ENDING_KINDS: Final = ("update", "contradict")
UNHEARD: Final = ((), ("evolve",), ("route",), ("evolve", "route"))
"""Sets of steps whose answers an interceptor may withhold from the memory; only the reply shows which."""
Claim = tuple[int, str]  # version and kind of change


class Batch(Owner):
    """The effect of one durable batch.

    `at_ms`: world time when it became durable. `applied`: the claim of each id, in the order of the reply;
    `order`: ids in the order of the text. `states`, `resources`, `categories`, `reflections`: new states by
    id. `relations`: new relations; `lost`: deleted ones; `dropped_count`: how many had no room. `readers`:
    under `grant`, the agents that may read the archive. `twins`: other derivations of the batch that give the
    same rows. `past`: facts of its text that end, most of them in the batch that stores them.
    `is_reported`: whether a reply has reported it.
    """

    op: ArchiveOperation
    plan: BatchContext
    position: int
    at_ms: int
    applied: dict[str, Claim] = {}
    order: list[str] = []
    states: dict[str, FactState] = {}
    relations: list[Relation] = []
    lost: list[Relation] = []
    dropped_count: int = 0
    extraction: Extraction | None = None
    routing: dict[str, RoutingDecision] = {}
    resources: dict[str, MemorizedText | None] = {}
    categories: dict[str, CategoryState] = {}
    reflections: dict[str, ReflectionState | None] = {}
    readers: dict[str, tuple[str, ...]] = {}
    twins: list["Batch"] = []
    past: list[str] = []
    is_reported: bool = False

    def entity(self, key: str) -> Entity:
        """Return the fact under this id, current or ended."""
        fact = self.states[key].fact
        assert fact is not None
        return fact

    def change(self, key: str, **fields: Any) -> None:
        """Change fields of the fact under this id."""
        self.states[key] = self.states[key].with_fact(structs.replace(self.entity(key), **fields))

    def embed(self, key: str, vector: Vector, *, is_missing: bool) -> None:
        """Set the vector of this fact."""
        self.change(key, vector_missing=is_missing)
        self.states[key] = structs.replace(self.states[key], vector=vector)

    def end(self, key: str, state: FactState, by: str, how: str) -> None:
        """End a fact: it leaves its categories, and searches do not find it."""
        assert state.entity is not None
        self.states[key] = FactState(ended=Ended(key, state.entity, by, how, self.plan.at_ms))
        if key in self.applied:
            self.past.append(key)
        else:
            self.applied[key] = state.version, "ended"

    @property
    def created(self) -> list[str]:
        return [key for key, (_, change) in self.applied.items() if change == "created"]

    @property
    def current(self) -> list[str]:
        """Return the ids of the facts of the text that are current after the batch."""
        return [it.id for it in self.stored if self.states[it.id].ended is None]

    @property
    def kept(self) -> list[str]:
        """Return the ids of the facts of the text that had ended before the batch and stay ended."""
        return [it.id for it in self.stored if it.id not in (*self.past, *self.current)]

    @property
    def stored(self) -> tuple[Stored, ...]:
        return tuple(Stored(key, *claim) for key, claim in self.applied.items() if claim[1] != "ended")

    @property
    def ended(self) -> tuple[str, ...]:
        return tuple(
            key for key, (_, change) in self.applied.items() if change == "ended" or key in self.past
        )


class BatchLog(ArchivePart):
    """A sequential model of one archive: its rows at each position.

    `times`: when each batch became durable. `said`: descriptions of payloads by models. `known`: ids that are
    or may be stored, for the workload and the audit. `ops`: operations by op_id; `flying`: those without a
    reply. `by_id`: the last batch that changed an id; `by_op`: the batches of an operation; `by_key`: those
    under a request key. `last_facts`: the last fact of each remembered text. `stored_at`: by the id of an
    entity, the position and the operation of the last new fact about it.
    """

    times: list[int] = []
    facts: Timeline[FactState] = msgspec.field(default_factory=lambda: Timeline(NOTHING))
    resources: Timeline[MemorizedText | None] = msgspec.field(default_factory=lambda: Timeline(None))
    categories: Timeline[CategoryState] = msgspec.field(default_factory=lambda: Timeline(CategoryState()))
    reflections: Timeline[ReflectionState | None] = msgspec.field(default_factory=lambda: Timeline(None))
    readers: Timeline[tuple[str, ...]] = msgspec.field(default_factory=lambda: Timeline(()))
    relations: dict[str, Relation] = {}
    said: dict[tuple[str, Given], dict[Description, None]] = {}
    known: dict[str, None] = {}
    ops: dict[str, ArchiveOperation] = {}
    flying: dict[str, ArchiveOperation] = {}
    by_id: dict[str, Batch] = {}
    by_op: dict[ArchiveOperation, list[Batch]] = {}
    by_key: dict[str, list[Batch]] = {}
    last_facts: dict[str, None] = {}
    stored_at: dict[str, tuple[int, ArchiveOperation]] = {}

    @property
    def position(self) -> int:
        """Return the number of durable batches."""
        return len(self.times)

    def state(self, key: str) -> FactState:
        return self.facts.now(key)

    def members(self, category: str) -> list[str]:
        return [key for key in self.facts.entries if category in self.state(key).links]

    def advance(self) -> None:
        """Count a batch that has become durable."""
        self.times.append(self.context.now_ms)

    def store_batch(self, batch: Batch) -> None:
        """Apply the changes of this batch to the timelines."""
        self.update_summaries(batch)  # first, since it compares with the states before this batch
        self.advance()
        news = {key: state for key, state in batch.states.items() if state != self.state(key)}
        self.by_id |= dict.fromkeys(news, batch)
        self.facts.put_all(batch.position, news)
        self.resources.put_all(batch.position, batch.resources)
        self.categories.put_all(batch.position, batch.categories)
        self.reflections.put_all(batch.position, batch.reflections)
        self.readers.put_all(batch.position, batch.readers)
        self.relations |= {it.id: it for it in batch.relations}
        for relation in batch.lost:
            del self.relations[relation.id]

    def update_summaries(self, batch: Batch) -> None:
        """Delete the summary of a category that loses one of its sources; new members make it dirty."""
        before = {key: self.state(key).links for key in batch.states}
        after_links = [it.links for it in batch.states.values()]
        for name in dict.fromkeys(name for links in (*before.values(), *after_links) for name in links):
            lost = [key for key, it in batch.states.items() if name in before[key] and name not in it.links]
            joined = [key for key, it in batch.states.items() if name not in before[key] and name in it.links]
            after = self.categories.now(name)
            left_count = len(self.members(name)) - len(lost)
            # A summary may mention any of its source facts, so it is deleted when one of these leaves the
            # category. New members only make it dirty.
            if lost and (not left_count or any(key in lost for key, _ in after.sources)):
                after = CategoryState(is_dirty=left_count > 0)
            if lost or joined:
                batch.categories[name] = structs.replace(after, is_dirty=after.is_dirty or bool(joined))

    def empty(self) -> None:
        """Delete everything; versions start from 1 again."""
        self.advance()
        timelines: tuple[Timeline[Any], ...] = (
            self.facts, self.resources, self.categories, self.reflections, self.readers,
        )  # fmt: skip
        for timeline in timelines:
            timeline.put_all(self.position, dict.fromkeys(timeline.entries, timeline.nothing))
        self.relations.clear()
        self.by_id.clear()

    # The effect of a batch.

    def apply(self, op: ArchiveOperation, plan: BatchContext) -> Batch:
        batch = Batch(op, plan, self.position + 1, self.context.now_ms)
        match op.request:
            case Remember() | Memorize() | CreateEntity() | LoadSession() as request:
                self.store_facts(batch, request)
            case UpdateEntity() as request:
                self.update(batch, request)
            case Forget(entity_id=key):
                is_there = self.state(key).fact is not None
                batch.applied[key] = (0, "forgot" if is_there else "absent")
                self.remove(batch, [key] if is_there else [])
            case Summarise(category=name):
                self.summarise(batch, name)
            case Rebalance():
                self.repair(batch)
            case EndSession(session_id=session):
                self.reflect(batch, session)
            case ForgetResource(resource_id=source) if self.resources.now(source) is not None:
                self.forget_source(batch, source)
            case DeleteArchival(record_id=source):
                self.forget_source(batch, source)
            case ShareArchive() as request:
                readers = list_readers(request, op.scope)
                if readers not in (None, self.readers.now("grant")):
                    batch.readers, batch.applied = {"grant": readers or ()}, {"grant": (0, "shared")}
        return batch

    def read(self, batch: Batch, key: str) -> FactState:
        """Return the state of an id after the changes that this batch has made so far."""
        return batch.states.get(key, self.state(key))

    def store_facts(self, batch: Batch, request: Remember | Memorize | CreateEntity | LoadSession) -> None:
        """Store the facts of a text or a session, or a given fact.

        Nothing is stored if upkeep has read a text that another one has replaced since.
        """
        op, plan, scope = batch.op, batch.plan, batch.op.scope
        at_ms, reinforced_ms, source = plan.time_of("lookup"), plan.time_of("lookup"), ""
        carried_options = dict[str, Remember]()
        if isinstance(request, Remember):
            batch.extraction = read_extracted(op, plan, self.context.config)
            mentions = list_mentions(op, batch.extraction, self.context.config)
            facts: dict[str, Categorised] = {make_fact_id(it, scope): (it, ()) for it in mentions}
            options, reinforced_ms, source = request, plan.at_ms, name_record(plan) if op.record else ""
        elif isinstance(request, LoadSession):
            carried = [(as_mention(it), it) for it in read_carried(plan).values()]
            facts = {make_fact_id(mention, scope): (mention, ()) for mention, _ in carried}
            options = Remember(0, "\n".join(it.content for _, it in carried))
            carried_options = {make_fact_id(mention, scope): read_options(it) for mention, it in carried}
        elif isinstance(request, CreateEntity):
            one = read_given(request, op.listed)
            facts, options = {make_fact_id(one[0], scope): one}, Remember(0, request.content)
        else:
            source = resource_id(scope, request.uri, request.text)
            if not self.memorize(batch, request, source):
                return
            facts = read_memorized(plan, scope, op.listed, find_day(op, self.context.config))
            # `options` are the arguments besides the text; a memorize has only its time.
            options = Remember(0, request.text, event_time_ms=request.happened_ms)
        stated = read_stated(op, self.context.config) if isinstance(request, Remember) else options.text
        batch.order = self.order_mentions({key: mention for key, (mention, _) in facts.items()}, stated)
        for key, (mention, categories) in facts.items():
            before, past = self.state(key), self.find_past(key, batch.order)
            if past is not None:
                before = FactState(past.fact)
            # A fact carried by a session has its own details, unless the fact is current in this archive.
            given = carried_options.get(key, options) if before.entity is None else options
            later = store_fact(before, key, mention, given, at_ms, scope)
            later = add_source(source, before, later, reinforced_ms)
            is_bare = isinstance(request, Remember | LoadSession)
            later = later if is_bare else add_categories(later, before, mention, categories)
            if past is not None:
                later = FactState(ended=structs.replace(past, fact=later.entity))
            batch.states[key] = later
            batch.applied[key] = later.version, "unchanged" if before.entity else "created"
        self.chain(batch)
        if isinstance(request, Remember | LoadSession):
            self.route(batch)
        self.embed(batch, is_wanted=options.embed)
        self.relate(batch)

    def memorize(self, batch: Batch, request: Memorize, key: str) -> bool:
        """Store a text; return False if this is upkeep and the text was replaced meanwhile."""
        before, given = self.resources.now(key), (request.modality, request.text)
        if batch.op.is_unasked and (before is None or before.given != given):
            return False
        session = request.session_id or (before.session if before is not None else None)
        batch.resources[key] = MemorizedText(given, session)
        return True

    def order_mentions(self, mentions: Mapping[str, Mention], text: str) -> list[str]:
        """Return the ids of facts in the order of the text; a stored fact has its stored wording."""
        facts = {key: self.state(key).fact or mention for key, mention in mentions.items()}
        return order_by_text({key: it.content for key, it in facts.items()}, text)

    def find_past(self, key: str, order: list[str]) -> Ended | None:
        """Return the row of a fact that a later fact of the same text has ended: it stays ended."""
        it = self.state(key).ended
        return it if it is not None and it.by in order[order.index(key) :] else None

    def chain(self, batch: Batch) -> None:
        """Set `follows` of each new fact to the fact before it in the text (M2.32)."""
        # "Has a dog. Is called Rex. Has a cat.": Rex follows the dog, and the cat follows Rex. A fact that
        # was stored before keeps its old `follows`.
        for before, key in pairwise(batch.order):
            if self.is_first(batch, key):
                batch.change(key, follows=before)

    def is_first(self, batch: Batch, key: str) -> bool:
        """Return whether this batch stores a fact for the first time."""
        return batch.applied[key][1] == "created" and self.state(key).ended is None

    def route(self, batch: Batch) -> None:
        """Route new facts by the answer of a model or by the table; stored facts keep their block."""
        asked = tuple(batch.entity(key) for key in batch.created)
        reply = batch.plan.text("route") if self.context.config.semantic_routing else None
        read = parse_routes(reply, asked, self.context.config) if reply is not None else None
        decisions = read.decisions if isinstance(read, Routes) else [table_decision(it) for it in asked]
        batch.routing = {it.entity_id: it for it in decisions}
        for key in batch.applied:
            kept = RoutingDecision(key, batch.entity(key).block, False, None, "", "kept", None)
            batch.change(key, block=batch.routing.setdefault(key, kept).block)

    def embed(self, batch: Batch, *, is_wanted: bool = True) -> None:
        """Set the vectors of new facts."""
        vectors = batch.plan.vectors(len(batch.created), self.context.config.embedding_dims)
        for key, vector in zip(batch.created, vectors, strict=True):
            batch.embed(key, vector, is_missing=is_wanted and vector is None)

    def update(self, batch: Batch, request: UpdateEntity) -> None:
        old_id, plan = request.entity_id, batch.plan
        before = self.state(old_id)
        if before.entity is None:
            return
        key = find_moved_id(before.entity, request, batch.op.scope)
        if key == old_id:
            batch.states[key] = update_fact(before, request)
            batch.applied[key] = before.version, "unchanged"
            return
        there = self.state(key)
        batch.states[key] = later = move_fact(
            there, key, before, request, plan.time_of("target"), batch.op.scope
        )
        batch.applied[key] = later.version, "unchanged" if there.entity else "created"
        self.embed(batch)
        batch.end(old_id, before, key, "update")

    def remove(self, batch: Batch, removed: list[str]) -> None:
        """Delete these facts and their relations, and update the facts at the other ends."""
        for key in removed:
            batch.states[key] = NOTHING
        batch.lost = [
            it for it in self.relations.values() if it.source[0] in removed or it.target[0] in removed
        ]
        for key in {key: None for it in batch.lost for key in it.touches if key not in removed}:
            state = self.read(batch, key)
            if state.fact is not None:
                count = sum((it.source[0] == key) + (it.target[0] == key) for it in batch.lost)
                batch.states[key] = state.with_fact(drop_relations(state.fact, count, removed))

    def forget_source(self, batch: Batch, source: str) -> None:
        """Delete a text or a record, and the facts that have no other source."""
        batch.resources[source] = None
        for key in sorted(self.facts.entries):  # the reply names the entities by id
            state = self.state(key)
            if state.fact is not None and source in state.fact.sources:
                batch.states[key] = after = drop_source(state, source)
                batch.applied[key] = state.version, "unchanged" if after.fact else "forgot"
        self.remove(batch, [key for key, (_, change) in batch.applied.items() if change == "forgot"])
        for session in self.reflections.entries:
            it = self.reflections.now(session)
            if it is not None and source in it.sources:
                batch.reflections[session] = ReflectionState("", (), it.is_degraded)

    def repair(self, batch: Batch) -> None:
        """Set the vector of each fact without one, if there was an answer for its text."""
        last = batch.plan.last("embed") or NOT_ASKED
        vectors = last.vectors(len(last.texts), self.context.config.embedding_dims)
        found = dict(zip(last.texts, vectors, strict=True))
        for key in self.facts.entries:
            it = self.state(key).entity
            if it is not None and it.vector_missing:
                vector = found.get(cut("\n".join(it.name_and_text()), EMBED_TEXT_BYTES_MAX))
                batch.states[key] = self.state(key)
                batch.embed(key, vector, is_missing=vector is None)

    # Summaries and reflections.

    def summarise(self, batch: Batch, name: str) -> None:
        """Store a summary by a model; its sources are the facts in the prompt and the old sources."""
        ask, reply, before = batch.plan.last("ask"), batch.plan.text("ask"), self.categories.now(name)
        if ask is None:  # the category has no members left, or the same as before
            is_bare = batch.plan.last("embed_summary") is not None
            batch.categories[name] = CategoryState() if is_bare else structs.replace(before, is_dirty=False)
        elif isinstance(text := parse_summary(reply or ""), str):
            known = before.sources if "summary" in ask.inputs else ()
            shown = (read_end(str(it["ref"])) for it in ask.inputs["facts"])
            batch.categories[name] = CategoryState(text, tuple(sorted({*known, *shown})))

    def reflect(self, batch: Batch, session: str) -> None:
        """Store a reflection by a model, or else the beginning of the texts in its prompt, if any."""
        facts = self.list_session_facts(session, self.position)
        ask = batch.plan.last("ask")
        if ask is not None:
            shown = ask.inputs["texts"]
            sources = tuple(key for key, texts in facts.items() if not {*shown}.isdisjoint(texts))
            text, is_degraded = read_reflection(batch.plan)
            batch.reflections[session] = ReflectionState(text, sources, is_degraded)
        elif not any(facts.values()):
            batch.reflections[session] = None

    def list_session_facts(self, session: str, position: int) -> dict[str, list[str]]:
        """Return the resources of a session, each with the texts of it that a prompt may contain."""
        found = {key: self.resources.at(key, position) for key in self.resources.entries}
        return {key: self.list_texts(key, it) for key, it in found.items() if it and it.session == session}

    def is_payload(self, key: str) -> bool:
        """Return whether a resource is a payload; prompts contain only a model's description of it."""
        it = self.resources.now(key)
        return it is not None and it.given[0] in MEDIA

    def list_texts(self, key: str, it: MemorizedText) -> list[str]:
        """Return the texts of a resource that a prompt may contain: its own, or descriptions by models."""
        modality, text = it.given
        own = [NORMALISERS[modality](text)] if modality not in MEDIA else []
        own += [described.text for described in self.said.get((key, it.given), ())]
        return [shown for text in own if (shown := cut(text.strip(), SHOWN_BYTES))]

    # Effects of a text on known facts.

    def relate(self, batch: Batch) -> None:
        """Add the relations of the verdicts, as far as the facts have room, and end facts.

        The fact that happened later ends the earlier one. A fact is ended by the first verdict about it. A
        verdict that would close a circle of endings ends nothing.
        """
        verdicts, endings = [*self.read_verdicts(batch)], dict[str, tuple[str, str]]()
        for new, old, it in verdicts:
            known, fresh = self.read(batch, old[0]).entity, batch.entity(new[0])
            assert known is not None
            is_past = it.kind in ENDING_KINDS and happened_before(fresh, known)
            first, last, ending = (new, old, fresh) if is_past else (old, new, known)
            row_id = relation_id(self.context.scope, first, last, it.kind)
            what = it.confidence_ppm, it.reason, it.by, batch.plan.at_ms
            relation = Relation(row_id, it.kind, first, last, *what)
            states = {key: self.read(batch, key) for key in relation.touches}
            facts = [entity for state in states.values() if (entity := state.entity) is not None]
            # Both ends count the relation, so both must have room
            # for it; a fact that is not current has no room.
            if len([fact for fact in facts if fact.relation_count < RELATION_COUNT_MAX]) < len(states):
                batch.dropped_count += 1
            else:
                batch.relations.append(relation)
                batch.states |= states
                for fact in facts:
                    batch.change(fact.id, relation_count=fact.relation_count + 1)
            # A prompt contains the first 1,000 bytes of a fact, so a verdict
            # about a longer fact is stored as a relation but ends nothing.
            is_short = size(ending.content) <= EXTRACT_CONTENT_BYTES_MAX
            if it.kind in ENDING_KINDS and is_short and first[0] not in list_chain(last[0], endings):
                # The first verdict counts: "moved to Rome" and "moved to
                # Oslo" cannot both have ended "lives in Paris".
                endings.setdefault(first[0], (last[0], it.kind))
        for relation in [it for it in batch.relations if it.kind == "contradict"]:
            # Each end lists the other in `contradicts`: as (old, new) and as (new, old).
            for (key, _), (other, version) in permutations((relation.target, relation.source)):
                statement, before = f"{other}@{version}", batch.entity(key).contradicts
                # A statement that is listed already moves to the end; the oldest beyond the limit are lost.
                refs = (*(it for it in before if it != statement), statement)
                batch.change(key, contradicts=refs[-RELATION_COUNT_MAX:])
        for key, (by, how) in endings.items():
            batch.end(key, batch.states.get(key) or self.read(batch, key), by, how)

    def read_verdicts(self, batch: Batch) -> Iterator[tuple[End, End, StatementVerdict]]:
        """Yield the verdicts about a new fact and an older one that apply and are confident enough."""
        floor_ppm = self.context.config.evolve_confidence_min_ppm
        compared = [(it.text, it.pairs) for it in batch.plan.questions("evolve")]
        read = [parse_evolution(text, pairs, floor_ppm) for text, pairs in compared if text is not None]
        verdicts = (pair for it in read if isinstance(it, Evolution) for pair in it.verdicts)
        for (new_ref, old_ref), verdict in verdicts:
            new, old = read_end(new_ref), read_end(old_ref)
            states = [self.read(batch, key) for key, _ in (new, old)]
            are_current = all(it.entity is not None for it in states)
            are_same = [it.version for it in states] == [new[1], old[1]]
            places = [batch.order.index(key) if key in batch.applied else -1 for key, _ in (new, old)]
            is_one_new = any(key in batch.created for key, _ in (new, old))
            if are_current and are_same and is_one_new and places[0] > places[1]:
                yield new, old, verdict

    # Durable batches.

    def apply_durable(self, op: ArchiveOperation, event: str, commit: Commit) -> Batch:
        """Apply a batch of this operation that has become durable."""
        plan = op.plans[event]
        batch = self.apply(op, plan)
        if isinstance(op.request, Remember | Memorize | LoadSession) and self.context.may_turn_away:
            # Only the later reply shows which answers an interceptor withheld
            # from the memory. So the batch is derived for every combination,
            # and those that give the rows of the batch are kept.
            twins = [self.apply(op, plan.without(steps)) for steps in UNHEARD]
            batch, *batch.twins = [it for it in twins if is_in(it, commit)] or [batch]
        if isinstance(op.request, Remember) and op.record is None and batch.applied:
            for it in (batch, *batch.twins):
                self.follow_last(it, commit)
            self.last_facts[batch.order[-1]] = None
        self.store_batch(batch)
        self.by_op.setdefault(op, []).append(batch)
        if op.key:
            self.by_key.setdefault(op.key, []).append(batch)
        return batch

    def follow_last(self, batch: Batch, commit: Commit) -> None:
        """Set `follows` of the first fact of a text as in its row, if that is the last fact of a text."""
        # Only the memory knows which text came before this one, so its row is right if it names the last fact
        # of any earlier text.
        first, *_ = batch.order
        follows = [
            getattr(fact_of(it.body), "follows", None) for it in commit.writes if it.address.id == first
        ]
        last = next((it for it in follows if it in self.last_facts or self.was_sent(it)), None)
        if last is not None and self.is_first(batch, first):
            batch.change(first, follows=last)

    def was_sent(self, key: str | None) -> bool:
        """Return whether this is the last fact of a batch that was sent, even if the batch was lost."""
        plans = ((op, it) for op in self.ops.values() for it in op.plans.values())
        sent = (key in self.apply(op, it).order[-1:] for op, it in plans if isinstance(op.request, Remember))
        return key is not None and any(sent)

    def list_stored_facts(self, op_id: str) -> tuple[str, ...]:
        """Return the ids of the facts that a remember has stored, in the order of its reply."""
        op = self.ops.get(op_id)
        if op is None or op.error is not None:
            return ()
        batch = self.find_own_batch(op)
        if batch is not None:
            return tuple(it.id for it in batch.stored)
        found = read_extracted(op, op.plan, self.context.config)
        return tuple(make_fact_id(it, op.scope) for it in list_mentions(op, found, self.context.config))

    # Looking up.

    def states_since(self, key: str, op: ArchiveOperation) -> tuple[FactState, ...]:
        """Return the states that this id has had since a request was issued."""
        return self.facts.since(key, op.position)

    def positions(self, op: ArchiveOperation, lag_ms: int = 0) -> range:
        """Return the positions that a read may show; a search that lags may show earlier ones as well."""
        return self.positions_from(op.position, self.position, op.asked_ms, lag_ms)

    def positions_from(self, first: int, last: int, asked_ms: int, lag_ms: int) -> range:
        # Example: lag 50, request at 100 and position 3, batches at 20, 60 and 90. Since 60 + 50 > 100, the
        # search may miss the batches of 90 and of 60, so positions 2 and 1 may be shown as well.
        while lag_ms and first and self.times[first - 1] + lag_ms > asked_ms:
            first -= 1
        return range(first, last + 1)

    def find_own_batch(self, op: ArchiveOperation) -> Batch | None:
        """Return the batch that counts for an operation: the first one, or one sent again after its receipt
        was forgotten."""
        found: Batch | None = None
        for it in self.by_op.get(op, ()):
            # A batch that is sent again within a day gets the answer of the first
            # one and stores nothing. Later, storage has forgotten the first.
            is_known = found is not None and self.context.keeps_receipt(found.at_ms, it.at_ms)
            found = found if is_known else it
        return found

    def find_key_holder(self, op: ArchiveOperation, own: Batch | None = None) -> Batch | None:
        """Return the last batch under the request key of this operation, if storage still had its receipt
        when the request was issued, or when the batch `own` became durable."""
        found = [it for it in self.by_key.get(op.key or "", ()) if own is None or it.position < own.position]
        at_ms = op.asked_ms if own is None else own.at_ms
        return found[-1] if found and self.context.keeps_receipt(found[-1].at_ms, at_ms) else None

    # Judging.

    def judge_times(self, op: ArchiveOperation, asked: Exchange) -> None:
        """Demand that a prompt has the right times of each statement: when it was stored and happened."""
        shown = [it for name in ("new", "old", "facts") for it in asked.inputs.get(name, ())]
        for it in shown:
            key, version = read_end(str(it["ref"]))
            states = [state for _, state in self.facts.entries.get(key, ())]  # any of them, for searches lag
            is_of_text = "new" in asked.inputs and key in op.looked_up
            states = [*self.states_since(key, op)] if is_of_text else states
            known = [it.entity if is_of_text else it.fact for it in states]
            facts = [fact for fact in known if fact is not None and fact.version == version]
            times = [(fact.updated_ms, fact.event_time_ms) for fact in facts]
            expected = [(minute_of(at), None if ms is None else minute_of(ms)) for at, ms in times]
            got, message = (it["told"], it.get("happened")), f"the times of {it['ref']} in a question"
            # If the fact was missing at some time, it may be new; then its times are those of its text.
            news = [(minute_of(op.plan.time_of("lookup")), got[1])] if len(expected) < len(states) else []
            if is_of_text and op.given_ms is not None:
                expected += [(at, minute_of(op.given_ms)) for at, _ in expected]
            expected += news if is_of_text else []
            self.demand(got in expected or not expected, rules.TIMES_TOLD, message, expected, got)

    def choose_rule(self, key: str, states: Iterable[FactState], got: Entity | Ended | int | None) -> Rule:
        """Return the rule that is broken if `got`, a row or version of this id, is in none of its states."""
        fact = got.fact if isinstance(got, Ended) else got
        shown = fact.version if isinstance(fact, Entity) else fact or 0
        versions = [state.fact.version if state.fact else 0 for state in states]
        low, high, batch = min(versions), max(versions), self.by_id.get(key)
        was_there = any(state.fact for _, state in self.facts.entries.get(key, ()))
        if self.is_shared(key):
            return rules.ALL_OR_NOTHING
        is_left = batch is not None and isinstance(batch.op.request, ForgetResource | DeleteArchival)
        if is_left and (shown > 0) == (high > 0):
            return rules.DELETE_ONLY_ITS_OWN
        if shown < low:
            return rules.ACKNOWLEDGED_IS_DURABLE
        if shown > high == 0 and was_there:
            return rules.DELETED_STAYS_DELETED
        if shown > high and was_there:
            return rules.ONCE_ONLY
        return choose_rule_of_relations(states, fact.contradicts if isinstance(fact, Entity) else None)

    def is_shared(self, key: str) -> bool:
        """Return whether an unreported batch with several ids was the last to change this id."""
        batch = self.by_id.get(key)
        return batch is not None and not batch.is_reported and len(batch.applied) > 1


def list_readers(request: ShareArchive, scope: Scope) -> tuple[str, ...] | None:
    """Return the agents that may read an archive after this request, sorted; None if it changes nothing."""
    agents = request.agents
    return None if agents is None else tuple(sorted({*agents} - {scope.agent}, key=str.encode))


def read_options(fact: Entity) -> Remember:
    """Return the details of a fact carried by a session, as the options of a remember."""
    happened_ms = fact.updated_ms if fact.event_time_ms is None else fact.event_time_ms
    return Remember(
        0, fact.content, importance_ppm=fact.importance_ppm, event_time_ms=happened_ms, metadata=fact.metadata
    )


def happened_before(one: Entity, other: Entity) -> bool:
    """Return whether `one`, by its stated time, happened before `other` happened or was stored."""
    known_ms = other.updated_ms if other.event_time_ms is None else other.event_time_ms
    return one.event_time_ms is not None and one.event_time_ms < known_ms


def list_chain(key: str, endings: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the ids of a fact, of the fact that ends it, of the one that ends that, and so on."""
    found = [key]
    while found[-1] in endings:
        found.append(endings[found[-1]][0])
    return found


def name_record(plan: BatchContext) -> str:
    """Return the id of the record that a plan adds, from the log row that it read; a damaged one counts as
    absent."""
    read = plan.tried("lookup")[-1:]
    rows = BatchContext(tuple(read), plan.at_ms).rows("lookup")
    numbers = [row.body.next_seq for row in rows if isinstance(row.body, RecordLog)]
    return f"arc_{(numbers or [1])[0]:012}"


def read_reflection(plan: BatchContext) -> tuple[str, bool]:
    """Return the reflection by a model and False, or the beginning of the texts in its prompt and True."""
    text, shown = parse_summary(plan.text("ask") or ""), (plan.last("ask") or NOT_ASKED).inputs["texts"]
    return (text, False) if isinstance(text, str) else (cut("\n".join(shown), BEGINNING_BYTES).rstrip(), True)


def read_end(ref: str) -> End:
    """Return the id and version of a reference such as `fct_1@2`; a model may have written any text."""
    key, _, number = ref.rpartition("@")
    # A number of up to 18 digits fits into 64 bits. No row has version
    # -1, so an invented reference matches nothing.
    return key, int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else -1


def choose_rule_of_relations(states: Iterable[FactState], got: tuple[str, ...] | None) -> Rule:
    """Return the rule that a read breaks if the contradictions that it shows are in none of `states`."""
    known = [it.contradicts for state in states if (it := state.fact) is not None]
    if not known or got is None or got in known:
        return rules.REFERENCE_AGREES
    # If some are missing from every state, one is lost. Otherwise one is shown that no verdict gave.
    is_less = all(set(got) < set(it) for it in known)
    return rules.ACKNOWLEDGED_IS_DURABLE if is_less else rules.RELATION_ENDS


def is_in(batch: Batch, commit: Commit) -> bool:
    """Return whether this derivation of a batch gives the endings, relations and blocks of the commit."""
    rows = {it.address: it.body for it in commit.writes}
    blocks = {where.id: fact.block for where, body in rows.items() if (fact := fact_of(body)) is not None}
    # A fact that had ended before may be written as well, for example with another source.
    written = [it for it, body in rows.items() if body is not None]
    ended = sorted(it.id for it in written if it.kind == "ended" and it.id not in batch.kept)
    related = sorted(it.id for it in written if it.kind == "relation")
    is_routed = all(blocks.get(key) == it.block for key, it in batch.routing.items() if key in batch.created)
    return is_routed and ended == sorted(batch.ended) and related == sorted(it.id for it in batch.relations)

"""A plain sequential memory: what each batch makes of what lies under each id.

Law 1. What a batch did follows from its request, from what was answered to that before the batch was sent,
and from the states before it. Nothing is taken from the batch itself.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise, permutations
from typing import Final

import attrs

from umi_core.invariants.limits import (
    EMBED_TEXT_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    RELATION_COUNT_MAX,
)
from umi_core.kelpie.requests import DeleteArchival
from umi_core.kelpie.rows import Log as RecordLog
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Embed
from umi_core.messages.requests import (
    CreateEntity,
    EndSession,
    EvolveCategory,
    Forget,
    ForgetResource,
    Memorize,
    Rebalance,
    Remember,
    Summarise,
    UpdateEntity,
)
from umi_core.rows import Entity, Relation
from umi_core.values import RoutingDecision
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.facts import (
    NOTHING,
    FactState,
    after_forgetting,
    after_move,
    after_telling,
    after_update,
    as_ended,
    contradicting,
    id_of,
    moved_id,
    shelved,
    told_by,
    told_directly,
    with_relation,
    without_relations,
    without_source,
)
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, BatchContext, extraction_of, memorized
from umi_sim.judge.oracle.archive.timelines import (
    Batch,
    CategoryState,
    Given,
    MemorizedText,
    ReflectionState,
    Timeline,
)
from umi_sim.judge.plain.extraction import ExpectedMention, Extracted, given_fact, whole_notes
from umi_sim.judge.plain.hierarchy import MEDIA, Described, lines_of
from umi_sim.judge.plain.replies import ExpectedVerdict, by_table, read_routes, read_summary, read_verdicts
from umi_sim.judge.plain.rows import End, relation_id, resource_id
from umi_sim.judge.plain.text import byte_count, cut

BEGINNING_BYTES: Final = 500
SHOWN_BYTES: Final = 100_000
ENDING_KINDS: Final = ("update", "contradict")


@attrs.define
class PlainMemory(ArchivePart):
    """All that is stored of one archive, at each position.

    `times`: when each batch became durable. `changed_at`: the position of the last one that was no division
    of a category, `facts_at` of the last that changed a fact. `said`: what models have said that a payload
    holds.
    """

    times: list[int] = attrs.field(factory=list)
    changed_at: int = 0
    facts_at: int = 0
    facts: Timeline[FactState] = attrs.field(factory=lambda: Timeline(NOTHING))
    resources: Timeline[MemorizedText | None] = attrs.field(factory=lambda: Timeline(None))
    categories: Timeline[CategoryState] = attrs.field(factory=lambda: Timeline(CategoryState()))
    reflections: Timeline[ReflectionState | None] = attrs.field(factory=lambda: Timeline(None))
    relations: dict[str, Relation] = attrs.field(factory=dict)
    said: dict[tuple[str, Given], dict[Described, None]] = attrs.field(factory=dict)

    @property
    def position(self) -> int:
        """How many batches are durable."""
        return len(self.times)

    def state(self, key: str) -> FactState:
        return self.facts.now(key)

    def members(self, category: str) -> list[str]:
        return [key for key in self.facts.entries if category in self.state(key).links]

    def advance(self, *, is_change: bool = True) -> None:
        """Some batch has become durable."""
        self.times.append(self.context.now_ms)
        self.changed_at = self.position if is_change else self.changed_at

    def store_batch(self, batch: Batch) -> None:
        """From now on all is as this batch has left it."""
        self.shelve(batch)
        self.advance(is_change=not isinstance(batch.op.request, EvolveCategory))
        news = {key: state for key, state in batch.states.items() if state != self.state(key)}
        self.facts_at = self.position if news else self.facts_at
        self.facts.put_all(batch.position, news)
        self.resources.put_all(batch.position, batch.resources)
        self.categories.put_all(batch.position, batch.categories)
        self.reflections.put_all(batch.position, batch.reflections)
        for relation in batch.relations:
            self.relations[relation.id] = relation
        for relation in batch.lost:
            del self.relations[relation.id]

    def shelve(self, batch: Batch) -> None:
        """A category whose members change: its summary forgets whom it names, and lacks the new ones."""
        before = {key: self.state(key).links for key in batch.states}
        after_links = [it.links for it in batch.states.values()]
        for name in dict.fromkeys(name for links in (*before.values(), *after_links) for name in links):
            lost = [key for key, it in batch.states.items() if name in before[key] and name not in it.links]
            came = [key for key, it in batch.states.items() if name not in before[key] and name in it.links]
            after = self.categories.now(name)
            if lost:
                left_count = len(self.members(name)) - len(lost)
                if not left_count or any(key in lost for key, _ in after.sources):
                    after = CategoryState(is_dirty=left_count > 0)
            if came:
                after = attrs.evolve(after, is_dirty=True)
            if lost or came:
                batch.categories[name] = after

    def empty(self) -> None:
        """Nothing is there any more, and versions begin anew."""
        self.advance()
        for timeline in (self.facts, self.resources, self.categories, self.reflections):
            timeline.clear(self.position)
        self.facts_at = self.position
        self.relations.clear()

    # What a batch does.

    def apply(self, op: ArchiveOperation, plan: BatchContext) -> Batch:
        batch, request = Batch(op, plan, self.position + 1, self.context.now_ms), op.request
        match request:
            case Remember():
                self.remember(batch, request)
            case Memorize():
                self.memorize(batch, request)
            case CreateEntity():
                mention = given_fact(request.content, request.memory_type, request.categories, op.listed)
                self.store(batch, {id_of(mention, op.scope): mention}, Remember(0, request.content), "")
            case UpdateEntity():
                self.update(batch, request)
            case Forget():
                is_there = self.state(request.entity_id).fact is not None
                batch.did[request.entity_id] = (0, "forgot" if is_there else "absent")
                self.leave(batch, [request.entity_id] if is_there else [])
            case Summarise():
                self.summarise(batch, request.category)
            case Rebalance():
                self.repair(batch)
            case EndSession():
                self.reflect(batch, request.session_id)
            case ForgetResource() | DeleteArchival():
                source = source_of(request)
                if isinstance(request, DeleteArchival) or self.resources.now(source) is not None:
                    self.forget_source(batch, source)
        return batch

    def read(self, batch: Batch, key: str) -> FactState:
        """The state of an id behind what this batch has done so far."""
        return batch.states.get(key, self.state(key))

    def remember(self, batch: Batch, request: Remember) -> None:
        op, plan, scope = batch.op, batch.plan, batch.op.scope
        floor_ppm = self.context.config.extract_confidence_min_ppm
        batch.extraction = extraction_of(op, plan, floor_ppm)
        mentions, record = mentions_of(request, batch.extraction), record_of(plan) if op.record else ""
        at_ms = plan.time_of("lookup")
        for mention in mentions:
            key = id_of(mention, scope)
            before = self.state(key)
            later = after_telling(before, key, mention, request, at_ms, scope)
            is_direct = op.record is None
            told = told_directly(later) if is_direct else told_by(record, before, later, plan.at_ms)
            batch.states[key] = told
            batch.did[key] = later.version, "unchanged" if before.entity else "created"
        self.chain(batch, request.text)
        self.route(batch)
        self.embed(batch, is_wanted=request.embed)
        self.relate(batch)
        self.end_facts(batch)

    def chain(self, batch: Batch, text: str) -> None:
        """Let each new fact follow the one that the text tells before it, as M2.32 says."""
        contents = {key: fact.content for key in batch.did if (fact := batch.states[key].entity) is not None}
        batch.order = in_text_order(contents, text)
        for before, key in pairwise(batch.order):
            if self.is_first(batch, key):
                self.follow(batch, key, before)

    def is_first(self, batch: Batch, key: str) -> bool:
        """Whether this batch tells a fact of which nothing was stored."""
        return batch.did[key][1] == "created" and self.state(key).ended is None

    def follow(self, batch: Batch, key: str, before: str) -> None:
        state = batch.states[key]
        assert state.entity is not None
        batch.states[key] = state.with_fact(attrs.evolve(state.entity, follows=before))

    def route(self, batch: Batch) -> None:
        """As a model said of what is new, or as the table says; what is known keeps its block."""
        facts = {key: it for key in batch.did if (it := self.read(batch, key).entity) is not None}
        asked = [(key, facts[key].type) for key in batch.changed]
        reply = batch.plan.text("route") if self.context.config.semantic_routing else None
        read = read_routes(reply, asked, self.context.config) if reply is not None else None
        decisions = read.decisions if read is not None else [by_table(*it) for it in asked]
        batch.routing = {it.entity_id: it for it in decisions}
        for key, fact in facts.items():
            if key not in batch.routing:
                batch.routing[key] = RoutingDecision(key, fact.block, False, None, "", "kept", None)
            block = batch.routing[key].block
            batch.states[key] = self.read(batch, key).with_fact(attrs.evolve(fact, block=block))

    def embed(self, batch: Batch, *, is_wanted: bool = True) -> None:
        """The vectors of what is new."""
        keys = batch.changed
        vectors = batch.plan.vectors(len(keys), self.context.config.embedding_dims)
        for key, vector in zip(keys, vectors, strict=True):
            batch.embed(key, vector, is_missing=is_wanted and vector is None)

    def store(
        self, batch: Batch, mentions: Mapping[str, ExpectedMention], told: Remember, source: str
    ) -> None:
        """Facts of a text, or one that its caller gives, in their categories."""
        at_ms, scope = batch.plan.time_of("lookup"), batch.op.scope
        for key, mention in mentions.items():
            before = self.state(key)
            later = after_telling(before, key, mention, told, at_ms, scope)
            later = told_by(source, before, later, at_ms) if source else told_directly(later)
            batch.states[key] = shelved(later, before, mention)
            batch.did[key] = later.version, "unchanged" if before.entity else "created"
        self.embed(batch)

    def memorize(self, batch: Batch, request: Memorize) -> None:
        """A text with its facts; upkeep brings none back that was replaced or forgotten meanwhile."""
        op, key = batch.op, resource_id(batch.op.scope, request.uri, request.text)
        before, given = self.resources.now(key), (request.modality, request.text)
        if op.is_unasked and (before is None or before.given != given):
            return
        session = request.session_id or (before.session if before is not None else None)
        batch.resources[key] = MemorizedText(given, session)
        told = Remember(0, request.text, event_time_ms=request.happened_ms)
        self.store(batch, memorized(batch.plan, op.scope, op.listed), told, key)
        self.chain(batch, request.text)
        self.relate(batch)
        self.end_facts(batch)

    def update(self, batch: Batch, request: UpdateEntity) -> None:
        old_id, plan = request.entity_id, batch.plan
        before = self.state(old_id)
        if before.entity is None:
            return
        key = moved_id(before.entity, request, batch.op.scope)
        if key == old_id:
            batch.states[key] = after_update(before, request)
            batch.did[key] = before.version, "unchanged"
            return
        there = self.state(key)
        batch.states[key] = later = after_move(there, key, before, request, plan.time_of("target"))
        batch.states[old_id] = as_ended(before, old_id, key, "update", plan.at_ms)
        batch.did[key] = later.version, "unchanged" if there.entity else "created"
        self.embed(batch)
        batch.did[old_id] = before.version, "ended"

    def leave(self, batch: Batch, gone: list[str]) -> None:
        """These facts leave with their relations; those at the other ends are without them."""
        for key in gone:
            batch.states[key] = after_forgetting(self.read(batch, key))
        for relation in self.relations.values():
            if relation.source[0] in gone or relation.target[0] in gone:
                batch.lost.append(relation)
        ends = {key: None for it in batch.lost for key in it.touches if key not in gone}
        for key in ends:
            state = self.read(batch, key)
            if state.fact is not None:
                batch.states[key] = state.with_fact(without_relations(state.fact, batch.lost, gone))

    def forget_source(self, batch: Batch, source: str) -> None:
        """A text or a record leaves with all that it alone told."""
        batch.resources[source] = None
        for key in sorted(self.facts.entries):
            state = self.state(key)
            if state.fact is not None and source in state.fact.sources:
                batch.states[key] = after = without_source(state, source)
                batch.did[key] = state.version, "unchanged" if after.fact else "forgot"
        self.leave(batch, [key for key, (_, change) in batch.did.items() if change == "forgot"])
        for session in self.reflections.entries:
            it = self.reflections.now(session)
            if it is not None and source in it.sources:
                batch.reflections[session] = ReflectionState("", (), it.is_degraded)

    def repair(self, batch: Batch) -> None:
        """Facts without a vector get the one of their text."""
        last = batch.plan.last("embed")
        texts = last.effect.texts if last is not None and isinstance(last.effect, Embed) else ()
        vectors = batch.plan.vectors(len(texts), self.context.config.embedding_dims)
        found = dict(zip(texts, vectors, strict=True))
        for key in self.facts.entries:
            state = self.state(key)
            it = state.entity
            if it is not None and it.vector_missing:
                vector = found.get(cut("\n".join(it.name_and_text()), EMBED_TEXT_BYTES_MAX))
                batch.states[key] = state
                batch.embed(key, vector, is_missing=vector is None)

    # What is made of facts and texts.

    def summarise(self, batch: Batch, name: str) -> None:
        """What a model said; its sources are the facts that it was shown, and those of the summary shown."""
        ask, reply, before = batch.plan.last("ask"), batch.plan.text("ask"), self.categories.now(name)
        if ask is None:  # nobody is left, or the same ones
            is_bare = batch.plan.last("embed_summary") is not None
            batch.categories[name] = CategoryState() if is_bare else attrs.evolve(before, is_dirty=False)
        elif (text := read_summary(reply or "")) is not None:
            known = before.sources if "summary" in ask.inputs else ()
            shown = (end_of(str(it["ref"])) for it in ask.inputs["facts"])
            batch.categories[name] = CategoryState(text, tuple(sorted({*known, *shown})))

    def reflect(self, batch: Batch, session: str) -> None:
        """What a model said of the texts that it was shown, or their beginning; nothing, if none is left."""
        ask, told = batch.plan.last("ask"), self.of_session(session)
        if ask is not None:
            shown, text = ask.inputs["texts"], read_summary(batch.plan.text("ask") or "")
            beginning = cut("\n".join(shown), BEGINNING_BYTES).rstrip()
            sources = tuple(
                key for key, it in told.items() if not {*shown}.isdisjoint(self.texts_of(key, it))
            )
            after = ReflectionState(beginning if text is None else text, sources, text is None)
            batch.reflections[session] = after
        elif not any(self.texts_of(key, it) for key, it in told.items()):
            batch.reflections[session] = None

    def of_session(self, session: str) -> dict[str, MemorizedText]:
        found = ((key, self.resources.now(key)) for key in self.resources.entries)
        return {key: it for key, it in found if it is not None and it.session == session}

    def texts_of(self, key: str, it: MemorizedText) -> list[str]:
        """What a model may be shown of a resource: its text, or what another has said that it holds."""
        modality, text = it.given
        own = ["\n".join(lines_of(text, modality))] if modality not in MEDIA else []
        own += [described.text for described in self.said.get((key, it.given), ())]
        return [shown for text in own if (shown := cut(text.strip(), SHOWN_BYTES))]

    # What a remember does to others.

    def relate(self, batch: Batch) -> None:
        """What verdicts say; a fact at its limit takes no more."""
        for relation in self.verdicts(batch):
            facts = {key: self.read(batch, key).entity for key in relation.touches}
            ends = [it for it in facts.values() if it is not None and it.relation_count < RELATION_COUNT_MAX]
            if len(ends) < len(facts):
                batch.dropped_count += 1
                continue
            batch.relations.append(relation)
            for fact in ends:
                batch.states[fact.id] = self.read(batch, fact.id).with_fact(with_relation(fact))
        for relation in [it for it in batch.relations if it.kind == "contradict"]:
            for (key, _), (other, version) in permutations((relation.target, relation.source)):
                state = batch.states[key]
                assert state.entity is not None
                batch.states[key] = state.with_fact(contradicting(state.entity, f"{other}@{version}"))

    def relation(self, source: End, target: End, verdict: ExpectedVerdict, at_ms: int) -> Relation:
        row_id = relation_id(self.context.scope, source, target, verdict.kind)
        what = verdict.confidence_ppm, verdict.reason, verdict.by
        return Relation(row_id, verdict.kind, source, target, *what, at_ms)

    def verdicts(self, batch: Batch) -> Iterator[Relation]:
        for new, old, verdict in self.read_verdicts(batch):
            yield self.relation(old, new, verdict, batch.plan.at_ms)

    def read_verdicts(self, batch: Batch) -> Iterator[tuple[End, End, ExpectedVerdict]]:
        """What a model said about pairs of a new statement and a known one, sure enough to count."""
        floor_ppm = self.context.config.evolve_confidence_min_ppm
        told = [(it.text, it.pairs) for it in batch.plan.questions("evolve")]
        read = [read_verdicts(text, pairs, floor_ppm) for text, pairs in told if text is not None]
        for (new_ref, old_ref), verdict in (pair for it in read if it is not None for pair in it.by_pair):
            new, old = end_of(new_ref), end_of(old_ref)
            known = self.state(old[0])
            is_new = batch.did.get(new[0]) == (new[1], "created")
            if is_new and known.entity is not None and known.version == old[1] and old[0] not in batch.did:
                yield new, old, verdict

    def end_facts(self, batch: Batch) -> None:
        """Each fact that a verdict ends, by the first new one named; a model saw no long one whole."""
        endings: dict[str, tuple[str, str]] = {}
        for (new, _), (old, _), verdict in self.read_verdicts(batch):
            fact, successor = self.state(old).entity, batch.states[new].entity
            if fact is None or byte_count(fact.content) > EXTRACT_CONTENT_BYTES_MAX:
                continue
            if verdict.kind in ENDING_KINDS and not happened_before(successor, fact):
                endings.setdefault(old, (new, verdict.kind))
        for key, (by, how) in endings.items():
            state = self.read(batch, key)
            batch.states[key] = as_ended(state, key, by, how, batch.plan.at_ms)
            batch.did[key] = state.version, "ended"


def happened_before(one: Entity | None, other: Entity) -> bool:
    """Return whether both say when they happened, and the first one did so first."""
    first_ms = one.event_time_ms if one is not None else None
    return first_ms is not None and other.event_time_ms is not None and first_ms < other.event_time_ms


def in_text_order(contents: Mapping[str, str], text: str) -> list[str]:
    """Return the ids by the first place of their contents; others stay behind the one that comes before."""
    places = {key: text.index(it) if it in text else None for key, it in contents.items()}
    known = list[int]()
    for place in places.values():
        known.append(place if place is not None else (known or [0])[-1])
    return [key for _, _, key in sorted(zip(known, range(len(known)), places, strict=True))]


def mentions_of(request: Remember, extraction: Extracted | None) -> tuple[ExpectedMention, ...]:
    return extraction.mentions if extraction is not None else tuple(whole_notes(request.text))


def record_of(plan: BatchContext) -> str:
    """What the record of this plan is called, as it read the log; a damaged log shows nothing."""
    last = plan.last("lookup")
    rows = last.answer.rows if last is not None and isinstance(last.answer, ReadDone) else ()
    numbers = [row.body.next_seq for row in rows if isinstance(row.body, RecordLog)]
    return f"arc_{(numbers or [1])[0]:012}"


def source_of(request: ForgetResource | DeleteArchival) -> str:
    """What is to be forgotten: a text, or an archival record."""
    return request.record_id if isinstance(request, DeleteArchival) else request.resource_id


def end_of(ref: str) -> End:
    """`id@version`, or whatever a model said in its place."""
    key, _, number = ref.rpartition("@")
    return key, int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else -1

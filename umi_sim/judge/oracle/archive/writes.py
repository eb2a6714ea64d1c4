"""Writes: what a remember or a forget says that it did must be what one of those with its key may have done.

Law 1. A reply of a write is a claim: the states in which it is not true are not possible any more.
Law 2. Two replies under one request key claim the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import ModelReplied
from umi_core.messages.effects import Embed
from umi_core.messages.requests import CreateEntity, Forget, ForgetResource, Remember, UpdateEntity
from umi_core.messages.results import Forgotten, RecordForgotten, Remembered, ResourceForgotten, Stored
from umi_core.rows import Entity
from umi_core.values import BLOCK_KINDS, CATEGORIES, RoutingDecision
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.evidence import OF_SHELF, Degradations, Evidence
from umi_sim.judge.oracle.archive.possible import (
    CHANGES,
    UNKNOWN_VECTOR,
    Claim,
    Intent,
    Operation,
    PossibleEnding,
    PossibleEndings,
    PossibleState,
    first_entity,
    id_of,
    source_of,
)
from umi_sim.judge.oracle.archive.relations import Relations
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.extraction import Mention, given_fact, name_of_note, whole_notes
from umi_sim.judge.plain.replies import by_table, read_routes
from umi_sim.record import rules
from umi_sim.record.rules import Rule
from umi_sim.services.calls import Call


@attrs.define
class Writes(Part):
    """Judges remembers and forgets. `replies_by_key`: whose claim a reply told first, and that reply."""

    evidence: Evidence
    degradations: Degradations
    tracks: Tracks
    relations: Relations
    replies_by_key: dict[str | int, tuple[Operation, object]] = attrs.field(factory=dict)

    def intended(self, op: Operation) -> Mapping[str, Intent]:
        """What a write would do to which ids, as far as its answers tell."""
        request, others = op.request, self.tracks.by_key.get(op.key, ())
        is_known = any(it.has_key and self.context.keeps_receipt(it.asked_ms) for it in others)
        if op.error is not None or is_known or not isinstance(request, Remember | Forget):
            return {}
        if isinstance(request, Forget):
            return {request.entity_id: None}
        found = op.extraction.mentions if op.extraction else whole_notes(request.text)
        return {id_of(mention, self.context.scope): mention for mention in found}

    def created(self, op: Operation) -> Mapping[str, Intent]:
        """What a create_entity would do, which its request alone tells."""
        request = op.request
        assert isinstance(request, CreateEntity)
        if op.error is not None:
            return {}
        mention = given_fact(request.content, request.memory_type, request.categories)
        return {id_of(mention, self.context.scope): mention}

    def updated(self, op: Operation) -> Mapping[str, Intent]:
        """Return what an update would do to each id; nothing, if it is not known what the fact is about."""
        request = op.request
        assert isinstance(request, UpdateEntity)
        key, content = request.entity_id, request.content
        called = self.tracks.called.get(key)
        if op.error is not None or called is None:
            return {}
        told = attrs.evolve(called, content=content or called.content, categories=request.categories or ())
        if content is None or (other := id_of(told, self.context.scope)) == key:
            return {key: told}
        new = told if told.named else attrs.evolve(told, name=name_of_note(content))
        return {key: PossibleEndings((PossibleEnding(other, "update"),)), other: new}

    def may_lack(self, op: Operation, key: str) -> bool:
        """Whether an id may not have been there at some time since this was asked."""
        states = self.tracks.states_since(self.tracks.track(key), op)
        return not states or any(state.entity is None and not state.claims(op) for state in states)

    def hear_shelf(self, call: Call) -> None:
        """Categories are found by what they are about."""
        due = [f"{name}: {about}" for name, about in CATEGORIES.items()]
        texts = call.effect.texts if isinstance(call.effect, Embed) and call.step in OF_SHELF else ()
        others = [text for text in texts if text not in due]
        self.demand(not others, rules.VECTORS_AS_ANSWERED, "a category is found by another text", "", others)

    def judge_create(self, op: Operation, value: Stored, names: list[str]) -> None:
        """One fact, under the id that its content gives."""
        changed = [value] if value.change in CHANGES else []
        self.degradations.judge_causes(op, names, len(changed))
        given, got = list(op.mentions), [value.id]
        self.demand(given == got, rules.REFERENCE_AGREES, "another id than the content gives", given, got)
        self.tracks.hold(op, {value.id: (value.version, value.change)} if given == got else {})
        self.fill(op, changed, (), "embed:no_vectors" not in names)

    def judge_update(self, op: Operation, value: Stored, names: list[str]) -> None:
        """Under the id that its content gives; if that is another one, the old one has ended."""
        assert isinstance(op.request, UpdateEntity)
        changed, keys = [value] if value.change in CHANGES else [], list(op.mentions)
        self.degradations.judge_causes(op, names, len(changed))
        if not keys:  # of what nobody has told, as far as answers tell
            self.tracks.release_ids((value.id, op.request.entity_id))
            return
        told, due = "another id than the content gives", keys[-1]
        self.demand(value.id == due, rules.REFERENCE_AGREES, told, due, value.id)
        claims = dict.fromkeys(keys, (0, "ended")) | {due: (value.version, value.change)}
        self.tracks.hold(op, claims)
        self.fill(op, changed, (), "embed:no_vectors" not in names)

    def offer(self, op: Operation) -> None:
        """From now on this operation may do what its answers tell."""
        match op.request:
            case CreateEntity():
                self.tracks.offer(op, self.created(op))
            case UpdateEntity():
                self.tracks.offer(op, self.updated(op))
            case _:
                self.tracks.offer(op, self.intended(op))

    def judge_remember(self, op: Operation, value: Remembered, names: list[str]) -> None:
        assert isinstance(op.request, Remember)
        if value.repeated and self.may_be_gone(op):
            return
        self.demand(value.entities, rules.TEXT_NEVER_LOST, "a remember is done and stored nothing")
        changed = [stored for stored in value.entities if stored.change in CHANGES]
        if "extract:notes" in names and op.extraction is not None:
            self.degradations.judge_causes(op, names, 0)
            op.extraction = None  # its answer came too late
            self.offer(op)
        claims = {stored.id: (stored.version, stored.change) for stored in value.entities}
        doer = self.judge_claims(op, value, claims, value.ended)
        pool = self.tracks.alike(op)  # whose answers may be in it
        dropped, got = [it.extraction.dropped if it.extraction else () for it in pool], value.dropped
        self.demand(got in dropped, rules.REFERENCE_AGREES, "other elements were dropped", dropped, got)
        is_own = pool == [op] and doer is op and not value.repeated
        replies = [it.text for one in pool for it in one.answers_of("route") if isinstance(it, ModelReplied)]
        self.judge_routing(statements_of(doer), value, replies, is_own, "route:table" in names)
        if is_own:
            mentions = [(it.id, statements_of(doer).get(it.id)) for it in changed]
            entities = tuple(
                first_entity(key, mention, 0) for key, mention in mentions if mention is not None
            )
            self.degradations.judge_partial(op, names, entities)
            self.degradations.judge_uncovered(op, names)
        # Without its receipt an earlier attempt may have stored what is no news now.
        self.relations.judge_relations(doer, value, names, is_own and self.context.keeps_receipt(op.asked_ms))
        if is_own:
            self.degradations.judge_causes(op, names, len(changed) if op.request.embed else 0)
            self.fill(op, changed, value.routing, "embed:no_vectors" not in names)

    def judge_forget(self, op: Operation, value: Forgotten) -> None:
        assert isinstance(op.request, Forget)
        if value.repeated and self.may_be_gone(op):
            return
        self.judge_claims(op, value, {op.request.entity_id: (0, "forgot" if value.existed else "absent")})

    def hear_told(self, op: Operation, request: ForgetResource | DeleteArchival) -> None:
        """Let this operation take the resource from each fact that the resource may have told."""
        tracks = [it for it in self.tracks.tracks.values() if it.id not in op.mentions]
        told = [it for it in tracks if any(tells(it, request) for it in self.tracks.states_of(it))]
        op.mentions = {**op.mentions, **{it.id: None for it in told}}
        for track in told:
            track.open[op] = None
        unknown = [it for it in tracks if not self.tracks.states_of(it)]  # of which anything may be true
        for track in (*told, *unknown):
            self.relations.forgotten[track.id] = None  # it may be

    def judge_forget_resource(self, op: Operation, value: ResourceForgotten, names: list[str]) -> None:
        """Demand that a resource takes with it all that it alone told, and nothing else."""
        self.degradations.judge_causes(op, names, 0)
        ids = [it.id for it in value.entities]
        is_page = ids == sorted(set(ids)) and (value.existed or not ids)
        self.demand(is_page, rules.REFERENCE_AGREES, "entities of a text, by id", sorted(set(ids)), ids)
        others = [key for key in ids if key not in op.mentions and self.tracks.track(key).base]
        message = "facts lose a source that has not told them"
        self.demand(not others, rules.DELETE_ONLY_ITS_OWN, message, list(op.mentions), others)
        claims: dict[str, Claim] = dict.fromkeys(op.mentions, (0, "absent"))
        for it in value.entities:
            if it.id in claims:
                claims[it.id] = (it.version, "forgot" if it.change == "forgotten" else it.change)
        self.tracks.hold(op, claims)

    def judge_delete_record(self, op: Operation, value: RecordForgotten, names: list[str]) -> None:
        """As of a text; what an earlier request with the same key has done is held to that one."""
        if not value.repeated:
            self.judge_forget_resource(op, ResourceForgotten(True, value.entities), names)
            return
        self.tracks.withdraw(op)
        doers = [it for it in self.tracks.by_key.get(op.key, ()) if it is not op and it.is_like(op)]
        open_ones = [it for it in doers if not it.did and not it.is_refuted]
        self.tracks.release_ids(dict.fromkeys(key for it in open_ones for key in it.mentions))

    def may_be_gone(self, op: Operation) -> bool:
        """Whether what it repeats may have been done before the agent was closed."""
        return any(it.is_gone for it in self.tracks.by_key.get(op.key, ()))

    def judge_claims(
        self, op: Operation, value: Any, told: Mapping[str, Claim], ended: Sequence[str] = ()
    ) -> Operation:
        """Whose effect it was: its own, or that of a request with the same key. The memory is held to it."""
        claims = dict(told)
        plain, known = attrs.evolve(value, repeated=False), self.replies_by_key.get(op.key)
        if known is not None:
            is_first = not known[0].is_over(op.began)  # in flight together; it may have been gone just before
            is_same = plain == known[1] and known[0].is_like(op) and (value.repeated or is_first)
            if is_same or (is_first and value == Forgotten(False)):
                return known[0]
            self.demand(
                not self.context.keeps_receipt(known[0].asked_ms),
                rules.ONCE_ONLY,
                "one key was told two things",
                known[1],
                value,
            )
        if not op.mentions and not value.repeated:  # its key was known when it was issued, and is no more
            self.tracks.release_ids(claims)
            return op
        others = [it for it in self.tracks.by_key.get(op.key, ()) if it is not op and it.is_like(op)]
        others = [it for it in others if not op.record or not it.record_ids.keys().isdisjoint(op.record_ids)]
        doers = others if value.repeated else [op, *others]
        self.demand(doers, rules.ONCE_ONLY, "called repeated, and nobody had asked before")
        able = [it for it in doers if self.tracks.explains(it, claims | claims_of_ends(it, ended))]
        told_of = getattr(value, "relations", ())  # of several the one that a model told the same
        doer = min(able, key=lambda it: self.relations.unsaid_count(it, told_of), default=op)
        given, got = [key for key in doer.mentions if not is_end(doer, key)], list(claims)
        self.demand(given == got, rule_at_loss(op, given, got), "other ids than the answers give", given, got)
        self.tracks.hold(doer, claims | claims_of_ends(doer, ended) if given == got else {})
        if isinstance(op.key, str) and doer.has_key:
            self.replies_by_key[op.key] = (op, plain)
        return doer

    def judge_routing(
        self,
        mentions: Mapping[str, Mention],
        value: Remembered,
        replies: list[str],
        is_own: bool,
        is_by_table: bool,
    ) -> None:
        """One decision per entity: of a sound row, of the table, or kept.

        What another request with the same key has decided was kept then: the fact may have moved since.
        """
        decided, ids = [it.entity_id for it in value.routing], [stored.id for stored in value.entities]
        self.demand(
            decided == ids, rules.ROUTE_PER_ENTITY, "not one decision per entity, in order", ids, decided
        )
        entered = tuple(it.entity_id for it in value.routing if it.outcome == "promoted" and it.promote)
        got = value.promoted
        self.demand(
            got == entered, rules.ROUTE_KNOWN_ONLY, "others were promoted than asked for", entered, got
        )
        for stored, decision in zip(value.entities, value.routing, strict=False):
            mention = mentions.get(stored.id)
            if mention is not None:
                entity = first_entity(stored.id, mention, 0)
                is_kept = stored.change not in CHANGES
                heard = self.routes(entity, replies, is_own and not is_by_table)
                allowed = self.homes(entity, is_own) if is_kept else heard
                self.judge_route(entity, attrs.evolve(decision, outcome="not_asked"), allowed)

    def judge_route(self, entity: Entity, decision: RoutingDecision, allowed: list[RoutingDecision]) -> None:
        block, what = decision.block, f"{entity.type} {entity.id} was routed to {decision.block}"
        is_open = block in BLOCK_KINDS[1:] and (block != "persona" or entity.type == "self")
        self.demand(is_open, rules.SYSTEM_IS_AUTHORED, what)
        self.demand(decision in allowed, rules.ROUTE_PER_ENTITY, what, allowed, decision)

    def routes(self, entity: Entity, replies: list[str], is_heard: bool) -> list[RoutingDecision]:
        """What the model said about an entity, if it said something sound; else what the table says."""
        asked = (entity.id, entity.type)
        read = [read_routes(reply, (asked,), self.context.config) for reply in replies]
        found = [routes.decisions[0] for routes in read if routes is not None]
        return found if found and is_heard else [*found, by_table(*asked)]

    def homes(self, entity: Entity, is_now: bool) -> list[RoutingDecision]:
        """What did not change keeps its block: the one that it has, if that was decided now; else any."""
        states = self.tracks.states_of(self.tracks.track(entity.id))
        known = [state.entity.block for state in states if state.entity and "block" not in state.unsure]
        blocks = known if is_now and 0 < len(known) == len(states) else BLOCK_KINDS
        return [RoutingDecision(entity.id, block, False, None, "", "kept", None) for block in blocks]

    def fill(
        self, op: Operation, changed: list[Stored], routing: tuple[RoutingDecision, ...], has_vectors: bool
    ) -> None:
        """Vector and block of what changed, where only one state is left."""
        vectors, blocks = self.evidence.vectors(op, len(changed)), {it.entity_id: it.block for it in routing}
        is_sure = has_vectors and len(vectors) == len(op.answers_of("embed")) > 0
        is_sure = is_sure and vectors == vectors[:1] * len(vectors)
        for n, stored in enumerate(changed):
            track = self.tracks.track(stored.id)
            state = track.base[0] if len(track.base) == 1 else PossibleState()
            if state.entity is not None and state.version == stored.version:
                entity = attrs.evolve(state.entity, block=blocks.get(stored.id, state.entity.block))
                vector = vectors[0][n] if is_sure and state.vector == UNKNOWN_VECTOR else state.vector
                unsure = tuple(name for name in state.unsure if name != "block" or stored.id not in blocks)
                track.base = (attrs.evolve(state, entity=entity, vector=vector, unsure=unsure),)


def tells(state: PossibleState, request: ForgetResource | DeleteArchival) -> bool:
    return state.fact is not None and source_of(request) in state.fact.sources


def is_end(op: Operation, key: str) -> bool:
    """Return whether the write ends the fact under this id, if it does anything to it."""
    return isinstance(op.mentions[key], PossibleEndings)


def statements_of(op: Operation) -> dict[str, Mention]:
    return {key: it for key, it in op.mentions.items() if isinstance(it, Mention)}


def claims_of_ends(op: Operation, ended: Sequence[str]) -> dict[str, Claim]:
    """Return what a reply that names these facts as ended claims of all that the write may have ended."""
    keys = [key for key in op.mentions if is_end(op, key)]
    return {key: (0, "ended" if key in ended else "spared") for key in keys}


def rule_at_loss(op: Operation, given: list[str], got: list[str]) -> Rule:
    """What other ids than the answers give have broken."""
    if isinstance(op.request, Remember) and op.extraction is None:
        return rules.TEXT_NEVER_LOST
    is_passed_over = op.extraction is not None and op.extraction.uncovered_count > 0
    return rules.SENTENCE_NEVER_LOST if is_passed_over and got == given[:-1] else rules.REFERENCE_AGREES

"""The archive as an outside judge sees it: what a memory may say about its entities.

Law 1. A read must be explained by a world that was possible between issue and reply. A reply of a write is a
claim: the worlds in which it is not true go. Law 2. A refused or failed request changed nothing.
"""

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

import attrs

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.language.extraction import Extraction, Mention, fallback_note, parse_extraction
from umi_core.language.routing import Routes, parse_routes
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import Done, Failed, Outcome, Refused
from umi_core.messages.requests import Count, Forget, GetEntity, Recall, Remember
from umi_core.messages.results import Forgotten, Recalled, Remembered, Stored
from umi_core.policies.routing import table_decision
from umi_core.rows import Entity, Version
from umi_core.values import BLOCK_KINDS, RoutingDecision, Scope
from umi_sim.judge.oracle.evidence import NAMES
from umi_sim.judge.oracle.reads import fits, shown
from umi_sim.judge.oracle.searches import Searches
from umi_sim.judge.oracle.worlds import (
    CHANGES,
    UNTOLD,
    ArchiveRequest,
    Claim,
    Operation,
    Track,
    World,
    bare,
    id_of,
    rule_at_stake,
    rule_of,
)
from umi_sim.judge.plain.requests import is_same, wrong

AUDIT_VERSION_COUNT_MAX: Final = 8


class ArchiveOracle(Searches):
    """The judge of one memory's archive. Raises Broken with the readable name of a rule."""

    def __init__(self, scope: Scope, config: Config, off: Container[str] = ()) -> None:
        super().__init__(scope, config, off)
        self.told: dict[str | int, tuple[Operation, object]] = {}  # by key: who was acknowledged, with what
        self.restless: dict[Track, None] = {}  # what may have changed since the last life ended

    # What happens.

    def saw(self, now_ms: int, world_ms: int = 0) -> None:
        """The clock of this memory has shown this time; the world's too, by which receipts are kept."""
        self.seen_ms, self.world_ms = max(self.seen_ms, now_ms), max(self.world_ms, world_ms)
        self.latest_ms = max(self.latest_ms, now_ms)

    def is_kept(self, op: Operation) -> bool:
        """Whether storage still has the receipt of what was asked then."""
        return (self.world_ms or self.seen_ms) - op.asked_ms < limits.RECEIPT_MS_MAX

    def issued(self, op_id: str, request: ArchiveRequest, now_ms: int) -> None:
        self.tick += 1
        self.saw(now_ms)
        error = wrong(request)
        op = Operation(request, error, self.tick, now_ms, self.world_ms or self.seen_ms)
        self.flying[op_id] = op
        if error is None and isinstance(op.key, str):
            self.by_key.setdefault(op.key, []).append(op)
        if isinstance(request, Forget):
            self.heard_forget(request)
        self.offer(op, self.intended(op))

    def answered(self, op_id: str, step: str, answer: Answer, text_count: int = 0) -> None:
        """`text_count`: of how many texts an embedder was asked for vectors."""
        op = self.flying.get(op_id)
        if op is None:
            return
        op.answers.append((step, answer))
        if step == "embed":
            op.text_counts.append(text_count)
        if step == "resolve":
            self.heard_rewrite(op, answer)
        elif step == "evolve":
            self.heard_verdicts(answer)
        if step == "extract" and isinstance(op.request, Remember):
            reply = answer.text if isinstance(answer, ModelReplied) else ""
            read = parse_extraction(reply, op.request.text, self.config)
            op.extraction = read if isinstance(read, Extraction) else None
            self.heard_links(op)
            self.offer(op, self.intended(op))

    def intended(self, op: Operation) -> Mapping[str, Mention | None]:
        """What a write would do to which ids, as far as its answers tell."""
        request = op.request
        is_known = any(it.has_key and self.is_kept(it) for it in self.by_key.get(op.key, ()))
        if op.error is not None or is_known or not isinstance(request, Remember | Forget):
            return {}
        if isinstance(request, Forget):
            return {request.entity_id: None}
        found = op.extraction.entities if op.extraction else (fallback_note(request.text),)
        return {id_of(mention, self.scope): mention for mention in found}

    def replied(self, op_id: str, outcome: Outcome, now_ms: int) -> None:
        self.tick += 1
        self.saw(now_ms)
        for track in self.restless:
            track.moved_ms = self.world_ms
        self.restless.clear()
        op = self.flying.pop(op_id)
        self.end(op)
        if isinstance(outcome, Refused | Failed):
            self.judge_failure(op, outcome)
        elif isinstance(outcome, Done):
            self.judge_done(op, outcome)
        else:
            is_write = isinstance(op.request, Remember | Forget)
            self.demand(is_write, "error-is-not-empty", "a read ended as Unknown")
            self.doubt(op)

    def crashed(self) -> None:
        """Nothing in flight will reply; what has not taken effect before the next life never will."""
        self.tick += 1
        for op in self.flying.values():
            self.end(op)
            self.doubt(op)
            if isinstance(op.request, Remember) and not self.world_ms:
                self.latest_ms = limits.I64_MAX  # nobody told when its steps were
        self.flying.clear()
        self.rewrites.clear()
        self.seen_ms = 0  # the next life has a clock of its own
        self.restless |= {track: None for track in self.tracks.values() if track.open}
        for op in {op: None for track in self.restless for op in track.open}:
            self.close(op)
        for track in self.restless:
            track.moved_ms = None  # what was on its way may land until the next life has recovered

    def wiped(self) -> None:
        """Nothing is there any more; what was known is asked about all the same."""
        for table in (self.tracks, self.by_key, self.told, self.restless, self.told_links, self.told_denied):
            table.clear()

    def end(self, op: Operation) -> None:
        op.ended = self.tick
        self.known |= dict.fromkeys(op.mentions) if isinstance(op.request, Remember) else {}
        for track in [] if self.is_kept(op) else self.tracks_of(op):
            self.release(track)  # its own key may have been forgotten between two attempts

    def doubt(self, op: Operation) -> None:
        """It may have happened; perhaps as one note, if the answer of its model came too late."""
        if op.extraction is not None and (self.is_late(op) or not self.world_ms):
            twin = attrs.evolve(op, mentions={}, extraction=None, did={})
            self.by_key.setdefault(op.key, [op]).append(twin)
            self.offer(twin, self.intended(twin))
            self.known |= dict.fromkeys(twin.mentions)

    def known_ids(self) -> tuple[str, ...]:
        """Every id that was ever stored, or may have been."""
        return tuple(self.known)

    def audit(self) -> tuple[tuple[str, Mapping[str, object]], ...]:
        """The requests whose replies settle everything."""
        reads: list[tuple[str, Mapping[str, object]]] = [("count", {})]
        names: dict[str, None] = {}
        for key in self.known:
            worlds = self.possible(self.track(key))
            last = max((world.version for world in worlds), default=0)
            reads.append(("get_entity", {"entity_id": key}))
            for number in range(max(1, last + 1 - AUDIT_VERSION_COUNT_MAX), last + 1):
                reads.append(("get_entity", {"entity_id": key, "version": number}))
            names |= {world.entity.name: None for world in worlds if world.entity}
        return (*reads, *(("recall", {"query": name, "limit": limits.RECALL_LIMIT_MAX}) for name in names))

    # Any reply.

    def judge_failure(self, op: Operation, outcome: Refused | Failed) -> None:
        """Nothing changed, and for a good reason."""
        error = outcome.error
        if isinstance(error, errors.ModelFailed | errors.EmbedFailed):
            rule = "text-never-lost" if isinstance(op.request, Remember) else "degradation-named"
            self.demand(False, rule, f"a failing model or embedder made it fail: {error}")
        elif isinstance(error, errors.KeyReused) and op.error is None:
            others = self.by_key.get(op.key, ())
            may_hold = [it for it in others if it.has_key or not (it.did or it.is_refuted)]
            others = may_hold + [
                it for it in others if isinstance(it.request, Forget)
            ]  # in doubt it left a receipt
            is_fair = any(not it.is_like(op) for it in others)
            self.demand(is_fair, "once-only", "the same request under one key was taken for another one")
        elif isinstance(outcome, Refused) and not isinstance(error, errors.TooBusy):
            self.demand(
                is_same(op.error, error), "reference-agrees", "refused without a reason", op.error, error
            )
        op.is_refuted = True
        self.withdraw(op)

    def judge_done(self, op: Operation, outcome: Done) -> None:
        names = [item.name for item in outcome.degraded]
        shapes, judge = JUDGES[type(op.request)]
        is_shaped = isinstance(outcome.value, shapes) and not isinstance(outcome.value, bool)
        self.demand(op.error is None, "reference-agrees", "done, and must be refused", op.error, outcome)
        self.demand(is_shaped, "reference-agrees", "a value of another kind", shapes, outcome.value)
        is_named = all(name in NAMES for name in names)
        self.demand(is_named, "degradation-named", "there is no such degradation", NAMES, names)
        if op.error is None and is_shaped:
            judge(self, op, outcome.value, names)

    # Writes.

    def judge_remember(self, op: Operation, value: Remembered, names: list[str]) -> None:
        assert isinstance(op.request, Remember)
        self.demand(value.entities, "text-never-lost", "a remember is done and stored nothing")
        changed = [stored for stored in value.entities if stored.change in CHANGES]
        if "extract:one_note" in names and op.extraction is not None:
            self.judge_causes(op, names, 0)
            op.extraction = None  # its answer came too late
            self.offer(op, self.intended(op))
        claims = {stored.id: (stored.version, stored.change) for stored in value.entities}
        doer = self.judge_claims(op, value, claims)
        pool = [it for it in self.by_key.get(op.key, [op]) if it.is_like(op)]  # whose answers may be in it
        dropped, got = [it.extraction.dropped if it.extraction else () for it in pool], value.dropped
        self.demand(got in dropped, "reference-agrees", "other elements were dropped", dropped, got)
        is_own = pool == [op] and not value.repeated
        replies = [it.text for one in pool for it in one.answers_of("route") if isinstance(it, ModelReplied)]
        self.judge_routing(doer.mentions, value, replies, is_own and "route:table" not in names)
        if is_own:
            mentions = [(it.id, doer.mentions.get(it.id)) for it in changed]
            entities = tuple(bare(key, mention, 0) for key, mention in mentions if mention is not None)
            self.judge_partial(op, names, entities)
        # Without its receipt an earlier attempt may have stored what is no news now.
        self.judge_relations(doer, value, names, is_own and self.is_kept(op))
        if is_own:
            self.judge_causes(op, names, len(changed) if op.request.embed else 0)
            self.fill(op, changed, value.routing, "embed:no_vectors" not in names)

    def judge_forget(self, op: Operation, value: Forgotten, names: list[str]) -> None:
        assert isinstance(op.request, Forget)
        self.judge_claims(op, value, {op.request.entity_id: (0, "forgot" if value.existed else "absent")})

    def judge_claims(self, op: Operation, value: Any, claims: Mapping[str, Claim]) -> Operation:
        """Whose effect it was: its own, or that of a request with the same key. The memory is held to it."""
        plain, told = attrs.evolve(value, repeated=False), self.told.get(op.key)
        if told is not None:
            is_first = not told[0].is_over(op.began)  # in flight together; it may have been gone just before
            is_same = plain == told[1] and told[0].is_like(op) and (value.repeated or is_first)
            if is_same or (is_first and value == Forgotten(False)):
                return told[0]
            self.demand(not self.is_kept(told[0]), "once-only", "one key was told two things", told[1], value)
        if not op.mentions and not value.repeated:  # its key was known when it was issued, and is no more
            for key in claims:
                self.release(self.tracks.setdefault(key, Track(key)))
            return op
        others = [it for it in self.by_key.get(op.key, ()) if it is not op and it.is_like(op)]
        doers = others if value.repeated else [op, *others]
        self.demand(doers, "once-only", "called repeated, and nobody had asked before")
        doer = next((it for it in doers if self.explains(it, claims)), op)
        given, got = list(doer.mentions), list(claims)
        is_lost = isinstance(op.request, Remember) and op.extraction is None
        rule = "text-never-lost" if is_lost else "reference-agrees"
        self.demand(given == got, rule, "other ids than the answers give", given, got)
        self.hold(doer, claims if given == got else {})
        if isinstance(op.key, str) and doer.has_key:
            self.told[op.key] = (op, plain)
        return doer

    def judge_routing(
        self, mentions: Mapping[str, Mention | None], value: Remembered, replies: list[str], is_heard: bool
    ) -> None:
        """One decision per entity: of a sound row, of the table, or kept."""
        decided, ids = [it.entity_id for it in value.routing], [stored.id for stored in value.entities]
        self.demand(decided == ids, "route-per-entity", "not one decision per entity, in order", ids, decided)
        entered = tuple(it.entity_id for it in value.routing if it.outcome == "promoted" and it.promote)
        got = value.promoted
        self.demand(got == entered, "route-known-only", "others were promoted than asked for", entered, got)
        for stored, decision in zip(value.entities, value.routing, strict=False):
            mention = mentions.get(stored.id)
            if mention is not None:
                entity = bare(stored.id, mention, 0)
                is_kept = stored.change not in CHANGES
                allowed = self.homes(entity) if is_kept else self.routes(entity, replies, is_heard)
                self.judge_route(entity, attrs.evolve(decision, outcome="not_asked"), allowed)

    def judge_route(self, entity: Entity, decision: RoutingDecision, allowed: list[RoutingDecision]) -> None:
        block, what = decision.block, f"{entity.type} {entity.id} was routed to {decision.block}"
        is_open = block in BLOCK_KINDS[1:] and (block != "persona" or entity.type == "self")
        self.demand(is_open, "system-is-authored", what)
        self.demand(decision in allowed, "route-per-entity", what, allowed, decision)

    def routes(self, entity: Entity, replies: list[str], is_heard: bool) -> list[RoutingDecision]:
        """What the model said about an entity, if it said something sound; else what the table says."""
        read = [parse_routes(reply, (entity,), self.config) for reply in replies]
        found = [routes.decisions[0] for routes in read if isinstance(routes, Routes)]
        return found if found and is_heard else [*found, table_decision(entity)]

    def homes(self, entity: Entity) -> list[RoutingDecision]:
        """What did not change keeps its block, whichever that may be."""
        worlds = self.possible(self.track(entity.id))
        known = [world.entity.block for world in worlds if world.entity and "block" not in world.unsure]
        blocks = known if 0 < len(known) == len(worlds) else BLOCK_KINDS
        return [RoutingDecision(entity.id, block, False, None, "", "kept", None) for block in blocks]

    def fill(
        self, op: Operation, changed: list[Stored], routing: tuple[RoutingDecision, ...], has_vectors: bool
    ) -> None:
        """Vector and block of what changed, where only one world is left."""
        vectors, blocks = self.vectors(op, len(changed)), {it.entity_id: it.block for it in routing}
        is_sure = has_vectors and len(vectors) == len(op.answers_of("embed")) > 0
        is_sure = is_sure and vectors == vectors[:1] * len(vectors)
        for n, stored in enumerate(changed):
            track = self.track(stored.id)
            world = track.base[0] if len(track.base) == 1 else World()
            if world.entity is not None and world.version == stored.version:
                entity = attrs.evolve(world.entity, block=blocks.get(stored.id, world.entity.block))
                vector = vectors[0][n] if is_sure and world.vector == UNTOLD else world.vector
                unsure = tuple(name for name in world.unsure if name != "block")
                track.base = (attrs.evolve(world, entity=entity, vector=vector, unsure=unsure),)

    # Reads.

    def judge_entity(self, op: Operation, value: Entity | Version | None, names: list[str]) -> None:
        assert isinstance(op.request, GetEntity)
        number, track = op.request.version, self.track(op.request.entity_id)
        worlds = self.seen(track, op)
        kept = tuple(world for world in worlds if fits(world, number, value, self.latest_ms))
        versions, got = [shown(world, number) for world in worlds], value.version if value else 0
        rule = rule_at_stake(track, worlds, versions) if kept else rule_of(track, worlds, versions, got)
        own_id = value.id if isinstance(value, Entity) else value.entity_id if value else ""
        told = f"shows version {got}" if got else "is not there"
        is_ours = own_id == track.id or not self.is_elsewhere(own_id)
        self.must(track, kept or is_ours, "scope-apart", told, worlds[:3], value)
        self.must(track, kept, rule, told, worlds[:3], value)
        if number is None and isinstance(value, Entity):
            self.judge_contradicts(op, value.id, value.version, value.contradicts)
            kept = tuple(dict.fromkeys(attrs.evolve(world, entity=value, unsure=()) for world in kept))
        self.settle(track, op, kept)

    def judge_count(self, op: Operation, value: int, names: list[str]) -> None:
        assert isinstance(op.request, Count)
        types, low, high = op.request.types, 0, 0
        for track in list(self.tracks.values()):
            entities = [world.entity for world in self.seen(track, op)]
            there = [entity is not None and (types is None or entity.type in types) for entity in entities]
            low += bool(there) and all(there)
            high += not there or any(there)
        span = f"{low} to {high}"
        self.demand(low <= value <= high, "error-is-not-empty", "the count is wrong", span, value)


JUDGES: Final[Mapping[type, tuple[tuple[type, ...], Callable[..., None]]]] = {
    Remember: ((Remembered,), ArchiveOracle.judge_remember),
    Forget: ((Forgotten,), ArchiveOracle.judge_forget),
    Recall: ((Recalled,), ArchiveOracle.judge_recall),
    GetEntity: ((Entity, Version, type(None)), ArchiveOracle.judge_entity),
    Count: ((int,), ArchiveOracle.judge_count),
}

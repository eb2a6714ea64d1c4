"""The archive as possible worlds: what a memory may say about its entities, judged from outside.

Law 1. A read must be explained by a world that was possible between issue and reply. A reply of a write is a claim:
the worlds in which it is not true go. Law 2. A write without a certain answer may take effect at any later instant,
until its life ends or a row it planned on has changed; all of its ids, or none: what one id shows holds for all.
Law 3. A refused or failed request changed nothing. Law 4. An id with over WORLD_COUNT_MAX worlds is undecided: it is
counted, and nothing is demanded of it.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

import attrs

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.inputs import Answer, Count, Embedded, Forget, GetEntity, ModelReplied, Recall, Remember
from umi_core.language.extraction import Extraction, Mention, fallback_note, parse_extraction
from umi_core.language.routing import Routes, parse_routes
from umi_core.policies.routing import table_decision
from umi_core.policies.similarity import shared_ppm, sound_vectors, vector_relevance_ppm
from umi_core.requests import SERVED_BY
from umi_core.results import Forgotten, Hit, Remembered
from umi_core.values import BLOCK_KINDS, Entity, RoutingDecision, Scope, Version, entity_id, note_id, size
from umi_sim.storage import words_of
from umi_sim.verdict import Broken

WORLD_COUNT_MAX: Final = 128
AUDIT_VERSION_COUNT_MAX: Final = 8
CHANGES: Final = ("created", "updated", "forgot")
FREE: Final = ("confidence_ppm", "relation_count", "vector_missing")  # fields that nothing here settles
UNTOLD: Final = ()  # a vector that nobody told
STEP_OF: Final = {  # each degradation, and the step whose answer must have failed, if an oracle can see it
    "extract:one_note": "extract", "extract:partial": "extract", "embed:no_vectors": "embed", "route:table": "route",
    "embed:words_only": "embed", "route:partial": None, "by_vector:words_only": None, "settle:core_unread": None,
    "read:foreign_rows": None, "read:damaged_rows": None,
}  # fmt: skip
SHAPES: Final[dict[type, tuple[type, ...]]] = {
    Remember: (Remembered,), Recall: (tuple,), Forget: (Forgotten,), Count: (int,), GetEntity: (Entity, Version, type(None)),
}  # fmt: skip

ArchiveRequest = Remember | Recall | Forget | GetEntity | Count
Claim = tuple[int, str]  # version and kind of change; version 0 stands for any


@attrs.define(eq=False)
class Operation:
    """One request, what the world answered, what it would do to which ids, and what it did as far as that is known."""

    request: ArchiveRequest
    error: errors.Error | None
    began: int
    began_ms: int
    mentions: Mapping[str, Mention | None] = {}
    extraction: Extraction | None = None
    answers: list[tuple[str, Answer]] = attrs.field(factory=list)
    ended: int | None = None
    is_closed: bool = False
    is_refuted: bool = False
    did: dict[str, Claim] = attrs.field(factory=dict)
    before: dict["Track", dict["World", None]] = attrs.field(factory=dict)  # of a read: what was possible meanwhile

    @property
    def key(self) -> str:
        return getattr(self.request, "request_key", None) or ""

    def is_like(self, other: "Operation") -> bool:
        return attrs.evolve(self.request, op_id=0) == attrs.evolve(other.request, op_id=0)


@attrs.frozen(cache_hash=True)
class World:
    """One id as storage may hold it, and the deeds of unsettled operations that led there.

    `unsure` are fields of the entity that nobody told yet; times then hold their earliest value.
    """

    version: int = 0
    entity: Entity | None = None
    told: tuple[Version, ...] = ()
    vector: tuple[int, ...] | None = None
    unsure: tuple[str, ...] = ()
    deeds: tuple[tuple[Operation, Claim], ...] = ()

    def claims(self, op: Operation) -> tuple[Claim, ...]:
        return tuple([claim for doer, claim in self.deeds if doer is op])


@attrs.define(eq=False)
class Track:
    """One id: its worlds (none: undecided), who may still change it, and whether another id narrowed it last."""

    id: str
    base: tuple[World, ...] = (World(),)
    open: dict[Operation, None] = attrs.field(factory=dict)
    is_bound: bool = False


class ArchiveOracle:
    """The judge of one memory's archive. Raises Broken with the readable name of a rule."""

    def __init__(self, scope: Scope, config: Config, off: Container[str] = ()) -> None:
        self.undecided = 0
        self.scope, self.config, self.off = scope, config, off
        self.tick = self.seen_ms = 0
        self.tracks: dict[str, Track] = {}
        self.known: dict[str, None] = {}
        self.flying: dict[str, Operation] = {}
        self.by_key: dict[str, list[Operation]] = {}
        self.told: dict[str, tuple[Operation, object]] = {}  # by request key: who was acknowledged, and with what

    # What happens.

    def saw(self, now_ms: int) -> None:
        """The clock of this memory has shown this time."""
        self.seen_ms = max(self.seen_ms, now_ms)

    def issued(self, op_id: str, request: ArchiveRequest, now_ms: int) -> None:
        self.tick += 1
        self.saw(now_ms)
        op = self.flying[op_id] = Operation(request, SERVED_BY[type(request)][1](request), self.tick, now_ms)
        if op.error is None and op.key:
            self.by_key.setdefault(op.key, []).append(op)
        self.offer(op)

    def answered(self, op_id: str, step: str, answer: Answer) -> None:
        op = self.flying.get(op_id)
        if op is None:
            return
        op.answers.append((step, answer))
        if step == "extract" and isinstance(op.request, Remember):
            read = parse_extraction(answer.text, op.request.text, self.config) if isinstance(answer, ModelReplied) else None
            op.extraction = read if isinstance(read, Extraction) else None
            self.offer(op)

    def replied(self, op_id: str, outcome: Outcome, now_ms: int) -> None:
        self.tick += 1
        self.saw(now_ms)
        op = self.flying.pop(op_id)
        op.ended = self.tick
        self.note_ids(op)
        if isinstance(outcome, Refused | Failed):
            self.judge_failure(op, outcome)
        elif isinstance(outcome, Unknown):
            self.demand(isinstance(op.request, Remember | Forget), "error-is-not-empty", "a read ended as Unknown")
        else:
            self.judge_done(op, outcome)

    def crashed(self) -> None:
        """Nothing in flight will reply; what has not taken effect before the next life never will."""
        self.tick += 1
        gone = {op: None for track in self.tracks.values() for op in track.open}
        for op in self.flying.values():
            self.note_ids(op)
        self.flying.clear()
        for op in gone:
            self.close(op)

    def note_ids(self, op: Operation) -> None:
        self.known |= dict.fromkeys(op.mentions) if isinstance(op.request, Remember) else {}

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
            numbers = range(max(1, last + 1 - AUDIT_VERSION_COUNT_MAX), last + 1)
            reads += [("get_entity", {"entity_id": key}), *(("get_entity", {"entity_id": key, "version": n}) for n in numbers)]
            names |= {world.entity.name: None for world in worlds if world.entity}
        return (*reads, *(("recall", {"query": name, "limit": limits.RECALL_LIMIT_MAX}) for name in names))

    # Possible worlds.

    def offer(self, op: Operation) -> None:
        """What a write would do to which ids, as far as its answers tell."""
        self.withdraw(op)
        request, op.mentions = op.request, {}
        if op.error is not None or op.key in self.told:
            return
        if isinstance(request, Forget):
            op.mentions = {request.entity_id: None}
        elif isinstance(request, Remember):
            found = op.extraction.entities if op.extraction and request.extract else (fallback_note(request.text),)
            op.mentions = {id_of(mention, self.scope): mention for mention in found}
        for key in op.mentions:
            self.tracks.setdefault(key, Track(key)).open[op] = None

    def withdraw(self, op: Operation) -> None:
        """This operation has not happened and will not, not as it was offered."""
        for track in self.tracks_of(op):
            track.open.pop(op, None)
            kept = tuple(world for world in track.base if not world.claims(op))
            self.must(track, kept, "reference-agrees", f"{track.id} has shown a request that failed")
            if len(kept) < len(track.base):
                self.root(track, kept)
            if track.base == (World(),) and not track.open and track.id not in self.known:
                del self.tracks[track.id]

    def possible(self, track: Track) -> tuple[World, ...]:
        """Every world this id may be in right now; none if undecided."""
        if not track.open:
            return track.base
        found = dict.fromkeys(track.base)
        todo = list(found)
        for world in todo:  # it grows
            later = [self.after(op, world, track.id) for op in track.open if may_follow(op, world)]
            todo += [world for world in later if world not in found]
            found |= dict.fromkeys(later)
            if len(found) > WORLD_COUNT_MAX:
                return self.undecide(track)
        return tuple(found)

    def after(self, op: Operation, world: World, key: str) -> World:
        """The world in which this operation has taken effect last."""
        mention, request = op.mentions[key], op.request
        if isinstance(request, Remember) and mention is not None:
            world, change = remembered(world, key, mention, request, op.began_ms, self.config.semantic_routing)
        else:
            change = "forgot" if world.entity else "absent"
            world = World(world.version, deeds=world.deeds)
        deeds = sorted((*world.deeds, (op, (world.version, change))), key=lambda deed: deed[0].began)
        return attrs.evolve(world, deeds=tuple(deeds))

    def undecide(self, track: Track) -> tuple[World, ...]:
        self.undecided += 1
        track.base = ()
        return ()

    def seen(self, track: Track, op: Operation) -> tuple[World, ...]:
        """Every world this id may have been in since a read was issued; none if undecided."""
        worlds = self.possible(track)
        if not worlds or track not in op.before:
            return worlds
        found = dict.fromkeys((*worlds, *op.before[track]))
        return tuple(world for world in found if not any(doer.is_refuted for doer, _ in world.deeds))

    def root(self, track: Track, worlds: Iterable[World]) -> None:
        """From here on this id is in one of these worlds, or in what open operations make of them."""
        reads = [op for op in self.flying.values() if isinstance(op.request, Recall | GetEntity | Count)]
        for op in reads:
            op.before.setdefault(track, {}).update(dict.fromkeys(self.possible(track)))
        track.base, track.is_bound = tuple(worlds), False

    def settle(self, track: Track, op: Operation, kept: tuple[World, ...]) -> None:
        """A read has shown one of these worlds; if the id was not settled meanwhile, the others are gone."""
        if track.base and track not in op.before and kept != track.base:
            doers = doers_of((*track.base, *kept))
            self.root(track, kept)
            self.agree(doers)

    def agree(self, doers: Iterable[Operation]) -> None:
        """All or nothing: what one id shows of an operation holds for all its ids."""
        todo = list(doers)
        for op in todo:  # it grows
            tracks = [track for track in self.tracks_of(op) if track.base]
            shown = [[bool(world.claims(op)) for world in track.base] for track in tracks]
            happened = any(map(all, shown))
            if not happened and (not op.is_closed or all(map(any, shown))):
                continue
            for track, row in zip(tracks, shown, strict=True):
                if any(did != happened for did in row):
                    todo += doers_of(track.base)
                    self.bind(track, op, happened)
            if op.ended is not None:
                self.strip(op)

    def bind(self, track: Track, op: Operation, happened: bool) -> None:
        kept = tuple(world for world in self.possible(track) if bool(world.claims(op)) == happened)
        self.must(track, kept, "all-or-nothing", f"{track.id} and another id of one remember disagree whether it happened")
        self.root(track, kept)
        track.is_bound = True

    def close(self, op: Operation) -> None:
        """This operation has happened by now, or never will."""
        op.is_closed, op.ended = True, op.ended or self.tick
        tracks = self.tracks_of(op)
        for track in tracks:
            self.root(track, self.possible(track))
            track.open.pop(op, None)
        did = [change for track in tracks for world in track.base for _, change in world.claims(op)]
        if len(tracks) > 1 and any(change in CHANGES for change in did):
            self.agree((op,))
        else:
            self.strip(op)  # no other id could tell

    def strip(self, op: Operation) -> None:
        """Nobody needs to tell the worlds with and without this operation apart any more."""
        for track in self.tracks_of(op):
            track.open.pop(op, None)
            op.did |= {track.id: claim for world in track.base for claim in world.claims(op)}
            track.base = tuple(dict.fromkeys(without(world, op) for world in track.base))

    def track(self, key: str) -> Track:
        return self.tracks.get(key) or Track(key)

    def tracks_of(self, op: Operation) -> list[Track]:
        return [self.tracks[key] for key in op.mentions if key in self.tracks]

    # Verdicts.

    def demand(self, holds: object, rule: str, message: str, expected: object = "", got: object = "") -> None:
        if not holds and rule not in self.off:
            raise Broken(rule, message, str(expected)[:200], str(got)[:200])

    def must(self, track: Track, kept: object, rule: str, message: str, expected: object = "", got: object = "") -> None:
        """Some world is left; if not, and the rule is off, nothing more is demanded of this id."""
        if not kept and (track.base or track.id not in self.tracks):
            self.demand(False, rule, message, expected, got)
            self.undecide(track)

    def judge_failure(self, op: Operation, outcome: Refused | Failed) -> None:
        """Nothing changed, and for a good reason."""
        error = outcome.error
        if isinstance(error, errors.ModelFailed | errors.EmbedFailed):
            rule = "text-never-lost" if isinstance(op.request, Remember) else "degradation-named"
            self.demand(False, rule, f"a failing model or embedder made it fail: {error}")
        elif isinstance(error, errors.KeyReused) and op.error is None:
            is_fair = any(not it.is_like(op) and not it.is_refuted for it in self.by_key.get(op.key, ()))
            self.demand(is_fair, "once-only", "the same request under the same key was taken for another one")
        elif isinstance(outcome, Refused) and not isinstance(error, errors.TooBusy):
            self.demand(error == op.error, "reference-agrees", "refused without a reason", op.error, error)
        op.is_refuted = True
        self.withdraw(op)

    def judge_done(self, op: Operation, outcome: Done) -> None:
        value, names, kind = outcome.value, [item.name for item in outcome.degraded], type(op.request)
        self.demand(op.error is None, "reference-agrees", "done, and must be refused", op.error, value)
        is_shaped = isinstance(value, SHAPES[kind]) and not isinstance(value, bool)
        self.demand(is_shaped, "reference-agrees", "a value of another kind", SHAPES[kind], value)
        strange = [name for name in names if name not in STEP_OF]
        self.demand(not strange, "degradation-named", f"{strange} is the name of no degradation")
        if op.error is None and is_shaped:
            JUDGES[kind](self, op, value, names)

    # Writes.

    def judge_remember(self, op: Operation, value: Remembered, names: list[str]) -> None:
        self.demand(value.entities, "text-never-lost", "a remember is done and stored nothing")
        changed = [stored.id for stored in value.entities if stored.change in CHANGES]
        self.judge_causes(op, names, 0 if value.repeated else len(changed))
        if "extract:one_note" in names and op.extraction is not None:
            op.extraction = None  # its answer came too late
            self.offer(op)
        doer = self.judge_claims(op, value, {stored.id: (stored.version, stored.change) for stored in value.entities})
        dropped = doer.extraction.dropped if doer.extraction else ()
        self.demand(value.dropped == dropped, "reference-agrees", "other elements were dropped", dropped, value.dropped)
        self.judge_routing(doer, value, doer is op and "route:table" not in names)
        if not value.repeated:
            self.fill(doer, value, changed, names)

    def judge_forget(self, op: Operation, value: Forgotten, names: list[str]) -> None:
        assert isinstance(op.request, Forget)
        self.judge_claims(op, value, {op.request.entity_id: (0, "forgot" if value.existed else "absent")})

    def judge_claims(self, op: Operation, value: Any, claims: Mapping[str, Claim]) -> Operation:
        """Whose effect it was: its own, or that of a request with the same key. The memory is held to it."""
        plain, told = attrs.evolve(value, repeated=False), self.told.get(op.key)
        if told is not None:
            is_known = value.repeated or (told[0].ended or 0) > op.began
            self.demand(is_known and told[0].is_like(op) and plain == told[1], "once-only", "a key was told two things", told[1], value)
            self.withdraw(op)
            return told[0]
        others = [it for it in self.by_key.get(op.key, ()) if it is not op and it.is_like(op)]
        doers = others if value.repeated else [op, *others]
        self.demand(doers, "once-only", "called repeated, and nobody had asked before")
        doer = next((it for it in doers if self.explains(it, claims)), op)
        if doer is not op:
            self.withdraw(op)
        self.hold(doer, claims)
        self.told |= {op.key: (op, plain)} if op.key else {}
        return doer

    def explains(self, op: Operation, claims: Mapping[str, Claim]) -> bool:
        """Whether the operation may have done just that."""
        return list(op.mentions) == list(claims) and all(self.may_have(op, key, claims[key]) for key in claims)

    def may_have(self, op: Operation, key: str, claim: Claim) -> bool:
        if key in op.did:
            return agrees(claim, op.did[key])
        worlds = self.possible(self.track(key))
        return not worlds or any(agrees(claim, did) for world in worlds for did in world.claims(op))

    def hold(self, op: Operation, claims: Mapping[str, Claim]) -> None:
        rule = "text-never-lost" if isinstance(op.request, Remember) and op.extraction is None else "reference-agrees"
        self.demand(list(op.mentions) == list(claims), rule, "other ids than the answers give", list(op.mentions), list(claims))
        doers: dict[Operation, None] = {}
        for key, claim in claims.items():
            track = self.track(key)
            doers |= self.narrow(track, op, claim) if key not in op.did else {}
            for rival in [it for it in track.open if claim[1] in CHANGES and (it.ended or op.began) < op.began]:
                self.close(rival)
        self.strip(op)
        self.agree(doers)

    def narrow(self, track: Track, op: Operation, claim: Claim) -> dict[Operation, None]:
        """Only worlds with this claim are left; the operations that the others were about."""
        worlds = self.possible(track)
        did = dict.fromkeys(it for world in worlds for it in world.claims(op))
        kept = tuple(world for world in worlds if any(agrees(claim, it) for it in world.claims(op)))
        rule = "deleted-stays-deleted" if claim[1] == "forgot" else rule_of(track, [version for version, _ in did], claim[0])
        self.must(track, kept, rule, f"{track.id} was {claim[1]} with version {claim[0]}", list(did), claim)
        self.root(track, kept)
        return doers_of((*worlds, *track.base))

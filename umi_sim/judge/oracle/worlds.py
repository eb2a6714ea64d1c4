"""Possible worlds of an archive: what each id may be, and what a write makes of it.

Law 1. A write without a certain answer may take effect at any later instant, until its life ends or a row it
planned on has changed; on all of its ids or none: what one id shows holds for all. Law 2. An id that has over
WORLD_COUNT_MAX worlds is undecided: it is counted, and nothing is demanded of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

import attrs

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.ids import entity_id, note_id
from umi_core.invariants.broken import demand
from umi_core.language.extraction import Extraction, Mention
from umi_core.messages.answers import Answer, EffectFailed
from umi_core.messages.requests import Count, Forget, GetEntity, Recall, Remember
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Entity, Version
from umi_core.text import size
from umi_core.values import Scope

WORLD_COUNT_MAX: Final = 128
CHANGES: Final = ("created", "updated", "forgot")
UNTOLD: Final = ()  # a vector that nobody told

ArchiveRequest = Remember | Recall | Forget | GetEntity | Count
Claim = tuple[int, str]  # version and kind of change; version 0 stands for any


# Possible worlds.


@attrs.define
class Operation(Owner):
    """One request, what the world answered, and what it would do to which ids.

    `began` counts events, `began_ms` is the memory's clock, `asked_ms` the world's. `did`: what it did, once
    that is settled. `before`, of a read: what was possible meanwhile.
    """

    request: ArchiveRequest
    error: errors.Error | None
    began: int
    began_ms: int
    asked_ms: int
    mentions: Mapping[str, Mention | None] = {}
    extraction: Extraction | None = None
    answers: list[tuple[str, Answer]] = attrs.field(factory=list)
    text_counts: list[int] = attrs.field(factory=list)
    ended: int | None = None
    is_closed: bool = False
    is_refuted: bool = False
    did: dict[str, tuple[Claim, ...]] = attrs.field(factory=dict)
    before: dict["Track", dict["World", None]] = attrs.field(factory=dict)

    @property
    def key(self) -> str | int:
        """At most one operation with one key takes effect; without a request key it is its own number."""
        return getattr(self.request, "request_key", None) or self.began

    @property
    def has_key(self) -> bool:
        """Whether storage knows its key for certain; without one, what changed nothing leaves no receipt."""
        is_named = getattr(self.request, "request_key", None) is not None
        return any(is_named or change != "absent" for claims in self.did.values() for _, change in claims)

    def shares_key(self, other: "Operation") -> bool:
        """Whether the receipt of one is still kept for the other."""
        return self.key == other.key and abs(self.asked_ms - other.asked_ms) < limits.RECEIPT_MS_MAX

    def is_like(self, other: "Operation") -> bool:
        return attrs.evolve(self.request, op_id=0) == attrs.evolve(other.request, op_id=0)

    def is_over(self, began: int) -> bool:
        """Whether it had been answered before another one began."""
        return self.ended is not None and self.ended < began

    def answers_of(self, step: str) -> list[Answer]:
        return [answer for name, answer in self.answers if name == step]

    @property
    def is_replanned(self) -> bool:
        """Whether its commit met a conflict: then it looked up, and asked, anew."""
        answers = self.answers_of("commit")
        return any(isinstance(it, EffectFailed) and it.kind == "conflict" for it in answers)


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

    def claims(self, op: Operation) -> list[Claim]:
        return [claim for doer, claim in self.deeds if doer is op]


@attrs.define
class Track(Owner):
    """One id: its worlds (none: undecided), who may still change it, whether another id narrowed it last.

    `told`: when each version was acknowledged. `moved_ms`: world time by which its last change was over; None
    until the next life of a memory replies.
    """

    id: str
    base: tuple[World, ...] = (World(),)
    open: dict[Operation, None] = attrs.field(factory=dict)
    is_bound: bool = False
    moved_ms: int | None = 0
    told: dict[int, int] = attrs.field(factory=dict)


class Worlds(ABC):
    """What may be, by id: narrowed by claims and reads, widened by what nobody knows for certain."""

    def __init__(self, scope: Scope, config: Config, off: Container[str] = ()) -> None:
        self.scope, self.config, self.off = scope, config, off
        self.undecided = self.released = self.world_ms = 0
        self.tracks: dict[str, Track] = {}
        self.known: dict[str, None] = {}  # ids that are stored, or may be
        self.flying: dict[str, Operation] = {}
        self.by_key: dict[str | int, list[Operation]] = {}
        self.is_elsewhere: Callable[[str], bool] = lambda key: False  # whether another scope has this id

    def demand(self, holds: object, rule: str, message: str, expected: object = "", got: object = "") -> None:
        if rule not in self.off:
            demand(holds, rule, message, expected, got)

    def must(self, track: Track, kept: object, rule: str, *told: object) -> None:
        """Some world is left; if not, and the rule is off, nothing more is demanded of this id."""
        if track.base:
            self.demand(kept, rule, f"{track.id} {told[0]}", *told[1:])
        if track.base and not kept:
            self.undecide(track)

    def track(self, key: str) -> Track:
        return self.tracks.get(key) or Track(key)

    def tracks_of(self, op: Operation) -> list[Track]:
        return [self.tracks[key] for key in op.mentions if key in self.tracks]

    def offer(self, op: Operation, mentions: Mapping[str, Mention | None]) -> None:
        """From here on this may take effect; what was offered before may not."""
        self.withdraw(op)
        op.mentions = mentions
        for key in mentions:
            self.tracks.setdefault(key, Track(key)).open[op] = None

    def withdraw(self, op: Operation) -> None:
        """This operation has not happened and will not, not as it was offered."""
        for track in self.tracks_of(op):
            track.open.pop(op, None)
            kept = tuple(world for world in track.base if not world.claims(op))
            self.must(track, kept, "reference-agrees", "has shown a request that failed")
            if len(kept) < len(track.base):
                self.root(track, kept)
            if track.base == (World(),) and not track.open and track.id not in self.known:
                del self.tracks[track.id]

    def moved(self, track: Track, op: Operation) -> None:
        """It has changed this id by now, if it ever will."""
        if op in track.open:
            del track.open[op]
            track.moved_ms = self.world_ms

    def possible(self, track: Track) -> tuple[World, ...]:
        """Every world this id may be in right now; none if undecided."""
        if not track.open:
            return track.base
        found = dict.fromkeys(track.base)
        todo = list(found)
        for world in todo:  # it grows
            doers = [op for op in track.open if may_follow(op, world)]
            later = [after for op in doers for after in self.afters(op, world, track.id)]
            todo += [world for world in later if world not in found]
            found |= dict.fromkeys(later)
            if len(found) > WORLD_COUNT_MAX:
                self.undecide(track)
                return ()
        return tuple(found)

    def afters(self, op: Operation, world: World, key: str) -> list[World]:
        """The worlds in which this operation has taken effect last."""
        kinds = self.kinds(op, key, world) if world.entity and op.mentions[key] is not None else ("extend",)
        return list(dict.fromkeys(self.after(op, world, key, kind) for kind in kinds))

    @abstractmethod
    def kinds(self, op: Operation, key: str, world: World) -> tuple[str, ...]:
        """What a next version may do to the one before."""

    def after(self, op: Operation, world: World, key: str, kind: str) -> World:
        mention, request = op.mentions[key], op.request
        if isinstance(request, Remember) and mention is not None:
            after, change = remembered(world, key, mention, request, op.began_ms, kind)
            if self.config.semantic_routing and change != "unchanged":
                after = attrs.evolve(after, unsure=(*after.unsure, "block"))
        else:
            after, change = World(world.version), "forgot" if world.entity else "absent"
        deeds = sorted((*world.deeds, (op, (after.version, change))), key=lambda deed: deed[0].began)
        return attrs.evolve(after, deeds=tuple(deeds))

    def undecide(self, track: Track) -> None:
        self.undecided += 1
        track.base = ()

    def release(self, track: Track) -> None:
        """Nothing more is demanded of this id: what was asked of it may have been done twice."""
        self.released += bool(track.base)
        track.base = ()

    def seen(self, track: Track, op: Operation) -> tuple[World, ...]:
        """Every world this id may have been in since a read was issued; none if undecided."""
        worlds = self.possible(track)
        if not worlds or track not in op.before:
            return worlds
        found = dict.fromkeys((*worlds, *op.before[track]))
        return tuple(world for world in found if not any(doer.is_refuted for doer, _ in world.deeds))

    def root(self, track: Track, worlds: Iterable[World]) -> None:
        """From here on this id is in one of these worlds, or in what open operations make of them."""
        for op in self.flying.values():
            if isinstance(op.request, Recall | GetEntity | Count):
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
        self.must(track, kept, "all-or-nothing", "and another id of one write disagree whether it happened")
        self.root(track, kept)
        track.is_bound = True

    def close(self, op: Operation) -> None:
        """This operation has happened by now, or never will."""
        op.is_closed = True
        tracks = self.tracks_of(op)
        for track in tracks:
            self.root(track, self.possible(track))
            self.moved(track, op)
        changes = [claim[1] for track in tracks for world in track.base for claim in world.claims(op)]
        if op.key in self.by_key or (len(tracks) > 1 and any(change in CHANGES for change in changes)):
            self.agree((op,))
        else:
            self.strip(op)  # no other id could tell

    def strip(self, op: Operation) -> None:
        """Nobody needs to tell the worlds with and without this operation apart any more."""
        for track in self.tracks_of(op):
            self.moved(track, op)
            claims = dict.fromkeys(claim for world in track.base for claim in world.claims(op))
            op.did |= {track.id: tuple(claims)} if claims else {}
            track.base = tuple(dict.fromkeys(without(world, op) for world in track.base))
        for other in self.by_key.get(op.key, ()) if op.has_key else ():
            if other is not op and other.shares_key(op):
                self.withdraw(other)

    def explains(self, op: Operation, claims: Mapping[str, Claim]) -> bool:
        """Whether the operation may have done just that."""
        is_about = list(op.mentions) == list(claims)
        return is_about and all(self.may_have(op, key, claim) for key, claim in claims.items())

    def may_have(self, op: Operation, key: str, claim: Claim) -> bool:
        track = self.track(key)
        did = op.did.get(key) or [it for world in self.possible(track) for it in world.claims(op)]
        return not track.base or any(agrees(claim, it) for it in did)

    def hold(self, op: Operation, claims: Mapping[str, Claim]) -> None:
        """The memory is held to what it said; who planned on what has changed comes too late."""
        doers: dict[Operation, None] = {}
        for key, claim in claims.items():
            track = self.track(key)
            if key in op.did:  # settled before, or just now by what was told of another id
                told = f"{key} was {claim[1]} with version {claim[0]}"
                self.demand(self.may_have(op, key, claim), "all-or-nothing", told, op.did[key], claim)
            else:
                doers |= self.narrow(track, op, claim)
            for rival in [it for it in track.open if claim[1] in CHANGES and it.is_over(op.began)]:
                self.close(rival)
        self.strip(op)
        self.agree(doers)

    def narrow(self, track: Track, op: Operation, claim: Claim) -> dict[Operation, None]:
        """Only worlds with this claim are left; the operations that the others were about."""
        worlds = self.possible(track)
        kept = tuple(world for world in worlds if any(agrees(claim, it) for it in world.claims(op)))
        did = list(dict.fromkeys(it for world in worlds for it in world.claims(op)))
        versions = [version for version, _ in did] or [world.version + 1 for world in worlds]
        rule = rule_of(track, worlds, versions, claim[0])
        if claim[1] == "forgot":
            rule = "deleted-stays-deleted"
        elif claim[1] == "unchanged" and claim[0] in versions:
            rule = "once-only"  # what it found is what it had made itself
        elif claim[1] in CHANGES and track.told.get(claim[0], -1) > op.began:
            rule = "no-lost-update"  # another one, under way at the same time, was told the same version
        self.must(track, kept, rule, f"was {claim[1]} with version {claim[0]}", did, claim)
        self.root(track, kept)
        if claim[1] in CHANGES and op.ended is not None:
            track.told[claim[0]] = op.ended
        return doers_of(worlds)


# What a write makes of an id.


def remembered(
    world: World, key: str, mention: Mention, request: Remember, at_ms: int, kind: str
) -> tuple[World, str]:
    """Nothing new; or the next version, which appends the lines that lack or begins anew; or a first one."""
    old = world.entity
    lines = old.content.split("\n") if old else []
    if old is not None and all(line in lines for line in mention.content.split("\n")):
        return attrs.evolve(world, entity=with_given(old, request)), "unchanged"
    entity = with_given(old or bare(key, mention, at_ms), request)
    appends = old is not None and kind in ("extend", "derive")
    content = extended(lines, mention.content) if appends else mention.content
    entity = attrs.evolve(entity, content=content, version=world.version + 1, updated_ms=at_ms)
    unsure = ("updated_ms",) if old and "created_ms" not in world.unsure else ("created_ms", "updated_ms")
    row = version_of(entity, mention, kind if old else None)
    told = (*(world.told if old else ()), row)[-limits.ENTITY_VERSION_COUNT_MAX :]
    vector = UNTOLD if request.embed else None
    after = World(entity.version, entity, told, vector, unsure, world.deeds)
    return after, "updated" if old else "created"


def bare(key: str, mention: Mention, at_ms: int) -> Entity:
    block, ppm = BLOCK_OF_TYPE[mention.type], mention.confidence_ppm
    return Entity(key, mention.type, mention.name, mention.content, 1, 500_000, ppm, block, at_ms, at_ms)


def version_of(it: Entity, mention: Mention, kind: str | None) -> Version:
    told = (it.event_time_ms, it.metadata, it.source, it.updated_ms)
    return Version(it.id, it.version, mention.content, kind, it.content, *told)


def with_given(entity: Entity, request: Remember) -> Entity:
    """Explicit values only; what is not given stays."""
    names = ("importance_ppm", "event_time_ms", "source")
    given = {name: value for name in names if (value := getattr(request, name)) is not None}
    return attrs.evolve(entity, **given, metadata=tuple(sorted(request.metadata)) or entity.metadata)


def extended(lines: Sequence[str], mention: str) -> str:
    """The lines that are lacking come last; while it is too long, the oldest goes that was not just told."""
    told = mention.split("\n")
    whole = [*lines, *(line for line in dict.fromkeys(told) if line not in lines)]
    while size("\n".join(whole)) > limits.ENTITY_FACTS_BYTES_MAX:
        old = next((n for n, line in enumerate(whole) if line not in told), None)
        if old is None:
            break
        del whole[old]
    return "\n".join(whole)


def may_follow(op: Operation, world: World) -> bool:
    """Whether an operation may still take effect: once per request key, and on the rows it planned on."""
    is_void = world.entity is None and isinstance(op.request, Forget)  # changes nothing, so uses no key
    return not any(
        doer is op
        or (op.shares_key(doer) and change != "absent" and not is_void)
        or (change in CHANGES and op.is_over(doer.began))
        for doer, (_, change) in world.deeds
    )


def without(world: World, op: Operation) -> World:
    return attrs.evolve(world, deeds=tuple(deed for deed in world.deeds if deed[0] is not op))


def doers_of(worlds: Iterable[World]) -> dict[Operation, None]:
    return {doer: None for world in worlds for doer, _ in world.deeds}


def agrees(claim: Claim, did: Claim) -> bool:
    return claim[1] == did[1] and claim[0] in (0, did[0])


def rule_at_stake(track: Track, worlds: Sequence[World], versions: Sequence[int]) -> str:
    """What another version than the right one that was shown would have broken."""
    if track.is_bound:
        return "all-or-nothing"
    if min(versions, default=0):
        return "acknowledged-is-durable"
    return "deleted-stays-deleted" if any(world.version for world in worlds) else "reference-agrees"


def rule_of(track: Track, worlds: Sequence[World], versions: list[int], got: int) -> str:
    """The rule that a version breaks: less than there must be, more than there can be, or not that one."""
    low, high = min(versions, default=0), max(versions, default=0)
    if track.is_bound:
        return "all-or-nothing"
    if got < low:
        return "acknowledged-is-durable"
    if got > high == 0 and any(world.version >= got for world in worlds):
        return "deleted-stays-deleted"
    return "once-only" if got > high and any(world.version for world in worlds) else "reference-agrees"


def id_of(mention: Mention, scope: Scope) -> str:
    return entity_id(scope, mention.type, mention.name) if mention.named else note_id(scope, mention.content)

"""Possible states: what storage may hold of one id, and what a write makes of it.

A write whose reply is unknown may have taken effect, or may still. So the judge does not know what storage
holds; it knows the list of states that are possible. After `remember "Alice lives in Oslo"` ended as unknown
there are two for Alice's id: nothing, and version 1 with that text. A later read shows which one it is.

Law 1. Pure: states, operations and times in, states out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from umi_core import errors
from umi_core.data import Owner
from umi_core.invariants import limits
from umi_core.kelpie.requests import AddArchival, DeleteArchival, RecentEntities, SearchArchival
from umi_core.messages.answers import Answer, EffectFailed
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
    Summarise,
    UpdateEntity,
)
from umi_core.rows import Entity, Version
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.givers import (
    Told,
    given_lines,
    is_among,
    kept_lines,
    own_lines,
    rows_without,
    told_more,
)
from umi_sim.judge.plain.extraction import Extracted, Mention
from umi_sim.judge.plain.replies import BLOCK_OF
from umi_sim.judge.plain.rows import entity_id, note_id, resource_id
from umi_sim.judge.plain.text import byte_count, said_once
from umi_sim.record import rules
from umi_sim.record.rules import Rule

CHANGES: Final = ("created", "updated", "forgot")
UNKNOWN_VECTOR: Final = ()  # the row has one, and nobody has told which

ArchiveRequest = (
    Remember
    | Recall
    | Forget
    | ForgetResource
    | DeleteArchival
    | SearchArchival
    | GetEntity
    | Count
    | Memorize
    | CreateEntity
    | UpdateEntity
    | List
    | RecentEntities
    | Summarise
    | EvolveCategory
    | EndSession
    | Descent
)
Claim = tuple[int, str]  # version and kind of change; version 0 stands for any


@attrs.define
class Operation(Owner):
    """One request, what the world answered it, and what it would do to which ids.

    `began` and `ended` count events; `began_ms` is the memory's clock, `asked_ms` the world's. `mentions`: by
    id, what it would store there, or None if it would forget it. `is_closed`: it has taken effect by now or
    never will. `is_gone`: whatever it did went with the agent when that was closed. `did`: what it did to
    each id, once that is certain. `before`, of a read: states that were possible since it was issued and are
    not any more. `sources`, of an update that moves a fact: as what. `record`: the request of one that adds
    an archival record, whose text is remembered; `record_ids`: what that may be called. `is_unasked`: of
    upkeep, which brings back no text that another has replaced.
    """

    request: ArchiveRequest
    error: errors.Error | None
    began: int
    began_ms: int
    asked_ms: int
    scope: Scope = attrs.field(default=Scope("", ""), kw_only=True)
    record: AddArchival | None = attrs.field(default=None, kw_only=True)
    record_ids: dict[str, None] = attrs.field(factory=dict, kw_only=True)
    is_unasked: bool = attrs.field(default=False, kw_only=True)
    mentions: Mapping[str, Mention | None] = {}
    extraction: Extracted | None = None
    answers: list[tuple[str, Answer]] = attrs.field(factory=list)
    text_counts: list[int] = attrs.field(factory=list)
    shelf_counts: list[int] = attrs.field(factory=list)  # of captions and summaries
    ended: int | None = None
    is_closed: bool = False
    is_refuted: bool = False
    is_turned_away: bool = False
    is_gone: bool = False
    did: dict[str, tuple[Claim, ...]] = attrs.field(factory=dict)
    before: dict["Track", dict["PossibleState", None]] = attrs.field(factory=dict)
    sources: dict["PossibleState", None] = attrs.field(factory=dict)

    @property
    def moves(self) -> tuple[str, str] | None:
        """From which id to which one it moves a fact."""
        keys = tuple(self.mentions)
        is_move = isinstance(self.request, UpdateEntity) and len(keys) == 2
        return (keys[0], keys[1]) if is_move else None

    @property
    def key(self) -> str | int:
        """Of operations with one key at most one takes effect; without a request key it is its own number.

        Keys of an agent server are a space of their own.
        """
        asked = self.record or self.request
        key = getattr(asked, "request_key", None)
        return f"api: {key}" if key and asked.key_space == "api" else key or self.began

    @property
    def has_key(self) -> bool:
        """Whether storage knows its key for certain; without one, what changed nothing leaves no receipt."""
        is_named = isinstance(self.key, str)
        return any(is_named or change != "absent" for claims in self.did.values() for _, change in claims)

    def shares_key(self, other: "Operation") -> bool:
        """Whether the receipt of one is still kept for the other."""
        return self.key == other.key and abs(self.asked_ms - other.asked_ms) < limits.RECEIPT_MS_MAX

    def is_like(self, other: "Operation") -> bool:
        one, two = self.record or self.request, other.record or other.request
        return attrs.evolve(one, op_id=0) == attrs.evolve(two, op_id=0)

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
class PossibleState:
    """A state of one id that storage may hold, with the unsettled operations that led to it.

    `rows`: the versions that are kept of it, the oldest first. `unsure`: fields of the entity that nobody has
    told yet; times then hold their earliest value. `deeds`: what each unsettled operation did. `links`: the
    categories that it is a member of. `told`: by resource, the lines that it told of it.
    """

    version: int = 0
    entity: Entity | None = None
    rows: tuple[Version, ...] = ()
    vector: tuple[int, ...] | None = None
    unsure: tuple[str, ...] = ()
    deeds: tuple[tuple[Operation, Claim], ...] = ()
    links: tuple[str, ...] = ()
    told: Told = ()

    def claims(self, op: Operation) -> list[Claim]:
        return [claim for doer, claim in self.deeds if doer is op]


@attrs.define
class Track(Owner):
    """One id: its possible states, and who may still change it.

    `base` holds the states before any open operation takes effect; none, if there were too many to follow.
    `open`: operations that may still change it. `is_bound`: it was another id of the same write that narrowed
    the states last. `acknowledged_at`: when each version was. `moved_ms`: the world's time by which its last
    change was over; None until the next life of a memory replies. `is_left`: the last change that was
    acknowledged took the lines of a resource from it.
    """

    id: str
    base: tuple[PossibleState, ...] = (PossibleState(),)
    open: dict[Operation, None] = attrs.field(factory=dict)
    is_bound: bool = False
    moved_ms: int | None = 0
    is_left: bool = False
    acknowledged_at: dict[int, int] = attrs.field(factory=dict)


# What a write makes of an id.


def after(
    op: Operation, state: PossibleState, key: str, kind: str, is_routed_by_model: bool, record: str = ""
) -> PossibleState:
    """The state of this id once the operation has taken effect on it, too.

    `kind`: what a next version does to the one before. `is_routed_by_model`: then nobody knows the block.
    `record`: the archival record that tells it.
    """
    mention, request = op.mentions[key], op.request
    if isinstance(request, Remember) and mention is not None:
        later, change = after_remember(state, key, mention, request, op.began_ms, kind)
        if is_routed_by_model and change != "unchanged":
            later = attrs.evolve(later, unsure=(*later.unsure, "block"))
        later = told_by(record, state, later, mention.content, change) if record else later
    elif isinstance(request, Memorize) and mention is not None:
        later, change = after_memorize(state, key, mention, op, kind)
    elif isinstance(request, CreateEntity) and mention is not None:
        same = Remember(0, request.content)
        later, change = after_remember(state, key, mention, same, op.began_ms, kind)
        later = shelved(later, state, mention)
    elif isinstance(request, ForgetResource | DeleteArchival):
        later, change = after_forget_resource(state, source_of(request), op.began_ms)
    else:
        later, change = PossibleState(state.version), "forgot" if state.entity else "absent"
    deeds = sorted((*state.deeds, (op, (later.version, change))), key=lambda deed: deed[0].began)
    return attrs.evolve(later, deeds=tuple(deeds))


def after_remember(
    state: PossibleState, key: str, mention: Mention, request: Remember, at_ms: int, kind: str
) -> tuple[PossibleState, str]:
    """Nothing new; or the next version, which appends the lines that lack or begins anew; or a first one."""
    old = state.entity
    lines = old.content.split("\n") if old else []
    if old is not None and not said_once(mention.content.split("\n"), lines):
        same = with_given_fields(old, request)
        same = attrs.evolve(same, given=kept_lines(old.given, old.content, mention.content))
        return attrs.evolve(state, entity=same), "unchanged"
    entity = with_given_fields(old or first_entity(key, mention, at_ms), request)
    appends = old is not None and kind in ("extend", "derive")
    content = extend_lines(lines, mention.content) if appends else mention.content
    given = kept_lines(entity.given, content, mention.content)
    entity = attrs.evolve(
        entity, content=content, version=state.version + 1, updated_ms=at_ms, given=given
    )  # fmt: skip
    unsure = ("updated_ms",) if old and "created_ms" not in state.unsure else ("created_ms", "updated_ms")
    row = version_of(entity, mention.content, kind if old else None)
    rows = (*(state.rows if old else ()), row)[-limits.ENTITY_VERSION_COUNT_MAX :]
    vector = UNKNOWN_VECTOR if request.embed else None
    told = state.told if old else ()
    later = PossibleState(entity.version, entity, rows, vector, unsure, state.deeds, state.links, told)
    return later, "updated" if old else "created"


def after_memorize(
    state: PossibleState, key: str, mention: Mention, op: Operation, kind: str
) -> tuple[PossibleState, str]:
    """What a remember does, and besides a source more, and its categories; told again, it is reinforced."""
    request = op.request
    assert isinstance(request, Memorize)
    same = Remember(0, request.text, event_time_ms=request.happened_ms)
    later, change = after_remember(state, key, mention, same, op.began_ms, kind)
    source = resource_id(op.scope, request.uri, request.text)
    return shelved(told_by(source, state, later, mention.content, change), state, mention), change


def told_by(
    source: str, before: PossibleState, later: PossibleState, mention: str, change: str
) -> PossibleState:
    """It names who tells it, a hundred of them, and is reinforced by each but the first."""
    entity = later.entity
    assert entity is not None
    if source not in entity.sources and len(entity.sources) < limits.SOURCE_COUNT_MAX:
        count = entity.reinforced_count + (before.entity is not None)
        sources = tuple(sorted((*entity.sources, source)))
        entity = attrs.evolve(entity, sources=sources, reinforced_count=count)
    if source in entity.sources:
        later, entity = given_by(source, before, later, entity, mention, change)
    return attrs.evolve(later, entity=entity)


def source_of(request: ForgetResource | DeleteArchival) -> str:
    """What is to be forgotten: a text, or an archival record."""
    return request.record_id if isinstance(request, DeleteArchival) else request.resource_id


def given_by(
    source: str, before: PossibleState, later: PossibleState, entity: Entity, mention: str, change: str
) -> tuple[PossibleState, Entity]:
    """What a resource told belongs to it, as long as nobody tells it otherwise."""
    given = given_lines(before.entity, entity.content, mention)
    told = told_more(later.told, source, given, mention)
    rows = later.rows
    if change != "unchanged":
        rows = (*rows[:-1], attrs.evolve(rows[-1], is_given=True))
    return attrs.evolve(later, told=told, rows=rows), attrs.evolve(entity, given=given)


def after_forget_resource(state: PossibleState, source: str, at_ms: int) -> tuple[PossibleState, str]:
    """Without what only this resource told: nothing, if that was all; else what others told of it."""
    old = state.entity
    if old is None or source not in old.sources:
        return state, "absent"
    gone = own_lines(old, state.told, source)
    rows = rows_without(state.rows, gone) if gone else state.rows
    content = rows[-1].content
    if not content:
        return PossibleState(state.version), "forgot"
    told = tuple(it for it in state.told if it[0] != source)
    plain = [line for line in old.content.split("\n") if not is_among(line, old.given)]
    others = [line for _, lines in told for line in lines.split("\n")]
    lines = said_once(content.split("\n"))
    entity = attrs.evolve(
        old, content=content, sources=tuple(key for key in old.sources if key != source),
        reinforced_count=max(1, old.reinforced_count - 1),
        given=tuple(line for line in lines if is_among(line, others) and not is_among(line, plain)),
    )  # fmt: skip
    later = attrs.evolve(state, entity=entity, rows=rows, told=told)
    if content == old.content:
        return later, "unchanged"
    entity = attrs.evolve(entity, version=state.version + 1, updated_ms=at_ms)
    row = attrs.evolve(version_of(entity, content, "update"), is_given=True)
    unsure = (*(name for name in state.unsure if name != "updated_ms"), "updated_ms")
    rows = (*rows, row)[-limits.ENTITY_VERSION_COUNT_MAX :]
    later = attrs.evolve(
        later, version=entity.version, entity=entity, rows=rows, vector=UNKNOWN_VECTOR, unsure=unsure
    )  # fmt: skip
    return later, "updated"


def shelved(later: PossibleState, before: PossibleState, mention: Mention) -> PossibleState:
    """As a member of its categories; a known one stays what it is, in its block."""
    old, entity = before.entity, later.entity
    assert entity is not None
    block = old.block if old else entity.block
    entity = attrs.evolve(entity, memory_type=entity.memory_type or mention.memory_type, block=block)
    links = tuple(sorted(dict.fromkeys((*later.links, *mention.categories))))
    kept = ("block",) if old and "block" in before.unsure else ()  # it stays where a model has routed it
    return attrs.evolve(later, entity=entity, links=links, unsure=(*later.unsure, *kept))


def first_entity(key: str, mention: Mention, at_ms: int) -> Entity:
    """What a first mention is stored as: importance one half, and the block that goes with its type."""
    block, ppm = BLOCK_OF[mention.type], mention.confidence_ppm
    return Entity(key, mention.type, mention.name, mention.content, 1, 500_000, ppm, block, at_ms, at_ms)


def version_of(it: Entity, mention: str, kind: str | None) -> Version:
    given = (it.event_time_ms, it.metadata, it.source)
    return Version(it.id, it.version, mention, kind, it.content, *given, it.updated_ms)


def with_given_fields(entity: Entity, request: Remember) -> Entity:
    """Explicit values only; what is not given stays."""
    names = ("importance_ppm", "event_time_ms", "source")
    given = {name: value for name in names if (value := getattr(request, name)) is not None}
    return attrs.evolve(entity, **given, metadata=tuple(sorted(request.metadata)) or entity.metadata)


def extend_lines(lines: Sequence[str], mention: str) -> str:
    """The lines that are lacking come last; while it is too long, the oldest goes that was not just told."""
    new = mention.split("\n")
    whole = [*lines, *said_once(new, lines)]
    while byte_count("\n".join(whole)) > limits.ENTITY_FACTS_BYTES_MAX:
        old = next((n for n, line in enumerate(whole) if said_once([line], new)), None)
        if old is None:
            break
        del whole[old]
    return "\n".join(whole)


def may_follow(op: Operation, state: PossibleState) -> bool:
    """Whether an operation may still take effect: once per request key, and on the rows it planned on."""
    is_void = state.entity is None and isinstance(op.request, Forget)  # changes nothing, so uses no key
    return not any(
        doer is op
        or (op.shares_key(doer) and change != "absent" and not is_void)
        or (change in CHANGES and op.is_over(doer.began))
        for doer, (_, change) in state.deeds
    )


def without(state: PossibleState, op: Operation) -> PossibleState:
    """The same state, without saying whether this operation led to it."""
    if not any(doer is op for doer, _ in state.deeds):
        return state  # as nearly all are
    return attrs.evolve(state, deeds=tuple(deed for deed in state.deeds if deed[0] is not op))


def doers_of(states: Iterable[PossibleState]) -> dict[Operation, None]:
    return {doer: None for state in states for doer, _ in state.deeds}


def agrees(claim: Claim, did: Claim) -> bool:
    """Whether what a reply claims is what was done."""
    return claim[1] == did[1] and claim[0] in (0, did[0])


def rule_at_stake(track: Track, states: Sequence[PossibleState], versions: Sequence[int]) -> Rule:
    """What another version than the right one that was shown would have broken."""
    if track.is_bound:
        return rules.ALL_OR_NOTHING
    if min(versions, default=0):
        return rules.ACKNOWLEDGED_IS_DURABLE
    return rules.DELETED_STAYS_DELETED if any(state.version for state in states) else rules.REFERENCE_AGREES


def rule_of(track: Track, states: Sequence[PossibleState], versions: list[int], got: int) -> Rule:
    """The rule that a version breaks: less than there must be, more than there can be, or not that one."""
    low, high = min(versions, default=0), max(versions, default=0)
    if track.is_bound:
        return rules.ALL_OR_NOTHING
    if track.is_left and (got > 0) == (high > 0):
        return rules.DELETE_ONLY_ITS_OWN
    if got < low:
        return rules.ACKNOWLEDGED_IS_DURABLE
    if got > high == 0 and any(state.version >= got for state in states):
        return rules.DELETED_STAYS_DELETED
    return (
        rules.ONCE_ONLY if got > high and any(state.version for state in states) else rules.REFERENCE_AGREES
    )


def id_of(mention: Mention, scope: Scope) -> str:
    if mention.named:
        return entity_id(scope, mention.type, mention.name)
    return note_id(scope, mention.content, mention.memory_type)

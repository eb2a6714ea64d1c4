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
from umi_core.rows import Ended, Entity
from umi_core.values import Scope
from umi_sim.judge.plain.extraction import Extracted, Mention
from umi_sim.judge.plain.replies import BLOCK_OF
from umi_sim.judge.plain.rows import entity_id, fact_id, resource_id
from umi_sim.record import rules
from umi_sim.record.rules import Rule

CHANGES: Final = ("created", "forgot", "ended")
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


@attrs.frozen
class PossibleEnding:
    """What a write may do to a fact: `by` ends it, if it is in this version; version 0 stands for any."""

    by: str
    how: str
    version: int = 0


@attrs.frozen
class PossibleEndings:
    """The endings of a fact that a write may cause. `is_sure`: if it takes effect, it causes one of them."""

    options: tuple[PossibleEnding, ...]
    is_sure: bool = True


Intent = Mention | PossibleEndings | None  # what a write does to an id: tells it, ends it, forgets it


@attrs.define
class Operation(Owner):
    """One request, what the world answered it, and what it would do to which ids.

    `began` and `ended` count events; `began_ms` is the memory's clock, `asked_ms` the world's. `mentions`: by
    id, what it would do to it; None if it would forget it. `is_closed`: it has taken effect by now or
    never will. `is_gone`: whatever it did went with the agent when that was closed. `did`: what it did to
    each id, once that is certain. `before`, of a read: states that were possible since it was issued and are
    not any more. `sources`, of an update that moves a fact: as what.
    `pairs`: the references of the statements, new and old, that a model was asked about. `record`: the
    request of one that adds an archival record, whose text is remembered; `record_ids`: what that may be
    called. `is_unasked`: of upkeep, which brings back no text that another has replaced.
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
    mentions: Mapping[str, Intent] = {}
    extraction: Extracted | None = None
    pairs: dict[tuple[str, str], None] = attrs.field(factory=dict)
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

    `ended`: the row of a fact that is not current any more. `unsure`: fields of the fact that nothing has
    told yet; times then hold their earliest value. `deeds`: what each unsettled operation did. `links`: the
    categories that it is a member of.
    """

    version: int = 0
    entity: Entity | None = None
    ended: Ended | None = None
    vector: tuple[int, ...] | None = None
    unsure: tuple[str, ...] = ()
    deeds: tuple[tuple[Operation, Claim], ...] = ()
    links: tuple[str, ...] = ()

    @property
    def fact(self) -> Entity | None:
        """The fact, current or ended."""
        return self.entity if self.ended is None else self.ended.fact

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
    op: Operation, state: PossibleState, key: str, is_routed_by_model: bool, record: str = ""
) -> PossibleState:
    """Return the state of this id once the operation has taken effect on it, too.

    `is_routed_by_model`: then its block is unknown. `record`: the archival record that tells it.
    """
    intent, request = op.mentions[key], op.request
    assert not isinstance(intent, PossibleEndings)
    if isinstance(request, Remember) and intent is not None:
        later, change = after_telling(
            op, state, key, intent, request, UNKNOWN_VECTOR if request.embed else None
        )
        if is_routed_by_model and change != "unchanged":
            later = attrs.evolve(later, unsure=(*later.unsure, "block"))
        later = told_by(record, state, later) if record else told_directly(later)
    elif isinstance(request, Memorize) and intent is not None:
        same = Remember(0, request.text, event_time_ms=request.happened_ms)
        later, change = after_telling(op, state, key, intent, same, UNKNOWN_VECTOR)
        source = resource_id(op.scope, request.uri, request.text)
        later = shelved(told_by(source, state, later), state, intent)
    elif isinstance(request, CreateEntity) and intent is not None:
        later, change = after_telling(op, state, key, intent, Remember(0, request.content), UNKNOWN_VECTOR)
        later = shelved(told_directly(later), state, intent)
    elif isinstance(request, ForgetResource | DeleteArchival):
        later, change = after_forget_resource(state, source_of(request))
    else:
        later, change = PossibleState(state.version), "forgot" if state.fact else "absent"
    return with_deed(later, state, op, change)


def with_deed(later: PossibleState, before: PossibleState, op: Operation, change: str) -> PossibleState:
    """Return the later state with what the operation did to it."""
    deeds = sorted((*before.deeds, (op, (later.version, change))), key=lambda deed: deed[0].began)
    return attrs.evolve(later, deeds=tuple(deeds))


def after_ending(op: Operation, state: PossibleState, key: str, ending: PossibleEnding) -> PossibleState:
    """Return the fact as ended: it is a member of no category, and is not found."""
    assert state.entity is not None
    ended = Ended(key, state.entity, ending.by, ending.how, op.began_ms)
    return with_deed(PossibleState(state.version, ended=ended, unsure=state.unsure), state, op, "ended")


def after_telling(
    op: Operation,
    state: PossibleState,
    key: str,
    mention: Mention,
    request: Remember,
    vector: tuple[int, ...] | None,
) -> tuple[PossibleState, str]:
    """Return the fact as it was, a first one, or one that is current again."""
    old = state.entity
    if old is not None:
        return attrs.evolve(state, entity=with_given_fields(old, request)), "unchanged"
    at_ms, about = op.began_ms, about_of(mention, op.scope)
    unsure = tuple(dict.fromkeys((*(it for it in state.unsure if it != "block"), "updated_ms")))
    if state.ended is not None:
        past = state.ended.fact
        entity = attrs.evolve(past, block=BLOCK_OF[past.type])
    else:
        entity = attrs.evolve(first_entity(key, mention, at_ms), about=about, others=mention.others)
        unsure = ("created_ms", "updated_ms")
    entity = with_given_fields(entity, request)
    entity = attrs.evolve(entity, version=state.version + 1, updated_ms=at_ms)
    return PossibleState(entity.version, entity, None, vector, unsure, state.deeds), "created"


def told_directly(later: PossibleState) -> PossibleState:
    """Return the state of a fact that stays when the resources that told it leave."""
    assert later.entity is not None
    return attrs.evolve(later, entity=attrs.evolve(later.entity, is_direct=True))


def told_by(source: str, before: PossibleState, later: PossibleState) -> PossibleState:
    """Return the state with this source; a fact names a hundred, and is reinforced by each but the first."""
    entity = later.entity
    assert entity is not None
    if source in entity.sources:
        return later
    if len(entity.sources) >= limits.SOURCE_COUNT_MAX:
        return told_directly(later)
    count = entity.reinforced_count + (before.fact is not None)
    sources = tuple(sorted((*entity.sources, source)))
    return attrs.evolve(later, entity=attrs.evolve(entity, sources=sources, reinforced_count=count))


def source_of(request: ForgetResource | DeleteArchival) -> str:
    """What is to be forgotten: a text, or an archival record."""
    return request.record_id if isinstance(request, DeleteArchival) else request.resource_id


def after_forget_resource(state: PossibleState, source: str) -> tuple[PossibleState, str]:
    """Return the state without this source: nothing, if nothing else told the fact."""
    fact = state.fact
    if fact is None or source not in fact.sources:
        return state, "absent"
    sources = tuple(key for key in fact.sources if key != source)
    if not sources and not fact.is_direct:
        return PossibleState(state.version), "forgot"
    fact = attrs.evolve(fact, sources=sources, reinforced_count=max(1, fact.reinforced_count - 1))
    return with_fact(state, fact), "unchanged"


def with_fact(state: PossibleState, fact: Entity) -> PossibleState:
    """Return the state with this fact in the place of the one that it has."""
    if state.ended is None:
        return attrs.evolve(state, entity=fact)
    return attrs.evolve(state, ended=attrs.evolve(state.ended, fact=fact))


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


def with_given_fields(entity: Entity, request: Remember) -> Entity:
    """Explicit values only; what is not given stays."""
    names = ("importance_ppm", "event_time_ms", "source")
    given = {name: value for name in names if (value := getattr(request, name)) is not None}
    return attrs.evolve(entity, **given, metadata=tuple(sorted(request.metadata)) or entity.metadata)


def may_follow(op: Operation, state: PossibleState) -> bool:
    """Whether an operation may still take effect: once per request key, and on the rows it planned on."""
    is_void = state.fact is None and isinstance(op.request, Forget)  # changes nothing, so uses no key
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


def about_of(mention: Mention, scope: Scope) -> tuple[str, ...]:
    return tuple(entity_id(scope, name) for name in mention.names)


def id_of(mention: Mention, scope: Scope) -> str:
    return fact_id(scope, about_of(mention, scope), mention.content)

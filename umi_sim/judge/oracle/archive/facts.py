"""Facts: what storage holds under the id of a fact, and what a statement, an update or a removal makes of it.

Law 1. Pure: states and requests in, states out. Law 2. A write leaves one state; nothing here is possible, or
likely. What a write makes of a fact follows from the request, from what was answered to it, and from the
state before it.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.invariants import limits
from umi_core.messages.requests import Remember, UpdateEntity
from umi_core.rows import Ended, Entity, Relation
from umi_core.values import Scope
from umi_sim.judge.plain.extraction import ExpectedMention, name_of_note
from umi_sim.judge.plain.replies import BLOCK_OF
from umi_sim.judge.plain.rows import entity_id, fact_id

CHANGES: Final = ("created", "forgot", "ended")

Vector = tuple[int, ...] | None


@attrs.frozen
class FactState(Data):
    """What lies under the id of a fact after a batch.

    `version`: the last one that there was. `entity`: the fact, if it is current; `ended`: the row of one that
    is not. `links`: the names of the categories that it is a member of.
    """

    version: int = 0
    entity: Entity | None = None
    ended: Ended | None = None
    vector: Vector = None
    links: tuple[str, ...] = ()

    @property
    def fact(self) -> Entity | None:
        """The fact, current or ended."""
        return self.entity if self.ended is None else self.ended.fact

    def with_fact(self, fact: Entity) -> "FactState":
        """Return the state with this fact in the place of the one that it has."""
        if self.ended is None:
            return attrs.evolve(self, entity=fact)
        return attrs.evolve(self, ended=attrs.evolve(self.ended, fact=fact))


NOTHING: Final = FactState()


def about_of(mention: ExpectedMention, scope: Scope) -> tuple[str, ...]:
    return tuple(entity_id(scope, name) for name in mention.names)


def id_of(mention: ExpectedMention, scope: Scope) -> str:
    return fact_id(scope, about_of(mention, scope), mention.content)


# A statement.


def first_entity(key: str, mention: ExpectedMention, at_ms: int) -> Entity:
    """What a first mention is stored as: importance one half, and the block that goes with its type."""
    block, ppm = BLOCK_OF[mention.type], mention.confidence_ppm
    return Entity(key, mention.type, mention.name, mention.content, 1, 500_000, ppm, block, at_ms, at_ms)


def after_telling(
    state: FactState, key: str, mention: ExpectedMention, request: Remember, at_ms: int, scope: Scope
) -> FactState:
    """Return the fact as it was, a first one, or one that is current again; with the options given."""
    if state.entity is not None:
        return attrs.evolve(state, entity=with_given_fields(state.entity, request))
    if state.ended is not None:
        past = state.ended.fact
        entity = attrs.evolve(past, block=BLOCK_OF[past.type], updated_ms=at_ms)
    else:
        entity = first_entity(key, mention, at_ms)
        entity = attrs.evolve(entity, about=about_of(mention, scope), others=mention.others)
    version = state.version + 1
    return FactState(version, attrs.evolve(with_given_fields(entity, request), version=version))


def with_given_fields(entity: Entity, request: Remember) -> Entity:
    """Explicit values only; what is not given stays."""
    names = ("importance_ppm", "event_time_ms", "source")
    given = {name: value for name in names if (value := getattr(request, name)) is not None}
    return attrs.evolve(entity, **given, metadata=tuple(sorted(request.metadata)) or entity.metadata)


def told_directly(later: FactState) -> FactState:
    """Return the state of a fact that stays when the resources that told it leave."""
    assert later.entity is not None
    return attrs.evolve(later, entity=attrs.evolve(later.entity, is_direct=True))


def told_by(source: str, before: FactState, later: FactState, at_ms: int) -> FactState:
    """Return the state with this source; a fact names a hundred, and is reinforced by each but the first."""
    entity = later.entity
    assert entity is not None
    if source in entity.sources:
        return later
    if len(entity.sources) >= limits.SOURCE_COUNT_MAX:
        return told_directly(later)
    entity = attrs.evolve(entity, sources=tuple(sorted((*entity.sources, source))))
    return attrs.evolve(later, entity=entity if before.fact is None else reinforced(entity, 1, at_ms))


def reinforced(entity: Entity, count: int, at_ms: int) -> Entity:
    return attrs.evolve(entity, reinforced_count=entity.reinforced_count + count, last_reinforced_ms=at_ms)


def shelved(later: FactState, before: FactState, mention: ExpectedMention) -> FactState:
    """As a member of its categories; a known one stays what it is, in its block."""
    entity = later.entity
    assert entity is not None
    block = before.entity.block if before.entity else entity.block
    entity = attrs.evolve(entity, memory_type=entity.memory_type or mention.memory_type, block=block)
    links = tuple(sorted({*before.links, *mention.categories}))
    return attrs.evolve(later, entity=entity, links=links)


# What ends, or leaves.


def as_ended(state: FactState, key: str, by: str, how: str, at_ms: int) -> FactState:
    """Return the fact as ended: it is a member of no category, and is not found."""
    assert state.entity is not None
    return FactState(state.version, ended=Ended(key, state.entity, by, how, at_ms))


def after_forgetting(state: FactState) -> FactState:
    """Return what is left: the number of its last version."""
    return FactState(state.version)


def without_source(state: FactState, source: str) -> FactState:
    """Return the state without this source: nothing, if nothing else told the fact."""
    fact = state.fact
    assert fact is not None
    sources = tuple(key for key in fact.sources if key != source)
    if not sources and not fact.is_direct:
        return after_forgetting(state)
    count = max(1, fact.reinforced_count - 1)
    last_ms = fact.last_reinforced_ms if count > 1 else None
    return state.with_fact(
        attrs.evolve(fact, sources=sources, reinforced_count=count, last_reinforced_ms=last_ms)
    )


# An update, which moves a fact to the id of its new content.


def moved_id(old: Entity, request: UpdateEntity, scope: Scope) -> str:
    """Return the id under which the fact will be."""
    return old.id if request.content is None else fact_id(scope, old.about, request.content)


def named(request: UpdateEntity) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(request.categories or ())))


def after_update(state: FactState, request: UpdateEntity) -> FactState:
    """Return the same fact, in the categories that are named."""
    assert state.entity is not None
    links = state.links if request.categories is None else named(request)
    same = state.entity if request.content is None else attrs.evolve(state.entity, is_direct=True)
    return attrs.evolve(state, entity=same, links=links)


def after_move(state: FactState, key: str, before: FactState, request: UpdateEntity, at_ms: int) -> FactState:
    """Return the fact that ends another one; `before`: that other one."""
    old, content = before.entity, request.content
    assert old is not None
    assert content is not None
    links = tuple(sorted({*state.links, *before.links})) if request.categories is None else named(request)
    if state.entity is not None:
        entity = also_told(attrs.evolve(state.entity, is_direct=True), old.sources, at_ms)
        return attrs.evolve(state, entity=entity, links=links)
    if state.ended is not None:
        base = attrs.evolve(state.ended.fact, updated_ms=at_ms)
    else:
        name = old.name if old.about else name_of_note(content)
        mention = ExpectedMention(old.type, old.type, content, old.confidence_ppm)
        base = attrs.evolve(first_entity(key, mention, at_ms), name=name, about=old.about, others=old.others)
    entity = attrs.evolve(
        base, version=state.version + 1, block=old.block, importance_ppm=old.importance_ppm,
        event_time_ms=base.event_time_ms if old.event_time_ms is None else old.event_time_ms,
        metadata=old.metadata or base.metadata, source=base.source if old.source is None else old.source,
        memory_type=base.memory_type or old.memory_type, is_direct=True,
    )  # fmt: skip
    if state.ended is not None:
        entity = also_told(entity, old.sources, at_ms)
    else:
        entity = attrs.evolve(
            entity, sources=old.sources, reinforced_count=old.reinforced_count,
            last_reinforced_ms=old.last_reinforced_ms,
        )  # fmt: skip
    return FactState(entity.version, entity, links=links)


def also_told(entity: Entity, sources: tuple[str, ...], at_ms: int) -> Entity:
    """Return the fact with these sources; each that it lacked reinforces it, while there is room."""
    room = limits.SOURCE_COUNT_MAX - len(entity.sources)
    news = [key for key in sources if key not in entity.sources][:room]
    if not news:
        return entity
    entity = attrs.evolve(entity, sources=tuple(sorted((*entity.sources, *news))))
    return reinforced(entity, len(news), at_ms)


# Relations, as the facts at their ends know of them.


def with_relation(fact: Entity) -> Entity:
    return attrs.evolve(fact, relation_count=fact.relation_count + 1)


def contradicting(fact: Entity, statement: str) -> Entity:
    """Return the fact with what it contradicts, the last named last."""
    refs = (*(it for it in fact.contradicts if it != statement), statement)
    return attrs.evolve(fact, contradicts=refs[-limits.RELATION_COUNT_MAX :])


def without_relations(fact: Entity, lost: Iterable[Relation], gone: Iterable[str]) -> Entity:
    """Return the fact at the other end of relations that leave with the facts that are gone."""
    count = sum((it.source[0] == fact.id) + (it.target[0] == fact.id) for it in lost)
    refs = tuple(it for it in fact.contradicts if it.partition("@")[0] not in gone)
    return attrs.evolve(fact, relation_count=max(0, fact.relation_count - count), contradicts=refs)

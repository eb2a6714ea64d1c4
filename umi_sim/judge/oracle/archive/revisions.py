"""Revisions: what an update makes of a fact, and of the fact that its new content gives.

Law 1. Pure: states and operations in, states out. Law 2. What is known of the new fact is what was known of
the old one: that is one more state that decides, and there may be several of it.
"""

import attrs

from umi_core.invariants import limits
from umi_core.messages.requests import UpdateEntity
from umi_core.rows import Entity
from umi_sim.judge.oracle.archive.possible import (
    UNKNOWN_VECTOR,
    Operation,
    PossibleState,
    about_of,
    first_entity,
    with_deed,
)
from umi_sim.judge.plain.extraction import Mention


def after_update(op: Operation, state: PossibleState, key: str) -> PossibleState:
    """Return the same fact, in the categories that are named."""
    request, mention, old = op.request, op.mentions[key], state.entity
    assert isinstance(request, UpdateEntity)
    assert isinstance(mention, Mention)
    assert old is not None
    links = state.links if request.categories is None else named(mention)
    same = old if request.content is None else attrs.evolve(old, is_direct=True)
    return with_deed(attrs.evolve(state, entity=same, links=links), state, op, "unchanged")


def after_move(op: Operation, state: PossibleState, key: str, before: PossibleState) -> PossibleState:
    """Return the fact that ends another one; `before`: that other one, as it may have been then."""
    request, mention, old = op.request, op.mentions[key], before.entity
    assert isinstance(request, UpdateEntity)
    assert isinstance(mention, Mention)
    assert old is not None
    links = tuple(sorted({*state.links, *before.links})) if request.categories is None else named(mention)
    if state.entity is not None:
        entity = also_told(attrs.evolve(state.entity, is_direct=True), old.sources)
        return with_deed(attrs.evolve(state, entity=entity, links=links), state, op, "unchanged")
    if state.ended is not None:
        base = attrs.evolve(state.ended.fact, updated_ms=op.began_ms)
    else:
        base = attrs.evolve(
            first_entity(key, mention, op.began_ms),
            type=old.type,
            about=about_of(mention, op.scope),
            others=mention.others,
        )
    entity = attrs.evolve(
        base, version=state.version + 1, block=old.block, importance_ppm=old.importance_ppm,
        event_time_ms=base.event_time_ms if old.event_time_ms is None else old.event_time_ms,
        metadata=old.metadata or base.metadata, source=base.source if old.source is None else old.source,
        memory_type=base.memory_type or old.memory_type, is_direct=True,
    )  # fmt: skip
    if state.ended is not None:
        entity = also_told(entity, old.sources)
    else:
        entity = attrs.evolve(entity, sources=old.sources, reinforced_count=old.reinforced_count)
    created = () if state.ended is not None else ("created_ms",)
    unsure = tuple(dict.fromkeys((*created, "updated_ms", *state.unsure, *before.unsure)))
    later = PossibleState(entity.version, entity, None, UNKNOWN_VECTOR, unsure, state.deeds, links)
    return with_deed(later, state, op, "created")


def named(mention: Mention) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(mention.categories)))


def also_told(entity: Entity, sources: tuple[str, ...]) -> Entity:
    """Return the fact with these sources; each that it lacked reinforces it, while there is room."""
    for source in sources:
        if source not in entity.sources and len(entity.sources) < limits.SOURCE_COUNT_MAX:
            more = tuple(sorted((*entity.sources, source)))
            entity = attrs.evolve(entity, sources=more, reinforced_count=entity.reinforced_count + 1)
    return entity


def as_source(state: PossibleState) -> PossibleState:
    """Return what counts of a state for the fact that ends it."""
    return attrs.evolve(state, vector=None, deeds=())

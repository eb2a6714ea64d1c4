"""Revisions: what an update makes of an id, and of the id that its new content gives.

Law 1. Pure: states and operations in, states out. Law 2. What is known of a fact that moves is what was known
of it where it was: that is one more state that decides, and there may be several of it.
"""

import attrs

from umi_core.invariants import limits
from umi_core.messages.requests import UpdateEntity
from umi_core.rows import Entity
from umi_sim.judge.oracle.archive.givers import kept_lines
from umi_sim.judge.oracle.archive.possible import (
    UNKNOWN_VECTOR,
    Operation,
    PossibleState,
    first_entity,
    version_of,
)
from umi_sim.judge.plain.extraction import Mention
from umi_sim.judge.plain.text import folded


def after_update(op: Operation, state: PossibleState, key: str) -> PossibleState:
    """The same id, in its next version or as it was, in the categories that are named."""
    request, mention, old = op.request, op.mentions[key], state.entity
    assert isinstance(request, UpdateEntity)
    assert mention is not None
    assert old is not None
    links = state.links if request.categories is None else named(mention)
    if request.content is None or folded(request.content) == folded(old.content):
        said = request.content
        same = old if said is None else attrs.evolve(old, given=kept_lines(old.given, old.content, said))
        return done(attrs.evolve(state, entity=same, links=links), op, "unchanged")
    entity = attrs.evolve(
        old, content=mention.content, version=old.version + 1, updated_ms=op.began_ms, given=()
    )  # fmt: skip
    rows = (*state.rows, version_of(entity, mention.content, "update"))[-limits.ENTITY_VERSION_COUNT_MAX :]
    unsure = tuple(dict.fromkeys((*state.unsure, "updated_ms")))
    later = PossibleState(
        entity.version, entity, rows, UNKNOWN_VECTOR, unsure, state.deeds, links, state.told
    )
    return done(later, op, "updated")


def after_move(op: Operation, state: PossibleState, key: str, before: PossibleState) -> PossibleState:
    """`before`: the id that it moves from, as it may have been then."""
    request, mention, old = op.request, op.mentions[key], before.entity
    assert isinstance(request, UpdateEntity)
    assert mention is not None
    assert old is not None
    links = tuple(sorted({*state.links, *before.links})) if request.categories is None else named(mention)
    if state.entity is not None:
        it = state.entity
        plain = attrs.evolve(it, given=kept_lines(it.given, it.content, mention.content))
        entity = also_told(plain, old.sources)
        return done(attrs.evolve(state, entity=entity, links=links), op, "unchanged")
    entity = attrs.evolve(
        first_entity(key, mention, op.began_ms), version=state.version + 1, type=old.type, block=old.block,
        importance_ppm=old.importance_ppm, event_time_ms=old.event_time_ms, metadata=old.metadata,
        source=old.source, memory_type=old.memory_type, sources=old.sources,
        reinforced_count=old.reinforced_count,
    )  # fmt: skip
    unsure = tuple(dict.fromkeys(("created_ms", "updated_ms", *before.unsure)))
    rows = (version_of(entity, mention.content, None),)
    return done(
        PossibleState(entity.version, entity, rows, UNKNOWN_VECTOR, unsure, state.deeds, links), op, "created"
    )


def named(mention: Mention) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(mention.categories)))


def also_told(entity: Entity, sources: tuple[str, ...]) -> Entity:
    """Each source more reinforces it, while there is room."""
    for source in sources:
        if source not in entity.sources and len(entity.sources) < limits.SOURCE_COUNT_MAX:
            more = tuple(sorted((*entity.sources, source)))
            entity = attrs.evolve(entity, sources=more, reinforced_count=entity.reinforced_count + 1)
    return entity


def done(later: PossibleState, op: Operation, change: str) -> PossibleState:
    """With what the operation did to this id."""
    deeds = sorted((*later.deeds, (op, (later.version, change))), key=lambda deed: deed[0].began)
    return attrs.evolve(later, deeds=tuple(deeds))


def as_source(state: PossibleState) -> PossibleState:
    """What counts of a state for the id that its fact moves to."""
    return attrs.evolve(state, rows=(), vector=None, deeds=(), told=())

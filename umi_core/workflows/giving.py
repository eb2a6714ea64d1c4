"""Giving: which resources and records told a fact, and what is left of it without one of them.

Law 1. A fact leaves with the last resource that told it, and never once it was told otherwise: by a remember,
a create_entity, or a resource for which there was no room among its sources.
"""

from msgspec import structs

from umi_core.limits import I64_MAX, SOURCE_COUNT_MAX
from umi_core.rows import Entity
from umi_core.workflows.drafting import Drafted, with_entity


def add_source(source: str, draft: Drafted, now_ms: int) -> Drafted:
    """Return the draft with this source; a known fact is reinforced by each source that it lacks."""
    entity = draft.entity
    if source in entity.sources:
        return draft
    # No room to remember this source, so the fact must not leave with the others: it counts as told directly.
    if len(entity.sources) >= SOURCE_COUNT_MAX:
        return with_entity(draft, structs.replace(entity, is_direct=True))
    entity = structs.replace(entity, sources=tuple(sorted((*entity.sources, source))))
    # The first telling is no reinforcement; a fact that had ended, and is told again, was known.
    is_known = draft.old is not None or draft.has_ended
    return with_entity(draft, reinforce_fact(entity, now_ms) if is_known else entity)


def reinforce_fact(entity: Entity, now_ms: int) -> Entity:
    """Return the fact with one more source counted, at `now_ms`."""
    count = min(entity.reinforced_count + 1, I64_MAX)
    return structs.replace(entity, reinforced_count=count, last_reinforced_ms=now_ms)


def drop_source(source: str, entity: Entity) -> Entity | None:
    """Return the fact without this source; None if nothing else told it."""
    sources = tuple(key for key in entity.sources if key != source)
    if not sources and not entity.is_direct:
        return None
    count = max(1, entity.reinforced_count - 1)
    # One source is no reinforcement, so there is no time of one.
    last_ms = entity.last_reinforced_ms if count > 1 else None
    return structs.replace(entity, sources=sources, reinforced_count=count, last_reinforced_ms=last_ms)

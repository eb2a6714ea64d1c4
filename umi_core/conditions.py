"""Conditions on rows, and the one place that decides whether a body holds them."""

from typing import Final

import attrs

from umi_core.data import Data
from umi_core.rows import Body, Entity, Relation, Version


@attrs.frozen
class Where(Data):
    """Conditions on rows, applied by storage before any cut. None means: not asked."""

    tag = 21
    types: tuple[str, ...] | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    vector_missing: bool | None = None
    touches: str | None = None  # versions, relations of this entity
    without: tuple[str, ...] = ()  # none of these entities

    def admits(self, body: Body) -> bool:
        """True for a body that holds every condition; what a body has no field for it does not hold."""
        if self.touches is not None and self.touches not in owners_of(body):
            return False
        if (
            self.types is None
            and self.start_ms is None
            and self.end_ms is None
            and self.vector_missing is None
            and not self.without
        ):
            return True
        return isinstance(body, Entity) and self._admits_entity(body)

    def _admits_entity(self, entity: Entity) -> bool:
        if entity.id in self.without:
            return False
        is_early = self.start_ms is not None and entity.time_ms < self.start_ms
        is_late = self.end_ms is not None and entity.time_ms > self.end_ms
        is_type = self.types is None or entity.type in self.types
        return (
            is_type and not is_late and not is_early and self.vector_missing in (None, entity.vector_missing)
        )


ANYTHING: Final = Where()


def owners_of(body: Body) -> tuple[str, ...]:
    """The entities that a version or a relation belongs to."""
    if isinstance(body, Version):
        return (body.entity_id,)
    return (body.source[0], body.target[0]) if isinstance(body, Relation) else ()

"""The row that says who gave what: what a resource told about an entity, also what others had told before."""

import attrs

from umi_core.body import Body
from umi_core.data import Data
from umi_core.domains import Content, EntityId


@attrs.frozen
class Given(Body, Data):
    """What a resource told about an entity, in the lines that nobody had told otherwise before."""

    tag = 611
    row_kind = "given"
    derived = ("touches",)
    id: EntityId
    source: EntityId
    entity_id: EntityId
    content: Content

    @property
    def touches(self) -> tuple[str, ...]:
        """The entity that it is about, and the resource that told it: it leaves with either."""
        return self.entity_id, self.source

    def own_id(self) -> str:
        return self.id

"""The stored rows of one scope, by kind and id."""

from collections.abc import Container, Mapping
from typing import Final

from umi_core.data import Owner
from umi_core.kelpie.rows import Archival
from umi_core.rows import (
    AccessRecord,
    Address,
    Category,
    Core,
    Ended,
    Entity,
    Membership,
    Reflection,
    Relation,
    Resource,
    Row,
    Subcategory,
    Vector,
)
from umi_core.values import Scope

TABLES: Final[Mapping[type, str]] = {
    Entity: "entities", Ended: "ended", Relation: "relations", Vector: "vectors", AccessRecord: "access",
    Resource: "resources", Category: "categories", Membership: "memberships", Subcategory: "groups",
    Reflection: "reflections", Archival: "records",
}  # fmt: skip
"""By type of body, the table of `StoredRows` that has it."""


class StoredRows(Owner):
    """The stored rows of one scope, by kind and id.

    `misread`: by address, the workflows that have read a damaged or wrong row there since it was written.
    `deleted`: the addresses of deleted rows.
    """

    scope: Scope
    misread: Mapping[Address, Container[str]] = {}
    deleted: Container[Address] = ()
    entities: dict[str, Entity] = {}
    ended: dict[str, Ended] = {}
    relations: dict[str, Relation] = {}
    vectors: dict[str, Vector] = {}
    access: dict[str, AccessRecord] = {}
    resources: dict[str, Resource] = {}
    categories: dict[str, Category] = {}
    memberships: dict[str, Membership] = {}
    groups: dict[str, Subcategory] = {}
    reflections: dict[str, Reflection] = {}
    records: dict[str, Archival] = {}
    core: Row | None = None

    @property
    def facts(self) -> dict[str, Entity]:
        """Return the facts by id, current and ended."""
        return {**{key: it.fact for key, it in self.ended.items()}, **self.entities}

    def has_fact(self, key: str) -> bool:
        """Return True if this is the id of a fact, current or ended."""
        return key in self.entities or key in self.ended

    def was_deleted(self, key: str) -> bool:
        """Return True if this is the id of a fact that was stored and then forgotten."""
        places = (Address(self.scope, kind, key) for kind in ("entity", "ended"))
        return not self.has_fact(key) and any(place in self.deleted for place in places)

    def is_complete_text(self, key: str) -> bool:
        """Return True if this is the id of a resource that is no segment."""
        resource = self.resources.get(key)
        return resource is not None and resource.parent_id is None

    def put(self, row: Row) -> None:
        if name := TABLES.get(type(row.body)):
            getattr(self, name)[row.address.id] = row.body
        elif isinstance(row.body, Core):
            self.core = row

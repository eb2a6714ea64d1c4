"""Stored rows of one scope by kind, and the rules for relations among them.

Law 1. What a relation connects exists, counts it and, if it contradicts, names it. Law 2. Written a second
time, from the rows alone.
"""

from collections.abc import Container, Mapping

from umi_core import limits
from umi_core.data import Owner
from umi_core.ids import relation_id
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
from umi_sim.record import rules
from umi_sim.record.broken import demand

Ends = tuple[tuple[str, int], tuple[str, int]]  # (entity id, version) of source and target


class StoredRows(Owner):
    """The stored rows of one scope, by kind and by the id that counts.

    `misread`: rows that were given as damaged or as others since they were written, and to which workflow.
    `deleted`: the addresses of rows that were there once.
    """

    scope: Scope
    misread: Mapping[Address, Container[str]] = {}
    deleted: Container[Address] = ()
    entities: dict[str, Entity] = {}
    ended: dict[str, Ended] = {}
    relations: list[Relation] = []
    kinds: dict[Ends, list[str]] = {}
    touching: dict[str, list[Relation]] = {}  # by entity
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
        """Return the facts by id, those that have ended too."""
        return {**{key: it.fact for key, it in self.ended.items()}, **self.entities}

    def was_deleted(self, key: str) -> bool:
        """Return True of the id of a fact that was there once, and was forgotten."""
        places = (Address(self.scope, kind, key) for kind in ("entity", "ended"))
        return key not in self.facts and any(place in self.deleted for place in places)

    def put(self, row: Row) -> None:
        row_id, body = row.address.id, row.body
        match body:
            case Entity():
                self.entities[row_id] = body
            case Ended():
                self.ended[row_id] = body
            case Relation():
                self.relations.append(body)
                self.kinds.setdefault((body.source, body.target), []).append(body.kind)
                # Once, if both ends are versions of one fact: it counts such a relation once.
                for entity_id in dict.fromkeys((body.source[0], body.target[0])):
                    self.touching.setdefault(entity_id, []).append(body)
            case Vector():
                self.vectors[row_id] = body
            case AccessRecord():
                self.access[row_id] = body
            case Resource():
                self.resources[row_id] = body
            case Category():
                self.categories[row_id] = body
            case Membership():
                self.memberships[row_id] = body
            case Subcategory():
                self.groups[row_id] = body
            case Reflection():
                self.reflections[row_id] = body
            case Archival():
                self.records[row_id] = body
            case Core():
                self.core = row


# Relations.


def check_relations(rows: StoredRows) -> None:
    facts = rows.facts
    for relation in rows.relations:
        ends = relation.source, relation.target
        kinds = rows.kinds[ends]
        demand(kinds.count(relation.kind) == 1, rules.UNIQUE_ROWS, f"{relation.id} is there twice", 1, kinds)
        demand(ends[0] != ends[1], rules.RELATION_ENDS, f"{relation.id} leads to itself", "", ends)
        there = [key in facts and 0 < number <= facts[key].version for key, number in ends]
        demand(all(there), rules.RELATION_ENDS, f"facts at the ends of {relation.id}", ends, there)
    for entity in facts.values():
        check_count(entity, rows)
        check_contradicts(entity, rows)
    for relation in rows.relations:
        own, key = relation.id, relation_id(rows.scope, relation.source, relation.target, relation.kind)
        demand(
            own == key, rules.UNIQUE_ROWS, "a relation under another id than its ends and kind give", key, own
        )


def check_count(entity: Entity, rows: StoredRows) -> None:
    count, limit = len(rows.touching.get(entity.id, ())), limits.RELATION_COUNT_MAX
    got = entity.relation_count
    demand(got == count, rules.RELATION_ENDS, f"relations of {entity.id}", count, got)
    demand(count <= limit, rules.TABLES_BOUNDED, f"relations of {entity.id}", limit, count)


def check_contradicts(entity: Entity, rows: StoredRows) -> None:
    """Demand that a fact names what contradicts it, all of it while there is room."""
    refs, limit, due = entity.contradicts, limits.RELATION_COUNT_MAX, dict[str, None]()
    for relation in rows.touching.get(entity.id, ()):
        if relation.kind == "contradict":
            # a contradicts b: a names b, and b names a
            key, version = relation.target if relation.source[0] == entity.id else relation.source
            due[f"{key}@{version}"] = None
    strange = [ref for ref in refs if ref not in due]
    demand(
        not strange, rules.RELATION_ENDS, f"{entity.id} contradicts what no relation says", list(due), refs
    )
    once = len(dict.fromkeys(refs)) == len(refs) <= limit
    demand(once, rules.RELATION_ENDS, f"{entity.id} names a contradiction twice, or too many", limit, refs)
    lacking = [ref for ref in due if ref not in refs]
    has_room = len(refs) < limit
    demand(not (lacking and has_room), rules.RELATION_ENDS, f"contradictions of {entity.id}", list(due), refs)

"""Stored rows of one scope by kind, and the rules for relations among them.

Law 1. The facts that a relation connects exist, count it and, if it is a contradiction, name each other.
Law 2. Everything is derived a second time, from the rows alone.
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
    """The stored rows of one scope, by kind and id.

    `misread`: by address, the workflows that have read a damaged or wrong row there since it was written.
    `deleted`: the addresses of deleted rows. `kinds`: the kinds of relations between two ends. `touching`:
    the relations of each entity.
    """

    scope: Scope
    misread: Mapping[Address, Container[str]] = {}
    deleted: Container[Address] = ()
    entities: dict[str, Entity] = {}
    ended: dict[str, Ended] = {}
    relations: list[Relation] = []
    kinds: dict[Ends, list[str]] = {}
    touching: dict[str, list[Relation]] = {}
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
        row_id, body = row.address.id, row.body
        match body:
            case Entity():
                self.entities[row_id] = body
            case Ended():
                self.ended[row_id] = body
            case Relation():
                self.relations.append(body)
                self.kinds.setdefault((body.source, body.target), []).append(body.kind)
                # Only once if both ends are versions of one fact, which counts such a relation once.
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
        is_once = kinds.count(relation.kind) == 1
        message = f"relations of the kind of {relation.id} at its ends"
        demand(is_once, rules.UNIQUE_ROWS, message, 1, kinds)
        demand(ends[0] != ends[1], rules.RELATION_ENDS, f"both ends of {relation.id} are one fact", "", ends)
        there = [key in facts and 0 < number <= facts[key].version for key, number in ends]
        message = f"whether the ends {ends} of {relation.id} exist"
        demand(all(there), rules.RELATION_ENDS, message, "both", there)
    for entity in facts.values():
        check_count(entity, rows)
        check_contradicts(entity, rows)
    for relation in rows.relations:
        own, key = relation.id, relation_id(rows.scope, relation.source, relation.target, relation.kind)
        demand(own == key, rules.UNIQUE_ROWS, "the id of a relation", key, own)


def check_count(entity: Entity, rows: StoredRows) -> None:
    count, limit = len(rows.touching.get(entity.id, ())), limits.RELATION_COUNT_MAX
    got = entity.relation_count
    demand(got == count, rules.RELATION_ENDS, f"the number of relations in {entity.id}", count, got)
    demand(count <= limit, rules.TABLES_BOUNDED, f"relations of {entity.id}", f"{limit} at most", count)


def check_contradicts(entity: Entity, rows: StoredRows) -> None:
    """Demand that a fact names the facts that contradict it: all of them, as far as there is room."""
    refs, limit, expected = entity.contradicts, limits.RELATION_COUNT_MAX, dict[str, None]()
    for relation in rows.touching.get(entity.id, ()):
        if relation.kind == "contradict":
            # If a contradicts b, a names b and b names a.
            key, version = relation.target if relation.source[0] == entity.id else relation.source
            expected[f"{key}@{version}"] = None
    strange, rule = [ref for ref in refs if ref not in expected], rules.RELATION_ENDS
    demand(not strange, rule, f"{entity.id} names contradictions without a relation", list(expected), refs)
    is_once = len(dict.fromkeys(refs)) == len(refs) <= limit
    message = f"contradictions that {entity.id} names"
    demand(is_once, rule, message, f"each once, {limit} at most", refs)
    missing = [ref for ref in expected if ref not in refs]
    demand(not missing or len(refs) >= limit, rule, message, list(expected), refs)

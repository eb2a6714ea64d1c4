"""The rows of one scope by kind; versions and relations among themselves.

Law 1. Kept versions have no gaps, and one relation each from the one before. Law 2. What a relation connects
exists, counts it and, if it contradicts, names it. Law 3. Written a second time, from the rows alone.
"""

from collections.abc import Container, Mapping
from itertools import pairwise
from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.invariants import limits
from umi_core.invariants.broken import demand
from umi_core.kelpie.rows import Archival
from umi_core.rows import (
    AccessRecord,
    Address,
    Category,
    Core,
    Entity,
    Given,
    Membership,
    Reflection,
    Relation,
    Resource,
    Row,
    Subcategory,
    Tombstone,
    Vector,
    Version,
)
from umi_core.values import EVOLUTION_KINDS, LINK_KINDS, Scope
from umi_sim.judge.plain.rows import relation_id
from umi_sim.record import rules
from umi_sim.services.storage import SimStorage

APPENDING: Final = ("extend", "derive")

Ends = tuple[tuple[str, int], tuple[str, int]]  # (entity id, version) of source and target


@attrs.define
class Rows(Owner):
    """What storage holds of one scope, by kind and by the id that counts.

    `misread`: rows that were given as damaged or as others since they were written, and to which workflow.
    """

    scope: Scope
    misread: Mapping[Address, Container[str]] = attrs.field(factory=dict)
    entities: dict[str, Entity] = attrs.field(factory=dict)
    versions: dict[str, dict[int, Version]] = attrs.field(factory=dict)
    relations: list[Relation] = attrs.field(factory=list)
    kinds: dict[Ends, list[str]] = attrs.field(factory=dict)
    touching: dict[str, list[Relation]] = attrs.field(factory=dict)  # by entity
    vectors: dict[str, Vector] = attrs.field(factory=dict)
    access: dict[str, AccessRecord] = attrs.field(factory=dict)
    tombstones: dict[str, Tombstone] = attrs.field(factory=dict)
    resources: dict[str, Resource] = attrs.field(factory=dict)
    categories: dict[str, Category] = attrs.field(factory=dict)
    memberships: dict[str, Membership] = attrs.field(factory=dict)
    groups: dict[str, Subcategory] = attrs.field(factory=dict)
    reflections: dict[str, Reflection] = attrs.field(factory=dict)
    given: dict[str, Given] = attrs.field(factory=dict)
    records: dict[str, Archival] = attrs.field(factory=dict)
    core: Row | None = None

    def put(self, row: Row) -> None:
        row_id, body = row.address.id, row.body
        match body:
            case Entity():
                self.entities[row_id] = body
            case Version():
                self.versions.setdefault(body.entity_id, {})[body.version] = body
            case Relation():
                self.relations.append(body)
                self.kinds.setdefault((body.source, body.target), []).append(body.kind)
                for entity_id in dict.fromkeys((body.source[0], body.target[0])):
                    self.touching.setdefault(entity_id, []).append(body)
            case Vector():
                self.vectors[row_id] = body
            case AccessRecord():
                self.access[row_id] = body
            case Tombstone():
                self.tombstones[row_id] = body
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
            case Given():
                self.given[row_id] = body
            case Archival():
                self.records[row_id] = body
            case Core():
                self.core = row


# Versions.


def check_chain(entity: Entity, rows: Rows, storage: SimStorage) -> None:
    """Kept versions have no gaps and end with the current one; each but the first extends the one before."""
    kept = rows.versions.get(entity.id, {})
    numbers = sorted(kept)
    whole = list(range(entity.version - len(kept) + 1, entity.version + 1))
    demand(bool(kept) and numbers == whole, rules.VERSION_CHAIN, f"versions of {entity.id}", whole, numbers)
    limit = limits.ENTITY_VERSION_COUNT_MAX
    demand(len(kept) <= limit, rules.TABLES_BOUNDED, f"versions of {entity.id}", limit, len(kept))
    content = kept[entity.version].content
    demand(content == entity.content, rules.VERSION_CHAIN, f"content of {entity.id}", content, entity.content)
    check_first(kept[numbers[0]], entity, rows, storage)
    for before, after in pairwise(numbers):
        check_link(kept[before], kept[after], rows)


def check_first(first: Version, entity: Entity, rows: Rows, storage: SimStorage) -> None:
    """The oldest one kept: the very first, the first after a forget, or what the limit has left."""
    cut_off = first.version == entity.version - limits.ENTITY_VERSION_COUNT_MAX + 1
    reborn = first.kind is None and Address(rows.scope, "tombstone", entity.id) in storage.graves
    is_first = first.version == 1 and first.kind is None
    demand(
        is_first or reborn or cut_off, rules.VERSION_CHAIN, f"{entity.id} lacks versions", 1, first.version
    )


def check_link(before: Version, after: Version, rows: Rows) -> None:
    ends = (before.entity_id, before.version), (after.entity_id, after.version)
    kinds = rows.kinds.get(ends, [])
    demand(
        kinds == [after.kind], rules.VERSION_CHAIN, f"relations {ends[0]} to {ends[1]}", [after.kind], kinds
    )
    has_room = len(f"{before.content}\n{after.mention}".encode()) <= limits.ENTITY_FACTS_BYTES_MAX
    if after.kind in APPENDING and has_room and before.content:  # else all of it has left with who told it
        lost = [line for line in before.content.split("\n") if line not in after.content.split("\n")]
        demand(not lost, rules.VERSION_CHAIN, f"{after.kind} lost lines of {before.entity_id}", "", lost)


# Relations.


def check_relations(rows: Rows) -> None:
    for relation in rows.relations:
        ends = relation.source, relation.target
        kinds = rows.kinds[ends]
        demand(kinds.count(relation.kind) == 1, rules.UNIQUE_ROWS, f"{relation.id} is there twice", 1, kinds)
        demand(ends[0] != ends[1], rules.RELATION_ENDS, f"{relation.id} leads to itself", "", ends)
        numbers = [number for _, number in ends]
        if relation.kind in EVOLUTION_KINDS:
            there = [is_version(entity_id, number, rows) for entity_id, number in ends]
            demand(all(there), rules.RELATION_ENDS, f"versions at the ends of {relation.id}", ends, there)
        else:
            is_link = relation.kind in LINK_KINDS and numbers == [0, 0]
            demand(is_link, rules.RELATION_ENDS, f"{relation.id} links no two entities", [0, 0], relation)
    for entity in rows.entities.values():
        check_count(entity, rows)
        check_contradicts(entity, rows)
    for relation in rows.relations:
        own, key = relation.id, relation_id(rows.scope, relation.source, relation.target, relation.kind)
        demand(
            own == key, rules.UNIQUE_ROWS, "a relation under another id than its ends and kind give", key, own
        )


def is_version(entity_id: str, number: int, rows: Rows) -> bool:
    """Whether a statement is there, or was until newer versions took its place."""
    left_behind = rows.entities[entity_id].version - limits.ENTITY_VERSION_COUNT_MAX
    return number in rows.versions.get(entity_id, {}) or 0 < number <= left_behind


def check_count(entity: Entity, rows: Rows) -> None:
    """Relations between its own versions do not count."""
    others = [it for it in rows.touching.get(entity.id, ()) if it.source[0] != it.target[0]]
    count, got, limit = len(others), entity.relation_count, limits.RELATION_COUNT_MAX
    demand(got == count, rules.RELATION_ENDS, f"relations of {entity.id}", count, got)
    demand(count <= limit, rules.TABLES_BOUNDED, f"relations of {entity.id}", limit, count)


def check_contradicts(entity: Entity, rows: Rows) -> None:
    """An entity names what contradicts its current content, all of it while there is room.

    @1 a     @2 a b (extend)     @3 c (update)
    ---- x contradicts @1 -->    named by @1 and @2: the line is still there; no longer by @3
    """
    refs, limit = entity.contradicts, limits.RELATION_COUNT_MAX
    kept = rows.versions[entity.id]
    begins = [number for number, version in kept.items() if version.kind not in APPENDING]
    begun = max(begins, default=0)  # 0: content that older versions began, which are not kept
    due, may = dict[str, None](), dict[str, None]()
    for relation in rows.touching.get(entity.id, ()):
        if relation.kind == "contradict":
            for own, other in ((relation.source, relation.target), (relation.target, relation.source)):
                if own[0] == entity.id and own[1] >= begun:
                    (due if own[1] >= min(kept) else may)[f"{other[0]}@{other[1]}"] = None
    strange = [ref for ref in refs if ref not in due and ref not in may and not is_left_behind(ref, entity)]
    demand(
        not strange, rules.RELATION_ENDS, f"{entity.id} contradicts what no relation says", list(due), refs
    )
    once = len(dict.fromkeys(refs)) == len(refs) <= limit
    demand(once, rules.RELATION_ENDS, f"{entity.id} names a contradiction twice, or too many", limit, refs)
    lacking = [ref for ref in due if ref not in refs]
    has_room = len(refs) < limit
    demand(not (lacking and has_room), rules.RELATION_ENDS, f"contradictions of {entity.id}", list(due), refs)


def is_left_behind(ref: str, entity: Entity) -> bool:
    """A version of its own that is not kept any more; its relation has gone with it."""
    key, _, number = ref.rpartition("@")
    left_behind = range(1, entity.version - limits.ENTITY_VERSION_COUNT_MAX + 1)
    return key == entity.id and number in [str(it) for it in left_behind]

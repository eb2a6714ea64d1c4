"""The rows of a memory's scope among themselves and against its core tier; the sessions of its user.

Law 1. Nothing is changed; what is broken raises Broken with the readable name of the rule.
Law 2. What one commit writes together is consistent in storage at every instant, whatever is in flight.
Law 3. Written a second time, and simpler: ids, texts and chains are worked out from the rows alone.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b, sha256
from itertools import pairwise
from typing import Final
from xml.etree import ElementTree

import attrs

from umi_core import limits
from umi_core.errors import Error, SnapshotDoesNotFit
from umi_core.policies.routing import SELF_BLOCK
from umi_core.state import State
from umi_core.tiers import session
from umi_core.tiers.core import CUT_MARK, ENTRY_KINDS, CoreTier, core_text
from umi_core.tiers.rendering import importance_text, render_xml
from umi_core.values import (
    EVOLUTION_KINDS,
    AccessRecord,
    Address,
    Block,
    Core,
    Entity,
    Entry,
    Epoch,
    Head,
    Receipt,
    Relation,
    Row,
    Scope,
    SessionRow,
    Tombstone,
    Vector,
    Version,
    norm,
    pack,
)
from umi_sim.storage import SimStorage
from umi_sim.verdict import Broken

Ends = tuple[tuple[str, int], tuple[str, int]]  # (entity id, version) of source and target

# Rows of one scope.


def demand(holds: bool, rule: str, message: str, expected: object = "", got: object = "") -> None:
    if not holds:
        raise Broken(rule, message, str(expected), str(got))


@attrs.define
class Rows:
    """What storage holds of one scope, by kind and by the id that counts."""

    scope: Scope
    entities: dict[str, Entity] = attrs.field(factory=dict)
    versions: dict[str, dict[int, Version]] = attrs.field(factory=dict)
    relations: list[Relation] = attrs.field(factory=list)
    kinds: dict[Ends, list[str]] = attrs.field(factory=dict)
    vectors: dict[str, Vector] = attrs.field(factory=dict)
    access: dict[str, AccessRecord] = attrs.field(factory=dict)
    tombstones: dict[str, Tombstone] = attrs.field(factory=dict)
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
            case Vector():
                self.vectors[row_id] = body
            case AccessRecord():
                self.access[row_id] = body
            case Tombstone():
                self.tombstones[row_id] = body
            case Core():
                self.core = row


def check_store(storage: SimStorage, state: State) -> None:
    """The rows of a memory's scope among themselves, against its core tier, and the sessions of its user."""
    rows = Rows(state.scope)
    for row in storage.live_rows(state.scope):
        own, key = row.address.id, key_of(row)
        demand(own == key, "unique-rows", f"a {row.address.kind} row under another key", key, own)
        rows.put(row)
    check_gone(rows, storage, state)
    for entity in rows.entities.values():
        check_entity(entity, rows)
        check_chain(entity, rows, storage)
    check_relations(rows)
    check_vectors(rows, state.config.embedding_dims)
    check_core_rows(rows, state.tiers.core)
    check_xml(state.tiers.core)
    check_sessions(storage, state)


def key_of(row: Row) -> str:
    """The id under which a body must lie."""
    match row.body:
        case Entity(id=own_id) | Relation(id=own_id) | SessionRow(id=own_id):
            return own_id
        case Version(entity_id=entity_id, version=version):
            return f"{entity_id}@{version}"
        case Vector(entity_id=entity_id) | AccessRecord(entity_id=entity_id):
            return entity_id
        case Receipt(key=key):
            return key
        case Core() | Epoch() | Head():
            return row.address.kind
    return row.address.id


# Entities.


def check_gone(rows: Rows, storage: SimStorage, state: State) -> None:
    """What belongs to an entity leaves with it, and it leaves by forget alone.

    An access record may ride on a commit that passes a forget; the next scan removes it, so that of a memory
    at rest none is left.
    """
    for address in storage.graves:
        if address.kind == "entity" and address.scope == rows.scope:
            is_told = address.id in rows.tombstones
            demand(is_told, "archive-untouched", f"{address.id} has gone, and nobody forgot it")
    check_owned(rows, "version", "version-chain", rows.versions)
    check_owned(rows, "vector", "index-follows-row", rows.vectors)
    if not state.operations and not state.tiers.access.is_due:
        check_owned(rows, "access", "access-truth", rows.access)
    ends = [end[0] for relation in rows.relations for end in (relation.source, relation.target)]
    check_owned(rows, "relation", "relation-ends", ends)


def check_owned(rows: Rows, kind: str, rule: str, owner_ids: Iterable[str]) -> None:
    for owner_id in owner_ids:
        if owner_id not in rows.entities:
            broken = "deleted-stays-deleted" if owner_id in rows.tombstones else rule
            raise Broken(broken, f"a {kind} row of {owner_id}, which is not there")


def check_entity(entity: Entity, rows: Rows) -> None:
    mentions = [version.mention for version in rows.versions.get(entity.id, {}).values()]
    ids = [id_by_content(rows.scope, mention) for mention in mentions]
    ids.append(id_by_name(rows.scope, entity.type, entity.name))
    demand(entity.id in ids, "equal-names-apart", f"the id of {entity.name!r}", ids[-1], entity.id)
    has_block = entity.block in ENTRY_KINDS and (entity.block == SELF_BLOCK) == (entity.type == "self")
    demand(has_block, "system-is-authored", f"{entity.id} of type {entity.type} is routed", "", entity.block)


@lru_cache(maxsize=4_096)
def id_by_name(scope: Scope, entity_type: str, name: str) -> str:
    return derived(scope, entity_type, "name", norm(name))


@lru_cache(maxsize=4_096)
def id_by_content(scope: Scope, content: str) -> str:
    digest = sha256(f"knowledge:{norm(content)}".encode()).hexdigest()
    return derived(scope, "content", "knowledge", digest[:16])


def derived(scope: Scope, *parts: str) -> str:
    """Written a second time: ids must not come from where they are judged."""
    return "ent_" + blake2b(pack(["entity", scope.user, scope.agent, *parts]), digest_size=12).hexdigest()


def check_chain(entity: Entity, rows: Rows, storage: SimStorage) -> None:
    """Kept versions have no gaps and end with the current one; each but the first extends the one before."""
    kept = rows.versions.get(entity.id, {})
    numbers = sorted(kept)
    whole = list(range(entity.version - len(kept) + 1, entity.version + 1))
    demand(bool(kept) and numbers == whole, "version-chain", f"versions of {entity.id}", whole, numbers)
    limit = limits.ENTITY_VERSION_COUNT_MAX
    demand(len(kept) <= limit, "tables-bounded", f"versions of {entity.id}", limit, len(kept))
    content = kept[entity.version].content
    demand(content == entity.content, "version-chain", f"content of {entity.id}", content, entity.content)
    check_first(kept[numbers[0]], entity, rows, storage)
    for before, after in pairwise(numbers):
        check_link(kept[before], kept[after], rows)


def check_first(first: Version, entity: Entity, rows: Rows, storage: SimStorage) -> None:
    """The oldest one kept: the very first, the first after a forget, or what the limit has left."""
    cut_off = first.version == entity.version - limits.ENTITY_VERSION_COUNT_MAX + 1
    reborn = first.kind is None and Address(rows.scope, "tombstone", entity.id) in storage.graves
    is_first = first.version == 1 and first.kind is None
    demand(is_first or reborn or cut_off, "version-chain", f"{entity.id} lacks versions", 1, first.version)


def check_link(before: Version, after: Version, rows: Rows) -> None:
    ends = (before.entity_id, before.version), (after.entity_id, after.version)
    kinds = rows.kinds.get(ends, [])
    demand(kinds == [after.kind], "version-chain", f"relations {ends[0]} to {ends[1]}", [after.kind], kinds)
    has_room = len(f"{before.content}\n{after.mention}".encode()) <= limits.ENTITY_FACTS_BYTES_MAX
    if after.kind in ("extend", "derive") and has_room:
        lost = [line for line in before.content.split("\n") if line not in after.content.split("\n")]
        demand(not lost, "version-chain", f"{after.kind} lost lines of {before.entity_id}", "", lost)


def check_relations(rows: Rows) -> None:
    for relation in rows.relations:
        ends = relation.source, relation.target
        demand(ends[0] != ends[1], "relation-ends", f"{relation.id} leads to itself", "", ends)
        if relation.kind in EVOLUTION_KINDS:
            there = [number in rows.versions.get(entity_id, {}) for entity_id, number in ends]
            demand(all(there), "relation-ends", f"versions at the ends of {relation.id}", ends, there)


COMPONENTS: Final = frozenset(range(-127, 128))


def check_vectors(rows: Rows, dims: int) -> None:
    for key, vector in rows.vectors.items():
        entity, components, rule = rows.entities[key], vector.components, "index-follows-row"
        version, now = vector.version, entity.version
        demand(version == now, rule, f"version of the vector of {key}", now, version)
        demand(not entity.vector_missing, rule, f"{key} has the vector that it is said to lack")
        is_whole = len(components) == dims and any(components) and COMPONENTS.issuperset(components)
        demand(is_whole, "vectors-whole", f"the vector of {key}", f"{dims} numbers, not all zero", components)


# Core.


def check_core_rows(rows: Rows, core: CoreTier) -> None:
    """The tier is a row that was stored; the stored one shows what is stored now."""
    row, guard = rows.core, core.guard_version
    stored = row.version if row else 0
    demand(guard <= stored, "core-current", "core is newer than its row", stored, guard)
    if row is None or not isinstance(row.body, Core):
        return
    if guard == stored:
        demand(core.blocks == row.body.blocks, "core-current", "blocks of core", row.body.blocks, core.blocks)
    for block in row.body.blocks:
        for entry in block.entries:
            check_shown(block, entry, rows)


def check_shown(block: Block, entry: Entry, rows: Rows) -> None:
    """An entry shows the current version of its entity, cut or whole."""
    key, entity = entry.entity_id, rows.entities.get(entry.entity_id)
    if entity is None:
        rule = "deleted-stays-deleted" if key in rows.tombstones else "core-current"
        raise Broken(rule, f"core shows {key}, which is not there")
    shown, now = entry.version, entity.version
    demand(shown == now, "core-current", f"version that core shows of {key}", now, shown)
    name, text = core_text(entity.name), core_text(entity.content)
    demand(entry.name == name, "core-current", f"name that core shows of {key}", name, entry.name)
    is_cut = entry.text == "" or (entry.text.endswith(CUT_MARK) and text.startswith(entry.text[:-1]))
    demand(is_cut or entry.text == text, "core-current", f"text that core shows of {key}", text, entry.text)
    is_self = (block.kind == SELF_BLOCK) == (entity.type == "self")
    demand(is_self, "system-is-authored", f"{key} of type {entity.type} is in", "", block.kind)


def check_xml(core: CoreTier) -> None:
    """A standard parser reads the blocks that core has."""
    try:
        root = ElementTree.fromstring(render_xml(core))
    except ElementTree.ParseError as error:
        raise Broken("render-standard-xml", f"the XML of core cannot be read: {error}") from None
    expected = [told(block) for block in core.blocks]
    got = [read(element) for element in root]
    demand(got == expected, "render-standard-xml", "the blocks of the XML", expected, got)


Told = tuple[str, str, str, str | None, list[tuple[str, str, str]]]


def told(block: Block) -> Told:
    entries = [(entry.entity_id, entry.name, entry.text) for entry in block.entries]
    return block.kind, block.label, importance_text(block.importance_ppm), block.text, entries


def read(element: ElementTree.Element) -> Told:
    entries = [(entry.get("id", ""), entry.get("name", ""), entry.text or "") for entry in element]
    body = (element.text or "").removeprefix("\n")
    text = body.removesuffix("\n") if body else None
    return element.get("type", ""), element.get("label", ""), element.get("importance", ""), text, entries


# Sessions.


def check_sessions(storage: SimStorage, state: State) -> None:
    """Every session of this user lies under its own id and can be loaded by those it names."""
    for scope, shelf in storage.shelves.items():
        if scope.user == state.scope.user and shelf.get("session"):
            for row in storage.live_rows(scope):
                if isinstance(row.body, SessionRow):
                    check_session(row.address, row.body, state)


def check_session(address: Address, body: SessionRow, state: State) -> None:
    own, scope = Scope(body.user, body.id), address.scope
    demand(scope == own, "session-members-only", f"scope of session {body.id}", own, scope)
    members, limit = body.members, limits.SESSION_MEMBER_COUNT_MAX
    expected = tuple(sorted({*members, body.creator}))
    demand(members == expected, "session-members-only", f"members of {body.id}", expected, members)
    demand(len(members) <= limit, "tables-bounded", f"members of {body.id}", limit, len(members))
    loaded = session.decode(body.snapshot, body.saved_ms, state.config)
    is_sound = not isinstance(loaded, Error) or isinstance(loaded, SnapshotDoesNotFit)
    demand(is_sound, "snapshot-guarded", f"session {body.id} cannot be loaded", "", loaded)

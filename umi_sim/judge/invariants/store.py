"""Consistency of the rows of a memory's scope, also with its core tier; and of the sessions of its user.

Law 1. Nothing is changed; a broken rule raises Broken with its readable name.
Law 2. Rows that are committed together are consistent in storage at any time, whatever is in flight.
Law 3. Ids, texts and chains are derived a second time, and more simply, from the rows alone.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import structs

from umi_core import limits
from umi_core.errors import Error, SnapshotDoesNotFit
from umi_core.ids import entity_id, fact_id
from umi_core.kelpie.rows import Archival, BlockChange, Log, Message, Sheet
from umi_core.messages.effects import Commit, Expect
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import (
    AccessRecord,
    Address,
    Category,
    Core,
    Ended,
    Entity,
    Epoch,
    Grant,
    Head,
    Membership,
    Receipt,
    Reflection,
    Relation,
    Resource,
    Row,
    SessionRow,
    Subcategory,
    Vector,
)
from umi_core.shapes import anything
from umi_core.state import State
from umi_core.text import core_text
from umi_core.tiers import session
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import ENTRY_KINDS, CoreTier
from umi_core.tiers.rendering import render_markdown, render_xml
from umi_core.values import Block, Entry, Scope
from umi_sim.judge.invariants.hierarchy import check_hierarchy
from umi_sim.judge.invariants.stored_rows import StoredRows
from umi_sim.judge.plain.blocks import expect_block, read_markdown, read_xml
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand
from umi_sim.record.rules import Rule
from umi_sim.services.storage import SimStorage


def check_store(storage: SimStorage, state: State, *, has_lied: bool = False) -> None:
    """Check the rows of a memory's scope, its core tier against them, and the sessions of its user.

    `has_lied`: storage has lost an acknowledged batch, so rows that the memory takes for stored may be
    missing.
    """
    rows = StoredRows(state.scope, storage.misread, storage.graves)
    for row in storage.live_rows(state.scope):
        own, key = row.address.id, key_of(row)
        demand(own == key, rules.UNIQUE_ROWS, f"the key of a {row.address.kind} row", key, own)
        check_grant(row.body, state.scope)
        rows.put(row)
    # The rows of a closed agent are deleted page by page, so none of the rules below holds.
    if is_closed(storage, state.scope):
        check_sessions(storage, state)
        return
    check_belonging(rows, state)
    if not has_lied:
        check_access_rows(rows, state)
    for entity in rows.facts.values():
        check_entity(entity, rows)
    check_ended(rows)
    check_hierarchy(rows, state.config.abouts)
    check_sources(rows)
    check_vectors(rows, state.config.embedding_dims)
    check_core_rows(rows, state.tiers.core)
    check_records(state.tiers.access)
    check_sessions(storage, state)


def check_grant(body: object, scope: Scope) -> None:
    """Demand that the readers of an archive are other agents, sorted, and not too many."""
    if isinstance(body, Grant):
        expected = tuple(sorted({*body.readers} - {scope.agent}))
        is_fit = body.readers == expected and 0 < len(expected) <= limits.SESSION_MEMBER_COUNT_MAX
        demand(is_fit, rules.SHARED_AS_GRANTED, "agents that may read an archive", expected, body.readers)


def check_records(access: AccessTable) -> None:
    """Demand that all fields of access records are in range; otherwise a damaged row was accepted."""
    for key, record in access.records.items():
        wrong = anything(record)
        message = f"a field out of its range in the access record of {key}"
        demand(not wrong, rules.WHOLE_VALUES, message, "", wrong)


def key_of(row: Row) -> str:
    """Return the id that the address of a body must have."""
    match row.body:
        case Entity(id=key) | Ended(id=key) | Relation(id=key) | SessionRow(id=key) | Category(id=key):
            return key
        case Resource(id=key) | Membership(id=key) | Subcategory(id=key) | Reflection(id=key):
            return key
        case Sheet(id=key) | Message(id=key) | Archival(id=key) | Log(name=key):
            return key
        case BlockChange(block_id=own_id, version=version):
            return f"{own_id}@{version:012}"
        case Vector(entity_id=key) | AccessRecord(entity_id=key) | Receipt(key=key):
            return key
        case Core() | Epoch() | Head() | Grant():
            return row.address.kind
    return row.address.id


# Entities.


def is_closed(storage: SimStorage, scope: Scope) -> bool:
    """Return True if the agent is closed; its rows are then deleted page by page and are not readable."""
    row = storage.rows.get(Address(scope, "epoch", "epoch"))
    return row is not None and isinstance(row.body, Epoch) and row.body.is_closed


KEPT: Final = ("epoch", "log", "receipt")  # kinds of rows that stay when an agent is deleted
DELETING: Final = ("forget", "forget_resource", "delete_archival", "purge")  # workflows that delete facts
OTHER_STATE: Final = {"entity": "ended", "ended": "entity"}  # a fact has a row of one of these kinds


def check_opening(asked: Commit, storage: SimStorage) -> None:
    """Demand that no row is left when the latest incarnation opens a closed agent."""
    for write in asked.writes:
        value, scope = write.body.value if isinstance(write.body, Receipt) else None, write.address.scope
        # An older incarnation may send the same batch, but it expects an older epoch and meets a conflict.
        expected = Expect(Address(scope, "epoch", "epoch"), storage.epoch_of(scope))
        if (
            getattr(value, "change", "") == "opened"
            and is_closed(storage, scope)
            and expected in asked.expects
        ):
            check_purged(storage, scope)


def check_purged(storage: SimStorage, scope: Scope) -> None:
    addresses = [row.address for row in storage.live_rows(scope) if row.address.kind not in KEPT]
    left = [f"{it.kind} {it.id}" for it in addresses]
    demand(not left, rules.CLOSED_IS_CLOSED, f"rows of {scope.agent}, which was deleted", [], left)


def check_leaving(asked: Commit, workflow: str, storage: SimStorage) -> None:
    """Demand that a batch deletes a fact only to forget it, or to store it in its other state.

    A batch that forgets a fact must delete the row in which the fact is stored.
    """
    bodies = {it.address: it.body for it in asked.writes}
    expected = {it.address: it.version for it in asked.expects}
    for where, body in bodies.items():
        if body is not None or where.kind not in OTHER_STATE:
            continue
        other = structs.replace(where, kind=OTHER_STATE[where.kind])
        if workflow not in DELETING:
            message = f"{workflow} deletes the fact {where.id}, and is no request to forget it"
            is_moved = where not in storage.rows or bodies.get(other) is not None
            demand(is_moved, rules.ARCHIVE_UNTOUCHED, message)
        elif other in storage.rows and expected.get(other) == storage.rows[other].version:
            # The workflow has read an ended fact but deletes the row of a current one.
            message = f"{workflow} deletes {where.id} as {where.kind}, and leaves it as {other.kind}"
            demand(other in bodies, rules.DELETED_STAYS_DELETED, message)


def check_belonging(rows: StoredRows, state: State) -> None:
    """Demand that everything that belongs to a fact is deleted with it.

    A commit that overtakes a forget may write an access record. The next scan removes it, so that a memory at
    rest has none.
    """
    others = {**rows.categories, **rows.resources, **rows.groups, **rows.reflections}
    # Categories, texts, groups and reflections have vectors of their own.
    of_entities = [key for key in rows.vectors if key not in others]
    check_owned(rows, "vector", rules.INDEX_FOLLOWS_ROW, of_entities)
    if not state.operations and not state.tiers.access.is_due:
        check_owned(rows, "access", rules.ACCESS_TRUTH, rows.access)
    ends = [end[0] for relation in rows.relations.values() for end in (relation.source, relation.target)]
    for key in ends:
        # A relation of a forgotten fact restores part of it; one of an unknown fact is a dangling edge.
        broken = rules.DELETED_STAYS_DELETED if rows.was_deleted(key) else rules.RELATION_ENDS
        demand(rows.has_fact(key), broken, f"a relation of {key}, which is not there")


def check_needed(asked: Commit, storage: SimStorage) -> None:
    """Demand that a commit does not rewrite an entity without a change."""
    expected = {expect.address: expect.version for expect in asked.expects}
    for write in asked.writes:
        row = storage.rows.get(write.address)
        # Only if the batch expects the present version; otherwise it meets a conflict.
        if isinstance(write.body, Entity) and row is not None and expected.get(write.address) == row.version:
            message = f"{write.address.id} is written again, unchanged"
            demand(row.body != write.body, rules.ONCE_ONLY, message, "another body", write.body)


def check_access_rows(rows: StoredRows, state: State) -> None:
    """Demand that a memory at rest has marked every access record that differs in storage as unsaved.

    If two batches are in flight, the one planned first may become durable last. A batch in doubt may have
    written its records or may write them later.
    """
    access = state.tiers.access
    # a plans count 3, b plans count 4, b lands, then a: storage has 3, and the memory must write 4.
    is_unknown = any(name.endswith(" unknown") for name in state.counters)
    if state.phase != "ready" or state.operations or is_unknown:
        return
    for key in sorted({**rows.access, **access.records}):
        known, stored = access.records.get(key), rows.access.get(key)
        holds = known == stored or key in access.unsaved
        demand(holds, rules.ACCESS_TRUTH, f"the access record of {key} in storage", known, stored)


def check_owned(rows: StoredRows, kind: str, rule: Rule, owner_ids: Iterable[str]) -> None:
    for owner_id in owner_ids:
        broken = rules.DELETED_STAYS_DELETED if rows.was_deleted(owner_id) else rule
        demand(owner_id in rows.entities, broken, f"a {kind} row of {owner_id}, which is not there")


def check_entity(entity: Entity, rows: StoredRows) -> None:
    """Demand that the id of a fact is derived from its content and from the entities that it is about."""
    names = (entity.name, *entity.others)
    expected = tuple(entity_id(rows.scope, name) for name in names) if entity.about else ()
    is_right = entity.about == expected and len(expected) >= len(entity.others)
    demand(is_right, rules.EQUAL_NAMES_APART, f"what {entity.id} is about", expected, entity.about)
    demand(entity.follows != entity.id, rules.EQUAL_NAMES_APART, f"{entity.id} follows itself", None, entity)
    own = fact_id(rows.scope, entity.about, entity.content)
    demand(entity.id == own, rules.EQUAL_NAMES_APART, f"the id of {entity.content!r}", own, entity.id)
    has_block = entity.block in ENTRY_KINDS and (entity.block == SELF_BLOCK) == (entity.type == "self")
    message = f"the block of {entity.id} of type {entity.type}"
    demand(has_block, rules.SYSTEM_IS_AUTHORED, message, f"{SELF_BLOCK} for self alone", entity.block)


def check_ended(rows: StoredRows) -> None:
    """Demand that an ended fact is not current, and that the fact which ends it is or was stored."""
    for key, it in rows.ended.items():
        rule = rules.ENDED_AS_NAMED
        demand(key not in rows.entities, rule, f"{key} has ended, and is current as well")
        is_known = rows.has_fact(it.by) or rows.was_deleted(it.by)
        demand(is_known and it.by != key, rule, f"the fact that ends {key}", "another stored fact", it.by)
        demand(it.fact.id == key, rule, f"the fact in the row {key}", key, it.fact.id)


def check_sources(rows: StoredRows) -> None:
    """Demand that a fact that is not direct has a source, and that each source is a stored text or record."""
    for fact in rows.facts.values():
        # Forgetting its last text deletes a fact, unless a remember has stored it as well.
        has_any = fact.is_direct or bool(fact.sources)
        demand(has_any, rules.FACTS_NAME_RECORDS, f"{fact.id} has no source, and is not direct")
        keys = [key for key in fact.sources if key not in rows.records]
        removed, message = [key for key in keys if not rows.is_complete_text(key)], f"sources of {fact.id}"
        demand(not removed, rules.FACTS_NAME_RECORDS, f"{message} that are not there", (), removed)


COMPONENTS: Final = frozenset(range(-127, 128))


def check_vectors(rows: StoredRows, dims: int) -> None:
    for key, vector in rows.vectors.items():
        entity, components, rule = rows.entities.get(key), vector.components, rules.INDEX_FOLLOWS_ROW
        # Vectors of categories, texts, groups and reflections have version 1.
        version, now = vector.version, entity.version if entity is not None else 1
        demand(version == now, rule, f"the version of the vector of {key}", now, version)
        is_missed = entity is not None and entity.vector_missing
        demand(not is_missed, rule, f"{key} has a vector, and is marked as a fact without one")
        is_sound = len(components) == dims and any(components) and COMPONENTS.issuperset(components)
        expected = f"{dims} numbers of one byte, not all 0"
        demand(is_sound, rules.VECTORS_WHOLE, f"the vector of {key}", expected, components)


# Core.


def check_core_rows(rows: StoredRows, core: CoreTier) -> None:
    """Demand that the tier is not newer than its row, and that the row shows current facts."""
    row, guard = rows.core, core.guard_version
    stored = row.version if row else 0
    demand(guard <= stored, rules.CORE_CURRENT, "the version of core", f"{stored} at most", guard)
    if row is None or not isinstance(row.body, Core):
        return
    # If the tier has version 5 and the row 7, the memory will read the newer core; at equal versions both
    # must be equal.
    if guard == stored:
        expected, got = row.body.blocks, core.blocks
        demand(got == expected, rules.CORE_CURRENT, "the blocks of core", expected, got)
    for block in row.body.blocks:
        for entry in block.entries:
            check_shown(block, entry, rows)


def check_recovered(storage: SimStorage, state: State) -> None:
    """Demand that a recovered memory has read the core row, if there is one."""
    row = storage.rows.get(Address(state.scope, "core", "core"))
    is_hidden = is_closed(storage, state.scope)  # a closed agent has no core
    stored, guard = row.version if row and not is_hidden else 0, state.tiers.core.guard_version
    message = "the version of core after recovery"
    demand(guard > 0 or stored == 0, rules.NO_DEFAULTS_OVER_DATA, message, stored, guard)


def check_shown(block: Block, entry: Entry, rows: StoredRows) -> None:
    """Demand that an entry shows a current fact completely."""
    key, entity = entry.entity_id, rows.entities.get(entry.entity_id)
    if entity is None:
        rule = rules.DELETED_STAYS_DELETED if rows.was_deleted(key) else rules.CORE_CURRENT
        raise Broken(rule, f"core shows {key}, which is not there")
    name, text = core_text(entity.name), core_text(entity.content)
    demand(entry.name == name, rules.CORE_CURRENT, f"the name that core shows of {key}", name, entry.name)
    demand(entry.text == text, rules.CORE_CURRENT, f"the text that core shows of {key}", text, entry.text)
    is_right = (block.kind == SELF_BLOCK) == (entity.type == "self")
    message, expected = f"the block of {key} of type {entity.type}", f"{SELF_BLOCK} for self alone"
    demand(is_right, rules.SYSTEM_IS_AUTHORED, message, expected, block.kind)


def check_renderings(core: CoreTier) -> None:
    """Demand that the simple readers of judge/plain read the blocks of core in both forms."""
    expected = tuple(map(expect_block, core.blocks))
    for text, read_back in ((render_xml(core), read_xml), (render_markdown(core), read_markdown)):
        try:
            got = read_back(text)
        except ValueError as error:
            message = f"a rendering of core cannot be read: {error}"
            raise Broken(rules.RENDER_PARSE, message, "", text) from None
        # If the blocks are equal in another order, only the order is wrong.
        is_shuffled = got != expected and sorted(got, key=str) == sorted(expected, key=str)
        rule = rules.RENDER_ORDER if is_shuffled else rules.RENDER_PARSE
        demand(got == expected, rule, "the blocks that a rendering shows", expected, got)


# Sessions.


def check_sessions(storage: SimStorage, state: State) -> None:
    """Demand that every session of this user has the scope of its id and can be loaded."""
    for scope, by_kind in storage.row_ids.items():
        if scope.user == state.scope.user and by_kind.get("session"):
            for row in storage.live_rows(scope):
                if isinstance(row.body, SessionRow):
                    check_session(row.address, row.body, state)


def check_session(address: Address, body: SessionRow, state: State) -> None:
    own, scope = Scope(body.user, body.id), address.scope
    demand(scope == own, rules.SESSION_MEMBERS_ONLY, f"scope of session {body.id}", own, scope)
    members, limit = body.members, limits.SESSION_MEMBER_COUNT_MAX
    expected = tuple(sorted({*members, body.creator}))
    demand(members == expected, rules.SESSION_MEMBERS_ONLY, f"members of {body.id}", expected, members)
    demand(len(members) <= limit, rules.TABLES_BOUNDED, f"members of {body.id}", limit, len(members))
    loaded = session.decode(body.snapshot, body.saved_ms, state.config)
    # A session that was saved under larger limits may not fit now; that is no damage.
    is_sound = not isinstance(loaded, Error) or isinstance(loaded, SnapshotDoesNotFit)
    demand(is_sound, rules.SNAPSHOT_GUARDED, f"what a load of session {body.id} gives", "no error", loaded)

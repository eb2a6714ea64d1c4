"""The rows of a memory's scope among themselves and against its core tier; the sessions of its user.

Law 1. Nothing is changed; what is broken raises Broken with the readable name of the rule.
Law 2. What one commit writes together is consistent in storage at every instant, whatever is in flight.
Law 3. Written a second time, and simpler: ids, texts and chains are worked out from the rows alone.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

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
from umi_sim.judge.invariants.relations import StoredRows, check_relations
from umi_sim.judge.plain.blocks import ShownBlock, ShownEntry, expect_block, read_markdown, read_xml
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand
from umi_sim.record.rules import Rule
from umi_sim.services.storage import SimStorage

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def check_store(storage: SimStorage, state: State, *, has_lied: bool = False) -> None:
    """Check the rows of a memory's scope, its core tier against them, and the sessions of its user.

    `has_lied`: storage has told of a batch that it then lost; what a memory took for saved may be absent.
    """
    rows = StoredRows(state.scope, storage.misread, storage.graves)
    for row in storage.live_rows(state.scope):
        own, key = row.address.id, key_of(row)
        demand(own == key, rules.UNIQUE_ROWS, f"a {row.address.kind} row under another key", key, own)
        check_grant(row.body, state.scope)
        rows.put(row)
    # Its rows go page by page, each with or before what belongs to it, so none of the rules below holds.
    if is_closed(storage, state.scope):
        check_sessions(storage, state)
        return
    check_belonging(rows, state)
    if not has_lied:
        check_access_rows(rows, state)
    for entity in rows.facts.values():
        check_entity(entity, rows)
    check_ended(rows)
    check_relations(rows)
    check_hierarchy(rows, state.config.abouts)
    check_sources(rows)
    check_vectors(rows, state.config.embedding_dims)
    check_core_rows(rows, state.tiers.core)
    check_xml(state.tiers.core)
    check_records(state.tiers.access)
    check_sessions(storage, state)


def check_grant(body: object, scope: Scope) -> None:
    """Demand that the agents that may read an archive are others than its own, in order, and not too many."""
    if isinstance(body, Grant):
        due = tuple(sorted({*body.readers} - {scope.agent}))
        is_fit = body.readers == due and 0 < len(due) <= limits.SESSION_MEMBER_COUNT_MAX
        demand(is_fit, rules.SHARED_AS_GRANTED, "agents that may read an archive", due, body.readers)


def check_records(access: AccessTable) -> None:
    """Demand that no field of an access record is out of its range: a memory has believed a damaged row."""
    for key, record in access.records.items():
        wrong = anything(record)
        demand(not wrong, rules.WHOLE_VALUES, f"a field out of its range, in the record of {key}", "", wrong)


def key_of(row: Row) -> str:
    """Return the id under which a body must lie."""
    match row.body:
        case (
            Entity(id=own_id)
            | Ended(id=own_id)
            | Relation(id=own_id)
            | SessionRow(id=own_id)
            | Category(id=own_id)
        ):
            return own_id
        case Resource(id=own_id) | Membership(id=own_id) | Subcategory(id=own_id) | Reflection(id=own_id):
            return own_id
        case Sheet(id=own_id) | Message(id=own_id) | Archival(id=own_id) | Log(name=own_id):
            return own_id
        case BlockChange(block_id=own_id, version=version):
            return f"{own_id}@{version:012}"
        case Vector(entity_id=entity_id) | AccessRecord(entity_id=entity_id):
            return entity_id
        case Receipt(key=key):
            return key
        case Core() | Epoch() | Head() | Grant():
            return row.address.kind
    return row.address.id


# Entities.


def is_closed(storage: SimStorage, scope: Scope) -> bool:
    """Return True if the agent is closed: then its rows go page by page, and cannot be read."""
    row = storage.rows.get(Address(scope, "epoch", "epoch"))
    return row is not None and isinstance(row.body, Epoch) and row.body.is_closed


KEPT: Final = ("epoch", "log", "receipt")
DELETING: Final = ("forget", "forget_resource", "delete_archival", "purge")  # workflows that delete facts
OTHER_STATE: Final = {"entity": "ended", "ended": "entity"}  # of a fact: the kinds of its two rows


def check_opening(asked: Commit, storage: SimStorage) -> None:
    """Demand that no row is left when the latest life opens a closed agent."""
    for write in asked.writes:
        value = write.body.value if isinstance(write.body, Receipt) else None
        scope = write.address.scope
        # an older life may send the same batch; it expects an older epoch, and storage refuses it
        due = Expect(Address(scope, "epoch", "epoch"), storage.epoch_of(scope))
        if getattr(value, "change", "") == "opened" and is_closed(storage, scope) and due in asked.expects:
            check_purged(storage, scope)


def check_purged(storage: SimStorage, scope: Scope) -> None:
    left = [f"{row.address.kind} {row.address.id}" for row in storage.live_rows(scope)]
    left = [it for it in left if not it.startswith(tuple(f"{kind} " for kind in KEPT))]
    demand(not left, rules.CLOSED_IS_CLOSED, f"rows of {scope.agent}, which was deleted", [], left)


def check_leaving(asked: Commit, workflow: str, storage: SimStorage) -> None:
    """Demand that a batch deletes a fact only if it is asked to, or puts the fact in its other state.

    A batch that forgets a fact deletes the row that it has.
    """
    bodies = {it.address: it.body for it in asked.writes}
    expected = {it.address: it.version for it in asked.expects}
    for where, body in bodies.items():
        if body is not None or where.kind not in OTHER_STATE:
            continue
        other = structs.replace(where, kind=OTHER_STATE[where.kind])
        if workflow not in DELETING:
            message = f"{workflow} deletes {where.id}, and was not asked to forget it"
            is_moved = where not in storage.rows or bodies.get(other) is not None
            demand(is_moved, rules.ARCHIVE_UNTOUCHED, message)
        elif other in storage.rows and expected.get(other) == storage.rows[other].version:
            # It forgets an ended fact, which it has read, and deletes the row of a current one.
            message = f"{workflow} deletes {where.id} as {where.kind}, and leaves it as {other.kind}"
            demand(other in bodies, rules.DELETED_STAYS_DELETED, message)


def check_belonging(rows: StoredRows, state: State) -> None:
    """Demand that a fact leaves with all that belongs to it.

    An access record may ride on a commit that passes a forget; the next scan removes it, so that of a memory
    at rest none is left.
    """
    others = {**rows.categories, **rows.resources, **rows.groups, **rows.reflections}
    # categories, texts, groups and reflections have vectors of their own
    of_entities = [key for key in rows.vectors if key not in others]
    check_owned(rows, "vector", rules.INDEX_FOLLOWS_ROW, of_entities)
    # Else a record of a forgotten fact may be on its way still (docstring), and the next scan removes it.
    if not state.operations and not state.tiers.access.is_due:
        check_owned(rows, "access", rules.ACCESS_TRUTH, rows.access)
    ends = [end[0] for relation in rows.relations for end in (relation.source, relation.target)]
    for key in ends:
        # forgotten, and yet named by a relation: it has come back; never there: the relation leads nowhere
        broken = rules.DELETED_STAYS_DELETED if rows.was_deleted(key) else rules.RELATION_ENDS
        demand(key in rows.facts, broken, f"a relation row of {key}, which is not there")


def check_needed(asked: Commit, storage: SimStorage) -> None:
    """Demand that a commit does not rewrite an entity as it was."""
    expected = {expect.address: expect.version for expect in asked.expects}
    for write in asked.writes:
        row = storage.rows.get(write.address)
        # Only if the batch expects the very row that is there:
        # of one that will conflict nothing can be said.
        if isinstance(write.body, Entity) and row is not None and expected.get(write.address) == row.version:
            message = f"{write.address.id} is written as it was"
            demand(row.body != write.body, rules.ONCE_ONLY, message, row.body, write.body)


def check_access_rows(rows: StoredRows, state: State) -> None:
    """Demand that a memory at rest means to write every access record that storage has otherwise.

    Of two batches on their way the one planned first may land last. A batch whose outcome stayed unknown may
    have written anything of what it holds, or may write it later.
    """
    access = state.tiers.access
    # a plans count 3, b plans count 4, b lands, a lands: storage has 3, and the memory is to write 4
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
    """Demand that the id of a fact follows from what it says and what it is about."""
    names = (entity.name, *entity.others)
    due = tuple(entity_id(rows.scope, name) for name in names) if entity.about else ()
    is_due = entity.about == due and len(due) >= len(entity.others)
    demand(is_due, rules.EQUAL_NAMES_APART, f"{entity.id} is about", due, entity.about)
    demand(entity.follows != entity.id, rules.EQUAL_NAMES_APART, f"{entity.id} follows itself", None, entity)
    own = fact_id(rows.scope, entity.about, entity.content)
    demand(entity.id == own, rules.EQUAL_NAMES_APART, f"the id of {entity.content!r}", own, entity.id)
    has_block = entity.block in ENTRY_KINDS and (entity.block == SELF_BLOCK) == (entity.type == "self")
    demand(
        has_block, rules.SYSTEM_IS_AUTHORED, f"{entity.id} of type {entity.type} is routed", "", entity.block
    )


def check_ended(rows: StoredRows) -> None:
    """Demand that an ended fact is not current, and names a fact that is or was there."""
    for key, it in rows.ended.items():
        message = f"{key} has ended, and is current as well"
        demand(key not in rows.entities, rules.ENDED_AS_NAMED, message)
        is_known = it.by in rows.facts or rows.was_deleted(it.by)
        demand(
            is_known and it.by != key, rules.ENDED_AS_NAMED, f"{key} is ended by what is not there", "", it.by
        )
        demand(it.fact.id == key, rules.ENDED_AS_NAMED, f"{key} holds another fact", key, it.fact.id)


def check_sources(rows: StoredRows) -> None:
    """Demand that a fact that is not direct has a source, and that each source is there."""
    for fact in rows.facts.values():
        # forgetting its last text removes a fact, unless remember told it, too
        has_any = fact.is_direct or bool(fact.sources)
        demand(has_any, rules.FACTS_NAME_RECORDS, f"{fact.id} is there, and nothing tells it")
        removed = [key for key in fact.sources if key not in rows.records and not is_whole(rows, key)]
        message = f"{fact.id} names sources that are not there"
        demand(not removed, rules.FACTS_NAME_RECORDS, message, "", removed)


def is_whole(rows: StoredRows, key: str) -> bool:
    resource = rows.resources.get(key)
    return resource is not None and resource.parent_id is None


COMPONENTS: Final = frozenset(range(-127, 128))


def check_vectors(rows: StoredRows, dims: int) -> None:
    for key, vector in rows.vectors.items():
        entity, components, rule = rows.entities.get(key), vector.components, rules.INDEX_FOLLOWS_ROW
        # vectors of categories, texts, groups and reflections have version 1
        version, now = vector.version, entity.version if entity is not None else 1
        demand(version == now, rule, f"version of the vector of {key}", now, version)
        is_missed = entity is not None and entity.vector_missing
        demand(not is_missed, rule, f"{key} has the vector that it is said to lack")
        is_whole = len(components) == dims and any(components) and COMPONENTS.issuperset(components)
        demand(
            is_whole, rules.VECTORS_WHOLE, f"the vector of {key}", f"{dims} numbers, not all zero", components
        )


# Core.


def check_core_rows(rows: StoredRows, core: CoreTier) -> None:
    """Demand that the tier is a row that was stored, and that the stored one shows current facts."""
    row, guard = rows.core, core.guard_version
    stored = row.version if row else 0
    demand(guard <= stored, rules.CORE_CURRENT, "core is newer than its row", stored, guard)
    if row is None or not isinstance(row.body, Core):
        return
    # core read at version 5, row at 7: a newer core is on its way; at 7 both must be equal
    if guard == stored:
        demand(
            core.blocks == row.body.blocks, rules.CORE_CURRENT, "blocks of core", row.body.blocks, core.blocks
        )
    for block in row.body.blocks:
        for entry in block.entries:
            check_shown(block, entry, rows)


def check_recovered(storage: SimStorage, state: State) -> None:
    """Demand that a recovered memory has read the core row if there is one; nothing is no substitute."""
    row = storage.rows.get(Address(state.scope, "core", "core"))
    is_hidden = is_closed(storage, state.scope)  # a closed agent has no core
    stored = row.version if row and not is_hidden else 0
    guard = state.tiers.core.guard_version
    demand(guard > 0 or stored == 0, rules.NO_DEFAULTS_OVER_DATA, "core after recovery", stored, guard)


def check_shown(block: Block, entry: Entry, rows: StoredRows) -> None:
    """Demand that an entry shows a current fact, and all of it."""
    key, entity = entry.entity_id, rows.entities.get(entry.entity_id)
    if entity is None:
        rule = rules.DELETED_STAYS_DELETED if rows.was_deleted(key) else rules.CORE_CURRENT
        raise Broken(rule, f"core shows {key}, which is not there")
    name, text = core_text(entity.name), core_text(entity.content)
    demand(entry.name == name, rules.CORE_CURRENT, f"name that core shows of {key}", name, entry.name)
    demand(entry.text == text, rules.CORE_CURRENT, f"text that core shows of {key}", text, entry.text)
    is_self = (block.kind == SELF_BLOCK) == (entity.type == "self")
    demand(is_self, rules.SYSTEM_IS_AUTHORED, f"{key} of type {entity.type} is in", "", block.kind)


def check_xml(core: CoreTier) -> None:
    """Demand that a standard parser reads the blocks that core has."""
    from xml.etree import ElementTree  # only where a block was shown: it takes 5 ms to load

    try:
        root = ElementTree.fromstring(render_xml(core))
    except ElementTree.ParseError as error:
        raise Broken(rules.RENDER_STANDARD_XML, f"the XML of core cannot be read: {error}") from None
    expected = [expect_block(block) for block in core.blocks]
    got = [read(element) for element in root]
    demand(got == expected, rules.RENDER_STANDARD_XML, "the blocks of the XML", expected, got)


def read(element: "Element") -> ShownBlock:
    entries = (ShownEntry(it.get("id", ""), it.get("name", ""), it.text or "") for it in element)
    body = (element.text or "").removeprefix("\n")
    text = body.removesuffix("\n") if body else None
    kind, label, importance = (element.get(name, "") for name in ("type", "label", "importance"))
    return ShownBlock(kind, label, importance, text, tuple(entries))


def check_renderings(core: CoreTier) -> None:
    """Demand that a plain reader reads the blocks in both forms."""
    expected = tuple(map(expect_block, core.blocks))
    for text, read_back in ((render_xml(core), read_xml), (render_markdown(core), read_markdown)):
        try:
            got = read_back(text)
        except ValueError as error:
            raise Broken(
                rules.RENDER_PARSE, f"a rendering of core cannot be read: {error}", "", text
            ) from None
        # the same blocks in another order: the order is wrong, not their contents
        is_shuffled = got != expected and sorted(got, key=str) == sorted(expected, key=str)
        rule = rules.RENDER_ORDER if is_shuffled else rules.RENDER_PARSE
        demand(got == expected, rule, "the blocks that a rendering shows", expected, got)


# Sessions.


def check_sessions(storage: SimStorage, state: State) -> None:
    """Demand that every session of this user lies under its own id and can be loaded by its members."""
    for scope, shelf in storage.shelves.items():
        if scope.user == state.scope.user and shelf.get("session"):
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
    # saved under larger limits it may not fit now, which is no damage
    is_sound = not isinstance(loaded, Error) or isinstance(loaded, SnapshotDoesNotFit)
    demand(is_sound, rules.SNAPSHOT_GUARDED, f"session {body.id} cannot be loaded", "", loaded)

"""Revising: what a fact, its memberships and core become when its caller says it otherwise.

Law 1. A fact is what it says: it moves to the id of its new content with all that is known of it. If that
fact is known already, the two are one. Law 2. A membership that is there and is wanted stays as it is.
Law 3. A category is written once, whichever members come and go.
"""

from collections.abc import Mapping

from msgspec import structs

from umi_core.engine.facts import Facts, View
from umi_core.ids import fact_id
from umi_core.language.extraction import Mention
from umi_core.language.words import auto_name
from umi_core.limits import I64_MAX, SOURCE_COUNT_MAX
from umi_core.messages.effects import Write
from umi_core.rows import Address, Category, Entity, Membership, Row
from umi_core.values import Scope
from umi_core.workflows.commits import address
from umi_core.workflows.drafting import Drafted, SharedOptions, create_fact, with_entity
from umi_core.workflows.linking import link_facts, link_id, unlink_members
from umi_core.workflows.telling import link_of

Rows = Mapping[Address, Row]


# The fact.


def new_id(old: Entity, content: str | None, scope: Scope) -> str:
    """Return the id under which the fact will be."""
    return old.id if content is None else fact_id(scope, old.about, content)


def revise_fact(row: Row, content: str | None, rows: Rows, view: View) -> Drafted:
    """Return the draft of the fact as it is, or under another id; `rows` of that id."""
    old = row.body
    assert isinstance(old, Entity)
    key = new_id(old, content, view.scope)
    if content is None:
        return Drafted(old, False, old=old)
    if key == old.id:
        direct = structs.replace(old, is_direct=True)
        return Drafted(direct, direct != old, old=old)
    return move_fact(old, content, key, rows, view)


def move_fact(old: Entity, content: str, key: str, rows: Rows, view: View) -> Drafted:
    """Return the new fact with everything known of the old one; a known fact only gets more sources."""
    row = rows.get(address(view.scope, "entity", key))
    if row is not None and isinstance(row.body, Entity):
        view.marks.append("update_entity: two facts became one")
        fresh = add_sources(structs.replace(row.body, is_direct=True), old.sources, view.now_ms)
        return Drafted(fresh, fresh != row.body, old=row.body)
    view.marks.append("update_entity: a fact moved to another id")
    name = old.name if old.about else auto_name(content)
    mention = Mention(old.type, name, content, old.confidence_ppm, bool(old.about), others=old.others)
    given = SharedOptions(old.event_time_ms, old.importance_ppm, old.metadata, old.source)
    draft = create_fact(mention, given, rows, view)
    entity = structs.replace(
        draft.entity, block=old.block, memory_type=draft.entity.memory_type or old.memory_type, is_direct=True
    )
    # Stated again after it had ended: it has sources of its own, and those of the old fact are added.
    if draft.has_ended:
        return with_entity(draft, add_sources(entity, old.sources, view.now_ms))
    entity = structs.replace(
        entity, sources=old.sources, reinforced_count=old.reinforced_count,
        last_reinforced_ms=old.last_reinforced_ms,
    )  # fmt: skip
    return with_entity(draft, entity)


def add_sources(entity: Entity, sources: tuple[str, ...], now_ms: int) -> Entity:
    """Return the entity reinforced by each source that it lacks, while there is room for them."""
    news = [key for key in sources if key not in entity.sources][: SOURCE_COUNT_MAX - len(entity.sources)]
    if not news:
        return entity
    return structs.replace(
        entity, sources=tuple(sorted((*entity.sources, *news))),
        # A row that was changed from outside may be at the limit; beyond it no storage could give it back.
        reinforced_count=min(entity.reinforced_count + len(news), I64_MAX), last_reinforced_ms=now_ms,
    )  # fmt: skip


# Its memberships.


def members_of(key: str, rows: Rows, view: View) -> dict[str, Row]:
    """Return the memberships of an entity, by the name of their category; `rows`: with the retired ones."""
    scope, retired = view.scope, (rows.get(address(view.scope, "category", it)) for it in view.tiers.retired)
    stored = [row.body for row in retired if row is not None]
    names = (*view.config.abouts, *(it.name for it in stored if isinstance(it, Category)))
    places = {name: address(scope, "membership", link_id(scope, key, name)) for name in names}
    return {name: rows[where] for name, where in places.items() if where in rows}


def list_wanted_categories(
    named: tuple[str, ...] | None, ids: tuple[str, str], rows: Rows, view: View
) -> dict[str, str]:
    """Return the wanted categories, each with its `assigned_by`; `ids`: of the fact before and after."""
    if named is not None:
        return dict.fromkeys(named, "user")
    held = members_of(ids[1], rows, view) | members_of(ids[0], rows, view)
    bodies = {name: row.body for name, row in held.items()}
    return {name: it.assigned_by for name, it in bodies.items() if isinstance(it, Membership)}


def move_memberships(
    draft: Drafted, old_id: str, homes: dict[str, str], facts: Facts, rows: Rows, view: View
) -> tuple[Write, ...]:
    """Return the writes of memberships and categories; `homes`: the wanted categories by name.

    The memberships of an old id are deleted elsewhere, with the fact that ends.
    """
    entity, scope = draft.entity, view.scope
    held, before = members_of(entity.id, rows, view), members_of(old_id, rows, view)
    unwanted = [row for name, row in held.items() if name not in homes]
    lost = [*unwanted, *(before.values() if old_id != entity.id else ())]
    left = unlink_members(lost, categories_of(lost, rows, scope), view)
    # The categories without the old members are the ones that get the new one: one row, both changes.
    between = {
        **rows,
        **{it.address: structs.replace(rows[it.address], body=it.body) for it in left if it.body},
    }
    lacking = {name: by for name, by in homes.items() if draft.is_changed or name not in held}
    added = link_facts(
        (link_of(entity, name, by, facts, view) for name, by in lacking.items()), between, view
    )
    removed = tuple(Write(row.address, None) for row in unwanted)
    writes = {it.address: it for it in (*removed, *left, *added)}
    return tuple(writes.values())


def categories_of(memberships: list[Row], rows: Rows, scope: Scope) -> list[Row]:
    bodies = [row.body for row in memberships]
    keys = dict.fromkeys(it.category_id for it in bodies if isinstance(it, Membership))
    places = [address(scope, "category", key) for key in keys]
    return [rows[where] for where in places if where in rows]

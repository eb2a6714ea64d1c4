"""Revising: what an entity, its memberships and core become when its caller says it otherwise.

Law 1. What has a name stays under its id, and says it as its next version. What has none is what it says: it
moves to the id of its new content with all that is known of it. If that fact is known already, the two are
one. Law 2. A membership that is there and is wanted stays as it is, unless there is a new version to link.
Law 3. A category is written once, whoever comes and whoever goes.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from umi_core.engine.facts import Facts, View
from umi_core.ids import entity_id, note_id
from umi_core.language.evolution import Verdict
from umi_core.language.extraction import Mention
from umi_core.language.words import auto_name
from umi_core.limits import PPM, SOURCE_COUNT_MAX
from umi_core.messages.effects import Write
from umi_core.rows import Address, Entity, Membership, Row
from umi_core.text import norm
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, admit, entry_of, forget
from umi_core.values import CATEGORIES, Scope
from umi_core.workflows.commits import address, scores_of
from umi_core.workflows.drafting import Drafted, SharedOptions, created, evolved, told_plainly
from umi_core.workflows.linking import link_id, linked, unlinked
from umi_core.workflows.placing import shown_again
from umi_core.workflows.telling import link_of, with_entity

BY_CALLER: Final = Verdict("update", PPM, by="user")
UNSAID: Final = "knowledge"  # of which memory type a fact is that was never memorized, as its id has it

Rows = Mapping[Address, Row]


# The entity.


def new_id(old: Entity, content: str | None, scope: Scope) -> str:
    """Where it is from now on."""
    if content is None or old.id == entity_id(scope, old.type, old.name):
        return old.id
    return note_id(scope, content, old.memory_type or UNSAID)


def revised(row: Row, content: str | None, rows: Rows, view: View) -> Drafted:
    """As it is, in its next version, or under another id; `rows` of that id."""
    old = row.body
    assert isinstance(old, Entity)
    key = new_id(old, content, view.scope)
    if content is None:
        return Drafted(old, "unchanged", old.content, False, old=old)
    if key == old.id and norm(content) == norm(old.content):
        same = told_plainly(old, content)
        return Drafted(same, "unchanged", content, same != old, old=old)
    if key != old.id:
        return moved(old, content, key, rows, view)
    fresh = attrs.evolve(old, version=old.version + 1, updated_ms=view.now_ms)
    return evolved(Drafted(fresh, "updated", content, True, old=old), BY_CALLER)


def moved(old: Entity, content: str, key: str, rows: Rows, view: View) -> Drafted:
    """All that is known of it holds of the new one; if that is known already, only who has told it."""
    row = rows.get(address(view.scope, "entity", key))
    if row is not None and isinstance(row.body, Entity):
        view.marks.append("update_entity: two facts became one")
        fresh = also_told(told_plainly(row.body, content), old.sources, view.now_ms)
        return Drafted(fresh, "unchanged", content, fresh != row.body, old=row.body)
    view.marks.append("update_entity: a fact moved to another id")
    mention = Mention(old.type, auto_name(content), content, old.confidence_ppm, named=False)
    given = SharedOptions(old.event_time_ms, old.importance_ppm, old.metadata, old.source)
    draft = created(mention, given, key, rows.get(address(view.scope, "tombstone", key)), view)
    entity = attrs.evolve(
        draft.entity, block=old.block, memory_type=old.memory_type, sources=old.sources,
        reinforced_count=old.reinforced_count, last_reinforced_ms=old.last_reinforced_ms,
    )  # fmt: skip
    return with_entity(draft, entity)


def also_told(entity: Entity, sources: tuple[str, ...], now_ms: int) -> Entity:
    """Reinforced by each source that it lacks, while there is room for them."""
    news = [key for key in sources if key not in entity.sources][: SOURCE_COUNT_MAX - len(entity.sources)]
    if not news:
        return entity
    return attrs.evolve(
        entity, sources=tuple(sorted((*entity.sources, *news))),
        reinforced_count=entity.reinforced_count + len(news), last_reinforced_ms=now_ms,
    )  # fmt: skip


# Its memberships.


def members_of(key: str, rows: Rows, scope: Scope) -> dict[str, Row]:
    """The memberships of an entity, by the name of their category."""
    places = {name: address(scope, "membership", link_id(scope, key, name)) for name in CATEGORIES}
    return {name: rows[where] for name, where in places.items() if where in rows}


def wanted(named: tuple[str, ...] | None, ids: tuple[str, str], rows: Rows, scope: Scope) -> dict[str, str]:
    """The categories that it will be in, with who says so; `ids`: where it was, and where it will be."""
    if named is not None:
        return dict.fromkeys(named, "user")
    held = members_of(ids[1], rows, scope) | members_of(ids[0], rows, scope)
    bodies = {name: row.body for name, row in held.items()}
    return {name: it.assigned_by for name, it in bodies.items() if isinstance(it, Membership)}


def rehomed(
    draft: Drafted, old_id: str, homes: dict[str, str], facts: Facts, rows: Rows, view: View
) -> tuple[Write, ...]:
    """Memberships and categories; `homes`: in which of them it is wanted. Those of an old id go with it."""
    entity, scope = draft.entity, view.scope
    held, before = members_of(entity.id, rows, scope), members_of(old_id, rows, scope)
    unwanted = [row for name, row in held.items() if name not in homes]
    lost = [*unwanted, *(before.values() if old_id != entity.id else ())]
    left = unlinked(lost, categories_of(lost, rows, scope), view)
    between = {**rows, **{it.address: attrs.evolve(rows[it.address], body=it.body) for it in left if it.body}}
    lacking = {name: by for name, by in homes.items() if draft.is_changed or name not in held}
    came = linked((link_of(entity, name, by, facts, view) for name, by in lacking.items()), between, view)
    gone = tuple(Write(row.address, None) for row in unwanted)
    writes = {it.address: it for it in (*gone, *left, *came)}
    return tuple(writes.values())


def categories_of(memberships: list[Row], rows: Rows, scope: Scope) -> list[Row]:
    bodies = [row.body for row in memberships]
    keys = dict.fromkeys(it.category_id for it in bodies if isinstance(it, Membership))
    places = [address(scope, "category", key) for key in keys]
    return [rows[where] for where in places if where in rows]


# Its place in core.


def shown_anew(core: CoreTier, entity: Entity, old_id: str, access: AccessTable, view: View) -> CoreTier:
    """What it says now, where it was; under another id only if there is room without anybody leaving."""
    home, rest = core.home_of(old_id), core if entity.id == old_id else forget(core, old_id)
    after = shown_again((entity,), rest, view.config)
    if home is None or after.home_of(entity.id) is not None:
        return after
    block, entry = home
    scores = scores_of(after, access, view.now_ms)
    return admit(after, entry_of(entity, entry.promoted_ms), block.kind, 0, scores, view.config).core

"""What is planned from rows alone: memberships and categories, pages of a list, and what is due when."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from umi_core.messages.results import Listed
from umi_core.reflection_rows import Reflection
from umi_core.rows import Address, Body, Category, Membership, Resource, Row
from umi_core.values import CATEGORIES, Scope
from umi_sim.judge.plain.ids import category_id, membership_id

Dues = Mapping[str, int]
Linked = tuple[str, int, str, str]  # an entity, its version, a category, and who says that it belongs there
COUNT_MAX: Final = 2**63 - 1
A_DAY_MS: Final = 86_400_000


def linked(
    links: Iterable[Linked], rows: Mapping[Address, Row], scope: Scope, now_ms: int
) -> dict[Address, Body]:
    """What is to be written (H4): a membership that is lacking or older, and the categories of those."""
    written: dict[Address, Body] = {}
    new = dict.fromkeys(CATEGORIES, 0)
    for entity_id, version, name, by in {(it[0], it[2]): it for it in links}.values():
        parent = category_id(scope, name)
        where = Address(scope, "membership", membership_id(scope, entity_id, parent))
        old = rows[where].body if where in rows else None
        if isinstance(old, Membership) and old.entity_version >= version:
            continue
        made = Membership(where.id, entity_id, version, parent, by, now_ms)
        kept = attrs.evolve(old, entity_version=version) if isinstance(old, Membership) else made
        written[where] = attrs.evolve(kept, subcategory_id=None, confidence_ppm=None, keywords_matched=())
        new[name] += where not in rows
        at = Address(scope, "category", parent)
        written[at] = grown(rows.get(at), parent, name, new[name], now_ms)
    return written


def grown(row: Row | None, key: str, name: str, count: int, now_ms: int) -> Category:
    """Its summary and groups know nothing of it yet."""
    body = row.body if row is not None else None
    if not isinstance(body, Category):
        return Category(key, name, CATEGORIES[name], count, now_ms, now_ms)
    count = min(body.member_count + count, COUNT_MAX)
    return attrs.evolve(body, member_count=count, summary_dirty=True, evolved_digest="", updated_ms=now_ms)


def page_of(rows: Sequence[Row], cursor: str | None) -> Listed:
    """Rows that cannot be read are named."""
    whole = tuple(row.body for row in rows if row.body is not None)
    lost = tuple(row.address.id for row in rows if row.body is None)
    return Listed(whole, cursor, lost)  # type: ignore[arg-type]  # of a kind that is listed


# What is due.


def merged(dues: Dues, told: Mapping[str, int | None], *, is_late: bool) -> Dues:
    """By key, in their order. What is told late makes something due, and keeps nothing from it."""
    known = dict(dues)
    for key, at_ms in told.items():
        if is_late and (key in dues or at_ms is None):
            continue
        known.pop(key, None)
        if at_ms is not None:
            known[key] = at_ms
    return known


def division_ms(category: Category, config: Any) -> int | None:
    """When its members are to be divided anew."""
    if not config.auto_evolution or category.evolved_digest != "":
        return None
    if category.member_count < config.cluster_size_min and not category.subcategory_ids:
        return None
    since_ms = category.evolved_ms if category.evolved_ms is not None else category.created_ms
    return since_ms + int(config.evolution_interval_ms)


def upkeep_ms(body: object, config: Any) -> int | None:
    """When what this row says that it lacks is to be done."""
    is_lacking = (
        (isinstance(body, Resource) and body.pending != () and body.parent_id is None)
        or (isinstance(body, Category) and body.summary_dirty and body.member_count > 0)
        or (isinstance(body, Reflection) and (body.degraded or body.pending))
    )
    if not is_lacking or config.upkeep_interval_ms == 0:
        return None
    assert isinstance(body, Resource | Category | Reflection)
    return body.updated_ms + int(config.upkeep_interval_ms)


def again_ms(body: object, now_ms: int, config: Any) -> int:
    """When what is tried now, and fails, is tried again: after as long as it was left, within limits."""
    assert isinstance(body, Resource | Category | Reflection)
    wait_ms = int(config.upkeep_interval_ms)
    if now_ms - body.updated_ms > wait_ms:
        wait_ms = max(wait_ms, min(now_ms - body.updated_ms, A_DAY_MS))
    return now_ms + wait_ms

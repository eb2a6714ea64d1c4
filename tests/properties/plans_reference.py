"""Derive memberships, categories (H4), due times and the facts that end from what is known alone."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from tests.properties.ids_reference import category_id, membership_id
from umi_core import limits
from umi_core.rows import Address, Body, Category, Membership, Reflection, Resource, Row
from umi_core.values import CATEGORIES, Scope

Linked = tuple[str, int, str, str]  # an entity, its version, a category, and what put it there


def linked(
    links: Iterable[Linked], rows: Mapping[Address, Row], scope: Scope, now_ms: int
) -> dict[Address, Body]:
    """Return the memberships that are missing or damaged, and their categories."""
    written: dict[Address, Body] = {}
    added = dict.fromkeys(CATEGORIES, 0)
    for entity_id, version, name, by in {(it[0], it[2]): it for it in links}.values():
        parent = category_id(scope, name)
        where = Address(scope, "membership", membership_id(scope, entity_id, parent))
        if where in rows and isinstance(rows[where].body, Membership):
            continue
        written[where] = Membership(where.id, entity_id, version, parent, by, now_ms)
        added[name] += where not in rows
        at = Address(scope, "category", parent)
        written[at] = grown(rows.get(at), parent, name, added[name], now_ms)
    return written


def grown(row: Row | None, key: str, name: str, count: int, now_ms: int) -> Category:
    """Return the category with so many more members, of which its summary and groups know nothing yet."""
    body = row.body if row is not None else None
    if not isinstance(body, Category):
        return Category(key, name, CATEGORIES[name], count, now_ms, now_ms)
    count = min(body.member_count + count, limits.I64_MAX)
    return structs.replace(body, member_count=count, summary_dirty=True, evolved_digest="", updated_ms=now_ms)


def ended(verdicts: Mapping[tuple[str, str], str]) -> dict[str, tuple[str, str]]:
    """Return by the id of each fact that ends what has ended it, and how: the first verdict counts."""
    found: dict[str, tuple[str, str]] = {}
    for (new, old), kind in verdicts.items():
        if kind in ("update", "contradict") and old not in found:
            found[old] = (new, kind)
    return found


def merged(scheduled: Mapping[str, int], new: Mapping[str, int | None], *, is_late: bool) -> dict[str, int]:
    """Return when each is due. What is learned late makes something due, and cancels nothing."""
    known = dict(scheduled)
    for key, at_ms in new.items():
        if is_late and (key in scheduled or at_ms is None):
            continue
        known.pop(key, None)
        if at_ms is not None:
            known[key] = at_ms
    return known


def upkeep_ms(body: object, config: Any) -> int | None:
    """Return when the work is scheduled that a row says is still to be done."""
    is_incomplete = (
        (isinstance(body, Resource) and body.pending != () and body.parent_id is None)
        or (isinstance(body, Category) and body.summary_dirty and body.member_count > 0)
        or (isinstance(body, Reflection) and (body.degraded or body.pending))
    )
    if not is_incomplete or config.upkeep_interval_ms == 0:
        return None
    assert isinstance(body, Resource | Category | Reflection)
    return body.updated_ms + int(config.upkeep_interval_ms)

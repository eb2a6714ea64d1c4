"""Giving: which lines of an entity a resource or a record told, and what is left of the entity without them.

    plain   a line that somebody told otherwise: by a remember, a create_entity, a resource beyond the limit
    given   a line that only resources told; each of them has it in its `given` row

Law 1. A line leaves with the last resource that told it, and never once somebody has told it otherwise.
Law 2. What is left is what the kept versions come to if that resource had never told anything.
Law 3. Nobody is known to have given the lines of rows that an older version of ours wrote: they stay.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Final

import attrs

from umi_core.engine.facts import View
from umi_core.ids import given_id
from umi_core.language.evolution import BY_TABLE
from umi_core.limits import I64_MAX, SOURCE_COUNT_MAX
from umi_core.messages.effects import Write
from umi_core.rows import Address, Entity, Given, Row, Version
from umi_core.text import norm, unique
from umi_core.values import Scope
from umi_core.workflows.commits import address, put
from umi_core.workflows.drafting import APPENDING, Drafted, extended, lines_of, lost_lines
from umi_core.workflows.relating import with_entity

REPLACED: Final = attrs.evolve(BY_TABLE, kind="update")


# Told by a resource, or by an archival record.


def told_by(source: str, draft: Drafted, now_ms: int) -> Drafted:
    """The entity names whoever tells it, and a known one is reinforced; beyond the limit nobody is named."""
    entity = draft.entity
    if source not in entity.sources and len(entity.sources) < SOURCE_COUNT_MAX:
        entity = attrs.evolve(entity, sources=tuple(sorted((*entity.sources, source))))
        entity = entity if draft.old is None else reinforced(entity, now_ms)
    draft = with_entity(draft, entity)
    return told_by_resource(draft) if source in entity.sources else draft


def reinforced(entity: Entity, now_ms: int) -> Entity:
    count = min(entity.reinforced_count + 1, I64_MAX)
    return attrs.evolve(entity, reinforced_count=count, last_reinforced_ms=now_ms)


def told_by_resource(draft: Drafted) -> Drafted:
    """The draft of what a resource tells: lines that are new are given, the others stay what they were."""
    old, entity = draft.old, draft.entity
    before = lines_of(old.content) if old is not None else {}
    given = unique(old.given) if old is not None else {}
    told = lines_of(draft.mention).keys() - before.keys()
    lines = tuple(line for key, line in lines_of(entity.content).items() if key in told or key in given)
    entity = attrs.evolve(entity, given=lines)
    return attrs.evolve(draft, entity=entity, is_row_changed=entity != old, is_given=True)


def given_address(scope: Scope, source: str, entity_id: str) -> Address:
    return address(scope, "given", given_id(scope, source, entity_id))


def given_rows(
    drafts: Iterable[Drafted], source: str, rows: Mapping[Address, Row], view: View
) -> tuple[Write, ...]:
    """The rows that say what this resource told of them, where that is news."""
    writes = []
    for draft in drafts:
        where = given_address(view.scope, source, draft.entity.id)
        row = rows.get(where)
        old = row.body.content if row is not None and isinstance(row.body, Given) else ""
        content = with_lines(old, draft) if draft.is_given else old
        if content != old:
            writes.append(Write(where, Given(where.id, source, draft.entity.id, content)))
    return tuple(writes)


def with_lines(content: str, draft: Drafted) -> str:
    """Return what a given row says with the lines of this draft.

    Here nothing is lost beyond the limit: a line that the row drops is still in the entity, for good.
    """
    given = unique(draft.entity.given)
    told = [line for key, line in lines_of(draft.mention).items() if key in given]
    if not told:
        return content
    return extended(content, "\n".join(told)).content if content else "\n".join(told)


# Left without a resource.


@attrs.frozen
class Left:
    """An entity without what a resource told; None if nothing is left. `versions`: all that are kept.

    `dropped_count`: lines that nobody took away, and for which the replayed content has no room.
    """

    entity: Entity | None
    versions: tuple[Version, ...]
    dropped_count: int = 0


def left_without(source: str, entity: Entity, rows: Iterable[Row]) -> Left:
    """`rows`: the versions of the entity, and who gave it what."""
    bodies = [row.body for row in rows]
    kept = sorted((it for it in bodies if isinstance(it, Version)), key=lambda it: it.version)
    told = [it for it in bodies if isinstance(it, Given) and it.entity_id == entity.id]
    others = lines_given(it for it in told if it.source != source)
    own = lines_given(it for it in told if it.source == source)
    plain = lines_of(entity.content).keys() - unique(entity.given).keys()
    gone = own.difference(others, plain)
    versions = replayed(kept, gone)
    content = versions[-1].content if versions else entity.content
    if not content:
        return Left(None, versions)
    given = tuple(line for key, line in lines_of(content).items() if key in others and key not in plain)
    count = max(1, entity.reinforced_count - 1)
    last_ms = entity.last_reinforced_ms if count > 1 else None
    sources = tuple(key for key in entity.sources if key != source)
    return Left(
        attrs.evolve(
            entity, content=content, sources=sources, given=given, reinforced_count=count,
            last_reinforced_ms=last_ms,
        ),
        versions,
        len(lost_lines(entity.content, content) - gone),
    )  # fmt: skip


def lines_given(rows: Iterable[Given]) -> frozenset[str]:
    return frozenset(unique(line for it in rows for line in it.content.split("\n")))


def replayed(versions: Collection[Version], gone: Collection[str]) -> tuple[Version, ...]:
    """The versions as they were if nobody had told these lines as a resource."""
    if not versions or not gone:
        return tuple(versions)
    first, *_ = versions
    mention = told_without(first, gone)
    content = mention if first.kind is None else without(first.content, gone)
    after = [attrs.evolve(first, mention=mention, content=content)]
    for _, it in pairwise(versions):
        mention = told_without(it, gone)
        after.append(attrs.evolve(it, mention=mention, content=come_to(after[-1].content, it, mention)))
    return tuple(after)


def come_to(before: str, version: Version, mention: str) -> str:
    if not mention:
        return before
    return extended(before, mention).content if before and version.kind in APPENDING else mention


def told_without(version: Version, gone: Collection[str]) -> str:
    return without(version.mention, gone) if version.is_given else version.mention


def without(text: str, gone: Collection[str]) -> str:
    """Without these lines; nothing, if only blank ones are left."""
    left = "\n".join(line for line in text.split("\n") if norm(line) not in gone)
    return left if left.strip() else ""


def shortened(row: Row, left: Left, now_ms: int) -> Drafted:
    """The draft of what is left: a new version that takes the place of all, if it says something else."""
    old, entity = row.body, left.entity
    assert isinstance(old, Entity)
    assert entity is not None
    if entity.content == old.content:
        return Drafted(entity, "unchanged", entity.content, entity != old, old=old)
    fresh = attrs.evolve(entity, version=old.version + 1, updated_ms=now_ms, contradicts=())
    return Drafted(
        fresh, "updated", fresh.content, True, old=old, verdict=REPLACED, is_given=True,
        dropped_count=left.dropped_count,
    )  # fmt: skip


def rewritten(before: Iterable[Row], left: Left, scope: Scope) -> tuple[Write, ...]:
    """The versions that say less than they did."""
    rows = {row.body.version: row.body for row in before if isinstance(row.body, Version)}
    news = [it for it in left.versions if rows[it.version] != it]
    return tuple(put(scope, "version", it.own_id(), it) for it in news)

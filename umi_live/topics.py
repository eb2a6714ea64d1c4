"""Topics: the categories of a memory and the groups in them, each by its full path.

    skills                      a category
    skills/python_patterns      a group in it

No name of either has a slash.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Final

from umi_core.conditions import Condition
from umi_core.data import Data
from umi_core.ids import category_id, membership_id
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Query
from umi_core.rows import Address, Category, Entity, Membership, Row, Subcategory
from umi_core.text import norm
from umi_core.values import Pairs, Scope

SLASH: Final = "/"
IDS_COUNT_MAX: Final = PAGE_ROW_COUNT_MAX
Reader = Callable[[Query], Awaitable[ReadDone]]


class Topic(Data):
    """A category or a group, and how many facts are in it; `text`: its summary, or what belongs there.

    `is_listed` is False of a category that the settings list no more: no fact comes into it.
    """

    path: str
    fact_count: int
    text: str = ""
    is_listed: bool = True


class TopicReader(Data):
    """Reads what a memory has in its categories. Nothing is written."""

    scope: Scope
    listed: Pairs
    read: Reader

    async def rows(self, kind: str, *where: Condition) -> AsyncIterator[Row]:
        cursor: str | None = None
        while True:
            page = await self.read(ByFilter(self.scope, (kind,), where, PAGE_ROW_COUNT_MAX, cursor))
            for row in page.rows:
                yield row
            if (cursor := page.cursor) is None:
                return

    async def rows_of(self, kind: str, ids: Iterable[str]) -> list[Row]:
        found, wanted = list[Row](), [Address(self.scope, kind, key) for key in ids]
        for at in range(0, len(wanted), IDS_COUNT_MAX):
            found += (await self.read(ByIds(tuple(wanted[at : at + IDS_COUNT_MAX])))).rows
        return found

    async def categories(self) -> dict[str, Category]:
        """Return all that are stored, by id."""
        bodies = [row.body async for row in self.rows("category")]
        return {it.id: it for it in bodies if isinstance(it, Category)}

    async def groups(self) -> dict[str, Subcategory]:
        bodies = [row.body async for row in self.rows("subcategory")]
        return {it.id: it for it in bodies if isinstance(it, Subcategory)}

    async def members(self, *where: Condition) -> list[Membership]:
        bodies = [row.body async for row in self.rows("membership", *where)]
        return [it for it in bodies if isinstance(it, Membership)]

    async def topics(self) -> tuple[Topic, ...]:
        """Return the categories in the order of the settings, then those that they list no more; each with
        its groups, the largest first."""
        stored, groups, counts = await self.categories(), await self.groups(), dict[str, int]()
        for it in await self.members():
            counts[it.subcategory_id or ""] = counts.get(it.subcategory_id or "", 0) + 1
        found = list[Topic]()
        listed = {category_id(self.scope, name): (name, about) for name, about in self.listed}
        for key in dict.fromkeys((*listed, *sorted(stored))):
            category = stored.get(key)
            name, about = listed.get(key, ("", ""))
            if category is None:
                found.append(Topic(name, 0, about))
                continue
            text = category.summary or about or category.description
            found.append(Topic(category.name, category.member_count, text, key in listed))
            known = [groups[it] for it in category.subcategory_ids if it in groups]
            for group in sorted(known, key=lambda it: (-counts.get(it.id, 0), it.name)):
                path = path_of(category, group)
                found.append(Topic(path, counts.get(group.id, 0), " ".join(group.keywords), key in listed))
        return tuple(found)

    async def facts_in(self, path: str) -> tuple[Entity, ...] | None:
        """Return the current facts of a category or a group, the oldest first; None if there is none."""
        name, _, group = path.partition(SLASH)
        key = category_id(self.scope, name)
        where = [Condition("category_id", "eq", key)]
        if group:
            bodies = [row.body async for row in self.rows("subcategory", *where)]
            # In any case and spacing, as names are compared everywhere.
            ids = [it.id for it in bodies if isinstance(it, Subcategory) and norm(it.name) == norm(group)]
            where.append(Condition("subcategory_id", "in", tuple(ids)))
            is_there = bool(ids)
        else:
            is_there = key in {category_id(self.scope, each) for each, _ in self.listed}
            is_there = is_there or bool(await self.rows_of("category", (key,)))
        if not is_there:
            return None
        rows = await self.rows_of("entity", (it.entity_id for it in await self.members(*where)))
        facts = [row.body for row in rows if isinstance(row.body, Entity)]
        return tuple(sorted(facts, key=lambda it: (it.time_ms, it.id)))

    async def paths_of(self, fact_ids: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Return by fact the paths of the groups and categories that it is in."""
        ids, stored = tuple(dict.fromkeys(fact_ids)), await self.categories()
        # Derived, not searched: a membership's id follows
        # from its two ends, so each is read by its address.
        keys = (membership_id(self.scope, fact, category) for fact in ids for category in stored)
        bodies = [row.body for row in await self.rows_of("membership", keys)]
        members = [it for it in bodies if isinstance(it, Membership)]
        wanted = dict.fromkeys(it.subcategory_id for it in members if it.subcategory_id)
        found = [row.body for row in await self.rows_of("subcategory", wanted)]
        groups = {it.id: it for it in found if isinstance(it, Subcategory)}
        paths: dict[str, list[str]] = {key: [] for key in ids}
        for it in members:
            paths[it.entity_id].append(path_of(stored[it.category_id], groups.get(it.subcategory_id or "")))
        return {key: tuple(sorted(each)) for key, each in paths.items()}


def path_of(category: Category, group: Subcategory | None) -> str:
    return category.name if group is None else f"{category.name}{SLASH}{group.name}"

"""Topics: the categories of a memory and the groups in them, each by its full path.

    skills                      a category
    skills/python_patterns      a group in it

Names of categories and groups contain no slash.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from umi_core.conditions import Condition
from umi_core.data import Data
from umi_core.ids import category_id, membership_id
from umi_core.rows import Address, Body, Category, Entity, Membership, Subcategory
from umi_core.text import norm
from umi_core.values import Pairs, Scope
from umi_live.reads import Reader, read_bodies, read_by_ids

SLASH: Final = "/"
B = TypeVar("B", bound=Body)


class Topic(Data):
    """A category or group. `text`: the summary or description of a category, or the keywords of a group.

    `is_listed`: whether the settings list the category; categories that they do not list get no new facts.
    """

    path: str
    fact_count: int
    text: str = ""
    is_listed: bool = True


class TopicReader(Data):
    """Reads the categories and groups of a memory. `listed`: names and descriptions in the settings."""

    scope: Scope
    listed: Pairs
    read: Reader

    async def list_all(self, kind: type[B], *where: Condition) -> list[B]:
        """Return the bodies of the rows of this class that meet the conditions, by id."""
        return [it async for it in read_bodies(self.read, self.scope, (kind,), where)]

    async def list_by_ids(self, kind: type[B], ids: Iterable[str]) -> list[B]:
        rows = await read_by_ids(self.read, [Address(self.scope, kind.row_kind, key) for key in ids])
        return [row.body for row in rows if isinstance(row.body, kind)]

    async def topics(self) -> tuple[Topic, ...]:
        """Return the categories in the order of the settings, then those that the settings no longer list;
        each is followed by its groups, the largest first."""
        stored = {it.id: it for it in await self.list_all(Category)}
        groups = {it.id: it for it in await self.list_all(Subcategory)}
        counts = Counter(it.subcategory_id for it in await self.list_all(Membership))
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
            for group in sorted(known, key=lambda it: (-counts[it.id], it.name)):
                path = path_of(category, group)
                found.append(Topic(path, counts[group.id], " ".join(group.keywords), key in listed))
        return tuple(found)

    async def facts_in(self, path: str) -> tuple[Entity, ...] | None:
        """Return the current facts of a category or group, the oldest first; None if there is no such one."""
        name, _, group = path.partition(SLASH)
        key = category_id(self.scope, name)
        where = [Condition("category_id", "eq", key)]
        if group:
            groups = await self.list_all(Subcategory, *where)
            # Compared without case and spacing, like all names.
            ids = [it.id for it in groups if norm(it.name) == norm(group)]
            where.append(Condition("subcategory_id", "in", tuple(ids)))
            is_there = bool(ids)
        else:
            is_there = key in {category_id(self.scope, each) for each, _ in self.listed}
            is_there = is_there or bool(await self.list_by_ids(Category, (key,)))
        if not is_there:
            return None
        members = await self.list_all(Membership, *where)
        facts = await self.list_by_ids(Entity, (it.entity_id for it in members))
        return tuple(sorted(facts, key=lambda it: (it.time_ms, it.id)))

    async def paths_of(self, fact_ids: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the paths of the groups and categories that contain each fact, by the id of the fact."""
        ids = tuple(dict.fromkeys(fact_ids))
        stored = {it.id: it for it in await self.list_all(Category)}
        # The id of a membership is derived from fact and category, so memberships are read by address.
        keys = (membership_id(self.scope, fact, category) for fact in ids for category in stored)
        members = await self.list_by_ids(Membership, keys)
        wanted = dict.fromkeys(it.subcategory_id for it in members if it.subcategory_id)
        groups = {it.id: it for it in await self.list_by_ids(Subcategory, wanted)}
        paths: dict[str, list[str]] = {key: [] for key in ids}
        for it in members:
            paths[it.entity_id].append(path_of(stored[it.category_id], groups.get(it.subcategory_id or "")))
        return {key: tuple(sorted(each)) for key, each in paths.items()}


def path_of(category: Category, group: Subcategory | None) -> str:
    return category.name if group is None else f"{category.name}{SLASH}{group.name}"

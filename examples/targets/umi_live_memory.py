"""umi_live: umi-sim target umi_live_memory:Live

Run with umi-sim from this repository and apsw, without a model: texts are stored unchanged.
"""

import asyncio
import json

from umi_core.messages.requests import CreateEntity
from umi_core.messages.results import Stored
from umi_live import Closed, NotErased, RequestRefused, delete_user, open_memory
from umi_live.contents import rewrite
from umi_live.store import Store
from umi_sim.targets import MISSING, MemoryStore

UNKNOWN_USER = "unknown"  # in ids that were never given out


class Live(MemoryStore):
    """One memory for each user, opened at its first request. An id contains its user."""

    durable = True
    erases = True
    dedupes = True
    finds_own = False
    delete_reports = "existed"
    refuses = (RequestRefused,)
    busy = (Closed,)

    async def make(self):
        self.path = self.folder / "umi.db"
        self.store = await Store.open(self.path)
        self.memories, self.opening = {}, asyncio.Lock()

    async def close(self):
        for memory in self.memories.values():
            await memory.__aexit__(None, None, None)
        await self.store.leave()

    async def _of(self, user):
        async with self.opening:
            if user not in self.memories:
                self.memories[user] = await open_memory(self.path, user=user, agent="helper").__aenter__()
            return self.memories[user]

    async def add(self, text, user):
        done = await (await self._of(user)).ask(CreateEntity(0, text, "knowledge"), Stored)
        return json.dumps([user, done.value.id])

    async def get(self, id):
        user, own = owner_of(id)
        found = await (await self._of(user)).entity(own)
        return MISSING if found is None else found.content

    async def delete(self, id):
        user, own = owner_of(id)
        return (await (await self._of(user)).forget(own)).value.existed

    async def search(self, query, user, limit):
        hits = await (await self._of(user)).recall(query, limit=limit, resolve=False)
        return [(json.dumps([user, each.id]), each.content) for each in hits]

    async def list(self, user):
        memory = await self._of(user)
        return [(json.dumps([user, each.id]), each.content) async for each in memory.entities()]

    async def render(self, user):
        memory = await self._of(user)
        return "\n".join([await memory.render(), *(topic.text for topic in await memory.topics())])

    async def count(self, user):
        return await (await self._of(user)).count()

    async def delete_all(self, user):
        async with self.opening:
            if user in self.memories:
                await self.memories.pop(user).__aexit__(None, None, None)
            try:
                await delete_user(self.path, user)
            except NotErased:  # deleted already; what is left of it, a rewrite erases
                await rewrite(self.path)


def owner_of(id):
    return json.loads(id) if id.startswith("[") else (UNKNOWN_USER, id)

"""Haystack: umi-sim target haystack_documents:InMemory

Run with haystack-ai 3.4.1. Users are metadata.
"""

import asyncio

from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from umi_sim.targets import MISSING, MemoryStore


class InMemory(MemoryStore):
    finds_own = False  # words that most documents contain are ignored

    def make(self):
        self.store = InMemoryDocumentStore(shared=False)
        self.lock = asyncio.Lock()  # an update reads and writes: no removal may come in between

    def _where(self, field, value):
        return {"field": field, "operator": "==", "value": value}

    async def add(self, id, text, user):
        await self.store.write_documents_async([Document(id=id, content=text, meta={"user": user})])
        return id

    async def get(self, id):
        found = await self.store.filter_documents_async(self._where("id", id))
        return found[0].content if found else MISSING

    async def update(self, id, text):
        async with self.lock:
            [old] = await self.store.filter_documents_async(self._where("id", id))
            new = Document(id=id, content=text, meta=old.meta)
            await self.store.write_documents_async([new], DuplicatePolicy.OVERWRITE)

    async def delete(self, id):
        async with self.lock:
            await self.store.delete_documents_async([id])

    async def list(self, user):
        found = await self.store.filter_documents_async(self._where("meta.user", user))
        return [(each.id, each.content) for each in found]

    async def count(self, user):
        return await self.store.count_documents_by_filter_async(self._where("meta.user", user))

    async def search(self, query, user, limit=10):
        found = await self.store.bm25_retrieval_async(query, self._where("meta.user", user), top_k=limit)
        return [(each.id, each.content) for each in found]

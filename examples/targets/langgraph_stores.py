"""langgraph: umi-sim target langgraph_stores:InMemory   (and :Sqlite, :AsyncSqlite)

Run with langgraph 1.2.22, langgraph-checkpoint 4.3.2, langgraph-checkpoint-sqlite 3.1.2.
"""

import sqlite3

import aiosqlite
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from umi_sim.targets import Kv


class InMemory(Kv):
    delete_reports = "nothing"
    steady_pages = False  # a page is an offset, so it shifts when rows come and go

    def make(self):
        self.store = InMemoryStore()

    def put(self, ns, key, value):
        self.store.put(("space", ns), key, {"value": value})

    def get(self, ns, key):
        found = self.store.get(("space", ns), key)
        return None if found is None else found.value["value"]

    def delete(self, ns, key):
        self.store.delete(("space", ns), key)

    def keys(self, ns):
        return [
            item.key
            for item in self.store.search(("space", ns), limit=1_000)
            if item.namespace == ("space", ns)
        ]

    def items(self, ns):
        found = self.store.search(("space", ns), limit=1_000)
        return [(item.key, item.value["value"]) for item in found if item.namespace == ("space", ns)]

    def scan(self, ns, limit, cursor=None):
        start = cursor or 0
        found = self.store.search(("space", ns), limit=limit, offset=start)
        keys = [item.key for item in found if item.namespace == ("space", ns)]
        return keys, start + limit if len(found) == limit else None


class Sqlite(InMemory):
    durable = True
    fails = ("statement",)  # docs/findings.md: a failing COMMIT

    def make(self):
        self.db = sqlite3.connect(self.folder / "store.db", isolation_level=None, check_same_thread=False)
        self.store = SqliteStore(self.db)
        self.store.setup()

    def close(self):
        self.db.close()


class SqliteTtl(Sqlite):
    tick_ms = 1_000
    sees_expired = "all"  # documented: expired entries stay until they are swept

    def make(self):
        self.db = sqlite3.connect(self.folder / "store.db", isolation_level=None, check_same_thread=False)
        self.store = SqliteStore(self.db, ttl={"refresh_on_read": False})
        self.store.setup()

    def put(self, ns, key, value, ttl=None):
        self.store.put(("space", ns), key, {"value": value}, ttl=None if ttl is None else ttl / 60)

    def sweep(self):
        self.store.sweep_ttl()


class AsyncSqlite(Kv):
    durable = True
    fails = ("statement",)
    delete_reports = "nothing"

    async def make(self):
        self.db = await aiosqlite.connect(self.folder / "store.db", isolation_level=None)
        self.store = AsyncSqliteStore(self.db)
        await self.store.setup()

    async def close(self):
        await self.db.close()

    async def put(self, ns, key, value):
        await self.store.aput(("space", ns), key, {"value": value})

    async def get(self, ns, key):
        found = await self.store.aget(("space", ns), key)
        return None if found is None else found.value["value"]

    async def delete(self, ns, key):
        await self.store.adelete(("space", ns), key)

    async def keys(self, ns):
        found = await self.store.asearch(("space", ns), limit=1_000)
        return [item.key for item in found if item.namespace == ("space", ns)]


class FailingCommit(Sqlite):
    """Shows a failure that docs/findings.md describes."""

    fails = ("commit",)

"""A small key-value store, and bugs that are planted in it one at a time."""

import asyncio
import json
import sqlite3
from typing import Any

from umi_sim.targets import MISSING, Kv, Sessions

Message = dict[str, Any]


class PlainStore(Kv):
    """A store without a bug: asyncio in front, SQLite behind."""

    durable = True
    extra_s: float = 0

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "rows.db")
        with self.db:
            sql = "CREATE TABLE IF NOT EXISTS rows (ns TEXT, key TEXT, value TEXT, until REAL, "
            self.db.execute(f"{sql}PRIMARY KEY (ns, key))")

    def close(self) -> None:
        self.db.close()

    async def put(self, ns: str, key: str, value: object, ttl: float | None = None) -> None:
        until = None if ttl is None else self.now() + ttl + self.extra_s
        await asyncio.sleep(0)
        with self.db:
            self.db.execute("REPLACE INTO rows VALUES (?, ?, ?, ?)", (ns, key, json.dumps(value), until))

    async def get(self, ns: str, key: str) -> object:
        await asyncio.sleep(0)
        return self._read(ns, key)

    def _read(self, ns: str, key: str) -> object:
        sql = "SELECT value FROM rows WHERE ns = ? AND key = ? AND (until IS NULL OR until > ?)"
        found = self.db.execute(sql, (ns, key, self.now())).fetchall()
        return json.loads(found[0][0]) if found else MISSING

    async def keys(self, ns: str) -> list[str]:
        sql = "SELECT key FROM rows WHERE ns = ? AND (until IS NULL OR until > ?)"
        return [key for (key,) in self.db.execute(sql, (ns, self.now()))]

    async def delete(self, ns: str, key: str) -> bool:
        existed = self._read(ns, key) is not MISSING
        with self.db:
            self.db.execute("DELETE FROM rows WHERE ns = ? AND key = ?", (ns, key))
        return existed


class LivesTooLong(PlainStore):
    """Every time to live is one second too long."""

    extra_s = 1


class MatchesPrefix(PlainStore):
    """A get of "a" also finds "ab"."""

    odd = False

    def _read(self, ns: str, key: str) -> object:
        sql = "SELECT value FROM rows WHERE ns = ? AND key LIKE ? AND (until IS NULL OR until > ?) "
        found = self.db.execute(f"{sql}ORDER BY key DESC", (ns, f"{key}%", self.now())).fetchall()
        return json.loads(found[0][0]) if found else MISSING


class LosesUpdates(PlainStore):
    """Increments that run concurrently read the same number."""

    async def incr(self, ns: str, key: str, by: int = 1) -> int:
        found = await self.get(ns, key)
        if found is MISSING:
            found = 0
        if type(found) is not int:
            raise ValueError(f"{key}: is no number")
        await self.put(ns, key, found + by)
        return found + by


class SwallowsEmpty(Kv):
    """An empty text is read back as nothing."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        if value != "":
            self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)


class SwallowsSecond(SwallowsEmpty):
    """A value that replaces another one is read back as nothing."""

    def put(self, key: str, value: object) -> None:
        if self.rows.pop(key, None) is None:
            self.rows[key] = value


class PrefixOfSession(Sessions):
    """A list of the messages of "a" also holds those of "ab"."""

    odd = False

    def make(self) -> None:
        self.rows: list[tuple[str, str, Message]] = []

    async def add(self, user: str, session: str, items: list[Message]) -> None:
        self.rows += [(user, session, item) for item in items]

    async def get(self, user: str, session: str) -> list[Message]:
        await asyncio.sleep(0)
        return [item for of, name, item in self.rows if of == user and name.startswith(session)]

    async def clear(self, user: str, session: str) -> None:
        await asyncio.sleep(0)
        self.rows = [row for row in self.rows if row[:2] != (user, session)]

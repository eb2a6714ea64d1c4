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


class LocksUpdates(LosesUpdates):
    """Increments that run concurrently wait for each other, and for other writes."""

    def make(self) -> None:
        super().make()
        self.lock = asyncio.Lock()

    async def put(self, ns: str, key: str, value: object, ttl: float | None = None) -> None:
        async with self.lock:
            await super().put(ns, key, value, ttl)

    async def delete(self, ns: str, key: str) -> bool:
        async with self.lock:
            return await super().delete(ns, key)

    async def incr(self, ns: str, key: str, by: int = 1) -> int:
        async with self.lock:
            found = self._read(ns, key)
            new = by if found is MISSING else found + by  # type: ignore[operator] # a text is refused
            await super().put(ns, key, new)
            return new


class EndsByTimers(Kv):
    """Entries end by timers of the event loop, without a bug."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        self.timers: dict[str, asyncio.TimerHandle] = {}

    async def put(self, key: str, value: object, ttl: float | None = None) -> None:
        self._cancel(key)
        self.rows[key] = value
        if ttl is not None:
            self.timers[key] = asyncio.get_running_loop().call_later(ttl, self._end, key)

    async def get(self, key: str) -> object:
        await asyncio.sleep(0)
        return self.rows.get(key, MISSING)

    async def keys(self) -> list[str]:
        return list(self.rows)

    async def delete(self, key: str) -> bool:
        self._cancel(key)
        return self.rows.pop(key, MISSING) is not MISSING

    def _end(self, key: str) -> None:
        del self.rows[key]

    def _cancel(self, key: str) -> None:
        if timer := self.timers.pop(key, None):
            timer.cancel()


class LeavesTimers(EndsByTimers):
    """Keeps the timer of an entry that is replaced: it ends the new entry too early."""

    def _end(self, key: str) -> None:
        self.rows.pop(key, None)

    def _cancel(self, key: str) -> None:
        pass


class DeletesPrefix(EndsByTimers):
    """A delete of "a" also deletes "ab"."""

    odd = False

    async def delete(self, key: str) -> bool:
        for each in [each for each in self.rows if each.startswith(key) and each != key]:
            await super().delete(each)
        return await super().delete(key)


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

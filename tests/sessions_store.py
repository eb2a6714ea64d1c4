"""A small made-up session store: asyncio in front, SQLite behind, and three planted bugs."""

import asyncio
import json
import sqlite3
from contextlib import suppress
from typing import Any

from umi_sim.targets import Sessions

Message = dict[str, Any]


class Store(Sessions):
    """Without a bug."""

    durable = True
    values = "text"

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "sessions.db", check_same_thread=False)
        with self.db:
            self.db.execute("CREATE TABLE IF NOT EXISTS m (id INTEGER PRIMARY KEY, session TEXT, body TEXT)")

    def close(self) -> None:
        self.db.close()

    def _query(self, sql: str, *args: object) -> list[Any]:
        with self.db:
            return self.db.execute(sql, args).fetchall()

    async def add(self, session: str, items: list[Message]) -> None:
        await asyncio.to_thread(self._insert, [(session, json.dumps(item)) for item in items])

    def _insert(self, rows: list[tuple[str, str]]) -> None:
        with self.db:
            self.db.executemany("INSERT INTO m (session, body) VALUES (?, ?)", rows)

    async def get(self, session: str, limit: int | None = None) -> list[Message]:
        count = -1 if limit is None else limit
        sql = "SELECT body FROM m WHERE session = ? ORDER BY id DESC LIMIT ?"
        rows = await asyncio.to_thread(self._query, sql, session, count)
        return [json.loads(body) for (body,) in reversed(rows)]

    async def pop(self, session: str) -> Any:
        sql = "DELETE FROM m WHERE id = (SELECT max(id) FROM m WHERE session = ?) RETURNING body"
        rows = await asyncio.to_thread(self._query, sql, session)
        return json.loads(rows[0][0]) if rows else None

    async def clear(self, session: str) -> None:
        await asyncio.to_thread(self._query, "DELETE FROM m WHERE session = ?", session)


class PopReadsThenDeletes(Store):
    async def pop(self, session: str) -> Any:
        sql = "SELECT id, body FROM m WHERE session = ? ORDER BY id DESC LIMIT 1"
        rows = await asyncio.to_thread(self._query, sql, session)
        if not rows:
            return None
        await asyncio.to_thread(self._query, "DELETE FROM m WHERE id = ?", rows[0][0])
        return json.loads(rows[0][1])


class AddsOneByOne(Store):
    def _insert(self, rows: list[tuple[str, str]]) -> None:
        for row in rows:
            with self.db:
                self.db.execute("INSERT INTO m (session, body) VALUES (?, ?)", row)


class ClearSwallows(Store):
    async def clear(self, session: str) -> None:
        with suppress(sqlite3.Error):
            await super().clear(session)


PLANTED = (PopReadsThenDeletes, AddsOneByOne, ClearSwallows)

"""Memories in one table of SQLite: two without a bug, and one with a planted bug."""

import asyncio
import sqlite3
from typing import Any

from umi_sim.targets import MISSING, MemoryStore


class Rows(MemoryStore):
    """Correct: one transaction for each operation, and ids of SQLite, which come again after a delete."""

    durable = True

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "rows.db", check_same_thread=False)
        self._do("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, user TEXT, text TEXT)")

    def close(self) -> None:
        self.db.close()

    def _do(self, sql: str, *args: object) -> sqlite3.Cursor:
        with self.db:
            return self.db.execute(sql, args)

    async def _write(self, sql: str, *args: object) -> sqlite3.Cursor:
        return await asyncio.to_thread(self._do, sql, *args)

    async def _read(self, sql: str, *args: object) -> list[Any]:
        return await asyncio.to_thread(lambda: self.db.execute(sql, args).fetchall())

    async def add(self, text: str, user: str) -> int | None:
        return (await self._write("INSERT INTO rows (user, text) VALUES (?, ?)", user, text)).lastrowid

    async def get(self, id: int) -> object:
        found = await self._read("SELECT text FROM rows WHERE id = ?", id)
        return found[0][0] if found else MISSING

    async def update(self, id: int, text: str) -> bool:
        return (await self._write("UPDATE rows SET text = ? WHERE id = ?", text, id)).rowcount > 0

    async def delete(self, id: int) -> bool:
        return (await self._write("DELETE FROM rows WHERE id = ?", id)).rowcount > 0

    async def search(self, query: str, user: str | None = None, limit: int = 10) -> list[Any]:
        sql = "SELECT id, text FROM rows WHERE user = ? OR ? IS NULL ORDER BY text = ? DESC LIMIT ?"
        return await self._read(sql, user, user, query, limit)

    async def list(self, user: str | None = None) -> list[Any]:
        return await self._read("SELECT id, text FROM rows WHERE user = ? OR ? IS NULL", user, user)

    async def count(self, user: str | None = None) -> int:
        return len(await self.list(user))

    async def delete_all(self, user: str) -> None:
        await self._write("DELETE FROM rows WHERE user = ?", user)


class NeverAgain(Rows):
    """Correct: no id comes twice."""

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "rows.db", check_same_thread=False)
        key = "INTEGER PRIMARY KEY AUTOINCREMENT"
        self._do(f"CREATE TABLE IF NOT EXISTS rows (id {key}, user TEXT, text TEXT)")


class AppliesWhatFails(NeverAgain):
    """An add whose commit fails is stored all the same, by the next write."""

    async def add(self, text: str, user: str) -> int | None:
        def insert() -> int | None:
            cursor = self.db.execute("INSERT INTO rows (user, text) VALUES (?, ?)", (user, text))
            self.db.commit()
            return cursor.lastrowid

        return await asyncio.to_thread(insert)

"""Memories of which each forgets in its own wrong way; `leak` names it, and without one nothing is wrong."""

import asyncio
import json
from typing import Any

from umi_sim.targets import MISSING, MemoryStore


class Forgetting(MemoryStore):
    """Keeps rows in a file, a digest of them for prompts, and an index that tasks write later."""

    durable = True
    erases = True
    eventual = True
    fails = ()
    leak = ""

    def make(self) -> None:
        self.path = self.folder / "rows.json"
        self.rows: dict[str, list[str]] = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.index = dict(self.rows)
        self.seen: dict[str, list[str]] = dict(self.rows)
        self.digest: dict[str, str] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def _save(self) -> None:
        # A text that is deleted shortens the file, and what lies behind its end is still on the disk.
        old = self.path.read_bytes() if self.path.exists() and self.leak == "bytes" else b""
        data = json.dumps(self.rows).encode()
        new = self.folder / "rows.new"
        new.write_bytes(data + b" " * 4 + old[len(data) + 4 :] if old else data)
        new.replace(self.path)

    async def add(self, id: str, text: str, user: str) -> str:
        self.rows[id] = [text, user]
        if self.leak == "second ingest":
            self.rows |= {it: row for it, row in self.seen.items() if row[1] == user and it not in self.rows}
        self.seen[id] = [text, user]
        self._save()
        self.digest.pop(user, None)
        self.tasks.append(asyncio.create_task(self._write_index(id, [text, user])))
        return id

    async def _write_index(self, id: str, row: list[str]) -> None:
        await asyncio.sleep(0.05)
        if self.leak == "late write" or self.rows.get(id) == row:
            self.index[id] = row

    async def get(self, id: str) -> object:
        return self.rows[id][0] if id in self.rows else MISSING

    async def delete(self, id: str) -> bool:
        is_there = self.rows.pop(id, None) is not None
        self.index.pop(id, None)
        if self.leak != "restart":
            self._save()
        if self.leak != "derived text":
            self.digest.clear()
        return is_there

    async def list(self, user: str) -> list[Any]:
        return [[id, row[0]] for id, row in self.index.items() if row[1] == user]

    async def render(self, user: str) -> str:
        if user not in self.digest:
            self.digest[user] = "; ".join(row[0] for row in self.rows.values() if row[1] == user)
        return self.digest[user]

    async def drain(self) -> None:
        await asyncio.gather(*self.tasks)


class DerivedText(Forgetting):
    leak = "derived text"


class LateWrite(Forgetting):
    leak = "late write"


class Bytes(Forgetting):
    leak = "bytes"


class Restart(Forgetting):
    leak = "restart"
    erases = False


class SecondIngest(Forgetting):
    leak = "second ingest"

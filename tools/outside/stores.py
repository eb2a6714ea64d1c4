"""Small stores that answer concurrent requests from one row of SQLite, with one planted mistake or none."""

import asyncio
import copy
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

from umi_sim.targets import Kv, Sessions
from umi_sim.targets.adapter import Adapter

Rows = dict[str, Any]

BUGS: Final = {
    "": "no mistake",
    "races": "an operation reads, waits, and writes over what others wrote meanwhile",
    "stale": "one read in two shows the state before the last write",
    "forgets": "one write in four is acknowledged and not stored",
    "dirty": "reads show what is written before it is committed",
    "halves": "a batch is committed one part after the other",
    "applies": "an operation fails after its commit",
    "late": "an operation that is cancelled happens up to two seconds later",
    "lies": "one answer in six is another one",
    "refuses": "one operation in three that may be refused is, for no reason",
    "lasting": "a time to live is one millisecond too long",
}


class Stale(Exception):
    """A session has changed since its version was read."""


class OneRow(Adapter):
    """Keep all data of a store as one JSON text, read and written as a whole."""

    durable = True
    odd = False
    batch_atomic = True
    _bug: ClassVar[str] = ""

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "row.db", isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, data TEXT)")
        self.lock = asyncio.Lock()
        self.shown: Rows | None = None  # what reads show, if not what is stored
        self.before: Rows = self._read()

    def close(self) -> None:
        self.db.close()

    def _read(self) -> Rows:
        found = self.db.execute("SELECT data FROM row").fetchone()
        return json.loads(found[0]) if found else {}

    def _write(self, rows: Rows) -> None:
        self.db.execute("BEGIN")
        try:
            self.db.execute("REPLACE INTO row VALUES (1, ?)", (json.dumps(rows),))
            self.db.execute("COMMIT")
        except sqlite3.OperationalError:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until no other operation is between its read and its write."""
        if self._bug == "races":
            yield
        else:
            async with self.lock:
                yield

    async def _look(self, answer: Callable[[Rows], Any]) -> Any:
        """Return the answer of an operation that only reads."""
        await asyncio.sleep(0)
        rows = self._read()
        if self._bug == "dirty" and self.shown is not None:
            rows = self.shown
        if self._bug == "stale" and random.random() < 1 / 2:
            rows = self.before
        return self._tell(answer(rows))

    async def _change(self, *parts: Callable[[Rows], Any]) -> Any:
        """Return the answer of an operation that writes; of a batch, `parts` are written together."""
        await asyncio.sleep(0)
        answer = None
        async with self._turn():
            for step in parts if self._bug == "halves" else [parts]:
                rows = self._read()
                before = copy.deepcopy(rows)
                for part in step if isinstance(step, tuple) else [step]:
                    answer = part(rows)
                await self._store(rows)
                self.before = before
        return self._tell(answer)

    async def _store(self, rows: Rows) -> None:
        self.shown = rows
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._bug == "late":
                asyncio.get_running_loop().call_later(random.choice((0.5, 2)), self._write, rows)
            raise
        if self._bug == "forgets" and random.random() < 1 / 4:
            return
        self._write(rows)
        self.shown = None
        if self._bug == "applies":
            self.db.execute("SELECT 1").fetchone()

    def _tell(self, answer: Any) -> Any:
        if self._bug != "lies" or random.random() >= 1 / 6:
            return answer
        match answer:
            case bool():
                return not answer
            case int():
                return answer + random.choice((-1, 1))
            case list():
                return answer[1:]
            case dict():
                return dict(list(answer.items())[1:])
        return None

    def _refuse(self) -> None:
        if self._bug == "refuses" and random.random() < 1 / 3:
            raise ValueError("refused for no reason")


class OneRowKv(OneRow, Kv):
    """A store of the contract kv."""

    boundary = "expired"
    delete_reports = "existed"
    incr_makes = incr_keeps_ttl = True

    def _alive(self, rows: Rows) -> Rows:
        now_ms = self.clock.now_ms - (self._bug == "lasting")
        return {key: entry for key, entry in rows.items() if entry[1] is None or now_ms < entry[1]}

    def _put(self, rows: Rows, key: str, value: object, ttl_ms: int | None) -> None:
        rows[key] = [value, None if ttl_ms is None else self.clock.now_ms + ttl_ms]

    async def put(self, key: str, value: object, ttl_ms: int | None = None) -> None:
        await self._change(lambda rows: self._put(rows, key, value, ttl_ms))

    async def put_many(self, pairs: dict[str, object], ttl_ms: int | None = None) -> None:
        def part(key: str) -> Callable[[Rows], None]:
            return lambda rows: self._put(rows, key, pairs[key], ttl_ms)

        await self._change(*map(part, pairs))

    async def add(self, key: str, value: object, ttl_ms: int | None = None) -> bool:
        def add(rows: Rows) -> bool:
            if key in self._alive(rows):
                return False
            self._put(rows, key, value, ttl_ms)
            return True

        return bool(await self._change(add))

    async def incr(self, key: str, by: int = 1) -> int:
        self._refuse()

        def add(rows: Rows) -> int:
            old, end_ms = self._alive(rows).get(key, [0, None])
            if type(old) is not int:
                raise ValueError(f"{old!r} is no number")
            rows[key] = [old + by, end_ms]
            return old + by

        return int(await self._change(add))

    async def touch(self, key: str, ttl_ms: int | None = None) -> bool:
        def touch(rows: Rows) -> bool:
            found = self._alive(rows).get(key)
            if found:
                self._put(rows, key, found[0], ttl_ms)
            return bool(found)

        return bool(await self._change(touch))

    async def delete(self, key: str) -> bool:
        def delete(rows: Rows) -> bool:
            existed = key in self._alive(rows)
            rows.pop(key, None)
            return existed

        return bool(await self._change(delete))

    async def pop(self, key: str) -> object:
        def pop(rows: Rows) -> object:
            found = self._alive(rows).get(key, [None])
            rows.pop(key, None)
            return found[0]

        return await self._change(pop)

    async def clear(self) -> None:
        await self._change(lambda rows: rows.clear())

    async def get(self, key: str) -> object:
        return await self._look(lambda rows: self._alive(rows).get(key, [None])[0])

    async def has(self, key: str) -> bool:
        return bool(await self._look(lambda rows: key in self._alive(rows)))

    async def get_many(self, keys: list[str]) -> dict[str, object]:
        def some(rows: Rows) -> dict[str, object]:
            return {key: entry[0] for key, entry in self._alive(rows).items() if key in keys}

        return dict(await self._look(some))

    async def keys(self) -> list[str]:
        return list(await self._look(lambda rows: sorted(self._alive(rows))))

    async def count(self) -> int:
        return int(await self._look(lambda rows: len(self._alive(rows))))


class OneRowSessions(OneRow, Sessions):
    """A store of the contract sessions."""

    limit_zero = limit_negative = "nothing"
    stale = (Stale,)

    async def add(self, session: str, items: list[object]) -> None:
        await self._change(*(lambda rows, item=item: self._of(rows, session).append(item) for item in items))

    async def replace(self, session: str, items: list[object]) -> None:
        def put(rows: Rows) -> None:
            rows[session] = []

        parts = (lambda rows, item=item: self._of(rows, session).append(item) for item in items)
        await self._change(put, *parts)

    async def get(self, session: str, limit: int | None = None) -> list[object]:
        def some(rows: Rows) -> list[object]:
            own = self._of(rows, session)
            return own if limit is None else own[-limit:] if limit > 0 else []

        return list(await self._look(some))

    async def pop(self, session: str) -> object:
        return await self._change(lambda rows: self._of(rows, session).pop() if rows.get(session) else None)

    async def count(self, session: str) -> int:
        return int(await self._look(lambda rows: len(rows.get(session, []))))

    async def clear(self, session: str) -> None:
        await self._change(lambda rows: self._of(rows, session).clear())

    async def delete(self, session: str) -> None:
        await self._change(lambda rows: rows.pop(session, None))

    async def version(self, session: str) -> str:
        return str(await self._look(lambda rows: json.dumps(rows.get(session, []))))

    async def append(self, session: str, items: list[object], version: str) -> None:
        self._refuse()

        def add(rows: Rows) -> None:
            if json.dumps(rows.get(session, [])) != version:
                raise Stale(session)
            self._of(rows, session).extend(items)

        await self._change(add)

    def _of(self, rows: Rows, session: str) -> list[object]:
        found: list[object] = rows.setdefault(session, [])
        return found


def store_with(base: type[OneRow], bug: str) -> type[OneRow]:
    """Return the store with this mistake."""
    return type(f"{base.__name__}_{bug or 'correct'}", (base,), {"_bug": bug})

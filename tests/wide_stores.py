"""Stores that keep, or break, the promises beyond the first ones: pages, replaced histories, sessions and
entries with a time to live, filters. The last argument of each says which mistake it makes."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from umi_sim.targets import MISSING, Kv, MemoryStore, Sessions

PAGE = 100


class Paged(Kv):
    """Its listing goes on from page to page; with `breaks` it knows the first one alone."""

    breaks = False

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    def keys(self, prefix: str = "", limit: int | None = None) -> list[str]:
        found = [key for key in sorted(self.rows) if key.startswith(prefix)]
        return found[: min(PAGE, len(found) if limit is None else limit) if self.breaks else limit]


class FirstPage(Paged):
    breaks = True

    def put_many(self, pairs: dict[str, object]) -> None:
        self.rows.update(pairs)


class FirstPageOfSingle(Paged):
    breaks = True


class FirstPageOfTexts(MemoryStore):
    def make(self) -> None:
        self.rows: dict[str, str] = {}

    def add(self, id: str, text: str) -> str:
        self.rows[id] = text
        return id

    def list(self) -> list[tuple[str, str]]:
        return list(self.rows.items())[:PAGE]


class FirstPageOfSessions(Sessions):
    def make(self) -> None:
        self.rows: dict[str, list[object]] = {}

    def add(self, session: str, items: list[object]) -> None:
        self.rows.setdefault(session, []).extend(items)

    def get(self, session: str) -> list[object]:
        return self.rows.get(session, [])

    def sessions(self) -> list[str]:
        return sorted(self.rows)[:PAGE]


class Counting(Kv):
    """Keeps a count beside its rows; with `breaks` it counts a key that is put again."""

    breaks = False

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        self.row_count = 0

    def put(self, key: str, value: object) -> None:
        self.row_count += self.breaks or key not in self.rows
        self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    def check(self) -> None:
        assert self.row_count == len(self.rows), f"counted {self.row_count} of {len(self.rows)}"


class CountsTwice(Counting):
    breaks = True


class Limited(Kv):
    """Takes at most two entries; with `breaks` it counts them before it waits."""

    breaks, busy, fails = False, (BlockingIOError,), ()

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        self.lock = asyncio.Lock()

    async def put(self, key: str, value: object) -> None:
        async with contextlib.nullcontext() if self.breaks else self.lock:
            if len({*self.rows, key}) > 2:
                raise BlockingIOError("full")
            await asyncio.sleep(0)
            self.rows[key] = value

    async def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    async def delete(self, key: str) -> bool:
        return self.rows.pop(key, MISSING) is not MISSING

    def check(self) -> None:
        assert len(self.rows) <= 2, f"{len(self.rows)} entries"


class CountsBeforeItWaits(Limited):
    breaks = True


class AllowsOneCall(Limited):
    """Breaks its invariant as soon as a second call begins before the first one has ended."""

    def make(self) -> None:
        super().make()
        self.running, self.most = 0, 0

    async def put(self, key: str, value: object) -> None:
        with self.count_call():
            await super().put(key, value)

    async def get(self, key: str) -> object:
        with self.count_call():
            await asyncio.sleep(0)
            return await super().get(key)

    @contextlib.contextmanager
    def count_call(self) -> Iterator[None]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            yield
        finally:
            self.running -= 1

    def check(self) -> None:
        assert self.most <= 1, f"{self.most} calls"


class CountsWithEachPut(Limited):
    """Breaks its invariant in any order of two writes."""

    def check(self) -> None:
        assert len(self.rows) < 2, "two entries"


class Replacing(Sessions):
    """Replaces a history in one transaction; with `breaks` in two."""

    breaks = False

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "rows.db", isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, session TEXT, item TEXT)")

    def close(self) -> None:
        self.db.close()

    def _write(self, session: str, items: list[Any]) -> None:
        rows = [(session, json.dumps(item)) for item in items]
        self.db.executemany("INSERT INTO rows (session, item) VALUES (?, ?)", rows)

    def _transaction(self, *steps: Any) -> None:
        self.db.execute("BEGIN")
        try:
            for step in steps:
                step()
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    def add(self, session: str, items: list[Any]) -> None:
        self._transaction(lambda: self._write(session, items))

    def get(self, session: str) -> list[Any]:
        rows = self.db.execute("SELECT item FROM rows WHERE session = ? ORDER BY id", (session,))
        return [json.loads(item) for (item,) in rows]

    def replace(self, session: str, items: list[Any]) -> None:
        steps = (
            lambda: self.db.execute("DELETE FROM rows WHERE session = ?", (session,)),
            lambda: self._write(session, items),
        )
        if self.breaks:
            for step in steps:
                self._transaction(step)
        else:
            self._transaction(*steps)


class LosesWhileReplacing(Replacing):
    breaks = True


class Ending(Sessions):
    """Sessions end 5 s after the last write to them; with `breaks` 1 ms later."""

    default_ttl_ms = 5_000
    extra_s = 0.0

    def make(self) -> None:
        self.rows: dict[str, tuple[list[Any], float]] = {}

    def add(self, session: str, items: list[Any]) -> None:
        self.rows[session] = [*self.get(session), *items], self.now() + 5 + self.extra_s

    def get(self, session: str) -> list[Any]:
        messages, until = self.rows.get(session, ([], 0.0))
        return messages if self.now() < until else []


class EndsLate(Ending):
    extra_s = 1.0


class Filtering(MemoryStore):
    """Filters by metadata and ends entries; with `breaks` it cuts a search before it filters."""

    fills_limit = True
    breaks = False

    def make(self) -> None:
        self.rows: dict[int, tuple[str, str, dict[str, object], float]] = {}
        self.count_made = 0

    def add(self, text: str, user: str, metadata: dict[str, object], ttl: float | None = None) -> int:
        self.count_made += 1
        until = float("inf") if ttl is None else self.now() + ttl
        self.rows[self.count_made] = text, user, metadata, until
        return self.count_made

    def get(self, id: int) -> object:
        text, *_, until = self.rows.get(id, ("", 0.0))
        return text if self.now() < until else MISSING

    def search(self, query: str, user: str | None = None, limit: int = 10, where: Any = None) -> list[Any]:
        found = [(id, row) for id, row in self.rows.items() if user in (None, row[1]) and self.now() < row[3]]
        found.sort(key=lambda pair: pair[1][0] != query)
        fitting = [(id, row) for id, row in found if (where or {}).items() <= row[2].items()]
        if self.breaks:
            fitting = [pair for pair in found[:limit] if pair in fitting]
        return [[id, row[0]] for id, row in fitting[:limit]]


class FiltersTheCut(Filtering):
    breaks = True


class Erasing(Kv):
    """Overwrites what it deletes; with `breaks` the bytes stay in free pages."""

    durable = True
    erases = True
    breaks = False

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "rows.db")
        self.db.execute(f"PRAGMA secure_delete = {'OFF' if self.breaks else 'ON'}")
        self.db.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, value TEXT)")

    def close(self) -> None:
        self.db.close()

    def put(self, key: str, value: object) -> None:
        with self.db:
            self.db.execute("REPLACE INTO rows VALUES (?, ?)", (key, json.dumps(value)))

    def get(self, key: str) -> object:
        row = self.db.execute("SELECT value FROM rows WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else MISSING

    def delete(self, key: str) -> bool:
        with self.db:
            return self.db.execute("DELETE FROM rows WHERE key = ?", (key,)).rowcount > 0


class LeavesBytes(Erasing):
    breaks = True


class LeavesWhatIsConcurrent(Erasing):
    """Copies rows that it deletes while another delete goes on."""

    def make(self) -> None:
        super().make()
        self.deleting = 0

    async def delete(self, key: str) -> None:  # type: ignore[override]
        self.deleting += 1
        try:
            await asyncio.sleep(0)
            if self.deleting > 1:
                (self.folder / "trash").write_text(json.dumps(self.get(key), default=repr))
            super().delete(key)
        finally:
            self.deleting -= 1


class LeavesLog(Erasing):
    """Its log keeps what its pages have lost."""

    def make(self) -> None:
        super().make()
        self.db.execute("PRAGMA journal_mode = WAL")


class EndsAtOnce(Kv):
    """Takes a time to live of zero for no time at all; `takes_zero_for`: what another store does."""

    ttl_zero = "expired"
    takes_zero_for: float | None = 0

    def make(self) -> None:
        self.rows: dict[str, tuple[object, float | None]] = {}

    def put(self, key: str, value: object, ttl: float | None = None) -> None:
        ttl = self.takes_zero_for if ttl == 0 else ttl
        self.rows[key] = value, None if ttl is None else self.now() + ttl

    def get(self, key: str) -> object:
        value, until = self.rows.get(key, (MISSING, None))
        return MISSING if until is not None and self.now() >= until else value


class NeverEnds(EndsAtOnce):
    ttl_zero = "forever"
    takes_zero_for = None


class TakesZeroForNone(EndsAtOnce):
    takes_zero_for = None


class TakesNoneForZero(EndsAtOnce):
    ttl_zero = "forever"


class SaysNothingOfZero(TakesZeroForNone):
    ttl_zero = "unasked"


class LimitsFirst(MemoryStore):
    """Takes the first rows of a user, `more` times as many as are asked for, and then filters them."""

    more: int | None = 1

    def make(self) -> None:
        self.rows: dict[str, tuple[str, str, dict[str, object]]] = {}

    def add(self, id: str, text: str, user: str, metadata: dict[str, object]) -> str:
        self.rows[id] = text, user, metadata
        return id

    def search(self, query: str, user: str, limit: int = 10, where: Any = None) -> list[Any]:
        rows = [(id, row) for id, row in self.rows.items() if row[1] == user]
        if self.more is not None:
            rows = self._rank(rows, query)[: self.more * limit]
        found = [(id, row) for id, row in rows if self._fits(row[2], where or {})]
        return [(id, row[0]) for id, row in self._rank(found, query)][:limit]

    def _rank(self, rows: list[Any], query: str) -> list[Any]:
        return sorted(rows, key=lambda pair: pair[1][0] != query)

    def _fits(self, metadata: dict[str, object], where: dict[str, object]) -> bool:
        return where.items() <= metadata.items()


class LimitsLast(LimitsFirst):
    more = None


class LimitsFirstInOrder(LimitsFirst):
    """Takes the first rows in the order in which they came."""

    def search(self, query: str, user: str, limit: int = 10, where: Any = None) -> list[Any]:
        rows = [(id, row) for id, row in self.rows.items() if row[1] == user][: (self.more or 1) * limit]
        return [(id, row[0]) for id, row in rows if self._fits(row[2], where or {}) and row[0] == query]


class LimitsFirstOfMany(LimitsFirstInOrder):
    more = 10


class LimitsFirstOfManyRanked(LimitsFirst):
    more = 4


class FitsByAnyKey(LimitsLast):
    def _fits(self, metadata: dict[str, object], where: dict[str, object]) -> bool:
        return not where or bool(where.items() & metadata.items())


class KeepsOneKey(LimitsLast):
    def add(self, id: str, text: str, user: str, metadata: dict[str, object]) -> str:
        return super().add(id, text, user, dict([*metadata.items()][:1]))

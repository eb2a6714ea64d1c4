"""Counters whose jobs read, change and write: four that lose updates, and correct twins of them."""

import asyncio
import json
import queue
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from umi_sim.targets import MISSING, Kv


class Counts(Kv):
    """Numbers that one job reads, changes and writes."""

    incr_makes = True
    boundary = "alive"

    def make(self) -> None:
        self.rows: dict[str, int] = {}

    async def _job(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.to_thread(function, *args)

    async def incr(self, key: str, by: int) -> int:
        return int(await self._job(self._incr, key, by))

    async def get(self, key: str) -> Any:
        return await self._job(self._get, key)

    def _incr(self, key: str, by: int) -> int:
        rows = self._load()
        rows[key] = rows.get(key, 0) + by
        self._save(rows)
        return rows[key]

    def _get(self, key: str) -> Any:
        return self._load().get(key, MISSING)

    def _load(self) -> dict[str, int]:
        return dict(self.rows)

    def _save(self, rows: dict[str, int]) -> None:
        self.rows = rows


class InDict(Counts):
    line_by_line = True


class InFile(Counts):
    durable = True

    def make(self) -> None:
        self.path = self.folder / "rows.json"

    def _load(self) -> dict[str, int]:
        rows: dict[str, int] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return rows

    def _save(self, rows: dict[str, int]) -> None:
        new = self.folder / f"rows.{uuid.uuid4()}"
        new.write_text(json.dumps(rows))
        new.replace(self.path)


class InSqlite(Counts):
    """A connection for each job, as the default is: it waits for others."""

    durable = True
    begin = "BEGIN"

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.folder / "rows.db", isolation_level=None)

    def make(self) -> None:
        self._ask(self._fill)

    def _fill(self, db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, n INTEGER)")

    def _ask(self, function: Callable[..., Any], *args: Any) -> Any:
        db = self._open()
        try:
            return function(db, *args)
        finally:
            db.close()

    def _incr(self, key: str, by: int) -> int:
        return int(self._ask(self._change, key, by))

    def _get(self, key: str) -> Any:
        n = self._ask(self._read, key)
        return MISSING if n is None else n

    def _read(self, db: sqlite3.Connection, key: str) -> int | None:
        found = db.execute("SELECT n FROM rows WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def _change(self, db: sqlite3.Connection, key: str, by: int) -> int:
        n = (self._read(db, key) or 0) + by
        db.execute("REPLACE INTO rows VALUES (?, ?)", (key, n))
        return n


class WithLock(Counts):
    """A mixin: one job at a time reads and writes."""

    lock: Any

    def make(self) -> None:
        self.lock = self._make_lock()
        super().make()

    def _make_lock(self) -> Any:
        return threading.Lock()

    def _incr(self, key: str, by: int) -> int:
        with self.lock:
            return super()._incr(key, by)

    def _get(self, key: str) -> Any:
        with self.lock:
            return super()._get(key)


class LockedDict(WithLock, InDict):
    pass


class LockedFile(WithLock, InFile):
    def _make_lock(self) -> Any:
        return threading.RLock()


class LockedSqlite(WithLock, InSqlite):
    def _make_lock(self) -> Any:
        return threading.Semaphore(1)


class Ticket:
    """A lock made of a queue: whatever takes the only ticket goes on."""

    def __init__(self) -> None:
        self.tickets: queue.Queue[int] = queue.Queue()
        self.tickets.put(1)

    def __enter__(self) -> None:
        self.tickets.get(timeout=5)

    def __exit__(self, *_: object) -> None:
        self.tickets.put(1)


class SimpleTicket(Ticket):
    def __init__(self) -> None:
        self.tickets: queue.SimpleQueue[int] = queue.SimpleQueue()  # type: ignore[assignment] # same methods
        self.tickets.put(1)


class QueuedFile(WithLock, InFile):
    def _make_lock(self) -> Any:
        return Ticket()


class AtImport:
    lock, rlock, semaphore = threading.Lock(), threading.RLock(), threading.Semaphore(1)
    condition, locked_condition = threading.Condition(), threading.Condition(threading.Lock())
    queue, simple_queue = Ticket(), SimpleTicket()


class LockedAtImport(WithLock, Counts):
    """A job can pause between reading and writing, and the lock was made at import."""

    kind = "lock"

    def _make_lock(self) -> Any:
        return getattr(AtImport, self.kind)

    def _save(self, rows: dict[str, int]) -> None:
        time.sleep(0)
        super()._save(rows)


class Submits(InDict):
    """Jobs are given to an executor without the help of the loop."""

    def make(self) -> None:
        super().make()
        self.pool = ThreadPoolExecutor(max_workers=2)

    def close(self) -> None:
        self.pool.shutdown()

    async def _job(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.wrap_future(self.pool.submit(function, *args))


class SubmitsLocked(WithLock, Submits):
    pass


class Immediate(InSqlite):
    def _change(self, db: sqlite3.Connection, key: str, by: int) -> int:
        db.execute("BEGIN IMMEDIATE")
        try:
            n = super()._change(db, key, by)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return n


class ImmediateInWal(Immediate):
    def _fill(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        super()._fill(db)


class Atomic(InSqlite):
    def _change(self, db: sqlite3.Connection, key: str, by: int) -> int:
        sql = "INSERT INTO rows VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n RETURNING n"
        return int(db.execute(sql, (key, by)).fetchone()[0])


class OneThread(InSqlite):
    def make(self) -> None:
        self.pool = ThreadPoolExecutor(max_workers=1)
        super().make()

    async def _job(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *args)


LOSING = (InDict, InFile, InSqlite, Submits)
CORRECT = (
    LockedDict, LockedFile, LockedSqlite, QueuedFile, Immediate, ImmediateInWal, Atomic, OneThread,
    SubmitsLocked,
)  # fmt: skip

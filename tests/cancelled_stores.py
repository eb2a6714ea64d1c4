"""Stores whose requests wait for one another, or write to two places: each has a correct twin."""

import asyncio
from typing import Any

from umi_sim.targets import MISSING, Kv, Sessions


class SingleFlight(Kv):
    """Concurrent readers of a key share one read; with `breaks` they share its cancellation."""

    breaks = False

    def make(self) -> None:
        self.db: dict[str, object] = self.outside
        self.reads: dict[str, asyncio.Task[object]] = {}

    async def put(self, key: str, value: object) -> None:
        await asyncio.sleep(0)
        self.db[key] = value
        self.reads.pop(key, None)

    async def get(self, key: str) -> object:
        if key not in self.reads:
            self.reads[key] = asyncio.create_task(self._read(key))
        task = self.reads[key]
        return await (task if self.breaks else asyncio.shield(task))

    async def _read(self, key: str) -> object:
        try:
            await asyncio.sleep(0.01)
            return self.db.get(key, MISSING)
        finally:
            if self.reads.get(key) is asyncio.current_task():
                del self.reads[key]


class SharesItsTask(SingleFlight):
    breaks = True


class SharesItsFuture(SingleFlight):
    """The first reader reads, and the others wait for the future that it sets."""

    async def get(self, key: str) -> object:
        if key in self.futures:
            return await self.futures[key]
        future = self.futures[key] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.sleep(0.01)
            future.set_result(self.db.get(key, MISSING))
        except BaseException as error:
            future.cancel() if isinstance(error, asyncio.CancelledError) else future.set_exception(error)
            raise
        finally:
            del self.futures[key]
        return future.result()

    def make(self) -> None:
        super().make()
        self.futures: dict[str, asyncio.Future[object]] = {}


class KeepsCancelled(SingleFlight):
    """A read that was cancelled is never begun again."""

    async def get(self, key: str) -> object:
        if key not in self.reads:
            self.reads[key] = asyncio.create_task(self._read_for_ever(key))
        return await self.reads[key]

    async def _read_for_ever(self, key: str) -> object:
        await asyncio.sleep(0.01)
        return self.db.get(key, MISSING)


class SharesAWrite(Sessions):
    """Writers of one session wait for one flush; with `breaks` the first one to be cancelled cancels it."""

    breaks = False

    def make(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.waiting: list[tuple[str, list[Any]]] = []
        self.flushing: asyncio.Task[None] | None = None

    async def add(self, session: str, items: list[Any]) -> None:
        self.waiting.append((session, items))
        if self.flushing is None or self.flushing.done():
            self.flushing = asyncio.create_task(self._flush())
        task = self.flushing
        await (task if self.breaks else asyncio.shield(task))

    async def _flush(self) -> None:
        await asyncio.sleep(0)
        for session, items in self.waiting:
            self.rows.setdefault(session, []).extend(items)
        self.waiting.clear()

    async def get(self, session: str) -> list[Any]:
        return list(self.rows.get(session, []))


class SharesAFlush(SharesAWrite):
    breaks = True


class WriteThrough(Kv):
    """A cache before a database: a write removes the entry from the cache and writes to the database."""

    durable = True

    def make(self) -> None:
        self.db: dict[str, object] = self.outside
        self.cache: dict[str, object] = {}

    async def put(self, key: str, value: object) -> None:
        await asyncio.sleep(0)
        self.cache.pop(key, None)
        self.db[key] = value

    async def get(self, key: str) -> object:
        if key not in self.cache and key in self.db:
            self.cache[key] = self.db[key]
        return self.cache.get(key, MISSING)

    async def keys(self) -> list[str]:
        return list(self.db)

    async def items(self) -> list[Any]:
        return [[key, value] for key, value in self.db.items()]

    async def delete(self, key: str) -> bool:
        await asyncio.sleep(0)
        self.cache.pop(key, None)
        return self.db.pop(key, self) is not self


class CacheAfterDatabase(WriteThrough):
    """Writes to the database, waits, and then to the cache, one request after the other."""

    def make(self) -> None:
        super().make()
        self.lock = asyncio.Lock()

    async def put(self, key: str, value: object) -> None:
        async with self.lock:
            self.db[key] = value
            await asyncio.sleep(0)
            self.cache[key] = value

    async def delete(self, key: str) -> bool:
        async with self.lock:
            return await super().delete(key)


class DatabaseAfterCache(CacheAfterDatabase):
    """Writes to the cache, waits, and then to the database."""

    async def put(self, key: str, value: object) -> None:
        async with self.lock:
            self.cache[key] = value
            await asyncio.sleep(0)
            self.db[key] = value


class IndexAfterValue(Kv):
    """Writes a value, and then the list of all keys; each request to the store below takes a while."""

    def make(self) -> None:
        self.values_of: dict[str, object] = {}
        self.index: list[str] = []
        self.lock = asyncio.Lock()

    async def put(self, key: str, value: object) -> None:
        async with self.lock:
            await self._ask()
            self.values_of[key] = value
            await self._ask()
            if key not in self.index:
                self.index.append(key)

    async def get(self, key: str) -> object:
        return self.values_of.get(key, MISSING)

    async def keys(self) -> list[str]:
        return list(self.index)

    async def _ask(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0.001)

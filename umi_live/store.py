"""Store: one file for all memories of a process, worked on by one thread, so that no loop waits for it."""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import apsw

from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import Commit, Read
from umi_live.claims import Claims
from umi_live.schema import MEMORY
from umi_live.sqlite import SqliteStorage, failure

T = TypeVar("T")


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Store:
    """Raises StoreError for a file that cannot be used. `close` as often as it was opened."""

    known: ClassVar[dict[str, "Store"]] = {}

    def __init__(self, path: str) -> None:
        self.path = path
        self.storage = SqliteStorage(path)
        self.claims = Claims(None if path == MEMORY else path)
        self.thread = ThreadPoolExecutor(1, "umi-live-store")
        self.user_count = 1

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> "Store":
        """The store of this file, the same one for all who name it. In memory each is a new one."""
        if path == MEMORY:
            return cls(MEMORY)
        real = os.path.realpath(path)
        if real in cls.known:
            cls.known[real].user_count += 1
        else:
            cls.known[real] = cls(real)
        return cls.known[real]

    async def perform(self, effect: Read | Commit) -> Committed | ReadDone | EffectFailed:
        return await self.call(self._performed, effect)

    def _performed(self, effect: Read | Commit) -> Committed | ReadDone | EffectFailed:
        try:
            if isinstance(effect, Commit):
                return self.storage.commit(effect, wall_ms())
            return self.storage.read(effect.request_id, effect.query)
        except apsw.Error as error:
            return EffectFailed(effect.request_id, failure(error, isinstance(effect, Commit)))

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """In the thread of the store; whoever is cancelled leaves it to end there."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *args)

    def close(self) -> None:
        self.user_count -= 1
        if self.user_count:
            return
        self.known.pop(self.path, None)
        self.thread.shutdown()
        self.storage.close()
        self.claims.close()

"""Store: one file for all memories of a process, worked on by one thread, so that no loop waits for it."""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar, Final, TypeVar

import apsw

from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import Commit, Query, Read
from umi_live.claims import Claims
from umi_live.errors import StoreError
from umi_live.schema import MEMORY, sentence
from umi_live.sqlite import SqliteStorage, failure

GROUP_COUNT_MAX: Final = 64  # commits of one wait
T = TypeVar("T")
StoreAnswer = Committed | ReadDone | EffectFailed


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Store:
    """Raises StoreError for a file that cannot be used. `close` as often as it was opened."""

    known: ClassVar[dict[str, "Store"]] = {}
    turn: ClassVar[threading.Lock] = threading.Lock()  # memories of several threads may open one file

    def __init__(self, path: str) -> None:
        self.path = path
        self.storage = SqliteStorage(path)
        try:
            self.claims = Claims(None if path == MEMORY else path)
        except StoreError:
            self.storage.close()
            raise
        self.thread = ThreadPoolExecutor(1, "umi-live-store")
        self.commits: deque[tuple[Commit, Future[StoreAnswer]]] = deque()
        self.user_count = 1

    @classmethod
    def opened(cls, path: str | os.PathLike[str]) -> "Store":
        """The store of this file, the same one for all who name it. In memory each is a new one."""
        if path == MEMORY:
            return cls(MEMORY)
        real = os.path.realpath(path)
        with cls.turn:
            if real in cls.known:
                cls.known[real].user_count += 1
            else:
                cls.known[real] = cls(real)
            return cls.known[real]

    async def perform(self, effect: Read | Commit) -> StoreAnswer:
        if isinstance(effect, Read):
            return await self.call(self._read, effect)
        answer: Future[StoreAnswer] = Future()
        self.commits.append((effect, answer))
        self.thread.submit(self._flush)
        return await asyncio.wrap_future(answer)

    def _read(self, read: Read) -> StoreAnswer:
        try:
            return self.storage.read(read.request_id, read.query)
        except apsw.Error as error:
            return EffectFailed(read.request_id, failure(error, commit=False))

    def _flush(self) -> None:
        """All commits that have come meanwhile, in one wait for the disk."""
        taken = [self.commits.popleft() for _ in range(min(len(self.commits), GROUP_COUNT_MAX))]
        group = [(commit, answer) for commit, answer in taken if answer.set_running_or_notify_cancel()]
        if not group:
            return
        try:
            answers = self._committed([commit for commit, _ in group])
        except BaseException as error:
            for _, waiting in group:
                waiting.set_exception(error)
            return
        for (_, waiting), answer in zip(group, answers, strict=True):
            waiting.set_result(answer)

    def _committed(self, commits: Sequence[Commit]) -> Sequence[StoreAnswer]:
        """If they fail together, each is tried alone: one that is too large does not fail the others."""
        try:
            return self.storage.commit_all(commits, wall_ms())
        except apsw.Error as error:
            if len(commits) > 1:
                return [answer for commit in commits for answer in self._committed([commit])]
            return [EffectFailed(commits[0].request_id, failure(error, commit=True))]

    async def read(self, query: Query) -> ReadDone:
        """Raises StoreError if the file cannot be read."""
        answer = await self.perform(Read(query))
        if not isinstance(answer, ReadDone):
            raise StoreError(f"{self.path}: cannot be read; does the disk fail, or does somebody hold it?")
        return answer

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """In the thread of the store; whoever is cancelled leaves it to end there. Raises StoreError."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, function, *args)
        except apsw.Error as error:
            raise StoreError(f"{self.path}: {sentence(error)}") from error

    def close(self) -> None:
        with self.turn:
            self.user_count -= 1
            if self.user_count:
                return
            self.known.pop(self.path, None)
            self.thread.shutdown()
            self.storage.close()
            self.claims.close()

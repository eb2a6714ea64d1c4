"""Store: one file for all memories of a process, worked on by one thread, so that no loop waits for it."""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
Tell = Callable[[StoreAnswer | BaseException], None]

Path = str | os.PathLike[str]


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
        self.commits: deque[tuple[Commit, Tell]] = deque()
        self.user_count = 1

    @classmethod
    def opened(cls, path: Path) -> "Store":
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

    @classmethod
    async def open(cls, path: Path) -> "Store":
        """`opened`, without a loop that waits for it; whoever is cancelled leaves nothing open."""
        opening = asyncio.ensure_future(asyncio.to_thread(cls.opened, path))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(close_again)
            raise

    async def leave(self) -> None:
        """`close`, without a loop that waits for what is still to be written."""
        await asyncio.shield(asyncio.to_thread(self.close))

    def start(self, effect: Read | Commit, tell: Tell) -> None:
        """`tell` is called in the thread of the store, with the answer or with what was raised."""
        if isinstance(effect, Read):
            self.thread.submit(self._tell_read, effect, tell)
        else:
            self.commits.append((effect, tell))
            self.thread.submit(self._flush)

    def _tell_read(self, read: Read, tell: Tell) -> None:
        try:
            answer = self._read(read)
        except BaseException as error:
            tell(error)
        else:
            tell(answer)

    def _read(self, read: Read) -> StoreAnswer:
        try:
            return self.storage.read(read.request_id, read.query)
        except apsw.Error as error:
            return EffectFailed(read.request_id, failure(error, commit=False))

    def _flush(self) -> None:
        """All commits that have come meanwhile, in one wait for the disk."""
        group = [self.commits.popleft() for _ in range(min(len(self.commits), GROUP_COUNT_MAX))]
        if not group:
            return
        answers: Sequence[StoreAnswer | BaseException]
        try:
            answers = self._committed([commit for commit, _ in group])
        except BaseException as error:
            answers = [error] * len(group)
        for (_, tell), answer in zip(group, answers, strict=True):
            tell(answer)

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
        answer = await self.call(self._read, Read(query))
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


def close_again(opening: "asyncio.Future[Store]") -> None:
    """What was opened for somebody who has gone."""
    if opening.exception() is None:
        opening.result().close()

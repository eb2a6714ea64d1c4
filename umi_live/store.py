"""Store: one open database, shared by all memories of a process. Only its thread uses the database, so that
no event loop blocks on it."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import ByVector, Commit, Query, Read
from umi_core.values import Scope
from umi_live.anchor import SealOptions
from umi_live.claims import Claims
from umi_live.errors import FileTampered, StoreError, needs_extra
from umi_live.files import is_address, show_path
from umi_live.schema import MEMORY, OpenOptions
from umi_live.sqlite import SqliteStorage
from umi_live.storage import SqlStorage

UNSEALED: Final = "only a file can be sealed"
GROUP_COUNT_MAX: Final = 64  # commits in one transaction
T = TypeVar("T")
StoreAnswer = Committed | ReadDone | EffectFailed
Receive = Callable[[StoreAnswer | BaseException], None]

Path = str | os.PathLike[str]


def open_storage(
    path: str, *, read_only: bool = False, seal: SealOptions | None = None, is_trusted: bool = False
) -> SqlStorage:
    """Return the storage of a file or of an address. Raises StoreError. `is_trusted`: as in OpenOptions."""
    if not is_address(path):
        return SqliteStorage(path, OpenOptions(is_read_only=read_only, seal=seal, is_trusted=is_trusted))
    if seal is not None:
        raise StoreError(f"{show_path(path)}: {UNSEALED}")
    try:
        from umi_live.postgres import PostgresStorage  # imported here, as its driver is optional
    except ModuleNotFoundError as error:
        raise StoreError(needs_extra(error)) from None
    return PostgresStorage(path, read_only)


class Store:
    """An open database. Close it once for each time it was opened. Raises StoreError if it is unusable."""

    known: ClassVar[dict[str, "Store"]] = {}
    inherited: ClassVar[list[dict[str, "Store"]]] = []
    lock: ClassVar[threading.Lock] = threading.Lock()  # memories in several threads may open one file

    def __init__(self, path: str, *, read_only: bool = False, seal: SealOptions | None = None) -> None:
        self.path, self.is_read_only, self.seal = path, read_only, seal
        self.failed: Exception | None = None  # the last error of the database
        self.storage = open_storage(path, read_only=read_only, seal=seal)
        try:
            self.claims = Claims(None if read_only else self.storage.open_locks())
        except StoreError:
            self.storage.close()
            raise
        self.thread = ThreadPoolExecutor(1, "umi-live-store")
        self.commits: deque[tuple[Commit, Receive]] = deque()
        self.user_count = 1

    @classmethod
    def forget_inherited(cls) -> None:
        """Let a forked process open its own stores, since it does not have the threads of its parent.

        The inherited stores stay referenced, as closing their databases would harm the parent that uses them.
        """
        cls.inherited.append(cls.known)
        cls.known, cls.lock = {}, threading.Lock()

    @classmethod
    def open_now(cls, path: Path, read_only: bool = False, seal: SealOptions | None = None) -> "Store":
        """Return the store of this file, the same one for every caller. Raises StoreError.

        A database in memory and a read-only store are new for each call.
        """
        # Resolved, so that two names of one file do not lead to two stores.
        real = os.fspath(path) if path == MEMORY or is_address(path) else os.path.realpath(path)
        if path == MEMORY or read_only:
            return cls(real, read_only=read_only, seal=seal)
        with cls.lock:
            if real not in cls.known:
                cls.known[real] = cls(real, seal=seal)
            elif cls.known[real].seal != seal:
                raise StoreError(f"{real}: is open in this process with another key or anchor, or without")
            else:
                cls.known[real].user_count += 1
            return cls.known[real]

    @classmethod
    async def open(cls, path: Path, *, read_only: bool = False, seal: SealOptions | None = None) -> "Store":
        """Call `open_now` in another thread. If this call is cancelled, the store is closed again."""
        opening = asyncio.ensure_future(asyncio.to_thread(cls.open_now, path, read_only, seal))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(close_again)
            raise

    async def claim(self, scope: Scope) -> None:
        """Take a claim. If this call is cancelled, the claim is given up. Raises ScopeTaken, StoreError."""
        loop = asyncio.get_running_loop()
        taking = asyncio.ensure_future(self.call(self.claims.take, scope, loop))
        try:
            if await asyncio.shield(taking):
                with self.lock:
                    self.user_count -= 1  # for the earlier memory with this claim, which cannot be closed
        except asyncio.CancelledError:
            taking.add_done_callback(partial(self._give_up_again, scope))
            raise

    async def give_up(self, scope: Scope) -> None:
        """Give up a claim, even if this call is cancelled."""
        await asyncio.shield(asyncio.ensure_future(self.call(self.claims.give_up, scope)))

    def _give_up_again(self, scope: Scope, taking: "asyncio.Future[bool]") -> None:
        if not taking.cancelled() and taking.exception() is None:
            self.thread.submit(self.claims.give_up, scope)

    async def leave(self) -> None:
        """Call `close` in another thread, as it may have to wait for writes."""
        await asyncio.shield(asyncio.to_thread(self.close))

    def start(self, effect: Read | Commit, receive: Receive, embedder: str | None = None) -> None:
        """Start a read or a commit. `receive` gets its answer or exception, in the thread of the store.

        `embedder`: for a search by vector in another scope; its vectors must be of the embedder of this name.
        """
        if isinstance(effect, Read):
            self.thread.submit(self._answer_read, effect, receive, embedder)
        else:
            self.commits.append((effect, receive))
            # Each commit submits a flush. The first one commits all that wait; the others find nothing to do.
            self.thread.submit(self._flush)

    def _answer_read(self, read: Read, receive: Receive, embedder: str | None) -> None:
        try:
            answer = self._read(read, embedder)
        except BaseException as error:
            receive(error)
        else:
            receive(answer)

    def _read(self, read: Read, embedder: str | None = None) -> StoreAnswer:
        query = read.query
        try:
            # Vectors of two embedders cannot be compared; the recall then uses words only, and is degraded.
            if embedder and isinstance(query, ByVector):
                made_by = self.storage.embedder_of(query.scope)
                if made_by not in (None, embedder):
                    return EffectFailed(read.request_id, "refused")
            return self.storage.read(read.request_id, query)
        except self.storage.errors as error:
            self.failed = error
            return EffectFailed(read.request_id, self.storage.failure(error, commit=False))

    def _flush(self) -> None:
        """Do the waiting commits in one transaction, and hand each receiver its answer."""
        group = [self.commits.popleft() for _ in range(min(len(self.commits), GROUP_COUNT_MAX))]
        if not group:
            return
        answers: Sequence[StoreAnswer | BaseException]
        try:
            answers = self._commit_all([commit for commit, _ in group])
        except BaseException as error:
            answers = [error] * len(group)
        for (_, receive), answer in zip(group, answers, strict=True):
            receive(answer)

    def _commit_all(self, commits: Sequence[Commit]) -> Sequence[StoreAnswer | FileTampered]:
        """Commit together; if that fails, each alone: a commit that is too large must not fail the others."""
        if self.is_read_only:
            return [answer_claim(commit) for commit in commits]
        errors: tuple[type[Exception], ...] = (*self.storage.errors, FileTampered)
        try:
            return self.storage.commit_all(commits, self.storage.clock_ms())
        except errors as error:
            if len(commits) > 1:
                return [answer for commit in commits for answer in self._commit_all([commit])]
            if isinstance(error, FileTampered):
                return [error]
            self.failed = error
            return [EffectFailed(commits[0].request_id, self.storage.failure(error, commit=True))]

    async def read(self, query: Query) -> ReadDone:
        """Return the rows of a query. Raises StoreError if the database cannot be read."""
        answer = await self.call(self._read, Read(query))
        if not isinstance(answer, ReadDone):
            raise self.failure()
        return answer

    def failure(self) -> StoreError:
        """Return the last error of the database as an exception for the user."""
        message = "cannot be used; look at the disk, then try again"
        return self._explain(self.failed) if self.failed else StoreError(f"{self.storage.path}: {message}")

    def _explain(self, error: Exception) -> StoreError:
        return StoreError(f"{self.storage.path}: {self.storage.describe_error(error)}")

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function in the thread of the store. Raises StoreError.

        The function runs to its end even if this call is cancelled.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, function, *args)
        except self.storage.errors as error:
            raise self._explain(error) from error

    def close(self) -> None:
        with self.lock:
            self.user_count -= 1
            if self.user_count:
                return
            if self.known.get(self.path) is self:
                del self.known[self.path]
            self.thread.shutdown()
            self.storage.close()
            self.claims.close()


os.register_at_fork(after_in_child=Store.forget_inherited)


def answer_claim(commit: Commit) -> StoreAnswer:
    """Return the answer to a commit on a read-only file.

    A new incarnation begins with a commit that claims an epoch: it succeeds here, and writes nothing. Any
    other commit is refused, as on a write-protected disk.
    """
    epochs = [it for it in commit.expects if it.address.kind == "epoch"]
    if any(write.address.kind != "epoch" for write in commit.writes) or not epochs:
        return EffectFailed(commit.request_id, "refused")
    return Committed(commit.request_id, tuple((it.address, it.version + 1) for it in epochs))


def close_again(opening: "asyncio.Future[Store]") -> None:
    """Close a store that was opened for a cancelled caller."""
    if not opening.cancelled() and opening.exception() is None:  # cancelled if the event loop was closed
        opening.result().close()

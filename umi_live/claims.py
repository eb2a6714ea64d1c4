"""Claims: one live memory for each scope of a database, in this process and in all others that may open it.

Law 1. A second one is refused, not deposed in silence. Law 2. A process that ends, however it ends, leaves
no claim behind: the system holds it, or the server of the database.

A claim is a lock on a number that the scope says: on that byte of a file beside the database, or on that
advisory lock of PostgreSQL.
"""

import fcntl
import os
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Final, Protocol

from umi_core.values import Scope
from umi_live.errors import ScopeTaken, StoreError
from umi_live.files import create_beside

SUFFIX: Final = "-live"


class Locks(Protocol):
    """Locks by number, which no other process can hold at the same time."""

    def acquire(self, number: int) -> bool: ...
    def release(self, number: int) -> None: ...
    def close(self) -> None: ...


class FileLocks:
    """Locks on the bytes of a file beside the database."""

    def __init__(self, path: str) -> None:
        """Raises StoreError."""
        try:
            self.file = create_beside(path + SUFFIX, path)
        except OSError as error:
            raise StoreError(f"{path}{SUFFIX}: cannot be opened for claims: {error.strerror}") from None

    def acquire(self, number: int) -> bool:
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except OSError:
            return False
        return True

    def release(self, number: int) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, number)

    def close(self) -> None:
        os.close(self.file)


class Claims:
    """The claims of this process on one database."""

    def __init__(self, locks: Locks | None) -> None:
        """No locks: a database in memory, which no other process sees."""
        self.holders: dict[int, AbstractEventLoop] = {}  # the loop in which each memory works
        self.locks = locks

    def take(self, scope: Scope, loop: AbstractEventLoop) -> bool:
        """Take a claim for a memory in a loop. Raises ScopeTaken.

        Returns whether another memory of this process had it, whose loop has ended without closing it: that
        one does nothing any more, and cannot be closed.
        """
        number = place(scope)
        # asked here: neither a lock of POSIX nor one of PostgreSQL is in the way of its own process
        holder = self.holders.get(number)
        if holder is not None and not holder.is_closed():
            raise ScopeTaken(describe_holder(scope, "this process"))
        if holder is None and self.locks is not None and not self.locks.acquire(number):
            raise ScopeTaken(describe_holder(scope, "another process"))
        self.holders[number] = loop
        return holder is not None

    def give_up(self, scope: Scope) -> None:
        number = place(scope)
        del self.holders[number]
        if self.locks is not None:
            self.locks.release(number)

    def close(self) -> None:
        if self.locks is not None:
            self.locks.close()


@contextmanager
def hold_unclaimed(path: str, message: str) -> Iterator[None]:
    """While no memory of this file is open in another process, and none can be.

    Raises StoreError with `message` if one is.

    Not for a process that has claims on the file itself: it would lose them.
    """
    if not os.path.exists(path + SUFFIX):
        yield
        return
    file = os.open(path + SUFFIX, os.O_RDWR | os.O_CLOEXEC)
    try:
        # all bytes, so that a claim on any one of them is in the way. Locks of POSIX belong to a process and
        # its file: closing `file` also drops the locks that this process holds by other descriptors
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise StoreError(f"{path}: {message}") from None
    try:
        yield
    finally:
        os.close(file)


def place(scope: Scope) -> int:
    # a lock may lie far behind the end of a file, so there are 2**56 bytes to choose from; a sign bit would
    # make the eighth byte of a digest useless. repr keeps ("a", "bc") apart from ("ab", "c")
    digest = blake2b(repr((scope.user, scope.agent)).encode(), digest_size=7).digest()
    return int.from_bytes(digest)


def describe_holder(scope: Scope, who: str) -> str:
    memory = f"the memory of user {scope.user!r} and agent {scope.agent!r}"
    return f"{memory} is open in {who}; close it there first"

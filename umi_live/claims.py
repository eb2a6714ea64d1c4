"""Claims: at most one writing memory per scope of a database, over all processes that can open it.

Law 1. Opening a second memory of a scope raises an error, and does not disturb the first one.
Law 2. A process that ends in any way, even killed, leaves no claim behind: the operating system or the
database server holds the lock for it.

A claim is a lock on a number derived from the scope: a lock on that byte of a file beside the database, or
the PostgreSQL advisory lock of that number.
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
    """Exclusive locks between processes, each identified by a number."""

    def acquire(self, number: int) -> bool: ...  # False if another process holds the lock
    def release(self, number: int) -> None: ...
    def close(self) -> None: ...


class FileLocks:
    """Locks on the bytes of a file beside the database."""

    def __init__(self, path: str) -> None:
        """Open the lock file of the database at this path. Raises StoreError."""
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
        """Begin without claims; `locks` is None for a database that no other process can open."""
        self.holders: dict[int, AbstractEventLoop] = {}  # the event loop of the memory that has each claim
        self.locks = locks

    def take(self, scope: Scope, loop: AbstractEventLoop) -> bool:
        """Take a claim for a memory that runs in this event loop. Raises ScopeTaken.

        Returns True if the claim was taken over from a memory of this process whose event loop was closed
        before the memory was: that memory can neither run nor be closed any more.
        """
        number = derive_number(scope)
        # POSIX and PostgreSQL locks do not exclude another memory in the same process, so this check does.
        holder = self.holders.get(number)
        if holder is not None and not holder.is_closed():
            raise ScopeTaken(describe_holder(scope, "this process"))
        if holder is None and self.locks is not None and not self.locks.acquire(number):
            raise ScopeTaken(describe_holder(scope, "another process"))
        self.holders[number] = loop
        return holder is not None

    def give_up(self, scope: Scope) -> None:
        number = derive_number(scope)
        del self.holders[number]
        if self.locks is not None:
            self.locks.release(number)

    def close(self) -> None:
        if self.locks is not None:
            self.locks.close()


@contextmanager
def hold_unclaimed(path: str, message: str) -> Iterator[None]:
    """Keep other processes from opening a memory of the file. Raises StoreError with `message` if one has.

    A process with claims of its own on the file must not call this: it would lose them.
    """
    if not os.path.exists(path + SUFFIX):
        yield
        return
    file = os.open(path + SUFFIX, os.O_RDWR | os.O_CLOEXEC)
    try:
        # Locks all bytes, so that a claim on any byte conflicts. A POSIX lock belongs to a process and a
        # file: closing `file` also drops the locks that this process holds through other descriptors.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise StoreError(f"{path}: {message}") from None
    try:
        yield
    finally:
        os.close(file)


def derive_number(scope: Scope) -> int:
    """Return the lock number of a scope. As an offset in the lock file it may lie far beyond the end."""
    # 7 bytes, as an advisory lock number is a signed 64-bit integer. repr tells ("a", "bc") from ("ab", "c").
    digest = blake2b(repr((scope.user, scope.agent)).encode(), digest_size=7).digest()
    return int.from_bytes(digest)


def describe_holder(scope: Scope, place: str) -> str:
    memory = f"the memory of user {scope.user!r} and agent {scope.agent!r}"
    return f"{memory} is open in {place}; close it there first"

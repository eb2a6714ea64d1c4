"""Claims: one live memory for each scope of a file, in this process and in all others of this machine.

Law 1. A second one is refused, not deposed in silence. Law 2. A process that ends, however it ends, leaves
no claim behind: the system holds it.

A claim is a lock on one byte of a file beside the database; which byte, the scope says.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Final

from umi_core.values import Scope
from umi_live.errors import ScopeTaken, StoreError
from umi_live.files import create_beside

SUFFIX: Final = "-live"


class Claims:
    """The claims of this process on one file."""

    def __init__(self, path: str | None) -> None:
        """No path: a database in memory, which no other process sees. Raises StoreError."""
        self.scopes: dict[Scope, int] = {}  # and the byte of each
        try:
            self.file = None if path is None else create_beside(path + SUFFIX, path)
        except OSError as error:
            raise StoreError(f"{path}{SUFFIX}: cannot be opened for claims: {error.strerror}") from None

    def take(self, scope: Scope) -> None:
        """Raises ScopeTaken."""
        byte = place(scope)
        # asked here: a lock of POSIX is never in the way of its own process
        if byte in self.scopes.values():
            raise ScopeTaken(describe_holder(scope, "this process"))
        if self.file is not None:
            try:
                fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
            except OSError:
                raise ScopeTaken(describe_holder(scope, "another process")) from None
        self.scopes[scope] = byte

    def give_up(self, scope: Scope) -> None:
        byte = self.scopes.pop(scope)
        if self.file is not None:
            fcntl.lockf(self.file, fcntl.LOCK_UN, 1, byte)

    def close(self) -> None:
        if self.file is not None:
            os.close(self.file)


@contextmanager
def hold_unclaimed(path: str, told: str) -> Iterator[None]:
    """While no memory of this file is open in another process, and none can be.

    Raises StoreError with `told` if one is.

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
        raise StoreError(f"{path}: {told}") from None
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

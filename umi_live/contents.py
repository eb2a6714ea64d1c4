"""Change a whole file, not a single memory: import an export, delete a user, rewrite it, seal it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import apsw

from umi_core.values import Scope
from umi_live.anchor import SealOptions, seal_options
from umi_live.arguments import checking
from umi_live.claims import hold_unclaimed
from umi_live.errors import NotErased, StoreError
from umi_live.files import is_address, show_path
from umi_live.schema import OpenOptions, describe_error, open_connection, transaction
from umi_live.seal import TABLES, Seal, SealState, find_seal
from umi_live.storage import SqlStorage, TransactionCache, reporting_doubt
from umi_live.store import UNSEALED, Path, Store
from umi_live.transfer import import_rows, read_export

IN_USE: Final = "a memory of it is open; close it first"
OF_USER: Final = 'scope in (select number from scope where "user" = ?)'
COUNT: Final = f"select count(*) from row where body is not null and {OF_USER}"
NUMBERS: Final = f"select number from row where kind = 'entity' and {OF_USER}"
KEYS: Final = f"select id from row where kind = 'receipt' and {OF_USER}"
# Words and receipts are deleted first, since the rows are needed to find those of the user.
DELETES: Final = (
    f"delete from word where rowid in ({NUMBERS})",
    f"delete from receipt where key in ({KEYS})",
    f"delete from tie where {OF_USER}",
    f"delete from row where {OF_USER}",
    'delete from scope where "user" = ?',
)


async def import_lines(
    path: Path, lines: Sequence[str], seal: SealOptions | None = None
) -> tuple[Scope, int]:
    """Write the lines of an export into this file. Return their scope and the number of rows.

    Raises LiveError.
    """
    export = read_export(lines)
    store = await Store.open(path, seal=seal)
    try:
        await store.claim(export.scope)
        try:
            return export.scope, await store.call(import_rows, store.storage, export)
        finally:
            await store.give_up(export.scope)
    finally:
        await store.leave()


async def rewrite(path: Path, seal: SealOptions | None = None) -> None:
    """Rewrite the file without deleted bytes that an older release left in it. Raises StoreError."""
    store = await Store.open(path, seal=seal)
    try:
        await store.call(store.storage.rewrite)
    finally:
        await store.leave()


def check_there(path: Path) -> None:
    """Raise StoreError for a file that is absent or empty, since opening it would create a memory."""
    # For an address, opening the database reports what is missing.
    if not is_address(path) and not (os.path.exists(path) and os.path.getsize(path)):
        raise StoreError(f"{os.fspath(path)}: is not there, or empty; `umi-live remember` makes it")


@checking
async def delete_user(
    path: Path, user: str, seal: bytes | None = None, seal_anchor: Path | None = None
) -> int:
    """Delete the memories of a user for all agents, and all their bytes; return the number of deleted rows.

    `seal`, `seal_anchor`: as for `open_memory`. Raises StoreError, also if there is no such file, ScopeTaken
    while one of these memories is open, InDoubt, and NotErased if the rows are deleted and not their bytes.
    """
    check_there(path)
    store = await Store.open(path, seal=seal_options(seal, seal_anchor))
    claimed: list[Scope] = []
    try:
        for scope in await store.call(list_scopes, store.storage, user):
            await store.claim(scope)
            claimed.append(scope)
        return await store.call(delete_rows_of_user, store.storage, user)
    finally:
        for scope in claimed:
            await store.give_up(scope)
        await store.leave()


def list_scopes(storage: SqlStorage, user: str) -> list[Scope]:
    rows: Any = storage.connection.execute('select agent from scope where "user" = ? order by agent', (user,))
    return [Scope(user, agent) for (agent,) in rows]


def delete_rows_of_user(storage: SqlStorage, user: str) -> int:
    """Delete all rows of a user and return their number. No memory of this user may be open.

    Nothing is left in the tables, in free pages of the file or in the word index.
    """
    with reporting_doubt(storage):
        with storage.writing():
            storage.lock_scopes(list_scopes(storage, user), TransactionCache())
            found: Any = storage.connection.execute(COUNT, (user,)).fetchone()
            for statement in DELETES:
                storage.connection.execute(statement, (user,))
        storage.indexes.clear()
        storage.acknowledge()
    try:
        storage.rewrite()
    except storage.errors as error:
        deleted = f"{storage.path}: {found[0]} rows of user {user!r} are deleted, but not erased there"
        reason = f"{storage.describe_error(error)}; `umi-live rewrite` erases them"
        raise NotErased(f"{deleted}: {reason}") from error
    return int(found[0])


def seal_file(path: str, options: SealOptions) -> SealState:
    """Seal a file in its present state, or write the missing anchor of one that is sealed with this key.

    Raises StoreError, also while a memory of the file is open.
    """
    with open_alone(path, options) as connection:
        with transaction(connection):
            seal = find_seal(connection, path, options)
            if seal is None:
                seal = Seal(connection, path, options)
                seal.create()
            else:
                seal.verify(seal.find_anchor())
        seal.settle_anchor()
    return seal.last


def unseal_file(path: str) -> None:
    """Remove the seal of a file, without checking the file for changes.

    Raises StoreError, also while a memory of the file is open.
    """
    with open_alone(path) as connection, transaction(connection):
        if connection.execute("select 1 from seal").fetchone() is None:
            raise StoreError(f"{path}: is not sealed")
        for table in TABLES:
            connection.execute(f"update {table} set tag = null")
        connection.execute("delete from seal")


@contextmanager
def open_alone(path: str, options: SealOptions | None = None) -> Iterator[apsw.Connection]:
    """Open a file alone. Raises StoreError if any process has a memory of it open, and for an address."""
    if is_address(path):
        raise StoreError(f"{show_path(path)}: {UNSEALED}")
    if os.path.realpath(path) in Store.known:
        raise StoreError(f"{path}: {IN_USE}")
    connection = open_connection(path, OpenOptions(seal=options))
    try:
        with hold_unclaimed(path, IN_USE):
            yield connection
    except apsw.Error as error:
        raise StoreError(f"{path}: {describe_error(error)}") from error
    finally:
        connection.close()

"""What concerns a file, not one memory of it: rows that come in, a user that goes, its bytes, its seal."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import apsw

from umi_core.values import Scope
from umi_live import deletion
from umi_live.addresses import is_address, show_path
from umi_live.anchor import SealOptions, seal_options
from umi_live.arguments import checking
from umi_live.claims import hold_unclaimed
from umi_live.errors import StoreError
from umi_live.schema import OpenOptions, open_connection, sentence, transaction
from umi_live.seal import TABLES, Seal, SealState, find_seal
from umi_live.store import UNSEALED, Path, Store
from umi_live.transfer import import_rows, read_export

IN_USE: Final = "a memory of it is open; close it first"


async def import_lines(
    path: Path, lines: Sequence[str], seal: SealOptions | None = None
) -> tuple[Scope, int]:
    """Take the lines of an export into this file: whose they are, and how many rows. Raises LiveError."""
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
    """Write the file anew, without what an older release left in free pages. Raises StoreError."""
    store = await Store.open(path, seal=seal)
    try:
        await store.call(store.storage.rewrite)
    finally:
        await store.leave()


def check_there(path: Path) -> None:
    """Raise StoreError for a file that is not there: to open it would make it."""
    # Of a database at an address, opening it says what is not there.
    if not is_address(path) and not (os.path.exists(path) and os.path.getsize(path)):
        raise StoreError(f"{os.fspath(path)}: is not there, or empty; `umi-live remember` makes it")


@checking
async def delete_user(
    path: Path, user: str, seal: bytes | None = None, seal_anchor: Path | None = None
) -> int:
    """Delete all that any agent has of a user, its bytes in the file too; return how many rows there were.

    `seal`, `seal_anchor`: as for `open_memory`.
    Raises StoreError, also without such a file, and ScopeTaken while one of these memories is open.
    """
    check_there(path)
    store = await Store.open(path, seal=seal_options(seal, seal_anchor))
    claimed: list[Scope] = []
    try:
        for scope in await store.call(deletion.scopes_of, store.storage, user):
            await store.claim(scope)
            claimed.append(scope)
        return await store.call(deletion.delete_user, store.storage, user)
    finally:
        for scope in claimed:
            await store.give_up(scope)
        await store.leave()


def seal_file(path: str, options: SealOptions) -> SealState:
    """Seal a file as it is; of one that is sealed with this key, write the anchor if it is missing.

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
    """Take the seal off a file, whatever was changed in it.

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
    """Open a file of which no memory is open anywhere."""
    if is_address(path):
        raise StoreError(f"{show_path(path)}: {UNSEALED}")
    if os.path.realpath(path) in Store.known:
        raise StoreError(f"{path}: {IN_USE}")
    connection = open_connection(path, OpenOptions(seal=options))
    try:
        with hold_unclaimed(path, IN_USE):
            yield connection
    except apsw.Error as error:
        raise StoreError(f"{path}: {sentence(error)}") from error
    finally:
        connection.close()

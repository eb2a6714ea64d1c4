"""What concerns a file, not one memory of it: rows that come in, a user that goes out, the file anew."""

from collections.abc import Sequence

from umi_core.values import Scope
from umi_live import deletion
from umi_live.store import Path, Store, wall_ms
from umi_live.transfer import import_rows, read_export


async def import_lines(path: Path, lines: Sequence[str]) -> tuple[Scope, int]:
    """Take the lines of an export into this file: whose they are, and how many rows. Raises LiveError."""
    export = read_export(lines)
    store = await Store.open(path)
    try:
        store.claims.take(export.scope)
        try:
            return export.scope, await store.call(import_rows, store.storage, export, wall_ms())
        finally:
            store.claims.give_up(export.scope)
    finally:
        await store.leave()


async def rewrite(path: Path) -> None:
    """Write the file anew, without what an older release left in free pages. Raises StoreError."""
    store = await Store.open(path)
    try:
        await store.call(deletion.rewrite, store.storage)
    finally:
        await store.leave()


async def delete_user(path: Path, user: str) -> int:
    """Take out all that any agent keeps of a user, out of the file too: how many rows it was.

    Raises StoreError, and ScopeTaken while one of these memories is open.
    """
    store = await Store.open(path)
    claimed: list[Scope] = []
    try:
        for scope in await store.call(deletion.scopes_of, store.storage, user):
            store.claims.take(scope)
            claimed.append(scope)
        return await store.call(deletion.delete_user, store.storage, user)
    finally:
        for scope in claimed:
            store.claims.give_up(scope)
        await store.leave()

"""All that is kept of a user, taken out of the file.

Law 1. Nothing is left in it, in free pages and in the index of words neither.
"""

from typing import Any, Final

from umi_core.values import Scope
from umi_live.sqlite import OPTIMIZE, SqliteStorage

OF_USER: Final = "scope in (select number from scope where user = ?)"
NUMBERS: Final = f"select number from row where kind = 'entity' and {OF_USER}"
KEYS: Final = f"select id from row where kind = 'receipt' and {OF_USER}"
# Words and receipts first: which of them are the user's is known from rows, which go afterwards.
DELETES: Final = (
    f"delete from word where rowid in ({NUMBERS})",
    f"delete from receipt where key in ({KEYS})",
    f"delete from tie where {OF_USER}",
    f"delete from row where {OF_USER}",
    "delete from scope where user = ?",
)


def scopes_of(storage: SqliteStorage, user: str) -> list[Scope]:
    rows: Any = storage.connection.execute("select agent from scope where user = ? order by agent", (user,))
    return [Scope(user, agent) for (agent,) in rows]


def delete_user(storage: SqliteStorage, user: str) -> int:
    """Delete all rows of a user and return how many. No memory of this user may be open."""
    execute = storage.connection.execute
    counted = f"select count(*) from row where body is not null and {OF_USER}"
    with storage.writing():
        found: Any = execute(counted, (user,)).fetchone()
        for statement in DELETES:
            execute(statement, (user,))
    storage.indexes.clear()
    rewrite(storage)
    storage.acknowledge()
    return int(found[0])


def rewrite(storage: SqliteStorage) -> None:
    """Write the whole file anew, so that no free page and no index holds what was deleted from it.

    A file whose rows were deleted by a release that did not overwrite them needs it once.
    """
    # Three places keep deleted bytes: segments of the index of words, free pages of the file, and the log.
    storage.connection.execute(OPTIMIZE)
    storage.connection.execute("vacuum")
    storage.cut_log()

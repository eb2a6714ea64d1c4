"""All that is kept of a user, taken out of the database.

Law 1. Nothing is left in its tables, in free pages and in the index of words neither.
"""

from typing import Any, Final

from umi_core.values import Scope
from umi_live.storage import SqlStorage, TransactionCache

OF_USER: Final = 'scope in (select number from scope where "user" = ?)'
NUMBERS: Final = f"select number from row where kind = 'entity' and {OF_USER}"
KEYS: Final = f"select id from row where kind = 'receipt' and {OF_USER}"
# Words and receipts first: which of them are the user's is known from rows, which go afterwards.
DELETES: Final = (
    f"delete from word where rowid in ({NUMBERS})",
    f"delete from receipt where key in ({KEYS})",
    f"delete from tie where {OF_USER}",
    f"delete from row where {OF_USER}",
    'delete from scope where "user" = ?',
)


def scopes_of(storage: SqlStorage, user: str) -> list[Scope]:
    rows: Any = storage.connection.execute('select agent from scope where "user" = ? order by agent', (user,))
    return [Scope(user, agent) for (agent,) in rows]


def delete_user(storage: SqlStorage, user: str) -> int:
    """Delete all rows of a user and return how many. No memory of this user may be open."""
    execute = storage.connection.execute
    counted = f"select count(*) from row where body is not null and {OF_USER}"
    with storage.writing():
        storage.lock_scopes(scopes_of(storage, user), TransactionCache())
        found: Any = execute(counted, (user,)).fetchone()
        for statement in DELETES:
            execute(statement, (user,))
    storage.indexes.clear()
    storage.rewrite()
    storage.acknowledge()
    return int(found[0])

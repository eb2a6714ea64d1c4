"""SqliteStorage: a storage in one SQLite file, or in RAM, with the laws of storage.py and two more.

Law 6. When a commit that deletes is acknowledged, no deleted byte is left in the file, its write-ahead log
(here: the log) or the word index.
Law 7. If the file is sealed, the tag of every row is checked when the row is read, overwritten or compared.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import apsw

from umi_core.messages.effects import FailureKind
from umi_core.rows import Body
from umi_live.anchor import SealOptions
from umi_live.claims import FileLocks, Locks
from umi_live.columns import RowKey, put_row
from umi_live.errors import StoreError
from umi_live.remains import has_remains
from umi_live.schema import DEFAULTS, MEMORY, OpenOptions, describe_error, open_connection, transaction
from umi_live.seal import UNCHECKED, Seal, find_seal
from umi_live.storage import SqlStorage, TransactionCache

NEW: Final = (
    "select not exists (select 1 from scope union all select 1 from row union all select 1 from receipt)"
)
OPTIMIZE: Final = "insert into word (word) values ('optimize')"  # removes deleted words from the index
PUT_RECEIPT: Final = "insert or replace into receipt (key, at_ms, versions, body) values (?, ?, ?, ?)"
TERMS: Final = "create virtual table temp.term using fts5vocab('main', 'word', 'instance')"


class SqliteStorage(SqlStorage):
    """A storage with one connection, for one thread at a time. Raises StoreError for an unusable file.

    All methods raise FileTampered if another program has changed a sealed file.
    """

    errors = (apsw.Error,)

    def __init__(self, path: str, options: OpenOptions = DEFAULTS) -> None:
        self.path = path
        self.connection: apsw.Connection = open_connection(path, options)
        self.options, self.log_pages = options, 0
        try:
            self.seal = self._open_seal()
        except BaseException as error:
            self.connection.close()
            if isinstance(error, apsw.Error):
                raise StoreError(f"{path}: {describe_error(error)}") from error
            raise
        super().__init__(path)
        self.owes_empty_log = False
        self.erased = set[bytes]()  # pieces of the texts deleted since the log was last emptied
        self.connection.set_wal_hook(self._note_log)

    def close(self) -> None:
        """Close the file; the last connection to close removes the log."""
        if self.owes_empty_log:
            self.empty_log()
        self.connection.close()

    # The seal.

    def _open_seal(self) -> Seal | None:
        """Return the seal of the file after checking all rows against it; seal a new file first."""
        seal = find_seal(self.connection, self.path, self.options.seal)
        if self.options.seal is None:
            return None
        if seal is None:
            seal = self._seal_new_file(self.options.seal)
        if not self.options.is_trusted:
            anchor = seal.read_anchor()
            with self.reading():
                seal.verify(anchor)
        if not self.options.is_read_only:
            seal.watch()
        return seal

    def _seal_new_file(self, options: SealOptions) -> Seal:
        """Seal a file without rows. Raises StoreError if it has rows, or is open for reading only."""
        new = Seal(self.connection, self.path, options)
        if self.options.is_read_only:
            raise new.refuse_unsealed()
        with transaction(self.connection):
            # Searched again inside the transaction: another process may have sealed the file meanwhile.
            seal = find_seal(self.connection, self.path, options)
            if seal is None and self.connection.execute(NEW).fetchone() != (1,):
                raise new.refuse_unsealed()
            if seal is None:
                new.create()
        return seal or new

    def _check(self, table: str) -> str:
        return UNCHECKED if self.seal is None or self.options.is_trusted else self.seal.check(table)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run the code inside as one transaction: commits all its writes and the seal, or nothing."""
        with transaction(self.connection):
            if self.seal is not None:
                self.seal.begin()
            else:
                find_seal(self.connection, self.path, None)  # another process may have sealed it meanwhile
            yield
            if self.seal is not None:
                self.seal.end()

    def acknowledge(self) -> None:
        """Record the commit in the anchor before its caller gets the reply. Raises apsw.IOError."""
        if self.seal is not None:
            self.seal.acknowledge()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run the reads inside on one snapshot of the file."""
        self.connection.execute("begin")
        try:
            yield
        finally:
            # A commit that fails would leave the transaction open, and with it no other could begin.
            self.connection.execute("rollback")

    # Commits.

    def _put(self, key: RowKey, version: int, body: Body | None, changed: int, row: int) -> int:
        return put_row(self.connection, key, version, body, changed, row)

    def _put_receipt(self, key: str, at_ms: int, versions: bytes, body: bytes | None) -> None:
        self.connection.execute(PUT_RECEIPT, (key, at_ms, versions, body))

    def _drop_words(self) -> None:
        self.connection.execute(OPTIMIZE)

    def _erase(self, known: TransactionCache) -> None:
        self.erased |= known.erased
        if known.erases or self.owes_empty_log:
            self.empty_log()
        elif self.log_pages > self.options.log_pages:
            with suppress(apsw.Error):  # if it fails, the log stays and a later commit tries again
                self.connection.wal_checkpoint()

    def _note_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self.log_pages = pages
        return apsw.SQLITE_OK

    def empty_log(self) -> None:
        """Write the log into the file and truncate it, so that neither contains deleted bytes.

        If that fails, or another process reads from the log for too long, the next commit tries again.
        """
        self.owes_empty_log = True
        with suppress(apsw.Error, OSError):
            self.cut_log()
            page_bytes: Any = self.connection.pragma("page_size")
            if self.path != MEMORY and has_remains(self.path, self.options.vfs, page_bytes, self.erased):
                self.connection.execute("vacuum")
                self.cut_log()
            self.erased.clear()
            self.owes_empty_log = False

    def cut_log(self) -> None:
        """Write the log into the file and truncate it. Raises apsw.Error or OSError if that fails."""
        self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        # SQLite does not sync the truncation: after a power loss the log could reappear with its contents.
        self.options.sync(f"{self.path}-wal")

    def rewrite(self) -> None:
        # Deleted bytes can remain in three places: the word index, free pages of the file, and the log.
        self.connection.execute(OPTIMIZE)
        self.connection.execute("vacuum")
        self.cut_log()

    def open_locks(self) -> Locks | None:
        return None if self.path == MEMORY else FileLocks(self.path)

    def describe_pages(self) -> tuple[str, list[str]]:
        found = [row for (row,) in self.connection.execute("pragma integrity_check(20)")]
        size = f"{self.connection.pragma('page_count')} of {self.connection.pragma('page_size')} bytes"
        return f"pages    {size}", [] if found == ["ok"] else found

    def stream_rows(self, sql: str) -> Iterable[Any]:
        return self.connection.execute(sql)

    def list_words(self) -> Iterator[Any]:
        # The temporary table is not in the file, so this is allowed for a file opened for reading only.
        self.connection.pragma("query_only", "off")
        self.connection.execute(TERMS)
        yield from self.connection.execute("select term, doc from temp.term")
        self.connection.execute("drop table temp.term")

    # Failures.

    def failure(self, error: Exception, commit: bool) -> FailureKind:
        """Return the kind of failure that a memory gets for an error of the file.

        The outcome of a commit that fails with an I/O error is unknown: a restart may find it in the log.
        """
        match error:
            case apsw.FullError():
                return "full" if commit else "unavailable"
            case apsw.BusyError() | apsw.LockedError():
                return "unavailable"
            case apsw.IOError():
                return "unknown" if commit else "unavailable"
        return "refused"

    def describe_error(self, error: Exception) -> str:
        assert isinstance(error, apsw.Error)
        return describe_error(error)

"""SqliteStorage: what a storage must promise (docs/storage.md), on one file of SQLite, or in memory.

Law 1. A batch is one transaction with its key and its receipt, synced before it is acknowledged.
Law 2. The version of a row goes on after a delete: what is deleted leaves its number behind.
Law 3. A read is one transaction. Law 4. A transaction that fails leaves file and indexes as they were.
Law 5. The next read sees what any other code has written into the file, in this process or another.
Law 6. When a commit that deletes is acknowledged, neither the file nor its log holds bytes of what was
deleted, nor does the index of words.
Law 7. If the file is sealed, every row that is read, written over or compared has its own tag.
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
from umi_live.schema import MEMORY, OpenOptions, open_connection, sentence, transaction
from umi_live.seal import UNCHECKED, Seal, find_seal
from umi_live.storage import SqlStorage, TransactionCache

NEW: Final = (
    "select not exists (select 1 from scope union all select 1 from row union all select 1 from receipt)"
)
OPTIMIZE: Final = "insert into word (word) values ('optimize')"  # deleted words stay in the index until then
PUT_RECEIPT: Final = "insert or replace into receipt (key, at_ms, versions, body) values (?, ?, ?, ?)"
TERMS: Final = "create virtual table temp.term using fts5vocab('main', 'word', 'instance')"


class SqliteStorage(SqlStorage):
    """One connection. Not for two threads at a time. Raises StoreError for a file that cannot be used.

    All its methods raise FileTampered for a file that is sealed and was changed.
    """

    errors = (apsw.Error,)

    def __init__(self, path: str, way: OpenOptions = OpenOptions()) -> None:  # noqa: B008  # frozen
        self.path = path
        self.connection: apsw.Connection = open_connection(path, way)
        self.way, self.log_pages = way, 0
        try:
            self.seal = self._open_seal()
        except BaseException as error:
            self.connection.close()
            if isinstance(error, apsw.Error):
                raise StoreError(f"{path}: {sentence(error)}") from error
            raise
        super().__init__(path)
        self.owes_empty_log = False
        self.erased = set[bytes]()  # pieces of texts that were deleted since the log was last emptied
        self.connection.set_wal_hook(self._note_log)

    def close(self) -> None:
        """Close the file; the last one that does so removes the log."""
        if self.owes_empty_log:
            self.empty_log()
        self.connection.close()

    # The seal.

    def _open_seal(self) -> Seal | None:
        """Return the seal of the file, once all rows were compared with it; a new file gets one."""
        options, seal = self.way.seal, find_seal(self.connection, self.path, self.way.seal)
        if options is None:
            return None
        if seal is None:
            seal = self._seal_new_file(options)
        if not self.way.is_trusted:
            anchor = seal.read_anchor()
            with self.reading():
                seal.verify(anchor)
        if not self.way.is_read_only:
            seal.watch()
        return seal

    def _seal_new_file(self, options: SealOptions) -> Seal:
        new = Seal(self.connection, self.path, options)
        if self.way.is_read_only:
            raise new.refuse_unsealed()
        with transaction(self.connection):
            # Again: another process may have sealed it meanwhile.
            seal = find_seal(self.connection, self.path, options)
            if seal is None and self.connection.execute(NEW).fetchone() != (1,):
                raise new.refuse_unsealed()
            if seal is None:
                new.create()
        return seal or new

    def _check(self, table: str) -> str:
        return UNCHECKED if self.seal is None or self.way.is_trusted else self.seal.check(table)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all that is written inside, with the seal, or nothing of it."""
        with transaction(self.connection):
            if self.seal is not None:
                self.seal.begin()
            else:
                find_seal(self.connection, self.path, None)  # another process may have sealed it meanwhile
            yield
            if self.seal is not None:
                self.seal.end()

    def acknowledge(self) -> None:
        """Note a commit in the anchor, before a caller learns of it. Raises apsw.IOError if that fails."""
        if self.seal is not None:
            self.seal.acknowledge()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one instant of the file."""
        self.connection.execute("begin")
        try:
            yield
        finally:
            self.connection.execute("commit")

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
        elif self.log_pages > self.way.log_pages:
            self._shorten_log()

    def _note_log(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self.log_pages = pages
        return apsw.SQLITE_OK

    def _shorten_log(self) -> None:
        """Write the log into the file. If that fails nothing is lost: the log stays, and is tried again."""
        with suppress(apsw.Error):
            self.connection.wal_checkpoint()

    def empty_log(self) -> None:
        """Write the log into the file and cut it off, so that neither holds anything that was deleted.

        If that fails, or another process reads from the log for too long, the next commit tries again.
        """
        self.owes_empty_log = True
        with suppress(apsw.Error, OSError):
            self.cut_log()
            if self.path != MEMORY and self.erased and self.has_remains():
                self.connection.execute("vacuum")
                self.cut_log()
            self.erased.clear()
            self.owes_empty_log = False

    def has_remains(self) -> bool:
        """Check whether unused space of the file still holds what was deleted. Raises apsw.Error, OSError."""
        page_bytes: Any = self.connection.pragma("page_size")
        return has_remains(self.path, self.way.vfs, page_bytes, self.erased)

    def cut_log(self) -> None:
        """Write the log into the file and cut it off. Raises apsw.Error or OSError if that fails."""
        self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        # SQLite does not sync the cut: after a loss of power the log would be there again, with what it held.
        self.way.sync(f"{self.path}-wal")

    def rewrite(self) -> None:
        # Three places keep deleted bytes: segments of the index of words, free pages of the file, the log.
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
        # Creating it writes nothing to the file.
        self.connection.pragma("query_only", "off")
        self.connection.execute(TERMS)
        yield from self.connection.execute("select term, doc from temp.term")
        self.connection.execute("drop table temp.term")

    # Failures.

    def failure(self, error: Exception, commit: bool) -> FailureKind:
        """Return the kind of failure that an error of the file is to a memory.

        A commit that fails with an I/O error may be found in the log after a restart: it is unknown.
        """
        match error:
            case apsw.FullError():
                return "full" if commit else "unavailable"
            case apsw.BusyError() | apsw.LockedError():
                return "unavailable"
            case apsw.IOError():
                return "unknown" if commit else "unavailable"
        return "refused"

    def sentence(self, error: Exception) -> str:
        assert isinstance(error, apsw.Error)
        return sentence(error)

"""Open a file, check it and bring its tables up to date.

Law 1. A file of another program, or of a newer release, raises StoreError and is not changed.
Law 2. A migration is one transaction: if the process ends halfway, the file is unchanged.
Law 3. A new file and its log are readable by their owner only.
Law 4. Deleted bytes are overwritten with zeros, also in pages that become free.

Why WAL with synchronous=FULL: the log is synced at every commit, before it is acknowledged. With a rollback
journal and synchronous=FULL the deletion of the journal is not synced, so after a power loss the journal may
reappear, and SQLite then undoes the last commit although it was acknowledged.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final
from urllib.parse import quote

import apsw

from umi_core.data import Data
from umi_live.anchor import SealOptions, check_new_anchor
from umi_live.claims import hold_unclaimed
from umi_live.columns import TIE, body_of, ties_of
from umi_live.errors import StoreError
from umi_live.files import create_file, sync_file
from umi_live.seal import find_seal
from umi_live.upgrade import divide

APPLICATION: Final = 0x756D6931  # "umi1"
BUSY_MS: Final = 5_000
MEMORY: Final = ":memory:"
OPEN_ELSEWHERE: Final = "an older release has it open, and this one upgrades it; close it there first"

# `number` identifies a row for ever: a deleted row stays, so that its version keeps counting. `changed` is
# the number of the commit in the scope that wrote the row. The columns after it serve conditions and
# searches, and are null for kinds without such a field. Unique keys have ids before kinds, so that the rows
# of one entity are neighbours and a commit writes few pages. The statistics are those of a large file, so
# that query plans do not depend on the time of the last `analyze`.
FIRST: Final = """
create table scope (
    number integer primary key autoincrement, user text not null, agent text not null, embedder text,
    unique (user, agent)) strict;
create table row (
    number integer primary key, scope integer not null, kind text not null, id text not null,
    version integer not null, body blob, changed integer not null,
    type text, time_ms integer, vector_missing integer, name_words integer,
    touches text, touches_too text, components blob,
    unique (scope, id, kind)) strict;
create index row_searched on row (scope, changed) where kind in ('entity', 'vector');
create index row_missing on row (scope, id) where vector_missing = 1;
create index row_touches on row (scope, touches) where kind = 'relation';
create index row_touches_too on row (scope, touches_too) where kind = 'relation';
create table receipt (
    number integer primary key, key text not null unique, at_ms integer not null, versions blob not null,
    body blob) strict;
create virtual table word using fts5 (
    words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
analyze;
insert into sqlite_stat1 values
    ('row', 'sqlite_autoindex_row_1', '1000000 500000 4 1'),
    ('row', 'row_searched', '400000 200000 2'),
    ('row', 'row_missing', '1000 500 1'),
    ('row', 'row_touches', '100000 50000 4'),
    ('row', 'row_touches_too', '100000 50000 4');
"""
# `tie`: one row per id in the field `about` or `touches` of a body; since version 5 also hashes of `tags`.
SECOND: Final = """
create table tie (
    scope integer not null, kind text not null, field text not null, value text not null,
    number integer not null, primary key (scope, kind, field, value, number)) strict, without rowid;
create index tie_number on tie (number);
drop index row_touches;
drop index row_touches_too;
alter table row drop column touches;
alter table row drop column touches_too;
alter table row rename column name_words to term_count;
delete from sqlite_stat1 where idx in ('row_touches', 'row_touches_too');
insert into sqlite_stat1 values
    ('tie', 'tie', '1000000 500000 100000 50000 5 1'),
    ('tie', 'tie_number', '1000000 2');
insert into word (word) values ('delete-all');
"""

THIRD: Final = "delete from row where kind = 'tombstone'"  # forgetting a fact no longer writes a tombstone

# `tag`: the authentication tag of a row, if the file is sealed. `seal`: one row if it is, else none.
FOURTH: Final = """
alter table scope add column tag blob;
alter table row add column tag blob;
alter table receipt add column tag blob;
create table seal (
    salt blob not null, number integer not null, row_count integer not null, definitions blob not null,
    nonce blob not null, total blob not null, tag blob not null) strict;
"""

TAGGED: Final = "select scope, number, body from row where kind = 'archival' and body is not null"


def divide_entities(connection: apsw.Connection) -> None:
    """Upgrade a file to version 2, in which each statement is a row of its own, found by its terms."""
    connection.execute(SECOND)
    divide(connection)


def tie_tags(connection: apsw.Connection) -> None:
    """Upgrade a file to version 5, in which an index finds records by their tags."""
    rows: list[Any] = connection.execute(TAGGED).fetchall()
    for scope, number, data in rows:
        ties = [(scope, "archival", field, value, number) for field, value in ties_of(body_of(data, None))]
        connection.executemany(TIE, ties)


Migration = str | Callable[[apsw.Connection], None]
# MIGRATIONS[n] upgrades a file from version n to n + 1.
MIGRATIONS: Final[tuple[Migration, ...]] = (FIRST, divide_entities, THIRD, FOURTH, tie_tags)
VERSION: Final = len(MIGRATIONS)
SEALABLE: Final = 4  # the first version with a table for a seal


class OpenOptions(Data):
    """Options for opening a file. A simulated disk sets `vfs`, `journal`, `is_alone`, `log_pages`, `sync`."""

    vfs: str | None = None  # the name of an SQLite VFS; None: the default of the machine
    journal: str = "wal"
    is_alone: bool = False  # exclusive locking, so that SQLite needs no memory shared with other processes
    log_pages: int = 1_000  # a log with more pages is written into the file
    is_read_only: bool = False  # writes nothing, so the file may be write-protected
    sync: Callable[[str], None] = sync_file  # makes the content and the length of the file at a path durable
    seal: SealOptions | None = None  # the key of a sealed file; a new file is sealed with it
    is_trusted: bool = False  # skips the checks of tags, so that a report can list all changed rows


DEFAULTS: Final = OpenOptions()


def open_connection(path: str, options: OpenOptions = DEFAULTS) -> apsw.Connection:
    """Return a connection to the file, which is created if it is absent. Raises StoreError."""
    connection = None
    is_file = options.vfs is None and path != MEMORY and not options.is_read_only
    if is_file and not os.path.exists(path) and options.seal is not None and options.seal.anchor is not None:
        check_new_anchor(options.seal)
    if is_file:
        # Created here, so that only its owner can read it; SQLite gives its log the same permissions. If this
        # fails, SQLite cannot create the file either, and its error says why.
        with suppress(OSError):
            os.close(create_file(path))
    try:
        if options.is_read_only:
            connection = connect_reading(path)
        else:
            connection = apsw.Connection(path, vfs=options.vfs)
        connection.set_busy_timeout(BUSY_MS)
        if options.is_alone:
            connection.pragma("locking_mode", "exclusive")
        prepare(connection, path, options)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, apsw.Error):
            raise StoreError(f"{path}: {describe_error(error)}") from error
        raise
    return connection


def connect_reading(path: str) -> apsw.Connection:
    """Return a read-only connection; the file or its folder may be write-protected.

    SQLite reads a log beside the file too. Without a log a write-protected file is opened as immutable, so
    that SQLite creates no other file beside it. Raises StoreError if the file is absent.
    """
    if not os.path.exists(path):
        raise StoreError(f"{path}: is not there; `umi-live remember` makes it")
    folder = os.path.dirname(path) or "."
    if os.access(path, os.W_OK) and os.access(folder, os.W_OK):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        connection.pragma("query_only", "on")
        return connection
    log = f"{path}-wal"
    # Only without a log: `immutable` makes SQLite ignore a log, and with it the last commits.
    is_fixed = not os.path.exists(log) or not os.path.getsize(log)
    address = f"file:{quote(os.path.abspath(path))}?mode=ro{'&immutable=1' if is_fixed else ''}"
    return apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def prepare(connection: apsw.Connection, path: str, options: OpenOptions) -> None:
    """Set up the connection, and upgrade the file to this version. Raises StoreError, apsw.Error."""
    version = version_of(connection, path)
    if options.is_read_only:
        if version == 0:
            raise StoreError(f"{path}: is empty; `umi-live remember` makes a memory")
        if version < VERSION:
            raise StoreError(f"{path}: an older release wrote it; open it once where it can be written")
        check_pages(connection, path)
        return
    connection.pragma("synchronous", "full")
    connection.pragma("secure_delete", "on")  # overwrites deleted bytes with zeros
    if path != MEMORY:
        connection.pragma("journal_mode", options.journal)
    connection.wal_autocheckpoint(0)  # the storage makes checkpoints, so that their failures fail no commit
    if version < VERSION:
        is_shared = version > 0 and options.vfs is None and path != MEMORY
        # An older release that has the file open would write rows in the old format into the new tables.
        with hold_unclaimed(path, OPEN_ELSEWHERE) if is_shared else nullcontext():
            while version < VERSION:
                migrate(connection, path, options.seal)
                version = version_of(connection, path)
    check_pages(connection, path)


def check_pages(connection: apsw.Connection, path: str) -> None:
    """Raise StoreError if SQLite finds a damaged page."""
    damage = connection.pragma("quick_check", 1)
    if damage != "ok":
        raise StoreError(f"{path}: the file is damaged ({damage}); restore it from a copy")


def version_of(connection: apsw.Connection, path: str) -> int:
    """Return the version of a file; 0 if it is empty. Raises StoreError for a foreign or a newer file."""
    owner, version = connection.pragma("application_id"), connection.pragma("user_version")
    is_empty = connection.execute("select count(*) from sqlite_schema").fetchone() == (0,)
    if is_empty and owner == 0:
        return 0
    if owner != APPLICATION:
        raise StoreError(f"{path}: is a database, but not a memory of Umi; name another file")
    if version > VERSION:
        raise StoreError(
            f"{path}: a newer release of Umi wrote it (version {version}, known here: {VERSION}); use that"
        )
    assert isinstance(version, int)
    return version


def migrate(connection: apsw.Connection, path: str, options: SealOptions | None) -> None:
    """Upgrade to the next version, unless another process has done so already. Raises FileTampered."""
    with transaction(connection):
        version = int(connection.pragma("user_version"))
        if version < VERSION:
            seal = find_seal(connection, path, options) if version >= SEALABLE else None
            if seal is not None:
                seal.verify()
            step = MIGRATIONS[version]
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
            connection.pragma("application_id", APPLICATION)
            connection.pragma("user_version", version + 1)
            if seal is not None:
                seal.write()


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run the code inside as one transaction, which commits all its writes or none."""
    # `immediate` takes the write lock first: a transaction that reads first may fail when it begins to write.
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        # SQLite rolls back by itself after some errors; a second rollback would hide the first error.
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def describe_error(error: apsw.Error) -> str:
    """Return an error as a sentence for the user who named the file."""
    match error:
        case apsw.NotADBError():
            return "is no database; name another file"
        case apsw.BusyError() | apsw.LockedError():
            return f"another program holds it locked for more than {BUSY_MS // 1_000} seconds; try again"
        case apsw.FullError():
            return "the disk is full; make room and try again"
        case apsw.CantOpenError():
            return "cannot be opened; does the folder exist, and may you write there?"
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return "cannot be written; may you write there?"
        case apsw.CorruptError():
            return "the file is damaged; restore it from a copy"
        case apsw.IOError():
            return f"the disk failed ({error}); look at the disk, then try again"
    return str(error)

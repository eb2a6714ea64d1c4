"""The file: its tables, how it is opened, checked and brought up to date.

Law 1. A file that is not ours, or that a newer release wrote, is refused in a sentence, and not touched.
Law 2. A migration is one transaction; killed in the middle, the file is as it was.
Law 3. Only its owner may read a file that is made here, and its log.
Law 4. What is deleted is overwritten with zeros, in pages that become free too.

Why WAL with synchronous=FULL: the log is synced at every commit, before it is acknowledged. With a rollback
journal and synchronous=FULL the deletion of the journal is not synced, so a power cut may bring it back, and
the last commit is undone although it was acknowledged.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Final
from urllib.parse import quote

import apsw

from umi_core.data import Data
from umi_live.anchor import SealOptions
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

# `number` names a row for ever, a deleted one too: its version goes on. `changed` counts commits of a scope.
# What stands behind `changed` is what conditions ask for, and null in rows of other kinds.
# Ids stand before kinds, so that what one entity has lies together, and a commit writes few pages.
# The statistics are those of a large file: query plans do not depend on when statistics were last counted.
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
# `tie`: the ids that the body of a row names, in the field `about` or `touches`; later also hashes of `tags`.
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

THIRD: Final = "delete from row where kind = 'tombstone'"  # a forgotten fact leaves none any more

# `tag`: of a row, if the file is sealed. `seal`: one row if it is, none if not (umi_live/seal.py).
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
    """Make the second version of the file, in which each statement is a row that is found by its terms."""
    connection.execute(SECOND)
    divide(connection)


def tie_tags(connection: apsw.Connection) -> None:
    """Make the fifth version of the file, in which records are found by their tags without reading all."""
    rows: list[Any] = connection.execute(TAGGED).fetchall()
    for scope, number, data in rows:
        ties = [(scope, "archival", field, value, number) for field, value in ties_of(body_of(data, None))]
        connection.executemany(TIE, ties)


Migration = str | Callable[[apsw.Connection], None]
# number n makes version n + 1
MIGRATIONS: Final[tuple[Migration, ...]] = (FIRST, divide_entities, THIRD, FOURTH, tie_tags)
VERSION: Final = len(MIGRATIONS)
SEALABLE: Final = 4  # the first version with a table for a seal


class OpenOptions(Data):
    """How a file is opened. Only a simulated disk is told another way than this one.

    `is_alone`: no memory is shared with other processes; `log_pages`: a longer log is written into the file.
    `is_read_only`: nothing is written, and the file may be one that cannot be. `sync`: makes durable what a
    file at a path holds, and its length. `seal`: what a sealed file is opened with, and a new one sealed;
    `is_trusted`: its rows are not compared with their tags, so that all that were changed can be listed.
    """

    vfs: str | None = None
    journal: str = "wal"
    is_alone: bool = False
    log_pages: int = 1_000
    is_read_only: bool = False
    sync: Callable[[str], None] = sync_file
    seal: SealOptions | None = None
    is_trusted: bool = False


AS_USUAL: Final = OpenOptions()


def open_connection(path: str, way: OpenOptions = AS_USUAL) -> apsw.Connection:
    """Return a connection to the file, which is made if it is not there. Raises StoreError."""
    connection = None
    if way.vfs is None and path != MEMORY and not way.is_read_only:
        create_private(path)
    try:
        connection = reading(path) if way.is_read_only else apsw.Connection(path, vfs=way.vfs)
        connection.set_busy_timeout(BUSY_MS)
        if way.is_alone:
            connection.pragma("locking_mode", "exclusive")
        prepare(connection, path, way)
    except apsw.Error as error:
        if connection is not None:
            connection.close()
        raise StoreError(f"{path}: {sentence(error)}") from error
    except StoreError:
        if connection is not None:  # else: only read, and not there
            connection.close()
        raise
    return connection


def create_private(path: str) -> None:
    """Create an empty file that only its owner may read; SQLite gives its log the same permissions.

    What cannot be made here SQLite cannot make either, and its error says why.
    """
    with suppress(OSError):
        os.close(create_file(path))


def reading(path: str) -> apsw.Connection:
    """Return a connection that writes no row, also to a file or in a folder that cannot be written.

    A log that was left beside a file is read where SQLite may lock it. Without a log the file is taken as it
    is, so that no other file has to be made beside it.
    """
    if not os.path.exists(path):
        raise StoreError(f"{path}: is not there")
    folder = os.path.dirname(path) or "."
    if os.access(path, os.W_OK) and os.access(folder, os.W_OK):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        connection.pragma("query_only", "on")
        return connection
    log = f"{path}-wal"
    # `immutable` makes SQLite ignore a log; a file with one
    # would then be read as it was before its last commits.
    is_fixed = not os.path.exists(log) or not os.path.getsize(log)
    address = f"file:{quote(os.path.abspath(path))}?mode=ro{'&immutable=1' if is_fixed else ''}"
    return apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def prepare(connection: apsw.Connection, path: str, way: OpenOptions) -> None:
    version = version_of(connection, path)
    if way.is_read_only:
        check_version(version, path)
        check_pages(connection, path)
        return
    connection.pragma("synchronous", "full")
    connection.pragma("secure_delete", "on")  # what is deleted is overwritten with zeros
    if path != MEMORY:
        connection.pragma("journal_mode", way.journal)
    connection.wal_autocheckpoint(0)  # the storage does it: what fails then is no failure of a commit
    if version < VERSION:
        is_shared = version > 0 and way.vfs is None and path != MEMORY
        # An older release that has the file open would go on
        # writing rows in its own form into the new tables.
        with hold_unclaimed(path, OPEN_ELSEWHERE) if is_shared else nullcontext():
            while version < VERSION:
                migrate(connection, path, way.seal)
                version = version_of(connection, path)
    check_pages(connection, path)


def check_version(version: int, path: str) -> None:
    """Raise StoreError for a file that has to be written before it can be read."""
    if version == 0:
        raise StoreError(f"{path}: is empty")
    if version < VERSION:
        raise StoreError(f"{path}: an older release wrote it; open it once where it can be written")


def check_pages(connection: apsw.Connection, path: str) -> None:
    damage = connection.pragma("quick_check", 1)
    if damage != "ok":
        raise StoreError(f"{path}: the file is damaged ({damage}); restore it from a copy")


def version_of(connection: apsw.Connection, path: str) -> int:
    """Return the version; 0 for an empty file. Raises StoreError for a foreign file, or a newer release."""
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
    """Make the next version, unless another process has made it meanwhile. Raises FileTampered."""
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
    """Write all that is written inside, or nothing of it."""
    # Takes the lock for writing at once: a transaction that
    # reads first and writes later may fail in between.
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        # SQLite itself rolls back after some errors, and a second rollback would hide the first error.
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def sentence(error: apsw.Error) -> str:
    """Return what went wrong, in a sentence for the person who named the file."""
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

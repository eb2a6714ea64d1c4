"""A seal on a file: a key, stored outside of it, that reveals changes by other programs.

Law 1. The tag of a row covers its table and all its columns. Reading a row with a wrong tag raises an error.
Law 2. The total covers the set of rows: removing a row, or restoring an older state of it, changes the total.
Law 3. Temporary triggers update tags and total, in the transaction that changes the rows, so that no code
that writes rows can omit this.
Law 4. A commit is synced, then recorded in the anchor, then acknowledged. So after a crash the file is never
older than its anchor.

The total is MSet-Add-Hash of Clarke, Devadas, van Dijk, Gassend and Suh, "Incremental Multiset Hash Functions
and Their Application to Memory Integrity Checking", Asiacrypt 2003: a sum of keyed digests. It does not
depend on the order of rows, and a commit can update it without reading the rows that it does not write.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import Any, Final

import apsw
import msgpack
from msgspec import structs

from umi_core.data import Data
from umi_live.anchor import (
    TAG_BYTES,
    AnchorLine,
    SealOptions,
    advance_anchor,
    anchor_errors,
    create_anchor,
    read_anchor,
)
from umi_live.errors import FileTampered, StoreError

TABLES: Final = ("scope", "row", "receipt")  # all other tables are derived from these
SUMMED: Final = slice(32, 64)  # the part of a digest that is summed; not stored, so no sum can be predicted
MODULUS: Final = 2**256
UNCHECKED: Final = "null"
NO_STATE: Final = "its seal was taken away"
BAD_STATE: Final = "this is not its key, or its seal was changed"
OLDER: Final = "an older copy of the file was put in its place"

LOAD: Final = "select salt, number, row_count, definitions, nonce, total, tag from seal"
SAVE: Final = "update seal set number = ?, row_count = ?, definitions = ?, nonce = ?, total = ?, tag = ?"
RANDOM: Final = "select randomblob(16)"
DEFINITIONS: Final = "select type, name, tbl_name, sql from sqlite_schema order by type, name"
WHOSE: Final = "select user, agent from scope where number = ?"
# `after`, since an upsert that updates a row also fires `before insert`. Setting a tag fires no trigger.
TRIGGERS: Final = """
create temp trigger seal_insert_{table} after insert on main.{table} begin
    update {table} set tag = seal_add('{table}', {new}) where number = new.number; end;
create temp trigger seal_update_{table} after update of {columns} on main.{table} begin
    select seal_remove('{table}', {old}, old.tag);
    update {table} set tag = seal_add('{table}', {new}) where number = new.number; end;
create temp trigger seal_delete_{table} after delete on main.{table} begin
    select seal_remove('{table}', {old}, old.tag); end;
"""
# Disables triggers and views that other programs put into the file: they could call the seal's functions.
INERT: Final = (
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA,
)


class SealState(Data):
    """The state of the file after a commit, as recorded in its seal.

    `total`: the sum of the digests of all rows; `definitions`: a digest of the definitions of all tables.
    """

    number: int = 0
    row_count: int = 0
    total: int = 0
    definitions: bytes = b""
    tag: bytes = bytes(TAG_BYTES)


class Seal:
    """The seal of an open file. Its methods raise FileTampered if they find a change by another program."""

    def __init__(self, connection: apsw.Connection, path: str, options: SealOptions) -> None:
        self.connection, self.path, self.options = connection, path, options
        found: Any = connection.execute("select salt from seal").fetchone()
        found = found or connection.execute(RANDOM).fetchone()  # a new salt, which `write` stores
        self.salt = bytes(found[0])
        self.key = options.derive_key(self.salt)
        self.columns = {table: self._list_columns(table) for table in TABLES}
        self.last = self.now = SealState()  # `last`: the newest known commit; `now`: the one being written
        for setting in INERT:
            connection.config(setting, 0)
        functions: dict[str, Any] = {
            "seal_check": self._check,
            "seal_add": self._add,
            "seal_remove": self._remove,
        }
        for name, function in functions.items():
            connection.create_scalar_function(name, function)

    def _list_columns(self, table: str) -> list[str]:
        found: Any = self.connection.execute(f"select name from pragma_table_info('{table}')")
        return [name for (name,) in found if name != "tag"]

    # Rows.

    def check(self, table: str) -> str:
        """Return an SQL expression that raises FileTampered for a changed row of this table."""
        return f"seal_check('{table}', {', '.join(self.columns[table])}, tag)"

    def watch(self) -> None:
        """Update tags and total from now on, with every write of this connection."""
        for table, columns in self.columns.items():
            new, old = (", ".join(f"{which}.{it}" for it in columns) for which in ("new", "old"))
            self.connection.execute(
                TRIGGERS.format(table=table, columns=", ".join(columns), new=new, old=old)
            )
        # Otherwise "insert or replace" deletes the old row without firing its delete trigger.
        self.connection.pragma("recursive_triggers", "on")

    def _digest(self, *values: Any) -> bytes:
        return blake2b(msgpack.packb(values), key=self.key).digest()

    def _check(self, table: str, *values: Any) -> None:
        self._digest_checked(table, *values)

    def _digest_checked(self, table: str, *values: Any) -> bytes:
        """Return the digest of a row, compared with its tag, which is the last of `values`."""
        digest = self._digest(table, *values[:-1])
        if digest[:TAG_BYTES] != values[-1]:
            raise self.error(self._describe(table, values))
        return digest

    def _add(self, table: str, *values: Any) -> bytes:
        digest = self._digest(table, *values)
        self._count(1, digest)
        return digest[:TAG_BYTES]

    def _remove(self, table: str, *values: Any) -> None:
        self._count(-1, self._digest_checked(table, *values))

    def _count(self, sign: int, digest: bytes) -> None:
        total = (self.now.total + sign * int.from_bytes(digest[SUMMED])) % MODULUS
        self.now = structs.replace(self.now, row_count=self.now.row_count + sign, total=total)

    def _describe(self, table: str, values: tuple[Any, ...]) -> str:
        row = dict(zip(self.columns[table], values, strict=False))
        if table == "row":
            whose = self.connection.execute(WHOSE, (row["scope"],)).fetchone() or ("?", "?")
            what = "{} {} of user {!r}, agent {!r}".format(row["kind"], row["id"], *whose)
        elif table == "scope":
            what = f"the scope of user {row['user']!r}, agent {row['agent']!r}"
        else:
            what = f"the receipt of {row['key']!r}"
        return f"{what} {'was inserted' if values[-1] is None else 'was changed'} by another program"

    def error(self, message: str) -> FileTampered:
        return FileTampered(f"{self.path}: {message}; restore the file from a copy")

    # The total.

    def load(self) -> SealState:
        """Return the state of the file. Raises FileTampered for a wrong key, or a state older than `last`."""
        rows: list[Any] = self.connection.execute(LOAD).fetchall()
        if len(rows) != 1:
            raise self.error(NO_STATE)
        salt, *values, tag = rows[0]
        number, row_count, definitions, nonce, total = values
        if salt != self.salt or tag != self._digest("seal", *values)[:TAG_BYTES]:
            raise FileTampered(f"{self.path}: {BAD_STATE}")
        if number < self.last.number:
            raise self.error(OLDER)
        unmasked = (int.from_bytes(total) - self._mask(nonce)) % MODULUS
        return SealState(number, row_count, unmasked, definitions, tag)

    def save(self) -> None:
        """Write the state `now` into the seal, with the number of the next commit."""
        [(nonce,)] = self.connection.execute(RANDOM)
        masked = ((self.now.total + self._mask(nonce)) % MODULUS).to_bytes(32)
        values = self.now.number + 1, self.now.row_count, self.now.definitions, nonce, masked
        tag = self._digest("seal", *values)[:TAG_BYTES]
        self.connection.execute(SAVE, (*values, tag))
        self.now = structs.replace(self.now, number=values[0], tag=tag)

    def _mask(self, nonce: bytes) -> int:
        return int.from_bytes(self._digest("mask", nonce)[SUMMED])

    def begin(self) -> None:
        """Read the state. Called at the beginning of a transaction that writes."""
        self.now = self.last = self.load()

    def end(self) -> None:
        """Write the state if rows were written. Called at the end of a transaction."""
        if self.now != self.last:
            self.save()

    def acknowledge(self) -> None:
        """Record the committed transaction, also in the anchor. Raises apsw.IOError if that fails."""
        self.last = self.now
        if self.options.anchor is not None:
            try:
                advance_anchor(self.options, self.line())
            except OSError as error:
                raise apsw.IOError(f"{self.options.anchor}: {error.strerror}") from error

    def refuse_unsealed(self) -> StoreError:
        """Return the error for a file with rows but no seal; an anchor shows whether it was sealed once."""
        found = self.find_anchor()
        if found is not None and found.number:
            return self.error(NO_STATE)
        return StoreError(f"{self.path}: is not sealed; `umi-live seal` seals it")

    def settle_anchor(self) -> None:
        """Write the newest commit into the anchor; create the anchor if it is absent."""
        self.last = self.now
        if self.options.anchor is not None:
            if self.find_anchor() is None:
                create_anchor(self.options, self.line())
            with anchor_errors(self.options):
                advance_anchor(self.options, self.line())

    def line(self) -> AnchorLine:
        return AnchorLine(self.salt, self.last.number, self.last.tag)

    def create(self) -> None:
        """Seal a file for the first time and create its anchor. The caller has begun a transaction."""
        if self.options.anchor is not None:
            # Before the commit: a crash in between leaves an anchor of commit 0, which may be replaced.
            create_anchor(self.options, self.line())
        self.write()

    def write(self) -> None:
        """Seal all rows in their present state. The caller has begun a transaction."""
        if not self.connection.execute("select 1 from seal").fetchone():
            self.connection.execute("insert into seal values (?, 0, 0, x'', x'', x'', x'')", (self.salt,))
        self.now = SealState(self.last.number, definitions=self._digest_definitions())
        for table in TABLES:
            columns = self._list_columns(table)
            self.connection.execute(f"update {table} set tag = seal_add('{table}', {', '.join(columns)})")
        self.save()

    def _digest_definitions(self) -> bytes:
        return self._digest("definitions", self.connection.execute(DEFINITIONS).fetchall())[:TAG_BYTES]

    # Checks of the whole file.

    def read_anchor(self) -> AnchorLine | None:
        """Return the commit in the anchor; None without an anchor. Raises StoreError if its file is missing.

        Call this before reading the database: a commit in between makes the database newer, which is allowed.
        """
        found = self.find_anchor()
        if found is None and self.options.anchor is not None:
            raise StoreError(f"{self.options.anchor}: is not there; `umi-live seal` writes it")
        return found

    def find_anchor(self) -> AnchorLine | None:
        """Return the commit in the anchor; None if no anchor is configured or it does not exist."""
        if self.options.anchor is None:
            return None
        with anchor_errors(self.options):
            return read_anchor(self.options)

    def verify(self, anchor: AnchorLine | None = None) -> None:
        """Raise FileTampered for the first change that is found. The caller has begun a transaction."""
        with closing(self.find_changes(anchor)) as changes:
            for change in changes:
                raise self.error(change)

    def find_changes(self, anchor: AnchorLine | None = None) -> Generator[str]:
        """Read all rows and yield a sentence for each change. Raises FileTampered if the seal was changed."""
        self.now = self.last = self.load()
        if anchor is not None:
            yield from self._compare_anchor(anchor)
        row_count, total, is_sound = 0, 0, True
        for table, columns in self.columns.items():
            rows = self.connection.execute(f"select {', '.join(columns)}, tag from {table}")
            try:
                for values in rows:
                    digest = self._digest(table, *values[:-1])
                    row_count, total = row_count + 1, total + int.from_bytes(digest[SUMMED])
                    if digest[:TAG_BYTES] != values[-1]:
                        is_sound = False
                        yield self._describe(table, values)
            except UnicodeDecodeError:  # SQLite stores any bytes as a text without checking them
                yield f"a text in its table {table} is no UTF-8"
                return
        if self.last.definitions != self._digest_definitions():
            yield "its tables were changed by another program"
        if row_count != self.last.row_count:
            yield f"it has {row_count:,} rows, and its seal counts {self.last.row_count:,}"
        elif is_sound and total % MODULUS != self.last.total:
            yield "a row was put back as it was before"

    def _compare_anchor(self, found: AnchorLine) -> Iterator[str]:
        own = self.line()
        if found.salt != own.salt:
            yield f"{self.options.anchor} is the anchor of another file"
        elif found.number > own.number:
            yield f"{OLDER}: its commit is {own.number:,}, and {found.number:,} in its anchor"
        elif found.number == own.number and found != own:
            yield f"its commit {own.number:,} is another one than in its anchor"


def find_seal(connection: apsw.Connection, path: str, options: SealOptions | None) -> Seal | None:
    """Return the seal of a file; None if it has none. Raises StoreError if it has one but no key is given."""
    if connection.execute("select 1 from seal").fetchone() is None:
        return None
    if options is None:
        raise StoreError(f"{path}: is sealed; open it with its key")
    return Seal(connection, path, options)

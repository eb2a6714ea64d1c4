"""SqliteStorage: what a storage must promise (docs/storage.md), on one file of SQLite, or in memory.

Law 1. A batch is one transaction with its key and its receipt, synced before it is acknowledged.
Law 2. The version of a row goes on after a delete: what is deleted leaves its number behind.
Law 3. A read is one transaction. Law 4. A transaction that fails leaves file and indexes as they were.
Law 5. The next read sees what any other code has written into the file, in this process or another.
Law 6. When a commit that deletes is acknowledged, neither the file nor its log holds bytes of what was
deleted, nor does the index of words.
Law 7. If the file is sealed, every row that is read, written over or compared has its own tag.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import apsw
import attrs

from umi_core.conditions import Where, admits
from umi_core.data import Owner
from umi_core.limits import PAGE_ROW_COUNT_MAX, RECEIPT_MS_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    FailureKind,
    Query,
    Write,
)
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.policies.term_scores import score_rows
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Address, Body, Entity, Row, Vector
from umi_core.values import Scope
from umi_live.anchor import SealOptions
from umi_live.columns import RowKey, body_of, put_row, read_versions, row_at, texts_of, written_versions
from umi_live.conditions import clause, excluded_ids
from umi_live.errors import StoreError
from umi_live.remains import has_remains, pieces_of
from umi_live.schema import MEMORY, OpenOptions, open_connection, sentence, transaction
from umi_live.seal import UNCHECKED, Seal, find_seal
from umi_live.search import Index, Mask

INDEX_COUNT_MAX: Final = 32  # scopes whose entities are kept in memory
PRUNED_COUNT_MAX: Final = 20  # old receipts that one commit deletes: more than it writes
PLACE: Final = "scope = ? and kind = ? and id = ?"
LIVE: Final = "scope = ? and kind = ? and body is not null"
# `{check}`: see `Seal.check`
COLUMNS: Final = "id, version, body, components, {check}"
IN_ROW: Final = f"select number, version, body is not null, {{check}} from row where {PLACE}"
ONE: Final = f"select {COLUMNS} from row where {PLACE} and body is not null"
LAST: Final = "select max(changed) from row where scope = ? and kind in ('entity', 'vector')"
ABSENT: Final = (0, 0, 0)  # number, version, is it there
NEW: Final = (
    "select not exists (select 1 from scope union all select 1 from row union all select 1 from receipt)"
)
OPTIMIZE: Final = "insert into word (word) values ('optimize')"  # deleted words stay in the index until then
TEXTLESS: Final = ("receipt", "epoch", "head", "vector", "access", "membership")
REPLACING: Final = (
    "core",
    "change",
    "category",
    "reflection",
    "moved",
)  # a newer body may have to erase an older one

STATES_OF_FACT: Final = {"entity": "ended", "ended": "entity"}  # and the other one of each

Place = tuple[int, int]  # number of a scope, and of a commit in it


@attrs.define
class TransactionCache(Owner):
    """All that a transaction has read and written so far, so that nothing is read twice.

    `places`: of the commit at hand. `rows`, by number of the scope, kind, id: number, version, is it there.
    """

    numbers: dict[Scope, int] = attrs.field(factory=dict)
    last: dict[Scope, int] = attrs.field(factory=dict)  # the number of the last commit in a scope
    places: dict[Scope, Place] = attrs.field(factory=dict)
    rows: dict[RowKey, tuple[int, int, int]] = attrs.field(factory=dict)
    moved: frozenset[RowKey] = frozenset()  # of facts that the commit at hand puts elsewhere
    erases: bool = False  # whether something that was written is to be nowhere any more
    erased: set[bytes] = attrs.field(factory=set)  # pieces of its texts
    changes_words: bool = False  # and whether its words are


class SqliteStorage:
    """One connection. Not for two threads at a time. Raises StoreError for a file that cannot be used.

    All its methods raise FileTampered for a file that is sealed and was changed.
    """

    def __init__(self, path: str, way: OpenOptions = OpenOptions()) -> None:  # noqa: B008  # frozen
        self.path = path
        self.connection = open_connection(path, way)
        self.way, self.log_pages = way, 0
        try:
            self.seal = self._open_seal()
        except BaseException as error:
            self.connection.close()
            if isinstance(error, apsw.Error):
                raise StoreError(f"{path}: {sentence(error)}") from error
            raise
        self.columns = COLUMNS.format(check=self._check("row"))
        self.one, self.in_row = (sql.format(check=self._check("row")) for sql in (ONE, IN_ROW))
        self.owes_empty_log = False
        self.erased = set[bytes]()  # pieces of texts that were deleted since the log was last emptied
        self.connection.set_wal_hook(self._note_log)
        self.oldest_ms = 0  # no receipt is older
        self.indexes: dict[Scope, Index] = {}  # the longest unused first

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

    def commit(self, commit: Commit, now_ms: int) -> Committed | EffectFailed:
        """Do the batch, or say why not. Raises apsw.Error if the file fails: `failure` of that."""
        [answer] = self.commit_all([commit], now_ms)
        return answer

    def commit_all(self, commits: Sequence[Commit], now_ms: int) -> list[Committed | EffectFailed]:
        """Do batches in their order, made durable together in one wait for the disk, or none of them."""
        known, oldest_ms = TransactionCache(), self.oldest_ms
        try:
            with self.writing():
                answers = [self._answer_to(commit, now_ms, known) for commit in commits]
                if known.erases and known.changes_words:
                    self.connection.execute(OPTIMIZE)
        except BaseException:
            # What `_prune` noted is rolled back with the transaction.
            self.oldest_ms = oldest_ms
            raise
        self.erased |= known.erased
        if known.erases or self.owes_empty_log:
            self.empty_log()
        elif self.log_pages > self.way.log_pages:
            self._shorten_log()
        self.acknowledge()
        return answers

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

    def _answer_to(self, commit: Commit, now_ms: int, known: TransactionCache) -> Committed | EffectFailed:
        """Answer a batch. Its key comes first: a batch that was done already conflicts with itself."""
        kept = self._find_answer(commit, now_ms)
        if kept is not None:
            return kept
        found = [(it.address, self._version(it.address, known)) for it in commit.expects]
        wanted = [it.version for it in commit.expects]
        changed = tuple(pair for pair, version in zip(found, wanted, strict=True) if pair[1] != version)
        if changed:  # nothing was written yet
            return EffectFailed(commit.request_id, "conflict", changed=changed)
        # Rows of one batch have one number of their commit in a scope; the next batch gets the next one.
        known.places.clear()
        return self._carry_out(commit, now_ms, known)

    def _find_answer(self, commit: Commit, now_ms: int) -> Committed | None:
        """Return the answer to the first batch of this key, if that is less than 24 hours ago."""
        row: Any = self.connection.execute(
            f"select versions, body, {self._check('receipt')} from receipt where key = ? and at_ms > ?",
            (commit.key, now_ms - RECEIPT_MS_MAX),
        ).fetchone()
        if row is None:
            return None
        body = None if row[1] is None else decode_row(row[1])
        return Committed(commit.request_id, read_versions(row[0]), body)

    def _carry_out(self, commit: Commit, now_ms: int, known: TransactionCache) -> Committed:
        if self.oldest_ms <= now_ms - RECEIPT_MS_MAX:
            self._prune(now_ms, known)
        known.moved = frozenset(self._list_moved(commit, known))
        versions = tuple([(write.address, self._write(write, known)) for write in commit.writes])
        body = next((write.body for write in commit.writes if write.address.kind == "receipt"), None)
        if commit.key:
            data = None if body is None else encode_row(body)
            self.connection.execute(
                "insert or replace into receipt (key, at_ms, versions, body) values (?, ?, ?, ?)",
                (commit.key, now_ms, written_versions(versions), data),
            )
        return Committed(commit.request_id, versions, body)

    def _list_moved(self, commit: Commit, known: TransactionCache) -> Iterator[RowKey]:
        """Yield the places that a fact leaves for the row of its other state, in the same commit."""
        for write in commit.writes:
            other = STATES_OF_FACT.get(write.address.kind)
            if other is not None and write.body is not None:
                yield self._scope(write.address.scope, known), other, write.address.id

    def _prune(self, now_ms: int, known: TransactionCache) -> None:
        """Delete expired keys, with their receipt rows if those are still theirs."""
        self.oldest_ms = now_ms
        sql = "select number, at_ms, versions from receipt order by number limit ?"
        # a few at a time: after a day without commits the first one must not wait for thousands of deletes
        oldest: list[Any] = self.connection.execute(sql, (PRUNED_COUNT_MAX,)).fetchall()
        for number, at_ms, versions in oldest:
            self.oldest_ms = at_ms
            if at_ms > now_ms - RECEIPT_MS_MAX:
                break
            for address, version in read_versions(versions):
                if address.kind == "receipt" and self._version(address, known) == version:
                    self._write(Write(address, None), known)
            self.connection.execute("delete from receipt where number = ?", (number,))

    def _write(self, write: Write, known: TransactionCache) -> int:
        """Return the version after it. Deleting what is absent changes nothing."""
        address, body = write.address, write.body
        if address.scope not in known.places:
            known.places[address.scope] = self._place(address.scope, known)
        scope, changed = known.places[address.scope]
        row, version, is_there = self._in_row(address, scope, known)
        if body is None and not is_there:
            return version
        key = (scope, address.kind, address.id)
        # Only what erases empties the log at once; every other commit leaves that for when the log is long.
        if is_there and self._erases(key, body, known):
            known.erases = True
            known.erased |= pieces_of(self._body(key)) - pieces_of(body)
            known.changes_words = known.changes_words or address.kind in STATES_OF_FACT
        row = put_row(self.connection, key, version + 1, body, changed, row)
        known.rows[key] = row, version + 1, body is not None
        return version + 1

    def _erases(self, place: RowKey, body: Body | None, known: TransactionCache) -> bool:
        """Return whether a stored row holds texts that must be erased, and not only replaced.

        A fact that ends, or is current again, only moves to the row of the other kind.
        """
        if body is None and place[1] in STATES_OF_FACT:
            return place not in known.moved
        if body is None:
            return place[1] not in TEXTLESS
        if place[1] not in REPLACING:
            return False
        # {"tea", "jam"} by {"tea", "jam", "milk"}: only grows. By {"tea"}: "jam" must leave the log, too
        return not texts_of(self._body(place)) <= texts_of(body)

    def _body(self, place: RowKey) -> Body | None:
        """Return the body of a row that is there; None if its bytes are damaged."""
        old: Any = self.connection.execute(self.one, place).fetchone()
        return body_of(*old[2:4])

    def _place(self, scope: Scope, known: TransactionCache) -> Place:
        """Return the number of the scope, and that of the commit at hand in it."""
        number, execute = self._scope(scope, known), self.connection.execute
        if not number:
            made: Any = execute(
                "insert into scope (user, agent) values (?, ?) returning number", (scope.user, scope.agent)
            ).fetchone()
            number = known.numbers[scope] = made[0]
        if scope not in known.last:
            last: Any = execute(LAST, (number,)).fetchone()
            known.last[scope] = last[0] or 0
        known.last[scope] += 1
        return number, known.last[scope]

    def adopt(self, scope: Scope, embedder: str) -> None:
        """Set the embedder of a scope; vectors of another one are deleted, a page at a time.

        Their entities are marked, so that a rebalance embeds them again; until then words find them. No other
        memory may have the scope open. It writes in any case: so a file that cannot be written is noticed.
        """
        execute = self.connection.execute
        is_left = self.embedder_of(scope) not in (None, embedder)
        while is_left:
            with self.writing():
                # A page in each transaction: other memories of the file can commit in between.
                is_left = self._take_vectors(scope) == PAGE_ROW_COUNT_MAX
        with self.writing():
            number, _ = self._place(scope, TransactionCache())
            execute("update scope set embedder = ? where number = ?", (embedder, number))
        self.acknowledge()

    def embedder_of(self, scope: Scope) -> str | None:
        """Return the name of the embedder of a scope; None if it has no vectors yet."""
        sql = "select embedder from scope where number = ?"
        found: Any = self.connection.execute(sql, (self._scope(scope),)).fetchone()
        return found[0] if found else None

    def _take_vectors(self, scope: Scope) -> int:
        """Delete a page of vectors at most; return how many."""
        known = TransactionCache()
        page = self._page(0, ByFilter(scope, ("vector",)))
        for row in page.rows:
            self._write(Write(row.address, None), known)
            at = attrs.evolve(row.address, kind="entity")
            for found in self._by_ids(ByIds((at,))):
                if isinstance(found.body, Entity):
                    self._write(Write(at, attrs.evolve(found.body, vector_missing=True)), known)
        return len(page.rows)

    def _scope(self, scope: Scope, known: TransactionCache | None = None) -> int:
        """Return its number; 0 if nothing was ever stored in it."""
        if known is not None and scope in known.numbers:
            return known.numbers[scope]
        sql = f"select number, {self._check('scope')} from scope where user = ? and agent = ?"
        found = self.connection.execute(sql, (scope.user, scope.agent)).fetchone()
        number = int(found[0]) if found else 0
        if known is not None:
            known.numbers[scope] = number
        return number

    def _version(self, address: Address, known: TransactionCache) -> int:
        """Return the version of a row; 0 is absent."""
        _, version, is_there = self._in_row(address, self._scope(address.scope, known), known)
        return version if is_there else 0

    def _in_row(self, address: Address, scope: int, known: TransactionCache) -> tuple[int, int, int]:
        key = (scope, address.kind, address.id)
        if key not in known.rows:
            found: Any = self.connection.execute(self.in_row, key).fetchone()
            known.rows[key] = found[:3] if found else ABSENT
        return known.rows[key]

    # Reads.

    def read(self, request_id: int, query: Query) -> ReadDone:
        """Read one instant of the file. Raises apsw.Error if the file fails."""
        with self.reading():
            return self._read(request_id, query)

    def _read(self, request_id: int, query: Query) -> ReadDone:
        match query:
            case ByIds():
                return ReadDone(request_id, tuple(self._by_ids(query)))
            case ByFilter():
                return self._page(request_id, query)
            case CountRows():
                return ReadDone(request_id, count=self._count(query))
        return ReadDone(request_id, tuple(self._rank_rows(query)))

    def _by_ids(self, query: ByIds) -> Iterator[Row]:
        known = TransactionCache()
        for address in query.addresses:
            place = self._scope(address.scope, known), address.kind, address.id
            found = self.connection.execute(self.one, place).fetchone()
            if found:
                yield row_at(address, found)

    def _page(self, request_id: int, query: ByFilter) -> ReadDone:
        limit = min(max(0, PAGE_ROW_COUNT_MAX if query.limit is None else query.limit), PAGE_ROW_COUNT_MAX)
        kind, _, row_id = (query.cursor or "").partition("/")
        page, cursor = list[Row](), query.cursor or ""
        for row in self._matching(query.scope, query.kinds, query.where, (kind, row_id)):
            if len(page) == limit:
                return ReadDone(request_id, tuple(page), cursor)
            page.append(row)
            cursor = f"{row.address.kind}/{row.address.id}"
        return ReadDone(request_id, tuple(page))

    def _matching(
        self, scope: Scope, kinds: tuple[str, ...], where: Where, after: tuple[str, str] = ("", "")
    ) -> Iterator[Row]:
        """Rows of these kinds in order (kind, id) behind a place."""
        number = self._scope(scope)
        for kind in sorted(kind for kind in dict.fromkeys(kinds) if kind >= after[0]):
            behind, bindings, is_all = clause(where, kind, number)
            first = after[1] if kind == after[0] else ""
            sql = f"select {self.columns} from row where {LIVE} and id > ? {behind} order by id"
            for found in self.connection.execute(sql, (number, kind, first, *bindings)):
                row = row_at(Address(scope, kind, found[0]), found)
                if is_all or admits(where, row.body):
                    yield row

    def _count(self, query: CountRows) -> int:
        number, count = self._scope(query.scope), 0
        for kind in dict.fromkeys(query.kinds):
            behind, bindings, is_all = clause(query.where, kind, number)
            if is_all:
                sql = f"select count(*) from row where {LIVE} {behind}"
                [(found,)] = self.connection.execute(sql, (number, kind, *bindings))
                count += found
            else:
                count += sum(1 for _ in self._matching(query.scope, (kind,), query.where))
        return count

    def _rank_rows(self, query: ByVector | ByWords) -> Iterator[Row]:
        """Rows by relevance: filtered, then ordered by (score descending, id), then cut."""
        if query.kind != "entity":
            yield from self._scan_rows(query)
            return
        index = self._index(query.scope)
        if index is None:
            return
        # Inside the transaction of this read, so index and rows are of one instant (law 3).
        index.follow(self.connection, self._check("row"))
        allowed = self._allow_rows(index, query.where)
        limit, least_ppm = min(query.limit, PAGE_ROW_COUNT_MAX), max(1, query.min_score_ppm)
        if isinstance(query, ByVector):
            hits = index.by_vector(query.vector, limit, least_ppm, allowed)
        else:
            hits = index.by_words(query.text, limit, least_ppm, allowed, self.connection)
        numbers = index.numbers[[slot for _, slot in hits]].tolist()
        marks = ", ".join("?" * len(hits))
        columns = f"number, version, body, components, {self._check('row')}"
        sql = f"select {columns} from row where number in ({marks})"
        found: dict[int, Any] = {row[0]: row for row in self.connection.execute(sql, numbers)}
        for (score_ppm, slot), number in zip(hits, numbers, strict=True):
            yield row_at(Address(query.scope, "entity", index.ids[slot]), found[number], score_ppm)

    def _scan_rows(self, query: ByVector | ByWords) -> list[Row]:
        """Search kinds without an index: those of which a scope has few rows, or long ones."""
        rows = [row for row in self._matching(query.scope, (query.kind,), ()) if row.body is not None]
        if isinstance(query, ByWords):
            scores = score_rows(
                query.text, [row.body.name_and_text() for row in rows if row.body is not None]
            )
        else:
            scores = [self._vector_score(query, row) for row in rows]
        least_ppm, limit = max(1, query.min_score_ppm), min(query.limit, PAGE_ROW_COUNT_MAX)
        found = [
            attrs.evolve(row, score_ppm=score_ppm)
            for row, score_ppm in zip(rows, scores, strict=True)
            if score_ppm >= least_ppm and admits(query.where, row.body)
        ]
        return sorted(found, key=lambda row: (-(row.score_ppm or 0), row.address.id))[: max(0, limit)]

    def _vector_score(self, query: ByVector, row: Row) -> int:
        found = next(self._by_ids(ByIds((attrs.evolve(row.address, kind="vector"),))), None)
        vector = found.body if found is not None else None
        return vector_relevance_ppm(query.vector, vector.components) if isinstance(vector, Vector) else 0

    def _allow_rows(self, index: Index, where: Where) -> Mask | None:
        """Return the entities that hold the conditions; None without any. For ids alone no row is read."""
        if not where:
            return None
        others = tuple(it for it in where if excluded_ids(it) is None)
        mask = index.mask(self._numbers(index.scope, others)) if others else index.everything()
        for condition in where:
            index.exclude(mask, excluded_ids(condition) or ())
        return mask

    def _numbers(self, scope: int, where: Where) -> Iterator[int]:
        """Yield the rows of entities that hold the conditions."""
        behind, bindings, is_all = clause(where, "entity", scope)
        sql = f"select number, body from row where {LIVE} {behind}"
        for number, body in self.connection.execute(sql, (scope, "entity", *bindings)):
            if is_all or admits(where, body_of(body, None)):
                yield number

    def _index(self, scope: Scope) -> Index | None:
        """Return the index of a scope; a new one if the scope was deleted and made again."""
        index, number = self.indexes.pop(scope, None), self._scope(scope)
        if not number:
            return None
        if index is None or index.scope != number:
            index = Index(number)
        self.indexes[scope] = index
        if len(self.indexes) > INDEX_COUNT_MAX:
            del self.indexes[next(iter(self.indexes))]
        return index


# Failures.


def failure(error: apsw.Error, commit: bool) -> FailureKind:
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

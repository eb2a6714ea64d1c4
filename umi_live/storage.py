"""SqlStorage: a storage (docs/storage.md), in the SQL that SQLite and PostgreSQL share.

Law 1. A batch, its key and its receipt are written in one transaction, durable before it is acknowledged.
Law 2. The version of a row keeps counting after a delete: a deleted row stays in its table without a body.
Law 3. A read is one transaction. Law 4. A transaction that fails leaves tables and indexes unchanged.
Law 5. A read sees every earlier commit, also of another connection or process.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Final

import numpy as np
from msgspec import structs

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
from umi_live.claims import Locks
from umi_live.columns import (
    RowKey,
    SqlConnection,
    body_of,
    read_versions,
    row_at,
    texts_of,
    written_versions,
)
from umi_live.conditions import clause, excluded_ids
from umi_live.errors import InDoubt
from umi_live.remains import pieces_of
from umi_live.seal import UNCHECKED, Seal
from umi_live.search import Index, Mask

INDEX_COUNT_MAX: Final = 32  # scopes whose entities are indexed in RAM
PRUNED_COUNT_MAX: Final = 20  # expired receipts that one commit deletes; it writes one, so a backlog shrinks
OF_KEY: Final = "scope = ? and kind = ? and id = ?"
PRESENT: Final = "scope = ? and kind = ? and body is not null"
# `{check}` is replaced by the expression of `Seal.check`.
COLUMNS: Final = "id, version, body, components, {check}"
IN_ROW: Final = f"select number, version, body is not null, {{check}} from row where {OF_KEY}"
ONE: Final = f"select {COLUMNS} from row where {OF_KEY} and body is not null"
LAST: Final = "select max(changed) from row where scope = ? and kind in ('entity', 'vector')"
ABSENT: Final = (0, 0, 0)  # number, version, whether the row has a body
OLDEST: Final = "select number, at_ms, versions from receipt order by number limit ?"
CHUNK_COUNT: Final = PAGE_ROW_COUNT_MAX + 1  # rows of one statement: a page, and one to see if more follow
TEXTLESS: Final = ("receipt", "epoch", "head", "vector", "access", "membership", "grant")
REPLACING: Final = (
    "core",
    "change",
    "category",
    "reflection",
    "moved",
)  # kinds whose newer bodies may lack texts of older ones, which must then be erased
STATES_OF_FACT: Final = {"entity": "ended", "ended": "entity"}  # each row kind of a fact, and the other one

CommitNumber = tuple[int, int]  # the number of a scope, and the number of a commit in that scope


class TransactionCache(Owner):
    """Caches what a transaction has read and written, so that it reads nothing twice."""

    numbers: dict[Scope, int] = {}
    last: dict[Scope, int] = {}  # the number of the last commit in each scope
    current: dict[Scope, CommitNumber] = {}  # the number of the current commit in each scope that it writes
    rows: dict[RowKey, tuple[int, int, int]] = {}  # number of the row, version, whether it has a body
    moved: frozenset[RowKey] = frozenset()  # rows whose facts the current commit moves to the other kind
    erases: bool = False  # whether texts must be erased from the file and its log
    erased: set[bytes] = set()  # pieces of these texts
    changes_words: bool = False  # whether words of these texts must be removed from the index


@contextmanager
def reporting_doubt(storage: "SqlStorage") -> Iterator[None]:
    """Turn an error after which it is unknown whether the commit inside was done into InDoubt."""
    try:
        yield
    except storage.errors as error:
        if storage.failure(error, commit=True) != "unknown":
            raise
        doubt = f"{storage.path}: {storage.describe_error(error)}; it may have been done or not: do it again"
        raise InDoubt(None, doubt) from error


def wall_ms() -> int:
    """Return the time of this machine, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class SqlStorage:
    """A storage with one connection, for one thread at a time. Raises an error of `errors` on failures."""

    errors: ClassVar[tuple[type[Exception], ...]]
    connection: SqlConnection
    seal: Seal | None = None

    def __init__(self, path: str) -> None:
        self.path = path  # shown in error messages
        self.columns = COLUMNS.format(check=self._check("row"))
        self.one, self.in_row = (sql.format(check=self._check("row")) for sql in (ONE, IN_ROW))
        self.oldest_ms = 0  # a lower bound of the times of all receipts
        self.indexes: dict[Scope, Index] = {}  # the least recently used first

    def commit(self, commit: Commit, now_ms: int) -> Committed | EffectFailed:
        """Do the batch, or return the failure. Raises one of `errors` if the database fails."""
        [answer] = self.commit_all([commit], now_ms)
        return answer

    def commit_all(self, commits: Sequence[Commit], now_ms: int) -> list[Committed | EffectFailed]:
        """Do batches in order in one transaction, with one wait for the disk: all are durable, or none."""
        known, oldest_ms = TransactionCache(), self.oldest_ms
        try:
            with self.writing():
                self._prepare(commits, now_ms, known)
                answers = [self._answer_to(commit, now_ms, known) for commit in commits]
                if known.erases and known.changes_words:
                    self._drop_words()
        except BaseException:
            # The deletes of `_prune` were rolled back, so its change of `oldest_ms` is undone as well.
            self.oldest_ms = oldest_ms
            raise
        self._erase(known)
        self.acknowledge()
        return answers

    # Overridden by SQLite and PostgreSQL.

    def writing(self) -> AbstractContextManager[None]:
        """Run the code inside as one transaction, which commits all its writes or none."""
        raise NotImplementedError

    def reading(self) -> AbstractContextManager[None]:
        """Run the reads inside on one snapshot of the database."""
        raise NotImplementedError

    def _check(self, table: str) -> str:
        """Return an SQL expression that, in a sealed file, raises FileTampered for a changed row."""
        return UNCHECKED

    def _prepare(self, commits: Sequence[Commit], now_ms: int, known: TransactionCache) -> None:
        """Prepare a transaction, before its first batch."""

    def lock_scopes(self, scopes: Iterable[Scope], known: TransactionCache) -> None:
        """Keep other transactions from writing rows of these scopes until this transaction ends."""

    def _put_receipt(self, key: str, at_ms: int, versions: bytes, body: bytes | None) -> None:
        """Write a key with the answer to its batch; replaces an expired one with the same key."""
        raise NotImplementedError

    def _put(self, key: RowKey, version: int, body: Body | None, changed: int, row: int) -> int:
        """Write a row with its ties and words; return its number. `row`: that number, or 0 for a new row."""
        raise NotImplementedError

    def _drop_words(self) -> None:
        """Remove the words of deleted rows from the word index, inside the transaction that deletes."""

    def _erase(self, known: TransactionCache) -> None:
        """Erase what a transaction deleted, after it and before its batches are acknowledged."""

    def acknowledge(self) -> None:
        """Record a commit outside the database, before its caller gets the reply."""

    def failure(self, error: Exception, commit: bool) -> FailureKind:
        """Return the kind of failure that a memory gets for an error of a commit, or else of a read."""
        raise NotImplementedError

    def describe_error(self, error: Exception) -> str:
        """Return one of `errors` as a sentence for the user who named the database."""
        raise NotImplementedError

    def clock_ms(self) -> int:
        """Return the time by which keys expire, from a clock that all hosts of the database share."""
        return wall_ms()

    def rewrite(self) -> None:
        """Rewrite the whole database without deleted bytes.

        Needed once for a file from which an older release deleted rows without overwriting them.
        """
        raise NotImplementedError

    def open_locks(self) -> Locks | None:
        """Return the locks for claims; None if no other process can open the database."""
        raise NotImplementedError

    def describe_pages(self) -> tuple[str, list[str]]:
        """Return a line about the size of the database, and a line for each damaged page."""
        raise NotImplementedError

    def stream_rows(self, sql: str) -> Iterable[Any]:
        """Yield the rows of a statement without loading all of them at a time."""
        raise NotImplementedError

    def spell_token(self, name: str) -> str:
        """Return the spelling of a token in the word index."""
        return name

    def list_words(self) -> Iterable[tuple[str, int]]:
        """Return each token of the word index with the number of each row that has it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        raise NotImplementedError

    # Commits.

    def _answer_to(self, commit: Commit, now_ms: int, known: TransactionCache) -> Committed | EffectFailed:
        """Do a batch and return its answer. A batch with a known key gets the answer of the first one.

        The key is checked before the versions: a batch that was done already would conflict with itself.
        """
        earlier = self._find_answer(commit, now_ms)
        if earlier is not None:
            return earlier
        found = [(it.address, self._version(it.address, known)) for it in commit.expects]
        wanted = [it.version for it in commit.expects]
        changed = tuple(pair for pair, version in zip(found, wanted, strict=True) if pair[1] != version)
        if changed:  # nothing was written yet
            return EffectFailed(commit.request_id, "conflict", changed=changed)
        # All rows of a batch in one scope share one commit number; the next batch gets the next number.
        known.current.clear()
        return self._carry_out(commit, now_ms, known)

    def _find_answer(self, commit: Commit, now_ms: int) -> Committed | None:
        """Return the answer to the first batch with this key, if that was less than 24 hours ago."""
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
        known.moved = frozenset(
            (self._scope(it.address.scope, known), other, it.address.id)
            for it in commit.writes
            if it.body is not None and (other := STATES_OF_FACT.get(it.address.kind)) is not None
        )
        versions = tuple([(write.address, self._write(write, known)) for write in commit.writes])
        body = next((write.body for write in commit.writes if write.address.kind == "receipt"), None)
        if commit.key:
            data = None if body is None else encode_row(body)
            self._put_receipt(commit.key, now_ms, written_versions(versions), data)
        return Committed(commit.request_id, versions, body)

    def _list_oldest(self) -> list[Any]:
        """Return number, time and versions of the oldest receipts."""
        # Limited: after a day without commits the first commit must not wait for thousands of deletes.
        found: list[Any] = self.connection.execute(OLDEST, (PRUNED_COUNT_MAX,)).fetchall()
        return found

    def _prune(self, now_ms: int, known: TransactionCache) -> None:
        """Delete expired keys, with their receipt rows unless a later batch has rewritten these."""
        self.oldest_ms = now_ms
        for number, at_ms, versions in self._list_oldest():
            self.oldest_ms = at_ms
            if at_ms > now_ms - RECEIPT_MS_MAX:
                break
            for address, version in read_versions(versions):
                if address.kind == "receipt" and self._version(address, known) == version:
                    self._write(Write(address, None), known)
            self.connection.execute("delete from receipt where number = ?", (number,))

    def _write(self, write: Write, known: TransactionCache) -> int:
        """Write a row and return its version; deleting one that is absent changes nothing."""
        address, body = write.address, write.body
        if address.scope not in known.current:
            known.current[address.scope] = self._number_commit(address.scope, known)
        scope, changed = known.current[address.scope]
        row, version, is_there = self._in_row(address, scope, known)
        if body is None and not is_there:
            return version
        key = (scope, address.kind, address.id)
        # Only a commit that erases texts empties the log immediately; others wait until the log is long.
        if is_there and self._erases(key, body, known):
            known.erases = True
            known.erased |= pieces_of(self._body(key)) - pieces_of(body)
            known.changes_words = known.changes_words or address.kind in STATES_OF_FACT
        row = self._put(key, version + 1, body, changed, row)
        known.rows[key] = row, version + 1, body is not None
        return version + 1

    def _erases(self, key: RowKey, body: Body | None, known: TransactionCache) -> bool:
        """Check whether replacing a row by `body` (None: deleting it) removes texts.

        A fact that ends, or becomes current again, only moves to the row of the other kind.
        """
        if body is None and key[1] in STATES_OF_FACT:
            return key not in known.moved
        if body is None:
            return key[1] not in TEXTLESS
        if key[1] not in REPLACING:
            return False
        # {"tea", "jam"} -> {"tea", "jam", "milk"} removes nothing; -> {"tea"} must erase "jam".
        return not texts_of(self._body(key)) <= texts_of(body)

    def _body(self, key: RowKey) -> Body | None:
        """Return the body of a row that has one; None if its bytes are damaged."""
        old: Any = self.connection.execute(self.one, key).fetchone()
        return body_of(*old[2:4])

    def _number_commit(self, scope: Scope, known: TransactionCache) -> CommitNumber:
        """Return the number of the scope, created if absent, and a new commit number in it."""
        number, execute = self._scope(scope, known), self.connection.execute
        if not number:
            made: Any = execute(
                'insert into scope ("user", agent) values (?, ?) returning number', (scope.user, scope.agent)
            ).fetchone()
            number = known.numbers[scope] = made[0]
        if scope not in known.last:
            last: Any = execute(LAST, (number,)).fetchone()
            known.last[scope] = last[0] or 0
        known.last[scope] += 1
        return number, known.last[scope]

    def adopt(self, scope: Scope, embedder: str) -> None:
        """Set the embedder of a scope, by its name; delete vectors of another embedder, a page at a time.

        Their facts are marked, so that a rebalance embeds them again; until then only words find them. No
        other memory may have the scope open. Always writes, so that an unwritable file is noticed at once.
        """
        is_left = self.embedder_of(scope) not in (None, embedder)
        while is_left:
            with self.writing():
                # One page per transaction, so that other memories of the file can commit in between.
                is_left = self._take_vectors(scope) == PAGE_ROW_COUNT_MAX
        with self.writing():
            known = TransactionCache()
            self.lock_scopes([scope], known)
            number, _ = self._number_commit(scope, known)
            self.connection.execute("update scope set embedder = ? where number = ?", (embedder, number))
        self.acknowledge()

    def embedder_of(self, scope: Scope) -> str | None:
        """Return the name of the embedder of a scope; None if it has no vectors yet."""
        sql = "select embedder from scope where number = ?"
        found: Any = self.connection.execute(sql, (self._scope(scope),)).fetchone()
        return found[0] if found else None

    def _make_index(self, scope: int) -> Index:
        return Index(scope)

    def _take_vectors(self, scope: Scope) -> int:
        """Delete at most a page of vectors, mark their facts, and return the number of deleted vectors."""
        known = TransactionCache()
        self.lock_scopes([scope], known)
        page = self._page(0, ByFilter(scope, ("vector",)))
        for row in page.rows:
            self._write(Write(row.address, None), known)
            at = structs.replace(row.address, kind="entity")
            for found in self._by_ids(ByIds((at,))):
                if isinstance(found.body, Entity):
                    self._write(Write(at, structs.replace(found.body, vector_missing=True)), known)
        return len(page.rows)

    def _scope(self, scope: Scope, known: TransactionCache | None = None) -> int:
        """Return the number of a scope; 0 if nothing was ever stored in it."""
        if known is not None and scope in known.numbers:
            return known.numbers[scope]
        sql = f'select number, {self._check("scope")} from scope where "user" = ? and agent = ?'
        found = self.connection.execute(sql, (scope.user, scope.agent)).fetchone()
        number = int(found[0]) if found else 0
        if known is not None:
            known.numbers[scope] = number
        return number

    def _version(self, address: Address, known: TransactionCache) -> int:
        """Return the version of a row; 0 if it is absent."""
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
        """Answer a query from one snapshot of the database. Raises one of `errors` if it fails."""
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

    def read_all(self, scope: Scope, kinds: tuple[str, ...]) -> Iterator[Row]:
        """Yield all rows of these kinds, by kind and id; each page is read from a snapshot of its own."""
        cursor, is_left = None, True
        while is_left:
            page = self.read(0, ByFilter(scope, kinds, cursor=cursor))
            yield from page.rows
            cursor = page.cursor
            is_left = cursor is not None

    def _by_ids(self, query: ByIds) -> Iterator[Row]:
        known = TransactionCache()
        for address in query.addresses:
            key = self._scope(address.scope, known), address.kind, address.id
            found = self.connection.execute(self.one, key).fetchone()
            if found:
                yield row_at(address, found)

    def _page(self, request_id: int, query: ByFilter) -> ReadDone:
        limit = min(max(0, PAGE_ROW_COUNT_MAX if query.limit is None else query.limit), PAGE_ROW_COUNT_MAX)
        kind, _, row_id = (query.cursor or "").partition("/")
        page, cursor = list[Row](), query.cursor or ""
        for row in self._matching(query.scope, query.kinds, query.where, (kind, row_id), limit + 1):
            if len(page) == limit:
                return ReadDone(request_id, tuple(page), cursor)
            page.append(row)
            cursor = f"{row.address.kind}/{row.address.id}"
        return ReadDone(request_id, tuple(page))

    def _matching(
        self,
        scope: Scope,
        kinds: tuple[str, ...],
        where: Where,
        after: tuple[str, str] = ("", ""),
        count: int = CHUNK_COUNT,
    ) -> Iterator[Row]:
        """Yield the rows of these kinds that meet the conditions, by kind and id.

        `after`: kind and id of the row before the first one. `count`: how many rows each statement reads.
        """
        number = self._scope(scope)
        for kind in sorted(kind for kind in dict.fromkeys(kinds) if kind >= after[0]):
            behind, bindings, is_all = clause(where, kind, number)
            first = after[1] if kind == after[0] else ""
            sql = f"select {self.columns} from row where {PRESENT} and id > ? {behind} order by id limit ?"
            is_left = True
            while is_left:
                part: list[Any] = self.connection.execute(
                    sql, (number, kind, first, *bindings, count)
                ).fetchall()
                is_left = len(part) == count
                for found in part:
                    first = found[0]
                    row = row_at(Address(scope, kind, first), found)
                    if is_all or admits(where, row.body):
                        yield row

    def _count(self, query: CountRows) -> int:
        number, count = self._scope(query.scope), 0
        for kind in dict.fromkeys(query.kinds):
            behind, bindings, is_all = clause(query.where, kind, number)
            if is_all:
                sql = f"select count(*) from row where {PRESENT} {behind}"
                [(found,)] = self.connection.execute(sql, (number, kind, *bindings))
                count += found
            else:
                count += sum(1 for _ in self._matching(query.scope, (kind,), query.where))
        return count

    def _rank_rows(self, query: ByVector | ByWords) -> Iterator[Row]:
        """Yield the rows that meet the conditions, by descending score, then by id, up to the limit."""
        if query.kind != "entity":
            yield from self._scan_rows(query)
            return
        index = self._index(query.scope)
        if index is None:
            return
        # Inside the transaction of this read, so that index and rows are from one snapshot (law 3).
        index.follow(self.connection, self._check("row"))
        allowed = self._allow_rows(index, query.where)
        limit, least_ppm = min(query.limit, PAGE_ROW_COUNT_MAX), max(1, query.min_score_ppm)
        if isinstance(query, ByVector):
            hits = index.by_vector(query.vector, limit, least_ppm, allowed)
        else:
            hits = index.by_words(query.text, limit, least_ppm, allowed, self.connection)
        if not hits:
            return
        numbers = index.numbers[[slot for _, slot in hits]].tolist()
        marks = ", ".join("?" * len(hits))
        columns = f"number, version, body, components, {self._check('row')}"
        sql = f"select {columns} from row where number in ({marks})"
        found: dict[int, Any] = {row[0]: row for row in self.connection.execute(sql, numbers)}
        for (score_ppm, slot), number in zip(hits, numbers, strict=True):
            yield row_at(Address(query.scope, "entity", index.ids[slot]), found[number], score_ppm)

    def _scan_rows(self, query: ByVector | ByWords) -> list[Row]:
        """Search a kind that has no index, since a scope has few rows of it, or long ones."""
        rows = [row for row in self._matching(query.scope, (query.kind,), ()) if row.body is not None]
        if isinstance(query, ByWords):
            scores = score_rows(
                query.text, [row.body.name_and_text() for row in rows if row.body is not None]
            )
        else:
            scores = self._vector_scores(query, rows)
        least_ppm, limit = max(1, query.min_score_ppm), min(query.limit, PAGE_ROW_COUNT_MAX)
        found = [
            structs.replace(row, score_ppm=score_ppm)
            for row, score_ppm in zip(rows, scores, strict=True)
            if score_ppm >= least_ppm and admits(query.where, row.body)
        ]
        return sorted(found, key=lambda row: (-(row.score_ppm or 0), row.address.id))[: max(0, limit)]

    def _vector_scores(self, query: ByVector, rows: Sequence[Row]) -> list[int]:
        """Return the score of each row in ppm, from the vector with its id; 0 if it has no vector."""
        vectors = ByIds(tuple(structs.replace(row.address, kind="vector") for row in rows))
        scores = {
            row.address.id: vector_relevance_ppm(query.vector, row.body.components)
            for row in self._by_ids(vectors)
            if isinstance(row.body, Vector)
        }
        return [scores.get(row.address.id, 0) for row in rows]

    def _allow_rows(self, index: Index, where: Where) -> Mask | None:
        """Return a mask of the facts that meet the conditions; None if there are no conditions.

        Conditions that only exclude ids are applied to the index, without a read.
        """
        if not where:
            return None
        others = tuple(it for it in where if excluded_ids(it) is None)
        mask = index.mask(self._numbers(index.scope, others)) if others else np.ones(len(index.ids), np.bool_)
        for condition in where:
            index.exclude(mask, excluded_ids(condition) or ())
        return mask

    def _numbers(self, scope: int, where: Where) -> Iterator[int]:
        """Yield the numbers of the rows of facts that meet the conditions."""
        behind, bindings, is_all = clause(where, "entity", scope)
        sql = f"select number, body from row where {PRESENT} {behind}"
        for number, body in self.connection.execute(sql, (scope, "entity", *bindings)):
            if is_all or admits(where, body_of(body, None)):
                yield number

    def _index(self, scope: Scope) -> Index | None:
        """Return the index of a scope; a new one if the scope was deleted and created again."""
        index, number = self.indexes.pop(scope, None), self._scope(scope)
        if not number:
            return None
        if index is None or index.scope != number:
            index = self._make_index(number)
        self.indexes[scope] = index
        if len(self.indexes) > INDEX_COUNT_MAX:
            del self.indexes[next(iter(self.indexes))]
        return index

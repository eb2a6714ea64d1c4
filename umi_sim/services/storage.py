"""SimStorage: one store, strictly serializable, with the batches on their way to it.

Law 1. A batch is atomic: all of it becomes durable at its flush, or nothing does; no read sees a part of it.
Law 2. Each write of an address gets the next version; a version is never reused, not even after a delete.
Law 3. A batch with a known idempotency key changes nothing and gets the answer of the first batch.
Law 4. A read is a snapshot of the durable rows of its scope, filtered before any limit, in a total order.
Law 5. A crash loses the pending batches and nothing else. A torn batch is undone before any read.
Law 6. A batch that would exceed the capacity changes nothing. A batch that does not grow the store always
fits.
Law 7. A key is forgotten after RECEIPT_MS_MAX, together with its receipt row.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from msgspec import structs

from umi_core.codec import encode
from umi_core.data import Data, Mutable
from umi_core.limits import PAGE_ROW_COUNT_MAX, RECEIPT_MS_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Expect,
    Query,
    Write,
)
from umi_core.rows import Address, Body, Entity, Row, Vector
from umi_core.values import Scope
from umi_sim.services.stored_rows import (
    Position,
    Rot,
    address_order,
    bytes_of,
    cursor_at,
    hit_order,
    is_version_of,
    matches,
    place_read,
    position,
    receipt_of,
    rotten,
    rows_at_most,
    vector_score,
    words_score,
)

if TYPE_CHECKING:
    from umi_sim.services.search_index import SearchIndex

Versions = tuple[tuple[Address, int], ...]

START: Final = ("", "")
INDEXED_COUNT_MIN: Final = 256  # with fewer rows a scan is as fast, and needs no numpy


class Pending(Data):
    """A batch that has arrived and is not durable yet, with its sender, an agent."""

    commit: Commit
    sender: str


class CommittedBatch(Data):
    """The result of the first durable batch of an idempotency key."""

    versions: Versions
    receipt: Body | None
    at_ms: int


class SimStorage(Mutable):
    """The rows of one store. They are frozen values shared by reference, so a read copies nothing.

    A search of a scope with `indexed_count_min` entities or more uses an index, with the same hits as a scan.
    `page_rows`: the most rows of a page. `horizon_ms`: searches do not see rows written after it; `fresh_ms`:
    when each entity or vector was written. `misread`: by address, the workflows that have read a damaged or
    wrong row there since it was last written.
    """

    indexed_count_min: int = INDEXED_COUNT_MIN
    capacity_bytes: int | None = None
    page_rows: int = PAGE_ROW_COUNT_MAX
    horizon_ms: int | None = None
    rows: dict[Address, Row] = {}
    graves: dict[Address, int] = {}  # tombstones: the last version of each deleted row
    row_ids: dict[Scope, dict[str, list[str]]] = {}  # by scope and kind: sorted ids of rows
    receipts: dict[str, CommittedBatch] = {}  # oldest first
    pending: dict[int, Pending] = {}
    ticket_last: int = 0
    durable_count: int = 0  # how many batches have become durable
    change_count: int = 0  # how often a row was written or removed; if it is the same, all rows are
    rotten: dict[Address, Rot] = {}  # how a damaged row is read
    index: "SearchIndex | None" = None
    fresh_ms: dict[Address, int] = {}
    misread: dict[Address, dict[str, None]] = {}
    _now_ms: int = 0
    _used_bytes: int | None = None  # computed when first needed
    uncompared = (
        "durable_count", "change_count", "index", "fresh_ms", "misread", "_now_ms", "_used_bytes",
    )  # fmt: skip

    # Commits: arrive, then flush, crash or tear.

    def arrive(self, commit: Commit, sender: str) -> int:
        """Return a ticket for the batch, which stays invisible until it is flushed."""
        self.ticket_last += 1
        self.pending[self.ticket_last] = Pending(commit, sender)
        return self.ticket_last

    def flush(self, ticket: int, now_ms: int) -> Committed | EffectFailed | None:
        """Make the batch durable or return why it fails; return None if a crash has lost it."""
        pending, self._now_ms = self.pending.pop(ticket, None), now_ms
        return None if pending is None else self._decide(pending.commit, now_ms)

    def crash(self) -> None:
        """Lose the pending batches. Tickets are not reused, so a late flush finds nothing."""
        self.pending.clear()

    def tear_batch(self, ticket: int, count: int) -> None:
        """Write the first `count` rows of a batch and undo them, as a store that dies and restarts does."""
        writes = self.pending.pop(ticket).commit.writes[:count]
        # `_try` writes the rows and undoes the writes; its asserts check that nothing has changed.
        self._try(writes)
        self.check()

    def predict_commit(self, commit: Commit) -> Committed | None:
        """Return the answer that the batch would get now, without applying it; None if it would fail."""
        if not self.would_commit(commit) or not self.has_room(commit):
            return None
        return Committed(commit.request_id, self._try(commit.writes), receipt_of(commit))

    def wipe(self) -> None:
        """Restart empty: versions start from 1 again, and no idempotency key is known."""
        self.crash()
        for table in (self.rows, self.graves, self.row_ids, self.receipts, self.rotten):
            table.clear()
        self.change_count += 1
        self.fresh_ms.clear()
        self.misread.clear()
        self.index, self._used_bytes = None, None

    def rot(self, address: Address, rot: Rot = None) -> None:
        """Damage a row: reads return it with this damage until it is written again."""
        assert address in self.rows
        self.rotten[address] = rot

    def put_back(self, rows: Mapping[Address, Row | None], now_ms: int) -> None:
        """Put rows into the store, or remove them (None), without a batch and with their own versions."""
        self._now_ms = now_ms
        for address, row in rows.items():
            self._restore(address, row, None)
            if row is not None and isinstance(row.body, Entity | Vector):
                self.fresh_ms[address] = now_ms
        self._used_bytes = None

    # Reads.

    def read(self, request_id: int, query: Query) -> ReadDone:
        """Answer a query from the durable rows as they are now. Never fails."""
        if isinstance(query, ByIds):
            answer = ReadDone(request_id, self._by_ids(query))
        elif isinstance(query, ByFilter):
            answer = self._page(request_id, query)
        elif isinstance(query, CountRows):
            answer = ReadDone(request_id, count=sum(1 for _ in self._matching(query)))
        else:
            answer = ReadDone(request_id, self._rank_rows(query))
        return self._damage(query, answer) if self.rotten else answer

    def live_rows(self, scope: Scope) -> Iterator[Row]:
        """Yield all rows of a scope in order (kind, id), for judges."""
        return self._scan(scope, tuple(self.row_ids.get(scope, ())), START)

    def digest(self) -> bytes:
        """Return a 32-byte digest of all durable rows and tombstones; idempotency keys are left out."""
        hashed = blake2b(digest_size=32)
        for address in sorted({**self.rows, **self.graves}, key=address_order):
            row = self.rows.get(address)
            version = self.graves[address] if row is None else row.version
            hashed.update(encode((address, version, None if row is None else row.body)))
        return hashed.digest()

    def epoch_of(self, scope: Scope) -> int:
        """Return the last epoch that an incarnation of this scope has claimed; 0 is none."""
        row = self.rows.get(Address(scope, "epoch", "epoch"))
        return row.version if row is not None else 0

    def entities(self) -> Iterator[Address]:
        """Yield the addresses of entities, deleted ones included."""
        return (
            address for table in (self.rows, self.graves) for address in table if address.kind == "entity"
        )

    def used_bytes(self) -> int:
        """Return the size of all rows in bytes, each rounded up to whole blocks."""
        if self._used_bytes is None:
            self._used_bytes = sum(bytes_of(row.address, row.body) for row in self.rows.values())
        return self._used_bytes

    def growth_bytes(self, commit: Commit) -> int:
        """Return by how many bytes the batch would grow the store."""
        last = {write.address: write.body for write in commit.writes}
        old = [self.rows.get(address) for address in last]
        after = sum(bytes_of(address, body) for address, body in last.items())
        return after - sum(bytes_of(row.address, row.body) for row in old if row is not None)

    def would_commit(self, commit: Commit) -> bool:
        """Check whether the batch, given room, would be applied now: its key is new and its expects hold."""
        return commit.key not in self.receipts and not self._list_changed(commit.expects)

    def has_room(self, commit: Commit) -> bool:
        if self.capacity_bytes is None:
            return True
        growth_bytes = self.growth_bytes(commit)
        return growth_bytes <= 0 or self.used_bytes() + growth_bytes <= self.capacity_bytes

    def check(self) -> None:
        """Assert the invariants between calls. The cost grows with the number of rows."""
        assert not self.rows.keys() & self.graves.keys()
        assert all(row.address == address for address, row in self.rows.items())
        assert all(row.version > 0 for row in self.rows.values())
        assert all(row.body is not None for row in self.rows.values())
        listed = [row.address for scope in self.row_ids for row in self.live_rows(scope)]
        assert sorted(listed, key=address_order) == sorted(self.rows, key=address_order)
        assert all(ids == sorted(ids) for by_kind in self.row_ids.values() for ids in by_kind.values())

    # Detail of commits.

    def _decide(self, commit: Commit, now_ms: int) -> Committed | EffectFailed:
        self.forget(now_ms)
        stored = self.receipts.get(commit.key)
        if stored is None:  # keys are checked first: a batch that is sent again would conflict with itself
            changed = self._list_changed(commit.expects)
            if changed:
                return EffectFailed(commit.request_id, "conflict", changed=changed)
            if not self.has_room(commit):
                return EffectFailed(commit.request_id, "full")
            stored = self._make_durable(commit, now_ms)
        return Committed(commit.request_id, stored.versions, stored.receipt)

    def forget(self, now_ms: int) -> None:
        """Forget the keys that are 24 h old at `now_ms`."""
        while self.receipts:
            oldest = next(iter(self.receipts))
            if now_ms < self.receipts[oldest].at_ms + RECEIPT_MS_MAX:
                break
            self._delete_receipts(self.receipts.pop(oldest))

    def _delete_receipts(self, stored: CommittedBatch) -> None:
        """Delete the receipt rows of a forgotten batch, unless a later batch has written them."""
        for address, version in stored.versions:
            if address.kind == "receipt" and self._version(address) == version:
                self._delete(address)

    def _list_changed(self, expects: tuple[Expect, ...]) -> Versions:
        """Return the addresses with another version than expected, and that version (0: absent)."""
        found = [(expect.address, self._version(expect.address)) for expect in expects]
        return tuple(pair for pair, expect in zip(found, expects, strict=True) if pair[1] != expect.version)

    def _make_durable(self, commit: Commit, now_ms: int) -> CommittedBatch:
        versions = tuple([(write.address, self._apply(write)) for write in commit.writes])
        stored = CommittedBatch(versions, receipt_of(commit), now_ms)
        self.durable_count += 1
        if commit.key:  # a batch without a key always counts as new
            self.receipts[commit.key] = stored
        return stored

    # Detail of rows: `rows`, `graves` and `row_ids` change here and nowhere else.

    def _version(self, address: Address) -> int:
        row = self.rows.get(address)
        return 0 if row is None else row.version

    def _apply(self, write: Write) -> int:
        """Do one write; return the version after it. Deleting an absent row changes nothing."""
        return self._delete(write.address) if write.body is None else self._put(write.address, write.body)

    def _put(self, address: Address, body: Body) -> int:
        row = self.rows.get(address)
        self._note_change(row, address, body)
        if row is not None:
            # Keep the address object of the old row, which lookups compare by identity first.
            new = Row(row.address, row.version + 1, body)
        else:
            self._shelve(address)
            new = Row(address, self.graves.pop(address, 0) + 1, body)
        self.rows[new.address] = new
        if self.index is not None:
            self.index.mark_stale(address)
        return new.version

    def _delete(self, address: Address) -> int:
        row = self.rows.pop(address, None)
        if row is None:
            return self.graves.get(address, 0)
        self._note_change(row, address, None)
        ids = self.row_ids[address.scope][address.kind]
        del ids[bisect_left(ids, address.id)]
        # Versions continue after a delete: a writer that expects version 3 must not find a new row with 3.
        self.graves[address] = row.version + 1
        if self.index is not None:
            self.index.mark_stale(address)
        return row.version + 1

    def _note_change(self, row: Row | None, address: Address, body: Body | None) -> None:
        """Register a change of a row: it is not damaged any more; used bytes and write time are updated."""
        self.change_count += 1
        self.rotten.pop(address, None)
        self.misread.pop(address, None)
        if self._used_bytes is not None:
            old_bytes = 0 if row is None else bytes_of(row.address, row.body)
            self._used_bytes += bytes_of(address, body) - old_bytes
        if body is None:
            self.fresh_ms.pop(address, None)
        elif isinstance(body, Vector) or (isinstance(body, Entity) and not is_version_of(row, body)):
            self.fresh_ms[address] = self._now_ms

    def _try(self, writes: tuple[Write, ...]) -> Versions:
        """Apply the writes, undo them, and return the versions that they had."""
        # The last write is undone first, so that two writes of one address restore the row before the first.
        rows, graves = dict(self.rows), dict(self.graves)
        fresh_ms, rotten, misread = dict(self.fresh_ms), dict(self.rotten), dict(self.misread)
        before = [(write.address, rows.get(write.address)) for write in writes]
        versions = tuple([(write.address, self._apply(write)) for write in writes])
        for address, row in reversed(before):
            self._restore(address, row, graves.get(address))
        self.fresh_ms, self.rotten, self.misread, self._used_bytes = fresh_ms, rotten, misread, None
        assert self.rows == rows
        assert self.graves == graves
        return versions

    def _restore(self, address: Address, row: Row | None, grave: int | None) -> None:
        self._delete(address)
        self.change_count += 1
        self.graves.pop(address, None)
        if grave is not None:
            self.graves[address] = grave
        if row is not None:
            self._shelve(address)
            self.rows[address] = row
            if self.index is not None:
                self.index.mark_stale(address)

    def _shelve(self, address: Address) -> None:
        insort(self.row_ids.setdefault(address.scope, {}).setdefault(address.kind, []), address.id)

    # Detail of reads.

    def _damage(self, query: Query, answer: ReadDone) -> ReadDone:
        """Return the answer with damaged bodies for damaged rows."""
        rows = list(answer.rows)
        for at, row in enumerate(rows):
            address = place_read(query, row.address)
            if address in self.rotten:
                rows[at] = structs.replace(row, body=rotten(row.body, self.rotten[address]))
        return structs.replace(answer, rows=tuple(rows))

    def _by_ids(self, query: ByIds) -> tuple[Row, ...]:
        found = [self.rows.get(address) for address in query.addresses]
        return tuple([row for row in found if row is not None])

    def _page(self, request_id: int, query: ByFilter) -> ReadDone:
        limit = min(rows_at_most(query.limit), self.page_rows)
        page, cursor = list[Row](), query.cursor or ""
        for row in self._matching(query, position(cursor)):
            if len(page) == limit:
                return ReadDone(request_id, tuple(page), cursor)
            page.append(row)
            # The cursor is the last row of the page, not the next one, since rows may change between pages.
            cursor = cursor_at(row)
        return ReadDone(request_id, tuple(page))

    def _matching(self, query: ByFilter | CountRows, after: Position = START) -> Iterator[Row]:
        return (row for row in self._scan(query.scope, query.kinds, after) if matches(query.where, row.body))

    def _scan(self, scope: Scope, kinds: tuple[str, ...], after: Position) -> Iterator[Row]:
        """Yield the rows of a scope of these kinds, in order (kind, id), after a position."""
        by_kind = self.row_ids.get(scope, {})
        for kind in sorted(set(kinds)):
            if kind >= after[0]:
                ids = by_kind.get(kind, [])
                first = bisect_right(ids, after[1]) if kind == after[0] else 0
                for i in range(first, len(ids)):
                    yield self.rows[Address(scope, kind, ids[i])]

    def _rank_rows(self, query: ByVector | ByWords) -> tuple[Row, ...]:
        """Return rows by relevance: filtered, then ordered by (score descending, id), then limited."""
        ids = self.row_ids.get(query.scope, {}).get("entity", [])
        # The index contains all present rows; while searches lag, only a scan can leave out the newest.
        is_indexed = query.kind == "entity" and self.horizon_ms is None
        is_small = not is_indexed or len(ids) < self.indexed_count_min
        hits = self._search_by_scan(query) if is_small else self._search_by_index(query, ids)
        return tuple([Row(row.address, row.version, row.body, score_ppm) for score_ppm, row in hits])

    def _search_by_scan(self, query: ByVector | ByWords) -> list[tuple[int, Row]]:
        found = [row for row in self._scan(query.scope, (query.kind,), START) if self._is_known(row.address)]
        score_of = self._vector_score(query) if isinstance(query, ByVector) else words_score(query, found)
        if query.where:
            found = [row for row in found if matches(query.where, row.body)]
        floor_ppm = max(1, query.min_score_ppm)
        hits = sorted([hit for row in found if (hit := (score_of(row), row))[0] >= floor_ppm], key=hit_order)
        return hits[: rows_at_most(query.limit)]

    def _search_by_index(self, query: ByVector | ByWords, ids: list[str]) -> list[tuple[int, Row]]:
        from umi_sim.services.search_index import (  # imports numpy, which small runs do not need
            SearchIndex,
            can_answer,
        )

        if not can_answer(query):
            return self._search_by_scan(query)
        if self.index is None or self.index.rows is not self.rows:
            self.index = SearchIndex(self.rows)
        return self.index.search(query, ids)

    def _vector_score(self, query: ByVector) -> Callable[[Row], int]:
        def score(row: Row) -> int:
            found = self.rows.get(Address(query.scope, "vector", row.address.id))
            is_known = found is not None and self._is_known(found.address)
            return vector_score(query.vector, found.body) if found is not None and is_known else 0

        return score

    def _is_known(self, address: Address) -> bool:
        """Check whether searches see this row yet."""
        return self.horizon_ms is None or self.fresh_ms.get(address, 0) <= self.horizon_ms

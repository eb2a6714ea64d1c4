"""SimStorage: one store, strictly serializable, with the batches on their way to it.

Law 1. A batch happens at one instant or not at all; before its flush no read sees any of it.
Law 2. Each write of an address takes its next version; a version is never reused, not even after a delete.
Law 3. A known idempotency key is answered from its first batch and changes nothing, whatever the batch says.
Law 4. A read is one instant of the durable rows of its scope; conditions hold before any cut; order is total.
Law 5. A crash takes the pending batches and nothing else. A torn batch is undone before anybody can read.
Law 6. A batch that would need more than the capacity changes nothing; one that does not grow the store always
fits.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import attrs

from umi_core.codec import encode
from umi_core.effects import (
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Expect,
    Query,
    Where,
    Write,
)
from umi_core.inputs import Committed, EffectFailed, ReadDone
from umi_core.language.words import words
from umi_core.limits import PAGE_ROW_COUNT_MAX, RECEIPT_MS_MAX
from umi_core.policies.similarity import shared_ppm, vector_relevance_ppm
from umi_core.values import Address, Body, Entity, Relation, Row, Scope, Vector, Version

if TYPE_CHECKING:
    from umi_sim.search_index import SearchIndex

Versions = tuple[tuple[Address, int], ...]
Position = tuple[str, str]  # (kind, id): where a scan stands

START: Final = ("", "")
BLOCK_BYTES: Final = 64  # rows are kept in whole blocks, so a number that gains a digit costs nothing
INDEXED_COUNT_MIN: Final = 256  # below it a scan is as quick, and needs no numpy

words_of: Final = lru_cache(maxsize=8_192)(words)  # a content is searched far more often than it changes


@attrs.frozen
class Pending:
    """A batch that has arrived and is not durable yet, and who sent it."""

    commit: Commit
    sender: str


@attrs.frozen
class Kept:
    """What the first durable batch of an idempotency key came to."""

    versions: Versions
    receipt: Body | None
    at_ms: int


@attrs.define
class SimStorage:
    """Rows are frozen values shared by reference, so a read copies nothing.

    A search of a scope with `indexed_count_min` entities or more asks an index, made then and kept from then
    on; it says what a scan says. `horizon_ms`: searches do not know what was told after it; `fresh_ms` says
    when that was, for each version of an entity and each vector.
    """

    indexed_count_min: int = INDEXED_COUNT_MIN
    capacity_bytes: int | None = None
    horizon_ms: int | None = attrs.field(default=None, init=False)
    rows: dict[Address, Row] = attrs.field(factory=dict, init=False)
    graves: dict[Address, int] = attrs.field(factory=dict, init=False)  # last version of what was deleted
    shelves: dict[Scope, dict[str, list[str]]] = attrs.field(factory=dict, init=False)  # ids of rows, by kind
    receipts: dict[str, Kept] = attrs.field(factory=dict, init=False)  # oldest first
    pending: dict[int, Pending] = attrs.field(factory=dict, init=False)
    ticket_last: int = attrs.field(default=0, init=False)
    index: "SearchIndex | None" = attrs.field(default=None, init=False, eq=False, repr=False)
    fresh_ms: dict[Address, int] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    _now_ms: int = attrs.field(default=0, init=False, eq=False, repr=False)
    _used_bytes: int | None = attrs.field(default=None, init=False, eq=False, repr=False)  # counted on demand

    # Commits: arrive, then flush, crash or tear.

    def arrive(self, commit: Commit, sender: str) -> int:
        """A ticket for the batch, which stays invisible until it is flushed."""
        self.ticket_last += 1
        self.pending[self.ticket_last] = Pending(commit, sender)
        return self.ticket_last

    def flush(self, ticket: int, now_ms: int) -> Committed | EffectFailed | None:
        """Make the batch durable, or say why not; None if a crash took it."""
        pending, self._now_ms = self.pending.pop(ticket, None), now_ms
        return None if pending is None else self._decide(pending.commit, now_ms)

    def crash(self) -> None:
        """Lose what was not durable. Tickets are not reused, so a late flush finds nothing."""
        self.pending.clear()

    def torn(self, ticket: int, count: int) -> None:
        """Write the first `count` rows of the batch, die, and undo them at restart: nothing has happened."""
        writes = self.pending.pop(ticket).commit.writes[:count]
        rows, graves, fresh_ms = dict(self.rows), dict(self.graves), dict(self.fresh_ms)
        before = [(write.address, rows.get(write.address)) for write in writes]
        for write in writes:
            self._apply(write)
        for address, row in reversed(before):
            self._restore(address, row, graves.get(address))
        self.fresh_ms, self._used_bytes = fresh_ms, None
        assert self.rows == rows
        assert self.graves == graves
        self.check()

    # Reads.

    def read(self, request_id: int, query: Query) -> ReadDone:
        """Answer from this instant of the durable rows. Never fails, whatever is asked."""
        if isinstance(query, ByIds):
            return ReadDone(request_id, self._by_ids(query))
        if isinstance(query, ByFilter):
            return self._page(request_id, query)
        if isinstance(query, CountRows):
            return ReadDone(request_id, count=sum(1 for _ in self._matching(query)))
        return ReadDone(request_id, self._ranked(query))

    def live_rows(self, scope: Scope) -> Iterator[Row]:
        """All rows of a scope in order (kind, id), for those who judge."""
        return self._scan(scope, tuple(self.shelves.get(scope, ())), START)

    def digest(self) -> bytes:
        """32 bytes over all that is durable, versions of deleted rows included; receipts aside."""
        hashed = blake2b(digest_size=32)
        for address in sorted({**self.rows, **self.graves}, key=address_order):
            row = self.rows.get(address)
            version = self.graves[address] if row is None else row.version
            hashed.update(encode((address, version, None if row is None else row.body)))
        return hashed.digest()

    def used_bytes(self) -> int:
        """What all rows take, in whole blocks."""
        if self._used_bytes is None:
            self._used_bytes = sum(bytes_of(row.address, row.body) for row in self.rows.values())
        return self._used_bytes

    def growth_bytes(self, commit: Commit) -> int:
        """By how much the batch would grow the store."""
        last = {write.address: write.body for write in commit.writes}
        old = [self.rows.get(address) for address in last]
        after = sum(bytes_of(address, body) for address, body in last.items())
        return after - sum(bytes_of(row.address, row.body) for row in old if row is not None)

    def is_due(self, commit: Commit, now_ms: int) -> bool:
        """Whether the batch would be made durable now, if there is room: its key is new, its expects hold."""
        return self._kept(commit.key, now_ms) is None and not self._changed(commit.expects)

    def has_room(self, commit: Commit) -> bool:
        if self.capacity_bytes is None:
            return True
        growth_bytes = self.growth_bytes(commit)
        return growth_bytes <= 0 or self.used_bytes() + growth_bytes <= self.capacity_bytes

    def check(self) -> None:
        """Assert what must hold between any two calls. Cost grows with the number of rows."""
        assert not self.rows.keys() & self.graves.keys()
        assert all(row.address == address for address, row in self.rows.items())
        assert all(row.version > 0 for row in self.rows.values())
        assert all(row.body is not None for row in self.rows.values())
        shelved = [row.address for scope in self.shelves for row in self.live_rows(scope)]
        assert sorted(shelved, key=address_order) == sorted(self.rows, key=address_order)
        assert all(ids == sorted(ids) for shelf in self.shelves.values() for ids in shelf.values())

    # Detail of commits.

    def _decide(self, commit: Commit, now_ms: int) -> Committed | EffectFailed:
        kept = self._kept(commit.key, now_ms)
        if kept is None:  # the key comes first: a batch that won already conflicts with itself
            changed = self._changed(commit.expects)
            if changed:
                return EffectFailed(commit.request_id, "conflict", changed=changed)
            if not self.has_room(commit):
                return EffectFailed(commit.request_id, "full")
            kept = self._make_durable(commit, now_ms)
        return Committed(commit.request_id, kept.versions, kept.receipt)

    def _kept(self, key: str, now_ms: int) -> Kept | None:
        """What is remembered of a key, after everything that is 24 h old is forgotten."""
        while self.receipts:
            oldest = next(iter(self.receipts))
            if now_ms < self.receipts[oldest].at_ms + RECEIPT_MS_MAX:
                break
            del self.receipts[oldest]
        return self.receipts.get(key)

    def _changed(self, expects: tuple[Expect, ...]) -> Versions:
        """The expected rows that differ, with the version found; 0 is absent."""
        found = [(expect.address, self._version(expect.address)) for expect in expects]
        return tuple(pair for pair, expect in zip(found, expects, strict=True) if pair[1] != expect.version)

    def _make_durable(self, commit: Commit, now_ms: int) -> Kept:
        versions = tuple([(write.address, self._apply(write)) for write in commit.writes])
        receipt = next((write.body for write in commit.writes if write.address.kind == "receipt"), None)
        kept = Kept(versions, receipt, now_ms)
        if commit.key:  # a batch without a key is always a new one
            self.receipts[commit.key] = kept
        return kept

    # Detail of rows: `rows`, `graves` and `shelves` change here and nowhere else.

    def _version(self, address: Address) -> int:
        row = self.rows.get(address)
        return 0 if row is None else row.version

    def _apply(self, write: Write) -> int:
        """Do one write; the version of the address after it. A delete of what is absent changes nothing."""
        return self._delete(write.address) if write.body is None else self._put(write.address, write.body)

    def _put(self, address: Address, body: Body) -> int:
        row = self.rows.get(address)
        self._note(row, address, body)
        if row is not None:
            address, version = row.address, row.version + 1  # the address it has: found again by identity
        else:
            self._shelve(address)
            version = self.graves.pop(address, 0) + 1
        self.rows[address] = Row(address, version, body)
        if self.index is not None:
            self.index.changed(address)
        return version

    def _delete(self, address: Address) -> int:
        row = self.rows.pop(address, None)
        if row is None:
            return self.graves.get(address, 0)
        self._note(row, address, None)
        self._unshelve(address)
        self.graves[address] = row.version + 1
        if self.index is not None:
            self.index.changed(address)
        return row.version + 1

    def _note(self, row: Row | None, address: Address, body: Body | None) -> None:
        """Before a row changes: what it will take, and since when searches could know it."""
        if self._used_bytes is not None:
            old_bytes = 0 if row is None else bytes_of(row.address, row.body)
            self._used_bytes += bytes_of(address, body) - old_bytes
        if body is None:
            self.fresh_ms.pop(address, None)
        elif isinstance(body, Vector) or (isinstance(body, Entity) and not is_version_of(row, body)):
            self.fresh_ms[address] = self._now_ms

    def _restore(self, address: Address, row: Row | None, grave: int | None) -> None:
        self._delete(address)
        self.graves.pop(address, None)
        if grave is not None:
            self.graves[address] = grave
        if row is not None:
            self._shelve(address)
            self.rows[address] = row
            if self.index is not None:
                self.index.changed(address)

    def _shelve(self, address: Address) -> None:
        insort(self.shelves.setdefault(address.scope, {}).setdefault(address.kind, []), address.id)

    def _unshelve(self, address: Address) -> None:
        ids = self.shelves[address.scope][address.kind]
        del ids[bisect_left(ids, address.id)]

    # Detail of reads.

    def _by_ids(self, query: ByIds) -> tuple[Row, ...]:
        found = [self.rows.get(address) for address in query.addresses]
        return tuple([row for row in found if row is not None])

    def _page(self, request_id: int, query: ByFilter) -> ReadDone:
        limit, page, cursor = rows_at_most(query.limit), list[Row](), query.cursor or ""
        for row in self._matching(query, position(cursor)):
            if len(page) == limit:
                return ReadDone(request_id, tuple(page), cursor)
            page.append(row)
            cursor = cursor_at(row)
        return ReadDone(request_id, tuple(page))

    def _matching(self, query: ByFilter | CountRows, after: Position = START) -> Iterator[Row]:
        return (row for row in self._scan(query.scope, query.kinds, after) if matches(query.where, row.body))

    def _scan(self, scope: Scope, kinds: tuple[str, ...], after: Position) -> Iterator[Row]:
        """Rows of these kinds in order (kind, id) after a position. Touches no row of another scope."""
        shelf = self.shelves.get(scope, {})
        for kind in sorted(set(kinds)):
            if kind >= after[0]:
                ids = shelf.get(kind, [])
                first = bisect_right(ids, after[1]) if kind == after[0] else 0
                yield from (self.rows[Address(scope, kind, ids[i])] for i in range(first, len(ids)))

    def _ranked(self, query: ByVector | ByWords) -> tuple[Row, ...]:
        """Entities by relevance: filtered, then ordered by (score descending, id), then cut."""
        ids = self.shelves.get(query.scope, {}).get("entity", [])
        is_small = len(ids) < self.indexed_count_min or self.horizon_ms is not None
        hits = self._scanned(query) if is_small else self._looked_up(query, ids)
        return tuple([Row(row.address, row.version, row.body, score_ppm) for score_ppm, row in hits])

    def _scanned(self, query: ByVector | ByWords) -> list[tuple[int, Row]]:
        score_of = self._vector_score(query) if isinstance(query, ByVector) else words_score(query)
        found = [row for row in self._scan(query.scope, ("entity",), START) if matches(query.where, row.body)]
        found = [row for row in found if self._is_known(row.address)]
        scored = [(score_of(row), row) for row in found]
        hits = sorted([hit for hit in scored if hit[0] >= max(1, query.min_score_ppm)], key=hit_order)
        return hits[: rows_at_most(query.limit)]

    def _looked_up(self, query: ByVector | ByWords, ids: list[str]) -> list[tuple[int, Row]]:
        from umi_sim.search_index import SearchIndex, can_answer  # numpy with it: not for a small run

        if not can_answer(query):
            return self._scanned(query)
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
        """Whether searches know this row already."""
        return self.horizon_ms is None or self.fresh_ms.get(address, 0) <= self.horizon_ms


def words_score(query: ByWords) -> Callable[[Row], int]:
    """`words_relevance_ppm` with the words of query and rows kept."""
    asked = words_of(query.text)

    def score(row: Row) -> int:
        if not isinstance(row.body, Entity):
            return 0
        name = words_of(row.body.name)
        return shared_ppm(asked, name, (*name, *words_of(row.body.content)))

    return score


def vector_score(query: tuple[int, ...], body: Body | None) -> int:
    """Relevance of a vector row; one of another dimension scores 0."""
    return vector_relevance_ppm(query, body.components) if isinstance(body, Vector) else 0


# Conditions: one that the body has no field for does not hold.


def matches(where: Where, body: Body | None) -> bool:
    """True if all conditions hold."""
    return (
        (where.types is None or (isinstance(body, Entity) and body.type in where.types))
        and ((where.start_ms is None and where.end_ms is None) or in_time(where, body))
        and (where.vector_missing is None or has_mark(body, where.vector_missing))
        and (where.touches is None or touches(body, where.touches))
        and not (where.without and getattr(body, "id", None) in where.without)
    )


def in_time(where: Where, body: Body | None) -> bool:
    """Both ends belong to the range."""
    if not isinstance(body, Entity):
        return False
    after_start = where.start_ms is None or where.start_ms <= body.time_ms
    return after_start and (where.end_ms is None or body.time_ms <= where.end_ms)


def has_mark(body: Body | None, vector_missing: bool) -> bool:
    return isinstance(body, Entity) and body.vector_missing == vector_missing


def touches(body: Body | None, entity_id: str) -> bool:
    """Versions of this entity, and relations with it at either end."""
    if isinstance(body, Relation):
        return entity_id in (body.source[0], body.target[0])
    return isinstance(body, Version) and body.entity_id == entity_id


def is_version_of(row: Row | None, body: Entity) -> bool:
    """Whether the row says the same already: it is written again for other reasons, such as a relation."""
    return row is not None and isinstance(row.body, Entity) and row.body.version == body.version


# Order, cursors, bytes.


def bytes_of(address: Address, body: Body | None) -> int:
    """What a row takes, in whole blocks; nothing if it is not there."""
    return 0 if body is None else -(-len(encode((address, body))) // BLOCK_BYTES) * BLOCK_BYTES


def strays(storage: SimStorage, query: Query, row: Row) -> list[Row]:
    """Rows that may stand in the place of this one by mistake, in order: only what a reader can tell from it.

    Storage promises no more: a row that fits the question but is not the answer has nothing to betray it.
    """
    known = (storage.rows[address] for address in sorted(storage.rows, key=address_order))
    return [other for other in known if can_tell(query, row.address, other)]


def can_tell(query: Query, own: Address, stray: Row) -> bool:
    other = stray.address
    if isinstance(query, ByIds):
        return other not in query.addresses
    is_alike = (own.scope, own.kind) == (other.scope, other.kind)
    return not is_alike or (stray.body is not None and not query.where.admits(stray.body))


def address_order(address: Address) -> tuple[str, str, str, str]:
    return address.scope.user, address.scope.agent, address.kind, address.id


def hit_order(hit: tuple[int, Row]) -> tuple[int, str]:
    return -hit[0], hit[1].address.id


def rows_at_most(limit: int | None) -> int:
    """A page is never longer than 1000 rows; who wants all follows the cursor."""
    return PAGE_ROW_COUNT_MAX if limit is None else min(max(0, limit), PAGE_ROW_COUNT_MAX)


def cursor_at(row: Row) -> str:
    """The last key of a page. Kinds are plain words, so the first slash is the border."""
    assert "/" not in row.address.kind
    return f"{row.address.kind}/{row.address.id}"


def position(cursor: str) -> Position:
    """Where a cursor points; total, so any text is a place in the order."""
    kind, _, row_id = cursor.partition("/")
    return kind, row_id

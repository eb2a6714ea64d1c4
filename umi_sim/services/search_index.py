"""The search index: derived data of a storage, so that a search need not read every row.

Law 1. It is made from the rows at the first search, and updated from the addresses marked as changed. A copy
       of a storage starts without one and makes its own.
Law 2. Its hits equal those of a scan, with the same scores and the same order of ties: numpy selects
       candidates, integer arithmetic decides.
Law 3. A row that does not fit the columns of a table is scored by itself, as in a scan.
Law 4. A row of a table has a slot, a number that only grows, so posting lists are always sorted.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from umi_core.conditions import Condition, Where, holds
from umi_core.data import Owner
from umi_core.limits import COMPONENT_MAX, I64_MAX, I64_MIN
from umi_core.messages.effects import ByVector, ByWords
from umi_core.policies.similarity import (
    Posting,
    VectorRows,
    best_by_words,
    exact_type,
    measure_rows,
    nearest,
)
from umi_core.policies.term_scores import LENGTH_UNIT, TermStatistics
from umi_core.rows import Address, Body, Entity, Row, Vector
from umi_core.values import Scope
from umi_sim.services.stored_rows import hit_order, matches, rows_at_most, terms_of, vector_score

Mask = NDArray[np.bool_]
Found = tuple[int, Row]  # score in ppm, row
Stored = Mapping[Address, Row]

ROOM_MIN: Final = 256
TOO_SMALL: Final = (-COMPONENT_MAX - 1).to_bytes(1, signed=True)  # -128 fits a byte but is no component
KEY_PREFIX: Final = "fct_"
KEY_BYTES: Final = 8


class SearchIndex(Owner):
    """The indexes of a storage, one for each scope that was searched."""

    rows: Stored
    by_scope: dict[Scope, "ScopeIndex"] = {}

    def mark_stale(self, address: Address) -> None:
        """Make the next search of the row's scope read this row again."""
        index = self.by_scope.get(address.scope)
        if index is not None and address.kind in ("entity", "vector"):
            index.stale[address.id] = None

    def search(self, query: ByVector | ByWords, ids: Sequence[str]) -> list[Found]:
        """Return the hits of a scope whose entities are `ids`, in order."""
        index = self.by_scope.get(query.scope)
        # Slots are not reused, so an index is rebuilt when about half of its slots are dead.
        if index is None or index.dead_count > ROOM_MIN + len(ids):
            index = self.by_scope[query.scope] = ScopeIndex(query.scope, self.rows, dict.fromkeys(ids))
        index.refresh()
        return index.search(query)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Make copies and pickles of the index None."""
        return type(None), ()


class Postings(Owner):
    """Posting lists: for each term the slots of its rows, and how often each row has it (at most 255)."""

    slots: dict[str, "array[int]"] = {}
    counts: dict[str, "array[int]"] = {}

    def add(self, counts: Mapping[str, int], slot: int) -> None:
        """Add the term counts of a row; `slot` is greater than all slots before."""
        for term, count in counts.items():
            if term not in self.slots:
                self.slots[term], self.counts[term] = array("i"), array("B")
            self.slots[term].append(slot)
            self.counts[term].append(min(count, 255))

    def posting(self, term: str, weight: int) -> Posting | None:
        """Return the posting list of a term, or None; it is a view, to be released before the next `add`."""
        if term not in self.slots:
            return None
        slots, counts = np.frombuffer(self.slots[term], np.intc), np.frombuffer(self.counts[term], np.uint8)
        return Posting(weight, slots, counts)


def grow_array(values: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array with room for `size` rows; new rows are zero."""
    wider = np.zeros((size, *values.shape[1:]), values.dtype)
    wider[: len(values)] = values
    return wider


def can_answer(query: ByVector | ByWords) -> bool:
    """Return False for a query vector whose dot products may not be exact."""
    return isinstance(query, ByWords) or packed_components(query.vector) is not None


# One scope.


class ScopeIndex(Owner):
    """The entities of a scope: a table for each length of vectors, and the ids of rows that fit in none.

    `counted`: by id the rows whose terms are counted in `statistics`.
    """

    scope: Scope
    rows: Stored
    stale: dict[str, None]  # ids of rows that changed since the last search
    tables: dict[int, "EntityTable"] = {}
    unindexed: dict[str, None] = {}
    statistics: TermStatistics = msgspec.field(default_factory=TermStatistics)
    counted: dict[str, Row] = {}
    dead_count: int = 0

    def refresh(self) -> None:
        ids, self.stale = self.stale, {}
        for row_id in ids:
            self._drop(row_id)
            row = self.rows.get(Address(self.scope, "entity", row_id))
            if row is not None:
                self._place(row, len(ids))
        for table in self.tables.values():
            table.update()

    def search(self, query: ByVector | ByWords) -> list[Found]:
        limit, least_ppm = rows_at_most(query.limit), max(1, query.min_score_ppm)
        weights = self.statistics.weigh_query(query.text) if isinstance(query, ByWords) else {}
        found = [hit for hit in self.search_unindexed(query, weights) if hit[0] >= least_ppm]
        for table in self.tables.values():
            if isinstance(query, ByWords):
                found += table.by_words(weights, self.statistics, limit, least_ppm, query.where)
            elif table.dims == len(query.vector):
                found += table.by_vector(query.vector, limit, least_ppm, query.where)
        return sorted(found, key=hit_order)[:limit]

    def search_unindexed(self, query: ByVector | ByWords, weights: Mapping[str, int]) -> Iterator[Found]:
        for row_id in self.unindexed:
            row = self.rows[Address(self.scope, "entity", row_id)]
            if not matches(query.where, row.body):
                continue
            if isinstance(query, ByWords):
                yield self.statistics.score_row(weights, terms_of(row.body)), row
            else:
                found = self.rows.get(Address(self.scope, "vector", row.address.id))
                yield 0 if found is None else vector_score(query.vector, found.body), row

    def _drop(self, row_id: str) -> None:
        self.unindexed.pop(row_id, None)
        if row_id in self.counted:
            # The terms of the row as it was counted, not of the present one, must be removed.
            self.statistics.remove(terms_of(self.counted.pop(row_id).body))
        for table in self.tables.values():
            self.dead_count += table.drop(row_id)

    def _place(self, row: Row, room: int) -> None:
        vector = self.rows.get(Address(self.scope, "vector", row.address.id))
        components = pack_vector(None if vector is None else vector.body)
        counts = terms_of(row.body)
        self.counted[row.address.id] = row
        self.statistics.add(counts)
        if components is None or not isinstance(row.body, Entity) or not fits(row.address.id, row.body):
            self.unindexed[row.address.id] = None
            return
        table = self.tables.get(len(components))
        if table is None:
            table = self.tables[len(components)] = EntityTable(len(components))
        table.append(row, row.body, components, counts, room)


def pack_vector(body: Body | None) -> "array[int] | None":
    """Return the components of a vector row, empty without a vector; None if a component is invalid."""
    if not isinstance(body, Vector):
        return array("b")
    return packed_components(body.components)


def packed_components(components: Iterable[int]) -> "array[int] | None":
    try:
        found = array("b", components)
    except (TypeError, OverflowError):
        return None
    return None if TOO_SMALL in found.tobytes() else found


def fits(row_id: str, entity: Entity) -> bool:
    """Return True if the fields of an entity fit the columns; the extreme times stand for all beyond them."""
    return entity.id == row_id and I64_MIN < entity.time_ms < I64_MAX


def id_key(row_id: str) -> int:
    """Return a number that preserves the order of ids: the key of a smaller id is not larger."""
    # "abc" < "fct_..." < "fcu" get 0, 1, 2 in the upper bits. Below them are eight bytes after the prefix;
    # with the prefix only four bytes would tell ids apart. Ids with equal keys are compared themselves.
    has_prefix = row_id.startswith(KEY_PREFIX)
    side = 1 if has_prefix else 2 * (row_id > KEY_PREFIX)
    start = row_id[len(KEY_PREFIX) :][:KEY_BYTES] if has_prefix else row_id[:KEY_BYTES]
    data = start.encode(errors="surrogatepass")[:KEY_BYTES].ljust(KEY_BYTES, b"\0")
    return side << 62 | int.from_bytes(data) >> 2


# One length of vectors.


class EntityTable:
    """Entities as columns. Slots are not reused: a changed row gets a new one."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.rows: list[Row] = []  # by slot
        self.ids: list[str] = []
        self.slots: dict[str, int] = {}  # by id, without dropped rows
        self.postings = Postings()
        self.types: dict[str, int] = {}  # the code of each entity type
        self.measured_count = 0
        self.keys = np.zeros(0, np.uint64)
        self.type_codes = np.zeros(0, np.int32)
        self.times_ms = np.zeros(0, np.int64)
        self.missing = np.zeros(0, np.bool_)
        self.alive = np.zeros(0, np.bool_)
        self.term_counts = np.zeros(0, np.int64)
        self.matrix = np.zeros((0, dims), exact_type(dims))
        self.squares = np.zeros(0, np.int64)
        self.scales = np.zeros(0, np.float32)

    # Changes.

    def append(
        self, row: Row, entity: Entity, components: "array[int]", counts: Mapping[str, int], room: int
    ) -> None:
        slot, row_id = len(self.ids), row.address.id
        if slot == len(self.keys):
            # Grown by a quarter each time, so that the amortised cost of copying is constant per row.
            for name in COLUMNS:
                wider = grow_array(getattr(self, name), max(room, slot * 5 // 4 + ROOM_MIN))
                setattr(self, name, wider)
        self.postings.add(counts, slot)
        self.rows.append(row)
        self.ids.append(row_id)
        self.slots[row_id] = slot
        self.keys[slot] = id_key(row_id)
        self.type_codes[slot] = self.types.setdefault(entity.type, len(self.types))
        self.times_ms[slot] = entity.time_ms
        self.missing[slot] = entity.vector_missing
        self.alive[slot] = True
        self.term_counts[slot] = sum(counts.values())
        self.matrix[slot] = components

    def drop(self, row_id: str) -> bool:
        slot = self.slots.pop(row_id, None)
        if slot is None:
            return False
        self.alive[slot] = False
        self.scales[slot] = 0
        return True

    def update(self) -> None:
        """Compute norms and scales of the rows added since the last call; none of these was dropped yet."""
        fresh = slice(self.measured_count, len(self.ids))
        if self.measured_count < len(self.ids):
            self.squares[fresh], self.scales[fresh] = measure_rows(self.matrix[fresh])
            self.measured_count = len(self.ids)

    # Searches.

    def by_vector(self, query: tuple[int, ...], limit: int, least_ppm: int, where: Where) -> list[Found]:
        size = len(self.ids)
        rows = VectorRows(self.matrix[:size], self.squares[:size], self.scales[:size])
        found = nearest(query, rows, self.ids, limit, least_ppm, self._mask_rows(where))
        return [(score_ppm, self.rows[slot]) for score_ppm, slot in found]

    def by_words(
        self, weights: Mapping[str, int], statistics: TermStatistics, limit: int, least_ppm: int, where: Where
    ) -> list[Found]:
        size = len(self.ids)
        postings = [self.postings.posting(term, weight) for term, weight in weights.items()]
        lengths = (
            LENGTH_UNIT * self.term_counts[:size] * statistics.row_count // max(1, statistics.term_count)
        )
        allowed = self._mask_rows(where)
        if allowed is None and len(self.slots) < size:
            allowed = self.alive[:size]
        found = best_by_words(
            [it for it in postings if it is not None], sum(weights.values()), lengths, self.keys[:size],
            self.ids, limit, least_ppm, allowed,
        )  # fmt: skip
        return [(score_ppm, self.rows[slot]) for score_ppm, slot in found]

    def _mask_rows(self, where: Where) -> Mask | None:
        """Return a mask of the live slots that satisfy every condition; None without conditions."""
        if not where:
            return None
        mask = self.alive[: len(self.ids)].copy()
        for condition in where:
            mask &= self._holding(condition)
        return mask

    def _holding(self, condition: Condition) -> Mask:
        """Return a mask of the slots that satisfy a condition, by column if there is one, else row by row."""
        size, value = len(self.ids), condition.value
        mask: Mask
        match condition:
            case Condition("type", "in", tuple(names)):
                mask = np.isin(self.type_codes[:size], [self.types[it] for it in names if it in self.types])
            case Condition("time_ms", "gte", int()) if type(value) is int:
                mask = self.times_ms[:size] >= within_64_bits(value)
            case Condition("time_ms", "lte", int()) if type(value) is int:
                mask = self.times_ms[:size] <= within_64_bits(value)
            case Condition("vector_missing", "eq", bool()):
                mask = self.missing[:size] == value
            case Condition("id", "not_in", tuple(ids)):
                mask = np.ones(size, np.bool_)
                mask[[self.slots[it] for it in ids if it in self.slots]] = False
            case _:
                mask = np.fromiter((holds(condition, row.body) for row in self.rows), np.bool_, size)
        return mask


def within_64_bits(time_ms: int) -> int:
    return min(max(time_ms, I64_MIN), I64_MAX)


COLUMNS: Final = (
    "keys", "type_codes", "times_ms", "missing", "alive", "term_counts", "matrix", "squares", "scales",
)  # fmt: skip

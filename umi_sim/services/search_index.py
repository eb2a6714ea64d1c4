"""The search index: what storage keeps beside its rows, so that a search need not look at each of them.

Law 1. It is derived: made from the rows when it is first asked, kept up by what is said to have changed, and
       lost by every copy, which makes its own.
Law 2. Its hits are those of a scan, score by score and tie by tie: numpy narrows down, whole numbers decide.
Law 3. A row that does not fit its columns is looked at on its own, as a scan does.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from umi_core.conditions import Condition, Where, holds
from umi_core.data import Owner
from umi_core.language.words import content, words
from umi_core.limits import COMPONENT_MAX, I64_MAX, I64_MIN, PPM
from umi_core.messages.effects import ByVector, ByWords
from umi_core.policies.similarity import NAME_FLOOR_PPM, Rows, exact_type, measured, nearest
from umi_core.rows import Address, Body, Entity, Row, Vector
from umi_core.values import Scope
from umi_sim.services.postings import Mask, Order, Postings, grown, leading
from umi_sim.services.stored_rows import hit_order, matches, rows_at_most, vector_score, words_of, words_score

Found = tuple[int, Row]  # with its score in ppm
Stored = Mapping[Address, Row]

ROOM_MIN: Final = 256
NAME_CHARS_MAX: Final = 254
NAMELESS: Final = 255
TOO_SMALL: Final = (-COMPONENT_MAX - 1).to_bytes(1, signed=True)  # fits a byte all the same
KEY_PREFIX: Final = "ent_"
KEY_BYTES: Final = 8


@attrs.define
class SearchIndex(Owner):
    """One shelf for each scope that was searched."""

    rows: Stored
    shelves: dict[Scope, "Shelf"] = attrs.field(factory=dict, init=False)

    def changed(self, address: Address) -> None:
        shelf = self.shelves.get(address.scope)
        if shelf is not None and address.kind in ("entity", "vector"):
            shelf.stale[address.id] = None

    def search(self, query: ByVector | ByWords, ids: Sequence[str]) -> list[Found]:
        """The hits of a scope whose entities are `ids`, in order."""
        shelf = self.shelves.get(query.scope)
        if shelf is None or shelf.dead_count > ROOM_MIN + len(ids):
            shelf = self.shelves[query.scope] = Shelf(query.scope, self.rows, dict.fromkeys(ids))
        shelf.refresh()
        return shelf.search(query)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Of a copy, and of a pickle, nothing is left."""
        return type(None), ()


def can_answer(query: ByVector | ByWords) -> bool:
    """False for a vector whose products may not be exact."""
    return isinstance(query, ByWords) or packed_components(query.vector) is not None


# One scope.


@attrs.define
class Shelf(Owner):
    """The entities of a scope: a table for each length of vectors, and the ids of rows that fit in none."""

    scope: Scope
    rows: Stored
    stale: dict[str, None]  # ids of rows that changed since the last search
    tables: dict[int, "Table"] = attrs.field(factory=dict, init=False)
    odd: dict[str, None] = attrs.field(factory=dict, init=False)
    dead_count: int = attrs.field(default=0, init=False)

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
        found = [hit for hit in self._odd_ones(query) if hit[0] >= least_ppm]
        for table in self.tables.values():
            if isinstance(query, ByWords):
                found += table.by_words(words_of(query.text), limit, least_ppm, query.where)
            elif table.dims == len(query.vector):
                found += table.by_vector(query.vector, limit, least_ppm, query.where)
        return sorted(found, key=hit_order)[:limit]

    def _odd_ones(self, query: ByVector | ByWords) -> Iterator[Found]:
        for row_id in self.odd:
            row = self.rows[Address(self.scope, "entity", row_id)]
            if matches(query.where, row.body):
                yield self._odd_score(query, row), row

    def _odd_score(self, query: ByVector | ByWords, row: Row) -> int:
        if isinstance(query, ByWords):
            return words_score(query)(row)
        found = self.rows.get(Address(self.scope, "vector", row.address.id))
        return 0 if found is None else vector_score(query.vector, found.body)

    def _drop(self, row_id: str) -> None:
        self.odd.pop(row_id, None)
        for table in self.tables.values():
            self.dead_count += table.drop(row_id)

    def _place(self, row: Row, room: int) -> None:
        vector = self.rows.get(Address(self.scope, "vector", row.address.id))
        components = packed(None if vector is None else vector.body)
        if components is None or not isinstance(row.body, Entity) or not fits(row.address.id, row.body):
            self.odd[row.address.id] = None
            return
        table = self.tables.get(len(components))
        if table is None:
            table = self.tables[len(components)] = Table(len(components))
        table.append(row, row.body, components, room)


def packed(body: Body | None) -> "array[int] | None":
    """The components of a vector row, none for no vector; None if one is no small whole number."""
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
    """True for an entity whose fields fit the columns. Times at both ends are left for those beyond them."""
    is_short = len(entity.name) <= NAME_CHARS_MAX  # so its words can be counted in one byte
    return is_short and entity.id == row_id and I64_MIN < entity.time_ms < I64_MAX


def id_key(row_id: str) -> int:
    """A number in the order of ids: that of a smaller id is not larger. Most ids begin alike."""
    has_prefix = row_id.startswith(KEY_PREFIX)
    side = 1 if has_prefix else 2 * (row_id > KEY_PREFIX)
    start = row_id[len(KEY_PREFIX) :][:KEY_BYTES] if has_prefix else row_id[:KEY_BYTES]
    data = start.encode(errors="surrogatepass")[:KEY_BYTES].ljust(KEY_BYTES, b"\0")
    return side << 62 | int.from_bytes(data) >> 2


# One length of vectors.


class Table:
    """Entities as columns. A slot is never used again: a changed row gets a new one."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.rows: list[Row] = []  # by slot
        self.ids: list[str] = []
        self.slots: dict[str, int] = {}  # of the living
        self.words = Postings()
        self.names = Postings()
        self.types: dict[str, int] = {}  # their codes
        self.measured_count = 0
        self.keys = np.zeros(0, np.uint64)
        self.type_codes = np.zeros(0, np.int32)
        self.times_ms = np.zeros(0, np.int64)
        self.order = Order()
        self.missing = np.zeros(0, np.bool_)
        self.alive = np.zeros(0, np.bool_)
        self.name_sizes = np.zeros(0, np.uint8)  # distinct words
        self.matrix = np.zeros((0, dims), exact_type(dims))
        self.squares = np.zeros(0, np.int64)
        self.scales = np.zeros(0, np.float32)

    # Changes.

    def append(self, row: Row, entity: Entity, components: "array[int]", room: int) -> None:
        slot, row_id = len(self.ids), row.address.id
        if slot == len(self.keys):
            self._grow(max(room, slot * 5 // 4 + ROOM_MIN))
        name_words = dict.fromkeys(words(entity.name))
        self.names.add(name_words, slot)
        self.words.add(dict.fromkeys((*name_words, *words(entity.content))), slot)
        self.rows.append(row)
        self.ids.append(row_id)
        self.slots[row_id] = slot
        self.keys[slot] = id_key(row_id)
        self.type_codes[slot] = self.types.setdefault(entity.type, len(self.types))
        self.times_ms[slot] = entity.time_ms
        self.missing[slot] = entity.vector_missing
        self.alive[slot] = True
        self.name_sizes[slot] = len(name_words) or NAMELESS
        self.matrix[slot] = components

    def drop(self, row_id: str) -> bool:
        slot = self.slots.pop(row_id, None)
        if slot is None:
            return False
        self.alive[slot] = False
        self.scales[slot] = 0
        return True

    def update(self) -> None:
        """Squares and scales of what came since the last time, none of which has gone, and the order."""
        fresh = slice(self.measured_count, len(self.ids))
        if self.measured_count < len(self.ids):
            self.squares[fresh], self.scales[fresh] = measured(self.matrix[fresh])
            self.measured_count = len(self.ids)
            self.order.update(self.keys[: len(self.ids)])

    def _grow(self, size: int) -> None:
        for name in COLUMNS:
            setattr(self, name, grown(getattr(self, name), size))

    # Searches.

    def by_vector(self, query: tuple[int, ...], limit: int, least_ppm: int, where: Where) -> list[Found]:
        size = len(self.ids)
        rows = Rows(self.matrix[:size], self.squares[:size], self.scales[:size])
        found = nearest(query, rows, self.ids, limit, least_ppm, self._allowed(where))
        return [(score_ppm, self.rows[slot]) for score_ppm, slot in found]

    def by_words(self, asked: tuple[str, ...], limit: int, least_ppm: int, where: Where) -> list[Found]:
        """A level is twice the number of words found; what the query names is raised to one of its own."""
        size, wanted = len(self.ids), tuple(dict.fromkeys(content(asked) or asked))
        scores, raised = scores_by_level(len(wanted))
        least = bisect_left(scores, least_ppm)
        if limit <= 0 or least == len(scores):
            return []
        levels = self.words.counted(wanted, size)
        levels += levels
        for slots in self._named(tuple(dict.fromkeys(asked))):
            levels[slots] = np.maximum(levels[slots], raised)
        if (allowed := self._allowed(where)) is not None:
            levels *= allowed
        elif len(self.slots) < size:
            levels *= self.alive[:size]
        found = leading(levels, least, self.keys[:size], self.order, limit)
        ranked = [
            (scores[level], self.rows[slot])
            for level, slot in zip(levels[found].tolist(), found.tolist(), strict=True)
        ]
        return sorted(ranked, key=hit_order)[:limit]

    def _named(self, asked: tuple[str, ...]) -> Iterator[NDArray[np.intp]]:
        """Slots whose name has words, and none but these."""
        if self.names.knows(asked):
            counts = self.names.counted(asked, len(self.ids))
            yield np.flatnonzero(counts == self.name_sizes[: len(self.ids)])

    def _allowed(self, where: Where) -> Mask | None:
        """The living that hold every condition; None if there is none."""
        if not where:
            return None
        mask = self.alive[: len(self.ids)].copy()
        for condition in where:
            mask &= self._holding(condition)
        return mask

    def _holding(self, condition: Condition) -> Mask:
        """By column where there is one; else one row after the other."""
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


@lru_cache(maxsize=64)
def scores_by_level(wanted_count: int) -> tuple[tuple[int, ...], int]:
    """The score of each level, never falling, and the level of a row that is raised to the name floor."""
    if wanted_count == 0:
        return (0,), 0
    scores = [PPM * (level // 2) // wanted_count for level in range(2 * wanted_count + 1)]
    reached = bisect_left(scores, NAME_FLOOR_PPM)
    raised = reached if scores[reached] == NAME_FLOOR_PPM else reached - 1
    scores[raised] = NAME_FLOOR_PPM  # no count is odd, so nothing else has it
    return tuple(scores), raised


def within_64_bits(time_ms: int) -> int:
    return min(max(time_ms, I64_MIN), I64_MAX)


COLUMNS: Final = (
    "keys", "type_codes", "times_ms", "missing", "alive", "name_sizes", "matrix", "squares", "scales",
)  # fmt: skip

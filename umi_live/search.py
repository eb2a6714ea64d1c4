"""Search one scope by an index in RAM, so that a search reads only the rows that it returns.

Law 1. The index follows the database: `follow` reads the changes of all processes since its last call.
Law 2. numpy only preselects; integers decide, so that scores and order equal those of umi_core.
Law 3. A slot belongs to one id for as long as the index exists.
Law 4. A write indexes only the terms of its own row; the rows with a term are counted by each search.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from umi_core.language.terms import split_query
from umi_core.policies.similarity import Posting, VectorRows, best_by_words, exact_type, measure_rows, nearest
from umi_core.policies.term_scores import LENGTH_UNIT, OCCURRENCE_COUNT_MAX, count_terms, weigh_term
from umi_live.columns import SqlConnection, body_of, cap_count, token

ROOM_MIN: Final = 64
MARKED_COUNT_MAX: Final = 256  # cached terms; each takes one byte per slot
FOLLOWED_COUNT_MAX: Final = 100  # after more changes the cached terms are dropped, and read when needed

CHANGED: Final = """
select number, kind, id, body is not null, term_count, components, changed, {check} from row
where scope = ? and changed > ? and kind in ('entity', 'vector') order by changed
"""
FOUND: Final = "select rowid from word where word match ?"

Hit = tuple[int, int]  # score_ppm, slot
Mask = NDArray[np.bool_]
Marks = NDArray[np.uint8]


class Index:
    """The entities of one scope as arrays. Each entity has a slot, its position in all of them."""

    def __init__(self, scope: int, base: int = 0) -> None:
        """Begin an empty index. `base`: a lower bound of the row numbers of the scope."""
        self.scope, self.base = scope, base
        self.changed = 0  # the number of the last commit in the scope that the index contains
        self.version = -1  # `data_version` of the database at the last read
        self.ids: list[str] = []  # by slot
        self.slots: dict[str, int] = {}
        self.keys = np.zeros(0, np.uint64)  # the first eight bytes of each id, which sort like the ids
        self.numbers = np.zeros(0, np.int64)  # row number of the entity, by slot; 0 without an entity
        self.term_counts = np.zeros(0, np.int64)  # number of terms of the entity, by slot; 0 without one
        self.slot_of = np.zeros(0, np.int32)  # by row number minus `base`
        self.vectors: dict[int, Vectors] = {}  # by number of dimensions
        self.marked: dict[str, Marks] = {}  # by term: its count by slot; the least recently used first

    # Following the database.

    def follow(self, connection: SqlConnection, check: str) -> None:
        """Read the commits since the last call. Must be called after a read in the same transaction.

        `check`: an SQL expression that raises for a row changed by another program (`Seal.check`).
        """
        # The version changes with every commit to the database, including those of other scopes.
        version = connection.data_version()
        if version == self.version:
            return
        sql = CHANGED.format(check=check)
        rows: list[Any] = connection.execute(sql, (self.scope, self.changed)).fetchall()
        self.version = version
        again = list[tuple[int, bool]]()
        for number, kind, row_id, is_there, term_count, components, changed, _ in rows:
            slot = self._slot(row_id)
            if kind == "entity":
                again.append((number, self.numbers[slot] == 0))
                self._set_entity(slot, number, term_count if is_there else None)
            else:
                self._set_vector(slot, components if is_there else b"")
            self.changed = changed
        for vectors in self.vectors.values():
            vectors.measure()
        # Detached meanwhile: if the database fails, the cached terms are lost instead of wrong.
        marked, self.marked = self.marked, {}
        self._recount(marked, again, connection)
        self.marked = marked

    def _slot(self, row_id: str) -> int:
        slot = self.slots.setdefault(row_id, len(self.ids))
        if slot == len(self.ids):
            self.ids.append(row_id)
            if slot == len(self.numbers):
                self.numbers, self.keys = grow_array(self.numbers, slot), grow_array(self.keys, slot)
                self.term_counts = grow_array(self.term_counts, slot)
                self.marked = {term: grow_array(marks, slot) for term, marks in self.marked.items()}
            self.keys[slot] = int.from_bytes(row_id.encode()[:8].ljust(8, b"\0"))
        return slot

    def _set_entity(self, slot: int, number: int, term_count: int | None) -> None:
        at = number - self.base
        if at >= len(self.slot_of):
            self.slot_of = grow_array(self.slot_of, at)
        self.slot_of[at] = slot
        self.numbers[slot] = 0 if term_count is None else number
        self.term_counts[slot] = term_count or 0

    def _set_vector(self, slot: int, components: bytes) -> None:
        dims = len(components)
        # An id has one vector: with another embedder it must leave the table of the old number of dimensions.
        for other, vectors in self.vectors.items():
            if other != dims:
                vectors.put(slot, None)
        if dims and dims not in self.vectors:
            self.vectors[dims] = Vectors(dims)
        if dims:
            self.vectors[dims].put(slot, np.frombuffer(components, np.int8))

    def _recount(
        self, marked: dict[str, Marks], rows: Sequence[tuple[int, bool]], connection: SqlConnection
    ) -> None:
        """Recount the cached terms of changed rows.

        `rows`: the number of each row, and whether it was absent before, so that no term counted it.
        """
        if len(rows) > FOLLOWED_COUNT_MAX:
            marked.clear()
        for number, was_absent in rows if marked else ():
            slot, counts = self.slot_of[number - self.base], self._counts_of(number, connection)
            for term in counts if was_absent else marked:
                if term in marked:
                    marked[term][slot] = cap_count(counts.get(term, 0))

    def _counts_of(self, number: int, connection: SqlConnection) -> Mapping[str, int]:
        found: Any = connection.execute("select body from row where number = ?", (number,)).fetchone()
        body = None if found[0] is None else body_of(found[0], None)
        return {} if body is None else count_terms(*body.name_and_text())

    # Searches.

    def by_vector(self, query: Sequence[int], limit: int, least_ppm: int, allowed: Mask | None) -> list[Hit]:
        found = self.vectors.get(len(query))
        if found is None or not any(query):
            return []
        alive = self.numbers[: found.size] > 0
        mask = None if allowed is None and alive.all() else alive
        if allowed is not None:
            mask = alive & allowed[: found.size]
        return nearest(query, found.rows(), self.ids, limit, least_ppm, mask)

    def by_words(
        self, text: str, limit: int, least_ppm: int, allowed: Mask | None, connection: SqlConnection
    ) -> list[Hit]:
        size = len(self.ids)
        row_count, term_counts = int(np.count_nonzero(self.numbers[:size])), self.term_counts[:size]
        postings, weight = list[Posting](), 0
        for term in split_query(text):
            marks = self._marks(term, connection)[:size]
            slots = np.flatnonzero(marks)
            postings.append(Posting(weigh_term(row_count, len(slots)), slots, marks[slots]))
            weight += postings[-1].weight
        lengths = LENGTH_UNIT * term_counts * row_count // max(1, int(term_counts.sum()))
        return best_by_words(postings, weight, lengths, self.keys[:size], self.ids, limit, least_ppm, allowed)

    def _marks(self, term: str, connection: SqlConnection) -> Marks:
        # Removed and inserted again, so that the dict stays in the order of use.
        marks = self.marked.pop(term, None)
        if marks is None:
            marks = np.zeros(len(self.numbers), np.uint8)
            # A row with a term three times has two tokens, for counts 1 and 3: the higher count overwrites.
            for count in range(1, OCCURRENCE_COUNT_MAX + 1):
                numbers = self._list_holding(token(self.scope, term, count), connection)
                slots = self.slot_of[np.array(numbers, np.int64) - self.base]
                if count == 1 and not len(slots):
                    break  # no row has the term
                marks[slots] = count
        self.marked[term] = marks
        if len(self.marked) > MARKED_COUNT_MAX:
            del self.marked[next(iter(self.marked))]
        return marks

    def _list_holding(self, name: str, connection: SqlConnection) -> list[int]:
        """Return the numbers of the rows that have a token."""
        return [number for (number,) in connection.execute(FOUND, (name,))]

    def mask(self, numbers: Iterable[int]) -> Mask:
        """Return a mask of the slots of these rows."""
        found = np.zeros(len(self.ids), np.bool_)
        found[self.slot_of[np.fromiter(numbers, np.int64) - self.base]] = True
        return found

    def exclude(self, mask: Mask, ids: Iterable[object]) -> None:
        for row_id in ids:
            slot = self.slots.get(row_id) if isinstance(row_id, str) else None
            if slot is not None:
                mask[slot] = False


class Vectors:
    """The vectors of one number of dimensions, by slot; zeros for slots without a vector."""

    def __init__(self, dims: int) -> None:
        self.size = 0  # slots from here on have no vector
        self.matrix = np.zeros((0, dims), exact_type(dims))
        self.squares = np.zeros(0, np.int64)
        self.scales = np.zeros(0, np.float32)
        self.unmeasured: list[int] = []  # slots whose vectors have changed since the last `measure`

    def put(self, slot: int, components: NDArray[np.int8] | None) -> None:
        if slot >= len(self.matrix):
            if components is None:
                return
            self.matrix, self.squares = grow_array(self.matrix, slot), grow_array(self.squares, slot)
            self.scales = grow_array(self.scales, slot)
        self.size = max(self.size, slot + 1)
        self.matrix[slot] = 0 if components is None else components
        self.unmeasured.append(slot)

    def measure(self) -> None:
        """Measure the new vectors, or, if at least half are new, all of them, which is faster."""
        at = self.unmeasured if 2 * len(self.unmeasured) < self.size else slice(self.size)
        self.squares[at], self.scales[at] = measure_rows(self.matrix[at])
        self.unmeasured.clear()

    def rows(self) -> VectorRows:
        return VectorRows(self.matrix[: self.size], self.squares[: self.size], self.scales[: self.size])


def grow_array(values: NDArray[Any], index: int) -> NDArray[Any]:
    """Return the array with room for this index and a quarter more, filled with zeros."""
    wider = np.zeros((index + index // 4 + ROOM_MIN, *values.shape[1:]), values.dtype)
    wider[: len(values)] = values
    return wider

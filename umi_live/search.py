"""Searches of one scope: what is kept in memory of its entities, so that a search reads only what it answers.

Law 1. What is kept follows the file: `follow` reads what has changed since, whoever changed it.
Law 2. numpy narrows down and whole numbers decide: scores and their order are those of umi_core.
Law 3. A slot belongs to one id for ever, and never to another.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import apsw
import numpy as np
from numpy.typing import NDArray

from umi_core.language.words import content, words
from umi_core.limits import PPM
from umi_core.policies.similarity import NAME_FLOOR_PPM, Rows, exact_type, measured, nearest
from umi_core.row_bytes import decode_row
from umi_core.rows import Entity

ROOM_MIN: Final = 64
MARKED_COUNT_MAX: Final = 256  # words that are kept: one byte for each slot and word
FOLLOWED_COUNT_MAX: Final = 100  # after more changes the kept words are read again instead
IN_CONTENT, IN_NAME = 1, 2
RANK_COUNT_MAX: Final = 255  # of so many words ranks fit into one byte

CHANGED: Final = """
select number, kind, id, body is not null, name_words, components, changed from row
where scope = ? and changed > ? and kind in ('entity', 'vector') order by changed
"""
FOUND: Final = "select rowid from word where word match ?"

Hit = tuple[int, int]  # score_ppm, slot
Mask = NDArray[np.bool_]
Ranks = NDArray[Any]  # of one byte, or two


def tokens(scope: int, name: Iterable[str], rest: Iterable[str]) -> str:
    """The words of an entity as SQLite keeps them: plain letters, with the scope; those of names twice."""
    in_name = dict.fromkeys(name)
    all_words = dict.fromkeys((*in_name, *rest))
    return " ".join(
        [token(scope, word) for word in all_words] + [name_token(scope, word) for word in in_name]
    )


def token(scope: int, word: str) -> str:
    return f"{scope}x{word.encode().hex()}"


def name_token(scope: int, word: str) -> str:
    return f"{token(scope, word)}n"


class Index:
    """The entities of one scope as columns, one slot each."""

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self.changed = 0  # the last commit of the scope that it knows
        self.version = -1  # of the whole file, when it last looked
        self.ids: list[str] = []  # by slot
        self.slots: dict[str, int] = {}
        self.keys = np.zeros(0, np.uint64)  # in the order of ids, as far as eight bytes tell it
        self.numbers = np.zeros(0, np.int64)  # of the rows of entities; 0 if there is none
        self.name_sizes = np.zeros(0, np.int16)  # how many words the name has
        self.slot_of = np.zeros(0, np.int32)  # by number of the row
        self.vectors: dict[int, Vectors] = {}  # by their length
        self.marked: dict[str, NDArray[np.uint8]] = {}  # by word: where it stands. The longest unused first

    # Following the file.

    def follow(self, connection: apsw.Connection) -> None:
        """Learn what has been committed since the last time. Call it after a read of the same transaction."""
        version = connection.data_version()
        if version == self.version:
            return
        fresh: list[Any] = connection.execute(CHANGED, (self.scope, self.changed)).fetchall()
        self.version = version
        for number, kind, row_id, is_there, name_words, components, changed in fresh:
            slot = self._slot(row_id)
            if kind == "entity":
                self._place(slot, number, name_words if is_there else None)
            else:
                self._embed(slot, components if is_there else b"")
            self.changed = changed
        for vectors in self.vectors.values():
            vectors.measure()
        self._mark_again([number for number, kind, *_ in fresh if kind == "entity"], connection)

    def _slot(self, row_id: str) -> int:
        slot = self.slots.setdefault(row_id, len(self.ids))
        if slot == len(self.ids):
            self.ids.append(row_id)
            if slot == len(self.numbers):
                self.numbers, self.name_sizes = grown(self.numbers, slot), grown(self.name_sizes, slot)
                self.keys = grown(self.keys, slot)
                self.marked = {word: grown(marks, slot) for word, marks in self.marked.items()}
            self.keys[slot] = int.from_bytes(row_id.encode()[:8].ljust(8, b"\0"))
        return slot

    def _place(self, slot: int, number: int, name_words: int | None) -> None:
        if number >= len(self.slot_of):
            self.slot_of = grown(self.slot_of, number)
        self.slot_of[number] = slot
        self.numbers[slot] = 0 if name_words is None else number
        self.name_sizes[slot] = name_words or -1  # a name without words is in no query

    def _embed(self, slot: int, components: bytes) -> None:
        dims = len(components)
        for other, vectors in self.vectors.items():
            if other != dims:
                vectors.put(slot, None)
        if dims and dims not in self.vectors:
            self.vectors[dims] = Vectors(dims)
        if dims:
            self.vectors[dims].put(slot, np.frombuffer(components, np.int8))

    def _mark_again(self, numbers: Sequence[int], connection: apsw.Connection) -> None:
        """Words that are kept may stand elsewhere now."""
        if len(numbers) > FOLLOWED_COUNT_MAX:
            self.marked.clear()
        for number in numbers if self.marked else ():
            slot, told = self.slot_of[number], self._marks_of(number, connection)
            for word, marks in self.marked.items():
                marks[slot] = told.get(word, 0)

    def _marks_of(self, number: int, connection: apsw.Connection) -> dict[str, int]:
        found: Any = connection.execute("select body from row where number = ?", (number,)).fetchone()
        body = None if found[0] is None else decode_row(found[0])
        if not isinstance(body, Entity):
            return {}
        name = words(body.name)
        return dict.fromkeys(words(body.content), IN_CONTENT) | dict.fromkeys(name, IN_CONTENT | IN_NAME)

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
        self, text: str, limit: int, least_ppm: int, allowed: Mask | None, connection: apsw.Connection
    ) -> list[Hit]:
        asked = tuple(dict.fromkeys(words(text)))
        wanted = content(asked) or asked
        if not wanted or limit <= 0 or not self.ids:
            return []
        shares = [PPM * count // len(wanted) for count in range(len(wanted) + 1)]
        possible = sorted({*shares, NAME_FLOOR_PPM})
        ranks = self._ranks(asked, frozenset(wanted), connection, possible.index(NAME_FLOOR_PPM))
        if allowed is not None:
            ranks *= allowed.view(np.uint8)
        return self._leading(ranks, possible, limit, max(1, least_ppm))

    def _ranks(
        self, asked: Sequence[str], wanted: frozenset[str], connection: apsw.Connection, floor: int
    ) -> Ranks:
        """The place of each slot's score among those that are possible, from 0: few bytes, so it is quick.

        The score is the share of the wanted words that it has; what the question names has the rank `floor`
        at least. So shares above that have one rank more than words.
        """
        size = len(self.ids)
        ranks: Ranks = np.zeros(size, np.uint8 if len(asked) < RANK_COUNT_MAX else np.uint16)
        named = np.zeros_like(ranks)
        for word in asked:
            marks = self._marks(word, connection)[:size]
            named += marks >> 1
            if word in wanted:
                ranks += marks & IN_CONTENT
        if PPM * floor // len(wanted) != NAME_FLOOR_PPM:
            ranks += (ranks >= floor).view(np.uint8)
        raised = np.flatnonzero(named)
        raised = raised[named[raised] == self.name_sizes[raised]]
        ranks[raised] = np.maximum(ranks[raised], floor)
        ranks *= (self.numbers[:size] > 0).view(np.uint8)
        return ranks

    def _marks(self, word: str, connection: apsw.Connection) -> NDArray[np.uint8]:
        marks = self.marked.pop(word, None)
        if marks is None:
            marks = np.zeros(len(self.numbers), np.uint8)
            marks[self._where(token(self.scope, word), connection)] |= IN_CONTENT
            marks[self._where(name_token(self.scope, word), connection)] |= IN_NAME
        self.marked[word] = marks
        if len(self.marked) > MARKED_COUNT_MAX:
            del self.marked[next(iter(self.marked))]
        return marks

    def _where(self, name: str, connection: apsw.Connection) -> NDArray[np.int32]:
        numbers = [number for (number,) in connection.execute(FOUND, (name,))]
        return self.slot_of[np.array(numbers, np.int64)]

    def _leading(self, ranks: Ranks, possible: list[int], limit: int, least_ppm: int) -> list[Hit]:
        """The best by (score descending, id)."""
        hits: list[Hit] = []
        for rank in range(len(possible) - 1, 0, -1):
            if len(hits) == limit or possible[rank] < least_ppm:
                break
            slots = self._first(np.flatnonzero(ranks == rank), limit - len(hits))
            hits += [(possible[rank], slot) for slot in slots]
        return hits

    def _first(self, slots: NDArray[np.intp], count: int) -> list[int]:
        """The first by id; of many only those are compared whose eight bytes say that they may be."""
        if len(slots) > count:
            keys = self.keys[slots]
            slots = slots[keys <= np.partition(keys, count - 1)[count - 1]]
        return sorted(slots.tolist(), key=self.ids.__getitem__)[:count]

    def mask(self, numbers: Iterable[int]) -> Mask:
        """The slots of these rows of entities."""
        found = np.zeros(len(self.ids), np.bool_)
        found[self.slot_of[np.fromiter(numbers, np.int64)]] = True
        return found

    def everything(self) -> Mask:
        return np.ones(len(self.ids), np.bool_)

    def exclude(self, mask: Mask, ids: Iterable[object]) -> None:
        for row_id in ids:
            slot = self.slots.get(row_id) if isinstance(row_id, str) else None
            if slot is not None:
                mask[slot] = False


class Vectors:
    """The vectors of one length, by slot; zeros where there is none."""

    def __init__(self, dims: int) -> None:
        self.size = 0  # slots behind have none
        self.matrix = np.zeros((0, dims), exact_type(dims))
        self.squares = np.zeros(0, np.int64)
        self.scales = np.zeros(0, np.float32)
        self.fresh: list[int] = []

    def put(self, slot: int, components: NDArray[np.int8] | None) -> None:
        if slot >= len(self.matrix):
            if components is None:
                return
            self.matrix, self.squares = grown(self.matrix, slot), grown(self.squares, slot)
            self.scales = grown(self.scales, slot)
        self.size = max(self.size, slot + 1)
        self.matrix[slot] = 0 if components is None else components
        self.fresh.append(slot)

    def measure(self) -> None:
        """Of most of them it is quicker to measure all than to pick them."""
        at = self.fresh if 2 * len(self.fresh) < self.size else slice(self.size)
        self.squares[at], self.scales[at] = measured(self.matrix[at])
        self.fresh.clear()

    def rows(self) -> Rows:
        return Rows(self.matrix[: self.size], self.squares[: self.size], self.scales[: self.size])


def grown(values: NDArray[Any], place: int) -> NDArray[Any]:
    """The array with room for this place and a quarter more; what is new is zero."""
    wider = np.zeros((place + place // 4 + ROOM_MIN, *values.shape[1:]), values.dtype)
    wider[: len(values)] = values
    return wider

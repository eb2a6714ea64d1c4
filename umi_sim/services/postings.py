"""Postings: which rows hold a word, and which of many rows hold most of a query.

Law 1. Rows are slots, numbers that only grow, so a posting list is in order by itself.
Law 2. What is cut here is cut by whole numbers and never splits a tie: ids decide it, outside.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from umi_core.data import Owner
from umi_core.policies.similarity import Peaks

Mask = NDArray[np.bool_]
Counts = NDArray[np.unsignedinteger[Any]]

MASKED_SHARE: Final = 64  # a word that one row in so many holds is counted by a mask
MASK_COUNT_MAX: Final = 64
LATE_COUNT_MIN: Final = 1_024
RARE_SHARE: Final = 8  # fewer columns than one in so many have a level: all its slots are looked at


@attrs.define
class Marked(Owner):
    """A posting list as one byte per slot, as far as the list was when a search last needed it."""

    bits: NDArray[np.uint8]
    count: int = 0

    def update(self, slots: "array[int]", size: int) -> None:
        if size > self.bits.size:
            self.bits = grown(self.bits, max(size, self.bits.size * 5 // 4))
        if self.count < len(slots):
            self.bits[np.frombuffer(slots, np.intc)[self.count :]] = 1
            self.count = len(slots)


@attrs.define
class Postings(Owner):
    """Slots by word: a number for one, an array for more."""

    slots: dict[str, "int | array[int]"] = attrs.field(factory=dict, init=False)
    marked: dict[str, Marked] = attrs.field(factory=dict, init=False)  # the longest unused first

    def add(self, words: Iterable[str], slot: int) -> None:
        """Slots come in ascending order; the words are distinct."""
        slots = self.slots
        for word in words:
            found = slots.get(word)
            if found is None:
                slots[word] = slot
            elif isinstance(found, int):
                slots[word] = array("i", (found, slot))
            else:
                found.append(slot)

    def knows(self, words: Iterable[str]) -> bool:
        """True if anybody holds any."""
        return any(word in self.slots for word in words)

    def counted(self, words: Sequence[str], size: int) -> Counts:
        """How many of the distinct words each of `size` slots holds, with room for twice as many."""
        counts: Counts = np.zeros(size, np.min_scalar_type(2 * len(words)))
        for word in words:
            found = self.slots.get(word)
            if isinstance(found, int):
                counts[found] += 1
            elif found is not None and len(found) * MASKED_SHARE < size:
                counts[np.frombuffer(found, np.intc)] += 1
            elif found is not None:
                counts += self._mask(word, found, size)
        return counts

    def _mask(self, word: str, slots: "array[int]", size: int) -> NDArray[np.uint8]:
        found = self.marked.pop(word, None) or Marked(np.zeros(size, np.uint8))
        self.marked[word] = found
        if len(self.marked) > MASK_COUNT_MAX:
            del self.marked[next(iter(self.marked))]
        found.update(slots, size)
        return found.bits[:size]


Kind = Any


def grown(values: NDArray[Kind], size: int) -> NDArray[Kind]:
    """The array with room for `size` rows; what is new is zero."""
    wider = np.zeros((size, *values.shape[1:]), values.dtype)
    wider[: len(values)] = values
    return wider


@attrs.define
class Order(Owner):
    """The slots by key, but for the latest ones, which are looked at one by one."""

    slots: NDArray[np.intp] = attrs.field(init=False, factory=lambda: np.zeros(0, np.intp))

    def update(self, keys: NDArray[np.uint64]) -> None:
        if len(keys) - len(self.slots) > LATE_COUNT_MIN + len(keys) // 8:
            self.slots = np.argsort(keys)

    def first(self, levels: Counts, level: int, keys: NDArray[np.uint64], count: int) -> NDArray[np.intp]:
        """Slots of a level, among them the `count` with the smallest keys and all that tie with the last."""
        assert count > 0
        known, size = len(self.slots), 16 * count
        late = np.flatnonzero(levels[known:] == level) + known
        found = self.slots[:size]
        found = found[levels[found] == level]
        while len(found) < count and size < known:
            size *= 4
            found = self.slots[:size]
            found = found[levels[found] == level]
        if len(found) >= count:
            last = keys[found[count - 1]]
            found = self.slots[: np.searchsorted(keys[:known], last, "right", sorter=self.slots)]
            found = found[levels[found] == level]
            late = late[keys[late] <= last]
        return np.concatenate((found, late))


def leading(
    levels: Counts, least: int, keys: NDArray[np.uint64], order: Order, count: int
) -> NDArray[np.intp]:
    """Slots of level `least` or more, among them the `count` first by (level descending, key).

    Slots with equal levels and keys are all in it or all not.
    """
    assert least > 0
    assert count > 0
    peaks = Peaks.of(levels, count)
    low = max(least, int(peaks.kth(count)))  # that many slots reach it, or all that reach `least` are hits
    above = peaks.reaching(low + 1)
    rest = count - len(above)
    if rest <= 0:
        return above
    if np.count_nonzero(peaks.tops >= low) * RARE_SHARE > len(peaks.tops):
        return np.concatenate((above, order.first(levels, low, keys, rest)))
    ties = peaks.reaching(low)
    ties = ties[levels[ties] == low]
    if len(ties) > rest:
        ties = ties[keys[ties] <= np.partition(keys[ties], rest - 1)[rest - 1]]
    return np.concatenate((above, ties))

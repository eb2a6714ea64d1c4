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

Mask = NDArray[np.bool_]
Counts = NDArray[np.unsignedinteger[Any]]

MASKED_SHARE: Final = 64  # a word that one row in so many holds is counted by a mask
MASK_COUNT_MAX: Final = 64


@attrs.define
class Marked:
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
class Postings:
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


def leading(levels: Counts, least: int, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Slots of level `least` or more, among them the `count` first by (level descending, key).

    Slots with equal levels and keys are all in it or all not.
    """
    assert least > 0
    assert count > 0
    low, high = least, int(levels.max())
    while low < high:  # the highest level that `count` slots reach
        middle = (low + high + 1) // 2
        if np.count_nonzero(levels >= middle) >= count:
            low = middle
        else:
            high = middle - 1
    above = np.flatnonzero(levels > low)
    return np.concatenate((above, first_by_key(levels == low, keys, count - above.size)))


def first_by_key(mask: Mask, keys: NDArray[np.uint64], count: int) -> NDArray[np.intp]:
    """Slots of the mask, among them the `count` with the smallest keys and all that tie with the last."""
    assert count > 0
    size = max(1_024, mask.size // 16)  # the first few give a bound for all
    some = np.flatnonzero(mask[:size])
    while some.size < count and size < mask.size:
        size *= 4
        some = np.flatnonzero(mask[:size])
    if some.size < count:
        return some  # all there are
    bound = np.partition(keys[some], count - 1)[count - 1]
    return np.flatnonzero(mask & (keys <= bound))

"""Postings: which rows hold a term, and how often.

Law 1. Rows are slots, numbers that only grow, so a posting list is in order by itself.
"""

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from umi_core.data import Owner
from umi_core.policies.similarity import Posting

Mask = NDArray[np.bool_]
Kind = Any


class Postings(Owner):
    """Slots by the terms that they hold, and how often each of them does, up to 255 times."""

    slots: dict[str, "array[int]"] = {}
    counts: dict[str, "array[int]"] = {}

    def add(self, counts: Mapping[str, int], slot: int) -> None:
        """Slots come in ascending order."""
        for term, count in counts.items():
            if term not in self.slots:
                self.slots[term], self.counts[term] = array("i"), array("B")
            self.slots[term].append(slot)
            self.counts[term].append(min(count, 255))

    def posting(self, term: str, weight: int) -> Posting | None:
        """Return the rows that hold a term; None if no row does. Drop it before anything is added."""
        if term not in self.slots:
            return None
        slots, counts = np.frombuffer(self.slots[term], np.intc), np.frombuffer(self.counts[term], np.uint8)
        return Posting(weight, slots, counts)


def grow_array(values: NDArray[Kind], size: int) -> NDArray[Kind]:
    """Return the array with room for `size` rows; new rows are zero."""
    wider = np.zeros((size, *values.shape[1:]), values.dtype)
    wider[: len(values)] = values
    return wider

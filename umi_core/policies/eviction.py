"""Eviction: which promoted entries leave a core tier that exceeds a limit.

Law 1. Eviction is pure arithmetic on numbers: no state, no clock, no effects.
Law 2. The result does not depend on the order of entries; of equal scores the smaller id leaves first.
Law 3. A self entry never leaves. Law 4. Each victim is needed, so without a shortage there are no victims.
"""

from collections.abc import Iterable

from umi_core.data import Data
from umi_core.policies.routing import SELF_BLOCK


class EvictionCandidate(Data):
    """The properties of a promoted entry that this policy needs."""

    entity_id: str
    score_ppm: int
    size_bytes: int
    block: str


class Shortage(Data):
    """The amount by which each limit is exceeded; zero or less means that the limit holds."""

    core_bytes: int = 0
    entry_count: int = 0
    block_bytes: tuple[tuple[str, int], ...] = ()

    @property
    def is_met(self) -> bool:
        lacking = (self.core_bytes, self.entry_count, *(lack for _, lack in self.block_bytes))
        return max(lacking) <= 0

    def after(self, entry: EvictionCandidate, count: int = 1) -> "Shortage":
        """Return the shortage after the entry has left; with count -1, after it has come back."""
        # If 300 bytes leave, a shortage of 900 becomes 600; if they come back (count -1), 900 again.
        freed = count * entry.size_bytes
        blocks = ((block, lack - freed if block == entry.block else lack) for block, lack in self.block_bytes)
        return Shortage(self.core_bytes - freed, self.entry_count - count, tuple(blocks))


def victims(entries: Iterable[EvictionCandidate], shortage: Shortage) -> tuple[str, ...] | None:
    """Return the ids that leave, by (score, id); None if evicting all candidates would not be enough.

    The first pass marks entries from the weakest up until the limits hold. It may mark too many: small
    entries before one that alone is enough, or entries that do not help the limit still exceeded. The second
    pass therefore unmarks, from the best down, every entry that is not needed.

        lacking 900   a 300 bytes, 610_000   b 1_200, 640_000   c 200, 655_000
        mark          a (600 lacking)        b (600 to spare)   not reached
        unmark        not needed             needed
    """
    marked: list[EvictionCandidate] = []
    for entry in sorted(entries, key=lambda entry: (entry.score_ppm, entry.entity_id)):
        if entry.block != SELF_BLOCK and not shortage.is_met:
            marked.append(entry)
            shortage = shortage.after(entry)
    return unmark(marked, shortage) if shortage.is_met else None


def unmark(marked: list[EvictionCandidate], shortage: Shortage) -> tuple[str, ...]:
    """Return the ids of the marked entries that are needed, checking the best ones first."""
    needed: list[str] = []
    for entry in reversed(marked):
        if (without := shortage.after(entry, -1)).is_met:
            shortage = without
        else:
            needed.append(entry.entity_id)
    assert shortage.is_met
    return tuple(reversed(needed))

"""Eviction: which promoted entries leave a core tier that lacks room.

Law 1. Pure arithmetic: no state, no clock, no effects. Numbers in, ids out.
Law 2. Same entries, same answer, in any order of arrival; ties go to the smaller id.
Law 3. A self entry never leaves. Law 4. Each victim is needed; nothing short, no victims.
"""

from collections.abc import Iterable

from umi_core.data import Data
from umi_core.policies.routing import SELF_BLOCK


class EvictionCandidate(Data):
    """A promoted entry as this policy sees it: where it lies, what it takes, what it is worth."""

    entity_id: str
    score_ppm: int
    size_bytes: int
    block: str


class Shortage(Data):
    """How much is lacking of each limit; a number of at most zero is room to spare."""

    core_bytes: int = 0
    entry_count: int = 0
    block_bytes: tuple[tuple[str, int], ...] = ()

    @property
    def is_met(self) -> bool:
        lacking = (self.core_bytes, self.entry_count, *(lack for _, lack in self.block_bytes))
        return max(lacking) <= 0

    def after(self, entry: EvictionCandidate, count: int = 1) -> "Shortage":
        """Return the shortage when the entry has left, or with count -1 when it has come back."""
        # 300 bytes leave a shortage of 900: 600; they come back (count -1): 900 again.
        freed = count * entry.size_bytes
        blocks = ((block, lack - freed if block == entry.block else lack) for block, lack in self.block_bytes)
        return Shortage(self.core_bytes - freed, self.entry_count - count, tuple(blocks))


def victims(entries: Iterable[EvictionCandidate], shortage: Shortage) -> tuple[str, ...] | None:
    """Return the ids that leave, by (score, id); None if all that may leave would not be enough.

    Why two passes: the first, from the weakest up, marks small ones before the one that alone is enough, and
    ones that help no limit still short. The second, from the best down, unmarks all that are not needed.

        lacking 900   a 300 bytes, 610_000   b 1_200, 640_000   c 200, 655_000
        mark          a (600 lacking)        b (600 to spare)   not asked
        unmark        not needed             needed
    """
    marked: list[EvictionCandidate] = []
    for entry in sorted(entries, key=lambda entry: (entry.score_ppm, entry.entity_id)):
        if entry.block != SELF_BLOCK and not shortage.is_met:
            marked.append(entry)
            shortage = shortage.after(entry)
    return unmark(marked, shortage) if shortage.is_met else None


def unmark(marked: list[EvictionCandidate], shortage: Shortage) -> tuple[str, ...]:
    """Return the ids of the marked entries that are needed, looking at the best ones first."""
    needed: list[str] = []
    for entry in reversed(marked):
        if (without := shortage.after(entry, -1)).is_met:
            shortage = without
        else:
            needed.append(entry.entity_id)
    assert shortage.is_met
    return tuple(reversed(needed))

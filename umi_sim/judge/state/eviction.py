"""A second, simplest implementation of admission and eviction: core is a list of entries, always recounted.

Law 1. From the weakest up, entries are removed until no limit is exceeded; then, from the best down, each one
       that fits after all is put back. An entry about the agent itself is never removed.
Law 2. A newcomer is admitted if there is room, or if all entries that must leave for it are weaker by the
       margin. An entry about the agent itself is admitted whatever its score, within its quota.
Law 3. A successor of an ended fact is admitted only if no entry has to leave for it.
"""

from collections.abc import Iterable, Sequence

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.limits import BLOCK_BYTES_MAX, PPM, SELF_ENTRY_COUNT_MAX, SELF_SHARE_PPM
from umi_core.policies.routing import SELF_BLOCK

Slot = tuple[str, str]


class ScoredEntry(Data):
    """An entry in core, or a candidate for it."""

    entity_id: str
    kind: str
    size_bytes: int
    score_ppm: int

    @property
    def is_self(self) -> bool:
        return self.kind == SELF_BLOCK


class ReferenceEviction(Owner):
    """The reference core.

    `texts`: bytes of labels and authored texts by slot; these always stay. `candidates`: the entries in core,
    by id.
    """

    config: Config
    texts: dict[Slot, int]
    candidates: dict[str, ScoredEntry]

    def make_room(self) -> bool:
        """Remove entries to make room for authored text or lowered limits; return False if impossible."""
        victims = self.list_victims("")
        self.remove(victims or [])
        return victims is not None

    def admit(self, candidate: ScoredEntry, *, is_successor: bool = False) -> None:
        if candidate.is_self and self.is_over_quota(candidate):
            return
        self.candidates[candidate.entity_id] = candidate
        victims = self.list_victims(candidate.entity_id)
        # For a score of 600,000 and a margin of 50,000, entries up to 550,000 may be removed.
        limit_ppm = PPM if candidate.is_self else candidate.score_ppm - self.config.displace_margin_ppm
        is_strong = any(victim.score_ppm > limit_ppm for victim in victims or ())
        if victims is None or is_strong or (is_successor and victims):
            del self.candidates[candidate.entity_id]
        else:
            self.remove(victims)

    def remove(self, victims: Iterable[ScoredEntry]) -> None:
        for victim in victims:
            del self.candidates[victim.entity_id]

    def is_over_quota(self, candidate: ScoredEntry) -> bool:
        sizes = [other.size_bytes for other in (*self.candidates.values(), candidate) if other.is_self]
        share_bytes = self.config.core_bytes_max * SELF_SHARE_PPM // PPM
        return len(sizes) > SELF_ENTRY_COUNT_MAX or sum(sizes) > share_bytes

    def has_room_for(self, candidate: ScoredEntry) -> bool:
        """Return True if `candidate` fits without the removal of an entry."""
        more = ReferenceEviction(self.config, self.texts, {**self.candidates, candidate.entity_id: candidate})
        return not more.is_short([])

    def list_victims(self, newcomer: str) -> list[ScoredEntry] | None:
        """List the entries to remove for the entry `newcomer`, or, if that is "", for the present contents.

        Return None if a limit is exceeded even without all other entries.
        """
        others = [it for key, it in self.candidates.items() if not it.is_self and key != newcomer]
        weakest = sorted(others, key=lambda it: (it.score_ppm, it.entity_id))
        # More than quadratic on purpose: everything is recounted
        # each time, without running totals that could be wrong.
        enough = next((n for n in range(len(weakest) + 1) if not self.is_short(weakest[:n])), None)
        if enough is None:
            return None
        needed: list[ScoredEntry] = []
        # Weakest first a (10 bytes) and b (90), 80 bytes too many: both are removed, then a is put back.
        for n in reversed(range(enough)):
            if self.is_short([*weakest[:n], *needed]):
                needed.append(weakest[n])
        return needed

    def is_short(self, removed: Sequence[ScoredEntry]) -> bool:
        """Return True if a limit is exceeded even without the entries of `removed`."""
        removed_ids = {it.entity_id for it in removed}
        kept = [it for key, it in self.candidates.items() if key not in removed_ids]
        sizes = dict(self.texts)
        for it in kept:
            sizes[it.kind, ""] = sizes.get((it.kind, ""), 0) + it.size_bytes
        is_full = sum(sizes.values()) > self.config.core_bytes_max
        is_block_full = any(size_bytes > BLOCK_BYTES_MAX for size_bytes in sizes.values())
        return is_full or is_block_full or len(kept) > self.config.core_entry_count_max

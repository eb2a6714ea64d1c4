"""Admission and eviction a second time, as simple as can be: core as a list of entries, always counted again.

Law 1. From the weakest up, entries leave until no limit is exceeded; then, from the best down, each one that
       need not have left comes back. An entry about the agent itself never leaves.
Law 2. A newcomer gets a place if there is room, or if all that must leave for it are weaker by the margin; an
       entry about the agent itself gets one whatever its score, within its quota.
Law 3. A successor of an ended fact gets a place only if no entry has to leave for it.
"""

from collections.abc import Iterable, Sequence

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.limits import BLOCK_BYTES_MAX, PPM, SELF_ENTRY_COUNT_MAX, SELF_SHARE_PPM
from umi_core.policies.routing import SELF_BLOCK

Slot = tuple[str, str]


class ScoredEntry(Data):
    """An entry in core, or one that asks for a place."""

    entity_id: str
    kind: str
    size_bytes: int
    score_ppm: int

    @property
    def is_self(self) -> bool:
        return self.kind == SELF_BLOCK


class ReferenceEviction(Owner):
    """Core as the reference fills it.

    `texts`: bytes of labels and authored texts by slot; these never leave. `candidates`: the entries in core,
    by id.
    """

    config: Config
    texts: dict[Slot, int]
    candidates: dict[str, ScoredEntry]

    def make_room(self) -> bool:
        """Remove entries for authored text, or lowered limits. Return False if that is not enough."""
        victims = self.list_victims("")
        self.remove(victims or [])
        return victims is not None

    def admit(self, candidate: ScoredEntry, *, is_successor: bool = False) -> None:
        if candidate.is_self and self.is_over_quota(candidate):
            return
        self.candidates[candidate.entity_id] = candidate
        victims = self.list_victims(candidate.entity_id)
        # score 600,000, margin 50,000: entries up to 550,000 may leave, one of 560,000 may not
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
        """Return True if `candidate` fits too, so that no entry has to leave for it."""
        more = ReferenceEviction(self.config, self.texts, {**self.candidates, candidate.entity_id: candidate})
        return not more.is_short([])

    def list_victims(self, newcomer: str) -> list[ScoredEntry] | None:
        """List the entries that leave for the entry with the id `newcomer`, or for what is in core already.

        None if even without all other entries a limit is exceeded.
        """
        others = [it for key, it in self.candidates.items() if not it.is_self and key != newcomer]
        weakest = sorted(others, key=lambda it: (it.score_ppm, it.entity_id))
        # Quadratic and more, on purpose: each candidate is
        # counted afresh, with no running totals to get wrong.
        enough = next((n for n in range(len(weakest) + 1) if not self.is_short(weakest[:n])), None)
        if enough is None:
            return None
        needed: list[ScoredEntry] = []
        # weakest first a (10 bytes), b (90), with 80 bytes too many: a and b leave, then a comes back
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

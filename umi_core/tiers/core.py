"""The core tier: blocks of authored text and promoted entries that are always in the model's context.

Law 1. The whole tier is one immutable value; a transition returns a new one, or an error and changes nothing.
Law 2. Rendering shows exactly the contents of core: each id has at most one entry, each slot at most one
       block, and blocks are in order.
Law 3. A block exists if and only if it has authored text or entries; its importance is lost with it.
Law 4. Entries are only in blocks without a label, never in system; entries about the agent are in persona.
Law 5. Limits hold after every transition. Entries make room for authored text, never the other way round.
       An entry shows its whole fact; a fact is never cut to fit.
Law 6. Only the user may write or remove the system block, or one labelled like it. The default author is a
       model, so a new caller that forgets to name the author of its text cannot write there.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from msgspec import structs

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import Blocks, Count
from umi_core.kelpie.errors import ReadOnly
from umi_core.limits import BLOCK_BYTES_MAX, BLOCK_COUNT_MAX, ENTRY_TEXT_BYTES_MAX, PPM
from umi_core.policies.eviction import EvictionCandidate, Shortage, victims
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import Entity
from umi_core.text import core_text, is_text, line_ends, size, skeleton, tidy
from umi_core.values import BLOCK_KINDS, MODEL, USER, Block, Entry

SYSTEM: Final = BLOCK_KINDS[0]
ENTRY_KINDS: Final = BLOCK_KINDS[1:]

Scores = Mapping[str, int]
AdmissionOutcome = Literal["promoted", "refused_full", "refused_quota"]


class CoreTier(Data):
    """Blocks ordered by (kind, label bytes), and the version of the guard row they belong to."""

    tag = 86
    blocks: Blocks = ()
    guard_version: Count = 0

    @property
    def used_bytes(self) -> int:
        return sum(block.size_bytes for block in self.blocks)

    @property
    def entry_count(self) -> int:
        return sum(len(block.entries) for block in self.blocks)

    @property
    def authored_count(self) -> int:
        return sum(block.text is not None for block in self.blocks)

    def entries(self) -> Iterator[tuple[Block, Entry]]:
        """Yield every promoted entry with its block, in the order of the rendering."""
        return ((block, entry) for block in self.blocks for entry in block.entries)

    def find(self, kind: str, label: str = "") -> Block | None:
        # A label from a caller may be of any type; one that is no text matches no block.
        key = (kind, tidy(label) if is_text(label) else None)
        return next((block for block in self.blocks if (block.kind, block.label) == key), None)

    def locate(self, entity_id: str) -> tuple[Block, Entry] | None:
        return next((found for found in self.entries() if found[1].entity_id == entity_id), None)


def core_of(blocks: Iterable[Block], guard_version: int = 0) -> CoreTier:
    """Return the tier of these blocks, in any order; blocks without text and entries are left out."""
    kept = (block for block in blocks if block.text is not None or block.entries)
    return CoreTier(tuple(sorted(kept, key=lambda block: block.order)), guard_version)


# Authored text. The fields of these requests have been checked before.


class CoreWrite(Data):
    """An accepted write: the tier after it, the ids of entries that left core, the text that was removed."""

    core: CoreTier
    left_ids: tuple[str, ...] = ()
    text: str | None = None


def check_author(kind: str, label: str, author: str) -> ReadOnly | None:
    """Return an error if this author may not write this block: only the user may write a system block.

    A model reads texts of strangers; if it could write here, one injected instruction would be in the system
    text of every later conversation. A block labelled `system`, in any spelling, counts as one, because one
    rendering shows blocks by their labels. No other function decides this.
    """
    is_system = SYSTEM in (kind, skeleton(label))
    return ReadOnly(slot_name(kind, label), author) if is_system and author != USER else None


def set_block(
    core: CoreTier,
    kind: str,
    text: str,
    label: str,
    importance_ppm: int | None,
    scores: Scores,
    config: Config,
    author: str = MODEL,
) -> CoreWrite | errors.Error:
    """Create or replace the authored text; keep entries if they fit, and importance unless it is given."""
    if error := check_author(kind, label, author):
        return error
    asked = Block(kind, tidy(label), line_ends(text))
    old = core.find(kind, asked.label) or Block(kind, asked.label)
    # Only a block that gets its first text raises the number of authored blocks.
    if old.text is None and core.authored_count >= BLOCK_COUNT_MAX:
        return errors.TooManyBlocks(core.authored_count, BLOCK_COUNT_MAX)
    kept_ppm = old.importance_ppm if importance_ppm is None else importance_ppm
    # The wanted tier may exceed its limits; `find_leaving` finds the entries that must leave.
    wanted = put(core, structs.replace(old, text=asked.text, importance_ppm=kept_ppm))
    left = find_leaving(core, wanted, scores, config)
    if left is None:
        return core_full(core, old, asked, config)
    return CoreWrite(without(wanted, left), left)


def core_full(core: CoreTier, old: Block, asked: Block, config: Config) -> errors.CoreFull:
    """Return the error with the limit that is exceeded: that of the block with self entries, or of core."""
    # Other entries make room for text, but self entries never leave: only in persona can they block a text.
    kept_bytes = sum(entry.size_bytes for entry in old.entries) if old.kind == SELF_BLOCK else 0
    if kept_bytes + asked.size_bytes > BLOCK_BYTES_MAX:
        return errors.CoreFull(kept_bytes, BLOCK_BYTES_MAX, asked.size_bytes)
    return errors.CoreFull(core.used_bytes, config.core_bytes_max, asked.size_bytes)


def set_importance(
    core: CoreTier, kind: str, importance_ppm: int, label: str = "", author: str = MODEL
) -> CoreWrite | errors.Error:
    if error := check_author(kind, label, author):
        return error
    block = core.find(kind, label)
    if block is None:
        return errors.BlockNotFound(slot_name(kind, label))
    return CoreWrite(put(core, structs.replace(block, importance_ppm=importance_ppm)))


def remove_block(core: CoreTier, kind: str, label: str = "", author: str = MODEL) -> CoreWrite | errors.Error:
    """Remove a block with its text and all its entries, including self entries."""
    if error := check_author(kind, label, author):
        return error
    block = core.find(kind, label)
    if block is None:
        return errors.BlockNotFound(slot_name(kind, label))
    left = tuple(entry.entity_id for entry in block.entries)
    # `core_of` drops a block without text and entries.
    return CoreWrite(put(core, Block(block.kind, block.label)), left, block.text)


# Promoted entries: facts that the memory itself puts into core.


class Admission(Data):
    """The result of trying to admit an entry to core. A refusal is an outcome, not an error."""

    core: CoreTier
    outcome: AdmissionOutcome
    evicted_ids: tuple[str, ...] = ()


def admit(
    core: CoreTier,
    entry: Entry,
    kind: str,
    score_ppm: int,
    scores: Scores,
    config: Config,
    *,
    forced: bool = False,
) -> Admission:
    """Admit an entry that is not in core if it fits, or if all that must leave for it are weaker by a margin.

    A self entry, and a forced one, needs no margin. A fact longer than ENTRY_TEXT_BYTES_MAX is refused.
    """
    assert core.locate(entry.entity_id) is None, entry.entity_id
    if size(entry.text) > ENTRY_TEXT_BYTES_MAX:
        return Admission(core, "refused_full")
    if kind == SELF_BLOCK and is_over_quota(core, entry, config):
        return Admission(core, "refused_quota")
    wanted = put_entry(core, kind, entry)
    left = find_leaving(core, wanted, scores, config)
    # With score 600,000 and margin 50,000, an entry of 550,000 may be displaced, one of 550,001 may not.
    limit_ppm = PPM if forced or kind == SELF_BLOCK else score_ppm - config.displace_margin_ppm
    if left is None or any(scores.get(victim, 0) > limit_ppm for victim in left):
        return Admission(core, "refused_full")
    return Admission(without(wanted, left), "promoted", left)


def is_over_quota(core: CoreTier, entry: Entry, config: Config) -> bool:
    """Check whether self entries would be too many or take too large a share of core."""
    persona = core.find(SELF_BLOCK) or Block(SELF_BLOCK)
    share_bytes = config.core_bytes_max * limits.SELF_SHARE_PPM // PPM
    # This may be negative after the limits were lowered.
    room_bytes = share_bytes - sum(it.size_bytes for it in persona.entries)
    return len(persona.entries) >= limits.SELF_ENTRY_COUNT_MAX or entry.size_bytes > room_bytes


def fit(core: CoreTier, scores: Scores, config: Config) -> tuple[CoreTier, tuple[str, ...]] | None:
    """Fit the tier to lower limits; return it and the ids that left, or None if evicting is not enough."""
    left = find_leaving(core, core, scores, config)
    return None if left is None else (without(core, left), left)


# The parts of a transition.


def find_leaving(core: CoreTier, wanted: CoreTier, scores: Scores, config: Config) -> tuple[str, ...] | None:
    """Return the ids that must leave so that `wanted` keeps its limits; None if even all are not enough."""
    standings = (
        EvictionCandidate(entry.entity_id, scores.get(entry.entity_id, 0), entry.size_bytes, block.kind)
        for block, entry in core.entries()
    )
    return victims(standings, shortage(wanted, config))


def shortage(core: CoreTier, config: Config) -> Shortage:
    return Shortage(
        core_bytes=core.used_bytes - config.core_bytes_max,
        entry_count=core.entry_count - config.core_entry_count_max,
        block_bytes=tuple((slot_name(b.kind, b.label), b.size_bytes - BLOCK_BYTES_MAX) for b in core.blocks),
    )


def put(core: CoreTier, block: Block) -> CoreTier:
    """Return the tier with this block in its slot, in place of any other."""
    others = (other for other in core.blocks if other.order != block.order)
    return core_of((*others, block), core.guard_version)


def put_entry(core: CoreTier, kind: str, entry: Entry) -> CoreTier:
    assert kind in ENTRY_KINDS, kind
    block = core.find(kind) or Block(kind)
    entries = sorted((*block.entries, entry), key=lambda entry: (entry.promoted_ms, entry.entity_id))
    return put(core, structs.replace(block, entries=tuple(entries)))


def without(core: CoreTier, entity_ids: tuple[str, ...]) -> CoreTier:
    """Return the tier without these entries; blocks left without entries and text are dropped."""
    kept = ((it, tuple(e for e in it.entries if e.entity_id not in entity_ids)) for it in core.blocks)
    return core_of((structs.replace(it, entries=entries) for it, entries in kept), core.guard_version)


def slot_name(kind: str, label: str) -> str:
    return f"{kind}/{label}" if label else kind


def entry_of(entity: Entity, promoted_ms: int) -> Entry:
    """Return the entry that shows a fact."""
    return Entry(entity.id, entity.version, core_text(entity.name), core_text(entity.content), promoted_ms)

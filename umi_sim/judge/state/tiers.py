"""Invariants of the tiers alone: space, deadlines, snapshots, blocks of core, access records.

Law. Everything is recounted from the entries themselves, and compared with totals.
"""

from collections.abc import Mapping

from umi_core import limits
from umi_core.config import Config
from umi_core.errors import Error
from umi_core.limits import BLOCK_BYTES_MAX, PPM
from umi_core.policies.routing import SELF_BLOCK
from umi_core.tiers import session
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier
from umi_core.tiers.session import SessionInfo
from umi_core.tiers.working import WorkingTier
from umi_core.values import Block, Entry
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

Rows = Mapping[str, tuple[bytes, int]]

# Working tier and session.


def check_snapshot(tier: WorkingTier, info: SessionInfo, now_ms: int, config: Config) -> None:
    """Demand that a snapshot saved and loaded now has the live entries, and does not show their order."""
    bad = session.bad_field(info)
    demand(bad is None, rules.SESSION_KEYS_TRUE, "a field of the session is beyond its limits", None, bad)
    live = {key: entry for key, entry in tier.entries.items() if now_ms < entry[1]}
    saved = session.encode(tier, info, now_ms)
    # The bytes must not depend on the order of the entries.
    backwards = session.encode(WorkingTier(dict(reversed(live.items()))), info, now_ms)
    message = "the bytes of a snapshot of the same entries in another order"
    demand(saved == backwards, rules.SNAPSHOT_CANONICAL, message, saved, backwards)
    loaded = session.decode(saved, now_ms, config)
    if isinstance(loaded, Error):
        raise Broken(rules.SNAPSHOT_ROUNDTRIP, "what was just saved cannot be loaded", "no error", loaded)
    check_equal_entries(live, loaded.tier.entries)
    expected, got = session.fields(info), session.fields(loaded.info)
    demand(expected == got, rules.SNAPSHOT_ROUNDTRIP, "the session after a load", expected, got)


def check_equal_entries(expected: Rows, got: Rows) -> None:
    others = sorted(key for key in {**expected, **got} if expected.get(key) != got.get(key))
    if others:
        key = others[0]
        raise Broken(rules.SNAPSHOT_ROUNDTRIP, f"entry {key!r} after a load", expected.get(key), got.get(key))


# Core tier.


def slot_of(block: Block) -> tuple[str, str]:
    return block.kind, block.label


def check_core_limits(core: CoreTier, config: Config) -> None:
    """Check the limits of the tier. If they were lowered before a restart, they hold again after recovery."""
    check_core_counts(core, config)
    sizes, limit = list(map(bytes_of_block, core.blocks)), config.core_bytes_max
    demand(sum(sizes) <= limit, rules.CORE_LIMITS, "bytes of core", limit, sum(sizes))
    # A block has a limit of its own and may be full while core is not.
    largest = max(sizes, default=0)
    demand(largest <= BLOCK_BYTES_MAX, rules.CORE_LIMITS, "bytes of a block", BLOCK_BYTES_MAX, largest)
    for block in core.blocks:
        ppm = block.importance_ppm
        demand(0 <= ppm <= PPM, rules.CORE_LIMITS, "the importance of a block", f"0 to {PPM}", ppm)
        check_length("label", block.label, limits.BLOCK_LABEL_BYTES_MAX)
        for entry in block.entries:
            check_length("entry", entry.text, limits.ENTRY_TEXT_BYTES_MAX)


def check_core_counts(core: CoreTier, config: Config) -> None:
    counts = {block.kind: len(block.entries) for block in core.blocks if block.entries}
    total, limit = sum(counts.values()), config.core_entry_count_max
    demand(total <= limit, rules.CORE_LIMITS, "entries of core", limit, total)
    mine, limit = counts.get(SELF_BLOCK, 0), limits.SELF_ENTRY_COUNT_MAX
    demand(mine <= limit, rules.CORE_LIMITS, "self entries", limit, mine)
    authored, limit = sum(block.text is not None for block in core.blocks), limits.BLOCK_COUNT_MAX
    demand(authored <= limit, rules.CORE_LIMITS, "blocks with authored text", limit, authored)


def check_length(what: str, text: str, limit_bytes: int) -> None:
    size_bytes = len(text.encode())
    demand(size_bytes <= limit_bytes, rules.CORE_LIMITS, f"bytes of a {what}", limit_bytes, size_bytes)


def bytes_of_text(block: Block) -> int:
    return len(block.label.encode()) + len((block.text or "").encode())


def bytes_of_entry(entry: Entry) -> int:
    return len(entry.name.encode()) + len(entry.text.encode())


def bytes_of_block(block: Block) -> int:
    return bytes_of_text(block) + sum(map(bytes_of_entry, block.entries))


# Access records.


def check_unsaved(access: AccessTable) -> None:
    """Demand that a write is scheduled as long as records wait to be stored (M7.3)."""
    is_scheduled = access.is_due or not access.unsaved
    message = "access records wait to be stored, and no write is scheduled"
    demand(is_scheduled, rules.ACCESS_TRUTH, message, (), access.unsaved)

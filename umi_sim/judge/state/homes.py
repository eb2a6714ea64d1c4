"""Homes: in which block of core an entry snapshots, after a commit as it is planned.

Law 1. A fact that enters core enters the block that was decided, or that is stored with it. Law 2. No entry
changes its block. Law 3. A decision says that a fact was promoted if and only if core shows it anew.
"""

from collections.abc import Mapping, Sequence

from umi_core.rows import Entity, Row
from umi_core.tiers.core import CoreTier
from umi_core.values import RoutingDecision
from umi_sim.record import rules
from umi_sim.record.broken import demand

Decisions = tuple[RoutingDecision, ...] | None


def check_homes(
    before: CoreTier, after: CoreTier, decisions: Decisions, accessed: Sequence[Entity], rows: object
) -> None:
    """Raise Broken for an entry in a wrong block; `rows` of the entities that a rebalance looked at."""
    was, now = blocks_by_id(before), blocks_by_id(after)
    read = [row.body for row in rows if isinstance(row, Row)] if isinstance(rows, tuple) else []
    stored = {it.id: it.block for it in (*read, *accessed) if isinstance(it, Entity)}
    for key in now:
        # In this order: where it stood, where its row says it belongs,
        # and for an entry of which neither is known wherever it is.
        expected = was.get(key, stored.get(key, now[key]))
        demand(now[key] == expected, rules.ENTRY_AT_HOME, f"the block of {key}", expected, now[key])
    for it in decisions or ():
        is_new, is_told = it.entity_id in now and it.entity_id not in was, it.outcome == "promoted"
        message = f"{it.entity_id} enters core, and its decision says {it.outcome}"
        demand(is_told or not is_new, rules.ENTRY_AT_HOME, message, "promoted", it.outcome)
        message = f"{it.entity_id} is not in core, and its decision says so"
        demand(it.entity_id in now or not is_told, rules.ENTRY_AT_HOME, message, sorted(now), it.outcome)


def blocks_by_id(core: CoreTier) -> Mapping[str, str]:
    return {entry.entity_id: block.kind for block, entry in core.entries()}

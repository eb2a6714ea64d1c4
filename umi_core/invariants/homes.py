"""Homes: in which block of core an entry stands, after a commit as it is planned.

Law 1. Who enters core enters the block that was decided, or that is stored with its entity. Law 2. Who is in
core moves to the block that was decided if it has room for it, in the order of the text; else it stays.
Law 3. Nobody else moves, and of who has moved or come it is told. Law 4. Who is said to be
in core is there.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from umi_core.invariants import rules
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import BLOCK_BYTES_MAX
from umi_core.invariants.tiers import bytes_of_entry, bytes_of_text
from umi_core.rows import Entity, Row
from umi_core.tiers.core import CoreTier
from umi_core.values import Block, Entry, RoutingDecision

Homes = dict[str, tuple[str, Entry]]  # by entity: the kind of its block, and its entry
Decisions = tuple[RoutingDecision, ...] | None
IN_CORE: Final = ("promoted", "moved", "already_in_core")


def check_homes(before: CoreTier, after: CoreTier, decisions: Decisions, rows: object) -> None:
    """`decisions` of a remember; `rows` of the entities that a rebalance looked at."""
    was, now = homes_of(before), homes_of(after)
    check_told(decisions or (), was, now)
    wanted = {it.entity_id: it.block for it in decisions} if decisions is not None else stored_blocks(rows)
    if decisions is None:
        expected = {key: [was[key][0], wanted.get(key, was[key][0])] for key in was if key in now}
    elif came_back(decisions, was, now):
        return  # what left on the way had another size then, which is nowhere to be seen
    else:
        expected = {key: [kind] for key, kind in settled(before, was, now, wanted).items()}
    expected |= {key: [wanted[key]] for key in now if key not in was and key in wanted}
    for key, kinds in expected.items():
        kind = now[key][0]
        demand(kind in kinds, rules.ENTRY_AT_HOME, f"the block of {key}", kinds, kind)
    if decisions is not None:
        told = [it.entity_id for it in decisions if it.outcome == "moved"]
        moved = [key for key in wanted if key in was and key in now and was[key][0] != now[key][0]]
        demand(told == moved, rules.ENTRY_AT_HOME, "who has moved, as it is told", moved, told)


def check_told(decisions: Iterable[RoutingDecision], was: Homes, now: Homes) -> None:
    """Whoever is said to be in core is there, and whoever came is said to have come."""
    for it in decisions:
        is_in, said_to_be = it.entity_id in now, it.outcome in IN_CORE
        is_new = is_in and it.entity_id not in was
        told = f"{it.entity_id}: {it.outcome}"
        demand(is_in or not said_to_be, rules.ENTRY_AT_HOME, f"said to be in core, {told}", sorted(now), told)
        has_come = it.outcome == "promoted"
        demand(has_come or not is_new, rules.ENTRY_AT_HOME, "who has come, as it is told", "promoted", told)


def homes_of(core: CoreTier) -> Homes:
    return {entry.entity_id: (block.kind, entry) for block, entry in core.entries()}


def stored_blocks(rows: object) -> dict[str, str]:
    bodies = [row.body for row in rows if isinstance(row, Row)] if isinstance(rows, tuple) else []
    return {body.id: body.block for body in bodies if isinstance(body, Entity)}


def came_back(decisions: Iterable[RoutingDecision], was: Homes, now: Homes) -> bool:
    """Whether one that was decided on left core on the way, for good or to enter again."""
    named = [it.entity_id for it in decisions if it.entity_id in was]
    return any(key not in now or now[key][1].promoted_ms != was[key][1].promoted_ms for key in named)


def settled(before: CoreTier, was: Homes, now: Homes, wanted: Mapping[str, str]) -> dict[str, str]:
    """Where those that stay are in the end: one after the other is shown anew, and moves if it fits."""
    sizes = {block.kind: bytes_in(block) for block in before.blocks if not block.label}
    kinds = {key: kind for key, (kind, _) in was.items() if key in now}
    for key in wanted:
        if key in kinds:
            old, new, size_bytes = kinds[key], wanted[key], bytes_of_entry(now[key][1])
            sizes[old] += size_bytes - bytes_of_entry(was[key][1])
            if old != new and sizes.get(new, 0) + size_bytes <= BLOCK_BYTES_MAX:
                sizes[old] -= size_bytes
                sizes[new] = sizes.get(new, 0) + size_bytes
                kinds[key] = new
    return kinds


def bytes_in(block: Block) -> int:
    return bytes_of_text(block) + sum(map(bytes_of_entry, block.entries))

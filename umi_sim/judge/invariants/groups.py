"""Groups at rest: subcategories among the other rows, and which divisions are scheduled after a restart.

What a commit makes of them is judged beside it, in divisions.py.
"""

from umi_core.ids import subcategory_id
from umi_core.rows import Address, Category
from umi_core.state import State
from umi_sim.judge.invariants.relations import StoredRows
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.storage import SimStorage


def check_groups(rows: StoredRows) -> None:
    """Demand that a category lists its groups, and that a member of a group is one of its category.

    A member that a division could not read stays in a group that this division may end, until the next one
    writes it again.
    """
    for key, it in rows.groups.items():
        own, home = (
            subcategory_id(rows.scope, it.category_id, it.founder_id),
            rows.categories.get(it.category_id),
        )
        demand(key == own, rules.UNIQUE_ROWS, "a group under another id than its founder gives", own, key)
        is_listed = home is not None and key in home.subcategory_ids
        demand(is_listed, rules.EDGE_SCOPE, f"{key} is a group of a category that does not list it")
        demand(key in rows.vectors, rules.INDEX_FOLLOWS_ROW, f"{key} has no centroid")
    for category in rows.categories.values():
        lost = [key for key in category.subcategory_ids if key not in rows.groups]
        demand(not lost, rules.EDGE_SCOPE, f"groups of {category.name} that are not there", (), lost)
    for member in rows.memberships.values():
        place, group = member.subcategory_id, rows.groups.get(member.subcategory_id or "")
        is_there = place is None or (group is not None and group.category_id == member.category_id)
        where = Address(rows.scope, "membership", member.id)
        # A division that was given this membership as damaged could not move it.
        is_there = is_there or "evolve_category" in rows.misread.get(where, ())
        demand(is_there, rules.EDGE_SCOPE, f"{member.id} is in a group that its category has not", "", member)
        is_whole = (member.confidence_ppm is None) == (place is None)
        message = f"how near {member.id} is to its group"
        demand(is_whole, rules.DERIVED_FOLLOWS_SOURCE, message, "", member)


def check_dues(storage: SimStorage, state: State, *, is_sure: bool) -> None:
    """Demand that a recovered memory schedules the categories that are not as they were divided.

    `is_sure`: no row can have come back damaged, which counts as none.
    """
    config, interval_ms = state.config, state.config.evolution_interval_ms
    categories = [it for row in storage.live_rows(state.scope) if isinstance(it := row.body, Category)]
    # five members, no digest: due one interval after the last division, or after the category was made
    due = {
        it.name: interval_ms + (it.created_ms if it.evolved_ms is None else it.evolved_ms)
        for it in categories
        if (it.member_count >= config.cluster_size_min or it.subcategory_ids) and not it.evolved_digest
    }
    due = due if config.auto_evolution else {}
    got = dict(state.tiers.dues)
    # a damaged row counts as none: it can hide what is due, and cannot make anything due
    strange = {name: at_ms for name, at_ms in got.items() if due.get(name) != at_ms}
    demand(not strange, rules.RESTART_KEEPS_DUES, "what is due after a restart and was not", due, strange)
    lost = [name for name in due if name not in got] if is_sure else []
    demand(not lost, rules.RESTART_KEEPS_DUES, "what was due and is not after a restart", due, got)

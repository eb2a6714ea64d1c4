"""Invariants that bind a memory to its storage, its services and its replies.

stored_rows.py rows by kind
hierarchy.py   resources, segments, categories with their members and groups, reflections
store.py       all rows, and core compared with them
divisions.py   the division of a category into groups
upkeep.py      the schedule of upkeep
written.py     the contents of committed rows
asked.py       the questions of a memory to its services
two_stores.py  rows that move between two stores
"""

from umi_sim.faults.kinds import check_kinds
from umi_sim.judge.invariants.store import (
    check_core_rows,
    check_needed,
    check_recovered,
    check_renderings,
    check_store,
)
from umi_sim.record.rules import ALSO, RULES

__all__ = [
    "check_core_rows",
    "check_needed",
    "check_recovered",
    "check_renderings",
    "check_store",
]

check_kinds([*(rule.id for rule in RULES), *ALSO])

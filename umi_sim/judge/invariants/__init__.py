"""Invariants that bind a memory to its storage, its services and its replies.

relations.py   rows by kind, and relations among them
hierarchy.py   resources, segments, categories with their members and groups, reflections
store.py       all rows, and core compared with them
divisions.py   the division of a category into groups
upkeep.py      the schedule of upkeep
written.py     the contents of committed rows, also as bytes
asked.py       the questions of a memory to its services
core_shown.py  the replies to reads of core
degradation_reasons.py  reasons and counts of degradations
readings.py    replies of models, read by the parsers of the memory
two_stores.py  rows that move between two stores
"""

from umi_sim.faults.kinds import check_kinds
from umi_sim.judge.invariants.store import (
    check_core_rows,
    check_needed,
    check_recovered,
    check_renderings,
    check_store,
    check_xml,
)
from umi_sim.record.rules import ALSO, RULES

__all__ = [
    "check_core_rows",
    "check_needed",
    "check_recovered",
    "check_renderings",
    "check_store",
    "check_xml",
]

check_kinds([*(rule.id for rule in RULES), *ALSO])

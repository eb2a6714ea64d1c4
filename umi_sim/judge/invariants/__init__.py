"""Invariants that bind a memory to its storage, its services and its replies.

relations.py   rows by kind, and relations among them
hierarchy.py   resources, segments, categories with their members and groups, reflections
store.py       all rows, and core against them
divisions.py   how a category is divided into groups
upkeep.py      which work is scheduled
written.py     what is in a row that is committed, also as bytes
asked.py       what a memory asks of its services
core_shown.py  what reads of core show
degradation_reasons.py  why a reply is degraded, and how often
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

"""Invariants that bind a memory to its storage.

relations.py  versions and relations among themselves
store.py      all rows, and against the core tier
readings.py   what replies of models come to
whole.py      rows that are committed may be believed when they are read
core_shown.py what reads of core show is in it
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

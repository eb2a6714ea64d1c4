"""Invariants: every rule by name and id, and those that bind a memory to its storage.

rules.py      the one table of rules
relations.py  versions and relations among themselves
store.py      all rows, and against the core tier
"""

from umi_sim.faults.kinds import check_kinds
from umi_sim.judge.invariants.rules import ALIASES, RULES, Rule, id_of, rule_named
from umi_sim.judge.invariants.store import check_core_rows, check_recovered, check_store, check_xml

__all__ = [
    "ALIASES", "RULES", "Rule", "check_core_rows", "check_recovered", "check_store", "check_xml", "id_of",
    "rule_named",
]  # fmt: skip

check_kinds([*(rule.id for rule in RULES), *ALIASES])

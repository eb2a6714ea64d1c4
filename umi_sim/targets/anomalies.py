"""Standard names of what went wrong, beside the rule that was broken, where the answers leave no doubt.

Write skew has no row: no promise of a contract is about two places at once.
"""

from typing import Final

from umi_core.data import Data


class Anomaly(Data):
    """`evidence`: what the operations of the failure were, as the checker says it."""

    name: str
    rule: str
    evidence: str
    meaning: str


ANOMALIES: Final = (
    Anomaly("lost update", "at-once", "lost", "of concurrent changes, one left no trace"),
    Anomaly("dirty read", "error-applied", "read", "a read shows that a failed write was applied"),
    Anomaly("stale read", "answer", "older", "a read shows what a later write had replaced"),
    Anomaly("stale read", "cancel-split", "undecided", "a read shows what a later write had replaced"),
    Anomaly("stale read", "crash-split", "undecided", "a read shows what a later write had replaced"),
    Anomaly("resurrection", "answer", "removed", "a read shows what was removed before"),
    Anomaly("non-repeatable read", "answer", "repeated", "a read that is repeated without a write differs"),
    Anomaly("undeclared bound", "answer", "bounded", "what is gone had to make room, and no flag says so"),
    Anomaly("phantom", "pages", "changes", "pages miss or repeat rows as others come and go"),
)


def name_anomaly(rule: str, evidence: str) -> str:
    """Return the standard name of what broke this rule; nothing where there is none."""
    return next((each.name for each in ANOMALIES if (each.rule, each.evidence) == (rule, evidence)), "")


def meaning_of(name: str) -> str:
    return next((each.meaning for each in ANOMALIES if each.name == name), "")

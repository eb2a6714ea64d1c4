"""Scores: promotion and eviction go by the number that the rule gives, for every access record.

Law 1. A record with a field out of its range has no number: a memory that has one believed a damaged row.
Law 2. The number is worked out a second time, from constants that the memory does not know: a half
life, a weight or a type that is worth something else there is seen by the first record that it changes.
"""

from umi_core.policies.promotion import score_ppm
from umi_core.shapes import anything
from umi_core.tiers.archive import AccessTable
from umi_sim.judge.plain.scores import promotion_ppm
from umi_sim.record import rules
from umi_sim.record.broken import demand


def check_scores(access: AccessTable, now_ms: int) -> None:
    for key, record in access.records.items():
        wrong = anything(record)
        demand(
            not wrong,
            rules.WHOLE_VALUES,
            f"a field out of its range, in the access record of {key}",
            "",
            wrong,
        )
        wanted, got = promotion_ppm(record, now_ms), score_ppm(record, now_ms)
        demand(wanted == got, rules.SCORE_GOLDENS, f"the score of {key} at {now_ms} ms", wanted, got)

"""Coverage of rules: how often each rule had something to judge in a run."""

from collections import Counter
from collections.abc import Mapping

from umi_sim.record.rules import rule_named


def with_equivalences(judged: Mapping[str, int], marks: Mapping[str, int]) -> Counter[str]:
    """Count what was judged, together with what was compared (marks such as `equal: E-RESTORE`)."""
    equal = {mark: count for mark, count in marks.items() if mark.startswith("equal: ")}
    # "equal: E-RESTORE" -> the rule that equivalence stands for
    compared = {rule_named(mark.removeprefix("equal: ")).name: count for mark, count in equal.items()}
    return Counter(judged) + Counter(compared)

"""How a rule is broken: one exception for all of them, and observers that count how often each is evaluated.

Every check ends in a `demand`. A check that finds nothing to look at returns before it, so a rule that is
counted had something to judge.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from umi_core.text import contrast_texts
from umi_sim.record.rules import Rule

Counts = dict[str, int]  # a Counter would take three times as long, forty times in each step of a run

COUNTS: Final[list[Counts]] = [{}]
"""How often each rule was judged: the last dict is counted in; the first is there if no block counts."""


class Broken(Exception):
    """A promise is broken: the name of its rule, one line, what was expected and what came instead."""

    def __init__(self, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
        super().__init__(f"{rule.name}: {message}")
        self.rule, self.message = rule.name, message
        self.expected, self.got = contrast_texts(str(expected), str(got))


def demand(holds: object, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
    """Raise Broken unless `holds` is true; the texts of `expected` and `got` are made only then."""
    counts = COUNTS[-1]
    try:
        counts[rule.name] += 1
    except KeyError:
        counts[rule.name] = 1
    if not holds:
        raise Broken(rule, message, expected, got)


@contextmanager
def count_rules(counts: Counts) -> Iterator[None]:
    """Count by name, until the block ends, the rules that are judged; then also for the block around it."""
    COUNTS.append(counts)
    try:
        yield
    finally:
        COUNTS.pop()
        around = COUNTS[-1]
        for name, count in counts.items():
            around[name] = around.get(name, 0) + count

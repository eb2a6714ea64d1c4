"""Broken rules: one exception for all of them, and counts of how often each rule is evaluated.

Every check ends in a `demand`. A check that finds nothing to look at returns before it, so a rule that is
counted had something to judge.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from umi_core.text import contrast_texts
from umi_sim.record.rules import Rule

Counts = dict[str, int]  # a Counter would take three times as long, forty times in each step of a run

WHOLE_CHARS_MAX: Final = 120  # a collection that fits into a line is shown as it is
COUNTS: Final[list[Counts]] = [{}]
"""How often each rule was judged: `demand` adds to the last dict; the first is used outside all blocks."""


class Broken(Exception):
    """A broken promise: the name of its rule, one line, the expected value and the value found."""

    def __init__(self, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
        super().__init__(f"{rule.name}: {message}")
        self.rule, self.message = rule.name, message
        self.expected, self.got = contrast_texts(*leave_out_shared(expected, got))


def leave_out_shared(expected: object, got: object) -> tuple[str, str]:
    """Return both as texts; two long collections without their common members, which are only counted.

    Of 15 ids and the same with one more: "[] and 15 that both have", "['fct_48..'] and 15 that both have".
    """
    wanted, found = str(expected), str(got)
    if max(len(wanted), len(found)) <= WHOLE_CHARS_MAX or not are_collections(expected, got):
        return wanted, found
    members, others = count_members(expected), count_members(got)
    if members == others:
        return wanted, found  # in another order
    shared = (members & others).total()
    return describe_rest(members - others, shared), describe_rest(others - members, shared)


def are_collections(*values: object) -> bool:
    return all(isinstance(each, list | tuple | set | frozenset | dict) for each in values)


def count_members(value: Any) -> Counter[str]:
    members = map(repr, value.items() if isinstance(value, dict) else value)
    # A set has no order of its own, and a report must have one.
    return Counter(sorted(members) if isinstance(value, set | frozenset) else members)


def describe_rest(rest: Counter[str], shared: int) -> str:
    return f"[{', '.join(rest.elements())}] and {shared} that both have"


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

"""Broken rules: one exception for all of them, and counts of how often each rule is evaluated.

Every check ends in a `demand`. A check with nothing to examine returns before it, so the count of a rule says
how often it had something to judge.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from umi_core.text import contrast_texts
from umi_sim.record.rules import Rule

Counts = dict[str, int]  # not Counter, which takes three times as long: a step counts some 40 rules

WHOLE_CHARS_MAX: Final = 120  # a collection that fits into a line is shown as it is
COUNTS: Final[list[Counts]] = [{}]
"""A stack of counts by rule: `demand` adds to the last; each block of `count_rules` pushes one."""


class Broken(Exception):
    """A broken promise: the name of its rule, one line, the expected value and the value found."""

    def __init__(self, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
        super().__init__(f"{rule.name}: {message}")
        self.rule, self.message = rule.name, message
        self.expected, self.got = contrast_texts(*leave_out_shared(expected, got))


def leave_out_shared(expected: object, got: object) -> tuple[str, str]:
    """Return both as texts; of two long collections, only the members that differ and a count of the others.

    15 ids, and the same with one more: "[] and 15 that both have", "['fct_48..'] and 15 that both have".
    """
    wanted, found = str(expected), str(got)
    if max(len(wanted), len(found)) <= WHOLE_CHARS_MAX or not are_collections(expected, got):
        return wanted, found
    members, others = count_members(expected), count_members(got)
    if members == others:
        return wanted, found  # they differ in their order
    shared = (members & others).total()
    return describe_rest(members - others, shared), describe_rest(others - members, shared)


def are_collections(*values: object) -> bool:
    return all(isinstance(each, list | tuple | set | frozenset | dict) for each in values)


def count_members(value: Any) -> Counter[str]:
    members = map(repr, value.items() if isinstance(value, dict) else value)
    # The order of a set differs between processes, and that of a report must not.
    return Counter(sorted(members) if isinstance(value, set | frozenset) else members)


def describe_rest(rest: Counter[str], shared: int) -> str:
    return f"[{', '.join(rest.elements())}] and {shared} that both have"


def demand(holds: object, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
    """Raise Broken unless `holds` is true; only then `expected` and `got` are converted to text."""
    counts = COUNTS[-1]
    try:
        counts[rule.name] += 1
    except KeyError:
        counts[rule.name] = 1
    if not holds:
        raise Broken(rule, message, expected, got)


@contextmanager
def count_rules(counts: Counts) -> Iterator[None]:
    """Count the rules judged in the block, by name; at its end, add them to the enclosing counts."""
    COUNTS.append(counts)
    try:
        yield
    finally:
        COUNTS.pop()
        around = COUNTS[-1]
        for name, count in counts.items():
            around[name] = around.get(name, 0) + count

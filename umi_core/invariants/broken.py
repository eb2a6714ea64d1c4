"""How a rule is broken: one exception for all of them, and observers that count how often each is evaluated.

Every check of this package and of umi_sim ends in a `demand`. A check that finds nothing to look at returns
before it, so a rule that is counted had something to judge.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from umi_core.invariants.rules import Rule

SHOWN_CHARS_MAX: Final = 200
ALIKE_CHARS_MAX: Final = 40  # of what two long texts share, before they differ
LEFT_OUT: Final = "..."

Counts = dict[str, int]  # a Counter would take three times as long, forty times in each step of a run

COUNTS: Final[list[Counts]] = [{}]
"""How often each rule was judged: the last dict is counted in; the first is there if no block counts."""


class Broken(Exception):
    """A promise is broken: the name of its rule, one line, what was expected and what came instead."""

    def __init__(self, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
        super().__init__(f"{rule.name}: {message}")
        self.rule, self.message = rule.name, message
        self.expected, self.got = contrast_texts(str(expected), str(got))


def contrast_texts(expected: str, got: str) -> tuple[str, str]:
    """Cut both texts to a line, at the same place, so that the place where they differ is in it."""
    length = min(len(expected), len(got))
    alike = next((at for at in range(length) if expected[at] != got[at]), length)
    if alike < SHOWN_CHARS_MAX - ALIKE_CHARS_MAX:
        return expected[:SHOWN_CHARS_MAX], got[:SHOWN_CHARS_MAX]
    # 500 equal characters come first: both are shown from character 460 on
    start = alike - ALIKE_CHARS_MAX
    end = start + SHOWN_CHARS_MAX - len(LEFT_OUT)
    return f"{LEFT_OUT}{expected[start:end]}", f"{LEFT_OUT}{got[start:end]}"


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
    try:
        with count_rules_apart(counts):
            yield
    finally:
        around = COUNTS[-1]
        for name, count in counts.items():
            around[name] = around.get(name, 0) + count


@contextmanager
def count_rules_apart(counts: Counts) -> Iterator[None]:
    """Count rules like `count_rules`, without adding them to the run around this block."""
    COUNTS.append(counts)
    try:
        yield
    finally:
        COUNTS.pop()

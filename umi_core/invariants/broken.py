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
"""How often each rule was judged: the last one is counted in, the first for nobody."""


class Broken(Exception):
    """A promise is broken: the name of its rule, one line, what was expected and what came instead."""

    def __init__(self, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
        super().__init__(f"{rule.name}: {message}")
        self.rule, self.message = rule.name, message
        self.expected, self.got = contrasted(str(expected), str(got))


def contrasted(expected: str, got: str) -> tuple[str, str]:
    """Both texts cut to a line, at the same place: where they differ is in it."""
    length = min(len(expected), len(got))
    alike = next((at for at in range(length) if expected[at] != got[at]), length)
    if alike < SHOWN_CHARS_MAX - ALIKE_CHARS_MAX:
        return expected[:SHOWN_CHARS_MAX], got[:SHOWN_CHARS_MAX]
    start = alike - ALIKE_CHARS_MAX
    end = start + SHOWN_CHARS_MAX - len(LEFT_OUT)
    return f"{LEFT_OUT}{expected[start:end]}", f"{LEFT_OUT}{got[start:end]}"


def demand(holds: object, rule: Rule, message: str, expected: object = "", got: object = "") -> None:
    """Raises Broken unless it holds; the texts of expected and got are made only then."""
    counts = COUNTS[-1]
    try:
        counts[rule.name] += 1
    except KeyError:
        counts[rule.name] = 1
    if not holds:
        raise Broken(rule, message, expected, got)


@contextmanager
def counted(counts: Counts) -> Iterator[None]:
    """Until the block ends, rules that are judged are counted here, by name; then for those around it."""
    try:
        with counted_apart(counts):
            yield
    finally:
        around = COUNTS[-1]
        for name, count in counts.items():
            around[name] = around.get(name, 0) + count


@contextmanager
def counted_apart(counts: Counts) -> Iterator[None]:
    """The same for nobody around it: who judges here is not the judge of their run."""
    COUNTS.append(counts)
    try:
        yield
    finally:
        COUNTS.pop()

"""The matrix the other way: what each kind of fault and each rule is needed for.

Law 1. A kind is needed by a bug that it shows where it is alone, and that all the others do not show in as
many seeds. Kinds that are one with it to the memory are off as well; the bug names them.
Law 2. A rule is needed by a bug that in so many seeds no other rule sees.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from umi_sim.faults import KINDS
from umi_sim.invariants import RULES
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runner import run_once
from umi_sim.scenario import draw, find
from umi_sim.verdict import Failure

WITHOUT_COUNT: Final = 8
OFF_COUNT: Final = 8
TRIED_COUNT: Final = 4  # bugs of one rule


@attrs.frozen
class Need:
    """A kind of fault or a rule, and the bug that needs it; `bug` is empty if none does.

    `seed` shows the bug by `rule`; without the kind, or by another rule, the seeds 0 to `count` - 1 do not.
    """

    name: str
    bug: str = ""
    rule: str = ""
    seed: int = -1
    count: int = 0
    alike: tuple[str, ...] = ()
    seen_by: str = ""  # what saw it nevertheless

    @property
    def is_met(self) -> bool:
        return self.seed >= 0 and not self.seen_by


def lived(bug: Mutant, seed: int, overrides: Mapping[str, str]) -> Failure | None:
    config = draw(find(bug.scenario), seed, overrides)
    return run_once(attrs.evolve(config, planted=bug.name))[0].failure


def found(bug: Mutant, seed_count: int, first: int = 0) -> tuple[int, str] | None:
    """The first seed from `first` on in which one of its rules sees the bug, and which."""
    for seed in (first, *(it for it in range(seed_count) if it != first)):
        failure = lived(bug, seed, bug.overrides)
        if failure is not None and failure.rule in bug.rules:
            return seed, failure.rule
    return None


# Kinds.


def kind_needs(names: Sequence[str] = tuple(KINDS)) -> Iterator[Need]:
    bugs = {bug.kind: bug for bug in MUTANTS.values()}
    for name in names:
        yield need_of(bugs[name]) if name in bugs else Need(name)


def need_of(bug: Mutant) -> Need:
    shown = found(bug, bug.seeds_max)
    if shown is None:
        return Need(bug.kind, bug.name, alike=bug.alike)
    seed, rule = shown
    count = max(WITHOUT_COUNT, seed + 1)
    return Need(bug.kind, bug.name, rule, seed, count, bug.alike, seen_without(bug, count))


def seen_without(bug: Mutant, seed_count: int) -> str:
    """What sees the bug though its kind of fault is off; empty if nothing does."""
    failures = (lived(bug, seed, bug.overrides_without) for seed in range(seed_count))
    return next((failure.rule for failure in failures if failure is not None), "")


# Rules.


def rule_needs(names: Sequence[str] | None = None) -> Iterator[Need]:
    for rule in RULES:
        if rule.is_checked and (names is None or rule.name in names):
            bugs = [bug for bug in MUTANTS.values() if rule.name in bug.rules]
            yield rule_need(rule.name, sorted(bugs, key=lambda bug: bug.rules.index(rule.name)))


def rule_need(rule: str, bugs: Sequence[Mutant]) -> Need:
    """The first bug that no other rule sees in as many seeds."""
    best = Need(rule)
    for bug in bugs[:TRIED_COUNT]:
        failures = [
            (seed, failure) for seed in range(OFF_COUNT) if (failure := lived(bug, seed, bug.overrides))
        ]
        mine = [seed for seed, failure in failures if failure.rule == rule]
        others = [failure.rule for _, failure in failures if failure.rule != rule]
        if mine:
            best = Need(rule, bug.name, rule, mine[0], OFF_COUNT, (), ", ".join(dict.fromkeys(others)))
        if best.is_met:
            break
    return best


def line(need: Need) -> str:
    if not need.bug:
        return f"{need.name:24} NO BUG"
    if need.seed < 0:
        return f"{need.name:24} {need.bug:32} NOT FOUND"
    note = f"ALSO BY {need.seen_by}" if need.seen_by else f"hidden without it in {need.count} seeds"
    return f"{need.name:24} {need.bug:32} {need.rule:24} seed {need.seed:<4} {note}"

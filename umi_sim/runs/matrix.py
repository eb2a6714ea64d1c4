"""The table of `umi-sim mutants --matrix`: for each kind of fault or rule a bug that is not found without it.

Law 1. A bug needs a kind of fault if it is found with that kind alone, and is not found in as many seeds with
all other kinds. Kinds that look the same to the memory are off as well; the bug lists them in `alike`.
Law 2. A bug needs a rule if the rule finds it, and with the rule off no other rule finds it in as many seeds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.faults.kinds import KINDS
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.rules import RULES
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

# The least number of seeds that must not show the bug; for a bug found in seed 0 it would otherwise be one.
WITHOUT_COUNT: Final = 8
LOOKS: Final = (range(8), range(8, 40), range(40, 200))  # seeds: a few of each bug of a rule, then more
# Each mask costs a run, and a bug that five other rules detect first proves nothing about the sixth.
MASK_COUNT_MAX: Final = 4


class Need(Data):
    """A kind of fault or a rule, and the bug that needs it; `bug` is empty if none does.

    `rule` finds the bug in `seed`; without the kind or the rule, the seeds 0 to `count` - 1 do not show it.
    """

    name: str
    bug: str = ""
    rule: str = ""
    seed: int = -1
    count: int = 0
    alike: tuple[str, ...] = ()
    seen_by: str = ""  # the rule that found the bug nevertheless

    @property
    def is_met(self) -> bool:
        return self.seed >= 0 and not self.seen_by


def run_with_bug(
    bug: Mutant, seed: int, overrides: Mapping[str, str], off: tuple[str, ...] = ()
) -> Failure | None:
    """Run a seed with a planted bug and without some rules; return its failure, None if it passes."""
    config = draw(find(bug.scenario), seed, overrides)
    return run_once(structs.replace(config, planted=bug.name, off=(*config.off, *off)))[0].failure


def run_without(bug: Mutant, seed: int, off: tuple[str, ...]) -> Failure | None:
    """Run without these rules; if the judge raises because it goes on after a broken rule, that is a pass."""
    try:
        return run_with_bug(bug, seed, bug.overrides, off)
    except Exception:
        if not off:
            raise
        return None


def find_failure(bug: Mutant, rules: Sequence[str], seeds: Iterable[int]) -> tuple[int, str] | None:
    """Return the first seed in which one of these rules finds the bug, and that rule."""
    for seed in seeds:
        failure = run_with_bug(bug, seed, bug.overrides)
        if failure is not None and failure.rule in rules:
            return seed, failure.rule
    return None


# Kinds.


def kind_needs(names: Sequence[str] = tuple(KINDS)) -> Iterator[Need]:
    bugs = {bug.kind: bug for bug in MUTANTS.values()}
    for name in names:
        yield need_of(bugs[name]) if name in bugs else Need(name)


def need_of(bug: Mutant) -> Need:
    shown = find_failure(bug, bug.rules, range(bug.seeds_max))
    if shown is None:
        return Need(bug.kind, bug.name, alike=bug.alike)
    seed, rule = shown
    count = max(WITHOUT_COUNT, seed + 1)
    return Need(bug.kind, bug.name, rule, seed, count, bug.alike, rule_without_fault(bug, count))


def rule_without_fault(bug: Mutant, seed_count: int) -> str:
    """Return the rule that finds the bug although its kind of fault is off; empty if none does."""
    failures = (run_with_bug(bug, seed, bug.overrides_without) for seed in range(seed_count))
    return next((failure.rule for failure in failures if failure is not None), "")


# Rules.


def rule_needs(names: Sequence[str] | None = None) -> Iterator[Need]:
    for rule in RULES:
        if rule.is_checked and (names is None or rule.name in names):
            bugs = [bug for bug in MUTANTS.values() if rule.name in bug.rules]
            yield rule_need(rule.name, sorted(bugs, key=lambda bug: bug.rules.index(rule.name)))


def rule_need(rule: str, bugs: Sequence[Mutant]) -> Need:
    """Find the first bug that is not found without this rule; else the first that the rule finds at all."""
    best = Need(rule, bugs[0].name if bugs else "")
    for seeds in LOOKS:
        for bug in bugs:
            need = find_need(bug, rule, seeds)
            # A bug that other rules find as well is second best ("ALSO BY"); only a proof replaces it.
            best = need if need and (need.is_met or best.seed < 0) else best
            if best.is_met:
                return best
        # The rule finds a bug in these seeds, though not alone. More seeds rarely help and take minutes.
        if best.seed >= 0:
            break
    return best


def find_need(bug: Mutant, rule: str, seeds: Iterable[int]) -> Need | None:
    """Return a proof from the first of these seeds in which the rule finds the bug; None if it finds none.

    `seen_by` of the result names a rule that finds the bug without this one, if there is such a rule.
    """
    for seed in seeds:
        # A run ends at the first broken rule. So the rules that find the bug earlier are switched off one by
        # one, until this rule is the first. ("reference-agrees",) means that only that rule finds it earlier.
        masks = masks_of(bug, rule, seed)
        if masks is not None:
            count = max(WITHOUT_COUNT, seed + 1)
            seen_by = masks[0] if masks else rule_without_rule(bug, rule, count)
            return Need(rule, bug.name, rule, seed, count, seen_by=seen_by)
    return None


def masks_of(bug: Mutant, rule: str, seed: int) -> tuple[str, ...] | None:
    """Return the rules that find the bug before this one; None if this one then does not find it."""
    masks: tuple[str, ...] = ()
    while len(masks) <= MASK_COUNT_MAX:
        failure = run_without(bug, seed, masks)
        if failure is None or failure.rule == rule:
            return masks if failure else None
        if failure.rule in masks or failure.rule not in MASKS:
            return None
        masks += (failure.rule,)
    return None


MASKS: Final = tuple(rule.name for rule in RULES if rule.can_be_off)


def rule_without_rule(bug: Mutant, rule: str, seed_count: int) -> str:
    """Return another rule that finds the bug while this rule is off; empty if none does."""
    failures = (run_without(bug, seed, (rule,)) for seed in range(seed_count))
    return next((failure.rule for failure in failures if failure and failure.rule != rule), "")


def line(need: Need) -> str:
    if not need.bug:
        return f"{need.name:24} NO BUG"
    if need.seed < 0:
        return f"{need.name:24} {need.bug:32} NOT FOUND"
    note = f"ALSO BY {need.seen_by}" if need.seen_by else f"hidden without it in {need.count} seeds"
    return f"{need.name:24} {need.bug:32} {need.rule:24} seed {need.seed:<4} {note}"

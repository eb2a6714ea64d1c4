"""Runs many cases on a disk that loses power, and shrinks the first one that fails.

Law 1. A case depends on its seed and the journal alone.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.disk.case import Case, CaseOutcome, run
from umi_sim.kernel import progress
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.wording import plural
from umi_sim.shrink.reduction import fewer, lower

CUT_COUNT: Final = 5  # power cuts of each case
EVENTS_MAX: Final = 400  # the last event for a power cut or a failure
BATCHES_MAX: Final = 20
SEALED: Final = (1, 4)  # the share of cases with a sealed file
RUNS_MAX: Final = 200  # runs to shrink a case


class DiskHunt(Data):
    """The result of a hunt: counts of cases and power cuts, the first failing case, and its shrunk form."""

    case_count: int
    cut_count: int
    first: Case | None = None
    small: Case | None = None
    broken: str = ""


def case_of(seed: int, journal: str) -> Case:
    chance = Stream(seed, "case")
    batches = tuple(range(1, chance.between(3, BATCHES_MAX) + 1))
    cuts = tuple(chance.log_between(1, EVENTS_MAX) for _ in range(CUT_COUNT))
    fails = tuple(chance.log_between(1, EVENTS_MAX) if chance.chance(1, 3) else 0 for _ in cuts)
    is_sealed = chance.chance(*SEALED)
    return Case(seed, tuple(seed * BATCHES_MAX + it for it in batches), cuts, fails, journal, is_sealed)


def hunt(seeds: Collection[int], journal: str = "wal") -> DiskHunt:
    """Run cases until the first failure."""
    case_count = cut_count = 0
    for seed in seeds:
        progress.at("disk", case_count, len(seeds), unit="case", note=plural(cut_count, "power cut"))
        case = case_of(seed, journal)
        outcome = run(case)
        case_count, cut_count = case_count + 1, cut_count + outcome.cut_count
        if outcome.broken:
            small = shrink_case(case)
            return DiskHunt(case_count, cut_count, case, small, run(small).broken)
    return DiskHunt(case_count, cut_count)


def shrink_case(case: Case) -> Case:
    """Return the smallest case found within RUNS_MAX runs that breaks the same promise."""
    promise, best, run_count = promise_of(run(case)), case, 0

    def works(**changes: Any) -> bool:
        nonlocal best, run_count
        candidate, run_count = structs.replace(best, **changes), run_count + 1
        is_same = run_count <= RUNS_MAX and promise_of(run(candidate)) == promise
        best = candidate if is_same else best
        return is_same

    def works_with(lives: Sequence[tuple[int, int]]) -> bool:
        return works(cuts=tuple(cut for cut, _ in lives), fails=tuple(fail for _, fail in lives))

    def works_with_cut(at: int, cut: int) -> bool:
        return cut > 0 and works(cuts=replace_at(best.cuts, at, cut))

    before = None
    while before is not best:
        before = best
        lives = fewer(list(zip(best.cuts, best.fails, strict=True)), works_with)
        fewer(best.batches, lambda left: works(batches=tuple(left)))
        for at, (cut, fail) in enumerate(lives):
            if fail and works(fails=replace_at(best.fails, at, 0)):
                continue
            lower(cut, partial(works_with_cut, at))
        if best.is_sealed:
            works(is_sealed=False)
    return best


def replace_at(values: Sequence[int], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def promise_of(outcome: CaseOutcome) -> str:
    """Return the broken promise: the first line of `broken`."""
    return outcome.broken.partition("\n")[0]

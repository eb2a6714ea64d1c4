"""Many lives on a disk that loses power, and the smallest one that fails.

Law 1. Which cases there are follows from their numbers alone.
"""

from collections.abc import Collection, Iterator
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.disk.case import Case, CaseOutcome, run
from umi_sim.kernel import progress
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.wording import plural

CUT_COUNT: Final = 5  # of each case
EVENTS_MAX: Final = 400  # of a life, more or less
BATCHES_MAX: Final = 20
SHORT_MAX: Final = 3  # batches of a case that is tried with every cut


@attrs.frozen
class DiskHunt(Data):
    """How often the power went in all cases; the first case that fails, and as small as it gets."""

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
    return Case(seed, tuple(seed * BATCHES_MAX + it for it in batches), cuts, fails, journal)


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
    """Return the fewest batches and the earliest cut that break this promise.

    If more is needed, return the case without what can be left out.
    """
    promise = promise_of(run(case))
    # Shortest first and every cut: so the first one that fails is the smallest of its kind.
    for small in short_ones(case):
        if promise_of(run(small)) == promise:
            return small
    return next((shrink_case(it) for it in without_one(case) if promise_of(run(it)) == promise), case)


def short_ones(case: Case) -> Iterator[Case]:
    """Yield the first batches, no failure, and one cut, or none."""
    for count in range(min(SHORT_MAX, len(case.batches)) + 1):
        few = attrs.evolve(case, batches=case.batches[:count], cuts=(), fails=())
        yield few
        yield from (
            attrs.evolve(few, cuts=(at,), fails=(0,)) for at in range(1, max(case.cuts, default=0) + 1)
        )


def without_one(case: Case) -> Iterator[Case]:
    """Yield the case without one batch, one failure, or one cut."""
    for at in range(len(case.batches)):
        yield attrs.evolve(case, batches=case.batches[:at] + case.batches[at + 1 :])
    for at in range(len(case.cuts)):
        cuts, fails = case.cuts[:at] + case.cuts[at + 1 :], case.fails[:at] + case.fails[at + 1 :]
        yield attrs.evolve(case, cuts=cuts, fails=fails)
        if case.fails[at]:
            yield attrs.evolve(case, fails=(*case.fails[:at], 0, *case.fails[at + 1 :]))


def promise_of(outcome: CaseOutcome) -> str:
    """Return the first line of what does not hold."""
    return outcome.broken.partition("\n")[0]

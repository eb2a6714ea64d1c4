"""The search: first each single perturbation at each point of the run, in phases; then random combinations.

Law 1. A phase runs all its points, so that the report can count those that break a rule. It ends early
       FAILING_SECONDS after its start if a rule is broken by then, because runs that hang take long.
Law 2. The search ends after the first phase that breaks a rule, unless `to_end` is set.
Law 3. A finding is shrunk to the fewest perturbations that break the same rule, and run once more.
Law 4. Each run begins with the same globals: no run sees values that another run left, except in what
       `not_reset` names.
"""

import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from time import monotonic
from typing import Any, Final, overload

from msgspec import structs

from umi_core.data import Data, Owner
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.progress import at
from umi_sim.programs.module_state import same_for_each_run
from umi_sim.programs.perturbations import (
    CancelTask,
    DelayCallback,
    FailCall,
    FailSite,
    KillAtSite,
    KillProcess,
    OrderJobs,
    Perturbation,
)
from umi_sim.programs.program import Program
from umi_sim.programs.rules import BrokenRule, judge
from umi_sim.programs.simulation import ProgramOutcome, Reached, run_case, silence_dead
from umi_sim.targets.items import PARTED

FOLDER: Final = ".umi-sim/programs"  # the folder of saved findings
SECONDS: Final = 60
DRAWN: Final = 100
FAILING_SECONDS: Final = 10
POINTS_MAX: Final = 2_000  # of a phase; if it has more, this many are tried, evenly spaced
SITE_CALLS_MAX: Final = 50
PARTS: Final = (0, 40)
OTHER_SHARE: Final = 4  # of the cases that add to a recovery, 1 in 4 picks one without calls of its own
COMBINED: Final = (2, 3)
PAUSES_MAX: Final = 4
PAUSE_MAX: Final = 12
SHRINK_RUNS_MAX: Final = 200
UNAWAITED: Final = "coroutine .* was never awaited"
MORE: Final = re.compile(", and [0-9]+ more$")
Case = tuple[tuple[Perturbation, ...], int]  # the perturbations, and the seed


class ProgramFinding(Data):
    """A broken rule, with the smallest case that breaks it. `points`: all cases of its phase of this kind."""

    broken: BrokenRule
    outcome: ProgramOutcome
    phase: str
    points: tuple[tuple[Perturbation, ...], ...]
    recurs: bool


class Phase(Owner):
    """The counts of one phase. `planned`: how many points it has."""

    name: str
    planned: int
    run_count: int = 0
    failing_count: int = 0


class Exploration(Owner):
    """The result of a search, updated while it runs. `is_complete`: it ended within its time limit."""

    program: Program
    to_end: bool = False  # whether the search continues after a finding
    phases: list[Phase] = []
    findings: list[ProgramFinding] = []
    is_complete: bool = True
    not_reset: Sequence[str] = ()  # globals that a run may have left to the next one
    ignored_count: int = 0  # runs in which main returned although it was cancelled
    known: set[str] = set()  # the kinds of failures found so far (kind_of)
    recoveries: tuple[list["Recovery"], list["Recovery"]] = ([], [])  # with own calls; others

    @property
    def run_count(self) -> int:
        return sum(phase.run_count for phase in self.phases)

    def take(
        self, phase: Phase, cases: Iterable[Case], until_s: float | None = None, base: Reached | None = None
    ) -> ProgramOutcome | None:
        """Run the cases of a phase, and add each new finding. Return the outcome of the last run.

        `base`: the points of the undisturbed run; points that only a passing case reached are recorded.
        """
        self.phases.append(phase)
        broken: dict[str, list[tuple[BrokenRule, Case]]] = {}
        outcome, began_s = None, monotonic()
        for case in cases:
            if until_s is not None and monotonic() >= until_s:
                self.is_complete = False
                break
            if broken and not self.to_end and monotonic() >= began_s + FAILING_SECONDS:
                break
            at(phase.name, phase.run_count, min(phase.planned, POINTS_MAX))
            phase.run_count += 1
            outcome = run_case(self.program, *case)
            self.ignored_count += any(each.has_ignored for each in outcome.endings)
            if rule := judge(self.program, outcome):
                phase.failing_count += 1
                broken.setdefault(kind_of(rule), []).append((rule, case))
            elif base is not None:
                calls, steps = list_more(base, outcome.reached)
                pools = [pool for pool in (calls, steps) if pool]
                self.recoveries[0 if calls else 1].extend([(case[0][0], pools)] if pools else [])
        for mark in [each for each in broken if each not in self.known]:
            self.known.add(mark)
            self.findings.append(conclude(self.program, phase.name, broken[mark]))
        return outcome


def explore(
    program: Program, *, seed: int = 0, drawn: int = DRAWN, seconds: int = SECONDS, to_end: bool = False
) -> Exploration:
    """Search for a case that breaks a rule. Raises BadProgram.

    `drawn`: the number of random combinations. `seconds`: the time limit of the search.
    """
    with silence_dead(), same_for_each_run(program) as state:
        found = Exploration(program, to_end, not_reset=state.list_limits())
        return explore_quietly(found, seed, drawn, seconds)


def explore_quietly(found: Exploration, seed: int, drawn: int, seconds: int) -> Exploration:
    until_s = monotonic() + seconds
    base = found.take(Phase(UNDISTURBED, 1), [((), seed)])
    if base is None or found.findings:
        return found
    with warnings.catch_warnings():  # of code that a perturbation kept from awaiting what it had made
        warnings.filterwarnings("ignore", UNAWAITED, RuntimeWarning)
        return explore_disturbed(found, base.reached, seed, drawn, until_s)


def explore_disturbed(
    found: Exploration, base: Reached, seed: int, drawn: int, until_s: float
) -> Exploration:
    pools = list_pools(found.program, base)
    for name, pool in pools.items():
        cases: Iterable[Case] = (((each,), seed) for each in spread(pool))
        found.take(Phase(name, len(pool)), cases, until_s, base)
        if (found.findings and not found.to_end) or not found.is_complete:
            return found
    combined = [*pools.values(), *([[OrderJobs()]] if base.job_count else [])]
    if combined and drawn:
        cases = (
            (draw_case(combined, found.recoveries, number, Stream(seed, "program", number)), seed + number)
            for number in range(drawn)
        )
        found.take(Phase("combinations drawn", drawn), cases, until_s)
    return found


def spread(pool: "Pool") -> Iterator[Perturbation]:
    """Yield all points, or POINTS_MAX of them, evenly spaced."""
    count = min(len(pool), POINTS_MAX)
    yield from (pool[number * len(pool) // count] for number in range(count))


# Phases.


UNDISTURBED: Final = "undisturbed"


class Points(Sequence[Perturbation]):
    """A perturbation for each step of some spans, made on access, since there may be millions."""

    def __init__(self, spans: Sequence[range], make: Callable[[int, int], Perturbation]) -> None:
        self.spans, self.make = spans, make
        self.ends = [*accumulate(map(len, spans))]

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    @overload
    def __getitem__(self, at: int) -> Perturbation: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Perturbation]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        number = bisect_right(self.ends, at)
        span = self.spans[number]
        return self.make(span[at - self.ends[number]], number)  # index below zero: counts from its end


Pool = Sequence[Perturbation]
Recovery = tuple[Perturbation, Sequence[Pool]]
"""A perturbation that broke no rule, and the points that only the run with it reached."""


def list_pools(program: Program, base: Reached) -> dict[str, Pool]:
    """Return for each phase the single perturbations that fit the points of the undisturbed run."""
    spans, others = base.spans, list_others(program, base)
    kills = range(1, base.step_count + 1)
    delays = [kills] * program.reorder
    pools: dict[str, Pool] = {
        "main cancelled": Points(spans[:1], lambda step, _: CancelTask(step)),
        "process killed": Points([kills], lambda step, _: KillProcess(step)),
        "calls failing": list_calls(base, {}),
        "files, SQLite and network failing": list_sites(base, {}),
        "other tasks cancelled": Points(  # late: real tasks are mostly cancelled after a failure
            [spans[each] for each in others], lambda step, number: CancelTask(step, others[number])
        ),
        "callbacks delayed": Points(delays, lambda step, number: DelayCallback(step, number + 1)),
    }
    return {name: pool for name, pool in pools.items() if pool}


def list_others(program: Program, base: Reached) -> list[int]:
    """Return the numbers of the tasks other than main that may be cancelled."""
    own = range(len(base.spans)) if program.library_tasks else base.own_tasks
    return [number for number in own if number]  # 0 is main


def list_calls(reached: Reached, known: Mapping[str, int]) -> Pool:
    """Return each failure of each call, except for the first `known` calls of each service."""
    return [
        FailCall(service, call, how)  # type: ignore[arg-type] # one of its failures
        for service, count in reached.calls.items()
        for call in range(known.get(service, 0) + 1, count + 1)
        for how in reached.failures[service]
    ]


def list_sites(reached: Reached, known: Mapping[str, int]) -> Pool:
    found: list[Perturbation] = []
    for site, count in reached.sites.items():
        for call in range(known.get(site, 0) + 1, min(count, SITE_CALLS_MAX) + 1):
            parts = PARTS if site in PARTED else PARTS[:1]
            found += [kind(site, call, part) for kind in (FailSite, KillAtSite) for part in parts]
    return found


def list_more(base: Reached, reached: Reached) -> tuple[Pool, Pool]:
    """Return the points where main handles a failure: calls that only this run made, and later steps."""
    if reached.has_died:
        return (), ()  # main starts again, so these points are no recovery
    steps = range(reached.applied_step + 1, reached.spans[0].stop) if reached.applied_step else range(0)
    calls = [*list_calls(reached, base.calls), *list_sites(reached, base.sites)]
    return calls, Points([steps], lambda step, _: CancelTask(step))


def draw_case(
    pools: Sequence[Pool], recoveries: Sequence[Sequence[Recovery]], number: int, chance: Stream
) -> tuple[Perturbation, ...]:
    """Draw a few perturbations: at most one at a site, and at most one that orders jobs.

    Every second case consists of a perturbation, and another one at a point where main handles the first.
    """
    found = dict[object, Perturbation]()
    active, others = recoveries
    if number % 2 and (active or others):
        first, more = chance.pick(active if active and (not others or chance.below(OTHER_SHARE)) else others)
        drawn = [first, chance.pick(chance.pick(more))]
    else:
        drawn = [chance.pick(chance.pick(pools)) for _ in range(chance.between(*COMBINED))]
    for each in drawn:
        match each:
            case OrderJobs():
                pauses = (chance.between(1, PAUSE_MAX) for _ in range(chance.between(0, PAUSES_MAX)))
                found[OrderJobs] = OrderJobs(chance.below(2**32), tuple(pauses))
            case FailSite():
                found[FailSite] = each
            case _:
                found[each] = each
    return tuple(found.values())


# Findings.


def fingerprint_of(broken: BrokenRule) -> str:
    from umi_sim.record import fingerprint  # imported here, since only failures need it

    return fingerprint.digest("program", broken.rule, fingerprint.normal(broken.message), "")


def kind_of(broken: BrokenRule) -> str:
    """Return the key by which failures count as the same: the place of an error, or the message."""
    if broken.place:
        return f"{broken.rule} {broken.error} {broken.place}"
    return fingerprint_of(structs.replace(broken, message=MORE.sub("", broken.message)))


def conclude(program: Program, phase: str, broken: Sequence[tuple[BrokenRule, Case]]) -> ProgramFinding:
    """Return a finding for cases that break a rule in the same way: the first of them, shrunk."""
    rule, (case, seed) = broken[0]
    small = shrink(program, case, seed, kind_of(rule))
    outcome = run_case(program, small, seed, is_watched=True)
    again = judge(program, outcome)
    recurs = again is not None and kind_of(again) == kind_of(rule)
    return ProgramFinding(again or rule, outcome, phase, tuple(case for _, (case, _) in broken), recurs)


def shrink(
    program: Program, case: tuple[Perturbation, ...], seed: int, wanted: str
) -> tuple[Perturbation, ...]:
    """Return the fewest and simplest perturbations found that still fail with the kind `wanted`."""
    best, run_count = case, 0

    def keep(tried: Sequence[Perturbation]) -> bool:
        nonlocal best, run_count
        run_count += 1
        at("shrinking", run_count)
        if run_count > SHRINK_RUNS_MAX:
            return False
        broken = judge(program, run_case(program, tuple(tried), seed))
        if broken is None or kind_of(broken) != wanted:
            return False
        best = tuple(tried)
        return True

    if len(case) > 1:
        from umi_sim.shrink.reduction import fewer  # imported here: its package is slow to load

        fewer(case, keep)
        for kill in [each for each in best if isinstance(each, KillProcess)]:
            keep(without_kill(best, kill))
    for place in range(len(best)):
        for simpler in best[place].list_simpler():
            if keep((*best[:place], simpler, *best[place + 1 :])):
                break
    if (in_order := tuple(sorted(best, key=lambda each: getattr(each, "step", 0)))) != best:
        keep(in_order)
    return best


def find_needed(
    program: Program, case: Sequence[Perturbation], seed: int
) -> Iterator[tuple[Perturbation, str]]:
    """Yield each perturbation with the result of the run without it. Raises BadProgram."""
    for each in case:
        left = (
            without_kill(case, each) if isinstance(each, KillProcess) else [it for it in case if it != each]
        )
        broken = judge(program, run_case(program, left, seed))
        yield each, "passes" if broken is None else f"breaks {broken.rule}"


def without_kill(case: Sequence[Perturbation], kill: KillProcess) -> list[Perturbation]:
    """Return the case without this death. Perturbations of the next process move to the same step of main.

    Example: the process dies before step 31, after 30 steps. A perturbation at step 38, the eighth step of
    the next process, moves to step 8.
    """
    moved = list[Perturbation]()
    for each in case:
        if isinstance(each, CancelTask | KillProcess | DelayCallback) and each.step > kill.step:
            moved.append(structs.replace(each, step=each.step - kill.step + 1))
        elif each != kill:
            moved.append(each)
    return moved

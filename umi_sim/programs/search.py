"""The search: every point at which one thing can go wrong, in order; then drawn combinations.

Law 1. A phase is run to its end, so that a report says at how many of its points a rule breaks.
Law 2. The search ends after the first phase that breaks a rule, unless all of it is asked for.
Law 3. What is found is run once more, and shrunk to the fewest perturbations that break the same rule.
"""

from collections.abc import Iterable, Iterator, Sequence
from time import monotonic
from typing import Final

from msgspec import structs

from umi_core.data import Data, Owner
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.progress import at
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
from umi_sim.programs.simulation import ProgramOutcome, run_case, silence_dead
from umi_sim.targets.items import PARTED

FOLDER: Final = ".umi-sim/programs"  # of findings
SECONDS: Final = 60
DRAWN: Final = 100
POINTS_MAX: Final = 2_000  # of a phase; of more, so many are tried, evenly spread
SITE_CALLS_MAX: Final = 50
PARTS: Final = (0, 40)
COMBINED: Final = (2, 3)
PAUSES_MAX: Final = 4
PAUSE_MAX: Final = 12
SHRINK_RUNS_MAX: Final = 200
Case = tuple[tuple[Perturbation, ...], int]  # with its seed


class ProgramFinding(Data):
    """A broken rule, with the smallest case that breaks it; `points`: all that break it alike."""

    broken: BrokenRule
    outcome: ProgramOutcome
    phase: str
    points: tuple[tuple[Perturbation, ...], ...]
    recurs: bool


class Phase(Owner):
    """The cases that one phase tried. `planned`: how many points there are."""

    name: str
    planned: int
    run_count: int = 0
    failing_count: int = 0


class Exploration(Owner):
    """The result of a search. `is_complete`: its time was enough."""

    program: Program
    phases: list[Phase] = []
    findings: list[ProgramFinding] = []
    is_complete: bool = True
    known: set[str] = set()  # fingerprints

    @property
    def run_count(self) -> int:
        return sum(phase.run_count for phase in self.phases)

    def take(self, phase: Phase, cases: Iterable[Case], until_s: float | None = None) -> None:
        """Run the cases of a phase, and add each new finding."""
        self.phases.append(phase)
        broken: dict[str, list[tuple[BrokenRule, Case]]] = {}
        for case in cases:
            if until_s is not None and monotonic() >= until_s:
                self.is_complete = False
                break
            at(phase.name, phase.run_count, min(phase.planned, POINTS_MAX))
            phase.run_count += 1
            if rule := judge(self.program, run_case(self.program, *case)):
                phase.failing_count += 1
                broken.setdefault(fingerprint_of(rule), []).append((rule, case))
        for mark in [each for each in broken if each not in self.known]:
            self.known.add(mark)
            self.findings.append(conclude(self.program, phase.name, broken[mark]))


def explore(
    program: Program, *, seed: int = 0, drawn: int = DRAWN, seconds: int = SECONDS, to_end: bool = False
) -> Exploration:
    """Search for a case that breaks a rule. Raises BadProgram.

    `drawn`: how many combinations are drawn. `seconds`: when the search ends, wherever it is.
    """
    with silence_dead():
        return explore_quietly(program, seed, drawn, seconds, to_end)


def explore_quietly(program: Program, seed: int, drawn: int, seconds: int, to_end: bool) -> Exploration:
    found, until_s = Exploration(program), monotonic() + seconds
    base = run_case(program, (), seed)
    for name, cases in list_phases(program, base, drawn, seed):
        found.take(Phase(name, len(cases)), spread(cases), until_s)
        has_ended = found.findings and (not to_end or name == UNDISTURBED)
        if has_ended or not found.is_complete:
            break
    return found


def spread(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield all cases, or POINTS_MAX of them, evenly spread."""
    count = min(len(cases), POINTS_MAX)
    yield from (cases[number * len(cases) // count] for number in range(count))


# Phases.


UNDISTURBED: Final = "undisturbed"


def list_phases(
    program: Program, base: ProgramOutcome, drawn: int, seed: int
) -> Iterator[tuple[str, list[Case]]]:
    """Yield each phase: its name and its cases, which follow from the undisturbed run."""
    main, others = list_cancels(base, [0]), list_cancels(base, list_others(program, base))
    kills = [KillProcess(number + 1) for number in range(base.reached.step_count)]
    calls = [
        FailCall(service, call, how)  # type: ignore[arg-type] # one of those that it has
        for service, count in base.reached.calls.items()
        for call in range(1, count + 1)
        for how in base.reached.ways[service]
    ]
    delays = [DelayCallback(it.step, by) for it in kills for by in range(1, program.reorder + 1)]
    alone: list[tuple[str, Sequence[Perturbation]]] = [
        ("main cancelled", main), ("other tasks cancelled", others), ("process killed", kills),
        ("calls failing", calls), ("files, SQLite and network failing", list_sites(base)),
        ("callbacks delayed", delays),
    ]  # fmt: skip
    yield UNDISTURBED, [((), seed)]
    for name, pool in alone:
        if pool:
            yield name, [((each,), seed) for each in pool]
    pools = [pool for _, pool in alone if pool]
    if base.reached.job_count:
        pools.append([OrderJobs()])  # a new one is drawn each time
    if pools and drawn:
        cases = (draw_case(pools, Stream(seed, "program", number)) for number in range(drawn))
        yield "combinations drawn", [(case, seed + number) for number, case in enumerate(cases)]


def list_others(program: Program, base: ProgramOutcome) -> list[int]:
    """Return the tasks beside main that may be cancelled: those of the program, or all."""
    own = range(len(base.reached.spans)) if program.library_tasks else base.reached.own_tasks
    return [number for number in own if number]  # 0 is main


def list_cancels(base: ProgramOutcome, tasks: Sequence[int]) -> list[Perturbation]:
    """Return each step before which one of these tasks may be cancelled."""
    return [CancelTask(step, task) for task in tasks for step in base.reached.spans[task]]


def list_sites(base: ProgramOutcome) -> list[Perturbation]:
    found: list[Perturbation] = []
    for site, count in base.reached.sites.items():
        for call in range(1, min(count, SITE_CALLS_MAX) + 1):
            parts = PARTS if site in PARTED else PARTS[:1]
            found += [kind(site, call, part) for kind in (FailSite, KillAtSite) for part in parts]
    return found


def draw_case(pools: Sequence[Sequence[Perturbation]], chance: Stream) -> tuple[Perturbation, ...]:
    """Draw some perturbations, of which at most one is at a site, and at most one orders jobs."""
    found = dict[object, Perturbation]()
    for _ in range(chance.between(*COMBINED)):
        each = chance.pick(chance.pick(pools))
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
    from umi_sim.record import fingerprint  # only what breaks has one

    return fingerprint.digest("program", broken.rule, fingerprint.normal(broken.message), "")


def conclude(program: Program, phase: str, broken: Sequence[tuple[BrokenRule, Case]]) -> ProgramFinding:
    """Shrink the first of the cases that break a rule in the same way."""
    rule, (case, seed) = broken[0]
    small = shrink(program, case, seed, fingerprint_of(rule))
    outcome = run_case(program, small, seed, is_watched=True)
    again = judge(program, outcome)
    recurs = again is not None and fingerprint_of(again) == fingerprint_of(rule)
    return ProgramFinding(again or rule, outcome, phase, tuple(case for _, (case, _) in broken), recurs)


def shrink(
    program: Program, case: tuple[Perturbation, ...], seed: int, wanted: str
) -> tuple[Perturbation, ...]:
    """Return the fewest and simplest perturbations that were met which break the same rule."""
    best, run_count = case, 0

    def keep(tried: Sequence[Perturbation]) -> bool:
        nonlocal best, run_count
        run_count += 1
        at("shrinking", run_count)
        if run_count > SHRINK_RUNS_MAX:
            return False
        broken = judge(program, run_case(program, tuple(tried), seed))
        if broken is None or fingerprint_of(broken) != wanted:
            return False
        best = tuple(tried)
        return True

    if len(case) > 1:
        from umi_sim.shrink.reduction import fewer  # its package loads a memory, which few searches need

        fewer(case, keep)
        for kill in [each for each in best if isinstance(each, KillProcess)]:
            keep(without_kill(best, kill))
    for place in range(len(best)):
        for simpler in best[place].list_simpler():
            if keep((*best[:place], simpler, *best[place + 1 :])):
                break
    return best


def find_needed(
    program: Program, case: Sequence[Perturbation], seed: int
) -> Iterator[tuple[Perturbation, str]]:
    """Yield each perturbation, and how the run ends without it. Raises BadProgram."""
    for each in case:
        left = (
            without_kill(case, each) if isinstance(each, KillProcess) else [it for it in case if it != each]
        )
        broken = judge(program, run_case(program, left, seed))
        yield each, "passes" if broken is None else f"breaks {broken.rule}"


def without_kill(case: Sequence[Perturbation], kill: KillProcess) -> list[Perturbation]:
    """Return the case without this death; what met the next process is applied at the same place.

    A process that dies before step 31 has run 30: what met step 38 is then applied to step 8 of the first.
    """
    moved = list[Perturbation]()
    for each in case:
        if isinstance(each, CancelTask | KillProcess | DelayCallback) and each.step > kill.step:
            moved.append(structs.replace(each, step=each.step - kill.step + 1))
        elif each != kill:
            moved.append(each)
    return moved

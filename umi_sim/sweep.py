"""Sweep: many seeds of many scenarios in many processes, and one seed file for each different failure.

Law 1. A task and its result are plain data; results are counts that add up, in any order.
Law 2. The smallest seed of a fingerprint is the one that is kept.
Law 3. Only progress, on standard error, knows the time; what is printed at the end does not.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import attrs

from umi_sim import fingerprint, floors, mutants, reached, scenario, seed_file
from umi_sim.console import HARNESS
from umi_sim.faults import KINDS
from umi_sim.floors import Missed, Summary
from umi_sim.replay import severest
from umi_sim.report import counted, cut, escaped, plural, row, rows
from umi_sim.runner import run, run_once
from umi_sim.scenario import Scenario
from umi_sim.trace import write_whole
from umi_sim.verdict import EXIT_CODES, FailureKind, Verdict

CHUNK_COUNT: Final = 10
CANARY: Final = "canary"
CANARY_SEED_COUNT: Final = 5
PROGRESS_EVERY_S: Final = 10


@attrs.frozen
class Task:
    """Some seeds of one scenario."""

    scenario: str
    seeds: tuple[int, ...]
    stop_first: bool = False


@attrs.frozen
class Found:
    """One failure by the smallest seed that shows it, with its seed file, unless it is too large for one."""

    scenario: str
    seed: int
    kind: FailureKind
    rule: str
    fingerprint: str
    message: str
    path: str
    text: str


@attrs.define
class Totals:
    """Counts over runs; `found` and `hits` by fingerprint, `summaries` by scenario."""

    runs: int = 0
    steps: int = 0
    failed: int = 0
    operations: Counter[str] = attrs.field(factory=Counter)
    replies: Counter[str] = attrs.field(factory=Counter)
    fired: Counter[str] = attrs.field(factory=Counter)
    blunt: Counter[str] = attrs.field(factory=Counter)
    excused: Counter[str] = attrs.field(factory=Counter)
    marks: Counter[str] = attrs.field(factory=Counter)
    hits: Counter[str] = attrs.field(factory=Counter)
    found: dict[str, Found] = attrs.field(factory=dict)
    summaries: dict[str, Summary] = attrs.field(factory=dict)

    def add(self, other: "Totals") -> None:
        """Add the counts of other runs."""
        self.runs += other.runs
        self.steps += other.steps
        self.failed += other.failed
        for name in (*COUNTS, "hits"):
            getattr(self, name).update(getattr(other, name))
        for found in other.found.values():
            self.keep(found)
        for name, summary in other.summaries.items():
            self.summaries.setdefault(name, Summary()).add(summary)

    def keep(self, found: Found) -> None:
        best = self.found.get(found.fingerprint, found)
        self.found[found.fingerprint] = min(best, found, key=lambda each: (each.seed, each.scenario))

    def in_order(self) -> list[Found]:
        """The failures, the most frequent first."""
        return sorted(self.found.values(), key=lambda each: (-self.hits[each.fingerprint], each.fingerprint))

    def missed(self) -> list[Missed]:
        """What these runs should have met and did not."""
        files = {name: loaded(name) for name in self.summaries}
        return floors.missed(files, self.summaries, floors.RUN_COUNT_MIN, floors.PAIR_RUN_COUNT_MIN)

    def exit_code(self) -> int:
        codes = [EXIT_CODES[found.kind] for found in self.found.values()]
        return severest([*codes, HARNESS] if self.missed() else codes)


COUNTS: Final = ("operations", "replies", "fired", "blunt", "excused", "marks")


# In a worker.


def work(task: Task) -> Totals:
    """Run the seeds of a task."""
    totals = Totals()
    for seed in task.seeds:
        verdict = run(scenario.draw(loaded(task.scenario), seed))
        count(totals, task.scenario, verdict)
        if verdict.failure is not None and task.stop_first:
            break
    return totals


@cache
def loaded(name: str) -> Scenario:
    return scenario.find(name)


def count(totals: Totals, name: str, verdict: Verdict) -> None:
    totals.runs += 1
    totals.steps += verdict.steps
    for counter in COUNTS:
        getattr(totals, counter).update(getattr(verdict, counter))
    totals.add(Totals(summaries={name: floors.summary_of(loaded(name), verdict)}))
    if verdict.failure is not None:
        totals.failed += 1
        totals.hits[fingerprint.of(verdict.failure)] += 1
        totals.keep(found_in(name, verdict))


def found_in(name: str, verdict: Verdict) -> Found:
    failure = verdict.failure
    assert failure is not None
    try:
        text = seed_file.dumps(verdict)
    except seed_file.BadSeedFile:
        text = ""
    rule = failure.rule if failure.rule == failure.rule_id else f"{failure.rule} ({failure.rule_id})"
    path = seed_file.default_path(failure).as_posix()
    mark = fingerprint.of(failure)
    return Found(name, verdict.config.seed, failure.kind, rule, mark, failure.message, path, text)


# In the parent.


def sweep(names: Sequence[str], seeds: Sequence[int], jobs: int, stop_first: bool, quiet: bool) -> Totals:
    """Run all seeds of all scenarios; results are taken in the order of tasks, so the totals repeat."""
    tasks = [Task(name, chunk, stop_first) for name in names for chunk in chunks(seeds)]
    totals = Totals()
    run_count = len(names) * len(seeds)
    with progress(run_count, quiet) as tell, closing(results(tasks, min(jobs, len(tasks)))) as finished:
        for result in finished:
            totals.add(result)
            tell(totals)
            if stop_first and totals.found:
                break
    return totals


def is_blind() -> bool:
    """Whether a planted bug stays unseen, or is seen by a wrong rule: then nothing can be believed."""
    configs = [scenario.draw(loaded(CANARY), seed) for seed in range(CANARY_SEED_COUNT)]
    failures = (run(config).failure for config in configs)
    first = next((failure.rule for failure in failures if failure), "")
    return first not in mutant_named(str(configs[0].planted)).rules


def mutant_named(name: str) -> mutants.Mutant:
    from umi_sim.mutants.registry import MUTANTS

    return MUTANTS[name]


def chunks(seeds: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return (tuple(seeds[at : at + CHUNK_COUNT]) for at in range(0, len(seeds), CHUNK_COUNT))


def results(tasks: Sequence[Task], jobs: int) -> Generator[Totals, None, None]:
    """The results in order; one job needs no other process."""
    if jobs <= 1:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        try:
            for future in [pool.submit(work, task) for task in tasks]:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def write_files(totals: Totals, folder: Path) -> None:
    """One seed file for each fingerprint, below this folder."""
    for found in totals.found.values():
        path = folder / found.path
        if found.text:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, found.text.encode())


def default_names() -> list[str]:
    """The shipped scenarios that are not manual."""
    return [name for name in scenario.shipped() if not loaded(name).manual]


def kinds_of(names: Sequence[str]) -> list[str]:
    """The kinds of faults that these scenarios may have, in the order of the registry."""
    given = [loaded(name).faults for name in names]
    return [kind for kind in KINDS if any(may_strike(kind, faults) for faults in given)]


def may_strike(kind: str, faults: Mapping[str, object] | None) -> bool:
    """A kind is named before its group; where nothing is said, everything is drawn."""
    return faults is None or bool(faults.get(kind, faults.get(KINDS[kind].group)))


def default_jobs() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Progress, on standard error.

Tell = Callable[[Totals], None]


@contextmanager
def progress(run_count: int, quiet: bool) -> Iterator[Tell]:
    """Something to call with the totals so far."""
    if quiet:
        yield lambda totals: None
    elif sys.stderr.isatty():
        with bar(run_count) as tell:
            yield tell
    else:
        yield now_and_then(run_count)


def now_and_then(run_count: int) -> Tell:
    started = told = time.monotonic()

    def tell(totals: Totals) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= PROGRESS_EVERY_S:
            told = now
            print(progress_line(totals, run_count, now - started), file=sys.stderr, flush=True)

    return tell


def progress_line(totals: Totals, run_count: int, elapsed_s: float) -> str:
    rate = totals.runs / max(elapsed_s, 0.001)
    return f"{totals.runs} of {run_count} runs, {rate:.0f} a second, {plural(len(totals.found), 'failure')}"


@contextmanager
def bar(run_count: int) -> Iterator[Tell]:
    """A bar on a terminal; it disappears at the end."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("sweep", total=run_count)
        yield lambda totals: shown.update(
            task, completed=totals.runs, description=plural(len(totals.found), "failure")
        )


# The table.


def lines(totals: Totals, names: Sequence[str], seeds: Sequence[int], kinds: Sequence[str]) -> Iterator[str]:
    """The verdict first, what happened, then one row for each failure with the command that repeats it."""
    missed = totals.missed()
    word = "FAIL" if totals.found or missed else "PASS"
    runs = f"{plural(totals.runs, 'run')}, {plural(totals.steps, 'step')}"
    swept = f"{plural(len(names), 'scenario')}, seeds {seeds[0]}..{seeds[-1]}"
    yield f"{word} sweep of {swept}: {runs}, {failures(totals)}"
    yield row("requests", f"{sum(totals.operations.values())} of {plural(len(totals.operations), 'kind')}")
    for label, counts in (
        ("replies", totals.replies),
        ("excused", +totals.excused),
        ("faults", totals.fired),
    ):
        if counts:
            yield from rows(label, counted(in_order(counts)))
    if never := [name for name in kinds if name not in totals.fired]:
        yield from rows("never", ", ".join(never))
    yield row("marks", f"{len(totals.marks)} reached")
    lacking = reached.unreached(totals.marks)
    yield row("answers", f"{len(reached.possible()) - len(lacking)} of {len(reached.possible())} met by rows")
    if missed:
        yield row("missed", f"{len(missed)} that so many runs must meet")
        yield from (f"  {missed_line(each)}" for each in missed)
    for found in totals.in_order():
        yield ""
        yield from found_lines(found, totals.hits[found.fingerprint])


def failures(totals: Totals) -> str:
    if not totals.found:
        return "every promise kept"
    return f"{totals.failed} failed, {len(totals.found)} different"


def missed_line(missed: Missed) -> str:
    return f"{missed.scenario or 'all'}: {missed.what}"


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


def found_lines(found: Found, hits: int) -> Iterator[str]:
    yield escaped(cut(f"FAIL {found.kind} {found.rule}: {found.message}"))
    yield row("hits", f"{hits}, the smallest is {found.scenario} seed {found.seed}")
    yield row("repeat", repeat_of(found))


def repeat_of(found: Found) -> str:
    return (
        f"umi-sim replay {found.path}" if found.text else f"umi-sim run {found.scenario} --seed {found.seed}"
    )


def as_json(totals: Totals) -> dict[str, object]:
    return {
        "result": "fail" if totals.found or totals.missed() else "pass",
        "runs": totals.runs, "steps": totals.steps, "failed": totals.failed,
        **{name: in_order(getattr(totals, name)) for name in COUNTS},
        "answers_never_met": list(reached.unreached(totals.marks)),
        "missed": [{"scenario": each.scenario, "what": each.what} for each in totals.missed()],
        "failures": [
            {
                "kind": each.kind, "rule": each.rule, "fingerprint": each.fingerprint,
                "message": each.message, "hits": totals.hits[each.fingerprint], "scenario": each.scenario,
                "seed": str(each.seed), "repeat": repeat_of(each),
            }
            for each in totals.in_order()
        ],
    }  # fmt: skip


# Mutants: each planted bug over its own scenario, until it is found.


@attrs.frozen
class Hunt:
    """What came of one planted bug: the rule that saw it, or none, after so many seeds and milliseconds.

    `items`: how many the failing run has.
    """

    name: str
    rule: str
    expected: tuple[str, ...]
    seeds: int
    ms: int
    items: int = 0

    @property
    def is_found(self) -> bool:
        return self.rule in self.expected


def hunt(mutant: mutants.Mutant) -> Hunt:
    """Run seeds from 0 on until one of its rules is broken, at most as many as the mutant is granted.

    Another rule may be broken sooner; it is told if none of the expected ones is.
    """
    started = time.monotonic_ns()
    rule, seeds, items = "", 0, 0
    while rule not in mutant.rules and seeds < mutant.seeds_max:
        config = scenario.draw(loaded(mutant.scenario), seeds)
        verdict = run_once(attrs.evolve(config, planted=mutant.name))[0]
        seeds += 1
        if verdict.failure is not None:
            rule, items = verdict.failure.rule, len(verdict.items)
    took_ms = (time.monotonic_ns() - started) // 1_000_000
    return Hunt(mutant.name, rule, mutant.rules, seeds, took_ms, items)


def hunt_line(done: Hunt) -> str:
    note = "" if done.is_found else f"   expected {' or '.join(done.expected)}"
    count = f"{done.items:>4} items" if done.items else ""
    return (
        f"{done.name:32} {done.rule or 'NOT FOUND':24} {plural(done.seeds, 'seed'):>9} {done.ms:>7} ms"
        f"{count:>13}{note}".rstrip()
    )

"""Source hunts: each edits the source of umi_core in a separate process and does runs until one fails.

If no run finds the edit within its CPU time, the tests of umi_core are tried.

Law 1. The whole process imports the edited file, oracle and world included, as with a real bug.
Law 2. One run of each scenario without an edit shows the lines that it executes. The runs that execute the
edited line come first, the cheapest before the others; then their scenarios share the CPU time that is left,
and every fifth run belongs to the other scenarios.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Final

from umi_core.data import Data
from umi_sim.kernel import folders
from umi_sim.mutants.source_edits import SourceEdit, overlay_sources
from umi_sim.sweep.executed import ExecutedLines, code_line
from umi_sim.sweep.plan import ScenarioSource, fresh_seed
from umi_sim.sweep.totals import TOTALS, Totals
from umi_sim.sweep.worker_process import CREW, Died, OutOfLimit, Worker, environment

LIMITS: Final = {"cpu_s_max": 30, "wall_ms_max": 120_000, "memory_bytes_max": 2 * 1024**3}
NO_START: Final = "does not start"
NO_END: Final = "no end"
NO_VERDICT: Final = "no verdict"
TESTED: Final = "tests"
HOW: Final = {
    NO_START: "importing it raises",
    NO_END: "a run computed, or took memory, without end",
    NO_VERDICT: "the simulator itself raised",
    TESTED: "no run finds it, and a test of umi_core fails",
}
"""Explanations of the ways to find an edit other than by a rule."""
TESTS: Final = tuple(folders.PROJECT / "tests" / name for name in ("properties", "unit/core"))
TESTS_S_MAX: Final = 900
PYTEST: Final = ("-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
OF_OTHERS: Final = 5
"""One of so many runs belongs to scenarios that did not execute the line."""


class SourceHunt(Data):
    """The result of one edit, and the run that found it.

    `how`: the rule or the key of HOW by which it was found; empty if it survived. `met`: the number of
    scenarios that executed the edited line in a run without the edit. `cpu_ms`: CPU time of all runs; one
    without an end counts as its limit.
    """

    name: str
    before: str
    after: str
    how: str
    scenario: str
    seed: int
    runs: int
    met: int
    cpu_ms: int


class UneditedRun(Data):
    """A run of a scenario without an edit: its CPU time, and the lines that it executed."""

    source: ScenarioSource
    seed: int
    cpu_ms: int
    lines: ExecutedLines


class EditedRun(Data):
    """A run with an edit; `how` is the way in which it found the edit, empty if it passed."""

    how: str
    cpu_ms: int = 0


def hunts(
    edits: Sequence[SourceEdit], sources: Sequence[ScenarioSource], base: str, cpu_ms_max: int, jobs: int
) -> Iterator[SourceHunt]:
    """Hunt the edits in `jobs` threads, and yield the results in the order of the edits."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            seeds = (fresh_seed(base, number) for number in range(len(sources)))
            known = list(pool.map(run_unedited, sources, seeds))
            yield from pool.map(lambda edit: hunt(edit, known, base, cpu_ms_max), edits)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run_unedited(source: ScenarioSource, seed: int) -> UneditedRun:
    """Do one run without an edit; without a result in its limits, it counts as one that executes nothing."""
    try:
        with CREW.one("plain") as worker:
            answer = worker.ask(question("lines", source, seed))
    except (Died, OutOfLimit):
        return UneditedRun(source, seed, 1000 * LIMITS["cpu_s_max"], {})
    return UneditedRun(source, seed, answer["cpu_ms"], answer["lines"])


def hunt(edit: SourceEdit, known: Sequence[UneditedRun], base: str, cpu_ms_max: int) -> SourceHunt:
    """Run scenarios with the edit until one finds it or they have used `cpu_ms_max`; then try the tests."""
    line = code_line(edit.text, edit.file, edit.line)
    met = [it for it in known if line is None or line in it.lines.get(edit.file, ())]
    others = [it for it in known if it not in met]
    how, scenario, seed, run_count, used_ms = "", "", 0, 0, Counter[str]()
    with overlay_sources(edit) as folder:
        worker = Worker("plain", folder)
        order = turns(met, others, base, used_ms)  # reads `used_ms`, which this loop updates
        try:
            while not how and used_ms.total() < cpu_ms_max:
                source, seed = next(order)
                done = run_edited(worker, source, seed)
                how, scenario, run_count = done.how, source.name, run_count + 1
                used_ms[source.name] += done.cpu_ms
        finally:
            worker.end()
        if not how:
            how, scenario, seed = TESTED if fails_a_test(folder) else "", "", 0
    return SourceHunt(
        edit.name, edit.before, edit.after, how, scenario, seed, run_count, len(met), used_ms.total()
    )


def turns(
    met: Sequence[UneditedRun], others: Sequence[UneditedRun], base: str, used_ms: Mapping[str, int]
) -> Iterator[tuple[ScenarioSource, int]]:
    """Yield (scenario, seed) of each run; `used_ms`: the CPU time that each scenario has used so far."""
    for known in sorted(met, key=lambda it: it.cpu_ms):
        yield known.source, known.seed
    for number in count(len(met) + len(others)):
        wanted = others if others and (number % OF_OTHERS == 0 or not met) else met
        least = min(wanted, key=lambda it: (used_ms.get(it.source.name, 0), it.cpu_ms))
        yield least.source, fresh_seed(base, number)


def fails_a_test(overlay: str) -> bool:
    """Return True if a test of umi_core fails, or does not end, with the umi_core of this folder."""
    found = [str(each) for each in TESTS if each.is_dir()]
    if not found:
        return False
    # No configuration file is used: the project's would put its own umi_core before the edited one.
    command = [sys.executable, *PYTEST, "-c", os.devnull, "--rootdir", str(folders.PROJECT), *found]
    try:
        done = subprocess.run(
            command, cwd=overlay, env=environment("plain", overlay), capture_output=True, timeout=TESTS_S_MAX
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def run_edited(worker: Worker, source: ScenarioSource, seed: int) -> EditedRun:
    """Do one run with the edit, in a child that is started if it does not run; tell how it ended."""
    try:
        if worker.process is None:
            worker.start()
    except Died:
        return EditedRun(NO_START)
    try:
        answer = worker.ask(question("run", source, seed))
    except OutOfLimit:
        return EditedRun(NO_END, 1000 * LIMITS["cpu_s_max"])
    except Died:
        return EditedRun(NO_VERDICT)
    totals: Totals = TOTALS.read(answer["totals"])
    return EditedRun(next((found.rule for found in totals.found.values()), ""), answer["cpu_ms"])


def question(what: str, source: ScenarioSource, seed: int) -> dict[str, Any]:
    return {
        "do": what, "scenario": source.name, "text": source.text, "folder": source.folder,
        "settings": {**source.file.settings}, "seed": str(seed), **LIMITS,
    }  # fmt: skip

"""Source hunts: each edits the source of umi_core in a separate process and does runs until one fails.

If no run finds the edit within its CPU time, the tests of umi_core are tried.

Law 1. The whole process imports the edited file, oracle and world included, as with a real bug.
Law 2. Scenarios take turns, and no two runs have the same seed. A scenario whose runs have not executed the
edited line has a run only in every fifth turn. The runs thus depend on the base and the edit alone, and only
their number depends on the machine.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel import folders
from umi_sim.mutants.source_edits import SourceEdit, overlay_sources
from umi_sim.sweep.plan import ScenarioSource, fresh_seed
from umi_sim.sweep.totals import TOTALS, Totals
from umi_sim.sweep.watched import WatchedLine, place_of
from umi_sim.sweep.worker_process import Died, OutOfLimit, Worker, environment

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
OF_ALL: Final = 5
"""Every scenario has a run in one of so many turns; in the others only those that executed the line."""


class SourceHunt(Data):
    """The result of one edit, and the run that found it.

    `how`: the rule or the key of HOW by which it was found; empty if it survived. `met`: the number of runs
    that executed the edited line. `cpu_ms`: CPU time of all runs; one without an end counts as its limit.
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


def hunts(
    edits: Sequence[SourceEdit], sources: Sequence[ScenarioSource], base: str, cpu_ms_max: int, jobs: int
) -> Iterator[SourceHunt]:
    """Hunt the edits in `jobs` threads, and yield the results in the order of the edits."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(lambda edit: hunt(edit, sources, base, cpu_ms_max), edits)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def hunt(edit: SourceEdit, sources: Sequence[ScenarioSource], base: str, cpu_ms_max: int) -> SourceHunt:
    """Run scenarios with the edit until one finds it or they have used `cpu_ms_max`; then try the tests."""
    place, met = place_of(edit.text, edit.file, edit.line), Counter[str]()
    how, scenario, seed, run_count, cpu_ms = "", "", 0, 0, 0
    with overlay_sources(edit) as folder:
        worker = Worker("plain", folder)
        order = turns(sources, base, met)  # reads `met`, which this loop updates
        try:
            while not how and cpu_ms < cpu_ms_max:
                source, seed = next(order)
                done = run_edited(worker, source, seed, place)
                how, scenario, run_count, cpu_ms = done.how, source.name, run_count + 1, cpu_ms + done.cpu_ms
                met[source.name] += done.is_met
        finally:
            worker.end()
        if not how:
            how, scenario, seed = TESTED if fails_a_test(folder) else "", "", 0
    return SourceHunt(edit.name, edit.before, edit.after, how, scenario, seed, run_count, met.total(), cpu_ms)


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


def turns(
    sources: Sequence[ScenarioSource], base: str, met: Mapping[str, int]
) -> Iterator[tuple[ScenarioSource, int]]:
    """Yield (scenario, seed) of each run; `met`: how many runs of each scenario executed the line so far."""
    run = count()
    for turn in count():
        # Turns 0, 5, 10 ... try every scenario, other turns only those that have executed the line, if any.
        wanted = [it for it in sources if met.get(it.name)] if turn % OF_ALL else []
        for source in wanted or sources:
            yield source, fresh_seed(base, next(run))


class EditedRun(Data):
    """One run with an edit: how it found the edit ("": it passed), and whether it executed the line."""

    how: str
    is_met: bool
    cpu_ms: int = 0


def run_edited(worker: Worker, source: ScenarioSource, seed: int, place: WatchedLine | None) -> EditedRun:
    try:
        if worker.process is None:
            worker.start()
    except Died:
        return EditedRun(NO_START, is_met=True)
    try:
        answer = worker.ask(question(source, seed, place))
    except OutOfLimit:
        return EditedRun(NO_END, is_met=True, cpu_ms=1000 * LIMITS["cpu_s_max"])
    except Died:
        return EditedRun(NO_VERDICT, is_met=True)
    totals: Totals = TOTALS.read(answer["totals"])
    how = next((found.rule for found in totals.found.values()), "")
    return EditedRun(how, answer["met"], answer["cpu_ms"])


def question(source: ScenarioSource, seed: int, place: WatchedLine | None) -> dict[str, Any]:
    return {
        "do": "run", "scenario": source.name, "text": source.text, "folder": source.folder,
        "settings": {**source.file.settings},
        "seed": str(seed), "watched": None if place is None else structs.asdict(place), **LIMITS,
    }  # fmt: skip

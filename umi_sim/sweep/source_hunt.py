"""Source hunts: each edits the source of umi_core in a separate process and does runs until one fails.

If no run finds the edit, the tests of functions (tests/properties) are tried.

Law 1. The whole process imports the edited file, oracle and world included, as with a real bug.
Law 2. Scenarios take turns, and no two runs have the same seed. A scenario whose runs have not executed the
edited line has a run only in every fifth turn. The runs thus depend on the base and the edit alone.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
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
TESTED: Final = "tests/properties"
HOW: Final = {
    NO_START: "importing it raises",
    NO_END: "a run computed, or took memory, without end",
    NO_VERDICT: "the simulator itself raised",
    TESTED: "no run finds it, and a test of functions fails",
}
"""Explanations of the ways to find an edit other than by a rule."""
TESTS: Final = folders.PROJECT / TESTED
TESTS_S_MAX: Final = 600
PYTEST: Final = ("-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
OF_ALL: Final = 5
"""Every scenario has a run in one of so many turns; in the others only those that executed the line."""


class SourceHunt(Data):
    """The result of one edit, and the run that found it.

    `how`: the rule or the key of HOW by which it was found; empty if it survived. `met`: the number of runs
    that executed the edited line.
    """

    name: str
    before: str
    after: str
    how: str
    scenario: str
    seed: int
    runs: int
    met: int


def hunts(
    edits: Sequence[SourceEdit], sources: Sequence[ScenarioSource], base: str, run_count: int, jobs: int
) -> Iterator[SourceHunt]:
    """Hunt the edits in `jobs` threads, and yield the results in the order of the edits."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(lambda edit: hunt(edit, sources, base, run_count), edits)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def hunt(edit: SourceEdit, sources: Sequence[ScenarioSource], base: str, run_count: int) -> SourceHunt:
    survived = SourceHunt(edit.name, edit.before, edit.after, "", "", 0, run_count, 0)
    place, met = place_of(edit.text, edit.file, edit.line), Counter[str]()
    with overlay_sources(edit) as folder:
        worker = Worker("plain", folder)
        try:
            # The generator `turns` reads `met`, which this loop updates.
            for run, (source, seed) in enumerate(islice(turns(sources, base, met), run_count), 1):
                how, is_met = run_edited(worker, source, seed, place)
                met[source.name] += is_met
                if how:
                    return structs.replace(
                        survived, how=how, scenario=source.name, seed=seed, runs=run, met=met.total()
                    )
        finally:
            worker.end()
        return structs.replace(survived, how=TESTED if fails_a_test(folder) else "", met=met.total())


def fails_a_test(overlay: str) -> bool:
    """Return True if a test of functions fails, or does not end, with the umi_core of this folder."""
    if not TESTS.is_dir():
        return False
    # No configuration file is used: the project's would put its own umi_core before the edited one.
    command = [sys.executable, *PYTEST, "-c", os.devnull, "--rootdir", str(folders.PROJECT), str(TESTS)]
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


def run_edited(
    worker: Worker, source: ScenarioSource, seed: int, place: WatchedLine | None
) -> tuple[str, bool]:
    """Return how this run finds the edit ("" if it passes), and whether it executed the line."""
    try:
        if worker.process is None:
            worker.start()
    except Died:
        return NO_START, True
    try:
        answer = worker.ask(question(source, seed, place))
    except OutOfLimit:
        return NO_END, True
    except Died:
        return NO_VERDICT, True
    totals: Totals = TOTALS.read(answer["totals"])
    return next((found.rule for found in totals.found.values()), ""), answer["met"]


def question(source: ScenarioSource, seed: int, place: WatchedLine | None) -> dict[str, Any]:
    return {
        "do": "run", "scenario": source.name, "text": source.text, "folder": source.folder,
        "settings": {**source.file.settings},
        "seed": str(seed), "watched": None if place is None else structs.asdict(place), **LIMITS,
    }  # fmt: skip

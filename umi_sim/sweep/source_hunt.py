"""Source hunts: an edit of umi_core's source in a process of its own, and runs until one of them fails.

An edit that no run finds is given to the tests of functions, tests/properties.

Law 1. The process has only the edited text of that file: oracle and world import it, too, like a real bug.
Law 2. Scenarios take turns, and no two runs have the same seed. Scenarios whose runs did not execute the
edited line have a run only in each fifth turn. So the base and the edit decide which runs are done.
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
"""How an edit is found other than by a rule."""
TESTS: Final = folders.PROJECT / TESTED
TESTS_S_MAX: Final = 600
PYTEST: Final = ("-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
OF_ALL: Final = 5
"""In one turn of so many every scenario has a run; in the others those that executed the line before."""


class SourceHunt(Data):
    """The result of one edit: `how` it was found, by a rule or a key of HOW, in which run; empty: survived.

    `met`: how many of the runs executed the edited line.
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
    """Hunt one edit after another, in their order."""
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
            # `turns` is a generator that reads `met`, which this loop fills.
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
    """Return whether a test of functions fails, or does not end, with the umi_core of this folder."""
    if not TESTS.is_dir():
        return False
    # No configuration file: that of the project would put its own umi_core before the edited one.
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
    """Yield the runs in order; `met`: by scenario, how many of its runs executed the line so far."""
    run = count()
    for turn in count():
        # Turns 0, 5, 10 ... try every scenario, the others only those that have executed the line.
        wanted = [it for it in sources if met.get(it.name)] if turn % OF_ALL else []
        for source in wanted or sources:
            yield source, fresh_seed(base, next(run))


def run_edited(
    worker: Worker, source: ScenarioSource, seed: int, place: WatchedLine | None
) -> tuple[str, bool]:
    """Return how this run finds the edit, empty if it passes, and whether it executed the line."""
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

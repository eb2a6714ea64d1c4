"""Source hunts: an edit of umi_core's source in a process of its own, and runs until one of them fails.

Law 1. The edited text is all that the process knows of that file: oracle and world see it too, as they would
       see a real bug.
Law 2. Which runs are lived depends on the base alone: scenarios take turns, and no two runs have one seed,
       since a seed alone says what settings, faults and equivalences are drawn, whatever the scenario.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_sim.mutants.source_edits import SourceEdit, overlaid
from umi_sim.sweep.plan import Source, fresh_seed
from umi_sim.sweep.totals import TOTALS, Totals
from umi_sim.sweep.worker_process import Died, OutOfLimit, Worker

LIMITS: Final = {"cpu_s_max": 30, "wall_ms_max": 120_000, "memory_bytes_max": 2 * 1024**3}
NO_START: Final = "does not start"
NO_END: Final = "no end"
NO_VERDICT: Final = "no verdict"
HOW: Final = {
    NO_START: "importing it raises",
    NO_END: "a run computed, or took memory, without end",
    NO_VERDICT: "the simulator itself raised",
}
"""How an edit is seen besides by a rule."""


@attrs.frozen
class SourceHunt(Data):
    """What came of one edit: `how` it was seen, by a rule or otherwise, in which run; empty: it survived."""

    name: str
    before: str
    after: str
    how: str
    scenario: str
    seed: int
    runs: int


def hunts(
    edits: Sequence[SourceEdit], sources: Sequence[Source], base: str, run_count: int, jobs: int
) -> Iterator[SourceHunt]:
    """One after another, in the order of the edits."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(lambda edit: hunt(edit, sources, base, run_count), edits)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def hunt(edit: SourceEdit, sources: Sequence[Source], base: str, run_count: int) -> SourceHunt:
    survived = SourceHunt(edit.name, edit.before, edit.after, "", "", 0, run_count)
    with overlaid(edit) as folder:
        worker = Worker("plain", folder)
        try:
            for run, (source, seed) in enumerate(islice(turns(sources, base), run_count), 1):
                if how := seen(worker, source, seed):
                    return attrs.evolve(survived, how=how, scenario=source.name, seed=seed, runs=run)
        finally:
            worker.end()
    return survived


def turns(sources: Sequence[Source], base: str) -> Iterator[tuple[Source, int]]:
    """The runs in their order."""
    return ((source, fresh_seed(base, run)) for run, source in enumerate(cycle(sources)))


def seen(worker: Worker, source: Source, seed: int) -> str:
    """How this run shows the edit; empty if it passes."""
    try:
        if worker.process is None:
            worker.start()
    except Died:
        return NO_START
    try:
        totals: Totals = TOTALS.read(worker.ask(question(source, seed))["totals"])
    except OutOfLimit:
        return NO_END
    except Died:
        return NO_VERDICT
    return next((found.rule for found in totals.found.values()), "")


def question(source: Source, seed: int) -> dict[str, Any]:
    return {
        "do": "run", "scenario": source.name, "text": source.text, "folder": source.folder,
        "seed": str(seed), **LIMITS,
    }  # fmt: skip

"""Verify: runs the same seeds in two processes with different environments.

Law 1. A run depends on code, seed and configuration, not on hash seed, BLAS kernel, folder, zone or locale.
Law 2. If two runs differ, the report names the first record that differs, and its field.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from umi_core.data import Data
from umi_sim.explain import difference
from umi_sim.kernel.progress import at
from umi_sim.sweep.work import LIMITS, apart, ask_worker
from umi_sim.sweep.worker_process import Kind, keep_children

KINDS: Final[tuple[Kind, Kind]] = ("plain", "gate")
NO_MORE: Final = "the traces were equal when repeated: what differs is not in the surroundings"


class Compared(Data):
    """The results of two processes for the same seeds. `trace`: the trace hash of the last run.

    `differing`: the first seed with different runs; `apart`: the first difference, if it occurs again.
    """

    trace: str
    differing: int | None = None
    apart: difference.FirstDifference | None = None


def compare(name: str, seeds: Sequence[int]) -> Compared:
    """Run each seed in both processes, until the results of a seed differ. Raises Died or OutOfLimit."""
    # The path is absolute because one of the two processes has another current folder.
    place = str(Path(name).resolve()) if name.endswith((".toml", ".json")) else name
    with ThreadPoolExecutor(len(KINDS)) as pool, keep_children():
        for number, seed in enumerate(seeds):
            at("verify", number, len(seeds), unit="seed")
            question = {"do": "verify", "name": place, "seed": str(seed), "out": "", **LIMITS}
            one, other = pool.map(ask_worker, KINDS, [question] * len(KINDS))  # side by side
            if one != other:
                return Compared(one["trace"], seed, apart(("plain", question), ("gate", question)))
    return Compared(one["trace"])


def is_seed_file(name: str) -> bool:
    return name.endswith(".json")

"""Verify: the same seeds in two processes that differ in all that must not matter.

Law 1. A run depends on code, seed and configuration: not on hash seed, BLAS kernel, folder, zone or locale.
Law 2. Two different runs are told by the first record, and the field of it, in which they differ.
"""

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_sim.explain import difference
from umi_sim.kernel.progress import at
from umi_sim.record import trace
from umi_sim.sweep.work import LIMITS, asked
from umi_sim.sweep.worker_process import Kind, hired

KINDS: Final[tuple[Kind, Kind]] = ("plain", "gate")
NO_MORE: Final = "the traces were equal when repeated: what differs is not in the surroundings"


@attrs.frozen
class Compared(Data):
    """What two processes made of the same seeds. `trace`: of the last one that was run.

    `differing`: the first seed that they lived otherwise, if there is one; `apart`: where, if it shows again.
    """

    trace: str
    differing: int | None = None
    apart: difference.Apart | None = None


def compare(name: str, seeds: Sequence[int]) -> Compared:
    """Live each seed in both processes, until one differs. Raises Died or OutOfLimit."""
    seen: list[dict[str, Any]] = []
    with ThreadPoolExecutor(len(KINDS)) as pool, hired():
        for number, seed in enumerate(seeds):
            at("verify", number, len(seeds), unit="seed")
            seen = lived(pool, name, seed)
            if seen[0] != seen[1]:
                return Compared(seen[0]["trace"], seed, apart(pool, name, seed))
    return Compared(seen[0]["trace"])


def apart(pool: ThreadPoolExecutor, name: str, seed: int) -> difference.Apart | None:
    """The first difference between two runs of a seed; both are run again."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, kind) for kind in KINDS]
        lived(pool, name, seed, [str(path) for path in paths])
        first, second = map(trace.read, paths)
        return difference.apart(first, second)


def lived(
    pool: ThreadPoolExecutor, name: str, seed: int, outs: Sequence[str] = ("", "")
) -> list[dict[str, Any]]:
    """What the two processes say of a seed; they run side by side."""
    place = str(Path(name).resolve()) if name.endswith((".toml", ".json")) else name
    common = {"do": "verify", "name": place, "seed": str(seed), **LIMITS}
    return list(pool.map(asked, KINDS, [{**common, "out": out} for out in outs]))


def is_seed_file(name: str) -> bool:
    return name.endswith(".json")

"""Verify: the same seeds in two processes that differ in all that must not matter.

Law 1. A run depends on code, seed and configuration: not on hash seed, BLAS kernel, folder, zone or locale.
Law 2. Two different runs are told by the first record, and the field of it, in which they differ.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.explain import difference
from umi_sim.formats.strict_json import compact
from umi_sim.kernel import folders
from umi_sim.kernel.progress import at
from umi_sim.record import trace
from umi_sim.record.items import Item
from umi_sim.record.run_config import RunConfig
from umi_sim.runs import runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.seedfile.files import config_to_json

DIGEST_BYTES: Final = 16
CHUNK_COUNT: Final = 50  # seeds of one process
NO_MORE: Final = "the traces were equal when repeated: what differs is not in the surroundings"
SURROUNDINGS: Final[tuple[Mapping[str, str], ...]] = (
    {"PYTHONHASHSEED": "1", "OPENBLAS_CORETYPE": "Prescott", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "2", "OPENBLAS_CORETYPE": "Haswell", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
)


class ChildFailed(Exception):
    """A process of ours did not end as it should; the message has the last line it wrote."""


@attrs.frozen
class Seen(Data):
    """What one process says of one seed."""

    seed: int
    trace: str
    items: str
    result: str


# In the child.


def seen(name: str, seed: int) -> Seen:
    """One run, as digests."""
    verdict = runner.run(*run_named(name, seed))
    items = compact([item_json.to_json(item) for item in verdict.items]).encode()
    digest = blake2b(items, digest_size=DIGEST_BYTES).hexdigest()
    return Seen(seed, verdict.trace_hash, digest, verdict.failure.rule if verdict.failure else "pass")


def write_trace(name: str, seed: int, path: Path) -> None:
    """All records of one run, in a file."""
    config, items = run_named(name, seed)
    runner.trace_of(config, items).write(path, config_to_json(config))


def run_named(name: str, seed: int) -> tuple[RunConfig, Sequence[Item] | None]:
    """A seed of a scenario, or the run in a seed file, whose seed is its own."""
    if not is_seed_file(name):
        return scenario.draw(scenario.find(name), seed), None
    recorded = seed_file.read(Path(name))
    return recorded.config, recorded.items


def is_seed_file(name: str) -> bool:
    return name.endswith(".json")


# In the parent.


def pairs(name: str, seeds: Sequence[int]) -> list[tuple[Seen, Seen]]:
    """Each seed as two processes saw it."""
    found: list[tuple[Seen, Seen]] = []
    for start in range(0, len(seeds), CHUNK_COUNT):
        at("verify", start, len(seeds), unit="seed")
        some = seeds[start : start + CHUNK_COUNT]
        told = both(lambda folder, some=some: [f"{some[0]}..{some[-1]}"], name)  # type: ignore[misc]  # bound now
        first, second = ([Seen(**json.loads(line)) for line in text.splitlines()] for text in told)
        found += zip(first, second, strict=True)
    return found


def apart(name: str, seed: int) -> difference.Apart | None:
    """The first difference between two runs of a seed; both are run again."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.trace") for number in range(len(SURROUNDINGS))]
        left = iter(paths)
        both(lambda _: [f"{seed}..{seed}", "--out", str(next(left))], name)
        first, second = map(trace.read, paths)
        return difference.apart(first, second)


def both(args_in: Callable[[Path], list[str]], name: str) -> list[str]:
    """What the two processes print; they run side by side."""
    absolute = str(Path(name).resolve()) if name.endswith((".toml", ".json")) else name
    with tempfile.TemporaryDirectory() as elsewhere:
        folders = (Path.cwd(), Path(elsewhere))
        running = [
            start([absolute, *args_in(folder)], around, folder)
            for around, folder in zip(SURROUNDINGS, folders, strict=True)
        ]
        return [output_of(process) for process in running]


def start(args: Sequence[str], around: Mapping[str, str], folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-P", "-m", "umi_sim", "_trace", *args]
    environment = {**os.environ, "PYTHONPATH": str(folders.PROJECT), **around}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def output_of(process: "subprocess.Popen[str]") -> str:
    written, complaint = process.communicate()
    if process.returncode:
        last = complaint.strip().splitlines()[-1:] or ["without a word"]
        raise ChildFailed(f"a process of verify ended with status {process.returncode}: {last[0]}")
    return written

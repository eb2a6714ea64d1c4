"""Verify: the same seeds in two processes that differ in all that must not matter.

Law 1. A run depends on code, seed and configuration: not on hash seed, BLAS kernel, folder, zone or locale.
Law 2. Two different runs are told by the first record, and the field of it, in which they differ.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import Final

import attrs

from umi_sim import item_json, report, runner, scenario, trace
from umi_sim.seed_file import config_to_json
from umi_sim.strict_json import compact
from umi_sim.trace import Difference, Record, SavedTrace, Tag

DIGEST_BYTES: Final = 16
BEFORE_COUNT: Final = 5
PACKAGE_FOLDER: Final = Path(__file__).resolve().parent.parent
SURROUNDINGS: Final[tuple[Mapping[str, str], ...]] = (
    {"PYTHONHASHSEED": "1", "OPENBLAS_CORETYPE": "Prescott", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "2", "OPENBLAS_CORETYPE": "Haswell", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
)
FIELDS: Final = {
    Tag.RUN: "scenario version seed", Tag.OP: "item agent reading name request",
    Tag.STEP: "agent reading input event", Tag.EFFECT: "event value", Tag.REPLY: "op outcome",
    Tag.ANSWER: "event value", Tag.FAULT: "item kind event", Tag.CLOCK: "agent move reading",
    Tag.LIFE: "change agent", Tag.SCHEDULE: "taken over", Tag.PHASE: "phase", Tag.MARK: "mark",
    Tag.STATE: "agent digest", Tag.SKIPPED: "item why", Tag.END: "verdict steps",
}  # fmt: skip


class ChildFailed(Exception):
    """A process of ours did not end as it should; the message has the last line it wrote."""


@attrs.frozen
class Seen:
    """What one process says of one seed."""

    seed: int
    trace: str
    items: str
    result: str


# In the child.


def seen(name: str, seed: int) -> Seen:
    """One run, as digests."""
    verdict = runner.run(scenario.draw(scenario.find(name), seed))
    items = compact([item_json.to_json(item) for item in verdict.items]).encode()
    digest = blake2b(items, digest_size=DIGEST_BYTES).hexdigest()
    return Seen(seed, verdict.trace_hash, digest, verdict.failure.rule if verdict.failure else "pass")


def write_trace(name: str, seed: int, path: Path) -> None:
    """All records of one run, in a file."""
    config = scenario.draw(scenario.find(name), seed)
    runner.trace_of(config).write(path, config_to_json(config))


# In the parent.


def pairs(name: str, seeds: Sequence[int]) -> list[tuple[Seen, Seen]]:
    """Each seed as two processes saw it."""
    told = both(lambda folder: [f"{seeds[0]}..{seeds[-1]}"], name)
    first, second = ([Seen(**json.loads(line)) for line in text.splitlines()] for text in told)
    return list(zip(first, second, strict=True))


def where_apart(name: str, seed: int) -> list[str]:
    """The layout of the first difference between two runs of a seed; both are run again."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.trace") for number in range(len(SURROUNDINGS))]
        left = iter(paths)
        both(lambda _: [f"{seed}..{seed}", "--out", str(next(left))], name)
        first, second = map(trace.read, paths)
        return list(layout(trace.first_difference(first, second), first, second))


def both(args_in: Callable[[Path], list[str]], name: str) -> list[str]:
    """What the two processes print; they run side by side."""
    absolute = str(Path(name).resolve()) if name.endswith(".toml") else name
    with tempfile.TemporaryDirectory() as elsewhere:
        folders = (Path.cwd(), Path(elsewhere))
        running = [
            start([absolute, *args_in(folder)], around, folder)
            for around, folder in zip(SURROUNDINGS, folders, strict=True)
        ]
        return [output_of(process) for process in running]


def start(args: Sequence[str], around: Mapping[str, str], folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-P", "-m", "umi_sim", "_trace", *args]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_FOLDER), **around}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def output_of(process: "subprocess.Popen[str]") -> str:
    written, complaint = process.communicate()
    if process.returncode:
        last = complaint.strip().splitlines()[-1:] or ["without a word"]
        raise ChildFailed(f"a process of verify ended with status {process.returncode}: {last[0]}")
    return written


# The first difference.


def layout(found: Difference | None, first: SavedTrace, second: SavedTrace) -> Iterator[str]:
    """The record and field that differ, with what led there."""
    if found is None:
        yield "the traces were equal when repeated: what differs is not in the surroundings"
        return
    index = found.index - trace.first_index(first)
    before = [trace.decode(record) for record in first.kept[: index + 1]]
    step = sum(record[2] == Tag.STEP for record in before)
    yield f"first difference at record {found.index}, step {step}, {field_apart(found.a, found.b)}"
    yield from report.from_trace(before[-BEFORE_COUNT - 1 : -1] if found.a else before[-BEFORE_COUNT:])
    for label, record in (("first", found.a), ("second", found.b)):
        yield from (f"{label:6} {line}" for line in report.from_trace([record] if record else []))


def field_apart(a: Record | None, b: Record | None) -> str:
    """The first field in which two records differ, with both values."""
    if a is None or b is None:
        return f"where the {'first' if a is None else 'second'} trace has ended"
    names = ["record", "world_ms", "tag", *names_of(a)]
    for number, (mine, theirs) in enumerate(zip_longest(a, b)):
        if mine != theirs:
            name = names[number] if number < len(names) else str(number)
            return f"field {name}: {shown(mine)} / {shown(theirs)}"
    raise AssertionError("two records that differ, differ in a field")


def names_of(record: Record) -> list[str]:
    tag = record[2]
    return FIELDS[Tag(tag)].split() if isinstance(tag, int) and tag in list(Tag) else []


def shown(field: object) -> str:
    return report.escaped(report.cut(report.literal(field)))

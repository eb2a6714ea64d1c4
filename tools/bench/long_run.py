"""A million steps: how many a second, and how much memory, from the first of them to the last.

    .venv/bin/python tools/bench/long_run.py [--steps N]

umi-sim lives one run of `working` of so many calls of the memory, with everything that a run keeps (its
items, which the seed file needs). `bare core` makes as many calls of one memory and keeps nothing. The others
live lives of plain.py of 50 requests, a tenth as many steps: none of them lives one long life. Each in a
process of its own; memory is what the system says (RSS), given at begin and as growth for each 1,000 steps
in the first and in the last quarter. A cost for each step that rises shows as a last quarter that is slower.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Final
from unittest import mock

import msgspec
from msgspec import structs

from tools.bench.measure import Table, short
from tools.bench.others import TOOLS, Watch, tools, watched
from tools.bench.plain import CONFIG, STEPS, Life
from tools.bench.recall import resident_bytes
from umi_core.data import Owner
from umi_core.memory import Memory
from umi_core.messages.requests import Incr
from umi_core.values import Scope
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

STEP_COUNT: Final = 1_000_000
OTHERS_SHARE: Final = 10
OURS: Final = "umi-sim"
BARE: Final = "bare core"
QUARTERS: Final = 4
Mark = tuple[float, int]  # CPU seconds and resident bytes


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--steps", type=int, default=STEP_COUNT)
    parser.add_argument("--only", help="measure this one in this process, and print its marks")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(marks_of(options.only, options.steps)))
        return
    rows = [row(OURS, options.steps), row(BARE, options.steps)]
    rows += [row(tool, options.steps // OTHERS_SHARE) for tool in tools()]
    head = ["", "steps", "a second", "in the first quarter", "in the last", "MB at the begin",
            "MB at the end", "KB for 1,000 steps, first quarter", "last"]  # fmt: skip
    Table("A million steps", head, rows).show()


def row(name: str, steps: int) -> list[str]:
    command = (sys.executable, str(Path(__file__)), "--only", name, "--steps", str(steps))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    marks: list[Mark] = [(cpu_s, size) for cpu_s, size in json.loads(done.stdout)]
    part = steps // QUARTERS
    rates = (part / (marks[at + 1][0] - marks[at][0]) for at in (0, QUARTERS - 1))
    growths = (
        (marks[at + 1][1] - marks[at][1]) / part for at in (0, QUARTERS - 1)
    )  # bytes a step: KB for 1,000
    whole = steps / (marks[-1][0] - marks[0][0])
    sizes = (marks[at][1] / 10**6 for at in (0, -1))
    return [name, f"{steps:,}", *map(short, (whole, *rates, *sizes, *growths))]


class Meter(Owner):
    """Observes each step; keeps a mark at each quarter."""

    steps: int
    count: int = 0
    marks: list[Mark] = msgspec.field(default_factory=lambda: [(process_time(), resident_bytes())])

    def step(self) -> None:
        self.count += 1
        if self.count % (self.steps // QUARTERS) == 0:
            self.marks.append((process_time(), resident_bytes()))


def marks_of(name: str, steps: int) -> list[Mark]:
    acts: dict[str, Callable[[int], Meter]] = {OURS: ours, BARE: bare}
    meter = acts[name](steps) if name in acts else by_tool(name, steps)
    return meter.marks[: QUARTERS + 1]


class Enough(BaseException):
    """So many steps; it is not caught."""


def ours(steps: int) -> Meter:
    config = structs.replace(draw(find("working"), 1), operations_max=steps, steps_max=10**9, equivalences=())
    meter, step = Meter(steps), Memory.step

    def counted(self: Memory, now_ms: int, value: object) -> object:
        if meter.count == steps:
            raise Enough
        meter.step()
        return step(self, now_ms, value)  # type: ignore[arg-type]  # whatever the world sends

    with mock.patch.object(Memory, "step", counted), suppress(Enough):
        run_once(config)
    return meter


def bare(steps: int) -> Meter:
    memory, meter = Memory(Scope("ann", "a1"), CONFIG), Meter(steps)
    for number in range(steps):
        memory.step(number, Incr(number, "a"))
        meter.step()
    return meter


def by_tool(name: str, steps: int) -> Meter:
    meter, do = Meter(steps), Life.do

    def counted(self: Life, *args: object) -> None:
        meter.step()
        do(self, *args)  # type: ignore[arg-type]  # as they came

    with mock.patch.object(Life, "do", counted):
        watched(TOOLS[name][1], Watch(lives_max=2 * steps // STEPS))
    return meter


if __name__ == "__main__":
    main()

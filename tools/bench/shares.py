"""Where the CPU time of a run goes, part by part: what stands between a run and a bare loop of core calls.

    .venv/bin/python tools/bench/shares.py [SCENARIO ...] [--seconds S]

A timer interrupts whole runs, drawn from their seeds, all the time; each interruption counts for the
innermost part that is at work. A profiler that counts calls would make small calls seem dear.
"""

import argparse
import signal
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from time import process_time
from types import FrameType
from typing import Final

from msgspec import structs

from tools.bench.measure import Table
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

SCENARIOS: Final = ("working", "smoke", "storm", "core", "conversation")
SEEDS: Final = range(1, 13)
EVERY_S: Final = 0.001
REST: Final = "the world: events, clocks, network, faults"
PARTS: Final = {
    "the memory: steps": ("umi_core/memory.py", "step"),
    "the memory: digests, and copies made from bytes": ("umi_core/memory.py", "digest snapshot restore"),
    "services: model, embedder, storage": ("umi_sim/services/calls.py", "handle flush"),
    "the oracle": ("umi_sim/judge/oracle/judge.py", "observe_request observe_answer observe_reply"),
    "invariants of a step": ("umi_sim/judge/inspector.py", "stepping observe_step observe_answer"),
    "invariants over everything": ("umi_sim/judge/inspector.py", "check"),
    "the trace and its hash": ("umi_sim/record/trace.py", "add"),
    "drawing requests, pauses and faults": ("umi_sim/world/generator.py", "next_items fault"),
    "equivalences": ("umi_sim/judge/inspector.py", "end_incarnation"),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--seconds", type=int, default=20, help="of each scenario")
    options = parser.parse_args()
    table(options.scenarios, options.seconds).show()


def table(names: list[str], seconds: int) -> Table:
    shares = {name: shares_of(name, seconds) for name in names}
    rows = [[part, *(f"{shares[name][part]} %" for name in names)] for part in (*PARTS, REST)]
    head = ["part", *(f"`{name}`" for name in names)]
    return Table(
        "Where the time of a run goes", head, rows, "Without equivalences, which most runs do not draw."
    )


def shares_of(name: str, seconds: int) -> dict[str, int]:
    """Of each part, in per cent."""
    counts = sampled(name, seconds, part_of)
    return {part: round(100 * counts[part] / max(1, counts.total())) for part in (*PARTS, REST)}


def sampled(name: str, seconds: int, part_of: Callable[[FrameType | None], str]) -> Counter[str]:
    """How often each part was at work when the timer looked, over some CPU seconds of runs of a scenario."""
    counts: Counter[str] = Counter()
    configs = [structs.replace(draw(find(name), seed), equivalences=()) for seed in SEEDS]
    run_once(configs[0])  # imports, and tables that are made once
    signal.signal(signal.SIGPROF, lambda _, frame: counts.update([part_of(frame)]))
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    end = process_time() + seconds
    for config in cycle(configs):
        run_once(config)
        if process_time() > end:
            break
    signal.setitimer(signal.ITIMER_PROF, 0)
    return counts


def part_of(frame: FrameType | None) -> str:
    """The innermost part that this frame belongs to."""
    while frame is not None:
        code = frame.f_code
        for part, (file, names) in PARTS.items():
            if code.co_filename.endswith(file) and code.co_name in names.split():
                return part
        frame = frame.f_back
    return REST


if __name__ == "__main__":
    main()

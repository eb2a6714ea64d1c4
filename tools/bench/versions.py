"""What a run takes beside another checkout of this project, in one run, seed by seed.

    .venv/bin/python tools/bench/versions.py PATH [SCENARIO ...] [--seeds N] [--rounds N]

Each round runs the same seeds of a scenario in both checkouts, one after the other, in processes that go on
living; of each seed the least CPU time of all rounds counts, which a busy machine disturbs little. A scenario
that names no requests draws from all that there are, and a later version has more. So the last column runs
the configurations of this checkout with the requests and kinds of faults that the other one knows.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tools.bench.measure import Table

SCENARIOS: Final = ("working", "sessions", "handoff", "smoke", "core", "storm", "crash_storm", "link_storm")
WORKER: Final = """
import gc, json, sys, time
from msgspec import Struct, structs
sys.path.insert(0, sys.argv[1])
try:
    from umi_sim.runs.runner import run_once
    from umi_sim.scenario.files import draw, find
except ImportError:  # before the second house
    from umi_sim.runner import run_once
    from umi_sim.scenario import draw, find

def replace(config, **fields):
    if isinstance(config, Struct):
        return structs.replace(config, **fields)
    import attrs  # what configurations were before they were structs
    return attrs.evolve(config, **fields)

def config_of(name, seed, known):
    config = replace(draw(find(name), seed), equivalences=())
    if known is None:
        return config
    weights, faults = known
    kept = {each: weight for each, weight in config.weights.items() if each in weights}
    rates = {each: rate for each, rate in config.faults.items() if each in faults}
    return replace(config, weights=kept or config.weights, faults=rates)

drawn = {}
for line in sys.stdin:
    name, count, known = json.loads(line)
    if line not in drawn:
        drawn[line] = [config_of(name, seed, known and known[seed - 1]) for seed in range(1, count + 1)]
        run_once(drawn[line][0])
    seconds = []
    gc.collect()
    for config in drawn[line]:
        start = time.process_time()
        run_once(config)
        seconds.append(time.process_time() - start)
    known = [[list(config.weights), list(config.faults)] for config in drawn[line]]
    print(json.dumps([seconds, known]), flush=True)
"""


class Checkout:
    """A process that runs seeds in a checkout."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-P", "-c", WORKER, str(path)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=path, text=True)

    def run(self, name: str, count: int, known: Any = None) -> tuple[list[float], Any]:
        """The CPU seconds of each seed, and the requests and faults that each was drawn with."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, count, known]) + "\n")
        self.process.stdin.flush()
        seconds, drawn = json.loads(self.process.stdout.readline())
        return seconds, drawn


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the other checkout")
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    here = Checkout(Path.cwd())
    other = Checkout(options.path.resolve())
    rows = [row(name, other, here, options.seeds, options.rounds) for name in options.scenarios]
    head = ["scenario", "other, ms a run", "this, ms a run", "ratio", "with the other's requests and faults"]
    note = "CPU time, without equivalences; under 1: this one is faster."
    Table("What a run takes", head, rows, note).show()


def row(name: str, other: Checkout, here: Checkout, count: int, round_count: int) -> list[str]:
    then = now = alike = [float("inf")] * count
    for _ in range(round_count):
        seconds, known = other.run(name, count)
        then = [*map(min, then, seconds)]
        now = [*map(min, now, here.run(name, count)[0])]
        alike = [*map(min, alike, here.run(name, count, known)[0])]
    of_then, of_now, of_alike = (1000 * sum(seconds) / count for seconds in (then, now, alike))
    ratios = (f"{of_now / of_then:.2f}", f"{of_alike / of_then:.2f}")
    return [f"`{name}`", f"{of_then:.1f}", f"{of_now:.1f}", *ratios]


if __name__ == "__main__":
    main()

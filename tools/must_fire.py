"""Must fire: counts the runs of `all_faults` in which each declared kind of fault fires.

`python tools/must_fire.py [SEEDS]` runs seeds 0 to SEEDS - 1, 1000 by default, and prints a row per kind,
rarest first. Status 4 if a kind fires in fewer than 1 of 50 runs, or if a run breaks a promise.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

from umi_sim.faults.kinds import KINDS
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

SCENARIO: Final = "all_faults"
SEED_COUNT: Final = 1_000
SHARE_MIN: Final = 50  # at least one run in so many
HARNESS: Final = 4


def counted(seed_count: int) -> tuple[Counter[str], list[str]]:
    """Return the number of runs in which each kind fired, and the runs that broke a promise."""
    scenario, runs, broken = find(SCENARIO), Counter[str](), list[str]()
    for seed in range(seed_count):
        verdict, _ = run_once(draw(scenario, seed))
        runs.update(list(verdict.fired))
        if verdict.failure is not None:
            broken.append(f"umi-sim run {SCENARIO} --seed {seed}")
    return runs, broken


def silent(runs: Counter[str], seed_count: int) -> list[str]:
    return [kind for kind in KINDS if runs[kind] * SHARE_MIN < seed_count]


def rows(runs: Counter[str], seed_count: int) -> Iterator[str]:
    few = silent(runs, seed_count)
    for kind in sorted(KINDS, key=lambda kind: (runs[kind], kind)):
        yield f"{kind:22} {runs[kind]:6}  {'too rare' if kind in few else ''}".rstrip()


def main(args: list[str]) -> int:
    seed_count = int(args[0]) if args else SEED_COUNT
    runs, broken = counted(seed_count)
    few = silent(runs, seed_count)
    print(*rows(runs, seed_count), sep="\n")
    print(f"{len(KINDS)} kinds in {seed_count} runs: {len(few)} too rare; {len(broken)} runs broken")
    print(*broken, sep="\n")
    return HARNESS if few or broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What more processes make of a sweep: the same seeds with one job and with two, turn by turn.

    .venv/bin/python tools/bench/sweep.py [--seeds N] [--turns N] [SCENARIO ...]

`parent` is the CPU time of the process that hands out chunks and adds up, beside that of its children: it is
the part that more jobs do not share, and it does not depend on how busy the machine is. `1 job` and `2 jobs`
are wall time, the best of some turns; with less than two idle cores they say nothing. `bare loops` is what
the machine has to give: the work that two processes which share nothing do in the time that one alone needs.
No other tool is beside it: Hypothesis, hegeltest and detangle run a test in one process.
"""

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable
from time import monotonic
from typing import Final

from tools.bench.measure import Table
from umi_sim.sweep import conductor, executors, worker_process
from umi_sim.sweep.plan import SweepPlan, source_of

SCENARIOS = ("smoke", "storage_storm")
BARE_LOOP: Final = "n = 0\nfor i in range(40_000_000): n += i * i % 7"


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    plan = SweepPlan(tuple(map(source_of, options.scenarios)), range(options.seeds))
    sweeps = best(options.turns, lambda jobs: seconds(plan, jobs))
    own, theirs = (cpu_s(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    loops = best(options.turns, looped)
    rows = [
        ["`umi-sim sweep`, s", *(f"{sweeps[jobs]:.1f}" for jobs in (1, 2)), f"{sweeps[1] / sweeps[2]:.2f}"],
        ["bare loops, s for each", *(f"{loops[jobs] / jobs:.1f}" for jobs in (1, 2)),
         f"{2 * loops[1] / loops[2]:.2f}"],
    ]  # fmt: skip
    share = f"The process that hands out work took {own:.2f} s of CPU, its children {theirs:.2f} s: "
    title = f"A sweep of {options.seeds} seeds of {' and '.join(options.scenarios)}"
    head = ["", "1 process", "2 processes", "times as fast"]
    Table(title, head, rows, f"{share}{100 * own / (own + theirs):.1f} % of all.").show()


def best(turns: int, act: Callable[[int], float]) -> dict[int, float]:
    """The least seconds with one process and with two, turn by turn."""
    tries = [(act(1), act(2)) for _ in range(turns)]
    return {1: min(one for one, _ in tries), 2: min(two for _, two in tries)}


def seconds(plan: SweepPlan, jobs: int) -> float:
    started = monotonic()
    with worker_process.keep_children():
        executor = executors.executor_named(executors.LOCAL)
        conductor.Conductor(plan, executor, jobs, lambda chunk, is_old: None).conduct()
    return monotonic() - started


def looped(count: int) -> float:
    started = monotonic()
    loops = [subprocess.Popen((sys.executable, "-c", BARE_LOOP)) for _ in range(count)]
    assert [loop.wait() for loop in loops] == [0] * count
    return monotonic() - started


def cpu_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()

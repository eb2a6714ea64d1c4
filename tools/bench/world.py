"""What a simulated run costs beside the core alone: the same inputs, the same process, turn by turn.

    .venv/bin/python tools/bench/world.py [--profile] [SCENARIO ...]

`core` feeds the recorded inputs of every life to bare memories. `world` replays the record of the run with
services, queue, oracle, invariants, trace and hash; `replay` does so with one equivalence besides (E-REPLAY).
CPU seconds, the best of some turns, in each of which all have one go; `1/n` is core to world. --profile shows
where the time of the world goes, by function.
"""

import argparse
import cProfile
import pstats
from collections.abc import Callable
from time import process_time
from typing import Any
from unittest import mock

import attrs

from umi_sim.judge.equivalences.lives import Life, Recorder
from umi_sim.record.items import Item
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

SCENARIOS = ("working", "core", "handoff", "conversation", "storage_storm", "crash_storm", "smoke")
TURNS = 3
PROFILED_ROWS = 16
PARTS = {
    "core: steps of memories": ("umi_core/memory.py", "step"),
    "core: digests, and copies made from bytes": ("umi_core/memory.py", "digest restore"),
    "services: model, embedder, storage": ("umi_sim/services/calls.py", "handle flush"),
    "oracle": ("oracle/judge.py", "issued answered replied stepped"),
    "answers read as parsers read them": ("invariants/readings.py", "check_reading"),
    "invariants after each step": ("umi_core/invariants/__init__.py", "check_cheap"),
    "invariants between two states": ("umi_core/invariants/steps.py", "before_step check_step"),
    "invariants over everything": ("umi_sim/judge/inspector.py", "check"),
    "trace and hash": ("umi_sim/record/trace.py", "add"),
    "next event": ("umi_sim/world/world.py", "next_due ready"),
}


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--operations", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    print(f"{'scenario':<16}{'operations':>11}{'core':>9}{'world':>9}{'replay':>9}  CPU seconds")
    for name in options.scenarios:
        config = attrs.evolve(
            draw(find(name), options.seed), operations_max=options.operations, equivalences=()
        )
        verdict, _ = run_once(config)
        assert verdict.failure is None, verdict.failure
        print(row(name, verdict))
        if options.profile:
            profile(verdict)


def row(name: str, verdict: Verdict) -> str:
    """One scenario. The operations of heal and audit count too: they are in both."""
    config = verdict.config
    lives, count = lives_of(config, verdict.items), sum(verdict.operations.values())
    compared = attrs.evolve(config, equivalences=("E-REPLAY",))
    core, world, replay = best(
        lambda: feed(lives),
        lambda: run_once(config, verdict.items),
        lambda: run_once(compared, verdict.items),
    )
    times = round(world * 10 / core) / 10
    told = f"{name:<16}{count:>11}{core:>9.3f}{world:>9.3f}{replay:>9.3f}"
    return f"{told}  1/{times}, {round(count / world)} operations a second"


def best(*acts: Callable[[], object]) -> list[float]:
    turns = [[timed(act) for act in acts] for _ in range(TURNS)]
    return [min(seconds) for seconds in zip(*turns, strict=True)]


def timed(act: Callable[[], object]) -> float:
    start = process_time()
    act()
    return process_time() - start


def lives_of(config: RunConfig, items: tuple[Item, ...]) -> list[Life]:
    """Every life of the run, recorded as for an equivalence."""
    lives: list[Life] = []
    over = Recorder.over

    def kept(self: Recorder, agent: str) -> Life | None:
        life = over(self, agent)
        lives.extend([life] if life else [])
        return None  # nothing is compared

    with mock.patch.object(Recorder, "over", kept):
        run_once(attrs.evolve(config, equivalences=("E-REPLAY",)), items)
    return lives


def feed(lives: list[Life]) -> None:
    """Nothing but calls of the core."""
    for life in lives:
        memory = life.born()
        for step in life.steps:
            memory.step(step.now_ms, step.value)


def profile(verdict: Verdict) -> None:
    """The share of each part of a replay, with all that it calls; then functions by what they cost alone.

    A profiler makes many small calls seem to cost more than they do.
    """
    with cProfile.Profile() as found:
        run_once(verdict.config, verdict.items)
    stats = pstats.Stats(found)
    rows: Any = stats.stats  # type: ignore[attr-defined]  # function: calls, calls, own, all, callers
    total = sum(own for _, _, own, _, _ in rows.values())
    for part, (file, names) in PARTS.items():
        spent = sum(
            spent for (path, _, function), (_, _, _, spent, _) in rows.items()
            if path.endswith(file) and function in names.split()
        )  # fmt: skip
        print(f"  {round(100 * spent / total):>3} %  {part}")
    stats.sort_stats("tottime").print_stats(PROFILED_ROWS)


if __name__ == "__main__":
    main()

"""Operations per second of whole runs, beside a bare loop of the same core calls and a Hypothesis machine.

    .venv/bin/python tools/bench/throughput.py        (any Python that has the test extra will do)

All three are timed in one process, turn by turn, and the best of each is compared, so that a noisy machine
disturbs the ratios little. The bare loop is the very inputs that the memory got in the run, given to a fresh
memory.
"""

import argparse
import sys
from collections.abc import Callable
from time import process_time
from unittest import mock

import attrs
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from umi_core.config import Config
from umi_core.memory import Memory
from umi_core.messages.answers import Value
from umi_core.values import Scope
from umi_sim.record.items import Op
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.testing.hypothesis_machine import machine
from umi_sim.world import world

TURNS = 5
HYPOTHESIS_EXAMPLES = 30
HYPOTHESIS_STEPS = 50


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("scenarios", nargs="*", default=["working", "smoke"])
    parser.add_argument("--operations", type=int, default=2_000)
    options = parser.parse_args()
    head = f"{'scenario':<12}{'run':>10}{'replay':>10}{'bare loop':>12}{'hypothesis':>12}"
    print(f"{head}   operations per second")
    for name in options.scenarios:
        report(name, options.operations)


def report(name: str, operations: int) -> None:
    config = attrs.evolve(draw(find(name), 1), operations_max=operations, faults={}, equivalences=())
    verdict, _ = run_once(config)
    count = sum(verdict.operations.values())
    inputs = recorded(config)
    rates = best(
        count,
        lambda: run_once(config),
        lambda: run_once(config, verdict.items),
        lambda: feed(inputs),
    )
    hypothesis = hypothesis_rate(name)
    run, replay, bare = rates
    row = f"{name:<12}{run:>10}{replay:>10}{bare:>12}{hypothesis:>12}"
    times = run * 10 // hypothesis / 10
    print(f"{row}   run is 1/{bare // run} of the bare loop, {times} times Hypothesis")


def best(count: int, *acts: Callable[[], object]) -> list[int]:
    """Operations per second of each act, the best of some turns, in each of which all have one go."""
    turns = [[timed(act) for act in acts] for _ in range(TURNS)]
    return [round(count / min(seconds)) for seconds in zip(*turns, strict=True)]


def timed(act: Callable[[], object]) -> float:
    start = process_time()
    act()
    return process_time() - start


Inputs = list[tuple[Scope, dict[str, int | bool], list[tuple[int, Value]]]]


def recorded(config: RunConfig) -> Inputs:
    """Every input of every life, in order; without copies, which would begin lives that know nothing."""
    lives: Inputs = []
    calls: dict[Memory, list[tuple[int, Value]]] = {}
    original = Memory.step

    def step(self: Memory, now_ms: int, value: Value) -> object:
        if self not in calls:
            calls[self] = []
            lives.append((self.state.scope, dict(config.memory), calls[self]))
        calls[self].append((now_ms, value))
        return original(self, now_ms, value)

    never = mock.patch.object(world, "RESTORE_EVERY", sys.maxsize)
    with mock.patch.object(Memory, "step", step), never:
        run_once(config)
    return lives


def feed(lives: Inputs) -> None:
    """The bare loop: nothing but core calls."""
    for scope, options, calls in lives:
        memory = Memory(scope, Config.of(options))
        for now_ms, value in calls:
            memory.step(now_ms, value)


def hypothesis_rate(name: str) -> int:
    kind = machine(name)
    done = 0

    class Counted(kind):  # type: ignore[misc, valid-type]  # made at run time
        def teardown(self) -> None:
            nonlocal done
            super().teardown()
            done += sum(isinstance(item, Op) for item in self.source.record)  # not those of the audit

    quick = settings(
        max_examples=HYPOTHESIS_EXAMPLES, stateful_step_count=HYPOTHESIS_STEPS, deadline=None, database=None,
        phases=(Phase.generate,), suppress_health_check=list(HealthCheck), derandomize=True,
    )  # fmt: skip
    seconds = timed(lambda: run_state_machine_as_test(Counted, settings=quick))
    return round(done / seconds)


if __name__ == "__main__":
    main()

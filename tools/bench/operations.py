"""Operations a second of whole runs, beside bare calls of the core, Hypothesis, and other tools.

    .venv/bin/python tools/bench/operations.py [SCENARIO ...] [--operations N] [--turns N]

`run` draws a life from its seed and judges it; `replay` takes the recorded items instead of drawing; `bare
loop` feeds the recorded inputs of every life to bare memories, and nothing else. Faults are on, equivalences
off. `Hypothesis, same world` is umi_sim.testing.hypothesis_machine on the same scenario: the same requests,
world, oracle and invariants, with one agent and one request at a time. All operations count that a memory
was asked for, those of the audit at the end too, except with Hypothesis, which counts what its rules asked.

The second table is the small task of plain.py: the same requests held to a dict, chosen by each tool.
CPU seconds, the least of some turns, in each of which all have one go.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Final
from unittest import mock

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec import structs

from tools.bench.measure import LACKS, Table, least, short
from tools.bench.others import TOOLS, Watch, tools
from tools.bench.plain import CONFIG, RULES, WORKING_RULES
from umi_core.memory import Memory
from umi_core.messages.requests import Get
from umi_core.values import Scope
from umi_sim.judge.equivalences.lives import LifeRecorder, RecordedLife
from umi_sim.record.items import Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.testing.hypothesis_machine import machine

SCENARIOS: Final = ("working", "smoke", "storm", "core", "conversation")
OPERATIONS: Final = {"working": 10_000}
OPERATIONS_MANY: Final = 400
EXAMPLES: Final = 30
STEPS: Final = 50


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--operations", type=int, help="of a run; 10,000 of working, 400 of others")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    runs = {name: life_of(name, options.operations, options.seed) for name in options.scenarios}
    whole_runs(runs, options.turns).show()
    plain_rates(options.turns).show()


def life_of(name: str, operations: int | None, seed: int) -> Verdict:
    count = operations or OPERATIONS.get(name, OPERATIONS_MANY)
    config = structs.replace(draw(find(name), seed), operations_max=count, steps_max=10**9, equivalences=())
    verdict, _ = run_once(config)
    assert verdict.failure is None, verdict.failure
    return verdict


def whole_runs(runs: dict[str, Verdict], turns: int) -> Table:
    head = ["scenario", "operations", "run", "replay", "bare loop", "Hypothesis, same world",
            "run / Hypothesis", "bare / run", "bare / replay"]  # fmt: skip
    rows = [row(name, verdict, turns) for name, verdict in runs.items()]
    return Table("Operations a second of whole runs", head, rows)


def row(name: str, verdict: Verdict, turns: int) -> list[str]:
    config, count = verdict.config, sum(verdict.operations.values())
    lives, by_rules = lives_of(config, verdict.items), ByRules(name)
    seconds = least(
        turns,
        lambda: run_once(config),
        lambda: run_once(config, verdict.items),
        lambda: feed(lives),
        by_rules,
    )
    run, replay, bare = (count / it for it in seconds[:3])
    hypothesis = by_rules.op_count / turns / seconds[3]
    ratios = run / hypothesis, bare / run, bare / replay
    return [f"`{name}`", *map(short, (count, run, replay, bare, hypothesis, *ratios))]


def lives_of(config: RunConfig, items: tuple[Item, ...]) -> list[RecordedLife]:
    """Every life of the run, recorded as for an equivalence."""
    lives: list[RecordedLife] = []
    end = LifeRecorder.end

    def kept(self: LifeRecorder, agent: str) -> RecordedLife | None:
        life = end(self, agent)
        lives.extend([life] if life else [])
        return None  # nothing is compared

    with mock.patch.object(LifeRecorder, "end", kept):
        run_once(structs.replace(config, equivalences=("E-REPLAY",)), items)
    return lives


def feed(lives: list[RecordedLife]) -> None:
    """The bare loop: nothing but calls of the core."""
    for life in lives:
        memory = life.create_memory()
        for step in life.steps:
            memory.step(step.now_ms, step.value)


class ByRules:
    """Some examples of the Hypothesis machine; `op_count` is that of all calls."""

    def __init__(self, name: str) -> None:
        self.op_count = 0
        counted = self

        class Counted(machine(name)):  # type: ignore[misc]  # made at run time
            def teardown(self) -> None:
                super().teardown()
                counted.op_count += sum(isinstance(item, Op) for item in self.source.record)

        self.machine = Counted

    def __call__(self) -> None:
        quick = settings(
            max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, derandomize=True,
            phases=(Phase.generate,), suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        run_state_machine_as_test(self.machine, settings=quick)


# The small task.


def plain_rates(turns: int) -> Table:
    """Of the working tier alone, and with sessions."""
    rows = []
    for title, names in (("working tier", WORKING_RULES), ("and sessions", tuple(RULES))):
        rates = dict(plain_row(names, turns))
        ratios = [short(rates[it] / rates["Hypothesis"]) if it in rates else LACKS for it in ("loop", *LATER)]
        rows.append([title, *(short(rates[it]) if it in rates else LACKS for it in SHOWN), *ratios])
    head = ["requests of plain.py", *SHOWN, *(f"{it} / Hypothesis" for it in ("loop", *LATER))]
    return Table("Operations a second of the small task, each tool choosing", head, rows)


LATER: Final = ("hegeltest", "detangle")
SHOWN: Final = ("bare core", *TOOLS)
LIVES: Final = 100


def plain_row(names: tuple[str, ...], turns: int) -> Iterator[tuple[str, float]]:
    here = tools()
    watches = {tool: Watch(names=names, lives_max=LIVES) for tool in here}
    seconds = least(turns, *(again(act, watches[tool]) for tool, act in here.items()), bare)
    yield "bare core", BARE / seconds[-1]
    for (tool, watch), spent in zip(watches.items(), seconds, strict=False):
        yield tool, watch.op_count / turns / spent


def again(act: Callable[[Watch], None], watch: Watch) -> Callable[[], None]:
    def once() -> None:
        watch.life_count = 0
        act(watch)

    return once


BARE: Final = 20_000


def bare() -> None:
    """The cheapest request there is, over and over."""
    memory, request = Memory(Scope("ann", "a1"), CONFIG), Get(1, "a")
    for now_ms in range(BARE):
        memory.step(now_ms, request)


if __name__ == "__main__":
    main()

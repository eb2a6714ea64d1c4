"""Tools that can live the lives of plain.py: each draws from `rules`, runs many lives, and shrinks its way.

A tool is a function of a `Watch`, which counts lives and requests and notes the CPU second of each failure.
hegeltest and detangle are optional (the extra `bench`); `tools()` names those that are here.

  loop         a `for` loop over random.Random: the least that looks for anything; it does not shrink
  Hypothesis   a RuleBasedStateMachine
  hegeltest    a hegel.Machine: the same idea over an engine in Rust
  detangle     made to explore the order of asyncio tasks; here one task whose values are detangle.choice

simloom, simloop and seedloop are not compared: they need Python 3.12, and the figures are of Python 3.11.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from random import Random
from time import process_time
from typing import Any, Final

import msgspec

from tools.bench.plain import RULES, STEPS, WAITS, born
from umi_core.data import Owner
from umi_core.engine.registry import Registry
from umi_core.workflows import BUILT_IN

SEED: Final = 1


class Watch(Owner):
    """What a tool did: lives, requests, and for each failing life its CPU second and its length."""

    registry: Registry = BUILT_IN  # the tables of a memory, perhaps with a bug in them
    names: tuple[str, ...] = tuple(RULES)
    rules: Mapping[str, tuple[Any, Mapping[str, Sequence[Any]]]] = msgspec.field(
        default_factory=lambda: RULES
    )
    uncompared = ("rules",)
    lives_max: int = 2_000
    life_count: int = 0
    op_count: int = 0
    failures: list[tuple[float, int]] = []
    start: float = msgspec.field(default_factory=process_time)

    def begin(self) -> Any:
        self.life_count += 1
        return born(self.registry)

    def do(self, life: Any, name: str, wait_ms: int, args: Mapping[str, object]) -> None:
        self.op_count += 1
        try:
            life.do(name, wait_ms, args)
        except AssertionError:  # what the memory asserts of itself counts as well
            self.failed(life.op_count)
            raise

    def failed(self, op_count: int) -> None:
        self.failures.append((process_time() - self.start, op_count))


def by_loop(watch: Watch) -> None:
    chance = Random(SEED)
    while watch.life_count < watch.lives_max:
        life = watch.begin()
        for _ in range(STEPS):
            name = chance.choice(watch.names)
            args = {field: chance.choice(values) for field, values in watch.rules[name][1].items()}
            watch.do(life, name, chance.choice(WAITS), args)


def by_hypothesis(watch: Watch) -> None:
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

    def as_rule(name: str) -> Any:
        def request(self: Any, wait_ms: int, **args: object) -> None:
            watch.do(self.life, name, wait_ms, args)

        request.__name__ = name
        fields: dict[str, Any] = {it: st.sampled_from(values) for it, values in watch.rules[name][1].items()}
        made: Any = rule(**fields, wait_ms=st.sampled_from(WAITS))
        return made(request)

    def init(self: Any) -> None:
        RuleBasedStateMachine.__init__(self)
        self.life = watch.begin()

    members = {"__init__": init, **{name: as_rule(name) for name in watch.names}}
    machine: Any = type("PlainMachine", (RuleBasedStateMachine,), members)
    quick = settings(
        max_examples=watch.lives_max, stateful_step_count=STEPS, deadline=None, database=None,
        derandomize=True, phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False, print_blob=False,
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=quick)


def by_hegel(watch: Watch) -> None:
    import hegel
    from hegel import generators as gs

    waits = gs.sampled_from(WAITS)
    fields = {
        name: {it: gs.sampled_from(values) for it, values in given.items()}
        for name, (_, given) in watch.rules.items()
    }

    def test(tc: Any) -> None:
        life, machine = watch.begin(), hegel.Machine(tc)

        def request(name: str) -> Callable[[Any], None]:
            drawn = fields[name].items()
            return lambda tc: watch.do(life, name, tc.draw(waits), {it: tc.draw(of) for it, of in drawn})

        for name in watch.names:
            machine.rule(name, request(name))
        machine.steps(STEPS).run()

    hegel.run(
        test, test_cases=watch.lives_max, seed=SEED, database=hegel.Settings().database,
        phases={hegel.Phase.generate, hegel.Phase.shrink}, verbosity="quiet",
        suppress_health_check=hegel.HealthCheck.all(), report_multiple_failures=False,
    )  # fmt: skip


def by_detangle(watch: Watch) -> None:
    import detangle

    async def test() -> None:
        life = watch.begin()
        for _ in range(STEPS):
            name = detangle.choice(watch.names)
            args = {field: detangle.choice(values) for field, values in watch.rules[name][1].items()}
            watch.do(life, name, detangle.choice(WAITS), args)

    detangle.explore(test, runs=watch.lives_max, seed=SEED, database=False)


TOOLS: Final[Mapping[str, tuple[str, Callable[[Watch], None]]]] = {
    "loop": ("random", by_loop),
    "Hypothesis": ("hypothesis", by_hypothesis),
    "hegeltest": ("hegel", by_hegel),
    "detangle": ("detangle", by_detangle),
}


def tools() -> dict[str, Callable[[Watch], None]]:
    """Those whose package is here."""
    return {name: act for name, (module, act) in TOOLS.items() if find_spec(module)}


def watched(act: Callable[[Watch], None], watch: Watch) -> Watch:
    """Until it ends or has shrunk what failed."""
    watch.start = process_time()
    try:
        act(watch)
    except Exception:
        if not watch.failures:
            raise
    return watch

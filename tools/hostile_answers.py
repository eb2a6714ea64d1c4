"""Runs worlds whose services give arbitrary answers: no step may raise, and no operation may be forgotten.

`python tools/hostile_answers.py [STEPS] [SEED]`: by default 1 000 000 steps; a test takes some thousands.
About every fourth answer is preceded by one with a wrong part at any depth: another type, a huge number, half
of a character, an answer of another class. After each step the state must keep its invariants, and each
operation in flight must have a deadline. Then all incarnations are run again without assertions.
"""

import copy
import pickle
import subprocess
import sys
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from umi_core.config import Config
from umi_core.data import is_struct
from umi_core.engine.registry import Registry
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Embedded, ModelReplied, ReadDone, Value
from umi_core.messages.effects import Effect
from umi_core.state import Queued
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.inspector import Inspector
from umi_sim.judge.state import check_memory
from umi_sim.kernel.prng import Stream
from umi_sim.machines.protocol import InitialStorage
from umi_sim.machines.umi import UmiMachine, UmiTarget
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import begin_run
from umi_sim.scenario.files import draw, find
from umi_sim.world.world import OutOfSteps

SCENARIOS: Final = ("storm", "core", "all_faults", "languages", "sessions")
STEPS_OF_A_WORLD: Final = 3_000
WORLDS_AT_ONCE: Final = 50  # in each process without assertions, as its start takes longer than a world
WRONG: Final[tuple[Any, ...]] = (
    None, True, -1, 0, 1, 2**31, 2**70, 1.5, float("nan"), "", "x", "x" * 20_000, "\ud800", "a\x00", b"\xff",
    (), [], [[]], {}, {"a": 1}, object(), Scope("u", "a"), ModelReplied(1, "{}"), Embedded(1, ((0,),)),
    ReadDone(1), (None,), ((1, 2),), "conflict", "unknown", "damaged",
)  # fmt: skip


def spoilt(value: Any, stream: Stream) -> Any:
    """Return the value with one wrong part, at any depth."""
    names = list(type(value).__struct_fields__) if is_struct(type(value)) else []
    if names and stream.chance(9, 10):
        return with_part(value, stream.pick(names), stream)
    if isinstance(value, tuple) and value and stream.chance(9, 10):
        at = stream.below(len(value))
        return (
            *value[:at],
            *stream.pick(((), (spoilt(value[at], stream),), (value[at],) * 2)),
            *value[at + 1 :],
        )
    return stream.pick(WRONG)


def with_part(value: Any, name: str, stream: Stream) -> Any:
    made = copy.copy(value)
    structs.force_setattr(
        made, name, spoilt(getattr(value, name), stream)
    )  # bypasses the checks of the constructor
    return made


SAVED_EVERY: Final = 8
Life = tuple[Scope, Config, list[tuple[int, Any]], bytes]


class HostileMachine(UmiMachine):
    """A memory that gets wrong answers in addition to those of the world."""

    def __init__(self, *args: Any, stream: Stream, **others: Any) -> None:
        super().__init__(*args, **others)
        self.stream = stream
        self.began = self.state.scope, self.state.config
        self.steps: list[tuple[int, Any]] = []

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        effects: tuple[Effect, ...] = ()
        if isinstance(value, Answer) and self.stream.chance(1, 4):
            effects = self.taken(now_ms, self.distort(value))
        return effects + self.taken(now_ms, value)  # late, unless the other one was not delivered

    def taken(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        self.steps.append((now_ms, value))
        effects = super().step(now_ms, value)
        must_wait(self)
        if len(self.steps) % SAVED_EVERY == 0:  # a state with wrong answers must still be restored
            Memory.restore(self.snapshot(), self.registry, life=self.life)
        return effects

    @property
    def record(self) -> Life:
        return *self.began, self.steps, self.digest()

    def distort(self, answer: Answer) -> Answer:
        other = spoilt(answer, self.stream)
        return other if isinstance(other, Answer) else answer

    def make_copy(self) -> None:
        """Return no copy, because it would not be hostile."""


def must_wait(memory: UmiMachine) -> None:
    try:
        check_memory(memory.state)
    except Broken as broken:
        if broken.rule != rules.CORE_LIMITS.name:  # wrong rows of core may exceed its limits
            raise
    memory.deadline_ms()
    for operation in memory.state.operations.values():
        assert isinstance(operation.progress, Queued) or operation.due_ms is not None, operation


class HostileTarget(UmiTarget):
    def __init__(self, config: RunConfig, registry: Registry, stream: Stream) -> None:
        super().__init__(config, registry)
        self.stream = stream
        self.machines: list[HostileMachine] = []

    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> HostileMachine:
        machine = HostileMachine(scope, self.config_of(agent, ()), self.registry, stream=self.stream)
        self.machines.append(machine)
        return machine


class Silent(Inspector):
    """An inspector that judges nothing, because the right replies to wrong answers are unknown."""

    def observe_answer(self, *_: object) -> None: ...
    def check_outcome(self, *_: object) -> None: ...
    def observe_reply(self, agent: str, op_id: str, *_: object) -> None:
        if agent in self.oracle.agents:  # otherwise the incarnation was taken over
            self.oracle.agents[agent].requests.pop(op_id)

    def observe_crash(self, agent: str) -> None: ...
    def observe_wipe(self) -> None: ...
    def end_incarnation(self, agent: str) -> None: ...
    def stepping(self, *_: object) -> None: ...
    def observe_step(self, *_: object) -> None: ...


def run_world(scenario: str, seed: int, steps_max: int) -> list[Life]:
    """Run a world, and return its incarnations. Raises any exception of a step."""
    config = structs.replace(draw(find(scenario), seed), equivalences=(), revise_every=0)
    target = HostileTarget(config, BUILT_IN, Stream(seed, "hostile", scenario))
    with begin_run(config, inspector=Silent(config), target_of=lambda *_: target) as live:
        live.world.step_max = steps_max
        try:
            live.world.begin()
            live.world.run_until_quiet(steps_max)
        except OutOfSteps:
            pass  # with endless wrong answers some operations retry forever
    return [machine.record for machine in target.machines]


def relive(lives: Sequence[Life]) -> None:
    """Run incarnations again in a process without assertions. Raises CalledProcessError if any differs."""
    command = (sys.executable, "-O", str(Path(__file__).with_name("without_asserts.py")))
    subprocess.run(command, input=pickle.dumps(lives), check=True, stdout=subprocess.DEVNULL)


def main(argv: Sequence[str]) -> int:
    wanted, seed = (int(argv[at]) if at < len(argv) else default for at, default in ((0, 1_000_000), (1, 0)))
    done, lives = 0, list[Life]()
    for number, scenario in enumerate(cycle(SCENARIOS)):
        new = run_world(scenario, seed + number, STEPS_OF_A_WORLD)
        done, lives = done + sum(len(steps) for _, _, steps, _ in new), lives + new
        if done >= wanted or number % WORLDS_AT_ONCE == 0:
            relive(lives)
            lives.clear()
        if done >= wanted:
            break
    print(f"{done} steps, none raised, and the same without assertions; nothing in flight waits for ever")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

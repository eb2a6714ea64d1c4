"""Finds wrong replies that the judge does not detect: in each run one field of one reply is changed.

    .venv/bin/python tools/spoiled_replies.py [SCENARIO ...] [--runs N] [--first SEED]

By default 50 runs of each of SCENARIOS, some minutes. It prints the number of runs that failed, and for the
others the reply, the field and its new value. Not every field can be judged: without another source, any
value may be right. A run that raises is a mistake of the judge, which must accept any reply of a memory. The
field `allowed` of errors is never changed, because its words are for people.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import structs

from umi_core.data import Owner, is_struct
from umi_core.messages.effects import Effect, Reply
from umi_core.workflows import BUILT_IN
from umi_sim.kernel.prng import Stream
from umi_sim.machines.protocol import InitialStorage
from umi_sim.machines.umi import UmiMachine, UmiTarget
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

SCENARIOS: Final = (
    "smoke", "core", "kelpie", "descent", "memorize", "blocks", "conversation", "reflections", "tenants",
    "records_of_facts", "categories", "handoff", "retries", "rendering", "babble", "contradictions", "moves",
    "sessions", "reorganise", "crowd",
)  # fmt: skip
FIRST_SEED: Final = 73_000
REPLY_MAX: Final = 25  # one of so many first replies of a run is changed
TRIES: Final = 6
SHOWN: Final = 60  # characters of a value in the output
SPARED: Final = "allowed"
PASSED: Final = "PASSED"
RAISED: Final = "RAISED"
Path = tuple[str | int, ...]


class Spoiler(Owner):
    """Changes one reply. `left`: the number of replies before it; `done`: the change, once it was made."""

    stream: Stream
    left: int
    done: str = ""

    def spoilt(self, effect: Effect) -> Effect:
        if not isinstance(effect, Reply) or self.done:
            return effect
        self.left -= 1
        if self.left >= 0:
            return effect
        for path in self.stream.shuffle(paths(effect.outcome, ("outcome",)))[:TRIES]:
            old = part(effect, path)
            other = self.stream.pick(others(old))
            if type(other) is not type(old) or other != old:
                name = ".".join("#" if isinstance(step, int) else step for step in path)
                self.done = f"{name}: {repr(old)[:SHOWN]} -> {repr(other)[:SHOWN]}"
                made: Effect = changed(effect, path, other)
                return made
        return effect


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths to each field and each member, at any depth."""
    steps: list[str | int] = list(range(len(value))) if type(value) is tuple else []
    if is_struct(type(value)):
        steps = [name for name in value.__struct_fields__ if name != SPARED]
    for step in steps:
        yield (*path, step)
        yield from paths(part(value, (step,)), (*path, step))


def part(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


def changed(value: Any, path: Path, other: object) -> Any:
    if not path:
        return other
    step, inner = path[0], changed(part(value, path[:1]), path[1:], other)
    if isinstance(step, int):
        return (*value[:step], inner, *value[step + 1 :])
    return structs.replace(value, **{step: inner})


def others(value: object) -> tuple[object, ...]:
    match value:
        case bool():
            return not value, None
        case int():
            return 0, -1, value - 1, value + 1, 2**62, 2**70, "1"
        case str():
            return "", value[:-1], f"{value}x", "\x00", "\ud800", "ent_000000000000000000000000", 1
        case bytes():
            return b"", value + b"x", None
        case tuple():
            return (), value[1:], value + value, value[::-1], None
        case None:
            return 0, "", "x", (), False
    return (None,)


class SpoilingMachine(UmiMachine):
    spoiler: Spoiler

    def step(self, now_ms: int, value: Any) -> tuple[Effect, ...]:
        return tuple(map(self.spoiler.spoilt, super().step(now_ms, value)))

    def make_copy(self) -> None:
        """Return no copy, because it would reply differently."""


class SpoilingTarget(UmiTarget):
    def __init__(self, config: RunConfig, spoiler: Spoiler) -> None:
        super().__init__(config, BUILT_IN)
        self.spoiler = spoiler

    def begin(self, agent: str, scope: Any, stored: InitialStorage) -> SpoilingMachine:
        machine = SpoilingMachine(scope, self.config_of(agent, ()), self.registry)
        machine.spoiler = self.spoiler
        return machine


def run_seed(scenario: str, seed: int) -> tuple[str, str]:
    """Return the rule that detected the change, or the result instead, and the change."""
    overrides = {"run.equivalences": "[]"}
    config = structs.replace(draw(find(scenario), seed, overrides), revise_every=0)
    stream = Stream(seed, "spoiled", scenario)
    spoiler = Spoiler(stream, stream.below(REPLY_MAX))
    try:
        failure = run_once(config, target_of=lambda *_: SpoilingTarget(config, spoiler))[0].failure
    except Exception as error:  # any other exception is one of the judge
        return RAISED, f"{spoiler.done}: {type(error).__name__}: {error}"
    return failure.rule if failure else PASSED, spoiler.done


def tell(document: str | None, run: Callable[[str, int], tuple[str, str]], first: int, runs: int) -> None:
    """Run so many seeds of each named scenario; print undetected changes, and counts of failures by rule."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=document, formatter_class=layout)
    parser.add_argument("names", nargs="*", metavar="SCENARIO")
    parser.add_argument("--runs", type=int, default=runs, help="of each scenario")
    parser.add_argument("--first", type=int, default=first, metavar="SEED")
    options = parser.parse_args()
    rules: Counter[str] = Counter()
    for name in options.names or SCENARIOS:
        for seed in range(options.first, options.first + options.runs):
            rule, done = run(name, seed)
            if done:
                rules[rule] += 1
            if done and rule in (PASSED, RAISED):
                print(f"{rule} {name} {seed}: {done}", flush=True)
    total = sum(rules.values())
    print(*(f"{count:>5} of {total} {rule}" for rule, count in rules.most_common()), sep="\n")


if __name__ == "__main__":
    tell(__doc__, run_seed, FIRST_SEED, runs=50)

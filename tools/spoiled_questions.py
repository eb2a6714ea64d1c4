"""Finds wrong questions of a memory that the judge does not detect: in each run one step asks wrongly.

    .venv/bin/python tools/spoiled_questions.py [SCENARIO ...] [--runs N] [--first SEED]

By default 30 runs of each of SCENARIOS, some minutes. Every question of one step has one field changed,
always in the same way, as if the code of a memory had a mistake: a limit, a kind, a row of a commit, a word
of a prompt. The tool prints the number of runs that failed, and the changes of the others. Not every change
matters: the order of the rows in a read, for example, does not.
"""

from collections.abc import Callable
from typing import Any, Final

from msgspec import structs

from tools.spoiled_replies import PASSED, RAISED, SHOWN, Path, changed, others, part, paths, tell
from umi_core.data import Owner
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Step
from umi_core.workflows import BUILT_IN
from umi_sim.kernel.prng import Stream
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

FIRST_SEED: Final = 83_000
ASSIGNED: Final = ("request_id", "timeout_ms", "key", "profile", "store")  # the engine sets these later
Row = tuple[str, str]  # workflow and step
Ask = Callable[[Any, Any], Any]


def with_asks(registry: Registry, other: Callable[[Row, Ask], Ask]) -> Registry:
    """Return the registry with other questions in the latest revision of each workflow."""
    revisions = {
        name: (
            *known[:-1],
            structs.replace(known[-1], steps=tuple(with_ask(name, it, other) for it in known[-1].steps)),
        )
        for name, known in registry.revisions.items()
    }
    return structs.replace(registry, revisions=revisions)


def with_ask(workflow: str, step: Step, other: Callable[[Row, Ask], Ask]) -> Step:
    return step if step.ask is None else structs.replace(step, ask=other((workflow, step.id), step.ask))


def rows_of(config: RunConfig) -> tuple[Row, ...]:
    """Return the steps that ask something in this run."""
    met: dict[Row, None] = {}

    def noted(row: Row, ask: Ask) -> Ask:
        def noting(facts: Any, view: Any) -> Any:
            asked = ask(facts, view)
            if asked is not None:
                met.setdefault(row)
            return asked

        return noting

    run_once(config, target_of=lambda *_: UmiTarget(config, with_asks(BUILT_IN, noted)))
    return tuple(met)


class Spoiler(Owner):
    """Changes the questions of the step `row`, always in the same way. `done`: the first change, as text."""

    row: Row
    which: int
    how: int
    done: str = ""

    def spoilt(self, row: Row, ask: Ask) -> Ask:
        if row != self.row:
            return ask
        return lambda facts, view: self.spoil(ask(facts, view))

    def spoil(self, asked: Any) -> Any:
        found = [path for path in paths(asked) if path[0] not in ASSIGNED]
        if asked is None or not found:
            return asked
        path = found[self.which % len(found)]
        old = part(asked, path)
        choices = [it for it in others(old) if type(it) is type(old) and it != old]
        if not choices:
            return asked
        new = choices[self.how % len(choices)]
        self.done = self.done or describe_change(self.row, path, old, new)
        return changed(asked, path, new)


def describe_change(row: Row, path: Path, old: object, new: object) -> str:
    name = ".".join("#" if isinstance(step, int) else step for step in path)
    return f"{'.'.join(row)} {name}: {repr(old)[:SHOWN]} -> {repr(new)[:SHOWN]}"


def run_seed(scenario: str, seed: int) -> tuple[str, str]:
    """Return the rule that detected the change, or the result instead, and the change."""
    overrides = {"run.equivalences": "[]"}
    config = structs.replace(draw(find(scenario), seed, overrides), revise_every=0)
    stream = Stream(seed, "asked", scenario)
    spoiler = Spoiler(stream.pick(rows_of(config)), stream.below(1_000), stream.below(1_000))
    registry = with_asks(BUILT_IN, spoiler.spoilt)
    try:
        failure = run_once(config, target_of=lambda *_: UmiTarget(config, registry))[0].failure
    except Exception as error:  # any other exception is one of the judge
        return RAISED, f"{spoiler.done}: {type(error).__name__}: {error}"
    return failure.rule if failure else PASSED, spoiler.done


if __name__ == "__main__":
    tell(__doc__, run_seed, FIRST_SEED, runs=30)

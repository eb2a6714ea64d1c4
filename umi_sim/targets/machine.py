"""Runs of a store drawn by Hypothesis, as a state machine: `TestMine = Mine.machine().TestCase`.

Law 1. What is drawn follows from the adapter alone, so a run is drawn first and lived at its end, by itself:
       it is a run like that of a hunt, with the same judge and the same seed file.
Law 2. The first failure of each kind is shrunk by umi_sim, item by item, and Hypothesis does not shrink it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from umi_sim.kernel.prng import Stream
from umi_sim.targets import seed_files
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.as_test import warn_of_races
from umi_sim.targets.drawing import Moments, draw_next, draw_plan
from umi_sim.targets.hunt import moments_of, recurs
from umi_sim.targets.items import Item
from umi_sim.targets.life import NO_JOBS, JobCounts, TargetVerdict, run
from umi_sim.targets.promises import RULES
from umi_sim.targets.shrinking import fingerprint_of, shrink
from umi_sim.targets.telling import lines_of, not_recurring

STEP_COUNT: Final = 30
WORDS: Final = st.integers(0, 2**32 - 1)  # what one rule draws; its items are drawn by a stream of that seed
SETTINGS: Final = settings(
    stateful_step_count=STEP_COUNT, deadline=None, suppress_health_check=list(HealthCheck),
    phases=[each for each in Phase if each not in (Phase.shrink, Phase.explain)],
)  # fmt: skip


class BrokenPromise(AssertionError):
    """A promise was broken: the message says which, what came instead, and what happened."""


ERRORS: Final[Mapping[str, type[BrokenPromise]]] = {
    name: type(f"BrokenPromise of {name}", (BrokenPromise,), {}) for name in RULES
}


def machine_of(adapter: type[Adapter], folder: Path) -> type[RuleBasedStateMachine]:
    """The machine of an adapter; the smallest failure of each kind is kept in the folder."""
    moments: list[Moments] = []
    smallest: dict[str, TargetVerdict] = {}
    counts: list[JobCounts] = []  # of runs that passed
    name = f"{adapter.__module__}:{adapter.__name__}"

    class StoreMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.items: list[Item] = []
            moments[:] = moments or [moments_of(adapter)]

        @initialize(word=WORDS)
        def begin(self, word: int) -> None:
            self.seed = word
            chance = Stream(word, "target", adapter.contract.name)
            self.plan = draw_plan(adapter, chance, Stream(word), moments[0])

        @rule(word=WORDS)
        def happen(self, word: int) -> None:
            self.items += draw_next(self.plan, Stream(word), len(self.items))

        def teardown(self) -> None:
            verdict = run(adapter, self.items, self.seed)
            if verdict.broken is None:
                counts.append(verdict.jobs)
                return
            kind = fingerprint_of(verdict.broken)
            if kind not in smallest and not recurs(adapter, verdict, run):
                raise ERRORS[verdict.broken.rule](f"{verdict.broken.message}; {not_recurring(verdict)}")
            if kind not in smallest:
                smallest[kind] = shrink(adapter, verdict)
            seed = smallest[kind].seed
            file = seed_files.write(adapter, name, seed, smallest[kind], folder).as_posix()
            raise ERRORS[verdict.broken.rule](describe_failure(adapter, smallest[kind], name, file))

    def warn(_: type) -> None:
        warn_of_races(sum(counts, NO_JOBS), name)

    StoreMachine.TestCase.settings = SETTINGS
    setattr(StoreMachine.TestCase, "tearDownClass", classmethod(warn))  # noqa: B010 # as mypy wants
    return StoreMachine


def describe_failure(adapter: type[Adapter], verdict: TargetVerdict, name: str, file: str) -> str:
    assert verdict.broken is not None
    promised = RULES[verdict.broken.rule]
    lines = [f"  {each}" for each in lines_of(adapter, verdict)]
    again = f"umi-sim target {name} --replay {file}"
    return "\n".join([f"{verdict.broken.message}; promised: {promised}", *lines, again])

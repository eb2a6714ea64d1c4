"""Goal: a bug that shows in a reply or an effect is shown by the plain test that its run becomes."""

from typing import Final

import attrs
import pytest

from umi_core.memory import Memory
from umi_core.workflows import BUILT_IN
from umi_sim import seed_file
from umi_sim.export import source_of
from umi_sim.mutants import planted
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runner import run_once
from umi_sim.scenario import draw, find
from umi_sim.seed_file import SeedFile

# Some of each area, those that are found soonest. No plain test shows what only an invariant sees (a score
# that is out of range and promotes nothing yet), nor what needs tables that change in mid-run.
SAMPLE: Final = (
    "overwrite-leaks-space", "promotion-replaces-neighbour", "core-moves-before-commit",
    "core-count-limit-ignored", "success-before-commit", "random-ids", "scope-left-out-of-ids",
    "asks-without-need", "second-fact-overwrites", "rate-limit-wait-ignored",
)  # fmt: skip


def failing(name: str) -> SeedFile:
    """The first run that fails with this bug."""
    scenario = find(MUTANTS[name].scenario)
    for seed in range(MUTANTS[name].seeds_max):
        verdict, _ = run_once(attrs.evolve(draw(scenario, seed), planted=name))
        if verdict.failure is not None:
            return seed_file.of_verdict(verdict)
    raise AssertionError(f"{name} is not found")


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_the_plain_test_fails_with_the_bug_and_passes_without(name: str) -> None:
    space: dict[str, object] = {}
    exec(compile(source_of(failing(name)).text, f"<{name}>", "exec"), space)
    tests = [test for what, test in space.items() if what.startswith("test_")]
    assert len(tests) == 1
    for test in tests:
        assert callable(test)
        test()
        with planted(name, BUILT_IN) as registry, pytest.MonkeyPatch.context() as patch:
            patch.setattr(Memory.__init__, "__defaults__", (None, registry))
            with pytest.raises(Exception):  # noqa: B017, PT011  # the bug may raise whatever it likes
                test()

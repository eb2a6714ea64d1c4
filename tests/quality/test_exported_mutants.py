"""Goal: a bug that shows in a reply or an effect is shown by the plain test that its run becomes."""

from typing import Final

import pytest
from msgspec import structs

from tests.known_seeds import seeds_of
from umi_core.memory import Memory
from umi_core.workflows import BUILT_IN
from umi_sim.mutants import plant_mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import SeedFile
from umi_sim.testing.export import CannotShow, source_of

# Some of each area, those that are found soonest.
SAMPLE: Final = (
    "overwrite-leaks-space", "promotion-replaces-neighbour", "core-moves-before-commit",
    "core-count-limit-ignored", "success-before-commit", "random-ids", "scope-left-out-of-ids",
    "asks-without-need", "second-fact-overwrites", "rate-limit-wait-ignored", "snapshot-drops-an-entry",
    "snapshot-in-arrival-order",
)  # fmt: skip


REFUSED: Final = {
    "running-operation-changes-revision": "change in the middle",
    "jump-wakes-one-at-a-time": "comparing two memories",
    "degraded-without-counting": "another seed may",
}
"""What no plain test shows, and what the command says of it."""


def failing(name: str) -> SeedFile:
    """A run that fails with this bug."""
    scenario = find(MUTANTS[name].scenario)
    for seed in seeds_of(MUTANTS[name]):
        verdict, _ = run_once(structs.replace(draw(scenario, seed), planted=name))
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
        with plant_mutant(name, BUILT_IN) as registry, pytest.MonkeyPatch.context() as patch:
            patch.setattr(Memory.__init__, "__defaults__", (None, registry))
            with pytest.raises(Exception):  # noqa: B017, PT011  # the bug may raise whatever it likes
                test()


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_what_one_memory_cannot_show_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(CannotShow, match=REFUSED[name]):
        source_of(failing(name))

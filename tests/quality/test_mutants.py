"""Goal: would we notice? Every planted bug is found within its budget by a rule named for it, or by a test.

Seeds that showed it before come first; `umi-sim mutants` looks from seed 0 on. What was found in a world of
its own is run there without the bug; the worlds that ship are run without bugs in tests/simulation and by
sweeps. Each kind of fault has a bug that needs it (test_matrix.py), so each fires here where it is alone.
"""

import sys
from collections.abc import Iterator
from importlib import import_module

import pytest
from msgspec import structs

from tests.known_seeds import seeds_of
from tests.properties.laws import fail_first
from umi_core.workflows import BUILT_IN
from umi_sim.mutants.registry import MUTANTS, OF_TESTS
from umi_sim.record.broken import Broken
from umi_sim.record.rules import rule_named
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

STEPS_MORE = 50  # of the run without the bug: its healing and its audit are those of other runs


@pytest.fixture(scope="module", autouse=True)
def everything_is_as_it_was() -> Iterator[None]:
    """After all bugs that this process has planted."""
    at_rest = bodies()
    yield
    assert bodies().items() >= at_rest.items()  # more: a module that a run imports


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_the_bug_is_found_by_its_rule_and_in_a_world_of_its_own_only_with_the_bug(name: str) -> None:
    mutant = MUTANTS[name]
    scenario = find(mutant.scenario)
    for seed in seeds_of(mutant):
        config = structs.replace(draw(scenario, seed, mutant.hunted), planted=name)
        verdict, _ = run_once(config)
        if verdict.failure is not None and verdict.failure.rule in mutant.rules:
            assert not mutant.kind or list(verdict.fired) == [mutant.kind]
            if mutant.overrides:
                clean, _ = run_once(
                    structs.replace(config, planted=None, equivalences=()), verdict.items,
                    step_max=verdict.failure.step + STEPS_MORE,
                )  # fmt: skip
                assert clean.failure is None or clean.failure.kind == "timeout"
            return
    pytest.fail(f"{name} was not found by {mutant.rules} in {mutant.seeds_max} seeds of {mutant.scenario}")


@pytest.mark.parametrize("name", sorted(OF_TESTS))
def test_the_bug_is_detected_by_its_test(name: str) -> None:
    """Without the bug the test passes, as every run of tests/properties shows."""
    path, _, test = OF_TESTS[name].detected_by.partition("::")
    detect = getattr(import_module(path.removesuffix(".py").replace("/", ".")), test)
    with OF_TESTS[name].plant(BUILT_IN), pytest.raises((AssertionError, Broken)):
        fail_first(detect)


def bodies() -> dict[str, object]:
    """What every name of umi_core stands for, down to the bodies of functions and methods."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("umi_core")]
    values = {f"{module.__name__}.{name}": it for module in modules for name, it in vars(module).items()}
    owners = [it for it in values.values() if isinstance(it, type) and it.__module__.startswith("umi_core")]
    methods = {f"{it.__qualname__}.{name}": own for it in owners for name, own in vars(it).items()}
    codes = {
        name: getattr(getattr(it, "__func__", it), "__code__", None)
        for name, it in (values | methods).items()
    }
    return {
        **{name: id(it) for name, it in values.items()},
        **{f"{name}()": it for name, it in codes.items()},
    }


def test_every_mutant_names_rules_that_are_checked() -> None:
    for mutant in MUTANTS.values():
        checked = {rule: rule_named(rule).is_checked for rule in mutant.rules}  # KeyError: no such rule
        assert any(checked.values()), mutant.name

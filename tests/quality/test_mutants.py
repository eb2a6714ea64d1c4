"""Goal: would we notice? Every planted bug is found within its budget, by a rule named for it."""

import attrs
import pytest

from umi_sim.mutants.registry import MUTANTS
from umi_sim.runner import run_once
from umi_sim.scenario import draw, find


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_the_bug_is_found_by_its_rule_and_only_with_the_bug(name: str) -> None:
    mutant = MUTANTS[name]
    scenario = find(mutant.scenario)
    for seed in range(mutant.seeds_max):
        config = attrs.evolve(draw(scenario, seed), planted=name)
        verdict, _ = run_once(config)
        if verdict.failure is not None and verdict.failure.rule in mutant.rules:
            replayed, _ = run_once(config, verdict.items)
            assert replayed.failure is not None
            assert replayed.failure.rule == verdict.failure.rule
            clean, _ = run_once(attrs.evolve(config, planted=None), verdict.items)
            assert clean.failure is None
            return
    pytest.fail(f"{name} was not found by {mutant.rules} in {mutant.seeds_max} seeds of {mutant.scenario}")


def test_a_place_that_has_gone_is_an_error() -> None:
    lost = attrs.evolve(MUTANTS["evicts-self"], attribute="no_such_function")
    with pytest.raises(AttributeError), lost.plant():
        pass

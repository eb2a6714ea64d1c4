"""Goal: would we notice? Every planted bug is found within its budget, by a rule named for it."""

import attrs
import pytest

from umi_sim.invariants import rule_named
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
    mutant = MUTANTS["evicts-self"]
    lost = attrs.evolve(mutant, patches=(attrs.evolve(mutant.patches[0], attribute="no_such_function"),))
    with pytest.raises(AttributeError), lost.plant():
        pass


def test_afterwards_everything_is_as_it_was() -> None:
    for mutant in MUTANTS.values():
        before = [getattr(patch.owner, patch.attribute) for patch in mutant.patches]
        with mutant.plant():
            planted = [getattr(patch.owner, patch.attribute) for patch in mutant.patches]
        assert [getattr(patch.owner, patch.attribute) for patch in mutant.patches] == before
        assert all(now != then for now, then in zip(planted, before, strict=True)), mutant.name


def test_every_mutant_changes_something_and_names_rules_that_somebody_checks() -> None:
    for mutant in MUTANTS.values():
        assert mutant.patches or mutant.tables, mutant.name
        assert any(rule_named(rule).is_checked for rule in mutant.rules), mutant.name

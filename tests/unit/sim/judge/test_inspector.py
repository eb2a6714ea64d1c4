"""Goal: a rule that is off is not judged, wherever it is judged, and the run goes on to its end."""

from collections.abc import Iterator

import pytest
from msgspec import structs

from tests.known_seeds import seeds_of
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.rules import rule_named
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find


def rule_broken(config: RunConfig, *off: str) -> str:
    failure = run_once(structs.replace(config, off=off))[0].failure
    return failure.rule if failure else ""


def shown(bug: str, rule: str) -> Iterator[RunConfig]:
    """Runs in which this rule sees the bug."""
    mutant = MUTANTS[bug]
    for seed in seeds_of(mutant):
        config = structs.replace(draw(find(mutant.scenario), seed, mutant.overrides), planted=bug)
        if rule_broken(config) == rule:
            yield config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "rule"),
    [
        ("load-merges", "snapshot-roundtrip"),  # by the oracle of sessions
        ("importance-dropped", "promotion-fair"),  # inside, after a step
        ("scan-counts-as-access", "access-truth"),  # by storage, in a check of everything
        ("core-shows-old-version", "core-current"),  # by the oracle of core
        ("late-answer-applied", "late-is-inert"),  # between two steps
        ("bytes-in-order-of-arrival", "either-order"),  # over a life that has ended
    ],
)
def test_a_bug_passes_where_the_rule_that_sees_it_is_off(bug: str, rule: str) -> None:
    assert any(rule_broken(config, rule) == "" for config in shown(bug, rule))


@pytest.mark.slow
def test_what_is_broken_elsewhere_is_seen_all_the_same() -> None:
    configs = shown("ttl-zero-is-forever", "ttl-range")
    assert any(rule_broken(config, "ttl-range") == "reference-agrees" for config in configs)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scenario", ["smoke", "reorganise"])
def test_a_run_without_bugs_is_judged_from_outside_and_inside(scenario: str, seed: int) -> None:
    verdict, _ = run_once(draw(find(scenario), seed))
    assert verdict.failure is None
    assert {"inside", "oracle"} <= {rule_named(name).seen_by for name in verdict.rules}

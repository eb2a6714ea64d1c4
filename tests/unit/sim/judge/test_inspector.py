"""Goal: a rule that is off is not judged, wherever it is judged, and the run goes on to its end."""

import attrs
import pytest

from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find


@pytest.mark.parametrize(
    ("bug", "seed", "rule"),
    [
        ("load-merges", 2, "snapshot-roundtrip"),  # by the oracle of sessions
        ("frequency-unbounded", 0, "score-range"),  # inside, after a step
        ("scan-counts-as-access", 0, "access-truth"),  # by storage, in a check of everything
        ("core-shows-old-version", 1, "core-current"),  # by the oracle of core
        ("late-answer-applied", 1, "late-is-inert"),  # between two steps
        ("bytes-in-order-of-arrival", 0, "either-order"),  # over a life that has ended
    ],
)
def test_a_bug_passes_where_the_rule_that_sees_it_is_off(bug: str, seed: int, rule: str) -> None:
    mutant = MUTANTS[bug]
    config = attrs.evolve(draw(find(mutant.scenario), seed, mutant.overrides), planted=bug)
    seen = run_once(config)[0].failure
    assert seen is not None
    assert seen.rule == rule
    assert run_once(attrs.evolve(config, off=(rule,)))[0].failure is None


def test_what_is_broken_elsewhere_is_seen_all_the_same() -> None:
    mutant = MUTANTS["ttl-zero-is-forever"]
    config = attrs.evolve(draw(find(mutant.scenario), 0, mutant.overrides), planted=mutant.name)
    seen = [run_once(attrs.evolve(config, off=off))[0].failure for off in ((), ("ttl-range",))]
    assert [failure and failure.rule for failure in seen] == ["ttl-range", "reference-agrees"]

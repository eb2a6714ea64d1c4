"""Goal: an equivalence earns its time. Without it, its bug goes through the same seed unseen."""

import pytest
from msgspec import structs

from umi_sim.judge.equivalences import NAMES, rule_of
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

SEED_COUNT = 20
SEEN_BESIDES = (
    "cached-rewrite-forgets-its-terms",
)  # the oracle says of a resolution again what it was first
TOLD_AGAIN = tuple(map(rule_of, ("E-BATCH", "E-FAIL")))  # which need worlds with texts
SOON = {
    "planned-again-without-details": 1, "batch-loses-members": 2, "range-without-its-end": 1,
    "bytes-in-order-of-arrival": 4, "forged-totals-believed": 1, "patience-kept-outside-state": 5,
    "patience-outlives-a-life": 5, "jump-wakes-one-at-a-time": 1,
}  # fmt: skip
"""Seeds that showed a bug in little time; they are tried first."""
BUGS = {  # one for each equivalence; test_mutants.py finds all
    it.rules[0]: it
    for it in reversed(MUTANTS.values())  # the first one stays
    if (it.scenario == "equivalences" and it.name not in SEEN_BESIDES) or it.rules[0] in TOLD_AGAIN
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS.values(), ids=lambda bug: bug.name)
def test_only_the_equivalence_sees_the_bug(bug: Mutant) -> None:
    only = tuple(name for name in NAMES if rule_of(name) == bug.rules[0])
    for seed in sorted(range(SEED_COUNT), key=lambda seed: seed != SOON.get(bug.name)):
        config = structs.replace(draw(find(bug.scenario), seed, bug.overrides), equivalences=only)
        with_bug = structs.replace(config, planted=bug.name, off=bug.rules[1:])
        verdict, _ = run_once(with_bug)
        if verdict.failure is not None:
            assert verdict.failure.rule == bug.rules[0]
            unseen, _ = run_once(structs.replace(with_bug, equivalences=(), off=()))
            assert unseen.failure is None
            return
    pytest.fail(f"{bug.name} was not found in {SEED_COUNT} seeds")

"""Shrinking finds the little of a run that still fails in the same way."""

import attrs
import pytest

from umi_sim.items import Op
from umi_sim.runner import run_once
from umi_sim.scenario import draw, find
from umi_sim.seed_file import SeedFile, loads, of_verdict, text_of
from umi_sim.shrink import shrink


def failing(mutant: str, scenario: str, seed: int) -> SeedFile:
    verdict, _ = run_once(attrs.evolve(draw(find(scenario), seed), planted=mutant))
    assert verdict.failure is not None
    return of_verdict(verdict)


@pytest.mark.parametrize(
    ("mutant", "scenario", "seed", "names"),
    [
        ("get-alive-at-expiry", "working", 0, ["set", "touch"]),
        ("missing-session-succeeds", "sessions", 0, ["load_session"]),
    ],
)
def test_a_bug_shrinks_to_the_requests_that_it_needs(
    mutant: str, scenario: str, seed: int, names: list[str]
) -> None:
    whole = failing(mutant, scenario, seed)
    small = shrink(whole)
    assert [item.name for item in small.items if isinstance(item, Op)] == names
    assert len(small.items) == len(names)
    assert small.fingerprint == whole.fingerprint
    assert small.original == whole.items
    assert small.minimised is not None
    assert small.minimised.one_minimal
    again = loads(text_of(small).encode(), "small")
    assert shrink(again) == again

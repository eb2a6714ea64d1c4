"""Planted bugs that exploring finds, each with as few actions as it takes: no shorter list was left out."""

import pytest

from umi_sim.explore.search import explore
from umi_sim.scenario.files import find

ROWS = [
    ("get-alive-at-expiry", "explore_working", 3, "ttl-boundary"),  # set, a landing, get
    ("overwrite-leaks-space", "explore_working", 2, "space-accounting"),  # set, set
    ("snapshot-drops-an-entry", "explore_snapshots", 2, "snapshot-roundtrip"),  # set, set: seen from inside
    ("ttl-zero-is-forever", "explore_working", 1, "ttl-range"),
    ("dead-entries-hold-space", "explore_working", 3, "no-spurious-refusal"),  # set, a landing, set
    ("incr-shortens-life", "explore_working", 4, "ttl-contract"),  # set, incr, a landing, get
    ("missing-session-succeeds", "explore_snapshots", 1, "session-or-error"),
    ("snapshot-in-arrival-order", "explore_snapshots", 2, "snapshot-canonical"),
    ("checksum-unread", "explore_snapshots", 2, "snapshot-guarded"),  # create, load with a flipped byte
    ("load-clears-first", "explore_snapshots", 3, "load-or-nothing"),  # create, set, load with a flipped byte
    ("load-merges", "explore_snapshots", 3, "snapshot-roundtrip"),  # create, set, load
    ("session-last-writer-wins", "explore_sessions", 2, "session-versions"),  # create, create
    ("clock-back-revives", "explore_clocks", 2, "reference-agrees"),  # a jump back, create
    ("xml-unescaped", "explore_core", 1, "render-parse"),  # set_block
]


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "scenario", "depth", "rule"), ROWS)
def test_a_planted_bug_is_found_at_its_least_depth(mutant: str, scenario: str, depth: int, rule: str) -> None:
    found = explore(find(scenario), depth, mutant=mutant)
    assert (found.result, found.depth) == ("failed", depth)
    assert found.verdict is not None
    assert found.verdict.failure is not None
    assert found.verdict.failure.rule == rule

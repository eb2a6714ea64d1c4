"""The clean core under every short list of a small action_set. Deeper by command: `umi-sim explore`."""

import pytest

from umi_sim.explore.search import explore
from umi_sim.scenario.files import find


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("explore_working", 4),
        ("explore_snapshots", 4),
        ("explore_sessions", 3),
        ("explore_clocks", 4),
        ("explore_core", 2),
        ("explore_commit", 4),
    ],
)
def test_no_short_list_breaks_a_promise(name: str, depth: int) -> None:
    found = explore(find(name), depth)
    assert (found.result, found.depth) == ("complete", depth)
    assert found.list_count > found.state_count > depth

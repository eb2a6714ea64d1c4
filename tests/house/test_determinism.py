"""Goal: the same seed gives the same trace in processes that differ in everything else."""

import pytest

from tests.unit.sim.commands import umi
from umi_sim.record.trace import first_difference
from umi_sim.runs.runner import trace_of
from umi_sim.scenario.files import draw, find


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["smoke", "transcripts"])
def test_two_unlike_processes_live_the_same_life(scenario: str) -> None:
    done = umi("verify", scenario, "--seed", "7")  # which starts both
    assert done.exit_code == 0, done.output
    assert "SAME" in done.stdout


def test_a_difference_is_named_by_its_record() -> None:
    first = trace_of(draw(find("working"), 1))
    other = trace_of(draw(find("working"), 2))
    difference = first_difference(first, other)
    assert difference is not None
    assert difference.index == 0

"""Goal: the same seed gives the same trace in processes that differ in everything else."""

import subprocess
import sys
from pathlib import Path

import pytest

from umi_sim.record.trace import first_difference
from umi_sim.runs.runner import trace_of
from umi_sim.scenario.files import draw, find

ROOT = Path(__file__).resolve().parent.parent.parent


def verified(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "umi_sim", "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["smoke", "transcripts"])
def test_two_unlike_processes_live_the_same_life(scenario: str) -> None:
    done = verified(scenario, "--seed", "7")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SAME" in done.stdout


def test_a_difference_is_named_by_its_record() -> None:
    first = trace_of(draw(find("working"), 1))
    other = trace_of(draw(find("working"), 2))
    difference = first_difference(first, other)
    assert difference is not None
    assert difference.index == 0

"""Goal: rules in random order keep every promise; a failing example leaves a seed file that replays."""

from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from umi_sim import seed_file
from umi_sim.hypothesis_machine import machine
from umi_sim.runner import run_once

SHORT = settings(max_examples=12, stateful_step_count=15, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("scenario", ["working", "smoke"])
def test_the_memory_keeps_its_promises(scenario: str) -> None:
    run_state_machine_as_test(machine(scenario), settings=SHORT)


def test_a_failing_example_leaves_a_seed_file_that_replays(tmp_path: Path) -> None:
    broken = machine("working", mutant="get-alive-at-expiry", folder=tmp_path)
    more = settings(SHORT, max_examples=200, stateful_step_count=25, phases=(Phase.generate,))
    with pytest.raises(AssertionError, match="umi-sim replay"):
        run_state_machine_as_test(broken, settings=more)
    found = [seed_file.read(path) for path in sorted(tmp_path.glob("*.json"))]
    assert found
    verdict, _ = run_once(found[0].config, found[0].items)
    assert verdict.failure is not None

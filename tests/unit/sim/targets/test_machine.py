"""Goal: Hypothesis finds a broken promise by the machine of an adapter; it is shrunk, and kept as a file."""

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sessions_store import ClearSwallows, Store
from tests.unit.sim.targets.test_contracts import Dict, Lists, Notes
from umi_sim.targets import seed_files
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.machine import ERRORS, SETTINGS, BrokenPromise

FEW = settings(SETTINGS, max_examples=25, derandomize=True, database=None)
MORE = settings(FEW, max_examples=100)


@pytest.mark.slow
def test_a_planted_bug_is_found_and_shrunk(tmp_path: Path) -> None:
    with pytest.raises(BrokenPromise) as caught:
        run_state_machine_as_test(ClearSwallows.machine(str(tmp_path)), settings=MORE)
    assert type(caught.value) is ERRORS["done-lost"]
    saved = [seed_files.read(path) for path in tmp_path.glob("*.json")]
    assert min(len(each.steps) for each in saved) <= 3
    assert all(seed_files.is_of(ClearSwallows, "sessions_store:ClearSwallows", each) for each in saved)


@pytest.mark.slow
@pytest.mark.parametrize("store", [Store, Dict, Lists, Notes])
def test_a_store_without_a_bug_is_left_alone(tmp_path: Path, store: type[Adapter]) -> None:
    run_state_machine_as_test(store.machine(str(tmp_path)), settings=FEW)
    assert [*tmp_path.iterdir()] == []

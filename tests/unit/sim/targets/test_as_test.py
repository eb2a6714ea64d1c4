"""Goal: an adapter is a test for unittest and pytest; it fails with what was found and where it is kept."""

import unittest
from pathlib import Path

import pytest

from tests.sessions_store import PopReadsThenDeletes, Store
from umi_sim.targets import seed_files
from umi_sim.targets.as_test import failure_of
from umi_sim.targets.items import Item, Op
from umi_sim.targets.life import run


def test_a_test_of_an_adapter_tells_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(PopReadsThenDeletes.pytest(seconds=20)).run(result)
    ((test, told),) = result.failures
    assert test.id() == "tests.sessions_store.TestPopReadsThenDeletes.test_keeps_its_contract"
    assert "FAIL tests.sessions_store:PopReadsThenDeletes at-once: pop+pop" in told
    (file,) = (tmp_path / ".umi-sim/targets").iterdir()
    assert f"--replay {file.relative_to(tmp_path)}" in told


def test_what_was_found_before_is_run_first(tmp_path: Path) -> None:
    pop = Item("at_once", (Op("pop", {"session": "a"}),) * 2)
    items = Item("op", (Op("add", {"session": "a", "items": ["v"]}),)), pop
    path = seed_files.write(Mended, "elsewhere:Mended", 7, run(PopReadsThenDeletes, items), tmp_path)
    assert failure_of(Mended, 0, tmp_path) == ""
    told = failure_of(type("Mended", (PopReadsThenDeletes,), {}), 0, tmp_path)
    assert "as recorded, answer by answer" in told
    assert list(tmp_path.iterdir()) == [path]


class Mended(Store):
    """Of what was found in it, nothing is left."""


def test_a_test_of_an_adapter_without_a_bug_passes() -> None:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Store.pytest(seconds=0)).run(result)
    assert (result.testsRun, result.wasSuccessful()) == (1, True)

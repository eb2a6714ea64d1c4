"""Goal: an adapter is a test for unittest and pytest; it fails with what was found and where it is kept."""

import unittest
from pathlib import Path

import pytest

from tests.sessions_store import PopReadsThenDeletes, Store


def test_a_test_of_an_adapter_tells_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(PopReadsThenDeletes.pytest(seconds=20)).run(result)
    ((test, told),) = result.failures
    assert test.id() == "tests.sessions_store.TestPopReadsThenDeletes.test_keeps_its_contract"
    assert "FAIL tests.sessions_store:PopReadsThenDeletes at-once: pop+pop" in told
    (file,) = (tmp_path / ".umi-sim/targets").iterdir()
    assert f"--replay {file.relative_to(tmp_path)}" in told


def test_a_test_of_an_adapter_without_a_bug_passes() -> None:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Store.pytest(seconds=0)).run(result)
    assert (result.testsRun, result.wasSuccessful()) == (1, True)

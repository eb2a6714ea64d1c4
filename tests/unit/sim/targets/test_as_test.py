"""Goal: an adapter is a test for unittest and pytest; it fails with what was found and where it is kept."""

import unittest
from pathlib import Path

import pytest

from tests.sessions_store import PopReadsThenDeletes, Store
from umi_sim.targets import Kv, Sessions, seed_files
from umi_sim.targets.as_test import failure_of, place_of
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run


def test_a_test_of_an_adapter_tells_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(PopReadsThenDeletes.pytest(seconds=20)).run(result)
    ((test, message),) = result.failures
    assert test.id() == "tests.sessions_store.TestPopReadsThenDeletes.test_keeps_its_contract"
    assert "FAIL tests.sessions_store:PopReadsThenDeletes at-once: pop+pop" in message
    (file,) = (tmp_path / ".umi-sim/targets").iterdir()
    assert f"--replay {file.relative_to(tmp_path)}" in message


def test_what_was_found_before_is_run_first(tmp_path: Path) -> None:
    pop = Item("at_once", (ContractOp("pop", {"session": "a"}),) * 2)
    items = Item("op", (ContractOp("add", {"session": "a", "items": ["v"]}),)), pop
    broken = run(PopReadsThenDeletes, items)
    path = seed_files.write(Mended, "elsewhere.test_as_test:Mended", broken, tmp_path)
    assert failure_of(Mended, 0, tmp_path) == ""
    message = failure_of(type("Mended", (PopReadsThenDeletes,), {}), 0, tmp_path)
    assert "as recorded, answer by answer" in message
    assert list(tmp_path.iterdir()) == [path]


class Mended(Store):
    """Of what was found in it, nothing is left."""


def test_a_test_of_an_adapter_without_a_bug_passes() -> None:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Store.pytest(seconds=0)).run(result)
    assert (result.testsRun, result.wasSuccessful()) == (1, True)


def test_only_what_is_of_this_adapter_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Adapters that begin as the same file have the same name, and files of other things lie there too."""
    add, pop = ContractOp("add", {"session": "a", "items": ["v"]}), ContractOp("pop", {"session": "a"})
    broken = run(PopReadsThenDeletes, (Item("op", (add,)), Item("at_once", (pop, pop))))
    paths = {
        name: seed_files.write(PopReadsThenDeletes, name, broken, tmp_path)
        for name in ("a.one:Mine", "two:Mine", "--contract sessions --command 'node mine.mjs'")
    }
    assert [path.name.partition("-at-once")[0] for path in paths.values()] == [
        "one-Mine", "two-Mine", "node-mine-mjs",
    ]  # fmt: skip
    (tmp_path / "world.json").write_text('{"format": "umi-seed"}')
    for name, path in paths.items():
        earlier = seed_files.run_again(PopReadsThenDeletes, name, tmp_path)
        assert ([file for file, _, _ in earlier.runs], earlier.other_count) == ([path.as_posix()], 3)
    assert len(seed_files.run_again(PopReadsThenDeletes, "__main__:Mine", tmp_path).runs) == 2
    lacking = type("Mine", (Sessions,), {"add": Store.add, "get": Store.get})
    assert seed_files.run_again(lacking, "one:Mine", tmp_path) == seed_files.Earlier((), 4)
    other = type("Mine", (Kv,), {"pop": lambda self, key: None})
    assert seed_files.run_again(other, "one:Mine", tmp_path) == seed_files.Earlier((), 4)
    assert failure_of(Store, 0, tmp_path) == ""
    assert f"{tmp_path}: 4 files of other adapters not run" in capsys.readouterr().out
    (tmp_path / "torn.json").write_text('{"format": "umi-target"')
    (problem,) = seed_files.run_again(Store, "one:Mine", tmp_path).unreadable
    assert problem.startswith(f"{tmp_path / 'torn.json'}: ")
    assert "torn.json" in failure_of(Store, 0, tmp_path)


def test_a_folder_that_is_named_stands_beside_the_class() -> None:
    assert place_of(Mended, "found") == Path(__file__).parent / "found"
    assert place_of(Mended, None) == Path(".umi-sim/targets")

"""Goal: a kept failure is replaced by nothing else, is run each time, and is reported when it passes."""

import sys
from pathlib import Path

import pytest

from tests.kv_store import SwallowsEmpty, SwallowsSecond
from tests.unit.sim.commands import umi
from umi_sim.targets import seed_files
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run

pytest_plugins = ("pytester",)
STORE = """
from umi_sim.targets import MISSING, Kv


class Mine(Kv):
    def make(self):
        self.rows = {}

    def put(self, key, value):
        PUT

    def get(self, key):
        return self.rows.get(key, MISSING)
"""
FIXED = STORE.replace("PUT", "self.rows[key] = value")
FIRST = STORE.replace("PUT", 'self.rows.update({} if value == "" else {key: value})')
SECOND = STORE.replace("PUT", "self.rows.update({} if self.rows.pop(key, None) else {key: value})")
PASSES_NOW = "passes now, and is run each time:"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def rewrite(folder: Path, text: str) -> None:
    """The class that users see as `kept_store:Mine`."""
    (folder / "kept_store.py").write_text(text)
    sys.modules.pop("kept_store", None)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_command_replaces_no_file_of_another_failure(here: Path) -> None:
    kept = here / ".umi-sim/targets"
    hunted = ("target", "kept_store:Mine", "--seeds", "80..400")
    rewrite(here, FIRST)
    assert umi(*hunted).exit_code == 1
    first = contents(kept)
    rewrite(here, SECOND)
    assert "FAIL kept_store:Mine answer: get" in umi(*hunted).stdout
    both = contents(kept)
    assert len(both) == 2
    assert first.items() <= both.items()
    assert umi(*hunted).exit_code == 1  # the same failure once more
    assert contents(kept) == both
    rewrite(here, FIXED)
    passed = umi("target", "kept_store:Mine", "--seeds", "0..9")
    assert (passed.exit_code, passed.stdout.count(PASSES_NOW)) == (0, 2)
    assert contents(kept) == both
    rewrite(here, FIRST)
    again = umi("target", "kept_store:Mine", "--seeds", "0")  # a run too short to find it
    assert again.exit_code == 1
    assert "FAIL kept_store:Mine: 1 of 2 files of .umi-sim/targets fail" in again.stdout
    assert again.stdout.count(PASSES_NOW) == 1


def test_a_command_names_a_file_that_cannot_be_read_and_runs_the_others(here: Path) -> None:
    kept = here / ".umi-sim/targets"
    rewrite(here, FIRST)
    umi("target", "kept_store:Mine", "--seeds", "80..400")
    (kept / "torn.json").write_text('{"format": "umi-target"')
    failing = umi("target", "kept_store:Mine", "--replay", str(kept))
    assert (failing.exit_code, "1 of 1 file" in failing.stdout) == (1, True)
    assert "torn.json: " in failing.stdout
    rewrite(here, FIXED)
    passing = umi("target", "kept_store:Mine", "--replay", str(kept))
    assert passing.exit_code == 2
    assert "torn.json: " in passing.stdout


@pytest.mark.slow
def test_pytest_keeps_both_failures_and_reports_what_passes_now(pytester: pytest.Pytester) -> None:
    def outcome(text: str) -> pytest.RunResult:
        seconds = 1 if text == FIXED else 60  # a hunt ends when it has found something
        own = f"\nTestMine = Mine.pytest(seconds={seconds}, folder='found')\n"
        (pytester.path / "test_kept.py").write_text(text + own)
        sys.modules.pop("test_kept", None)
        return pytester.runpytest_inprocess(
            "-p", "umi_sim.testing.pytest_plugin", "-p", "no:cacheprovider", "test_kept.py"
        )

    found = pytester.path / "found"
    outcome(FIRST).assert_outcomes(failed=1)
    first = contents(found)
    outcome(SECOND).assert_outcomes(failed=1)
    both = contents(found)
    assert len(both) == 2
    assert first.items() <= both.items()
    passing = outcome(FIXED)
    passing.assert_outcomes(passed=1)
    assert sum(line.startswith(PASSES_NOW) for line in passing.outlines) == 2
    assert contents(found) == both


def test_the_same_failure_has_one_file_whatever_the_seed(tmp_path: Path) -> None:
    """Two hunts draw different unique values, and the file is that of the failure."""
    for seed, value in enumerate(("v3", "v17", "v21.4")):
        items = [Item("op", (ContractOp("put", {"key": "a", "value": each}),)) for each in ("v1", value)]
        verdict = run(SwallowsSecond, (*items, Item("op", (ContractOp("get", {"key": "a"}),))), seed)
        seed_files.write(SwallowsSecond, "one:Mine", verdict, tmp_path)
    assert len([*tmp_path.iterdir()]) == 1


def test_a_file_that_was_edited_by_hand_is_not_replaced(tmp_path: Path) -> None:
    verdict = hunt(SwallowsEmpty, range(80, 400)).small
    assert verdict is not None
    path = seed_files.write(SwallowsEmpty, "one:Mine", verdict, tmp_path)
    path.write_text("mine now")
    other = seed_files.write(SwallowsEmpty, "one:Mine", verdict, tmp_path)
    assert other != path
    assert path.read_text() == "mine now"
    assert seed_files.write(SwallowsEmpty, "one:Mine", verdict, tmp_path) == other

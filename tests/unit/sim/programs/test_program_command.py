"""Goal: the command tells the verdict first, then how to repeat it, then the cause; a mistake in one line."""

import json
import sys
from pathlib import Path

import pytest

from tests.unit.sim.commands import umi

PROGRAM = """
import asyncio

async def main(run):
    run.state.lock = asyncio.Lock()
    await run.state.lock.acquire()
    await asyncio.sleep(0.01)
    run.state.lock.release()

async def resume(run):
    async with run.state.lock if hasattr(run.state, "lock") else asyncio.Lock():
        pass

async def correct():
    await asyncio.sleep(0.01)

number = 1
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("planted.py").write_text(PROGRAM)
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_a_finding_is_repeated_by_its_command_and_by_its_script() -> None:
    done = umi("program", "planted:main")
    assert done.exit_code == 1
    verdict, repeat, script, shrunk, _, cause, promised, got, *rest = done.stdout.splitlines()
    assert verdict == "FAIL planted:main ends"
    assert shrunk == "  shrunk   1 perturbation; it fails alike at 2 steps: 2..3"
    assert cause == "  cause    main is cancelled before step 2; main is at planted.py:7 (main)"
    assert promised.startswith("  promised main, resume and verify end")
    assert got == (
        "  got      resume hung: Stuck: waits for something that never happens at planted.py:11 (resume)"
    )
    assert [line.split()[-1] for line in rest if "cancelled" in line] == ["failing"]
    again = umi(*repeat.split()[2:])
    assert (again.exit_code, again.stdout.splitlines()[0]) == (0, verdict)
    code = script.removeprefix("  script ").strip()
    with pytest.raises(AssertionError, match="ends is broken"):
        exec(f"from umi_sim.programs import *; from planted import *; {code}", {})


def test_a_finding_is_true_on_a_loop_of_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi_sim.programs.own_loop.SECONDS_MAX", 0.2)
    monkeypatch.setattr("umi_sim.programs.own_loop.SETTLING_SECONDS", 0.02)
    found = json.loads(umi("program", "planted:main", "--json").stdout)
    (finding,) = found["findings"]
    assert finding["case"] == [{"kind": "cancel", "step": 2}]
    own_loop = "replay", finding["file"], "--of", "planted:main", "--own-loop"
    done = umi(*own_loop)
    assert (done.exit_code, "own loop: as recorded" in done.stdout) == (0, True)
    path = Path(finding["file"])
    path.write_text(path.read_text().replace('"step":2', '"step":4'))
    assert umi(*own_loop).exit_code == 1
    path.write_text(path.read_text().replace('"cancel"', '"kill"'))
    done = umi(*own_loop)
    assert (done.exit_code, "tasks can be cancelled, and nothing else" in done.stderr) == (2, True)


def test_a_program_that_keeps_the_rules_passes() -> None:
    done = umi("program", "planted.py:correct", "--drawn", "3", "--all")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].startswith("PASS planted.py:correct: no rule broken in ")
    assert done.stdout.splitlines()[-1] == "           combinations drawn: 3 runs"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["planted"], "planted: write MODULE:NAME, as in mine:main"),
        (["nowhere:main"], "nowhere:main: no module nowhere"),
        (["planted:mian"], "planted:mian: planted has no function mian; it has main, resume, correct"),
        (["planted:number"], "planted:number: planted has no function number; it has main, resume, correct"),
    ],
)
def test_a_mistake_is_reported_in_one_line(args: list[str], message: str) -> None:
    done = umi("program", *args)
    assert (done.exit_code, done.stderr) == (2, f"umi-sim: {message}\n")


def test_a_module_that_raises_is_reported_with_its_line() -> None:
    Path("broken.py").write_text("x = 1\nraise KeyError('a')\n")
    done = umi("program", "broken:main")
    assert (done.exit_code, "line 2: KeyError: 'a'" in done.stderr) == (2, True)

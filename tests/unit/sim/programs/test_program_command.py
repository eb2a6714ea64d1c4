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
        (["planted:number"], "planted:number: number is an object of class int, and no async function"),
        (["planted:main()"], "planted:main(): planted has no function main(); it has main, resume, correct"),
    ],
)
def test_a_mistake_is_reported_in_one_line(args: list[str], message: str) -> None:
    done = umi("program", *args)
    assert (done.exit_code, done.stderr) == (2, f"umi-sim: {message}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("raise KeyError('a')", "line 2: KeyError: 'a'\n"),
        ("raise SystemExit(3)", "line 2: SystemExit: 3\n"),
        ("raise SystemExit", "line 2: SystemExit\n"),
        ("def (", "SyntaxError: "),
    ],
)
def test_a_module_that_raises_is_reported_with_its_line(line: str, message: str) -> None:
    Path("broken.py").write_text(f"x = 1\n{line}\n")
    done = umi("program", "broken:main")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"umi-sim: broken:main: cannot be imported: {message}" in done.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("async def main(run, question, n=1): ...", "main: takes the run or nothing, but question has no"),
        ("async def main(*, question): ...", "main: takes the run or nothing, but question has no default"),
        ("def main(run): ...", "main: expected an async function, got main, which is not async"),
        ("async def main(run): yield 1", "main: expected an async function, got main, a generator"),
        ("async def f(): ...\nmain = f()", "wrong:main: main is a coroutine: name the function f itself"),
        (
            "class Agent:\n  async def run(self): ...\nmain = Agent()",
            "wrong:main: main is an object of class Agent, and no async function",
        ),
        ("async def main(run): run.history = 17", "run.history: expected a list of messages, got 17"),
        ("import os\nasync def main(run): os._exit(3)", "wrong:main: ends by os._exit(3), which would end"),
        (
            "async def main(run): ...\ndef own(outcome): return outcome.nothing\nrules = [own]",
            "rule own: raised AttributeError: ",
        ),
        (
            "async def main(run): ...\ndef own(outcome): return False\nrules = [own]",
            "rule own: expected what is wrong as a text, or None, got False",
        ),
    ],
)
def test_a_program_that_cannot_be_run_is_one_line(
    source: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "wrong", raising=False)
    Path("wrong.py").write_text(source + "\n")
    done = umi("program", "wrong:main")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"umi-sim: {message}")


def test_what_a_program_prints_is_no_part_of_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "talking", raising=False)
    Path("talking.py").write_text(
        "import sys\nasync def main(run):\n    print('hello')\n    print('oh', file=sys.stderr)\n"
        "    assert run.life == 2\n"
    )
    found = umi("program", "talking:main", "--json")
    assert "hello" not in found.output
    file = json.loads(found.stdout)["findings"][0]["file"]
    again = umi("replay", file, "--of", "talking:main", "--json")
    assert (again.exit_code, json.loads(again.stdout)["replay"]) == (0, "as recorded")
    assert "hello" in again.stderr

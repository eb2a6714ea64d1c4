"""Goal: the action for GitHub runs what its inputs name, and the page for coding agents says what happens."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "tools/action.sh"
LOST = """
from umi_sim.targets import MISSING, Kv


class Lost(Kv):
    def make(self):
        self.rows = {}

    def put(self, key, value):
        self.rows.setdefault(key, value)

    def get(self, key):
        return self.rows.get(key, MISSING)
"""
RIGHT = LOST.replace("setdefault(key, value)", "update({key: value})").replace("Lost", "Right")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with two stores, one of which breaks a promise, and with the command."""
    (tmp_path / "lost.py").write_text(LOST)
    (tmp_path / "right.py").write_text(RIGHT)
    command = tmp_path / "umi-sim"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m umi_sim "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run_action(project: Path, **given: str) -> tuple[int, str, str]:
    """Return the exit status, the log and the summary of the step with these inputs."""
    summary = project / "summary.md"
    env = {
        "TARGETS": "", "SCENARIOS": "", "SECONDS_EACH": "1", "COUNT": "1", "UMI_SIM": "./umi-sim",
        "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": f"{ROOT}:{project}", "PATH": os.environ["PATH"],
    }  # fmt: skip
    done = subprocess.run(
        ["bash", SCRIPT], capture_output=True, text=True, cwd=project, env=env | given, check=False
    )
    return done.returncode, done.stdout, summary.read_text() if summary.exists() else ""


def test_each_input_of_the_action_is_used() -> None:
    text = (ROOT / "action.yml").read_text()
    inputs = re.findall(r"^  (\w+):$", text.partition("runs:")[0], re.M)
    assert sorted(inputs) == sorted(set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text)))
    step = text.partition("- name: Run")[2].partition("run:")[0]
    documented = re.findall(r"^#     ([A-Z_]+)  ", SCRIPT.read_text(), re.M)
    assert sorted(documented) == sorted(re.findall(r"^        ([A-Z_]+):", step, re.M))


def test_every_store_is_tested_and_one_failure_fails_the_job(project: Path) -> None:
    status, log, summary = run_action(project, TARGETS="\nlost:Lost\n\n  right:Right\n")
    assert status == 1, log
    assert [line for line in summary.splitlines() if line.startswith("#")] == [
        "### lost:Lost: exit 1", "### right:Right: exit 0",
    ]  # fmt: skip
    (kept,) = (project / ".umi-sim/targets").glob("*.json")
    assert kept.with_suffix(".html").stat().st_size > 1_000
    assert run_action(project, TARGETS="right:Right")[0] == 0


def test_scenarios_are_swept_and_nothing_to_run_is_an_error(project: Path) -> None:
    status, log, _ = run_action(project, SCENARIOS="smoke")
    assert (status, "PASS sweep of 1 scenario" in log) == (0, True), log
    assert (project / ".umi-sim/sweep.html").exists()
    status, log, _ = run_action(project, TARGETS=" \n")
    assert (status, "there is nothing to run" in log) == (2, True)


def test_the_page_for_coding_agents_says_what_happens(project: Path) -> None:
    """Its commands in their order, around a store that breaks a promise."""
    text = (ROOT / "SKILL.md").read_text()
    (project / "SKILL.md").write_text(text)
    lines = [
        line.partition("  #")[0]
        for block in re.findall(r"```sh\n(.*?)```", text, re.S)
        for line in block.split("\n")
    ]
    commands = [shlex.split(line) for line in lines if line.strip()]
    assert [words[:2] for words in commands].count(["umi-sim", "target"]) == 5

    def run(words: list[str], **filled: str) -> tuple[int, Any]:
        command = [filled.get(word, word) for word in words]
        command = [re.sub(r"^(30|60)$", "1", word) for word in command]
        command[0] = {"umi-sim": "./umi-sim", "python": sys.executable}[command[0]]
        env = {"PYTHONPATH": f"{ROOT}:{project}", "PATH": os.environ["PATH"]}
        done = subprocess.run(command, capture_output=True, text=True, cwd=project, env=env, check=False)
        return done.returncode, json.loads(done.stdout) if "--json" in words else done.stdout

    version, init, hunt, export, script, replay, again = commands
    assert run(version)[0] == run(init)[0] == 0
    assert run(hunt)[1]["result"] == "pass"
    (project / "adapter.py").write_text(LOST.replace("Lost", "Mine"))
    status, found = run(hunt)
    assert (status, found["result"], found["failure"]["rule"]) == (1, "fail", "answer")
    named = re.findall(r"`([a-z_]+)`", text.partition("## 2.")[2].partition("## 3.")[0])
    assert {"items", "said", "inferred", "not_explored", "did_not_recur"} <= {*named} & {*found}
    assert run(export, FILE=found["saved"])[0] in (0, 1)
    assert run(script)[0] == 1
    assert run(replay)[0] == 1
    (project / "adapter.py").write_text(RIGHT.replace("Right", "Mine"))
    assert run(replay)[0] == run(again)[0] == 0

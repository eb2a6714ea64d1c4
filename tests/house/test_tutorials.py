"""Goal: what the tutorials show runs as they show it."""

import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import pytest

from tests.unit.sim.commands import umi
from tools.tables import DOCS
from umi_core.messages.effects import Done
from umi_sim.scenario import files as scenario
from umi_sim.targets.hunt import hunt

FOLDER: Final = DOCS / "tutorials"


def examples(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (FOLDER / page).read_text(), re.M | re.S)


def test_the_host_keeps_and_degrades() -> None:
    (example,) = examples("host-the-core.md", "python")
    own: dict[str, Any] = {"__name__": "own"}
    exec(compile(example, "host-the-core.md", "exec"), own)  # what a reader would run
    assert isinstance(own["told"], Done)
    assert own["told"].degraded[0].name.startswith("extract:")


def test_each_world_is_one(tmp_path: Path) -> None:
    worlds = examples("write-a-world.md", "toml")
    assert [scenario.parse(world, "comeback.toml", None).id for world in worlds] == ["comeback"] * 3


@pytest.mark.slow
def test_a_store_of_your_own_is_tested_as_in_the_tutorial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = "test-your-own-memory.md"
    store, adapter, *mended = examples(page, "python")
    first, *others = examples(page, "console")
    compare_words(first)
    Path("mine.py").write_text(adapter)
    for finding, after, method in zip(others[::2], others[1::2], mended, strict=True):
        write_module("store.py", store, monkeypatch)
        compare_words(finding)
        store = with_method(store, method)
        write_module("store.py", store, monkeypatch)
        compare_words(after)


@pytest.mark.slow
def test_an_agent_is_tested_as_in_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = "test-your-agent.md"
    agent, fix, lines, test = examples(page, "python")
    found, exported, next_found, passes = examples(page, "console")
    write_module("agent.py", agent, monkeypatch)
    compare_words(found)
    compare_words(exported)
    write_module("agent.py", agent + fix, monkeypatch)
    compare_words(next_found)
    settle = fix[: fix.index("async def resume")]
    first, _ = lines.splitlines()
    write_module("agent.py", agent.replace(f"{first}\n", lines) + settle, monkeypatch)
    compare_words(passes)
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    own: dict[str, Any] = {}
    exec(compile(test, "test_agent.py", "exec"), own)
    own["test_agent"]()


def compare_words(example: str) -> None:
    """Demand that the command says what is shown, wherever the lines end."""
    command, shown = example.split("\n", 1)
    output = umi(*command.removeprefix("$ umi-sim ").split()).stdout
    assert output.split() == shown.split()


def write_module(file: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that the next command imports anew, as do those that import it."""
    Path(file).write_text(text)
    for name in ("mine", "store", "agent"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def with_method(text: str, method: str) -> str:
    """The text of a class with this method in the place of the one of its name."""
    name, new = method.partition("(")[0], indent(method, "    ")
    return re.sub(rf"    {name}\(.*?(?=\n    async def |\Z)", lambda _: new, text, flags=re.DOTALL)


def test_adapters_of_the_page_about_stores_pass(tmp_path: Path) -> None:
    """The one around SQLite needs nothing but Python; each stands at the beginning of the page."""
    (code,) = (each for each in examples("../targets.md", "python") if "class Rows(Kv)" in each)
    own: dict[str, Any] = {"__name__": "own"}
    exec(compile(code, "targets.md", "exec"), own)  # what a reader would run
    found = hunt(own["Rows"], range(40))
    assert (found.small and found.small.broken) is None
    assert {site for each in found.moments.values() for site, _ in each} == {"commit", "statement"}


@pytest.mark.slow
def test_the_first_bug_is_found_as_in_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finding, *_ = (text for text in examples("first-bug.md", "console") if "FAIL" in text)
    command, *lines = finding.splitlines()
    output = umi(*command.removeprefix("$ umi-sim ").split()).stdout.splitlines()
    assert output[: len(lines) - 1] == lines[:-1]
    passing, *_ = (text for text in examples("first-bug.md", "console") if "PASS" in text)
    command, line = passing.splitlines()
    output = umi(*command.removeprefix("$ umi-sim ").split()).stdout.splitlines()
    begins, ends = line.split("...")
    assert output[0].startswith(begins)
    assert output[0].endswith(ends)

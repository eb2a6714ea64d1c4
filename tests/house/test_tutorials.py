"""Goal: what the tutorials show runs as they show it."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.unit.sim.commands import umi
from tools.tables import DOCS
from umi_core.messages.effects import Done
from umi_sim.scenario import files as scenario

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
@pytest.mark.uncounted
def test_the_first_bug_is_found_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finding, *_ = (text for text in examples("first-bug.md", "console") if "FAIL" in text)
    command, *lines = finding.splitlines()
    said = umi(*command.removeprefix("$ umi-sim ").split()).stdout.splitlines()
    assert said[: len(lines) - 1] == lines[:-1]
    passing, *_ = (text for text in examples("first-bug.md", "console") if "PASS" in text)
    command, line = passing.splitlines()
    said = umi(*command.removeprefix("$ umi-sim ").split()).stdout.splitlines()
    begins, ends = line.split("...")
    assert said[0].startswith(begins)
    assert said[0].endswith(ends)

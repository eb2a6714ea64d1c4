"""Goal: what docs/adding.md shows works: a copy to which the diff is applied knows the thing in every way."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding.md").read_text()


def diff_of(section: str) -> str:
    (diff,) = re.findall(r"^```diff\n(.*?)^```", PAGE.split(f"\n## {section}\n")[1], re.M | re.S)[:1]
    return str(diff)


def apply(diff: str, folder: Path) -> list[str]:
    """Put each hunk in the place of the lines that it was made from, which there must be once; the files."""
    paths = []
    for part in re.split(r"^--- ", diff, flags=re.M)[1:]:
        path, *hunks = re.split(r"^@@ .*\n", part, flags=re.M)
        paths.append(path.splitlines()[1].removeprefix("+++ b/"))
        text = (folder / paths[-1]).read_text()
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            old, new = ("".join(it[1:] for it in lines if it[0] in kept) for kept in (" -", " +"))
            assert text.count(old) == 1, f"{paths[-1]} has changed: make the diff in docs/adding.md anew"
            text = text.replace(old, new)
        (folder / paths[-1]).write_text(text)
    return paths


def copy_with(section: str, folder: Path) -> list[str]:
    for package in ("umi_core", "umi_sim", "mutants"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    return apply(diff_of(section), folder)


def told(folder: Path, program: str) -> Any:
    """What a program prints as JSON that finds the packages in this folder."""
    command = [sys.executable, "-c", program]
    surroundings = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FAULT = """
import json
from umi_sim.explain.words import page
from umi_sim.faults.kinds import KINDS
from umi_sim.record.items import Fault
from umi_sim.runs.matrix import kind_needs
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import item_json
from umi_sim.seedfile.schema import text

NAME = "embed_mirrored"
ALONE = {"scenario.swarm.mode": "one_kind", "scenario.swarm.pin.kind": NAME, f"faults.{NAME}": "1/1"}
verdict = run_once(draw(find("all_faults"), 0, ALONE))[0]
(need,) = kind_needs([NAME])
item = next(it for it in verdict.items if isinstance(it, Fault))
print(json.dumps({
    "module": KINDS[NAME].__module__,
    "fired": list(verdict.fired),
    "kept": item_json.from_json(item_json.to_json(item), "") == item,
    "args": list(item.args),
    "schema": NAME in text(),
    "page": page(NAME)[0],
    "needed": need.is_met,
    "drawn": NAME in draw(find("storm"), 0, {"faults.embed": "true", "faults.embed_mirrored": "1/2"}).faults,
}))
"""


@pytest.mark.slow
def test_a_fault_kind_is_added_as_the_page_says(tmp_path: Path) -> None:
    paths = copy_with("A fault kind", tmp_path)
    assert paths == ["umi_sim/faults/embedder.py", "mutants/vectors.toml"]
    assert told(tmp_path, FAULT) == {
        "module": "umi_sim.faults.embedder", "fired": ["embed_mirrored"], "kept": True, "args": ["index"],
        "schema": True, "page": "embed_mirrored: One vector of a batch comes back to front.", "needed": True,
        "drawn": True,
    }  # fmt: skip


def test_the_way_of_a_fault_is_eight_files_that_there_are() -> None:
    files = re.findall(r"^[1-9]\. `([^`]+)`", PAGE, re.M)
    assert len(files) == 8
    assert [path for path in files if not (ROOT / path).exists()] == []

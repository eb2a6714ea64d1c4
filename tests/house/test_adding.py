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
    copy_packages(folder)
    return apply(diff_of(section), folder)


def copy_packages(folder: Path) -> None:
    for package in ("umi_core", "umi_sim", "mutants"):
        # With the byte code, which stays valid for the files that no diff changes: to compile all takes 5 s.
        # Not with what other processes are just writing (x.pyc.123), which may be gone before it is copied.
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("*.pyc.*"))
    (folder / "scenarios").symlink_to(ROOT / "scenarios")


def ran(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """A program that finds the packages in this folder."""
    command = [sys.executable, "-c", program]
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    surroundings["PYTHONPATH"] = str(folder)  # and what runs in a copy covers nothing here
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True)


def read_json_output(folder: Path, program: str) -> Any:
    """What it prints as JSON."""
    done = ran(folder, program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ITEMS = """
import json
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import item_json

verdicts = [run_once(draw(find("storm"), seed))[0] for seed in range(1, 4)]
print(json.dumps([[item_json.to_json(item) for item in verdict.items] for verdict in verdicts]))
"""

OTHERS = """
import json
from umi_sim.scenario.files import draw, find

faults = [dict(draw(find("storm"), seed).faults) for seed in range(40)]
for each in faults:
    each.pop("embed_mirrored", None)
print(json.dumps(faults))
"""


TAKE = """
import json
from umi_core.messages.requests import Take
from umi_sim.record.items import Op
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import item_json
from umi_sim.seedfile.schema import text
from umi_sim.testing.hypothesis_machine import machine

verdict = run_once(draw(find("working"), 3, {"workload.weights.take": "8"}))[0]
item = next(it for it in verdict.items if isinstance(it, Op) and it.name == "take")
print(json.dumps({
    "asked": verdict.operations["take"] > 0,
    "failure": verdict.failure,
    "kept": item_json.from_json(item_json.to_json(item)) == item,
    "schema": '"take"' in text(),
    "rule": hasattr(machine("storm"), "take"),
    "hashes": [run_once(draw(find(name), 3))[0].trace_hash for name in ("working", "storm")],
}))
"""

HASHES = """
import json
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

print(json.dumps([run_once(draw(find(name), 3))[0].trace_hash for name in ("working", "storm")]))
"""


@pytest.mark.slow
def test_a_working_operation_is_added_as_the_page_says_and_moves_no_other(tmp_path: Path) -> None:
    paths = copy_with("A working operation", tmp_path)
    assert len(paths) == 3
    assert read_json_output(tmp_path, TAKE) == {
        "asked": True, "failure": None, "kept": True, "schema": True, "rule": True,
        "hashes": read_json_output(ROOT, HASHES),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forgotten", "sentence"),
    [
        ("umi_core/tiers/working.py", "Take has no answer: add one in umi_core/tiers/working.py"),
        (
            "umi_sim/judge/oracle/working.py",
            "Take has no answer of the twin: add one in umi_sim/judge/oracle/working.py",
        ),
    ],
)
def test_a_part_that_is_forgotten_is_a_sentence_at_import(
    tmp_path: Path, forgotten: str, sentence: str
) -> None:
    copy_with("A working operation", tmp_path)
    shutil.copy(ROOT / forgotten, tmp_path / forgotten)
    assert ran(tmp_path, "import umi_sim.runs.runner").stderr.strip().endswith(sentence)


@pytest.mark.slow
def test_a_setting_that_is_added_moves_no_item(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    path = tmp_path / "umi_core" / "config.py"
    first = "    core_bytes_max: int"
    path.write_text(path.read_text().replace(first, f"    echo_count_max: int = option(3, 1, 9)\n{first}"))
    assert read_json_output(tmp_path, ITEMS) == read_json_output(ROOT, ITEMS)


PICTURE = """
import json
from msgspec import structs
from umi_core.answer_checks import is_body_of
from umi_core.codec import decode, encode
from umi_core.rows import Address, Picture
from umi_core.values import Scope

picture = Picture("p1", "Alice at the sea", "file:sea.png", 5)
address = Address(Scope("u1", "a1"), "picture", "p1")
others = structs.replace(picture, id="p2"), structs.replace(picture, shown_ms=-1)
print(json.dumps([
    decode(encode(picture)) == picture, *(is_body_of(address, body) for body in (picture, *others)),
]))
"""


@pytest.mark.slow
def test_a_row_kind_is_added_as_the_page_says(tmp_path: Path) -> None:
    assert copy_with("A row kind", tmp_path) == ["umi_core/rows.py"]
    assert read_json_output(tmp_path, PICTURE) == [True, True, False, False]


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
    "kept": item_json.from_json(item_json.to_json(item)) == item,
    "args": list(item.args),
    "schema": NAME in text(),
    "page": page(NAME).head,
    "needed": need.is_met,
    "drawn": NAME in draw(find("storm"), 0, {"faults.embed": "true", "faults.embed_mirrored": "1/2"}).faults,
}))
"""


@pytest.mark.slow
def test_a_fault_kind_is_added_as_the_page_says(tmp_path: Path) -> None:
    paths = copy_with("A fault kind", tmp_path)
    assert paths == ["umi_sim/faults/embedder.py", "mutants/vectors.toml"]
    assert read_json_output(tmp_path, FAULT) == {
        "module": "umi_sim.faults.embedder", "fired": ["embed_mirrored"], "kept": True, "args": ["index"],
        "schema": True, "page": "embed_mirrored: One vector of a batch comes back to front.", "needed": True,
        "drawn": True,
    }  # fmt: skip
    others, before = read_json_output(tmp_path, OTHERS), read_json_output(ROOT, OTHERS)
    moved = [seed for seed in range(40) if others[seed] != before[seed]]
    assert [
        seed for seed in moved if others[seed]
    ] == []  # but where it is the only kind, others have their rates

"""Goal: `explain` knows every word that a command shows, and the glossary says each thing once."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tests.unit.sim.commands import lines_of, umi
from tests.words_told import unknown
from umi_sim.explain import words
from umi_sim.explain.glossary import groups, meanings
from umi_sim.explain.words import page
from umi_sim.faults.declaration import CLASSES
from umi_sim.kernel.folders import PROJECT
from umi_sim.record.exit_codes import CODES, FailureKind
from umi_sim.record.rules import RULES
from umi_sim.record.trace import Tag
from umi_sim.scenario.drawing import LATENCIES, MODES
from umi_sim.scenario.files import list_shipped
from umi_sim.seedfile.fields import CONFIG_FIELDS
from umi_sim.sweep.report import WORDS
from umi_sim.world.schedule import POLICIES

LABELLED = ("row", "whole", "list_row", "under", "ReportRow", "labelled")


@pytest.fixture(autouse=True)
def _no_bites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "bite_of", lambda rule: None)  # these run worlds, and only to show one


def labels() -> Iterator[str]:
    """Every label that any code of ours gives to a row."""
    for path in sorted(Path(PROJECT, "umi_sim").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_row = (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LABELLED
            )
            if is_row and isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def test_every_label_of_a_row_is_known() -> None:
    found = set(labels())
    assert {"injected", "gate", "promised", "needed", "see it"} <= found
    assert unknown(sorted(found - {""})) == []


@pytest.mark.parametrize(
    "names",
    [
        [*get_args(FailureKind), *MODES, *LATENCIES, *POLICIES, *CLASSES],
        [tag.name for tag in Tag], list(map(str, CODES)), list(WORDS.values()), list(CONFIG_FIELDS),
        ["PASS", "FAIL", "SAME", "OK", "WROTE", "WHY", "DIVERGED", "UNEXPECTED PASS"],
        [str(rule).split()[0] for rule in RULES], [rule.id for rule in RULES], list(list_shipped()),
    ],
)  # fmt: skip
def test_every_word_of_a_closed_set_is_known(names: list[str]) -> None:
    assert unknown(names) == []


def test_words_that_readers_looked_up_in_vain_are_known() -> None:
    assert (
        unknown(["gate", "doubt", "pct(5)", "route:partial", "ttl-1", "without_effect", "step", "row"]) == []
    )
    report = json.loads(umi("explain", "gate", "--json").stdout)
    assert (report["word"], report["kind"]) == ("gate", "word")
    assert report["means"].startswith("the check that runs are repeatable")


def test_a_word_stands_once_and_its_meaning_is_a_sentence() -> None:
    assert len(meanings()) == sum(map(len, groups().values()))
    assert [word for word, means in meanings().items() if not means.endswith(".") or "|" in means] == []


@pytest.mark.parametrize("word", ["gate", "seed file", "storage_torn", "remember", "smoke", "130"])
def test_a_page_fits_a_narrow_terminal(word: str) -> None:
    lines = lines_of(page(word), 80)
    assert [line for line in lines if len(line) > 80 and "umi-sim run" not in line] == []

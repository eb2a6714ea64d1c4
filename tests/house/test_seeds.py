"""Goal: the page that says where each wish is done points at what exists: files, tests, bugs, settings."""

import re
from typing import Final

import click
import pytest

from tools.tables import DOCS
from umi_core.config import OPTIONS
from umi_sim.cli.root import cli
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.rules import RULES
from umi_sim.scenario.files import shipped

ROOT: Final = DOCS.parent
PAGE: Final = (DOCS / "seeds.md").read_text("utf-8")
ROWS: Final = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
WORDS: Final = ("here", "otherwise", "not here", "what stands")
PATHS: Final = sorted(set(re.findall(r"`((?:docs|tests|tools|umi_\w+)/[^`:]+)(?:::\w+)?`", PAGE)))
TESTS: Final = sorted(set(re.findall(r"`(tests/[^`]+)::(\w+)`", PAGE)))


def test_every_line_says_where_it_is() -> None:
    told = [line.split(" | ")[1] for line in ROWS if not line.startswith("| the seed says")]
    assert [it for it in told if not it.startswith(WORDS)] == []
    assert len(told) > 140
    assert len(re.findall(r"^## [0-4]\. ", PAGE, re.M)) == 5


@pytest.mark.parametrize("path", PATHS)
def test_every_file_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_every_test_that_is_named_exists(path: str, name: str) -> None:
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.M)


@pytest.mark.parametrize(
    ("what", "known"),
    [
        ("planted bugs?", MUTANTS), ("rule", {rule.name for rule in RULES}), ("scenario", shipped()),
        ("settings?", OPTIONS), ("umi-sim", cli.list_commands(click.Context(cli))),
    ],
)  # fmt: skip
def test_bugs_rules_scenarios_settings_and_commands_exist(what: str, known: object) -> None:
    pattern = r"`umi-sim (\w+)" if what == "umi-sim" else rf"\b{what} `([\w-]+)`"
    named = re.findall(pattern, PAGE)
    assert named
    assert [name for name in named if name not in known] == []  # type: ignore[operator]  # sets and tables


def test_every_class_that_is_named_exists() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "umi_core").rglob("*.py")]
    defined = set(re.findall(r"^(?:class (\w+)|([A-Z_]+)\b)", "\n".join(sources), re.M))
    named = {word for line in ROWS for word in re.findall(r"`([A-Z]\w+)\b", line.split(" | ", 1)[1])}
    assert len(named) > 10
    assert sorted(named - {word for pair in defined for word in pair}) == []

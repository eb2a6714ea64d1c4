"""Goal: the docs tell the truth: tables are those of the code, links lead somewhere, commands exist."""

import re
from pathlib import Path

import pytest

from tools.tables import DOCS, PAGES
from umi_sim.cli import cli

ROOT = Path(__file__).resolve().parent.parent.parent
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_table_in_the_docs_is_that_of_the_code(page: str) -> None:
    assert (DOCS / page).read_text() == PAGES[page](), f"run: python tools/tables.py ({page} is out of date)"


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    missing = [target for target in targets if not (path.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_every_command_that_is_named_exists(path: Path) -> None:
    named = re.findall(r"umi-sim ([a-z]+)\b", path.read_text())
    assert sorted(name for name in dict.fromkeys(named) if name not in cli.commands) == []

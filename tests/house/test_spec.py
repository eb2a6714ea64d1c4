"""Goal: the specification is one: each rule stands once, and what code, tests and docs cite stands there."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spec_tables import SPEC, cells, marked, plain, rows
from umi_sim.record.rules import ALSO as ALIASES
from umi_sim.record.rules import RULES, TEST

ROOT = SPEC.parent.parent
PAGES = sorted(path.stem for path in SPEC.glob("*.md"))
CITING = ("umi_core", "umi_sim", "tests", "tools", "docs", "scenarios", "examples")
SUFFIXES = (".py", ".md", ".toml", ".txt")

OF_PAGE = r"(?:M|EN|H|K|S|IV)[0-9]+\.[0-9]+"
CHECKED = (
    r"(?:TTL|CAP|REF|SER|SES|CORE|REN|ACC|SCO|PRO|EVI|ROU|EXT|RES|EVO|RET|VEC|STO|IDEM|DET|ISO|WF|ERR|KEL|MIG|LIVE|BND"
    r"|ORA)-[0-9]+|I-[A-Z]+(?:-[A-Z]+)*|E-[A-Z]+"
)
ID = re.compile(rf"(?<![\w.-])(?:{OF_PAGE}|{CHECKED})(?![\w-]|\.[0-9])")
RULE = re.compile(rf"^(?:- |\| )\*\*({OF_PAGE}|{CHECKED})\*\*", re.MULTILINE)
LETTERS = {
    "memory": "M", "engine": "EN", "hierarchy": "H", "kelpie": "K", "simulator": "S",
    "invariants": "IV",
}  # fmt: skip


def page_text(page: str) -> str:
    return (SPEC / f"{page}.md").read_text()


def stated(page: str) -> list[str]:
    """The ids of the rules of a page, in order."""
    return RULE.findall(page_text(page))


STATED = [rule_id for page in PAGES for rule_id in stated(page)]
ALSO = {row["also called"]: row["is"] for row in rows("invariants", "aliases")}


# Ids.


def test_each_rule_stands_once() -> None:
    assert [rule_id for rule_id, count in Counter(STATED).items() if count > 1] == []


@pytest.mark.parametrize("page", LETTERS)
def test_a_rule_stands_in_the_section_that_its_id_names(page: str) -> None:
    for section in re.split(r"^## (?=[0-9]+\. )", page_text(page), flags=re.MULTILINE)[1:]:
        number = section.partition(".")[0]
        own = [rule_id for rule_id in RULE.findall(section) if re.fullmatch(OF_PAGE, rule_id)]
        assert [rule_id for rule_id in own if not rule_id.startswith(f"{LETTERS[page]}{number}.")] == []


def texts() -> Iterator[tuple[str, str]]:
    paths = [path for folder in CITING for path in sorted((ROOT / folder).rglob("*"))]
    for path in (*paths, *ROOT.glob("*.md")):
        if path.suffix in SUFFIXES and path != Path(__file__):
            yield str(path.relative_to(ROOT)), path.read_text()


def test_every_id_that_is_cited_is_stated() -> None:
    known = {*STATED, *ALSO}
    missing = [(path, cited) for path, text in texts() for cited in ID.findall(text) if cited not in known]
    assert missing == []


def test_a_citation_is_found_and_what_only_looks_like_one_is_not() -> None:
    line = "as M4.2 and (EN5.12), I-READ-SCOPE; E-JUMP. TTL-1's, not M4.2.1, x.M4.2, UTF-8, I-, BM4.2, E-mail"
    assert ID.findall(line) == ["M4.2", "EN5.12", "I-READ-SCOPE", "E-JUMP", "TTL-1"]


# The tables of the code.


NAMED = re.compile(rf"^- \*\*({CHECKED})\*\* `([a-z-]+)`:", re.MULTILINE)


def test_every_rule_of_the_code_stands_on_its_page_under_its_name() -> None:
    named = [(f"docs/spec/{page}.md", *found) for page in PAGES for found in NAMED.findall(page_text(page))]
    assert sorted(named) == sorted((rule.page, rule.id, rule.name) for rule in RULES)


def test_a_rule_that_a_test_sees_names_the_test() -> None:
    tests = {plain(row["name"]): ROOT / plain(row["test"]) for row in rows("invariants", "rules of tests")}
    assert tests.keys() == {rule.name for rule in RULES if rule.seen_by == TEST}
    assert [path for path in tests.values() if not path.is_file()] == []


def test_rules_under_two_ids_are_those_of_the_code() -> None:
    names = {rule.id: rule.name for rule in RULES}
    assert {also: f"`{names[rule_id]}` ({rule_id})" for also, rule_id in ALIASES.items()} == ALSO


# Pages.


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_linked_from_the_start(page: str) -> None:
    assert f"](spec/{page}.md)" in (SPEC.parent / "index.md").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_every_worked_table_can_be_read(page: str) -> None:
    for kind, name in marked(page):
        if kind == "table":
            assert rows(page, name), name
            for row in rows(page, name):
                assert all(is_readable(cell) for cell in row.values()), (name, row)


def is_readable(cell: str) -> bool:
    """True for anything that does not look like JSON, and for JSON."""
    if not re.fullmatch(r'(`+)["\[{].*\1', cell):
        return True
    try:
        json.loads(plain(cell))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES)
def test_rows_of_all_tables_are_whole(page: str) -> None:
    """A bar inside a cell would move everything behind it."""
    for table in re.findall(r"^(\|.*\|\n\|[-|]+\|\n(?:\|.*\n)*)", page_text(page), re.MULTILINE):
        assert {len(cells(line)) for line in table.splitlines()} == {len(cells(table.splitlines()[0]))}, table

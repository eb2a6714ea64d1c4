"""The worked tables of docs/spec, as tests read them; a page is named without folder and ending.

    <!-- table: cut -->                  rows("memory", "cut")[0] == {"text": '`"aé"`', "bytes": "2", ...}
    | text | bytes | result |
    |---|---|---|
    | `"aé"` | 2 | `"a"` |         read_cell('`"aé"`') == "aé", whole("1_000") == 1_000, maybe("–") is None

A page is read once. What is not there is a KeyError that names it.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

SPEC: Final = Path(__file__).resolve().parent.parent / "docs" / "spec"
NOTHING: Final = "–"
MARK: Final = re.compile(r"<!-- (table|words|text): (.+) -->")

Row = dict[str, str]


def rows(page: str, name: str) -> list[Row]:
    """The rows below `<!-- table: name -->`, each by the heads of its columns; cells as they are written."""
    head, _, *body = part(page, "table", name)
    return [dict(zip(cells(head), cells(line), strict=True)) for line in body]


def words(page: str, name: str) -> list[str]:
    """The words of the fence below `<!-- words: name -->`."""
    return text(page, name, "words").split()


def text(page: str, name: str, kind: str = "text") -> str:
    """The text of the fence below `<!-- text: name -->`, without the newline before its end."""
    _, *lines = part(page, kind, name)
    return "\n".join(lines)


def whole(cell: str) -> int:
    """A number; `_` may stand between its digits."""
    return int(cell)


def maybe(cell: str) -> int | None:
    """A number, or nothing."""
    return None if cell == NOTHING else whole(cell)


def read_cell(cell: str) -> Any:
    """What a cell with JSON in backticks says."""
    return None if cell == NOTHING else json.loads(plain(cell))


def plain(cell: str) -> str:
    """A cell without the backticks around it."""
    ticks = len(cell) - len(cell.lstrip("`"))
    return cell[ticks : len(cell) - ticks]


# Pages.


def part(page: str, kind: str, name: str) -> list[str]:
    return marked(page)[kind, name]


@cache
def marked(page: str) -> dict[tuple[str, str], list[str]]:
    """What stands below each mark of a page: the lines of its table, or of its fence but the last one."""
    lines = (SPEC / f"{page}.md").read_text().split("\n")
    found: dict[tuple[str, str], list[str]] = {}
    for at, line in enumerate(lines, start=1):
        if mark := MARK.fullmatch(line):
            assert (mark[1], mark[2]) not in found, f"{page}.md has {line} twice"
            end = "" if mark[1] == "table" else "```"
            found[mark[1], mark[2]] = lines[at : lines.index(end, at)]
    return found


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]

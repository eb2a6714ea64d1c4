"""TOML from untrusted sources, bounded before tomllib parses it: size, nesting, dots and words."""

import re
import tomllib
from itertools import accumulate
from typing import Any, Final

from umi_core.text import show_value

Table = dict[str, Any]

FILE_BYTES_MAX: Final = 262_144
NESTING_MAX: Final = 16
DOTS_PER_LINE_MAX: Final = 16  # tomllib needs quadratic time for the parts of a key
WORD_CHARS_MAX: Final = 200


class BadScenario(Exception):
    """The scenario is refused; `problems` has one line for each finding."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


QUOTED: Final = re.compile(  # texts and comments; one without an end, which tomllib refuses, takes the rest
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*",
    re.DOTALL,
)
# Shells remove quotes, so --set run.policy=lifo and --set faults.link_loss=1/8 are texts; `true` and `inf`
# are TOML without quotes.
BARE: Final = re.compile(r"(?!(?:true|false|inf|nan)$)[a-z][a-z0-9_-]*|[0-9]+/[0-9]+")
DOTS: Final = re.compile(rf"(?:\.[^.\n]*){{{DOTS_PER_LINE_MAX + 1}}}")
LONG_WORD: Final = re.compile(rf"\b\w{{{WORD_CHARS_MAX + 1}}}")


def toml(text: str, name: str) -> Table:
    check_bounds(text, name)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadScenario(f"{name}: not TOML: {str(error)[:WORD_CHARS_MAX]}") from None


def check_bounds(text: str, name: str) -> None:
    # Brackets, dots and long words count only outside texts and comments.
    bare = QUOTED.sub("", text)
    # [[table]] goes two deep and back. A stray "]" makes the depth negative, but tomllib refuses it.
    steps = [1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", bare)]
    broken = {
        "not UTF-8": re.search(r"[\ud800-\udfff]", text),
        f"larger than {FILE_BYTES_MAX} bytes": len(text.encode(errors="surrogatepass")) > FILE_BYTES_MAX,
        f"nested more than {NESTING_MAX} deep": max(accumulate(steps, initial=0)) > NESTING_MAX,
        f"more than {DOTS_PER_LINE_MAX} dots in a line": DOTS.search(bare),
        f"a word of more than {WORD_CHARS_MAX} characters": LONG_WORD.search(bare),
    }
    if problems := [f"{name}: {problem}" for problem, is_so in broken.items() if is_so]:
        raise BadScenario(*problems)


def put(document: Table, key: str, text: str) -> None:
    """Set `table.key` to a TOML value; a word or ratio without quotes is a text."""
    try:
        given = toml(
            f'value = "{text}"' if BARE.fullmatch(text) else f"value = {text}", f"--set: {show_value(key)}"
        )
    except BadScenario as bad:
        raise BadScenario(*(f"{problem}, got {show_value(text)}" for problem in bad.problems)) from None
    *tables, last = key.split(".")
    table = document
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise BadScenario(f"--set: {show_value(key)}: unknown key")
    # "1\nother = 2" would set two keys, but only one value is allowed.
    if list(given) != ["value"]:
        raise BadScenario(f"--set: {show_value(key)}: expected one value, got {show_value(text)}")
    table[last] = given["value"]

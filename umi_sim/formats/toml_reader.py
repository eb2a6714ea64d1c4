"""TOML from anybody: bounded before it is parsed, then read by typed readers that tell what is wrong.

Law 1. Input is hostile: size, nesting, dots and words are bounded before tomllib sees a text.
Law 2. A reader takes a value and gives a checked one, or raises Wrong with one sentence for each finding.
Law 3. Whole numbers, flags, texts and ratios; no reader takes a float or a date.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NoReturn

from umi_core.text import shown
from umi_sim.kernel.prng import DENOMINATOR_MAX, Ratio
from umi_sim.kernel.wording import near

Range = tuple[int, int]
Table = dict[str, Any]
Findings = list[tuple[str, str]]  # keys, and what is wrong with each
Reader = Callable[[Any], Any]  # a value in, a checked value out, or Wrong

FILE_BYTES_MAX: Final = 262_144
NESTING_MAX: Final = 16
DOTS_PER_LINE_MAX: Final = 16  # tomllib takes quadratic time over the parts of a key
WORD_CHARS_MAX: Final = 200
FINDING_COUNT_MAX: Final = 50


class BadScenario(Exception):
    """The scenario is refused; `problems` has one line for each finding."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Wrong(Exception):
    """Not what a reader wants. `args` are findings, each about a key below the value or, as "", itself."""


# TOML, bounded.


class Float:
    """A number with a point, as it was written. No reader takes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


QUOTED: Final = re.compile(  # texts and comments; tomllib stops at one without an end, here it takes the rest
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*",
    re.DOTALL,
)
BARE: Final = re.compile(r"(?!(?:true|false|inf|nan)$)[a-z][a-z0-9_-]*|[0-9]+/[0-9]+")
DOTS: Final = re.compile(rf"(?:\.[^.\n]*){{{DOTS_PER_LINE_MAX + 1}}}")
LONG_WORD: Final = re.compile(rf"\b\w{{{WORD_CHARS_MAX + 1}}}")


def toml(text: str, name: str) -> Table:
    check_bounds(text, name)
    try:
        return tomllib.loads(text, parse_float=Float)
    except (ValueError, RecursionError) as error:
        raise BadScenario(f"{name}: not TOML: {str(error)[:WORD_CHARS_MAX]}") from None


def check_bounds(text: str, name: str) -> None:
    bare = QUOTED.sub("", text)
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
    """Sets `table.key` to a TOML value; a word or ratio whose quotes a shell took is a text."""
    try:
        given = toml(
            f'value = "{text}"' if BARE.fullmatch(text) else f"value = {text}", f"--set: {shown(key)}"
        )
    except BadScenario as bad:
        raise BadScenario(*(f"{problem}, got {shown(text)}" for problem in bad.problems)) from None
    *tables, last = key.split(".")
    for name in tables:
        document = document.setdefault(name, {})
        if not isinstance(document, dict):
            raise BadScenario(f"--set: {shown(key)}: unknown key")
    if list(given) != ["value"]:
        raise BadScenario(f"--set: {shown(key)}: expected one value, got {shown(text)}")
    document[last] = given["value"]


# Readers.


def fail(what: str, value: object) -> NoReturn:
    seen = str(value).lower() if isinstance(value, bool) else shown(str(value))
    note = "" if isinstance(value, int | str | list | dict) else " (floats and dates are not used)"
    raise Wrong(("", f"expected {what}, got " + (f'"{seen}"' if isinstance(value, str) else seen + note)))


def only(what: str, is_good: Callable[[Any], bool]) -> Reader:
    return lambda value: value if is_good(value) else fail(what, value)


def is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def whole(low: int, high: int) -> Reader:
    return only(f"a whole number from {low} to {high}", lambda value: is_whole(value, low, high))


def text(pattern: str, what: str = "") -> Reader:
    return only(what or pattern, lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)))


as_table: Final = only("a table", lambda value: isinstance(value, dict))
as_list: Final = only("a list", lambda value: isinstance(value, list))
flag: Final = only("true or false", lambda value: isinstance(value, bool))
line: Final = text(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}", "1 to 200 characters in a line")


def span(low: int, high: int) -> Reader:
    """A number, or [low, high] from which one is drawn."""
    what = f"a whole number or [low, high], {low} to {high}"

    def read_span(value: object) -> Range:
        ends: list[Any] = value if isinstance(value, list) else [value, value]
        is_good = len(ends) == 2 and all(is_whole(end, low, high) for end in ends) and ends[0] <= ends[1]
        return (ends[0], ends[1]) if is_good else fail(what, value)

    return read_span


def flag_or_any(value: object) -> Range:
    """The least and the greatest that the flag may be."""
    if isinstance(value, bool):
        return (value, value)
    return (False, True) if value == "any" else fail('true, false or "any"', value)


def ratio(value: object) -> Ratio:
    found = re.fullmatch(r"([0-9]{1,10})/([0-9]{1,10})", value) if isinstance(value, str) else None
    n, d = (int(found[1]), int(found[2])) if found else (1, 0)
    is_good = n <= d and 1 <= d <= DENOMINATOR_MAX
    return (n, d) if is_good else fail('a ratio "n/d" with n <= d <= 10^9', value)


def rate(value: object) -> bool | Ratio:
    return value if isinstance(value, bool) else ratio(value)


def names(read_name: Reader) -> Reader:
    """A list of different names, at least one."""

    def read_names(value: object) -> tuple[str, ...]:
        given = [read_name(each) for each in as_list(value)]
        if not given:
            fail("at least one name", value)
        return tuple(given) if len(dict.fromkeys(given)) == len(given) > 0 else fail("different names", value)

    return read_names


def table(schema: Mapping[str, Reader], *needs: str) -> Reader:
    """A table with these keys; what is wrong in it is told together."""

    def read_table(value: object) -> Table:
        values, findings = read_each(as_table(value), schema, needs)
        if findings:
            raise Wrong(*findings)
        return values

    return read_table


def read_each(given: Table, schema: Mapping[str, Reader], needs: Sequence[str]) -> tuple[Table, Findings]:
    """What could be read, and what is wrong with the rest."""
    values: Table = {}
    findings = [(key, "missing") for key in needs if key not in given]
    for key, value in given.items():
        try:
            if key not in schema:
                raise Wrong(("", f"unknown key{near(key, list(schema))}"))
            values[key] = schema[key](value)
        except Wrong as wrong:
            findings += [(".".join(filter(None, (shown(key), below))), said) for below, said in wrong.args]
        if len(findings) >= FINDING_COUNT_MAX:
            break
    return values, findings

"""Scenarios: worlds as TOML files, checked as a whole, then drawn into the configuration of one run.

Law 1. A file is refused with all its findings at once, or all of it is in range and drawing cannot fail.
Law 2. Whole numbers, flags, texts, ratios. Input is hostile: size and nesting are bounded before it is parsed.
Law 3. Every option has a stream of its own, named by its key: an option that is pinned or added moves no other.
Law 4. What a file leaves out is drawn. A table of names that it gives ([faults], weights) holds all there are.
"""

import copy
import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NoReturn

import attrs

from umi_core.config import OPTIONS, Config
from umi_core.errors import Rejected, shown
from umi_core.inputs import REQUESTS
from umi_core.limits import CORE_BYTES_MIN, DAY_MS, OP_COUNT_MAX
from umi_core.values import Scope
from umi_sim.faults import KINDS
from umi_sim.prng import DENOMINATOR_MAX, Stream
from umi_sim.run_config import AgentConfig, Ratio, RunConfig

Range = tuple[int, int]
Table = dict[str, Any]
Finding = tuple[str, str]  # the key, and what is wrong with it
Reader = Callable[[Any], Any]  # a value in, a checked value out, or Wrong

FILE_BYTES_MAX: Final = 262_144
NESTING_MAX: Final = 16
DOTS_PER_LINE_MAX: Final = 64  # tomllib takes quadratic time over the parts of a key
WORD_CHARS_MAX: Final = 200
FINDING_COUNT_MAX: Final = 50
SKEW_MS_MAX: Final = 30 * DAY_MS
NO_OVERRIDES: Final[Mapping[str, str]] = MappingProxyType({})

TINY: Final[Mapping[str, Range]] = {
    "core_bytes_max": (CORE_BYTES_MIN, CORE_BYTES_MIN),
    "core_entry_count_max": (1, 8),
    "working_bytes_max": (64, 512),
    "working_entry_count_max": (1, 8),
}
OFTEN: Final = {  # where the file is silent; every other request has 1, together they have 64
    "remember": 7, "recall": 6, "set": 6, "get": 4, "touch": 3, "incr": 3, "append": 3, "set_block": 3, "forget": 3,
    "delete": 2, "render": 2, "rebalance": 2, "create_session": 2, "save_session": 2, "load_session": 2,
}  # fmt: skip
FLOORS: Final = {  # a swarm run leaves out half of its requests, but of each row at least one stays
    "write": ("set", "incr", "append", "set_block", "create_session", "remember"),
    "read": ("get", "exists", "get_block", "blocks", "in_core", "render", "recall", "get_entity", "count"),
    "any": tuple(REQUESTS),
}


class BadScenario(Exception):
    """The scenario is refused; `problems` has one line for each finding."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


# Which scenario.


def find(name_or_path: str) -> "Scenario":
    """A shipped scenario by its id, or the file at a path that ends in .toml."""
    known = shipped()
    if name_or_path not in known and not name_or_path.endswith(".toml"):
        raise BadScenario(f"{shown(name_or_path)}: no such scenario{near(name_or_path, list(known), 99)}")
    return load(known.get(name_or_path) or Path(name_or_path))


def shipped() -> dict[str, Path]:
    """The files that come with umi_sim, by id, in order of ids."""
    here = Path(__file__).resolve().parent
    folder = here / "_scenarios" if (here / "_scenarios").is_dir() else here.parent / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load(path: Path) -> "Scenario":
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ValueError("not a file")
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadScenario(f"{shown(str(path))}: cannot be read: {why}") from None
    return parse(data.decode(errors="surrogateescape"), shown(path.name), path.parent)


def parse(text: str, name: str, folder: Path | None) -> "Scenario":
    """The scenario in a text. `name` is what problems call it, `folder` where its transcript lies."""
    return checked(toml(text, name), name, folder)


def overridden(scenario: "Scenario", overrides: Mapping[str, str]) -> "Scenario":
    """The scenario with `table.key` -> value, as TOML, in place of its own."""
    document = copy.deepcopy(scenario.document)
    for key, value in overrides.items():
        put(document, key, value)
    return checked(document, "--set", scenario.folder)


def checked(document: Table, name: str, folder: Path | None) -> "Scenario":
    """Contradictions are looked for in all that could be read, even if something else is wrong."""
    values, findings = read_each(document, schema(), ("scenario",))
    rows = [values.pop(name, {}) for name in ("scenario", "agents", "workload", "clock", "services", "run")]
    scenario = Scenario(document, folder, **{key: value for row in (*rows, values) for key, value in row.items()})
    findings += contradictions(scenario)
    if findings:
        raise BadScenario(*(f"{name}: {key}: {sentence}" for key, sentence in findings))
    return attrs.evolve(scenario, transcript=transcript_path(scenario))


# TOML, bounded. A float arrives as bytes, which no reader takes.

QUOTED: Final = re.compile(  # texts and comments; tomllib stops at one without an end, here it takes the rest
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)' r"|'''.*?(?:'{3,5}|\Z)" r'|"(?:[^"\\\n]|\\.)*"?' r"|'[^'\n]*'?" r"|#[^\n]*",
    re.DOTALL,
)
BARE: Final = re.compile(r"(?!(?:true|false|inf|nan)$)[a-z][a-z0-9_]*|[0-9]+/[0-9]+")  # quotes taken by a shell


def toml(text: str, name: str) -> Table:
    bare = QUOTED.sub("", text)
    steps = [1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", bare)]
    bounds = {
        "not UTF-8": re.search(r"[\ud800-\udfff]", text),
        f"larger than {FILE_BYTES_MAX} bytes": len(text.encode(errors="surrogatepass")) > FILE_BYTES_MAX,
        f"nested more than {NESTING_MAX} deep": max(accumulate(steps, initial=0)) > NESTING_MAX,
        f"more than {DOTS_PER_LINE_MAX} dots in a line": re.search(rf"(\.[^.\n]*){{{DOTS_PER_LINE_MAX + 1}}}", bare),
        f"a word of more than {WORD_CHARS_MAX} characters": re.search(rf"\w{{{WORD_CHARS_MAX + 1}}}", bare),
    }
    if found := [problem for problem, is_so in bounds.items() if is_so]:
        raise BadScenario(*(f"{name}: {problem}" for problem in found))
    try:
        return tomllib.loads(text, parse_float=str.encode)
    except (ValueError, RecursionError) as error:
        raise BadScenario(f"{name}: not TOML: {str(error)[:WORD_CHARS_MAX]}") from None


def put(document: Table, key: str, value: str) -> None:
    *tables, last = key.split(".")
    for name in tables:
        document = document.setdefault(name, {})
        if not isinstance(document, dict):
            raise BadScenario(f"--set: {shown(key)}: unknown key")
    text = f'value = "{value}"' if BARE.fullmatch(value) else f"value = {value}"
    document[last] = toml(text, f"--set: {shown(key)}")["value"]


# Readers.


class Wrong(Exception):
    """Not what a reader wants. Its arguments are findings, each about a key below the value, or "" for itself."""


def fail(what: str, value: object) -> NoReturn:
    seen = value.decode() if isinstance(value, bytes) else str(value)
    seen = seen.lower() if isinstance(value, bool) else shown(seen)
    note = "" if isinstance(value, int | str | list | dict) else " (floats and dates are not used)"
    raise Wrong(("", f'expected {what}, got "{seen}"' if isinstance(value, str) else f"expected {what}, got {seen}{note}"))


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
name: Final = text("[a-z0-9][a-z0-9_-]{0,59}", "1 to 60 of a-z 0-9 _ -")


def span(low: int, high: int) -> Reader:
    """A number, or [low, high] from which one is drawn."""

    def read_span(value: object) -> Range:
        ends = value if isinstance(value, list) else [value, value]
        is_good = len(ends) == 2 and all(is_whole(end, low, high) for end in ends) and ends[0] <= ends[1]
        return (ends[0], ends[1]) if is_good else fail(f"a whole number or [low, high], {low} to {high}", value)

    return read_span


def flag_or_any(value: object) -> Range:
    """The least and the greatest that the flag may be."""
    return (False, True) if value == "any" else (flag(value), flag(value))


def ratio(value: object) -> Ratio:
    found = re.fullmatch(r"([0-9]{1,10})/([0-9]{1,10})", value) if isinstance(value, str) else None
    n, d = (int(found[1]), int(found[2])) if found else (1, 0)
    return (n, d) if n <= d and 1 <= d <= DENOMINATOR_MAX else fail('a ratio "n/d" with n <= d <= 10^9', value)


def names(pattern: str) -> Reader:
    """A list of different names, at least one."""

    def read_names(value: object) -> tuple[str, ...]:
        given = [text(pattern)(each) for each in as_list(value)]
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


def read_each(given: Table, schema: Mapping[str, Reader], needs: Sequence[str]) -> tuple[Table, list[Finding]]:
    """What could be read, and what is wrong with the rest."""
    values: Table = {}
    findings = [(key, "missing") for key in needs if key not in given]
    for key, value in given.items():
        try:
            if key not in schema:
                raise Wrong(("", f"unknown key{near(key, list(schema))}"))
            values[key] = schema[key](value)
        except Wrong as wrong:
            findings += [(f"{shown(key)}.{below}".rstrip("."), sentence) for below, sentence in wrong.args]
        if len(findings) >= FINDING_COUNT_MAX:
            break
    return values, findings


def near(name: str, known: Sequence[str], listed_max: int = 12) -> str:
    """What may have been meant; if nothing is like it, the choice."""
    close = difflib.get_close_matches(name[:WORD_CHARS_MAX], known, 1)
    listed = f"; known: {', '.join(known)}" if 0 < len(known) <= listed_max else ""
    return f"; did you mean {close[0]}?" if close else listed


def marks(value: object) -> Mapping[str, Ratio]:
    floors: Mapping[str, Ratio] = table({line(name): ratio for name in as_table(value)})(value)
    return floors


def script(value: object) -> tuple[Table, ...]:
    ops = {str(index): op for index, op in enumerate(as_list(value))}
    return tuple(table(dict.fromkeys(ops, scripted))(ops).values())


def scripted(value: object) -> Table:
    """One op; its arguments are those of its request, written as in a seed file."""
    op: Table = {"args": {}} | OP(value)
    fields = attrs.fields(REQUESTS[op["name"]])[1:]
    needs = [field.name for field in fields if field.default is attrs.NOTHING]
    return op | table({"args": table({field.name: argument for field in fields}, *needs)})({"args": op["args"]})


def argument(value: object) -> object:
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        argument(each)
    is_good = isinstance(value, bool | str | list | dict) or is_whole(value, -(2**63), 2**64 - 1)
    return value if is_good else fail("an argument", value)


# The file, and the configuration drawn from it.

TIME_MS: Final = whole(0, 2**52)
REQUEST: Final = text("|".join(REQUESTS), "the name of a request")
OP: Final = table({"at_ms": TIME_MS, "agent": text("[a-d]"), "name": REQUEST, "args": as_table}, "at_ms", "agent", "name")
WEIGHTS: Final = table(dict.fromkeys(REQUESTS, whole(1, 100)))
MEMORY: Final = table({option: span(*ends) if ends else flag_or_any for option, ends in OPTIONS.items()})
RATES: Final = dict.fromkeys((*KINDS, *(kind.group for kind in KINDS.values())), lambda value: value if isinstance(value, bool) else ratio(value))

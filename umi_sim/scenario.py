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

from umi_core import limits
from umi_core.config import OPTIONS, Config
from umi_core.errors import Rejected, shown
from umi_core.inputs import REQUESTS
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
KNOWN_COUNT_MAX: Final = 12  # of more names than these a message lists none
START_MS_MAX: Final = 2**52
SKEW_MS_MAX: Final = 30 * limits.DAY_MS
AGENT_COUNT_WEIGHTS: Final = {"a": 4, "b": 3, "c": 2, "d": 1}  # by the name of the last agent

TINY: Final[Mapping[str, Range]] = {
    "core_bytes_max": (limits.CORE_BYTES_MIN, limits.CORE_BYTES_MIN),
    "core_entry_count_max": (1, 8),
    "working_bytes_max": (64, 512),
    "working_entry_count_max": (1, 8),
}
OFTEN: Final = {  # a life where the file is silent; the other requests have 1, all together 64
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


class Wrong(Exception):
    """What is wrong with a value: a sentence, or findings about keys below it."""

    def __init__(self, *findings: str | Finding) -> None:
        super().__init__(findings)
        self.findings = [("", each) if isinstance(each, str) else each for each in findings]


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
    try:
        return checked(toml(text), folder)
    except Wrong as wrong:
        raise refused(name, wrong) from None


def overridden(scenario: "Scenario", overrides: Mapping[str, str]) -> "Scenario":
    """The scenario with `table.key` -> value, as TOML, in place of its own."""
    document = copy.deepcopy(scenario.document)
    try:
        for key, value in overrides.items():
            put(document, key, value)
        return checked(document, scenario.folder)
    except Wrong as wrong:
        raise refused("--set", wrong) from None


def refused(name: str, wrong: Wrong) -> BadScenario:
    return BadScenario(*(": ".join(filter(None, (name, *finding))) for finding in wrong.findings))


def checked(document: Table, folder: Path | None) -> "Scenario":
    """What could be read is looked at for contradictions even if another table is wrong."""
    tables, findings = read_each(document, schema(), ("scenario",))
    rows = (each if isinstance(attribute := name, str) and name not in WHOLE else {attribute: each} for name, each in tables.items())
    scenario = Scenario(document, folder, **{key: value for row in rows for key, value in row.items()})
    findings += contradictions(scenario)
    if findings:
        raise Wrong(*findings)
    return attrs.evolve(scenario, transcript=transcript_path(scenario))


# TOML, bounded. A float arrives as bytes, which no reader takes.

QUOTED: Final = re.compile(  # texts and comments; tomllib stops at one without an end, here it takes the rest
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)' r"|'''.*?(?:'{3,5}|\Z)" r'|"(?:[^"\\\n]|\\.)*"?' r"|'[^'\n]*'?" r"|#[^\n]*",
    re.DOTALL,
)
UNQUOTED_BY_SHELL: Final = re.compile(r"(?!(true|false|inf|nan)$)[a-z][a-z0-9_]*|[0-9]+/[0-9]+")


def toml(text: str) -> Table:
    check_bounds(text)
    try:
        return tomllib.loads(text, parse_float=str.encode)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"not TOML: {str(error)[:WORD_CHARS_MAX]}") from None


def check_bounds(text: str) -> None:
    bare = QUOTED.sub("", text)
    steps = [1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", bare)]
    problems = {
        "not UTF-8": re.search(r"[\ud800-\udfff]", text),
        f"larger than {FILE_BYTES_MAX} bytes": len(text.encode(errors="surrogatepass")) > FILE_BYTES_MAX,
        f"nested more than {NESTING_MAX} deep": max(accumulate(steps, initial=0)) > NESTING_MAX,
        f"more than {DOTS_PER_LINE_MAX} dots in a line": re.search(rf"(\.[^.\n]*){{{DOTS_PER_LINE_MAX + 1}}}", bare),
        f"a word of more than {WORD_CHARS_MAX} characters": re.search(rf"\w{{{WORD_CHARS_MAX + 1}}}", bare),
    }
    if found := [problem for problem, is_so in problems.items() if is_so]:
        raise Wrong(*found)


def put(document: Table, key: str, value: str) -> None:
    *tables, last = key.split(".")
    for name in tables:
        document = document.setdefault(name, {})
        if not isinstance(document, dict):
            raise Wrong((shown(key), "unknown key"))
    try:
        (document[last],) = toml(f'value = "{value}"' if UNQUOTED_BY_SHELL.fullmatch(value) else f"value = {value}").values()
    except (Wrong, ValueError):
        raise Wrong((shown(key), f"expected a value in TOML, got {shown(value)}")) from None


# Readers.


def fail(what: str, value: object) -> NoReturn:
    seen = value.decode() if isinstance(value, bytes) else str(value)
    seen = seen.lower() if isinstance(value, bool) else shown(seen)
    is_known = isinstance(value, int | str | list | dict)
    quoted = f'"{seen}"' if isinstance(value, str) else seen
    raise Wrong(f"expected {what}, got {quoted}{'' if is_known else ' (floats and dates are not used)'}")


def only(what: str, is_good: Callable[[Any], bool]) -> Reader:
    return lambda value: value if is_good(value) else fail(what, value)


def is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def whole(low: int, high: int) -> Reader:
    return only(f"a whole number from {low} to {high}", lambda value: is_whole(value, low, high))


def one_of(*names: str) -> Reader:
    return only(f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names)


def text(pattern: str, what: str) -> Reader:
    return only(what, lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)))


as_table: Final = only("a table", lambda value: isinstance(value, dict))
as_list: Final = only("a list", lambda value: isinstance(value, list))
flag: Final = only("true or false", lambda value: isinstance(value, bool))
line: Final = text(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}", "1 to 200 characters in a line")
name: Final = text("[a-z0-9][a-z0-9_-]{0,59}", "1 to 60 of a-z 0-9 _ -")

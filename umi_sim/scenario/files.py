"""Scenarios: worlds as TOML files, checked completely; umi_sim.scenario.drawing draws runs from them.

Law 1. Either a file is refused with all its findings at once, or every value is in range and drawing cannot
       fail.
Law 2. Input is hostile: toml_reader.py bounds a file before parsing it, and a schema checks every value.
Law 3. Options that a file leaves out are drawn. A table of names in a file ([faults], weights) is complete:
       names that it leaves out are off.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, get_args

from msgspec import structs

from umi_core.config import OPTIONS, Config
from umi_core.data import Data, list_fields
from umi_core.errors import Rejected
from umi_core.limits import ACCESS_PRUNE_MS, OP_COUNT_MAX, PAGE_ROW_COUNT_MAX
from umi_core.messages.requests import REQUESTS, arguments_of
from umi_core.text import show_value
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.schema import (
    FLAG,
    OBJECT,
    RATIO,
    Json,
    Schema,
    at,
    choice,
    fail,
    list_of,
    map_of,
    mapping,
    one_of,
    read_fields,
    table,
    text,
    then,
    whole,
    wrong,
)
from umi_sim.formats.strict_json import bytes_of
from umi_sim.formats.toml_reader import FILE_BYTES_MAX, BadScenario, Table, put, toml
from umi_sim.formats.values import op_args
from umi_sim.judge import equivalences
from umi_sim.kernel import folders
from umi_sim.kernel.prng import Ratio
from umi_sim.kernel.wording import escape_text, suggest_names
from umi_sim.machines.limits import LIMITS
from umi_sim.machines.table import TARGETS, list_unserved
from umi_sim.record.category_lists import LISTS
from umi_sim.record.rules import RULES
from umi_sim.record.run_config import PAUSE_MS_MAX, RunConfig
from umi_sim.scenario import action_set as exploring
from umi_sim.scenario.drawing import LATENCIES, MODES, config_of, possible_kinds

__all__ = ["BadScenario", "Scenario", "draw", "find", "list_shipped", "load", "parse"]

Range = tuple[int, int]
KEYED: Final = ("key", "stored_key", "moved_id")  # the domains of values that workload.keys counts
NO_OVERRIDES: Final[Mapping[str, str]] = MappingProxyType({})


# Finding and reading.


def find(name_or_path: str) -> "Scenario":
    """Return a shipped scenario by its id, or the one in the file at a path that ends in .toml."""
    known = list_shipped()
    if name_or_path not in known and not name_or_path.endswith(".toml"):
        hint = suggest_names(name_or_path, known) or "; umi-sim scenarios lists them"
        raise BadScenario(f"{show_value(name_or_path)}: no such scenario{hint}")
    return load(known.get(name_or_path) or Path(name_or_path))


def of(config: RunConfig, path: str = "") -> "Scenario":
    """Return the scenario that a run was drawn from: the one in the file at `path`, or the shipped one.

    Raises BadScenario, also if the file has another scenario or version.
    """
    wanted, known = config.scenario, list_shipped()
    if not path and wanted not in known:
        raise BadScenario(f"the scenario {show_value(wanted)} is your own: name its file, --scenario FILE")
    found = find(path or wanted)
    if found.id != wanted:
        raise BadScenario(
            f"{escape_text(path)}: is the scenario {found.id}, the run is one of {show_value(wanted)}"
        )
    if found.version != config.version:
        versions = f"version {config.version}, it is at version {found.version} now"
        raise BadScenario(f"recorded for {wanted} {versions}: its seeds mean something else")
    return found


def list_shipped() -> dict[str, Path]:
    """Return the paths of the scenarios that come with umi_sim, by id, in order of ids."""
    return {path.stem: path for path in sorted(folders.SCENARIOS.glob("*.toml"))}


def load(path: Path) -> "Scenario":
    """Return the scenario in a file. Raises BadScenario, with the path relative to the current folder."""
    here = Path.cwd()
    name = escape_text(str(path.relative_to(here) if path.is_relative_to(here) else path))
    try:
        data = bytes_of(path, FILE_BYTES_MAX)
    except OSError as error:
        raise BadScenario(f"{name}: cannot be read: {error.strerror}") from None
    # Bytes that are not UTF-8 become lone surrogates, for which `check_bounds` has a message.
    return parse(data.decode(errors="surrogateescape"), name, path.parent)


def parse(text: str, name: str, folder: Path | None) -> "Scenario":
    """Return the scenario in a text. `name`: the file in errors; `folder`: the folder of its transcript."""
    return check_document(toml(text, name), name, folder)


def overridden(scenario: "Scenario", overrides: Mapping[str, str]) -> "Scenario":
    """Return the scenario with overrides: a TOML value for each `table.key`."""
    # The whole document is checked again, because an override may contradict the rest of the file.
    document = copy.deepcopy(scenario.document)
    for key, value in overrides.items():
        put(document, key, value)
    changed = check_document(document, "--set", scenario.folder)
    return structs.replace(changed, settings={**scenario.settings, **overrides})


def check_document(document: Table, name: str, folder: Path | None) -> "Scenario":
    """Return the scenario. Raises BadScenario with all findings: unreadable values, and contradictions."""
    values, findings = read_fields(document, tables(), ("scenario",))
    rows = [values.pop(each, {}) for each in ("scenario", "agents", "workload", "clock", "services", "run")]
    given = {key: value for row in (*rows, values) for key, value in row.items()}
    # Built from all readable values even if there are findings, so that contradictions are reported, too.
    scenario = Scenario(document, folder, **given)
    findings += contradictions(scenario)
    if findings:
        raise BadScenario(*(f"{name}: {key}: {sentence}" for key, sentence in findings))
    return structs.replace(scenario, transcript=transcript_path(scenario))


# The schema of a file.


def span(low: int, high: int) -> Schema:
    """Return the schema of a number, or of a range [low, high] from which one is drawn."""
    what = f"a whole number or [low, high], {low} to {high}"

    def read(value: Json) -> Range:
        ends: list[Any] = value if isinstance(value, list) else [value, value]
        # `type`, not isinstance: a bool is an int, but `true` is no number.
        is_good = len(ends) == 2 and all(type(end) is int and low <= end <= high for end in ends)
        return (ends[0], ends[1]) if is_good and ends[0] <= ends[1] else fail(what, value)

    return Schema(read, dict)


def read_flag_or_any(value: Json) -> Range:
    """Return the least and the greatest value of a flag, or of "any"."""
    if isinstance(value, bool):
        return (value, value)
    return (False, True) if value == "any" else fail('true, false or "any"', value)


def can_be_off(name: str) -> str:
    return wrong(f"{name} cannot be off") if name in ALWAYS_ON else name


def type_op(op: Table) -> Table:
    """Return an op of a script with typed arguments; in the file they are written as in a seed file."""
    return {**op, "args": at("args", lambda args: op_args(op["name"], args), op.get("args", {}))}


def names(each: Schema) -> Schema:
    """Return the schema of a list of different names, at least one."""
    return list_of(each, count_min=1, unique="names")


ID: Final = text("[a-z0-9_]{1,40}", "1 to 40 of a-z 0-9 _")
HYPHENED: Final = text("[a-z0-9-]{1,60}", "a name of a-z 0-9 -")
LINE: Final = text(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}", "1 to 200 characters in a line")
ALWAYS_ON: Final = tuple(rule.name for rule in RULES if not rule.can_be_off)
OFF: Final = then(one_of([rule.name for rule in RULES], "rule (umi-sim explain lists them)"), can_be_off)
TIME_MS: Final = whole(0, 2**52)
POLICY: Final = text(r"fifo|lifo|random|pct(\([1-5]\))?", "fifo, lifo, random, pct, or pct(1) to pct(5)")
OP: Final = table(
    {
        "at_ms": TIME_MS, "agent": text("[a-d]", "an agent from a to d"),
        "name": one_of(REQUESTS, "request"), "args": OBJECT,
    }, "at_ms", "agent", "name",
)  # fmt: skip
WEIGHTS: Final = map_of(REQUESTS, "request", whole(1, 100))
ANY_FLAG: Final = Schema(read_flag_or_any, dict)
MEMORY: Final = table({option: span(*ends) if ends else ANY_FLAG for option, ends in OPTIONS.items()})
RATE: Final = choice({bool: FLAG, str: RATIO}, 'true, false or a ratio "n/d"')
GROUPS: Final = [kind.group for kind in KINDS.values()]
FAULTS: Final = map_of((*KINDS, *GROUPS), "kind of fault (`umi-sim faults` lists them)", RATE)
SWARM: Final = table(
    {
        "mode": one_of(("any", *MODES), "mode"), "sites": one_of(("some", "all"), "sites"),
        "pin": table({"kind": one_of(KINDS, "kind of fault"), "tiny": FLAG, "loss": FLAG}),
    }
)  # fmt: skip
STORAGE: Final = table({"capacity_bytes": whole(1, 2**40), "page_rows": span(1, PAGE_ROW_COUNT_MAX)})
LOWERED: Final = table({name: span(1, limit) for name, limit in LIMITS.items()})
EQUIVALENCES: Final = list_of(one_of(equivalences.NAMES, "equivalence"), unique="names")
NEEDS: Final = {"scenario": ("id", "title")}


class Key(NamedTuple):
    """The table of a field in a file, and its schema."""

    table: str
    schema: Schema


class Scenario(Data):
    """A checked file: each field has the name of its key. Keys that are left out are None, or empty."""

    document: Table
    uncompared = ("document",)
    folder: Path | None
    settings: Mapping[str, str] = {}  # the overrides
    id: Annotated[str, Key("scenario", ID)] = ""
    version: Annotated[int, Key("scenario", whole(1, 1_000_000))] = 1
    title: Annotated[str, Key("scenario", LINE)] = ""
    target: Annotated[str, Key("scenario", one_of(TARGETS, "target"))] = "umi_core"
    manual: Annotated[bool, Key("scenario", FLAG)] = False
    mutant: Annotated[str | None, Key("scenario", HYPHENED)] = None
    swarm: Annotated[Mapping[str, Any], Key("scenario", SWARM)] = {}
    count: Annotated[tuple[int, int] | None, Key("agents", span(1, 4))] = None
    users: Annotated[tuple[int, int] | None, Key("agents", span(1, 4))] = None
    scopes: Annotated[str, Key("agents", one_of(("plain", "hostile"), "kind of scopes"))] = "plain"
    in_flight: Annotated[tuple[int, int] | None, Key("agents", span(1, OP_COUNT_MAX + 1))] = None
    categories: Annotated[Sequence[str], Key("agents", names(one_of(LISTS, "list of categories")))] = ()
    kind: Annotated[
        str, Key("workload", one_of(("generated", "transcript", "script"), "kind of workload"))
    ] = "generated"
    operations: Annotated[tuple[int, int] | None, Key("workload", span(1, 100_000))] = None
    keys: Annotated[tuple[int, int] | None, Key("workload", span(1, 1_000))] = None
    weights: Annotated[Mapping[str, int] | None, Key("workload", WEIGHTS)] = None
    adversarial: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    edges: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    short_blocks: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    media: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    retold: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    nearly: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    repeat: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    retry: Annotated[tuple[int, int] | None, Key("workload", RATIO)] = None
    pause_ms_max: Annotated[int, Key("workload", whole(1, ACCESS_PRUNE_MS))] = PAUSE_MS_MAX
    alike: Annotated[bool, Key("workload", FLAG)] = False
    transcript: Annotated[str | None, Key("workload", LINE)] = None
    script: Annotated[tuple[Table, ...], Key("workload", list_of(then(OP, type_op)))] = ()
    start_ms: Annotated[int | None, Key("clock", TIME_MS)] = None
    land: Annotated[tuple[int, int] | None, Key("clock", RATIO)] = None
    skew: Annotated[bool | None, Key("clock", FLAG)] = None
    jumps: Annotated[bool | None, Key("clock", FLAG)] = None
    latency: Annotated[Sequence[str], Key("services", names(one_of(LATENCIES, "latency")))] = ()
    flush_ms: Annotated[int, Key("services", whole(0, 60_000))] = 1
    storage: Annotated[Mapping[str, Any], Key("services", STORAGE)] = {}
    tamper_every: Annotated[tuple[int, int] | None, Key("services", span(0, 1_000))] = None
    policy: Annotated[Sequence[str], Key("run", names(POLICY))] = ()
    revise_every: Annotated[tuple[int, int] | None, Key("run", span(0, 1_000))] = None
    steps_max: Annotated[int | None, Key("run", whole(1, 10_000_000))] = None
    marks: Annotated[Mapping[str, Ratio], Key("run", mapping(RATIO, key=LINE))] = {}
    off: Annotated[tuple[str, ...], Key("run", names(OFF))] = ()
    equivalences: Annotated[Sequence[str] | None, Key("run", EQUIVALENCES)] = None
    reason: Annotated[str | None, Key("run", LINE)] = None
    memory: Annotated[Mapping[str, Range], Key("", MEMORY)] = {}
    limits: Annotated[Mapping[str, Range], Key("", LOWERED)] = {}
    faults: Annotated[Mapping[str, bool | Ratio] | None, Key("", FAULTS)] = None
    explore: Annotated[exploring.ActionSet | None, Key("", exploring.ACTION_SET)] = None

    @property
    def pin(self) -> Mapping[str, Any]:
        """Return the settings that swarm and one_kind do not draw."""
        pinned: Mapping[str, Any] = self.swarm.get("pin", {})
        return pinned


def tables() -> dict[str, Schema]:
    rows: dict[str, dict[str, Schema]] = {}
    # Without `document`, `folder` and `settings`, which are not keys of a file.
    for field in list_fields(Scenario)[3:]:
        key = next(it for it in get_args(field.type) if isinstance(it, Key))
        rows.setdefault(key.table, {})[field.name] = key.schema
    whole_tables = rows.pop("")
    return {name: table(row, *NEEDS.get(name, ())) for name, row in rows.items()} | whole_tables


def contradictions(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for kind, given in (("transcript", scenario.transcript), ("script", scenario.script)):
        if scenario.kind == kind and not given:
            yield f"workload.{kind}", f'missing, kind = "{kind}" needs one'
        if scenario.kind != kind and given:
            yield f"workload.{kind}", f'belongs to kind = "{kind}", and to no other'
    if scenario.transcript and not transcript_path(scenario):
        yield (
            "workload.transcript",
            f"{show_value(scenario.transcript)} is no file in the folder of the scenario",
        )
    # Every run follows the whole script, so it may use only agents that the smallest run has.
    count_min = (scenario.count or (1, 4))[0]
    for index, op in enumerate(scenario.script):
        if op["agent"] not in "abcd"[:count_min]:
            yield f"workload.script[{index}].agent", f"only {count_min} of agents.count are in every run"
    if scenario.pin.get("loss") is False:
        destroying = [name for name, kind in KINDS.items() if kind.fault_class == "destroys"]
        for name in [name for name in scenario.faults or {} if name in destroying]:
            yield f"faults.{name}", "destroys, and scenario.swarm.pin.loss is false"
    possible = possible_kinds(scenario)
    if scenario.swarm.get("mode") == "one_kind" and not possible:
        yield "scenario.swarm.mode", "one_kind needs a kind of fault that may be on"
    pinned = scenario.pin.get("kind")
    if pinned and pinned not in possible:
        yield "scenario.swarm.pin.kind", f"{pinned} is off in [faults]"
    if scenario.scopes == "hostile" and scenario.users:
        yield "agents.users", "hostile scopes name the users themselves"
    if scenario.explore is not None and scenario.target != "umi_core":
        yield "explore", f"is for a memory alone, and this tests the {scenario.target}"
    if scenario.weights is None and scenario.kind == "generated" and scenario.target != "umi_core":
        yield "workload.weights", f"missing, nothing is asked of a {scenario.target} that is not named"
    for name in list_unserved(scenario.target, scenario.weights or ()):
        yield f"workload.weights.{name}", f"the target {scenario.target} does not serve it"
    for index, op in enumerate(scenario.script):
        for name in list_unserved(scenario.target, (op["name"],)):
            yield f"workload.script[{index}].name", f"the target {scenario.target} does not serve {name}"
    if scenario.weights == {}:
        yield "workload.weights", "expected at least one request"
    if scenario.keys and scenario.weights and not any(map(takes_key, scenario.weights)):
        yield "workload.keys", "no request of workload.weights has a key"
    if scenario.mutant is not None:
        from umi_sim.mutants.registry import MUTANTS  # slow to import, and most scenarios plant no bug

        if scenario.mutant not in MUTANTS:
            close = suggest_names(scenario.mutant, list(MUTANTS))
            message = f"no such planted bug{close or '; umi-sim mutants --list shows them'}"
            yield "scenario.mutant", f"{show_value(scenario.mutant)}: {message}"
    if scenario.off and not scenario.reason:
        yield "run.reason", "missing, say why rules are off"
    try:
        Config.of(worst(scenario.memory))
    except Rejected as rejected:
        yield from (("memory", str(error)) for error in rejected.errors)


def takes_key(request: str) -> bool:
    """Return whether the values of a request come from the keys of the world."""
    return any(it.domain in KEYED for it in arguments_of(REQUESTS[request]))


def worst(memory: Mapping[str, Range]) -> dict[str, int]:
    """Return the values that contradict each other if any drawn values do."""
    # promote_confidence_min_ppm must exceed other options: its lower end, and the upper end of all others.
    return {name: ends[name != "promote_confidence_min_ppm"] for name, ends in memory.items()}


def transcript_path(scenario: Scenario) -> str | None:
    """Return the absolute path of the transcript; None if it is no file inside the scenario's folder."""
    try:
        # Both are resolved, because a link or `..` in the name must not lead out of the folder.
        folder = (scenario.folder or Path()).resolve()
        path = (folder / (scenario.transcript or "")).resolve()
        is_inside = scenario.folder is not None and path.is_file() and path.is_relative_to(folder)
        return str(path) if is_inside else None
    except (OSError, RuntimeError):
        return None


def draw(scenario: Scenario, seed: int, overrides: Mapping[str, str] = NO_OVERRIDES) -> RunConfig:
    """Draw the configuration of one run. Raises BadScenario only for wrong overrides."""
    source = overridden(scenario, overrides) if overrides else scenario
    config = exploring.without_draws(config_of(source, seed), source.explore)
    return structs.replace(config, settings=dict(source.settings)) if source.settings else config

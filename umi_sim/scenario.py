"""Scenarios: worlds as TOML files, checked as a whole, then drawn into the configuration of one run.

Law 1. A file is refused with all its findings at once, or all of it is in range and drawing cannot fail.
Law 2. Input is hostile: every value comes through umi_sim.toml_reader, which bounds a file before parsing it.
Law 3. Every option has its own stream, named by its key: an option that is pinned or added moves no other.
Law 4. What a file leaves out is drawn. A table of names that it gives ([faults], weights) holds all of them.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from umi_core.config import OPTIONS, Config, check_option
from umi_core.errors import Rejected, shown
from umi_core.inputs import REQUESTS
from umi_core.limits import CORE_BYTES_MIN, DAY_MS, OP_COUNT_MAX
from umi_core.values import Scope
from umi_sim.explore import table as exploring
from umi_sim.faults import KINDS
from umi_sim.prng import Stream
from umi_sim.run_config import AgentConfig, Ratio, RunConfig
from umi_sim.toml_reader import (
    FILE_BYTES_MAX,
    BadScenario,
    Range,
    Reader,
    Table,
    as_list,
    as_table,
    fail,
    flag,
    flag_or_any,
    is_whole,
    line,
    names,
    near,
    put,
    rate,
    ratio,
    read_each,
    span,
    table,
    text,
    toml,
    whole,
)

__all__ = ["BadScenario", "Scenario", "draw", "find", "load", "parse", "shipped"]

Drawing = Callable[[Stream, int, int], int]

START_MS: Final = 1_700_000_000_000
SKEW_MS_MAX: Final = 30 * DAY_MS
NO_OVERRIDES: Final[Mapping[str, str]] = MappingProxyType({})

TINY: Final[Mapping[str, Range]] = {
    "core_bytes_max": (CORE_BYTES_MIN, CORE_BYTES_MIN),
    "core_entry_count_max": (1, 8),
    "working_bytes_max": (64, 512),
    "working_entry_count_max": (1, 8),
}
OFTEN: Final = {  # weights where the file is silent; every other request has 1, together they have 64
    "remember": 7, "recall": 6, "set": 6, "get": 4, "touch": 3, "incr": 3, "append": 3, "set_block": 3,
    "forget": 3, "delete": 2, "render": 2, "rebalance": 2,
    "create_session": 2, "save_session": 2, "load_session": 2,
}  # fmt: skip
FLOORS: Final = {  # a swarm run leaves out half of the requests, but of each row at least one stays
    "write": ("set", "incr", "append", "set_block", "create_session", "remember"),
    "read": ("get", "exists", "get_block", "blocks", "in_core", "render", "recall", "get_entity", "count"),
}
NORMAL: Final = Config()

assert sum(OFTEN.get(name, 1) for name in REQUESTS) == 64
assert all(check_option(name, end) is None for name, ends in TINY.items() for end in ends)


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
    given = {key: value for row in (*rows, values) for key, value in row.items()}
    scenario = Scenario(document, folder, **given)
    findings += contradictions(scenario)
    if findings:
        raise BadScenario(*(f"{name}: {key}: {sentence}" for key, sentence in findings))
    return attrs.evolve(scenario, transcript=transcript_path(scenario))


# The file, and the configuration drawn from it.

ID: Final = text("[a-z0-9_]{1,40}", "1 to 40 of a-z 0-9 _")
HYPHENED: Final = text("[a-z0-9-]{1,60}", "a name of a-z 0-9 -")
TIME_MS: Final = whole(0, 2**52)
REQUEST: Final = text("|".join(REQUESTS), "the name of a request")
OP: Final = table(
    {"at_ms": TIME_MS, "agent": text("[a-d]"), "name": REQUEST, "args": as_table}, "at_ms", "agent", "name"
)
WEIGHTS: Final = table(dict.fromkeys(REQUESTS, whole(1, 100)))
MEMORY: Final = table({option: span(*ends) if ends else flag_or_any for option, ends in OPTIONS.items()})
FAULTS: Final = table(dict.fromkeys((*KINDS, *(kind.group for kind in KINDS.values())), rate))
EXPLORE: Final[Reader] = exploring.read
SWARM: Final = {"mode": text("any|plain|swarm"), "sites": text("some|all")}
NEEDS: Final = {"scenario": ("id", "title")}


def marks(value: object) -> Mapping[str, Ratio]:
    floors: Mapping[str, Ratio] = table({line(name): ratio for name in as_table(value)})(value)
    return floors


def script(value: object) -> tuple[Table, ...]:
    ops = {str(index): op for index, op in enumerate(as_list(value))}
    return tuple(table(dict.fromkeys(ops, scripted))(ops).values())


def scripted(value: object) -> Table:
    """One op; its arguments are those of its request, written as in a seed file."""
    op: Table = {"args": {}, **OP(value)}
    fields = attrs.fields(REQUESTS[op["name"]])[1:]
    needs = [field.name for field in fields if field.default is attrs.NOTHING]
    args = table({field.name: argument for field in fields}, *needs)
    return {**op, **table({"args": args})({"args": op["args"]})}


def argument(value: object) -> object:
    """Whatever is no float and no date, all the way down."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        argument(each)
    is_good = isinstance(value, bool | str | list | dict) or is_whole(value, -(2**63), 2**63)
    return value if is_good else fail("an argument", value)


def key(table: str, read: Reader, default: Any = None) -> Any:
    return attrs.field(default=default, metadata={"table": table, "read": read})


@attrs.frozen
class Scenario:
    """A checked file: each field has the name of its key. What the file does not say is None, or empty."""

    document: Table = attrs.field(repr=False)
    folder: Path | None
    id: str = key("scenario", ID, "")
    version: int = key("scenario", whole(1, 1_000_000), 1)
    title: str = key("scenario", line, "")
    target: str = key("scenario", text("umi_core"), "umi_core")
    manual: bool = key("scenario", flag, False)
    mutant: str | None = key("scenario", HYPHENED)
    swarm: Mapping[str, str] = key("scenario", table(SWARM), {})
    count: tuple[int, int] | None = key("agents", span(1, 4))
    share_user: bool | None = key("agents", flag)
    in_flight: tuple[int, int] | None = key("agents", span(1, OP_COUNT_MAX))
    kind: str = key("workload", text("generated|transcript|script"), "generated")
    operations: tuple[int, int] | None = key("workload", span(1, 100_000))
    keys: tuple[int, int] | None = key("workload", span(1, 1_000))
    weights: Mapping[str, int] | None = key("workload", WEIGHTS)
    adversarial: tuple[int, int] | None = key("workload", ratio)
    repeat: tuple[int, int] | None = key("workload", ratio)
    transcript: str | None = key("workload", line)
    script: tuple[Table, ...] = key("workload", script, ())
    start_ms: int | None = key("clock", TIME_MS)
    land: tuple[int, int] | None = key("clock", ratio)
    skew: bool | None = key("clock", flag)
    jumps: bool | None = key("clock", flag)
    latency: Sequence[str] = key("services", names(text("instant|short|spread")), ())
    flush_ms: int = key("services", whole(0, 60_000), 1)
    policy: Sequence[str] = key("run", names(text("fifo|random")), ())
    steps_max: int | None = key("run", whole(1, 10_000_000))
    marks: Mapping[str, Ratio] = key("run", marks, {})
    off: tuple[str, ...] = key("run", names(HYPHENED), ())
    reason: str | None = key("run", line)
    memory: Mapping[str, Range] = key("", MEMORY, {})
    faults: Mapping[str, bool | Ratio] | None = key("", FAULTS)
    explore: exploring.Alphabet | None = key("", EXPLORE)  # noqa: RUF009  # as its neighbours, but of a class that ruff does not know


def schema() -> dict[str, Reader]:
    rows: dict[str, dict[str, Reader]] = {}
    for field in attrs.fields(Scenario)[2:]:
        rows.setdefault(field.metadata["table"], {})[field.name] = field.metadata["read"]
    whole_tables = rows.pop("")
    return {name: table(row, *NEEDS.get(name, ())) for name, row in rows.items()} | whole_tables


def contradictions(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for kind, given in (("transcript", scenario.transcript), ("script", scenario.script)):
        if (scenario.kind == kind) != bool(given):
            yield f"workload.{kind}", f'belongs to kind = "{kind}", and to no other'
    if scenario.transcript and not transcript_path(scenario):
        yield "workload.transcript", "not a file in the folder of the scenario"
    count_min = (scenario.count or (1, 4))[0]
    for index, op in enumerate(scenario.script):
        if op["agent"] not in "abcd"[:count_min]:
            yield f"workload.script.{index}.agent", f"only {count_min} of agents.count are in every run"
    if scenario.weights == {}:
        yield "workload.weights", "expected at least one request"
    if scenario.off and not scenario.reason:
        yield "run.reason", "missing, say why rules are off"
    try:
        Config(**worst(scenario.memory))  # type: ignore[arg-type]  # flags were read as flags
    except Rejected as rejected:
        yield from (("memory", str(error)) for error in rejected.errors)


def worst(memory: Mapping[str, Range]) -> dict[str, int]:
    """What contradicts itself if any draw does: least for the one option that another bounds from below."""
    return {name: ends[name != "promote_confidence_min_ppm"] for name, ends in memory.items()}


def transcript_path(scenario: Scenario) -> str | None:
    """Absolute, and only if it is a file below the folder of the scenario, links followed."""
    try:
        folder = (scenario.folder or Path()).resolve()
        path = (folder / (scenario.transcript or "")).resolve()
        is_inside = scenario.folder is not None and path.is_file() and path.is_relative_to(folder)
        return str(path) if is_inside else None
    except (OSError, RuntimeError):
        return None


def draw(scenario: Scenario, seed: int, overrides: Mapping[str, str] = NO_OVERRIDES) -> RunConfig:
    """All that the seed decides before the first step. Only overrides can be refused, with BadScenario."""
    scenario = overridden(scenario, overrides) if overrides else scenario
    mode = scenario.swarm.get("mode", "any")
    drawn = "plain" if Stream(seed, "config", "scenario.swarm.mode").chance(1, 5) else "swarm"
    return exploring.explored(
        Draw(scenario, seed, drawn if mode == "any" else mode).config(), scenario.explore
    )


@attrs.frozen
class Draw:
    """One drawing; a stream is named by the key of its option."""

    scenario: Scenario
    seed: int
    mode: str

    def config(self) -> RunConfig:
        scenario, agents, operations = self.scenario, self.agents(), self.operations()
        return RunConfig(
            scenario=scenario.id, version=scenario.version, seed=self.seed, mode=self.mode, agents=agents,
            start_ms=self.start_ms(), memory=self.memory(), weights=self.weights(), faults=self.faults(),
            operations_max=operations,
            in_flight_max=self.number("agents.in_flight", 1, (1, 8)),
            key_count=self.number("workload.keys", 4, (1, 8)),
            adversarial=self.share("workload.adversarial", (1, 4), (1, 7), 8),
            land=self.share("clock.land", (1, 4), (1, 4), 8),
            repeat=self.share("workload.repeat", (0, 1), (-3, 4), 16),
            latency=self.choice("services.latency", ("instant", "short", "spread")),
            policy=self.choice("run.policy", ("fifo", "random", "random")),
            flush_ms=scenario.flush_ms, workload=scenario.kind, script=scenario.script,
            transcript=scenario.transcript, planted=scenario.mutant, off=scenario.off,
            everywhere=scenario.swarm.get("sites") == "all",
            steps_max=scenario.steps_max or 20_000 + 1_000 * operations * len(agents),
        )  # fmt: skip

    def operations(self) -> int:
        drawn = self.number("workload.operations", 50, (10, 400), Stream.log_between)
        return len(self.scenario.script) or drawn

    @property
    def is_plain(self) -> bool:
        return self.mode == "plain"

    def stream(self, key: str) -> Stream:
        return Stream(self.seed, "config", key)

    def given(self, key: str) -> Any:
        return getattr(self.scenario, key.split(".")[1])

    def is_on(self, key: str, plain: bool) -> bool:
        drawn = plain if self.is_plain else self.stream(key).chance(1, 2)
        given: bool | None = self.given(key)
        return drawn if given is None else given

    def number(self, key: str, plain: int, swarm: Range, draw: Drawing = Stream.between) -> int:
        """In a plain run the plain value, or what is nearest to it in the range of the file."""
        low, high = self.given(key) or swarm
        return min(max(plain, low), high) if self.is_plain else draw(self.stream(key), low, high)

    def share(self, key: str, plain: Ratio, n: Range, d: int) -> Ratio:
        """n/d for an n of the range; what is below zero is zero, so a range can give zero its own share."""
        drawn = plain if self.is_plain else (max(0, self.stream(key).between(*n)), d)
        given: Ratio | None = self.given(key)
        return given or drawn

    def choice(self, key: str, names: Sequence[str]) -> str:
        """In a plain run the first name, if the file allows it."""
        allowed: Sequence[str] = self.given(key) or names
        plain = names[0] if names[0] in allowed else allowed[0]
        return plain if self.is_plain else self.stream(key).pick(allowed)

    def agents(self) -> tuple[AgentConfig, ...]:
        low, high = self.scenario.count or (1, 4)
        counts = range(low, low + 1 if self.is_plain else high + 1)
        count = self.stream("agents.count").weighted(counts, [5 - each for each in counts])
        users = [1] * 4 if self.is_on("agents.share_user", True) else [1, 2, 3, 4]
        is_skewed = self.is_on("clock.skew", False) and not self.is_plain
        return tuple(
            AgentConfig(name, Scope(f"u{user}", f"a{n}"), self.skew_ms(name) if is_skewed else 0)
            for n, name, user in zip(range(1, count + 1), "abcd", users, strict=False)
        )

    def skew_ms(self, agent: str) -> int:
        stream = self.stream(f"clock.skew.{agent}")
        size_ms = stream.log_between(1, SKEW_MS_MAX)
        return -size_ms if stream.chance(1, 2) else size_ms

    def start_ms(self) -> int:
        drawn = 0 if self.stream("clock.start_ms").chance(1, 16) else START_MS
        return drawn if self.scenario.start_ms is None else self.scenario.start_ms

    def memory(self) -> dict[str, int | bool]:
        """Options that are not the default."""
        drawn = {name: self.option(name) for name in OPTIONS}
        return {name: value for name, value in drawn.items() if value != getattr(NORMAL, name)}

    def option(self, name: str) -> int:
        normal = getattr(NORMAL, name)
        low, high = self.scenario.memory.get(name) or self.ends(name) or (normal, normal)
        if low == high:
            return low
        stream = self.stream(f"memory.{name}")
        if OPTIONS[name] is None:
            return stream.pick((low, high))
        return stream.between(low, high) if name.endswith("_ppm") else stream.log_between(low, high)

    def ends(self, name: str) -> Range | None:
        """What a swarm run draws from where the file is silent: half of the memories are tiny."""
        if self.is_plain:
            return None
        if OPTIONS[name] is None:
            return (False, True)
        return TINY[name] if name in TINY and self.stream("memory").chance(1, 2) else None

    def weights(self) -> dict[str, int]:
        """In a plain run as the file says; a swarm run makes each up to 20 times as heavy."""
        if self.scenario.script:
            return {}
        base = self.scenario.weights or self.alphabet()
        return {name: base[name] * self.factor(name) for name in REQUESTS if name in base}

    def alphabet(self) -> dict[str, int]:
        """What a file without weights uses: everything, or in a swarm run half of it."""
        if self.is_plain:
            return {name: OFTEN.get(name, 1) for name in REQUESTS}
        kept = [name for name in REQUESTS if self.stream(f"workload.weights.{name}").chance(1, 2)]
        for floor, row in FLOORS.items():
            if not any(name in row for name in kept):
                kept.append(self.stream(f"workload.weights.{floor}").pick(row))
        return dict.fromkeys(kept, 1)

    def factor(self, name: str) -> int:
        return 1 if self.is_plain else self.stream(f"workload.weights.{name}.factor").between(1, 20)

    def faults(self) -> dict[str, Ratio]:
        rates = {name: self.rate(name) for name in KINDS if not self.is_plain}
        return {name: rate for name, rate in rates.items() if rate[0]}

    def rate(self, name: str) -> Ratio:
        wanted = self.wanted(name)
        if isinstance(wanted, tuple):
            return wanted
        stream = self.stream(f"faults.{name}")
        return (stream.log_between(1, 256), 1_024) if wanted and stream.chance(1, 2) else (0, 1)

    def wanted(self, name: str) -> bool | Ratio:
        """Of what the file says the most special counts: kind, group, `clock.jumps`, no [faults] at all."""
        given, group, jumps = self.scenario.faults, KINDS[name].group, self.scenario.jumps
        default = jumps if jumps is not None and group == "clock" else given is None
        return (given or {}).get(name, (given or {}).get(group, default))

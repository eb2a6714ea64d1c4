"""What each key of a seed file holds, as readers: a value and its path in, its meaning out, or a BadValue."""

from typing import Any, Final

from umi_core.config import OPTIONS, Config
from umi_core.errors import Rejected
from umi_core.messages.requests import REQUESTS
from umi_core.values import Scope
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.strict_json import (
    BadValue,
    Described,
    Reader,
    Schema,
    as_object,
    fail,
    flag,
    listed,
    mapped,
    one_of,
    schema_of,
    shown,
    table,
    text,
    whole,
)
from umi_sim.judge import equivalences
from umi_sim.kernel import folders
from umi_sim.kernel.prng import DENOMINATOR_MAX, SEED_MAX, Ratio, parse_seed
from umi_sim.record.items import ITEM_KINDS
from umi_sim.record.recorded_replies import ASK_COUNT_MAX
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.record.verdict import EXIT_CODES
from umi_sim.seedfile import item_json
from umi_sim.seedfile.packed_items import PACKED
from umi_sim.world.schedule import POLICIES

Json = Any

PRNG: Final = "umi-prng-1"
TARGETS: Final = ("umi_core",)
STEPS_CAP: Final = 10_000_000
VIRTUAL_MS_CAP: Final = 400 * 86_400_000
WALL_MS_CAP: Final = 60_000
AGENT_COUNT_MAX: Final = 16
SETTING_COUNT_MAX: Final = 200


def read_seed(value: Json, path: str) -> int:
    return parse_seed_of(SEED(value, path)["seed"], path)


def parse_seed_of(digits: str, path: str) -> int:
    return (
        parse_seed(digits)
        if int(digits) <= SEED_MAX
        else fail(f"{path}.seed", f"a seed up to {SEED_MAX}", digits)
    )


def read_scenario(value: Json, path: str) -> dict[str, Json]:
    given: dict[str, Json] = SCENARIO(value, path)
    if not given.get("own") and not is_shipped(given["id"]):
        raise BadValue(f"{path}.id: unknown scenario {shown(given['id'])}")
    return given


def is_shipped(scenario: str) -> bool:
    return (folders.SCENARIOS / f"{scenario}.toml").is_file()


def read_agents(value: Json, path: str) -> tuple[AgentConfig, ...]:
    agents = AGENTS(value, path)
    names = [agent["name"] for agent in agents]
    if not names or len(dict.fromkeys(names)) != len(names):
        raise BadValue(f"{path}: expected different names, at least one")
    return tuple(AgentConfig(each["name"], Scope(*each["scope"]), each.get("skew_ms", 0)) for each in agents)


def read_scope(value: Json, path: str) -> tuple[str, ...]:
    parts: tuple[str, ...] = SCOPE_PARTS(value, path)
    return parts if len(parts) == 2 else fail(path, "[user, agent]", value)


def read_memory(value: Json, path: str) -> dict[str, int | bool]:
    options: dict[str, int | bool] = MEMORY(value, path)
    try:
        Config.of(options)
    except Rejected as rejected:
        raise BadValue(f"{path}: {rejected.errors[0]}") from None
    return options


def read_ratio(value: Json, path: str) -> Ratio:
    n, d = map(int, RATIO_TEXT(value, path).split("/"))
    return (
        (n, d)
        if n <= d and 1 <= d <= DENOMINATOR_MAX
        else fail(path, "a ratio n/d with n <= d <= 10^9", value)
    )


def read_planted(value: Json, path: str) -> str | None:
    if value is None:
        return None
    from umi_sim.mutants import CANARY  # never on the way of a plain replay

    if value == CANARY.name:
        return CANARY.name
    from umi_sim.mutants.registry import ELSEWHERE, MUTANTS  # nor the files on that of the canary

    if ELSEWHERE and isinstance(value, str) and value not in MUTANTS:
        raise BadValue(f"{path}: unknown mutant {shown(value)}{ELSEWHERE}")
    return one_of(tuple(MUTANTS), "mutant")(value, path)  # type: ignore[no-any-return]


def planted_schema() -> Schema:
    from umi_sim.mutants.registry import MUTANTS

    return {"enum": [None, *MUTANTS]}


def read_capacity(value: Json, path: str) -> int | None:
    return None if value is None else BYTES(value, path)


def capped(cap: int) -> Reader:
    return Described(lambda value, path: min(cap, LIMIT(value, path)), lambda: schema_of(LIMIT))


def read_settings(value: Json, path: str) -> dict[str, str]:
    given = as_object(value, path)
    if len(given) > SETTING_COUNT_MAX:
        raise BadValue(f"{path}: expected at most {SETTING_COUNT_MAX} settings, got {len(given)}")
    return {key: SETTING(each, f"{path}.{shown(key)}") for key, each in given.items()}


def settings_schema() -> Schema:
    return {
        "type": "object", "additionalProperties": schema_of(SETTING), "maxProperties": SETTING_COUNT_MAX,
    }  # fmt: skip


def read_block(value: Json, path: str) -> bytes:
    return bytes.fromhex(HEX(value, path))


# What each key holds.

PLAIN: Final = RunConfig(
    scenario="", version=1, seed=0, mode="plain", agents=(AgentConfig("a", Scope("u1", "a1")),),
    start_ms=1_700_000_000_000, memory={}, weights={}, faults={}, operations_max=50, in_flight_max=1,
    key_count=4, adversarial=(1, 4), land=(1, 4), repeat=(0, 1), latency="instant", policy="fifo",
)  # fmt: skip

COUNT: Final = whole(0, 10**9)
TIME_MS: Final = whole(0, 2**52)
SKEW_MS: Final = whole(-(2**52), 2**52)
WORDS: Final = text()
HEX: Final = text("([0-9a-f]{2}){0,64}", "hex digits")
RULE: Final = text("[A-Za-z0-9-]{1,60}", "the id of a rule")
SETTING: Final = text("(?s).{0,4096}", "at most 4096 characters")
SEED: Final = table(
    {"id": one_of((PRNG,), "generator"), "seed": text("[0-9]{1,20}", "a seed in digits")}, "id", "seed"
)
SCENARIO: Final = table(
    {
        "id": text("[a-z0-9][a-z0-9_-]{0,59}", "the id of a scenario"), "version": whole(1, 1_000_000),
        "target": one_of(TARGETS, "target"), "own": flag, "set": Described(read_settings, settings_schema),
    }, "id",
)  # fmt: skip
SCOPE_PARTS: Final = listed(text("(?s).{0,256}", "at most 256 characters"), 2)
SCOPE: Final = Described(read_scope, lambda: {**schema_of(SCOPE_PARTS), "minItems": 2})
AGENT: Final = table({"name": item_json.AGENT, "scope": SCOPE, "skew_ms": SKEW_MS}, "name", "scope")
AGENTS: Final = listed(AGENT, AGENT_COUNT_MAX)
MEMORY: Final = table({name: whole(*ends) if ends else flag for name, ends in OPTIONS.items()})
RATIO_TEXT: Final = text("[0-9]{1,10}/[0-9]{1,10}", 'a ratio "n/d"')
RATIO: Final = Described(read_ratio, lambda: schema_of(RATIO_TEXT))
BYTES: Final = whole(1, 2**40)
CAPACITY: Final = Described(read_capacity, lambda: {"anyOf": [{"type": "null"}, schema_of(BYTES)]})
AGENT_LIST: Final = Described(read_agents, lambda: {**schema_of(AGENTS), "minItems": 1})
MEMORY_OPTIONS: Final = Described(read_memory, lambda: schema_of(MEMORY))
LIMIT: Final = whole(1, 10**18)
BLOCK: Final = Described(read_block, lambda: schema_of(HEX))

CONFIG_READERS: Final[dict[str, Reader]] = {
    "mode": one_of(("plain", "swarm", "one_kind"), "mode"), "agents": AGENT_LIST, "start_ms": TIME_MS,
    "memory": MEMORY_OPTIONS, "weights": mapped(tuple(REQUESTS), "request", whole(0, 1_000)),
    "faults": mapped(tuple(KINDS), "fault", RATIO), "operations_max": COUNT, "in_flight_max": COUNT,
    "key_count": COUNT, "adversarial": RATIO, "land": RATIO, "repeat": RATIO,
    "latency": one_of(("instant", "short", "spread"), "latency"),
    "policy": one_of(POLICIES, "policy"), "flush_ms": whole(0, 60_000), "revise_every": COUNT,
    "capacity_bytes": CAPACITY, "loss_max": whole(0, 3),
    "workload": one_of(("generated", "transcript", "script"), "workload"),
    "planted": Described(read_planted, planted_schema), "off": listed(RULE, 100), "loss": flag,
    "equivalences": listed(one_of(equivalences.NAMES, "equivalence"), len(equivalences.NAMES)),
}  # fmt: skip
CONFIG_FIELDS: Final = tuple(name for name in CONFIG_READERS if name != "loss")

FAILURE_READERS: Final[dict[str, Reader]] = {
    "kind": one_of((*EXIT_CODES, "nondeterminism"), "kind"), "rule": RULE, "step": COUNT, "item": WORDS,
    "message": WORDS, "normal": WORDS, "frame": WORDS, "fingerprint": text("[0-9a-f]{12}", "12 hex digits"),
    "before": WORDS, "after": WORDS, "world_ms": whole(0, 2**53 - 1), "expected": WORDS, "got": WORDS,
}  # fmt: skip
EXPECT_READERS: Final[dict[str, Reader]] = {
    "result": one_of(("fail", "pass"), "result"), "trace": HEX, "every": whole(1, 10**9),
    "prefix": listed(BLOCK, 1_000), "steps": COUNT, "state": HEX, "marks": listed(WORDS, 10_000),
}  # fmt: skip
HISTORY_READERS: Final[dict[str, Reader]] = {
    "hits": whole(0, 10**9), "first_seed": WORDS, "fixed_in": WORDS, "ticket": WORDS, "notes": WORDS,
    "passes": COUNT,
}  # fmt: skip
ITEM_COUNTS: Final = mapped(tuple(ITEM_KINDS), "kind", COUNT)
MINIMISED_READERS: Final[dict[str, Reader]] = {
    "runs": COUNT, "from": ITEM_COUNTS, "to": ITEM_COUNTS, "one_minimal": flag,
    "needed": listed(item_json.ID, item_json.ITEM_COUNT_MAX), "stopped": WORDS,
}  # fmt: skip
SAID_READERS: Final[dict[str, Reader]] = {
    "at": item_json.EVENT, "task": text("[a-z_]{1,60}", "the name of a task"),
    "prompt": text("[0-9a-f]{16}", "16 hex digits"), "text": WORDS,
}  # fmt: skip
READERS: Final[dict[str, Reader]] = {
    "format": WORDS, "version": whole(1, 10**9), "min_reader": whole(1, 10**9), "made_by": item_json.ARGS,
    "prng": Described(read_seed, lambda: schema_of(SEED)),
    "scenario": Described(read_scenario, lambda: schema_of(SCENARIO)), "config": table(CONFIG_READERS),
    "items": item_json.RECORD,
    "model": listed(table(SAID_READERS, *SAID_READERS), ASK_COUNT_MAX),
    "limits": table(
        {
            "steps_max": capped(STEPS_CAP),
            "virtual_ms_max": capped(VIRTUAL_MS_CAP),
            "wall_ms_max": capped(WALL_MS_CAP),
        }
    ),
    "failure": table(FAILURE_READERS, "kind", "rule", "message", "fingerprint"),
    "expect": table(EXPECT_READERS, "result"),
    "minimised": table(MINIMISED_READERS, "runs", "from", "to", "one_minimal"),
    "original": PACKED, "original_config": table(CONFIG_READERS),
    "repro": WORDS, "history": table(HISTORY_READERS),
    "checksum": WORDS,
}  # fmt: skip
NEEDED: Final = ("version", "prng", "scenario", "config", "items", "expect")

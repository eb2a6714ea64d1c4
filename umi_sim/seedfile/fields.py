"""The keys of a seed file, with the schemas that read, write and describe them."""

from collections.abc import Mapping
from typing import Final

from umi_core.config import OPTIONS, Config
from umi_core.errors import Rejected
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.requests import REQUESTS
from umi_core.values import Scope
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.schema import (
    FLAG,
    OBJECT,
    RATIO,
    SEED,
    TEXT,
    Json,
    Schema,
    at,
    list_of,
    map_of,
    mapping,
    maybe,
    of,
    of_class,
    one_of,
    quote_text,
    table,
    text,
    then,
    whole,
    wrong,
)
from umi_sim.judge import equivalences
from umi_sim.kernel import folders
from umi_sim.machines import limits
from umi_sim.machines.table import TARGETS
from umi_sim.record.category_lists import LISTS
from umi_sim.record.exit_codes import EXIT_CODES
from umi_sim.record.items import ASK_COUNT_MAX, RecordedReply
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.seedfile.item_json import RECORD
from umi_sim.seedfile.packed_items import PACKED
from umi_sim.seedfile.parts import ExpectedResult, History, Minimised
from umi_sim.world.schedule import POLICIES

PRNG: Final = "umi-prng-1"
STEPS_CAP: Final = 10_000_000
AGENT_COUNT_MAX: Final = 16
SETTING_COUNT_MAX: Final = 200


def known_scenario(given: dict[str, Json]) -> dict[str, Json]:
    # An unknown id is an error, unless the file says that the scenario is not a shipped one.
    if not given.get("own") and not is_shipped(given["id"]):
        at("id", wrong, f"unknown scenario {quote_text(given['id'])}")
    return given


def is_shipped(scenario: str) -> bool:
    return (folders.SCENARIOS / f"{scenario}.toml").is_file()


def different(agents: tuple[AgentConfig, ...]) -> tuple[AgentConfig, ...]:
    names = [agent.name for agent in agents]
    return agents if len(dict.fromkeys(names)) == len(names) else wrong("expected different names")


def consistent(options: dict[str, int | bool]) -> dict[str, int | bool]:
    try:
        Config.of(options)
    except Rejected as rejected:
        wrong(str(rejected.errors[0]))
    return options


def read_mutant(value: Json) -> str:
    """Read the name of a planted bug; for the canary, the files of all others are not read."""
    from umi_sim.mutants import CANARY  # a replay without a planted bug does not need it

    return CANARY.name if value == CANARY.name else str(mutant_schema().read(value))


def mutant_schema() -> Schema:
    from umi_sim.mutants.registry import MUTANTS

    return one_of(MUTANTS, "mutant")


def cap_number(cap: int) -> Schema:
    # A higher number is lowered, not refused.
    return then(whole(1, 10**18), lambda given: min(cap, given))


# The schema of each key.

# Values of absent keys of a configuration. They must never change, since old files leave them out.
PLAIN: Final = RunConfig(
    scenario="", version=1, seed=0, mode="plain", agents=(AgentConfig("a", Scope("u1", "a1")),),
    start_ms=1_700_000_000_000, memory={}, weights={}, faults={}, operations_max=50, in_flight_max=1,
    key_count=4, adversarial=(1, 4), land=(1, 4), repeat=(0, 1), latency="instant", policy="fifo",
)  # fmt: skip

COUNT: Final = whole(0, 10**9)
RULE: Final = text("[A-Za-z0-9-]{1,60}", "the id of a rule")
SCENARIO: Final = table(
    {
        "id": text("[a-z0-9][a-z0-9_-]{0,59}", "the id of a scenario"), "version": whole(1, 1_000_000),
        "target": one_of(TARGETS, "target"), "own": FLAG,
        "set": mapping(text("(?s).{0,4096}", "at most 4096 characters"), SETTING_COUNT_MAX),
    }, "id",
)  # fmt: skip
MEMORY: Final = table({name: whole(*ends) if ends else FLAG for name, ends in OPTIONS.items()})
PLANTED: Final = maybe(Schema(read_mutant, lambda: mutant_schema().rule()))
CONFIG: Final[Mapping[str, Schema]] = {
    "mode": one_of(("plain", "swarm", "one_kind"), "mode"),
    "agents": then(list_of(of(AgentConfig), AGENT_COUNT_MAX, 1), different), "start_ms": whole(0, 2**52),
    "memory": then(MEMORY, consistent), "weights": map_of(REQUESTS, "request", whole(0, 1_000)),
    "faults": map_of(KINDS, "fault", RATIO), "operations_max": COUNT, "in_flight_max": COUNT,
    "key_count": COUNT, "adversarial": RATIO, "land": RATIO, "repeat": RATIO,
    "latency": one_of(("instant", "short", "spread"), "latency"),
    "policy": one_of(POLICIES, "policy"), "flush_ms": whole(0, 60_000), "revise_every": COUNT,
    "tamper_every": COUNT,
    "capacity_bytes": maybe(whole(1, 2**40)), "page_rows": whole(1, PAGE_ROW_COUNT_MAX),
    "limits": table({name: whole(1, limit) for name, limit in limits.LIMITS.items()}),
    "loss_max": whole(0, 3),
    "workload": one_of(("generated", "transcript", "script"), "workload"),
    "planted": PLANTED, "off": list_of(RULE, 100),
    "categories": list_of(one_of(LISTS, "list of categories"), len(LISTS)),
    "equivalences": list_of(one_of(equivalences.OF_FILES, "equivalence"), len(equivalences.OF_FILES)),
}  # fmt: skip
CONFIG_FIELDS: Final = tuple(CONFIG)
OLD: Final = {"loss": FLAG, "trials": maybe(COUNT)}  # settings of older releases, ignored now
FAILURE: Final = table(
    {
        "kind": one_of((*EXIT_CODES, "nondeterminism"), "kind"), "rule": RULE, "step": COUNT, "item": TEXT,
        "message": TEXT, "normal": TEXT, "frame": TEXT, "fingerprint": text("[0-9a-f]{12}", "12 hex digits"),
        "before": TEXT, "after": TEXT, "world_ms": whole(0, 2**53 - 1), "expected": TEXT, "got": TEXT,
    }, "kind", "rule", "message", "fingerprint",
)  # fmt: skip
LIMITS: Final = table(
    {
        "steps_max": cap_number(STEPS_CAP),
        **dict.fromkeys(("virtual_ms_max", "wall_ms_max"), whole(1, 10**18)),  # of older files; ignored
    }
)
DOCUMENT: Final[Mapping[str, Schema]] = {
    "format": TEXT, "version": whole(1, 10**9), "min_reader": whole(1, 10**9), "made_by": OBJECT,
    "prng": table({"id": one_of((PRNG,), "generator"), "seed": SEED}, "id", "seed"),
    "scenario": then(SCENARIO, known_scenario), "config": table({**CONFIG, **OLD}), "items": RECORD,
    "model": list_of(of(RecordedReply), ASK_COUNT_MAX), "limits": LIMITS, "failure": FAILURE,
    "expect": of(ExpectedResult),
    "minimised": of_class(Minimised, before="from", after="to"), "original": PACKED,
    "original_config": table({**CONFIG, **OLD}), "repro": TEXT, "history": of(History), "checksum": TEXT,
}  # fmt: skip
NEEDED: Final = ("version", "prng", "scenario", "config", "items", "expect")

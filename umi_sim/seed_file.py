"""Seed files: one run as JSON, its configuration and its items, so that it fails alike on any machine.

Law 1. The items replay the run; the seed alone says where they came from. An absent key of the
       configuration is plain, whatever a default may become.
Law 2. Input is hostile: bounded, typed, every name known; nothing is imported, evaluated or opened for it.
Law 3. What a reader does not know stays in the file: unknown top-level keys are kept on rewrite.
Law 4. A file is whole or not there. A checksum that is wrong says: edited by hand, its hashes prove nothing.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import attrs

from umi_sim import fingerprint, item_json
from umi_sim.items import ClockMove, Deviation, Item, Op
from umi_sim.provenance import made_by
from umi_sim.run_config import Ratio, RunConfig
from umi_sim.seed_fields import CONFIG_FIELDS, NEEDED, PLAIN, PRNG, READERS, TARGETS, WALL_MS_CAP, is_shipped
from umi_sim.strict_json import FILE_BYTES_MAX, BadValue, as_object, compact, parsed, unknown, whole
from umi_sim.trace import write_whole
from umi_sim.verdict import Failure, Verdict

Json = Any

FORMAT: Final = "umi-seed"
VERSION: Final = 1
PERSON: Final = b"umi-seed-1"
CHECKSUM_BYTES: Final = 16
WITH_ORIGINAL_BYTES_MAX: Final = 1024 * 1024
EPHEMERAL: Final = Path(".umi-sim/ephemeral")
NO_SCHEDULE: Final = "too large: schedule items left out, only regeneration from the seed is exact"


class BadSeedFile(ValueError):
    """A file that is no seed file, or a run too large for one; the message is one line."""


@attrs.frozen
class Expect:
    """What a replay must come to: `result` is fail or pass; the hashes hold for the items as they are."""

    result: str
    trace: str = ""
    every: int = 16
    prefix: tuple[bytes, ...] = ()
    steps: int = 0
    state: str = ""
    marks: tuple[str, ...] = ()


@attrs.frozen
class History:
    """What became of the failure since it was first seen; written by hand or by commands."""

    hits: int = 1
    first_seed: str = ""
    fixed_in: str = ""
    ticket: str = ""
    notes: str = ""


@attrs.frozen
class Minimised:
    """What shrinking did: runs used, items of each kind before and after, ids of the items it needs.

    `stopped` says why it ended: fixpoint, or the budget that was used up.
    """

    runs: int
    before: Mapping[str, int]
    after: Mapping[str, int]
    one_minimal: bool
    needed: tuple[str, ...] = ()
    stopped: str = "fixpoint"


@attrs.frozen
class SeedFile:
    """One run to repeat. `extra` holds the top-level keys that this reader does not know.

    `minimised` is there once the run was shrunk; `original` then holds the items it had before.
    """

    config: RunConfig
    items: tuple[Item, ...]
    expect: Expect
    failure: Failure | None = None
    fingerprint: str = ""
    before: str = ""
    after: str = ""
    made_by: Mapping[str, object] = attrs.field(factory=dict)
    repro: str = ""
    minimised: Minimised | None = None
    original: tuple[Item, ...] = ()
    history: History = History()
    extra: Mapping[str, Json] = attrs.field(factory=dict)
    is_edited: bool = False


# From a verdict.


def of_verdict(verdict: Verdict) -> SeedFile:
    """The seed file of a run that has ended."""
    failure = verdict.failure
    expect = Expect(
        "fail" if failure else "pass", verdict.trace_hash, verdict.prefix_every, verdict.prefix,
        verdict.steps, verdict.state_digest, tuple(verdict.marks),
    )  # fmt: skip
    repro = f"umi-sim replay {default_path(failure).as_posix()}" if failure else ""
    return SeedFile(
        verdict.config, verdict.items, expect, failure, fingerprint.of(failure) if failure else "",
        after=verdict.state_digest if failure else "", made_by=made_by(), repro=repro,
        history=History(first_seed=str(verdict.config.seed)),
    )  # fmt: skip


def default_path(failure: Failure) -> Path:
    """Where a failure is kept, from the current folder: one file for each fingerprint."""
    return EPHEMERAL / f"{failure.rule}-{fingerprint.of(failure)}.json"


# Writing.


def dumps(verdict: Verdict) -> str:
    """The text of the seed file of a run."""
    return text_of(of_verdict(verdict))


def write(path: Path, source: SeedFile | Verdict) -> None:
    """Write the file; its folder is made if need be. Raises BadSeedFile if the run is too large."""
    seed = source if isinstance(source, SeedFile) else of_verdict(source)
    data = text_of(seed).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)


def keep(verdict: Verdict, folder: Path = EPHEMERAL) -> Path:
    """Write the newest run of a failure where its fingerprint belongs; the history of the file goes on."""
    assert verdict.failure is not None
    path = folder / default_path(verdict.failure).name
    seed = attrs.evolve(of_verdict(verdict), repro=f"umi-sim replay {path.as_posix()}")
    try:
        past = read(path).history
    except BadSeedFile:
        past = attrs.evolve(seed.history, hits=0)
    write(path, attrs.evolve(seed, history=attrs.evolve(past, hits=past.hits + 1)))
    return path


def text_of(seed: SeedFile) -> str:
    """The file as text. What is too large goes: first the original items, then those of the schedule."""
    written = layout(document_of(seed))
    if seed.original and len(written) > WITH_ORIGINAL_BYTES_MAX:
        seed = attrs.evolve(seed, original=())
        written = layout(document_of(seed))
    if is_too_large(seed, written):
        few = tuple(item for item in seed.items if not isinstance(item, Deviation))
        seed = attrs.evolve(seed, items=few, history=attrs.evolve(seed.history, notes=NO_SCHEDULE))
        written = layout(document_of(seed))
    if is_too_large(seed, written):
        raise BadSeedFile(
            f"the run has {len(seed.items)} items in {len(written)} bytes, too large for a seed file"
        )
    return written


def is_too_large(seed: SeedFile, written: str) -> bool:
    return len(written) > FILE_BYTES_MAX or len(seed.items) > item_json.ITEM_COUNT_MAX


def document_of(seed: SeedFile) -> dict[str, Json]:
    config, history = seed.config, attrs.asdict(seed.history)
    document = {
        "format": FORMAT, "version": VERSION, "min_reader": VERSION, "made_by": dict(seed.made_by),
        "prng": {"id": PRNG, "seed": str(config.seed)},
        "scenario": scenario_to_json(config),
        "config": config_to_json(config),
        "items": [item_json.to_json(item) for item in seed.items],
        "limits": {
            "steps_max": config.steps_max, "virtual_ms_max": config.virtual_ms_max,
            "wall_ms_max": WALL_MS_CAP,
        },
        **({"failure": failure_to_json(seed, seed.failure)} if seed.failure else {}),
        "expect": {**attrs.asdict(seed.expect), "prefix": [block.hex() for block in seed.expect.prefix]},
        **({"minimised": minimised_to_json(seed.minimised)} if seed.minimised else {}),
        **({"original": item_json.packed(seed.original)} if seed.original else {}),
        "repro": seed.repro, "history": history, **seed.extra,
    }  # fmt: skip
    return {**document, "checksum": checksum(document)}


def checksum(document: Mapping[str, Json]) -> str:
    text = compact({key: value for key, value in document.items() if key != "checksum"})
    return blake2b(text.encode(), digest_size=CHECKSUM_BYTES, person=PERSON).hexdigest()


def layout(document: Mapping[str, Json]) -> str:
    """One line for each top-level key, and one for each entry of a list of objects."""
    return (
        "{\n" + ",\n".join(f"{json.dumps(key)}:{lines(value)}" for key, value in document.items()) + "\n}\n"
    )


def lines(value: Json) -> str:
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join(f"  {one_line(each)}" for each in value) + "\n]"
    return one_line(value)


def one_line(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def scenario_to_json(config: RunConfig) -> Json:
    """A scenario that does not ship with umi_sim is marked as the user's own."""
    own = {} if is_shipped(config.scenario) else {"own": True}
    return {"id": config.scenario, "version": config.version, "target": TARGETS[0], **own}


def config_to_json(config: RunConfig) -> dict[str, Json]:
    """The configuration, but for what only a generator reads from files, and what stands elsewhere."""
    fields = {name: getattr(config, name) for name in CONFIG_FIELDS}
    return {
        **fields,
        "agents": [
            {"name": each.name, "scope": [each.scope.user, each.scope.agent], "skew_ms": each.skew_ms}
            for each in config.agents
        ],
        "memory": dict(config.memory),
        "weights": dict(config.weights),
        "faults": {name: ratio_to_json(rate) for name, rate in config.faults.items()},
        **{name: ratio_to_json(getattr(config, name)) for name in ("adversarial", "land", "repeat")},
    }


def ratio_to_json(ratio: Ratio) -> str:
    return f"{ratio[0]}/{ratio[1]}"


def failure_to_json(seed: SeedFile, failure: Failure) -> dict[str, Json]:
    return {
        "kind": failure.kind, "rule": failure.rule_id, "step": failure.step, "item": failure.item,
        "message": failure.message, "normal": fingerprint.normal(failure.message),
        "frame": fingerprint.frame_of(failure), "fingerprint": seed.fingerprint, "before": seed.before,
        "after": seed.after, "world_ms": failure.world_ms, "expected": failure.expected, "got": failure.got,
    }  # fmt: skip


def minimised_to_json(minimised: Minimised) -> dict[str, Json]:
    return {
        "runs": minimised.runs, "from": dict(minimised.before), "to": dict(minimised.after),
        "one_minimal": minimised.one_minimal, "needed": list(minimised.needed), "stopped": minimised.stopped,
    }  # fmt: skip


# Reading.


def read(path: Path) -> SeedFile:
    """The run in a file. Raises BadSeedFile naming the file and the place in it."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise OSError(0, "not a file")
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadSeedFile(f"{name_of(path)}: cannot be read: {why}") from None
    return loads(data, name_of(path))


def loads(data: bytes, name: str) -> SeedFile:
    """The run in these bytes; `name` is what an error calls them."""
    try:
        return from_document(as_object(parsed(data), "the file"))
    except BadValue as error:
        raise BadSeedFile(f"{name}: {error}") from None


def name_of(path: Path) -> str:
    return shown_whole(str(path))


def shown_whole(text: str) -> str:
    """A text that may hold anything, as it is if it is plain."""
    return (
        text if text.isascii() and text.isprintable() else json.dumps(text)[1:-1].replace("\x7f", "\\u007f")
    )


def from_document(document: dict[str, Json]) -> SeedFile:
    check_format(document)
    known = {key: READERS[key](document[key], key) for key in READERS if key in document}
    config = config_of(known)
    check_agents(config, known["items"])
    failure = known.get("failure", {})
    return SeedFile(
        config, known["items"], Expect(**known["expect"]), failure_of(failure) if failure else None,
        failure.get("fingerprint", ""), failure.get("before", ""), failure.get("after", ""),
        known.get("made_by", {}), known.get("repro", ""), minimised_of(known.get("minimised")),
        known.get("original", ()), History(**known.get("history", {})),
        extra={key: value for key, value in document.items() if key not in READERS},
        is_edited=document.get("checksum") != checksum(document),
    )  # fmt: skip


def check_format(document: dict[str, Json]) -> None:
    if document.get("format") != FORMAT:
        raise BadValue(f'format: expected "{FORMAT}", so this is no seed file')
    if whole(1, 10**9)(document.get("min_reader", 1), "min_reader") > VERSION:
        raise BadValue(f"min_reader: written for a newer umi_sim, this one reads version {VERSION}")
    for key in NEEDED:
        if key not in document:
            raise BadValue(f"{key} is missing")


def config_of(known: Mapping[str, Json]) -> RunConfig:
    limits = known.get("limits", {})
    limits.pop("wall_ms_max", None)
    given = {key: value for key, value in known["config"].items() if key in CONFIG_FIELDS}
    scenario = known["scenario"]
    config: RunConfig = attrs.evolve(
        PLAIN,
        scenario=scenario["id"],
        version=scenario.get("version", 1),
        seed=known["prng"],
        **given,
        **limits,
    )
    return config


def check_agents(config: RunConfig, items: tuple[Item, ...]) -> None:
    """Every item belongs to an agent that there is."""
    names = [agent.name for agent in config.agents]
    for at, item in enumerate(items):
        if isinstance(item, Op | ClockMove) and item.agent not in names:
            unknown(f"items[{at}].agent", "agent", item.agent, names)


def failure_of(given: Mapping[str, Json]) -> Failure:
    return Failure(
        given["kind"], rule_name(given["rule"]), given["rule"], given.get("step", 0),
        given.get("world_ms", 0), given.get("item", ""), given["message"],
        given.get("expected", ""), given.get("got", ""), given.get("frame", ""),
    )  # fmt: skip


def minimised_of(given: Mapping[str, Json] | None) -> Minimised | None:
    if given is None:
        return None
    rest = {name: given[name] for name in given if name not in ("from", "to")}
    return Minimised(before=given["from"], after=given["to"], **rest)


def rule_name(rule_id: str) -> str:
    """The readable name of a rule; of one that this version does not know, its id."""
    from umi_sim.invariants import RULES  # tables of rules are not needed to write

    return next((rule.name for rule in RULES if rule.id == rule_id), rule_id)

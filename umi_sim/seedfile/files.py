"""Seed files: one run as JSON, its configuration and its items, so that it fails alike on any machine.

Law 1. The items replay the run; the seed alone says where they came from. An absent key of the
       configuration is plain, whatever a default may become.
Law 2. Input is hostile: bounded, typed, every name known; nothing is imported, evaluated or opened for it.
Law 3. What a reader does not know stays in the file: unknown top-level keys are kept on rewrite.
Law 4. A file is whole or not there. A checksum that is wrong says: edited by hand, its hashes prove nothing.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from umi_sim.formats.strict_json import FILE_BYTES_MAX, BadValue, as_object, parsed, unknown, whole
from umi_sim.judge.invariants.rules import RULES
from umi_sim.record import fingerprint
from umi_sim.record.items import ClockMove, Item, Op
from umi_sim.record.provenance import made_by
from umi_sim.record.recorded_replies import Said
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import is_trace, write_whole
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.seedfile.fields import CONFIG_FIELDS, NEEDED, PLAIN, READERS
from umi_sim.seedfile.parts import BadSeedFile, Expect, History, Minimised, SeedFile
from umi_sim.seedfile.text import FORMAT, VERSION, checksum, config_to_json, layout, text_of

__all__ = [
    "EPHEMERAL", "BadSeedFile", "Expect", "History", "Minimised", "SeedFile", "checksum", "config_to_json",
    "default_path", "dumps", "layout", "loads", "of_verdict", "read", "text_of", "write",
]  # fmt: skip

Json = Any

EPHEMERAL: Final = Path(".umi-sim/ephemeral")


# From a verdict.


def of_verdict(verdict: Verdict) -> SeedFile:
    """The seed file of a run that has ended; only a failure that was told has digests around its step."""
    failure = verdict.failure
    expect = Expect(
        "fail" if failure else "pass", verdict.trace_hash, verdict.prefix_every, verdict.prefix,
        verdict.steps, verdict.state_digest, tuple(verdict.marks),
    )  # fmt: skip
    repro = f"umi-sim replay {default_path(failure).as_posix()}" if failure else ""
    return SeedFile(
        verdict.config, verdict.items, expect, failure, fingerprint.of(failure) if failure else "",
        verdict.before, verdict.after, made_by(), repro, model=verdict.model,
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
    if is_trace(data):
        raise BadSeedFile(f"{name}: is a trace, and no seed file: umi-sim show {name}")
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
        known.get("original", ()), original_config_of(known, config),
        History(**known.get("history", {})),
        tuple(Said(**said) for said in known.get("model", ())),
        extra={key: value for key, value in document.items() if key not in READERS},
        is_edited=document.get("checksum") != checksum(document),
    )  # fmt: skip


def check_format(document: dict[str, Json]) -> None:
    if document.get("format") != FORMAT:
        raise BadValue(f'format: expected "{FORMAT}", so this is no seed file')
    needed = whole(1, 10**9)(document.get("min_reader", 1), "min_reader")
    if needed > VERSION:
        told = f"this one reads version {VERSION}, the file needs {needed}"
        raise BadValue(f"min_reader: written for a newer umi_sim, {told}")
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
        settings=scenario.get("set", {}),
        **given,
        **limits,
    )
    return config


def original_config_of(known: Mapping[str, Json], config: RunConfig) -> RunConfig | None:
    """What the run had before it was shrunk; limits are those of the file."""
    if "original_config" not in known:
        return None
    absent = {name: getattr(PLAIN, name) for name in CONFIG_FIELDS}
    given = {key: value for key, value in known["original_config"].items() if key in CONFIG_FIELDS}
    original: RunConfig = attrs.evolve(config, **(absent | given))
    check_agents(original, known.get("original", ()), "original")
    return original


def check_agents(config: RunConfig, items: tuple[Item, ...], path: str = "items") -> None:
    """Every item belongs to an agent that there is."""
    names = [agent.name for agent in config.agents]
    for at, item in enumerate(items):
        if isinstance(item, Op | ClockMove) and item.agent not in names:
            unknown(f"{path}[{at}].agent", "agent", item.agent, names)


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
    return next((rule.name for rule in RULES if rule.id == rule_id), rule_id)

"""Seed files: configuration and items of one run as JSON, so that it fails in the same way on any machine.

Law 1. The items replay the run; the seed only tells their origin. An absent key of the configuration has its
       value in PLAIN, even if a default changes later.
Law 2. Input is hostile: its size is bounded, and its types and names are checked. A file cannot make the
       reader import, evaluate or open anything.
Law 3. Unknown top-level keys are kept when a file is written again.
Law 4. A file is written completely or not at all. If its checksum is wrong, it was edited by hand, and its
       hashes prove nothing.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import structs

from umi_sim.formats.schema import Json, Wrong, as_object, at, quote_text, whole, wrong
from umi_sim.formats.strict_json import bytes_of, checksum, layout, parse_json
from umi_sim.kernel.wording import suggest_names
from umi_sim.machines.table import list_unserved
from umi_sim.record import fingerprint, saved_failures
from umi_sim.record.items import ClockMove, Item, Op
from umi_sim.record.provenance import made_by
from umi_sim.record.rules import RULES
from umi_sim.record.run_config import RunConfig
from umi_sim.record.saved_failures import write_whole
from umi_sim.record.trace import is_trace
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.seedfile import item_json
from umi_sim.seedfile.fields import CONFIG, DOCUMENT, NEEDED, PLAIN
from umi_sim.seedfile.parts import BadSeedFile, ExpectedResult, History, Minimised, SeedFile
from umi_sim.seedfile.text import FORMAT, VERSION, config_to_json, text_of

__all__ = [
    "EPHEMERAL", "BadSeedFile", "ExpectedResult", "History", "Minimised", "SeedFile", "checksum",
    "config_to_json", "default_path", "dumps", "layout", "loads", "of_verdict", "read", "text_of", "write",
]  # fmt: skip

EPHEMERAL: Final = Path(".umi-sim/ephemeral")


# From a verdict.


def of_verdict(verdict: Verdict) -> SeedFile:
    """Make the seed file of a verdict."""
    failure = verdict.failure
    expect = ExpectedResult(
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
    """Return the relative path for a failure; it depends on its rule and fingerprint only."""
    return EPHEMERAL / f"{failure.rule}-{fingerprint.of(failure)}.json"


# Writing.


def save(
    seed: SeedFile,
    folder: Path,
    is_own: Callable[[SeedFile], bool] = lambda past: False,
    filled: Callable[[SeedFile, Path], SeedFile] = lambda seed, path: seed,
) -> Path:
    """Write a failure to a file of its own, and return the path. Raises BadSeedFile if it is too large.

    A file of the same kind of failure is replaced if it has the same items or if `is_own` accepts it.
    `filled`: returns the seed to write to a path, given `seed` and the path.
    """
    assert seed.failure is not None
    items = [item_json.to_json(item) for item in seed.items]

    def holds(path: Path) -> bool:
        past = maybe_read(path)
        if past is None or past.failure is None or kind_of(past) != kind_of(seed):
            return False
        return past.items == seed.items or is_own(past)

    def content(path: Path) -> bytes:
        return text_of(filled(seed, path)).encode()

    return saved_failures.save(folder, default_path(seed.failure).stem, items, holds, content)


def kind_of(seed: SeedFile) -> tuple[object, ...]:
    """Return what all runs of one failure have in common: the fingerprint, and the planted bug if any.

    A run that was ended by force has no items, so its scenario and seed identify it.
    """
    assert seed.failure is not None
    run = (seed.config.scenario, seed.config.seed) if seed.is_bare else ()
    return fingerprint.of(seed.failure), seed.config.planted, run


def maybe_read(path: Path) -> SeedFile | None:
    """Return the run in a file; None if it cannot be read."""
    try:
        return read(path)
    except BadSeedFile:
        return None


def dumps(verdict: Verdict) -> str:
    """Return the text of the seed file of a run."""
    return text_of(of_verdict(verdict))


def write(path: Path, source: SeedFile | Verdict) -> None:
    """Write the file, and create its folder if needed. Raises BadSeedFile if the run is too large."""
    seed = source if isinstance(source, SeedFile) else of_verdict(source)
    data = text_of(seed).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)


# Reading.


def read(path: Path) -> SeedFile:
    """Read the run in a file. Raises BadSeedFile, which names the file and the place in it."""
    try:
        data = bytes_of(path)
    except OSError as error:
        raise BadSeedFile(f"{name_of(path)}: cannot be read: {error.strerror}") from None
    return loads(data, name_of(path))


def loads(data: bytes, name: str) -> SeedFile:
    """Read the run in these bytes. Raises BadSeedFile; `name`: the file in errors."""
    if is_trace(data):
        raise BadSeedFile(f"{name}: is a trace, and no seed file: umi-sim show {name}")
    try:
        return from_document(at("the file", as_object, parse_json(data)))
    except Wrong as error:
        raise BadSeedFile(f"{name}: {error}") from None


def name_of(path: Path) -> str:
    """Return the path as it is if it is plain ASCII, else escaped."""
    text = str(path)
    is_plain = text.isascii() and text.isprintable()
    return text if is_plain else json.dumps(text)[1:-1].replace("\x7f", "\\u007f")


def from_document(document: dict[str, Json]) -> SeedFile:
    # First, because in a file of a newer version known keys may have another meaning.
    check_format(document)
    known = {key: at(key, each.read, document[key]) for key, each in DOCUMENT.items() if key in document}
    config = config_of(known)
    check_agents(config, known["items"])
    failure = known.get("failure", {})
    known_parts = {name: known[name] for name in UNCHANGED_KEYS if name in known}
    marks = {name: failure.get(name, "") for name in ("fingerprint", "before", "after")}
    return SeedFile(
        config, known["items"], failure=failure_of(failure) if failure else None, **marks, **known_parts,
        original_config=original_config_of(known, config),
        extra={key: value for key, value in document.items() if key not in DOCUMENT},
        # Over the document as read, with unknown keys: a file of a newer writer does not count as edited.
        is_edited=document.get("checksum") != checksum(document),
    )  # fmt: skip


UNCHANGED_KEYS: Final = ("expect", "made_by", "repro", "minimised", "original", "history", "model")


def check_format(document: dict[str, Json]) -> None:
    if document.get("format") in ("umi-target", "umi-program"):
        message = "is of a store or a program of yours, and this command reads runs of Umi alone"
        raise Wrong(("format", f"{message}: umi-sim show, html, replay, why and export read it, too"))
    if document.get("format") != FORMAT:
        raise Wrong(("format", f'expected "{FORMAT}", so this is no seed file'))
    # `version` is the version of the writer, `min_reader` the least version that can read the file.
    needed = at("min_reader", whole(1, 10**9).read, document.get("min_reader", 1))
    if needed > VERSION:
        message = f"this one reads version {VERSION}, the file needs {needed}"
        raise Wrong(("min_reader", f"written for a newer umi_sim, {message}"))
    if missing := [(key, "missing") for key in NEEDED if key not in document]:
        raise Wrong(*missing)


def config_of(known: Mapping[str, Json]) -> RunConfig:
    limits = {key: each for key, each in known.get("limits", {}).items() if key == "steps_max"}
    scenario = known["scenario"]
    config: RunConfig = structs.replace(
        # Absent keys have the values of PLAIN, not the defaults of RunConfig (law 1).
        PLAIN, scenario=scenario["id"], version=scenario.get("version", 1), seed=known["prng"]["seed"],
        settings=scenario.get("set", {}), target=scenario.get("target", PLAIN.target),
        **without_old_settings(known["config"]), **limits,
    )  # fmt: skip
    return config


def without_old_settings(config: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in config.items() if key in CONFIG}


def original_config_of(known: Mapping[str, Json], config: RunConfig) -> RunConfig | None:
    """Return the configuration of the run before it was shrunk, with the limits of the file."""
    if "original_config" not in known:
        return None
    # Every key of the shrunk configuration is replaced, with its value in PLAIN if the original has none.
    absent = {name: getattr(PLAIN, name) for name in CONFIG}
    original: RunConfig = structs.replace(config, **(absent | without_old_settings(known["original_config"])))
    check_agents(original, known.get("original", ()), "original")
    return original


def check_agents(config: RunConfig, items: tuple[Item, ...], path: str = "items") -> None:
    """Demand that every item belongs to an existing agent, and that the target serves every op."""
    names = [agent.name for agent in config.agents]
    for place, item in enumerate(items):
        if isinstance(item, Op) and any(list_unserved(config.target, (item.name,))):
            at(f"{path}[{place}].name", wrong, f"{item.name} is not served by {config.target}")
        if isinstance(item, Op | ClockMove) and item.agent not in names:
            at(
                f"{path}[{place}].agent",
                wrong,
                f"unknown agent {quote_text(item.agent)}{suggest_names(item.agent, names)}",
            )


def failure_of(given: Mapping[str, Json]) -> Failure:
    own = ("kind", "step", "world_ms", "item", "message", "expected", "got", "frame")
    known = {"step": 0, "world_ms": 0, "item": "", **{name: given[name] for name in own if name in given}}
    return Failure(rule=rule_name(given["rule"]), rule_id=given["rule"], **known)


def rule_name(rule_id: str) -> str:
    """Return the readable name of a rule, or the id if this version does not know the rule."""
    return next((rule.name for rule in RULES if rule.id == rule_id), rule_id)

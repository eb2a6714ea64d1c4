"""A seed file as text: one line for each top-level key and item, ASCII, a checksum over the compact form.

Law 1. If a file is too large, its least needed parts are left out: first the answers of the model, then the
       items from before shrinking.
Law 2. Items of the schedule are left out only if a reader would refuse the file otherwise; its notes say so.
"""

from typing import Final

from msgspec import structs

from umi_sim.formats.schema import Json
from umi_sim.formats.strict_json import FILE_BYTES_MAX, VALUE_COUNT_MAX, checksum, layout, value_count
from umi_sim.record import fingerprint
from umi_sim.record.items import Deviation
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure
from umi_sim.seedfile import item_json, packed_items
from umi_sim.seedfile.fields import CONFIG, DOCUMENT, PRNG, is_shipped
from umi_sim.seedfile.parts import BadSeedFile, SeedFile

FORMAT: Final = "umi-seed"
VERSION: Final = 1
MINIMISED_BYTES_MAX: Final = 64 * 1024  # of a shrunk file, without the original items
WITH_ORIGINAL_BYTES_MAX: Final = 1024 * 1024
NO_SCHEDULE: Final = "too large: schedule items left out, only regeneration from the seed is exact"


def text_of(seed: SeedFile) -> str:
    """Return the text of the file. Raises BadSeedFile if its necessary parts are too large."""
    kept = slim(seed)
    written = layout(document_of(kept))
    if is_too_large(kept, written):
        few = tuple(item for item in kept.items if not isinstance(item, Deviation))
        kept = structs.replace(kept, items=few, history=structs.replace(kept.history, notes=NO_SCHEDULE))
        written = layout(document_of(kept))
    if is_too_large(kept, written):
        raise BadSeedFile(
            f"the run has {len(kept.items)} items in {len(written)} bytes, too large for a seed file"
        )
    return written


def slim(seed: SeedFile) -> SeedFile:
    """Return the file without the model's answers or the original items, where they are too large."""
    # Measured without the original items, which have a limit of their own below.
    full, bare = seed, structs.replace(seed, original=(), original_config=None)
    bytes_max = MINIMISED_BYTES_MAX if seed.minimised else WITH_ORIGINAL_BYTES_MAX
    if seed.model and len(layout(document_of(bare))) > bytes_max:
        full, bare = structs.replace(full, model=()), structs.replace(bare, model=())
    is_large = full.original and len(layout(document_of(full))) > WITH_ORIGINAL_BYTES_MAX
    return bare if is_large or not packed_items.can_pack(full.original) else full


def is_too_large(seed: SeedFile, written: str) -> bool:
    is_full = value_count(written.encode()) > VALUE_COUNT_MAX or len(seed.items) > item_json.ITEM_COUNT_MAX
    return is_full or len(written) > FILE_BYTES_MAX


def document_of(seed: SeedFile) -> dict[str, Json]:
    """Return the file as JSON, without empty optional parts."""
    config = seed.config
    parts = {
        "format": FORMAT, "version": VERSION, "min_reader": VERSION, "made_by": seed.made_by,
        "prng": {"id": PRNG, "seed": config.seed}, "scenario": scenario_of(config), "config": config,
        "items": seed.items, "model": seed.model, "limits": {"steps_max": config.steps_max},
        "failure": failure_of(seed, seed.failure) if seed.failure else None, "expect": seed.expect,
        "minimised": seed.minimised, "original": seed.original, "original_config": seed.original_config,
        "repro": seed.repro, "history": seed.history,
    }  # fmt: skip
    there = {name: part for name, part in parts.items() if part or name not in OPTIONAL}
    written = {name: WRITERS.get(name, DOCUMENT[name].write)(part) for name, part in there.items()}
    # Unknown keys of a newer writer are kept (law 3 of files.py).
    document = {**written, **seed.extra}
    return {**document, "checksum": checksum(document)}


def scenario_of(config: RunConfig) -> Json:
    """Return the scenario with its --set overrides; `own` marks one that is not shipped with umi_sim."""
    own = {} if is_shipped(config.scenario) else {"own": True}
    settings = {"set": config.settings} if config.settings else {}
    return {"id": config.scenario, "version": config.version, "target": config.target, **own, **settings}


def config_to_json(config: RunConfig) -> dict[str, Json]:
    """Return the configuration as JSON, without options of generators and those with keys elsewhere."""
    return {name: schema.write(getattr(config, name)) for name, schema in CONFIG.items()}


WRITERS: Final = {"config": config_to_json, "original_config": config_to_json}
minimised_to_json: Final = DOCUMENT["minimised"].write
OPTIONAL: Final = ("model", "failure", "minimised", "original", "original_config")


def failure_of(seed: SeedFile, failure: Failure) -> dict[str, Json]:
    return {
        "kind": failure.kind, "rule": failure.rule_id, "step": failure.step, "item": failure.item,
        "message": failure.message, "normal": fingerprint.normal(failure.message),
        "frame": fingerprint.frame_of(failure), "fingerprint": seed.fingerprint, "before": seed.before,
        "after": seed.after, "world_ms": failure.world_ms, "expected": failure.expected, "got": failure.got,
    }  # fmt: skip

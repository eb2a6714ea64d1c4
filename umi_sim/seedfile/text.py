"""A seed file as text: one line for each top-level key and item, ASCII, a checksum over the compact form.

Law 1. From a file that is too large parts are left out, the least needed first: the answers of the model,
       then the items from before shrinking.
Law 2. Items of the schedule are left out only if no reader would take the file otherwise; its notes say so.
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
MINIMISED_BYTES_MAX: Final = 64 * 1024  # without the original items
WITH_ORIGINAL_BYTES_MAX: Final = 1024 * 1024
NO_SCHEDULE: Final = "too large: schedule items left out, only regeneration from the seed is exact"


def text_of(seed: SeedFile) -> str:
    """The file as text. Raises BadSeedFile if what must stay in it is too large to be read."""
    seed = slim(seed)
    written = layout(document_of(seed))
    if is_too_large(seed, written):
        few = tuple(item for item in seed.items if not isinstance(item, Deviation))
        seed = structs.replace(seed, items=few, history=structs.replace(seed.history, notes=NO_SCHEDULE))
        written = layout(document_of(seed))
    if is_too_large(seed, written):
        raise BadSeedFile(
            f"the run has {len(seed.items)} items in {len(written)} bytes, too large for a seed file"
        )
    return written


def slim(seed: SeedFile) -> SeedFile:
    """Return the file without the model's answers, then without the original items, if it is too large."""
    # Measured without the originals: they are left out for
    # their own size, and must not cost the answers their place.
    bare = structs.replace(seed, original=(), original_config=None)
    if seed.model and len(layout(document_of(bare))) > bytes_max(seed):
        seed, bare = structs.replace(seed, model=()), structs.replace(bare, model=())
    is_large = seed.original and len(layout(document_of(seed))) > WITH_ORIGINAL_BYTES_MAX
    return bare if is_large or not packed_items.can_pack(seed.original) else seed


def bytes_max(seed: SeedFile) -> int:
    return MINIMISED_BYTES_MAX if seed.minimised else WITH_ORIGINAL_BYTES_MAX


def is_too_large(seed: SeedFile, written: str) -> bool:
    is_full = value_count(written.encode()) > VALUE_COUNT_MAX or len(seed.items) > item_json.ITEM_COUNT_MAX
    return is_full or len(written) > FILE_BYTES_MAX


def document_of(seed: SeedFile) -> dict[str, Json]:
    """The file as JSON; what is empty and may be left out is."""
    config = seed.config
    limits = {name: getattr(config, name) for name in ("steps_max", "virtual_ms_max")}
    parts = {
        "format": FORMAT, "version": VERSION, "min_reader": VERSION, "made_by": seed.made_by,
        "prng": {"id": PRNG, "seed": config.seed}, "scenario": scenario_of(config), "config": config,
        "items": seed.items, "model": seed.model, "limits": limits,
        "failure": failure_of(seed, seed.failure) if seed.failure else None, "expect": seed.expect,
        "minimised": seed.minimised, "original": seed.original, "original_config": seed.original_config,
        "repro": seed.repro, "history": seed.history,
    }  # fmt: skip
    there = {name: part for name, part in parts.items() if part or name not in OPTIONAL}
    written = {name: WRITERS.get(name, DOCUMENT[name].write)(part) for name, part in there.items()}
    # Keys of a newer writer come back as they were (law 3 of files.py).
    document = {**written, **seed.extra}
    return {**document, "checksum": checksum(document)}


def scenario_of(config: RunConfig) -> Json:
    """A scenario, with what --set replaced in it; one that does not ship with umi_sim is the user's own."""
    own = {} if is_shipped(config.scenario) else {"own": True}
    settings = {"set": config.settings} if config.settings else {}
    return {"id": config.scenario, "version": config.version, "target": config.target, **own, **settings}


def config_to_json(config: RunConfig) -> dict[str, Json]:
    """The configuration, but for what only a generator reads from files, and what stands elsewhere."""
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

"""A seed file as text: one line for each top-level key and item, ASCII, a checksum over the compact form.

Law 1. What makes a file too large goes, the least needed first: the answers of the model, the original items.
Law 2. Schedule items go only from a file that nobody could read otherwise, and its notes say so.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import attrs

from umi_sim.formats.strict_json import FILE_BYTES_MAX, VALUE_COUNT_MAX, compact, value_count
from umi_sim.kernel.prng import Ratio
from umi_sim.record import fingerprint
from umi_sim.record.items import Deviation
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure
from umi_sim.seedfile import item_json, packed_items
from umi_sim.seedfile.fields import CONFIG_FIELDS, PRNG, TARGETS, WALL_MS_CAP, is_shipped
from umi_sim.seedfile.parts import BadSeedFile, Minimised, SeedFile

Json = Any

FORMAT: Final = "umi-seed"
VERSION: Final = 1
PERSON: Final = b"umi-seed-1"
CHECKSUM_BYTES: Final = 16
MINIMISED_BYTES_MAX: Final = 64 * 1024  # without the original items
WITH_ORIGINAL_BYTES_MAX: Final = 1024 * 1024
NO_SCHEDULE: Final = "too large: schedule items left out, only regeneration from the seed is exact"


def text_of(seed: SeedFile) -> str:
    """The file as text. Raises BadSeedFile if what must stay in it is too large to be read."""
    seed = slimmed(seed)
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


def slimmed(seed: SeedFile) -> SeedFile:
    """Without the answers of the model, then without the original items, where there is no room for them."""
    bare = attrs.evolve(seed, original=(), original_config=None)
    if seed.model and len(layout(document_of(bare))) > bytes_max(seed):
        seed, bare = attrs.evolve(seed, model=()), attrs.evolve(bare, model=())
    is_large = seed.original and len(layout(document_of(seed))) > WITH_ORIGINAL_BYTES_MAX
    return bare if is_large or not packed_items.can_pack(seed.original) else seed


def bytes_max(seed: SeedFile) -> int:
    return MINIMISED_BYTES_MAX if seed.minimised else WITH_ORIGINAL_BYTES_MAX


def is_too_large(seed: SeedFile, written: str) -> bool:
    is_full = value_count(written.encode()) > VALUE_COUNT_MAX or len(seed.items) > item_json.ITEM_COUNT_MAX
    return is_full or len(written) > FILE_BYTES_MAX


def document_of(seed: SeedFile) -> dict[str, Json]:
    config, history = seed.config, attrs.asdict(seed.history)
    document = {
        "format": FORMAT, "version": VERSION, "min_reader": VERSION, "made_by": dict(seed.made_by),
        "prng": {"id": PRNG, "seed": str(config.seed)},
        "scenario": scenario_to_json(config),
        "config": config_to_json(config),
        "items": [item_json.to_json(item) for item in seed.items],
        **({"model": [attrs.asdict(said) for said in seed.model]} if seed.model else {}),
        "limits": {
            "steps_max": config.steps_max, "virtual_ms_max": config.virtual_ms_max,
            "wall_ms_max": WALL_MS_CAP,
        },
        **({"failure": failure_to_json(seed, seed.failure)} if seed.failure else {}),
        "expect": {**attrs.asdict(seed.expect), "prefix": [block.hex() for block in seed.expect.prefix]},
        **({"minimised": minimised_to_json(seed.minimised)} if seed.minimised else {}),
        **({"original": packed_items.packed(seed.original)} if seed.original else {}),
        **({"original_config": config_to_json(seed.original_config)} if seed.original_config else {}),
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
    """A scenario, with what --set replaced in it; one that does not ship with umi_sim is the user's own."""
    own = {} if is_shipped(config.scenario) else {"own": True}
    settings = {"set": dict(config.settings)} if config.settings else {}
    return {"id": config.scenario, "version": config.version, "target": TARGETS[0], **own, **settings}


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

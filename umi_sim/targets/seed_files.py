"""Seed files of targets: one run of somebody's store as JSON, which replays for whoever has that store.

Law 1. Input is hostile: bounded, typed, every name known. The store is named on the command line,
       never in a file.
Law 2. A file is whole or not there. A checksum that is wrong says: edited by hand, its hash proves nothing.
"""

from pathlib import Path
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_sim.formats.schema import Json, Wrong, as_list, as_object, at, text, whole
from umi_sim.formats.strict_json import bytes_of, parsed
from umi_sim.record.provenance import made_by
from umi_sim.record.trace import write_whole
from umi_sim.seedfile.text import checksum, layout
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.items import Item, item_to_json, read_item
from umi_sim.targets.life import Verdict
from umi_sim.targets.shrinking import fingerprint_of

FORMAT: Final = "umi-target"
VERSION: Final = 1
FOLDER: Final = Path(".umi-sim/targets")
ITEM_COUNT_MAX: Final = 1_000


class BadFile(ValueError):
    """A file that holds no run of such a store, and why, in one line."""


@attrs.frozen
class Saved(Data):
    """A run from a file. `fingerprint`: empty where it passed; `trace`: where it was edited by hand too."""

    items: tuple[Item, ...]
    trace: str
    fingerprint: str


def document_of(adapter: type[Adapter], name: str, seed: int, verdict: Verdict) -> dict[str, Json]:
    broken = verdict.broken
    failure: dict[str, Json] = {}
    if broken is not None:
        failure = {
            "rule": broken.rule, "op": broken.op, "message": broken.message, "item": verdict.ended_at,
            "fingerprint": fingerprint_of(broken),
        }  # fmt: skip
    document = {
        "format": FORMAT, "version": VERSION, "min_reader": VERSION, "made_by": made_by(),
        "contract": adapter.contract.name, "target": name, "seed": str(seed),
        "items": [item_to_json(item) for item in verdict.items], "failure": failure, "trace": verdict.trace,
    }  # fmt: skip
    return {**document, "checksum": checksum(document)}


def write(adapter: type[Adapter], name: str, seed: int, verdict: Verdict) -> Path:
    """The file of a broken promise: one for each fingerprint."""
    assert verdict.broken is not None
    path = FOLDER / f"{verdict.broken.rule}-{fingerprint_of(verdict.broken)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, layout(document_of(adapter, name, seed, verdict)).encode())
    return path


def read(path: Path, adapter: type[Adapter]) -> Saved:
    """Raises BadFile naming the file and the place in it."""
    try:
        return saved_of(at("the file", as_object, parsed(bytes_of(path))), adapter)
    except OSError as error:
        raise BadFile(f"{path}: cannot be read: {error.strerror}") from None
    except Wrong as error:
        raise BadFile(f"{path}: {error}") from None


def saved_of(document: dict[str, Json], adapter: type[Adapter]) -> Saved:
    contract = adapter.contract
    if document.get("format") != FORMAT:
        raise Wrong(("format", f'expected "{FORMAT}", so this is no run of a store'))
    if at("min_reader", whole(1, 10**9).read, document.get("min_reader", 1)) > VERSION:
        raise Wrong(("min_reader", f"written for a newer umi_sim, this one reads version {VERSION}"))
    if document.get("contract") != contract.name:
        raise Wrong(("contract", f"expected {contract.name}, as {adapter.__name__} has it"))
    given = at("items", as_list, document.get("items"))
    if len(given) > ITEM_COUNT_MAX:
        raise Wrong(("items", f"more than {ITEM_COUNT_MAX}"))
    items = [
        at(f"items[{place}]", lambda each: read_item(each, contract.ops), each)
        for place, each in enumerate(given)
    ]
    failure: Any = at("failure", as_object, document.get("failure", {}))
    is_whole = document.get("checksum") == checksum(document)
    return Saved(
        tuple(items),
        at("trace", text().read, document.get("trace", "")) if is_whole else "",
        at("failure.fingerprint", text().read, failure.get("fingerprint", "")),
    )

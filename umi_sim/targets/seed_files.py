"""Seed files of targets: one run of somebody's store as JSON, which replays for whoever has that store.

Law 1. Input is hostile: bounded, typed, every name known. The store is named on the command line,
       never in a file.
Law 2. A file is whole or not there. A checksum that is wrong says: edited by hand, its hash proves nothing.
"""

import re
from contextlib import suppress
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.formats.schema import TEXT, Json, Schema, Wrong, as_object, at, listed, one_of, table, whole
from umi_sim.formats.strict_json import bytes_of, parsed
from umi_sim.record.provenance import made_by
from umi_sim.record.trace import write_whole
from umi_sim.seedfile.text import checksum, layout
from umi_sim.targets.adapter import CONTRACTS, FOLDER, Adapter, ops_of
from umi_sim.targets.checker import RULES
from umi_sim.targets.items import AT_ONCE_MAX, item_to_json, read_item
from umi_sim.targets.life import Step, Verdict
from umi_sim.targets.shrinking import fingerprint_of

FORMAT: Final = "umi-target"
MARK: Final = re.compile(f'"format"\\s*:\\s*"{FORMAT}"'.encode())
HEAD_BYTES: Final = 4_096
VERSION: Final = 1
ITEM_COUNT_MAX: Final = 1_000
OWNER_CHARS_MAX: Final = 60
WORD: Final = re.compile(r"\w+", re.ASCII)


class BadFile(ValueError):
    """A file that holds no run of such a store, and why, in one line."""


@attrs.frozen
class Saved(Data):
    """A run from a file, with what the store said then. `trace` is empty where it was edited by hand.

    `rule`, `message`, `fingerprint`: empty where it passed.
    """

    contract: str
    target: str
    steps: tuple[Step, ...]
    trace: str
    rule: str
    message: str
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
        "items": [item_to_json(item) for item in verdict.items],
        "said": [list[Json](step.said) for step in verdict.steps], "failure": failure, "trace": verdict.trace,
    }  # fmt: skip
    return {**document, "checksum": checksum(document)}


def write(
    adapter: type[Adapter], name: str, seed: int, verdict: Verdict, folder: Path = Path(FOLDER)
) -> Path:
    """The file of a broken promise: one for each adapter and fingerprint."""
    assert verdict.broken is not None
    own = "-".join(WORD.findall(whose(name)))[:OWNER_CHARS_MAX]
    path = folder / f"{own}-{verdict.broken.rule}-{fingerprint_of(verdict.broken)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, layout(document_of(adapter, name, seed, verdict)).encode())
    return path


def read(path: Path) -> Saved:
    """Raises BadFile naming the file and the place in it."""
    try:
        return saved_of(at("the file", as_object, parsed(bytes_of(path))))
    except OSError as error:
        raise BadFile(f"{path}: cannot be read: {error.strerror}") from None
    except Wrong as error:
        raise BadFile(f"{path}: {error}") from None


def kept(adapter: type[Adapter], name: str, folder: Path) -> tuple[list[tuple[Path, Saved]], int]:
    """The runs of this adapter in a folder, by name, and how many files are of others. Raises BadFile."""
    found = [(path, run_of_store(path)) for path in sorted(folder.glob("*.json"))]
    own = [(path, saved) for path, saved in found if saved is not None and is_of(adapter, name, saved)]
    return own, len(found) - len(own)


def run_of_store(path: Path) -> Saved | None:
    """None for a file of something else. Raises BadFile for one that says that it is such a run."""
    return read(path) if is_run_of_store(path) else None


def is_run_of_store(path: Path) -> bool:
    """By its first lines; anything else is for others to complain about."""
    with suppress(OSError):
        return MARK.search(bytes_of(path, HEAD_BYTES)) is not None
    return False


def is_of(adapter: type[Adapter], name: str, saved: Saved) -> bool:
    """Of this adapter, wherever its module is imported from, and with operations that it has."""
    ops = ops_of(adapter)
    is_known = all(op.name in ops for step in saved.steps for op in step.item.ops)
    return saved.contract == adapter.contract.name and is_known and is_same(whose(saved.target), whose(name))


def is_same(one: str, other: str) -> bool:
    """A module that is the program has no name of its own."""
    classes = one.rpartition(":")[2] == other.rpartition(":")[2]
    return one == other or (classes and "__main__:" in one + other)


def whose(name: str) -> str:
    """The last part of the module and the class; the command of a process."""
    own = name.partition(" --against ")[0]
    if own.startswith("--contract"):
        return own.partition(" --command ")[2]
    module, _, cls = own.rpartition(":")
    return f"{module.rpartition('.')[2]}:{cls}"


def saved_of(document: dict[str, Json]) -> Saved:
    if document.get("format") != FORMAT:
        raise Wrong(("format", f'expected "{FORMAT}", so this is no run of a store'))
    if at("min_reader", whole(1, 10**9).read, document.get("min_reader", 1)) > VERSION:
        raise Wrong(("min_reader", f"written for a newer umi_sim, this one reads version {VERSION}"))
    contract = at("contract", one_of(CONTRACTS, "contract").read, document.get("contract"))
    item = Schema(lambda value: read_item(value, CONTRACTS[contract].contract.ops), dict)
    items = at("items", listed(item, ITEM_COUNT_MAX).read, document.get("items"))
    said = at("said", listed(listed(TEXT, AT_ONCE_MAX), ITEM_COUNT_MAX).read, document.get("said", []))
    failure = at("failure", FAILURE.read, document.get("failure", {}))
    is_whole = document.get("checksum") == checksum(document)
    return Saved(
        contract,
        at("target", TEXT.read, document.get("target", "")),
        tuple(starmap(Step, zip_longest(items, said[: len(items)], fillvalue=()))),
        at("trace", TEXT.read, document.get("trace", "")) if is_whole else "",
        *(failure.get(name, "") for name in ("rule", "message", "fingerprint")),
    )


FAILURE: Final = table(
    {
        "rule": one_of(RULES, "rule"), "item": whole(0, ITEM_COUNT_MAX),
        **dict.fromkeys(("op", "message", "fingerprint"), TEXT),
    }
)  # fmt: skip

"""Seed files of targets: one run of a store as JSON, which replays wherever that store is installed.

Law. Files are untrusted: sizes are bounded, types and names are checked. A file never chooses which store is
     run; the command line does.
"""

import re
from collections.abc import Sequence
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.formats.schema import SEED, TEXT, Json, Schema, at, list_of, one_of, table, whole
from umi_sim.formats.strict_json import compact
from umi_sim.record.saved_failures import (
    BadFile,
    format_of,
    make_document,
    parse_document,
    read_file,
    read_trace,
    save_document,
)
from umi_sim.targets.adapter import CONTRACTS, FOLDER, Adapter, ops_of
from umi_sim.targets.items import IN_TURN_MAX, Item, item_to_json, read_item
from umi_sim.targets.life import NO_JOBS, JobCounts, TargetStep, TargetVerdict, run
from umi_sim.targets.promises import RULES
from umi_sim.targets.shrinking import Live, fingerprint_of

FORMAT: Final = "umi-target"
ITEM_COUNT_MAX: Final = 1_000
UNIQUE: Final = re.compile(r'"(?:v|m|r|note )[0-9]+[a-z]*(?:\.[0-9]+)?"')  # see `draw_value`
JOB_COUNT_MAX: Final = 10**9
JOB_FIELDS: Final = ("jobs", "pauses", "jobs_whole")  # the names of the fields of JobCounts in a file


class SavedRun(Data):
    """A run from a file, with the recorded answers. `trace`: empty if the file was edited by hand.

    `rule`, `message` and `fingerprint` are empty if the run passed. `jobs`: counts of executor jobs.
    """

    contract: str
    target: str
    steps: tuple[TargetStep, ...]
    trace: str
    rule: str
    message: str
    fingerprint: str
    op: str = ""
    jobs: JobCounts = NO_JOBS
    seed: int = 0  # of Python's random generators


def document_of(adapter: type[Adapter], name: str, verdict: TargetVerdict) -> dict[str, Json]:
    broken = verdict.broken
    failure: dict[str, Json] = {}
    if broken is not None:
        failure = {
            "rule": broken.rule, "op": broken.op, "message": broken.message, "item": verdict.ended_at,
            "fingerprint": fingerprint_of(broken),
        }  # fmt: skip
    fields: dict[str, Json] = {
        "contract": adapter.contract.name, "target": name, "seed": str(verdict.seed),
        "items": [item_to_json(item) for item in verdict.items],
        "said": [list[Json](step.replies) for step in verdict.steps], "failure": failure,
        "trace": verdict.trace,
        **dict(zip(JOB_FIELDS, structs.astuple(verdict.jobs), strict=True)),
    }  # fmt: skip
    return make_document(FORMAT, fields)


def write(adapter: type[Adapter], name: str, verdict: TargetVerdict, folder: Path = Path(FOLDER)) -> Path:
    """Write a failing run to a file, and return its path.

    A failure with the same adapter, fingerprint and items gets the same file.
    """
    assert verdict.broken is not None
    mark, items = fingerprint_of(verdict.broken), renumber_words(verdict.items)

    def is_same(path: Path) -> bool:
        saved = read(path)
        is_same_failure = (whose(saved.target), saved.fingerprint) == (whose(name), mark)
        return is_same_failure and renumber_words([step.item for step in saved.steps]) == items

    return save_document(folder, whose(name), document_of(adapter, name, verdict), items, is_same)


def renumber_words(items: Sequence[Item]) -> str:
    """Return the items as text, with unique words replaced by numbers in order of their appearance.

    Two hunts may draw `v3.1` and `v17` for the same failure. All other differences are kept.
    """
    numbers: dict[str, str] = {}
    text = compact([item_to_json(item) for item in items])
    return UNIQUE.sub(lambda found: numbers.setdefault(found[0], f'"#{len(numbers)}"'), text)


def read(path: Path) -> SavedRun:
    """Read a run. Raises BadFile, naming the file and the place in it."""
    return read_file(path, parse_run)


def parse_run(data: bytes, name: str) -> SavedRun:
    """Read a run from the bytes of a file. Raises BadFile, whose message names the file `name`."""
    return parse_document(data, name, FORMAT, "run of a store", saved_of)


class Earlier(Data):
    """The saved runs of an adapter in a folder, each with its new verdict. `unreadable`: errors of files.

    `other_count`: files of other adapters, which were not run.
    """

    runs: tuple[tuple[str, SavedRun, TargetVerdict], ...] = ()
    other_count: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def failing(self) -> list[tuple[str, SavedRun, TargetVerdict]]:
        return [each for each in self.runs if each[2].broken is not None]

    @property
    def fixed(self) -> list[str]:
        """The files of failures that no longer happen."""
        return [file for file, saved, now in self.runs if saved.fingerprint and now.broken is None]


def run_again(adapter: type[Adapter], name: str, folder: Path, live: Live = run) -> Earlier:
    """Replay the saved runs of this adapter in the order of file names. Files are never changed."""
    runs, unreadable, other_count = list[tuple[str, SavedRun, TargetVerdict]](), list[str](), 0
    for path in sorted(folder.glob("*.json")):
        try:
            saved = read(path) if format_of(path) == FORMAT else None
        except BadFile as error:
            unreadable.append(str(error))
            continue
        if saved is not None and is_of(adapter, name, saved):
            verdict = live(adapter, [step.item for step in saved.steps], saved.seed)
            runs.append((path.as_posix(), saved, verdict))
        else:
            other_count += 1
    return Earlier(tuple(runs), other_count, tuple(unreadable))


def is_of(adapter: type[Adapter], name: str, saved: SavedRun) -> bool:
    """Return whether a saved run is of this adapter, in any package, and has only operations of it."""
    ops = ops_of(adapter)
    is_known = all(op.name in ops for step in saved.steps for op in step.item.ops)
    return saved.contract == adapter.contract.name and is_known and is_alike(whose(saved.target), whose(name))


def is_alike(one: str, other: str) -> bool:
    """Return whether two names may mean the same class: a module run as `__main__` has lost its name."""
    classes = one.rpartition(":")[2] == other.rpartition(":")[2]
    return one == other or (classes and "__main__:" in one + other)


def whose(name: str) -> str:
    """Return the owner in a file name: the last part of the module and the class, or a command."""
    own = name.partition(" --against ")[0]
    if own.startswith("--contract"):
        return own.partition(" --command ")[2]
    module, _, cls = own.rpartition(":")
    return f"{module.rpartition('.')[2]}:{cls}"


def saved_of(document: dict[str, Json]) -> SavedRun:
    contract = at("contract", one_of(CONTRACTS, "contract").read, document.get("contract"))
    item = Schema(lambda value: read_item(value, CONTRACTS[contract].contract.ops), dict)
    items = at("items", list_of(item, ITEM_COUNT_MAX).read, document.get("items"))
    answers = at("said", list_of(list_of(TEXT, IN_TURN_MAX), ITEM_COUNT_MAX).read, document.get("said", []))
    failure = at("failure", FAILURE.read, document.get("failure", {}))
    return SavedRun(
        contract,
        at("target", TEXT.read, document.get("target", "")),
        tuple(starmap(TargetStep, zip_longest(items, answers[: len(items)], fillvalue=()))),
        read_trace(document),
        rule=failure.get("rule", ""), message=failure.get("message", ""),
        fingerprint=failure.get("fingerprint", ""),
        op=failure.get("op", ""),
        seed=at("seed", SEED.read, document.get("seed", "0")),
        jobs=JobCounts(*(at(k, COUNT.read, document.get(k, 0)) for k in JOB_FIELDS)),
    )  # fmt: skip


COUNT: Final = whole(0, JOB_COUNT_MAX)
FAILURE: Final = table(
    {
        "rule": one_of(RULES, "rule"), "item": whole(0, ITEM_COUNT_MAX),
        **dict.fromkeys(("op", "message", "fingerprint"), TEXT),
    }
)  # fmt: skip

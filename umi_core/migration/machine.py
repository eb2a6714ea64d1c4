"""The machine of a migration as a value: its state, questions and their results, and helpers for steps."""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import structs

from umi_core.data import Data
from umi_core.migration.requests import MigrationRequest, RowsListed, StoresCompared
from umi_core.values import Pairs

Store = Literal["main", "legacy"]
Value = str | RowsListed | StoresCompared  # the value of a reply
Ended = Literal["done", "failed", "unknown", "not_ready", "reused"]
Key = tuple[str, str]  # a table of main (row, begun, key, outbox, phase) and an id
# Ids that a log assigns; ids of the old server may be any text, and `next_id` ignores those.
NUMBER: Final = re.compile("[0-9]{12}")
PHASE: Final[Key] = ("phase", "phase")
OF_LEGACY: Final = ("legacy", "dual_write")  # phases in which legacy leads
WITH_OUTBOX: Final = ("dual_read", "umi_primary", "rolling_back")
MIRRORED: Final = ("dual_read", "rolling_back")
COMPARED: Final = ("dual_write", *WITH_OUTBOX)
HANDED_OVER: Final = ("handing_over", "done")  # in which the memory takes over the rows, or has them
SWITCHES: Final = {
    "legacy": ("dual_write", ""), "dual_write": ("dual_read", "legacy"),
    "dual_read": ("umi_primary", "rolling_back"), "umi_primary": ("cleanup", "rolling_back"),
    "rolling_back": ("dual_read", "legacy"),
    "cleanup": ("done", ""), "handing_over": ("done", ""), "done": ("", ""),
}  # fmt: skip
"""By phase, the next one and the previous one; empty if there is none."""


class Once(Data):
    """A write under a request key: it changes the row `id` from `before` to `content`."""

    id: str
    before: str | None
    content: str | None

    def is_in(self, rows: "StoreRows") -> bool:
        """Check whether the write was done, given the rows of the leading store before any later write."""
        return row(rows, ("row", self.id)).value == self.content


class VersionedValue(Data):
    """A row as read from a store; in main, one without a value is a tombstone. Version 0 means absent.

    `once`: the write that a row of the tables `begun` and `key` describes.
    """

    version: int
    value: str | None
    once: Once | None = None


StoreRows = tuple[tuple[Key, VersionedValue], ...]  # rows as read from a store
Write = tuple[Key, str | Once | None]
NONE: Final = VersionedValue(0, None)


# Questions to the stores, their results, and the state in between.


class Ask(Data):
    """A question to a store. Without writes it reads the row `only`, or all rows.

    All rows include the table `key` only `with_keys`. With writes it is one batch to main, or one row to
    legacy. A write without a value deletes; in the table `row` of main it leaves a tombstone.

    `given`: (id, content) pairs of rows. Without writes it asks how the memory would store them. With writes
    the same batch stores them in the memory, as planned by the last such question, and leaves no tombstones.
    """

    store: Store
    writes: tuple[Write, ...] = ()
    expects: tuple[tuple[Key, int], ...] = ()
    only: Key | None = None
    given: Pairs | None = None
    with_keys: bool = False


class StoreResult(Data):
    """The result of a question. `failed`: nothing has happened; `unknown`: it may have. `rows`: if it is ok.

    `missing`: what prevents the memory from storing the given rows.
    """

    kind: Literal["ok", "failed", "unknown"]
    rows: StoreRows = ()
    missing: str = ""


class MigrationReply(Data):
    """The reply to a request; if unknown, it may have happened. `degraded`: one store lacks the write yet.

    `value`: what a read found, the id of an added row, the phase after a switch, the report of a comparison,
    or for `not_ready` what is missing.
    """

    kind: Ended
    value: Value | None = None
    degraded: str = ""


class Job(Data):
    """The request in progress: its current step, and the rows that were read for it."""

    request: MigrationRequest
    step: str
    main: StoreRows = ()
    legacy: StoreRows = ()


class Migration(Data):
    """The whole state of the machine, as a value; after a crash it starts as `Migration()`.

    `phase`: empty if not known, and then read before anything else. `fence`: the version of the phase row.
    `pending`: ids of rows that may differ in legacy. `doubt`: ids of rows to which a write to main may still
    land. `begun`: ids of rows that a begun write with a request key may have changed.
    """

    phase: str = ""
    fence: int = 0
    pending: frozenset[str] = frozenset()
    doubt: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()
    job: Job | None = None


Stepped = tuple[Migration, Ask | MigrationReply]
First = Callable[[Migration], Stepped]
Step = Callable[[Migration, Job, StoreResult], Stepped]
Firsts = Mapping[type, First]  # by class of request, the function that begins it
Steps = Mapping[str, Step]  # by name of a step, the function that takes its answer


# Helpers for steps.


def ask(
    it: Migration, question: Ask, step: str, *, main: StoreRows | None = None, legacy: StoreRows | None = None
) -> Stepped:
    """Return the next question, and keep the rows `main` and `legacy` that were read for later steps."""
    assert it.job is not None
    seen = (it.job.main if main is None else main, it.job.legacy if legacy is None else legacy)
    return structs.replace(it, job=Job(it.job.request, step, *seen)), question


def end(it: Migration, kind: Ended, value: Value | None = None, degraded: str = "") -> Stepped:
    return structs.replace(it, job=None), MigrationReply(kind, value, degraded)


def update_doubt(it: Migration, own: str, answer: StoreResult) -> Migration:
    """Return the machine after a write to main: if unknown it is in doubt, if ok no earlier one is."""
    if answer.kind == "unknown":
        return structs.replace(it, doubt=it.doubt | {own})
    # This commit has raised the version of the row, so an earlier one still in flight conflicts.
    return structs.replace(it, doubt=it.doubt - {own}) if answer.kind == "ok" else it


def row(rows: StoreRows, key: Key) -> VersionedValue:
    return dict(rows).get(key, NONE)


def next_id(rows: StoreRows) -> str:
    """Return the id after the last one of a log; ids that are not numbers are ignored."""
    # Twelve digits with leading zeros sort as texts in the order of the numbers.
    numbers = (key[1] for key, _ in rows if key[0] == "row" and NUMBER.fullmatch(key[1]))
    return f"{int(max(numbers, default='0')) + 1:012}"


def add_fence(it: Migration, *expects: tuple[Key, int]) -> tuple[tuple[Key, int], ...]:
    return ((PHASE, it.fence), *expects)


def versions(rows: StoreRows, writes: tuple[Write, ...]) -> tuple[tuple[Key, int], ...]:
    """Return the versions that were read of the rows to be written."""
    held = dict(rows)
    return tuple((key, held.get(key, NONE).version) for key, _ in writes)


def waiting(rows: StoreRows) -> list[str]:
    """Return the ids of the rows in the outbox."""
    return sorted(key for (table, key), _ in rows if table == "outbox")

"""The machine of a migration as a value: phases, what it asks and hears, and the words of its steps."""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import structs

from umi_core.data import Data
from umi_core.migration.requests import MigrationRequest, RowsListed, StoresCompared
from umi_core.values import Pairs

Store = Literal["main", "legacy"]
Value = str | RowsListed | StoresCompared  # what a reply tells
Ended = Literal["done", "failed", "unknown", "not_ready", "reused"]
Key = tuple[str, str]  # a table of main (row, begun, key, outbox, phase) and an id
# Ids that a log gives; the old server's own ids may be any text, and count for nothing in `next_id`.
NUMBER: Final = re.compile("[0-9]{12}")
PHASE: Final[Key] = ("phase", "phase")
OF_LEGACY: Final = ("legacy", "dual_write")  # in which legacy has the truth
WITH_OUTBOX: Final = ("dual_read", "umi_primary", "rolling_back")
MIRRORED: Final = ("dual_read", "rolling_back")
COMPARED: Final = ("dual_write", *WITH_OUTBOX)
HANDED_OVER: Final = ("handing_over", "done")  # in which the memory has the rows, or is about to
SWITCHES: Final = {
    "legacy": ("dual_write", ""), "dual_write": ("dual_read", "legacy"),
    "dual_read": ("umi_primary", "rolling_back"), "umi_primary": ("cleanup", "rolling_back"),
    "rolling_back": ("dual_read", "legacy"),
    "cleanup": ("done", ""), "handing_over": ("done", ""), "done": ("", ""),
}  # fmt: skip
"""The next phase, and the one back; empty if there is none."""


class Once(Data):
    """A write under a request key: the row `id` becomes `content`, and was `before`."""

    id: str
    before: str | None
    content: str | None

    def is_in(self, rows: "Told") -> bool:
        """Check whether the write is done, by the rows of the leading store before the next write of it."""
        return row(rows, ("row", self.id)).value == self.content


class Held(Data):
    """A row of main; without a value it is a tombstone. Versions grow, and 0 is absent.

    `once`: of a row of the tables `begun` and `key`.
    """

    version: int
    value: str | None
    once: Once | None = None


Told = tuple[tuple[Key, Held], ...]  # rows, as a store tells them
Write = tuple[Key, str | Once | None]
NONE: Final = Held(0, None)


# What goes out, and what comes back.


class Ask(Data):
    """Without writes: read all rows of a store, or `only` this one; the table `key` only `with_keys`.

    With writes: one batch to main, or one row to legacy.

    A write without a value deletes; in the table `row` of main it leaves a tombstone.

    `given`: ids and contents of rows. Without writes: ask what the memory makes of them. With writes: they
    become its rows in the same batch, as the last answer had it, and nothing leaves a tombstone.
    """

    store: Store
    writes: tuple[Write, ...] = ()
    expects: tuple[tuple[Key, int], ...] = ()
    only: Key | None = None
    given: Pairs | None = None
    with_keys: bool = False


class StoreResult(Data):
    """The result of a store. `failed`: nothing has happened; `unknown`: it may have. `rows`: if it is ok.

    `missing`: what the memory lacks for the rows that are given to it.
    """

    kind: Literal["ok", "failed", "unknown"]
    rows: Told = ()
    missing: str = ""


class MigrationReply(Data):
    """Answer a request; if unknown, it may have happened. `degraded`: one store does not know of it yet.

    `value`: of a read what it found, of an add the id, of a switch the phase, of a comparison its report; of
    what is not ready what is missing.
    """

    kind: Ended
    value: Value | None = None
    degraded: str = ""


class Job(Data):
    """The request in progress: its current step, and the rows that were read for it."""

    request: MigrationRequest
    step: str
    main: Told = ()
    legacy: Told = ()


class Migration(Data):
    """The machine, all of it a value; a crash leaves `Migration()`.

    `phase` empty: it is not known, and is looked up before anything else. `fence`: the version of the phase
    row. `pending`: ids that legacy may not know. `doubt`: ids of which a write to main may still land.
    `begun`: ids of rows that a request with a key may have changed, of which main does not say yet.
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
Firsts = Mapping[type, First]  # by kind of request, how it begins
Steps = Mapping[str, Step]  # by its name, what follows the answer


# The words that steps are written with.


def ask(
    it: Migration, question: Ask, step: str, *, main: Told | None = None, legacy: Told | None = None
) -> Stepped:
    """Return the next question; `main` and `legacy` are what was read, if a later step needs it."""
    assert it.job is not None
    seen = (it.job.main if main is None else main, it.job.legacy if legacy is None else legacy)
    return structs.replace(it, job=Job(it.job.request, step, *seen)), question


def end(it: Migration, kind: Ended, value: Value | None = None, degraded: str = "") -> Stepped:
    return structs.replace(it, job=None), MigrationReply(kind, value, degraded)


def update_doubt(it: Migration, own: str, answer: StoreResult) -> Migration:
    """Return the migration after a write to main: it may still land, or no earlier write can any more."""
    if answer.kind == "unknown":
        return structs.replace(it, doubt=it.doubt | {own})
    # Another commit of this row has raised its version, so one that is still on its way conflicts.
    return structs.replace(it, doubt=it.doubt - {own}) if answer.kind == "ok" else it


def row(rows: Told, key: Key) -> Held:
    return dict(rows).get(key, NONE)


def next_id(rows: Told) -> str:
    """Return the id after the last one of a log. A row with another kind of id is not a row of the log."""
    # Twelve digits with leading zeros: the order of the texts is that of the numbers.
    numbers = (key[1] for key, _ in rows if key[0] == "row" and NUMBER.fullmatch(key[1]))
    return f"{int(max(numbers, default='0')) + 1:012}"


def add_fence(it: Migration, *expects: tuple[Key, int]) -> tuple[tuple[Key, int], ...]:
    return ((PHASE, it.fence), *expects)


def versions(rows: Told, writes: tuple[Write, ...]) -> tuple[tuple[Key, int], ...]:
    """Return the versions of the rows to be written, as they were read."""
    held = dict(rows)
    return tuple((key, held.get(key, NONE).version) for key, _ in writes)


def waiting(rows: Told) -> list[str]:
    """Return the ids in the outbox."""
    return sorted(key for (table, key), _ in rows if table == "outbox")

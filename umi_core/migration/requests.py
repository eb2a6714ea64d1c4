"""Requests to a migration of rows from an old server's store to the memory's own (umi_core/migration).

A `Memory` does not serve these; a host with an old store sends them to a `Migrator`.
"""

from typing import ClassVar

from umi_core.data import Data
from umi_core.domains import Content, RequestKey
from umi_core.errors import Error
from umi_core.messages.request import Request
from umi_core.migration.rows import MovedId, MovedKind, MovedLog, MovedTable, Phase
from umi_core.values import Pairs


class MigrationRequest(Request):
    """A request about one kind of rows (blocks, messages or archival); each kind has a phase of its own."""

    is_common = False
    served_by = "migrator"
    kind: MovedKind


# Writes. A write repeated with the same `request_key` is not done again, in any phase, and gets the reply of
# the first one. Each kind of rows has its own space of keys.


class PutRow(MigrationRequest):
    tag = 170
    stores = True
    kind: MovedTable
    id: MovedId
    content: Content
    request_key: RequestKey | None = None


class DropRow(MigrationRequest):
    tag = 171
    kind: MovedTable
    id: MovedId
    request_key: RequestKey | None = None


class AddRow(MigrationRequest):
    """Add a row at the end of a log; its id is the next number. Such rows never change."""

    tag = 179
    stores = True
    kind: MovedLog
    content: Content
    request_key: RequestKey | None = None


# Reads.


class ListRows(MigrationRequest):
    """List all ids with their contents, in the order of the ids."""

    tag = 180
    shows = True


class ReadRow(MigrationRequest):
    """Read the content of a row; None if there is no such row."""

    tag = 172
    shows = True
    id: MovedId


# The move.


class AdvanceMigration(MigrationRequest):
    """Go to the next phase, or to the phase `to`; refused while a condition of the switch does not hold."""

    tag = 173
    to: Phase | None = None


class RollBack(MigrationRequest):
    """Go back towards the old store: from dual_read or umi_primary to rolling_back, else to legacy."""

    tag = 174


class Reconcile(MigrationRequest):
    """Make main equal to the old store; only in dual_write."""

    tag = 175


class Mirror(MigrationRequest):
    """Copy the first row of the outbox to the old store; only in dual_read and rolling_back."""

    tag = 176


class Purge(MigrationRequest):
    """Remove one row of the old store; only in cleanup."""

    tag = 177


class CompareStores(MigrationRequest):
    """Return the differences between the two stores."""

    tag = 178


# Replies.


class NotReady(Error):
    """The request is not possible in this phase of the migration, or a condition does not hold yet."""

    tag = 590
    sentence: ClassVar[str] = "not ready: {kind} are in {phase}, missing is {missing}"
    kind: str
    phase: str
    missing: str


class RowsListed(Data):
    """The (id, content) pairs of all rows, in order of id."""

    tag = 148
    rows: Pairs


class StoresCompared(Data):
    """The differences between the two stores, by id. `unsettled`: rows still on their way to one of them."""

    tag = 159
    phase: str
    main_count: int
    legacy_count: int
    missing_in_main: tuple[str, ...] = ()
    missing_in_legacy: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Return True if no row differs and none is on its way."""
        return not (self.missing_in_main or self.missing_in_legacy or self.different or self.unsettled)

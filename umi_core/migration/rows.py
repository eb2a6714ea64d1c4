"""Rows of a migration: rows of the old server, with any content, and the progress of the move."""

from typing import Annotated, Final

from umi_core import errors, limits
from umi_core.body import Body
from umi_core.domains import Content, Domain, Word, one_of, text_of
from umi_core.errors import Error
from umi_core.text import show_value

MOVED_TABLES: Final = ("blocks", "archival")
MOVED_LOGS: Final = ("messages",)
MOVED_KINDS: Final = (*MOVED_TABLES, *MOVED_LOGS)
PHASES: Final = ("legacy", "dual_write", "dual_read", "umi_primary", "cleanup", "done", "rolling_back")
STORED_PHASES: Final = (*PHASES, "handing_over")  # handing_over: in progress, and never requested


def bad_moved_id(name: str, value: object) -> Error | None:
    """Check an id of the old server: any text that is not empty."""
    return text_of(limits.SCOPE_PART_BYTES_MAX)(name, value) or (
        None if value else errors.BadOption(name, show_value(value), "a text that is not empty")
    )


MovedKind = Annotated[str, Domain("moved_kind", one_of(*MOVED_KINDS))]
MovedTable = Annotated[str, Domain("moved_table", one_of(*MOVED_TABLES))]
MovedLog = Annotated[str, Domain("moved_log", one_of(*MOVED_LOGS))]
MovedId = Annotated[str, Domain("moved_id", bad_moved_id)]
Phase = Annotated[str, Domain("phase", one_of(*PHASES))]
StoredPhase = Annotated[str, Domain("stored_phase", one_of(*STORED_PHASES))]


class RowOfMove(Body):
    """A row that exists until its kind has moved."""

    id: Word
    kind: MovedKind


class Moved(RowOfMove):
    """A row of the old server. In main, a row without content is a tombstone."""

    tag = 125
    row_kind = "moved"
    content: Content | None


class Outbox(RowOfMove):
    """A mark that the row with this id may differ in the old store, and must be copied there."""

    tag = 126
    row_kind = "outbox"


class MovedKey(RowOfMove):
    """A write that was done under a request key: it set the row `row_id` to `content`; None deleted it."""

    tag = 128
    row_kind = "moved_key"
    row_id: Word
    content: Content | None


class MovedBegun(RowOfMove):
    """A write begun under a request key; only the leading store shows whether it was done.

    `before`: the content of the row before the write.
    """

    tag = 129
    row_kind = "moved_begun"
    row_id: Word
    before: Content | None
    content: Content | None


class MigrationPhase(Body):
    """The phase of a kind of rows. The version of this row is the fence."""

    tag = 127
    row_kind = "phase"
    kind: MovedKind
    phase: StoredPhase

    def own_id(self) -> str:
        return self.kind

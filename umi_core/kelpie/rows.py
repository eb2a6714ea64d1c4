"""Rows of the API of an agent server: sheets and changes of blocks, messages, archival records, their logs.

The text of a block stays in core. Law 1. The id of a row of this file never names anything else later.
"""

from umi_core.body import Body
from umi_core.domains import (
    BlockKind,
    BlockLabel,
    Content,
    Count,
    EntityId,
    EventTime,
    Flag,
    Metadata,
    VersionNumber,
    Word,
)
from umi_core.kelpie.domains import Author, ChangeKind, Description, Details, LogName, Role, Tags


class Sheet(Body):
    """The data of a block beside its text.

    `text_hash` is that of the text at this version, empty once the block is deleted: then the sheet is its
    tombstone.
    """

    tag = 120
    row_kind = "sheet"
    id: EntityId
    kind: BlockKind
    label: BlockLabel
    version: VersionNumber
    # By which a text that set_block wrote is recognised: it has another hash than the sheet says.
    text_hash: Word
    description: Description
    limit_bytes: Count
    read_only: Flag
    created_ms: EventTime
    updated_ms: EventTime


class BlockChange(Body):
    """One version of a block: the change, its author, the text after it. `is_erased`: the block is gone."""

    tag = 121
    row_kind = "change"
    block_id: EntityId
    version: VersionNumber
    change: ChangeKind
    author: Author
    at_ms: EventTime
    size_bytes: Count
    text: Content
    is_erased: Flag = False

    def own_id(self) -> str:
        # Padded, so that the changes of a block lie in the order of their versions.
        return f"{self.block_id}@{self.version:012}"


class Message(Body):
    """One message of the conversation; `details` are the parts of a call of a tool."""

    tag = 122
    row_kind = "message"
    id: EntityId
    seq: VersionNumber
    role: Role
    content: Content
    details: Details
    at_ms: EventTime


class Archival(Body):
    """A text that was put into the archive as it is."""

    tag = 123
    row_kind = "archival"
    id: EntityId
    seq: VersionNumber
    content: Content
    tags: Tags
    metadata: Metadata
    at_ms: EventTime


class Log(Body):
    """The number that the next message or record gets. It allocates, and counts nothing.

    `first_seq`: all below went with the agent when it was deleted.
    """

    tag = 124
    row_kind = "log"
    added = (1,)
    name: LogName
    next_seq: VersionNumber
    first_seq: VersionNumber = 1

    def own_id(self) -> str:
        return self.name

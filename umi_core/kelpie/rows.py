"""Rows of the API of an agent server: sheets and changes of blocks, messages, archival records, their logs.

The text of a block stays in core. Law 1. The id of a row in this file is never reused for anything else.
"""

from umi_core import domains
from umi_core.body import Body
from umi_core.kelpie import domains as api_domains


class Sheet(Body):
    """The data of a block other than its text.

    `text_hash`: the hash of the text at this version; empty once the block is deleted, and then the sheet is
    its tombstone.
    """

    tag = 120
    row_kind = "sheet"
    id: domains.EntityId
    kind: domains.BlockKind
    label: domains.BlockLabel
    version: domains.VersionNumber
    # A text that `set_block` wrote is recognised by its hash, which differs from this one.
    text_hash: domains.Word
    description: api_domains.Description
    limit_bytes: domains.Count
    read_only: domains.Flag
    created_ms: domains.EventTime
    updated_ms: domains.EventTime


class BlockChange(Body):
    """One version of a block: change, author, and the text after it. `is_erased`: the block was deleted."""

    tag = 121
    row_kind = "change"
    block_id: domains.EntityId
    version: domains.VersionNumber
    change: api_domains.ChangeKind
    author: api_domains.Author
    at_ms: domains.EventTime
    size_bytes: domains.Count
    text: domains.Content
    is_erased: domains.Flag = False

    def own_id(self) -> str:
        # Padded with zeros, so that the changes of a block sort by version.
        return f"{self.block_id}@{self.version:012}"


class Message(Body):
    """One message of the conversation; `details` are the fields of a tool call or its result."""

    tag = 122
    row_kind = "message"
    id: domains.EntityId
    seq: domains.VersionNumber
    role: api_domains.Role
    content: domains.Content
    details: api_domains.Details
    at_ms: domains.EventTime


class Archival(Body):
    """An archival record: a text stored unchanged."""

    tag = 123
    row_kind = "archival"
    id: domains.EntityId
    seq: domains.VersionNumber
    content: domains.Content
    tags: api_domains.Tags
    metadata: domains.Metadata
    at_ms: domains.EventTime


class Log(Body):
    """The allocator of numbers for messages or records; `next_seq` is not a count of rows.

    `first_seq`: rows with smaller numbers were removed when the agent was deleted.
    """

    tag = 124
    row_kind = "log"
    added = (1,)
    name: api_domains.LogName
    next_seq: domains.VersionNumber
    first_seq: domains.VersionNumber = 1

    def own_id(self) -> str:
        return self.name

"""Requests of an agent server to the memory of one agent: blocks, messages, archival records, the prompt.

Their request keys have a space of their own, so the same key may also be used for a remember or a forget.
"""

from typing import ClassVar

from umi_core import domains
from umi_core.errors import BadOption, Error
from umi_core.kelpie import domains as api_domains
from umi_core.messages.request import CoreRead, WorkflowRequest


class ApiRequest(WorkflowRequest):
    is_common = False
    key_space = "api"


# Blocks. `block` is an id, or a label in any spelling.


class CreateBlock(ApiRequest):
    tag = 130
    workflow = "edit_block"
    stores = True
    label: api_domains.ApiLabel
    value: domains.BlockText
    kind: api_domains.KindOfBlock | None = None
    description: api_domains.Description = ""
    limit_bytes: api_domains.BlockLimit | None = None
    read_only: api_domains.Switch = False
    author: api_domains.Author = "model"
    request_key: domains.RequestKey | None = None


class UpdateBlock(ApiRequest):
    """Change a block: None leaves a part unchanged, an empty description removes the description."""

    tag = 131
    workflow = "edit_block"
    stores = True
    block: api_domains.BlockName
    value: domains.BlockText | None = None
    description: api_domains.Description | None = None
    limit_bytes: api_domains.BlockLimit | None = None
    read_only: api_domains.Switch | None = None
    expected_version: domains.VersionNumber | None = None
    author: api_domains.Author = "model"
    request_key: domains.RequestKey | None = None


class AppendToBlock(ApiRequest):
    """Append a text to a block, after a newline if neither is empty; create the block if it is absent."""

    tag = 132
    workflow = "edit_block"
    stores = True
    block: api_domains.BlockName
    text: domains.BlockText
    author: api_domains.Author = "model"
    request_key: domains.RequestKey | None = None


class ReplaceInBlock(ApiRequest):
    """Replace a text in a block: with `every` all occurrences, else the only one; several are an error."""

    tag = 133
    workflow = "edit_block"
    stores = True
    block: api_domains.BlockName
    old: api_domains.Piece
    new: domains.BlockText
    every: api_domains.Switch = False
    author: api_domains.Author = "model"
    request_key: domains.RequestKey | None = None


class DeleteBlock(ApiRequest):
    tag = 134
    workflow = "edit_block"
    block: api_domains.BlockName
    expected_version: domains.VersionNumber | None = None
    author: api_domains.Author = "model"
    request_key: domains.RequestKey | None = None


class ListBlocks(ApiRequest):
    tag = 135
    workflow = "read_blocks"
    shows = True


class FindBlock(ApiRequest):
    tag = 136
    workflow = "read_blocks"
    shows = True
    block: api_domains.BlockName


class BlockHistory(ApiRequest):
    """List the changes of a block, deleted or not, oldest first, after the version `after`."""

    tag = 137
    workflow = "block_history"
    shows = True
    block_id: api_domains.BlockKey
    after: domains.VersionNumber | None = None
    limit: domains.Limit | None = None


# Messages: a log.


class AddMessages(ApiRequest):
    """Add the messages of one turn: all of them or none."""

    tag = 138
    workflow = "append"
    stores = True
    messages: api_domains.Messages
    request_key: domains.RequestKey | None = None


class ListMessages(ApiRequest):
    """List the newest messages, below the number `before` if given; with `after` the oldest above it."""

    tag = 139
    workflow = "list_messages"
    shows = True
    before: api_domains.Seq | None = None
    after: api_domains.Seq | None = None
    limit: domains.Limit | None = None


class SearchMessages(ApiRequest):
    """Find the messages that have every word of the query, from `from_ms` until before `until_ms`, newest
    first. `before`: only messages below this number. `skip`: the number of hits to skip."""

    tag = 146
    workflow = "search_messages"
    shows = True
    query: domains.Query | None = None
    from_ms: domains.EventTime | None = None
    until_ms: domains.EventTime | None = None
    before: api_domains.Seq | None = None
    limit: domains.Limit | None = None
    skip: api_domains.Skip = 0

    def contradiction(self) -> Error | None:
        """Refuse a search without a query or times; `ListMessages` serves that."""
        if self.query is None and self.from_ms is None and self.until_ms is None:
            return BadOption("query", "None", "a query, from_ms or until_ms")
        return None


# Archival records.


class AddArchival(ApiRequest):
    """Add a record; with `extract` its statements also become facts, with this record as their source.

    `speaker`: the person who says "I" in it.
    """

    tag = 140
    workflow = "add_archival"
    stores = True
    evolve: ClassVar[bool] = True
    embed: ClassVar[bool] = True
    content: domains.Text
    tags: api_domains.Tags = ()
    metadata: domains.Metadata = ()
    request_key: domains.RequestKey | None = None
    extract: domains.Wish = False
    speaker: domains.Speaker | None = None

    @property
    def text(self) -> str:
        return self.content


class GetArchival(ApiRequest):
    tag = 141
    workflow = "get_archival"
    shows = True
    record_id: api_domains.RecordId


class ListArchival(ApiRequest):
    """List records, oldest first, after the record `cursor`; with `tags` only records with all of these."""

    tag = 142
    workflow = "list_archival"
    shows = True
    limit: domains.Limit | None = None
    cursor: api_domains.RecordCursor | None = None
    tags: api_domains.Tags = ()


class SearchArchival(ApiRequest):
    """Find records that match words of the query, the best first, and of equal ones the oldest first.
    `skip`: the number of hits to skip."""

    tag = 143
    workflow = "search_archival"
    shows = True
    query: domains.Query
    limit: domains.Limit | None = None
    tags: api_domains.Tags = ()
    skip: api_domains.Skip = 0


class DeleteArchival(ApiRequest):
    """Delete a record, and the facts that have no other source."""

    tag = 144
    workflow = "delete_archival"
    record_id: api_domains.RecordId
    request_key: domains.RequestKey | None = None


# The agent itself.


class AgentRequest(ApiRequest):
    """A request that runs alone: it waits for all earlier operations, and later requests wait for its end."""

    request_key: domains.RequestKey | None = None


class DeleteAgent(AgentRequest):
    """Close the agent; its rows are removed in the background."""

    tag = 621
    workflow = "delete_agent"


class OpenAgent(AgentRequest):
    """Open a deleted agent again, empty. The request waits until all old rows are removed."""

    tag = 622
    workflow = "open_agent"


# Facts that remember and memorize have stored. There is no route over HTTP for this request.


class RecentEntities(WorkflowRequest):
    """List the entities that changed most recently, newest first, at equal times by id; count no access.

    `skip`: the number of entities to skip.
    """

    tag = 210
    workflow = "recent_entities"
    is_common = False
    shows = True
    types: domains.Types | None = None
    limit: domains.Limit | None = None
    skip: api_domains.Skip = 0


# The prompt: answered immediately, from the current core.


class BuildSystemPrompt(CoreRead):
    tag = 145
    is_common = False
    shows = True
    system: api_domains.SystemText = ""
    form: api_domains.PromptForm = "xml"

"""Replies of the API of an agent server."""

from typing import Annotated

from umi_core.data import Data
from umi_core.domains import Count, Domain, EventTime, one_of
from umi_core.ids import log_id
from umi_core.kelpie.domains import ChangeKind, LogName
from umi_core.kelpie.rows import Archival, BlockChange, Message

AgentChange = Annotated[str, Domain("agent_change", one_of("closed", "opened", "unchanged", "purged"))]


class BlockWritten(Data):
    """The result of a block write. `version`: of the block after it. `count`: the occurrences replaced."""

    tag = 150
    id: str
    label: str
    version: Count
    change: ChangeKind
    at_ms: EventTime
    count: Count = 0
    evicted: tuple[str, ...] = ()
    repeated: bool = False


class ApiBlock(Data):
    """A block as the API shows it. Its times are 0 if it has no sheet, so that only core knows it."""

    tag = 151
    id: str
    label: str
    kind: str
    value: str
    description: str
    limit_bytes: Count
    read_only: bool
    version: Count
    created_ms: EventTime
    updated_ms: EventTime


class BlocksShown(Data):
    tag = 152
    blocks: tuple[ApiBlock, ...]


class ChangesShown(Data):
    """A page of the history of a block. `next`: `after` for the next page; None after the last one."""

    tag = 153
    changes: tuple[BlockChange, ...]
    next: int | None = None


class Appended(Data):
    """Rows added to a log: `count` rows, numbered from `first_seq`."""

    tag = 154
    log: LogName
    first_seq: Count
    count: Count
    at_ms: EventTime
    repeated: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(log_id(self.log, self.first_seq + at) for at in range(self.count))


class MessagesShown(Data):
    """A page, oldest first. `total`: of the log. `has_older`, `has_newer`: the log has more on that side."""

    tag = 155
    messages: tuple[Message, ...]
    total: Count
    has_older: bool = False
    has_newer: bool = False


class MessagesFound(Data):
    """A page of found messages, newest first. `next`: `before` for the next page; None after the last one."""

    tag = 147
    messages: tuple[Message, ...]
    next: int | None = None


class RecordsShown(Data):
    """A page of records. `next`: the cursor of the next page; None after the last one."""

    tag = 156
    records: tuple[Archival, ...]
    next: str | None = None
    scores_ppm: tuple[int, ...] = ()


class RecordDeleted(Data):
    tag = 157
    id: str
    repeated: bool = False


class Prompt(Data):
    """A system prompt. `version`: of the core tier in it."""

    tag = 158
    text: str
    size_bytes: Count
    version: Count


class AgentSwitched(Data):
    """The state of the agent after a request: `change` is `closed`, `opened` or `unchanged`.

    The background operation that removes the rows of a closed agent has the result `purged`.
    """

    tag = 623
    change: AgentChange
    at_ms: EventTime
    repeated: bool = False


Keyed = BlockWritten | Appended | RecordDeleted | AgentSwitched

"""The memory of an agent as an object with the usual method names of agent servers.

    agent = Delegate(drive)                       drive(request) -> outcome is given by a host or a test
    agent = Delegate(drive, author="user")        may change the system block, too
    agent.add_message("user", "hello")
    agent.build_system_prompt("You are Umi.")

Law 1. Each call is one request and returns the value of its reply. The object keeps no state, retries nothing
and decides nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from umi_core.kelpie import requests as api
from umi_core.kelpie import results
from umi_core.kelpie.requests import RecentEntities
from umi_core.kelpie.rows import Archival
from umi_core.messages.effects import Done, Outcome
from umi_core.messages.request import Request
from umi_core.messages.results import Listed, ListedRow
from umi_core.values import MODEL

Drive = Callable[[Request], Outcome]
Reply = TypeVar("Reply")
OP: Final = "delegate"  # the label of all requests; a driver with several in flight replaces it


class DelegateError(Exception):
    """A request was refused, failed, or has an unknown outcome; `outcome` says which."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(getattr(outcome, "error", outcome)))
        self.outcome = outcome


class Delegate:
    """The blocks, messages and records of one agent, through a function that drives its memory.

    `author`: the author of block writes; use "user" only for calls that no model can make.
    """

    def __init__(self, drive: Drive, author: str = MODEL) -> None:
        self.drive, self.author = drive, author

    def ask(self, request: Request, shape: type[Reply]) -> Reply:
        """Return the value of the reply. Raises DelegateError."""
        outcome = self.drive(request)
        if not isinstance(outcome, Done):
            raise DelegateError(outcome)
        assert isinstance(outcome.value, shape), outcome.value
        return outcome.value

    # Blocks.

    def list_blocks(self) -> tuple[results.ApiBlock, ...]:
        return self.ask(api.ListBlocks(OP), results.BlocksShown).blocks

    def get_block(self, block: str) -> results.ApiBlock:
        return self.ask(api.FindBlock(OP, block), results.ApiBlock)

    def create_block(self, label: str, value: str = "", *, key: str | None = None) -> results.BlockWritten:
        return self.ask(
            api.CreateBlock(OP, label, value, author=self.author, request_key=key), results.BlockWritten
        )

    def update_block(
        self,
        block: str,
        value: str | None = None,
        *,
        description: str | None = None,
        limit_bytes: int | None = None,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> results.BlockWritten:
        """Change the given parts of a block; None leaves a part unchanged."""
        request = api.UpdateBlock(
            OP, block, value, description, limit_bytes, None, expected_version, self.author, key
        )
        return self.ask(request, results.BlockWritten)

    def append_to_block(self, block: str, text: str, *, key: str | None = None) -> results.BlockWritten:
        return self.ask(api.AppendToBlock(OP, block, text, self.author, key), results.BlockWritten)

    def replace_in_block(
        self, block: str, old: str, new: str, *, key: str | None = None
    ) -> results.BlockWritten:
        request = api.ReplaceInBlock(OP, block, old, new, author=self.author, request_key=key)
        return self.ask(request, results.BlockWritten)

    def delete_block(self, block: str, *, key: str | None = None) -> results.BlockWritten:
        return self.ask(api.DeleteBlock(OP, block, author=self.author, request_key=key), results.BlockWritten)

    # Messages.

    def add_message(self, role: str, content: str, *, key: str | None = None) -> results.Appended:
        return self.add_messages([{"role": role, "content": content}], key=key)

    def add_messages(
        self, messages: Sequence[Mapping[str, str]], *, key: str | None = None
    ) -> results.Appended:
        """Add all of the messages or none."""
        # Fields keep the mapping's order; the memory refuses a message unless role and content come first.
        parts = tuple(tuple(message.items()) for message in messages)
        return self.ask(api.AddMessages(OP, parts, key), results.Appended)

    def list_messages(
        self, limit: int | None = None, *, before: int | None = None, after: int | None = None
    ) -> results.MessagesShown:
        return self.ask(api.ListMessages(OP, before, after, limit), results.MessagesShown)

    def search_messages(
        self,
        query: str | None = None,
        limit: int | None = None,
        *,
        from_ms: int | None = None,
        until_ms: int | None = None,
        before: int | None = None,
        skip: int = 0,
    ) -> results.MessagesFound:
        """Return the messages found, the newest first."""
        request = api.SearchMessages(OP, query, from_ms, until_ms, before, limit, skip)
        return self.ask(request, results.MessagesFound)

    # Archival records.

    def add_archival(
        self,
        content: str,
        *,
        tags: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
        extract: bool = False,
        speaker: str | None = None,
        key: str | None = None,
    ) -> results.Appended:
        """Add a record; with `extract` its statements also become facts, which the reply lists."""
        pairs = tuple((metadata or {}).items())
        # With `extract` the reply is a RecordAdded, a subclass of Appended.
        request = api.AddArchival(OP, content, tuple(tags), pairs, key, extract, speaker)
        return self.ask(request, results.Appended)

    def list_archival(self, limit: int | None = None, cursor: str | None = None) -> results.RecordsShown:
        return self.ask(api.ListArchival(OP, limit, cursor), results.RecordsShown)

    def get_archival(self, record_id: str) -> Archival:
        return self.ask(api.GetArchival(OP, record_id), results.RecordsShown).records[0]

    def search_archival(
        self, query: str, limit: int | None = None, tags: Sequence[str] = (), *, skip: int = 0
    ) -> results.RecordsShown:
        """Return the records found, the best first."""
        return self.ask(api.SearchArchival(OP, query, limit, tuple(tags), skip), results.RecordsShown)

    def delete_archival(self, record_id: str, *, key: str | None = None) -> results.RecordDeleted:
        return self.ask(api.DeleteArchival(OP, record_id, key), results.RecordDeleted)

    # The agent itself.

    def delete_agent(self, *, key: str | None = None) -> results.AgentSwitched:
        return self.ask(api.DeleteAgent(OP, key), results.AgentSwitched)

    def open_agent(self, *, key: str | None = None) -> results.AgentSwitched:
        """Open the agent; a deleted agent starts again, empty."""
        return self.ask(api.OpenAgent(OP, key), results.AgentSwitched)

    # Facts that remember and memorize have stored.

    def recent_entities(
        self, types: Sequence[str] | None = None, limit: int | None = None, *, skip: int = 0
    ) -> tuple[ListedRow, ...]:
        """Return the entities that changed most recently, newest first."""
        kinds = None if types is None else tuple(types)
        return self.ask(RecentEntities(OP, kinds, limit, skip), Listed).rows

    # The prompt.

    def build_system_prompt(self, system: str = "", form: str = "xml") -> str:
        return self.ask(api.BuildSystemPrompt(OP, system, form), results.Prompt).text

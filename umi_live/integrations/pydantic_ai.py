"""Pydantic AI: the message history of a conversation in a memory on disk.

history = UmiHistory("talk-1", memory)
with capture_run_messages() as messages:
    try:
        await agent.run("Hello.", message_history=await history.load())
    finally:
        await history.save(messages)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from umi_live.blocking import BlockingMemory
from umi_live.errors import needs_extra
from umi_live.integrations import records
from umi_live.memory import LiveMemory

try:
    from pydantic_ai.messages import ModelMessagesTypeAdapter, repair_messages
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_extra(error, "pydantic-ai"), name=error.name) from None

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

CONVERSATIONS: Final = "pydantic_ai conversations"


class UmiHistory:
    """All messages of a conversation. The messages of a cancelled run can be saved and continued later."""

    def __init__(self, conversation_id: str, memory: LiveMemory | BlockingMemory) -> None:
        self.conversation_id, self.memory = conversation_id, memory
        self.tags = (f"pydantic_ai conversation {conversation_id}", CONVERSATIONS)

    async def read(self, memory: LiveMemory) -> "list[ModelMessage]":
        """Return the messages for the next run; tool calls without a result get one."""
        items = await records.read_items(memory, self.tags[0])
        messages: list[ModelMessage] = repair_messages(ModelMessagesTypeAdapter.validate_python(items))
        return messages

    async def write(self, memory: LiveMemory, messages: "Sequence[ModelMessage]") -> None:
        """Replace the messages of the conversation. If the new list begins with the stored messages, as after
        a run with the messages of `load`, only the others are written."""
        items = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        await records.save_items(memory, self.tags, items)

    async def delete(self, memory: LiveMemory) -> None:
        """Delete the conversation."""
        await records.clear(memory, self.tags)

    load_sync, load = records.make_twins(read)
    save_sync, save = records.make_twins(write)
    clear_sync, clear = records.make_twins(delete)

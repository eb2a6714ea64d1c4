"""LlamaIndex: the messages of a chat in a memory on disk.

with open_blocking("agent.db", user="ann", agent="helper") as memory:
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=UmiMemory(memory=memory, session_id="talk-1"))
"""

from typing import Any, Final

from umi_live.blocking import BlockingMemory
from umi_live.errors import needs_extra
from umi_live.integrations import records
from umi_live.memory import LiveMemory

try:
    from llama_index.core.bridge.pydantic import ConfigDict, Field
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemory
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_extra(error, "llama-index"), name=error.name) from None

CHATS: Final = "llama_index chats"


class UmiMemory(BaseMemory):
    """All messages of a chat. `get` returns all of them, without a token limit.

    With a memory of `open_memory` only the asynchronous methods work.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    memory: LiveMemory | BlockingMemory = Field(exclude=True)
    session_id: str

    @classmethod
    def class_name(cls) -> str:
        return "UmiMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "UmiMemory":
        return cls(**kwargs)

    @property
    def tags(self) -> tuple[str, str]:
        return f"llama_index chat {self.session_id}", CHATS

    async def read(self, memory: LiveMemory) -> list[ChatMessage]:
        return [ChatMessage.model_validate(it) for it in await records.read_items(memory, self.tags[0])]

    async def read_for(
        self, memory: LiveMemory, /, input: str | None = None, **kwargs: Any
    ) -> list[ChatMessage]:
        return await self.read(memory)

    async def add(self, memory: LiveMemory, message: ChatMessage) -> None:
        await self.add_all(memory, [message])

    async def add_all(self, memory: LiveMemory, messages: list[ChatMessage]) -> None:
        """Add messages atomically: all or none of them."""
        if messages:
            await records.append(memory, self.tags, dump(messages))

    async def replace(self, memory: LiveMemory, messages: list[ChatMessage]) -> None:
        await records.save_items(memory, self.tags, dump(messages))

    async def clear(self, memory: LiveMemory) -> None:
        await records.clear(memory, self.tags)

    get, aget = records.make_twins(read_for)
    get_all, aget_all = records.make_twins(read)
    put, aput = records.make_twins(add)
    put_messages, aput_messages = records.make_twins(add_all)
    set, aset = records.make_twins(replace)
    reset, areset = records.make_twins(clear)


def dump(messages: list[ChatMessage]) -> list[Any]:
    return [it.model_dump(mode="json") for it in messages]

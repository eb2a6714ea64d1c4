"""OpenAI Agents SDK: a session on a memory.

    async with open_memory("agent.db", user="ann", agent="helper") as memory:
        await Runner.run(agent, "Hello.", session=UmiSession("talk-1", memory))

The items of a call are added completely or not at all. When `pop_item` or `clear_session` returns, the items
are erased from the file.
"""

from typing import TYPE_CHECKING, Final

from umi_live.blocking import BlockingMemory
from umi_live.errors import needs_extra
from umi_live.integrations import records
from umi_live.memory import LiveMemory

try:
    from agents.memory.session_settings import SessionSettings, resolve_session_limit
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_extra(error, "openai-agents"), name=error.name) from None

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

SESSIONS: Final = "openai_agents sessions"


class UmiSession:
    """Implements the protocol `Session`. Several sessions may share a memory, even with the same id."""

    def __init__(
        self,
        session_id: str,
        memory: LiveMemory | BlockingMemory,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id, self.memory = session_id, memory
        self.session_settings = session_settings or SessionSettings()
        self.tags = (f"openai_agents session {session_id}", SESSIONS)

    async def list_items(self, memory: LiveMemory, limit: int | None = None) -> "list[TResponseInputItem]":
        count = resolve_session_limit(limit, self.session_settings)
        items = await records.read_items(memory, self.tags[0])
        return items if count is None or count < 0 else items[max(0, len(items) - count) :]

    async def append(self, memory: LiveMemory, items: "list[TResponseInputItem]") -> None:
        if items:
            await records.append(memory, self.tags, items)

    async def pop(self, memory: LiveMemory) -> "TResponseInputItem | None":
        return await records.pop_item(memory, self.tags)

    async def clear(self, memory: LiveMemory) -> None:
        await records.clear(memory, self.tags)

    get_items = records.make_twins(list_items)[1]
    add_items = records.make_twins(append)[1]
    pop_item = records.make_twins(pop)[1]
    clear_session = records.make_twins(clear)[1]

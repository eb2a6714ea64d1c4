"""umi_live as a memory of LlamaIndex: umi-sim target umi_llama_index:Chat

Run with llama-index-core 0.14.25 and apsw.
"""

from llama_index.core.llms import ChatMessage

from umi_live import LiveError, open_memory
from umi_live.integrations.llama_index import UmiMemory
from umi_sim.targets import Sessions


class Chat(Sessions):
    durable = True
    erases = True
    values = "text"
    refuses = (LiveError,)  # ids of more than 230 bytes

    async def make(self):
        self.memory = await open_memory(self.folder / "umi.db", user="ann", agent="helper").__aenter__()

    async def close(self):
        await self.memory.__aexit__(None, None, None)

    def _of(self, session):
        return UmiMemory(memory=self.memory, session_id=session)

    async def add(self, session, items):
        await self._of(session).aput_messages([ChatMessage(**item) for item in items])

    async def replace(self, session, items):
        await self._of(session).aset([ChatMessage(**item) for item in items])

    async def get(self, session):
        found = await self._of(session).aget_all()
        return [{"role": each.role.value, "content": each.content} for each in found]

    async def clear(self, session):
        await self._of(session).areset()

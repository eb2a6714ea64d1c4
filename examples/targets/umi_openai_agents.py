"""umi_live as a session of the OpenAI Agents SDK: umi-sim target umi_openai_agents:Session

Run with openai-agents 0.24.0 and apsw.
"""

from umi_live import LiveError, open_memory
from umi_live.integrations.openai_agents import UmiSession
from umi_sim.targets import Sessions


class Session(Sessions):
    durable = True
    erases = True
    refuses = (LiveError,)  # ids of more than 230 bytes

    async def make(self):
        self.memory = await open_memory(self.folder / "umi.db", user="ann", agent="helper").__aenter__()

    async def close(self):
        await self.memory.__aexit__(None, None, None)

    async def add(self, session, items):
        await UmiSession(session, self.memory).add_items(items)

    async def get(self, session, limit=None):
        return await UmiSession(session, self.memory).get_items(limit)

    async def pop(self, session):
        return await UmiSession(session, self.memory).pop_item()

    async def clear(self, session):
        await UmiSession(session, self.memory).clear_session()

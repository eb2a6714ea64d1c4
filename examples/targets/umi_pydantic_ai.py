"""umi_live as a history of Pydantic AI: umi-sim target umi_pydantic_ai:History

Run with pydantic-ai-slim 2.68.0 and apsw.
"""

import asyncio

from pydantic_ai import messages as said

from umi_live import LiveError, open_memory
from umi_live.integrations.pydantic_ai import UmiHistory
from umi_sim.targets import Sessions

PARTS = {"user": (said.ModelRequest, said.UserPromptPart), "assistant": (said.ModelResponse, said.TextPart)}
ROLES = {"request": "user", "response": "assistant"}
said.ModelMessagesTypeAdapter.dump_python([])  # builds its schema before a run replaces `datetime`


class History(Sessions):
    durable = erases = True
    values = "text"
    refuses = (LiveError,)  # ids of more than 230 bytes

    async def make(self):
        self.saving = asyncio.Lock()
        self.memory = await open_memory(self.folder / "umi.db", user="ann", agent="helper").__aenter__()

    async def close(self):
        await self.memory.__aexit__(None, None, None)

    async def add(self, session, items):
        messages = [PARTS[it["role"]][0]([PARTS[it["role"]][1](it["content"])]) for it in items]
        async with self.saving:  # one at a time: each save writes the whole conversation
            known = await UmiHistory(session, self.memory).load()
            await UmiHistory(session, self.memory).save([*known, *messages])

    async def get(self, session):
        found = await UmiHistory(session, self.memory).load()
        return [{"role": ROLES[it.kind], "content": part.content} for it in found for part in it.parts]

    async def clear(self, session):
        async with self.saving:
            await UmiHistory(session, self.memory).clear()

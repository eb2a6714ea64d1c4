"""umi_live as LangGraph's checkpointer: umi-sim target umi_langgraph_saver:Saver

Run with langgraph-checkpoint 4.3.2 and apsw. A session is a thread, and each message a checkpoint.
"""

import asyncio

from langgraph.checkpoint.base import empty_checkpoint

from umi_live import LiveError, open_memory
from umi_live.integrations.langgraph_saver import UmiSaver
from umi_sim.targets import Sessions


class Saver(Sessions):
    durable = erases = True
    refuses = (LiveError,)  # ids of more than 230 bytes

    async def make(self):
        self.adding = asyncio.Lock()
        self.memory = await open_memory(self.folder / "umi.db", user="ann", agent="helper").__aenter__()

    async def close(self):
        await self.memory.__aexit__(None, None, None)

    batch_atomic = False  # checkpoints are put one by one

    def _where(self, session):
        return {"configurable": {"thread_id": session, "checkpoint_ns": ""}}

    async def add(self, session, items):
        where, saver = self._where(session), UmiSaver(self.memory)
        async with self.adding:  # each checkpoint refers to the one before it
            latest = await saver.aget_tuple(where)
            for step, item in enumerate(items, 1 + (int(latest.checkpoint["id"]) if latest else 0)):
                own = {"id": f"{step:08d}", "channel_values": {"message": item}, "channel_versions": {}}
                await saver.aput(where, {**empty_checkpoint(), **own}, {"source": "loop", "step": step}, {})

    async def get(self, session, limit=None):
        newest_first = [it async for it in UmiSaver(self.memory).alist(self._where(session), limit=limit)]
        return [each.checkpoint["channel_values"]["message"] for each in newest_first][::-1]

    async def delete(self, session):
        await UmiSaver(self.memory).adelete_thread(session)

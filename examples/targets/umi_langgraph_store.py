"""umi_live as LangGraph's store: umi-sim target umi_langgraph_store:Store

Run with langgraph-checkpoint 4.3.2 and apsw.
"""

from umi_live import LiveError, open_memory
from umi_live.integrations.langgraph_store import UmiStore
from umi_sim.targets import Kv

TTL = {"refresh_on_read": False}


class Store(Kv):
    durable = True
    erases = True
    refuses = (ValueError, LiveError)  # names beyond 240 bytes, and labels that LangGraph refuses

    async def make(self):
        self.memory = await open_memory(self.folder / "umi.db", user="ann", agent="helper").__aenter__()

    async def close(self):
        await self.memory.__aexit__(None, None, None)

    delete_reports = "nothing"
    steady_pages = False  # a page is an offset, so it shifts when items come and go

    async def put(self, ns, key, value, ttl=None):
        minutes = None if ttl is None else ttl / 60
        await UmiStore(self.memory, ttl=TTL).aput(("space", ns), key, {"value": value}, ttl=minutes)

    async def get(self, ns, key):
        found = await UmiStore(self.memory, ttl=TTL).aget(("space", ns), key)
        return None if found is None else found.value["value"]

    async def delete(self, ns, key):
        await UmiStore(self.memory, ttl=TTL).adelete(("space", ns), key)

    async def items(self, ns):
        found = await UmiStore(self.memory, ttl=TTL).asearch(("space", ns), limit=1_000)
        return [(item.key, item.value["value"]) for item in found if item.namespace == ("space", ns)]

    async def keys(self, ns):
        return [key for key, _ in await self.items(ns)]

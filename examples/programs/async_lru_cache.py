"""Four requests for one entry of async-lru, of which one is cancelled: async_lru_cache:main."""

import asyncio

from async_lru import alru_cache

without = ["leaks_no_task"]  # a load that is cancelled ends a little later


class Loader:
    running = most = 0

    @alru_cache
    async def load(self):
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.04)
        finally:
            self.running -= 1
            await asyncio.sleep(0.02)  # closes a connection


async def ask(loader):
    await loader.load()


async def main(run):
    loader = run.state.loader = Loader()
    async with asyncio.TaskGroup() as requests:
        for _ in range(4):
            requests.create_task(ask(loader))
            await asyncio.sleep(0.01)


async def resume(run):
    loader = getattr(run.state, "loader", None)
    assert loader is None or loader.most < 2, "it runs twice at once for one key"

"""aiocache: umi-sim target aiocache_memory:Memory   (and :Cleared)

Run with aiocache 0.12.3.
"""

from aiocache import SimpleMemoryCache

from umi_sim.targets import MISSING, Kv


class Memory(Kv):
    async def make(self):
        self.cache = SimpleMemoryCache()

    async def put(self, key, value, ttl=None):
        await self.cache.set(key, value, ttl=ttl)

    async def get(self, key):
        return await self.cache.get(key, default=MISSING)

    async def has(self, key):
        return await self.cache.exists(key)

    async def add(self, key, value, ttl=None):
        try:
            return await self.cache.add(key, value, ttl=ttl)
        except ValueError:
            return False

    async def incr(self, key, by):
        return await self.cache.increment(key, by)

    async def touch(self, key, ttl):
        return await self.cache.expire(key, ttl)

    async def delete(self, key):
        return bool(await self.cache.delete(key))

    async def put_many(self, pairs, ttl=None):
        await self.cache.multi_set(list(pairs.items()), ttl=ttl)

    async def get_many(self, keys):
        return await self.cache.multi_get(keys)


class Cleared(Memory):
    """Shows a failure that docs/findings.md describes."""

    async def clear(self):
        await self.cache.clear()

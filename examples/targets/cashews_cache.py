"""cashews: umi-sim target cashews_cache:Memory   (and :Endless, :Patterns)

Run with cashews 7.6.0.
"""

from cashews import Cache

from umi_sim.targets import MISSING, Kv


class Memory(Kv):
    sees_expired = True
    default_ttl_ms = 60_000  # docs/findings.md: entries without one

    async def make(self):
        self.cache = Cache()
        self.cache.setup("mem://")
        await self.cache.init()

    async def close(self):
        await self.cache.close()

    async def put(self, key, value, ttl=60):
        await self.cache.set(key, value, expire=ttl)

    async def get(self, key):
        return await self.cache.get(key, default=MISSING)

    async def has(self, key):
        return await self.cache.exists(key)

    async def touch(self, key, ttl):
        await self.cache.expire(key, ttl)

    async def delete(self, key):
        return await self.cache.delete(key)

    async def get_many(self, keys):
        return list(await self.cache.get_many(*keys))

    async def count(self):
        return await self.cache.get_keys_count()

    async def clear(self):
        await self.cache.clear()


class Endless(Memory):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    default_ttl_ms = None

    async def put(self, key, value, ttl=None):
        await self.cache.set(key, value, expire=ttl)


class Adding(Memory):
    async def add(self, key, value, ttl=60):
        return await self.cache.set(key, value, expire=ttl, exist=False)


class Patterns(Memory):
    async def keys(self):
        return [key async for key in self.cache.scan("*")]

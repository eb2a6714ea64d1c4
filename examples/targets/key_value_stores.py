"""py-key-value-aio: umi-sim target key_value_stores:InMemory   (and :OnDisk)

Run with py-key-value-aio 0.5.0.
"""

from key_value.aio.stores.disk import DiskStore
from key_value.aio.stores.memory import MemoryStore

from umi_sim.targets import Kv


class Wrapped(Kv):
    """Its values are dicts, so each value is wrapped in one."""

    sees_expired = True  # `keys` and `delete` see expired entries until a read
    joint = ""  # the separator of collection and key, if they are joined

    def _plain(self, *names):
        if self.joint and any(self.joint in name or name[:1] == ":" or name[-1:] == ":" for name in names):
            raise ValueError(names)

    async def put(self, ns, key, value, ttl=None):
        self._plain(ns, key)
        await self.store.put(key, {"value": value}, collection=ns, ttl=ttl)

    async def get(self, ns, key):
        self._plain(ns, key)
        found = await self.store.get(key, collection=ns)
        return None if found is None else found["value"]

    async def delete(self, ns, key):
        self._plain(ns, key)
        return await self.store.delete(key, collection=ns)

    async def put_many(self, ns, pairs, ttl=None):
        self._plain(ns, *pairs)
        await self.store.put_many(
            list(pairs), [{"value": each} for each in pairs.values()], collection=ns, ttl=ttl
        )

    async def get_many(self, ns, keys):
        self._plain(ns, *keys)
        found = await self.store.get_many(keys, collection=ns)
        return [None if each is None else each["value"] for each in found]

    async def delete_many(self, ns, keys):
        self._plain(ns, *keys)
        return await self.store.delete_many(keys, collection=ns)

    async def ttl(self, ns, key):
        self._plain(ns, key)
        return (await self.store.ttl(key, collection=ns))[1]


class InMemory(Wrapped):
    async def make(self):
        self.store = MemoryStore()

    async def keys(self, ns):
        return await self.store.keys(collection=ns)


class OnDisk(Wrapped):
    durable = True
    joint = "::"  # see docs/findings.md
    fails = ("statement",)  # docs/findings.md: a failing COMMIT, below in diskcache

    async def make(self):
        self.store = DiskStore(directory=self.folder)

    async def close(self):
        await self.store.close()


class OnDiskFailingCommit(OnDisk):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    fails = ("commit",)


class OnDiskSeparator(OnDisk):
    joint = ""

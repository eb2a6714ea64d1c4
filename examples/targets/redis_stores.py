"""Stores on Redis: umi-sim target redis_stores:KeyValue   (and :Session)

Run with py-key-value-aio 0.5.0, openai-agents 0.24.0, redis 8.1.0, fakeredis 2.40.0. The server is a fake one
in this process, which survives restarts of the store. Requests and responses can be lost.
"""

from agents.extensions.memory import RedisSession
from fakeredis import FakeAsyncRedis, FakeServer
from key_value.aio.stores.redis import RedisStore

from umi_sim.targets import Kv, Sessions


def client_of(adapter, **options):
    """Return a new client of the run's server."""
    server = adapter.outside.setdefault("server", FakeServer())
    return FakeAsyncRedis(server=server, **options)


class KeyValue(Kv):
    """RedisStore of py-key-value-aio. Its values are dicts, so each value is wrapped in one."""

    durable = True
    unlisted = "*?[\\"  # collections with these characters cannot be listed: docs/findings.md
    joint = "::"  # the separator, which no collection or key may contain: see there
    sees_expired = True  # at the deadline an entry has expired for the store, but not for Redis
    tick_ms = 1_000  # it passes whole seconds to Redis

    async def make(self):
        self.client = client_of(self, decode_responses=True)
        self.store = RedisStore(client=self.client)

    async def close(self):
        await self.client.aclose()

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
        values = [{"value": each} for each in pairs.values()]
        await self.store.put_many(list(pairs), values, collection=ns, ttl=ttl)

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

    async def keys(self, ns):
        self._plain(ns)
        if any(each in ns for each in self.unlisted):
            raise ValueError(ns)
        return await self.store.keys(collection=ns)


class KeyValueWildcards(KeyValue):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    unlisted = ""


class KeyValueSeparator(KeyValue):
    joint = ""


class Session(Sessions):
    """RedisSession of openai-agents."""

    durable = True

    def make(self):
        self.client = client_of(self)

    async def close(self):
        await self.client.aclose()

    def _of(self, session):
        return RedisSession(session, redis_client=self.client)

    async def add(self, session, items):
        await self._of(session).add_items(items)

    async def get(self, session, limit=None):
        return await self._of(session).get_items(limit)

    async def pop(self, session):
        return await self._of(session).pop_item()

    async def clear(self, session):
        await self._of(session).clear_session()

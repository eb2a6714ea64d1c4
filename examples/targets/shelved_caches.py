"""shelved_cache: umi-sim target shelved_caches:Lru   (and :Removing)

Run with shelved_cache 0.5.0, cachetools 6.2.6.
"""

import cachetools
from shelved_cache import PersistentCache

from umi_sim.targets import MISSING, Known, Kv


class Lru(Kv):
    durable = True
    keeps_none = True
    fails = ()  # shelve promises nothing if a write fails
    known = tuple(
        Known("docs/findings.md: a death between two writes", rule=rule)
        for rule in ("raises", "crash-split", "reopen-lost")
    )

    def make(self):
        self.cache = PersistentCache(cachetools.LRUCache, str(self.folder / "cache"), maxsize=1_000)

    def close(self):
        self.cache.close()

    def put(self, key, value):
        self.cache[key] = value

    def get(self, key):
        return self.cache.get(key, MISSING)

    def has(self, key):
        return key in self.cache


class Removing(Lru):
    """Shows a failure that docs/findings.md describes."""

    def delete(self, key):
        del self.cache[key]

    def keys(self):
        return list(self.cache)

    def clear(self):
        self.cache.clear()

"""cachetools: umi-sim target cachetools_caches:Ttl   (and :Lru)

Run with cachetools 8.0.1. An entry has expired exactly at its deadline.
"""

import cachetools

from umi_sim.targets import MISSING, Kv


class Lru(Kv):
    keeps_none = True

    def make(self):
        self.cache = cachetools.LRUCache(1_000)

    def put(self, key, value):
        self.cache[key] = value

    def get(self, key):
        return self.cache.get(key, MISSING)

    def has(self, key):
        return key in self.cache

    def pop(self, key):
        return self.cache.pop(key)

    def delete(self, key):
        return self.cache.pop(key, MISSING) is not MISSING

    def keys(self):
        return list(self.cache)

    def items(self):
        return list(self.cache.items())

    def count(self):
        return len(self.cache)

    def clear(self):
        self.cache.clear()


class Ttl(Lru):
    """TLRUCache: each entry has its own time to live."""

    def make(self):
        self.cache = cachetools.TLRUCache(1_000, ttu=self._until, timer=self.now)

    def _until(self, key, value, now):
        return now + self.ttl_s if self.ttl_s is not None else float("inf")

    def put(self, key, value, ttl=None):
        self.ttl_s = ttl
        self.cache[key] = value

    def sweep(self):
        self.cache.expire()

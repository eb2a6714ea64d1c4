"""diskcache: umi-sim target diskcache_cache:Disk

Run with diskcache 5.6.3. `len` and iteration see expired entries until `expire` is called.
"""

import sqlite3

import diskcache

from umi_sim.targets import MISSING, Kv


class Disk(Kv):
    durable = True
    fails = ("statement",)  # docs/findings.md: a failing COMMIT
    sees_expired = True
    keeps_none = True
    late = 0.0005  # seconds: between two ticks of the clock, so that no read is exactly at a deadline
    refuses = (ValueError, TypeError, OverflowError, sqlite3.DataError)

    def make(self):
        self.cache = diskcache.Cache(str(self.folder))

    def close(self):
        self.cache.close()

    def _lasting(self, ttl):
        return None if ttl is None else ttl + self.late

    def put(self, key, value, ttl=None):
        self.cache.set(key, value, expire=self._lasting(ttl))

    def get(self, key):
        return self.cache.get(key, MISSING)

    def has(self, key):
        return key in self.cache

    def add(self, key, value, ttl=None):
        return self.cache.add(key, value, expire=self._lasting(ttl))

    def incr(self, key, by=1):
        return self.cache.incr(key, by)

    def pop(self, key):
        return self.cache.pop(key, MISSING)

    def touch(self, key, ttl):
        return self.cache.touch(key, expire=self._lasting(ttl))

    def delete(self, key):
        return self.cache.delete(key)

    def keys(self):
        return list(self.cache)

    def count(self):
        return len(self.cache)

    def clear(self):
        self.cache.clear()

    def sweep(self):
        self.cache.expire()


class FailingCommit(Disk):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    fails = ("commit",)


class AtDeadline(Disk):
    late = 0

"""theine: umi-sim target theine_cache:Tlfu

Run with theine 2.0.0.
"""

from datetime import timedelta

from theine import Cache

from umi_sim.targets import MISSING, Kv


class Tlfu(Kv):
    keeps_none = True
    sees_expired = True  # `delete` counts what has expired

    def make(self):
        self.cache = Cache(1_000)

    def close(self):
        self.cache.close()

    def put(self, key, value, ttl=None):
        self.cache.set(key, value, None if ttl is None else timedelta(seconds=ttl))

    def get(self, key):
        value, is_hit = self.cache.get(key)
        return value if is_hit else MISSING

    def delete(self, key):
        return self.cache.delete(key)

    def clear(self):
        self.cache.clear()

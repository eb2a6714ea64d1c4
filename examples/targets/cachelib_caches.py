"""cachelib, below Flask-Caching: umi-sim target cachelib_caches:Simple   (and :Files, :FilesAdding)

Run with cachelib 0.17.0.
"""

from cachelib import FileSystemCache, SimpleCache

from umi_sim.targets import Kv


class Simple(Kv):
    tick_ms = 1_000  # it counts whole seconds

    def make(self):
        self.cache = SimpleCache(default_timeout=0)

    def put(self, key, value, ttl=None):
        self._done(self.cache.set(key, value, timeout=ttl))

    def get(self, key):
        return self.cache.get(key)

    def has(self, key):
        return self.cache.has(key)

    def delete(self, key):
        self._done(self.cache.delete(key) or not self.has(key))

    def get_many(self, keys):
        return self.cache.get_dict(*keys)

    def clear(self):
        self._done(self.cache.clear())

    def _done(self, is_done):
        if not is_done:
            raise OSError("not done")


class Files(Simple):
    durable = True

    def make(self):
        self.cache = FileSystemCache(str(self.folder), threshold=0, default_timeout=0)


class FilesAdding(Files):
    """Shows a failure that docs/findings.md describes."""

    fails = ()

    def add(self, key, value, ttl=None):
        return self.cache.add(key, value, timeout=ttl)

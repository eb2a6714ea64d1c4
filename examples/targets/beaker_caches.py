"""Beaker: umi-sim target beaker_caches:Memory   (and :File, :FileFailing)

Run with Beaker 1.14.1.
"""

from beaker.cache import Cache
from beaker.container import MemoryNamespaceManager

from umi_sim.targets import Kv


class Memory(Kv):
    keeps_none = True
    _type = "memory"

    def make(self):
        self.caches = {}
        MemoryNamespaceManager.namespaces.clear()  # a global, which would outlive a run

    def _of(self, ns):
        if ns not in self.caches:
            self.caches[ns] = Cache(ns, type=self._type, data_dir=str(self.folder))
        return self.caches[ns]

    def put(self, ns, key, value, ttl=None):
        self._of(ns).put(key, value, expiretime=ttl)

    def get(self, ns, key):
        return self._of(ns).get(key)

    def has(self, ns, key):
        return self._of(ns).has_key(key)

    def delete(self, ns, key):
        self._of(ns).remove_value(key)

    def clear(self, ns):
        self._of(ns).clear()


class File(Memory):
    durable = True
    fails = ()  # see docs/findings.md
    _type = "file"


class FileFailing(File):
    """Shows a failure that docs/findings.md describes."""

    fails = ("open", "write")

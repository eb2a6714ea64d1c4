"""Django's caches: umi-sim target django_caches:Local   (and :Files, :FilesStrict)

Run with Django 5.2.19.
"""

from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache

from umi_sim.targets import MISSING, Known, Kv


class Local(Kv):
    keeps_none = True
    sees_expired = True  # `delete` counts what has expired

    def make(self):
        self.cache = LocMemCache(str(self.folder), {"TIMEOUT": None})

    def close(self):
        self.cache.close()

    def put(self, key, value, ttl=None):
        self.cache.set(key, value, ttl)

    def get(self, key):
        return self.cache.get(key, MISSING)

    def has(self, key):
        return key in self.cache

    def add(self, key, value, ttl=None):
        return self.cache.add(key, value, ttl)

    def incr(self, key, by):
        return self.cache.incr(key, by)

    def touch(self, key, ttl):
        return self.cache.touch(key, ttl)

    def delete(self, key):
        return self.cache.delete(key)

    def put_many(self, pairs, ttl=None):
        self.cache.set_many(pairs, ttl)

    def get_many(self, keys):
        return self.cache.get_many(keys)

    def delete_many(self, keys):
        self.cache.delete_many(keys)

    def clear(self):
        self.cache.clear()


class Files(Local):
    durable = True
    known = (Known("docs/findings.md: touch", rule="raises", op="touch", says="closed file"),)

    def make(self):
        self.cache = FileBasedCache(str(self.folder), {"TIMEOUT": None})


class FilesStrict(Files):
    """Shows a failure that docs/findings.md describes."""

    known = ()

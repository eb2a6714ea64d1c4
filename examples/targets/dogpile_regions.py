"""dogpile.cache: umi-sim target dogpile_regions:Memory   (and :Pickle, :Dbm)

Run with dogpile.cache 1.5.0.
"""

from dogpile.cache import make_region
from dogpile.cache.api import NO_VALUE

from umi_sim.targets import MISSING, Known, Kv


class Memory(Kv):
    keeps_none = True
    default_ttl_ms = 60_000
    _backend = "dogpile.cache.memory"

    def _arguments(self):
        return {}

    def make(self):
        self.region = make_region().configure(
            self._backend, expiration_time=self.default_ttl_ms / 1000, arguments=self._arguments()
        )

    def put(self, key, value):
        self.region.set(key, value)

    def get(self, key):
        found = self.region.get(key)
        return MISSING if found is NO_VALUE else found

    def put_many(self, pairs):
        self.region.set_multi(pairs)

    def get_many(self, keys):
        found = self.region.get_multi(keys)
        return {key: value for key, value in zip(keys, found, strict=True) if value is not NO_VALUE}

    def delete(self, key):
        self.region.delete(key)

    def delete_many(self, keys):
        self.region.delete_multi(keys)


class Pickle(Memory):
    _backend = "dogpile.cache.memory_pickle"


class Dbm(Memory):
    durable = True
    fails = ()  # dbm promises nothing if a write fails or is cut off
    known = tuple(
        Known("docs/findings.md: a death between two writes", rule=rule)
        for rule in ("raises", "crash-split", "reopen-lost")
    )
    _backend = "dogpile.cache.dbm"

    def _arguments(self):
        return {"filename": str(self.folder / "cache.dbm")}

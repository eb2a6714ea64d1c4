"""pickledb: umi-sim target pickledb_stores:InFile   (and :InSqlite, :Nones, :InSqliteCancelled)

Run with pickledb 1.6, aiosqlite 0.22.1.
"""

import asyncio

from pickledb import PickleDB, PickleDBSQLite

from umi_sim.targets import MISSING, Known, Kv


class InFile(Kv):
    durable = True
    fails = ()  # if `save` fails, the value stays in memory

    async def make(self):
        self.db = PickleDB(str(self.folder / "rows.json"))
        await self.db.load()

    async def _saved(self, change):
        found = await change
        await self.db.save()
        return found

    async def put(self, key, value):
        await asyncio.shield(self._saved(self.db.set(key, value)))

    async def get(self, key):
        return await self.db.get(key, MISSING)

    async def delete(self, key):
        return await asyncio.shield(self._saved(self.db.remove(key)))

    async def keys(self):
        return await self.db.all()

    async def clear(self):
        await asyncio.shield(self._saved(self.db.purge()))


class InSqlite(Kv):
    durable = True
    keeps_none = True
    known = (Known("docs/findings.md: a cancelled read", rule="raises", says="is locked"),)

    def make(self):
        self.db = PickleDBSQLite(str(self.folder / "rows.db"))

    async def close(self):
        await self.db.close()

    async def put(self, key, value):
        await self.db.set(key, value)

    async def get(self, key):
        return await self.db.get(key, MISSING)

    async def delete(self, key):
        return await self.db.remove(key)

    async def keys(self):
        return await self.db.all()

    async def clear(self):
        await self.db.purge()


class Nones(InFile):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    keeps_none = True


class InSqliteCancelled(InSqlite):
    known = ()

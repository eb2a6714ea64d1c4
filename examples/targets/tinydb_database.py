"""tinydb: umi-sim target tinydb_database:InFile   (and :Failing)

Run with tinydb 4.9.0.
"""

from tinydb import TinyDB, where

from umi_sim.targets import Known, Kv


class InFile(Kv):
    durable = True
    fails = ()  # see docs/findings.md
    known = (Known("docs/findings.md: a death between two writes", rule="raises", says="JSONDecodeError"),)

    def make(self):
        self.db = TinyDB(self.folder / "db.json")

    def close(self):
        self.db.close()

    def put(self, key, value):
        self.db.upsert({"key": key, "value": value}, where("key") == key)

    def get(self, key):
        found = self.db.get(where("key") == key)
        return found["value"] if found else None

    def has(self, key):
        return self.db.contains(where("key") == key)

    def delete(self, key):
        return bool(self.db.remove(where("key") == key))

    def items(self):
        return [(row["key"], row["value"]) for row in self.db]

    def count(self):
        return len(self.db)

    def clear(self):
        self.db.truncate()


class Failing(InFile):
    """Shows a failure that docs/findings.md describes."""

    fails = ("write", "truncate")
    known = ()

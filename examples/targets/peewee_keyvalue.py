"""peewee's KeyValue: umi-sim target peewee_keyvalue:InFile

Run with peewee 4.5.3.
"""

from peewee import SqliteDatabase
from playhouse.kv import KeyValue

from umi_sim.targets import MISSING, Kv


class InFile(Kv):
    durable = True
    batch_atomic = True

    def make(self):
        self.db = SqliteDatabase(self.folder / "rows.db")
        self.rows = KeyValue(database=self.db)

    def close(self):
        self.db.close()

    def put(self, key, value):
        self.rows[key] = value

    def get(self, key):
        return self.rows.get(key, MISSING)

    def has(self, key):
        return key in self.rows

    def pop(self, key):
        return self.rows.pop(key, MISSING)

    def put_many(self, pairs):
        if pairs:
            self.rows.update(pairs)

    def delete(self, key):
        del self.rows[key]
        return True

    def items(self):
        return list(self.rows.items())

    def count(self):
        return len(self.rows)

    def clear(self):
        self.rows.clear()

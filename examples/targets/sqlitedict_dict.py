"""sqlitedict: umi-sim target sqlitedict_dict:InFile

Run with sqlitedict 2.1.0.
"""

from sqlitedict import SqliteDict

from umi_sim.targets import MISSING, Kv


class InFile(Kv):
    durable = True
    keeps_none = True
    fails = ()  # statements run in a thread that a run cannot control

    def make(self):
        self.rows = SqliteDict(str(self.folder / "rows.db"), outer_stack=False)

    def close(self):
        self.rows.close()

    def put(self, key, value):
        self.rows[key] = value
        self.rows.commit()

    def get(self, key):
        return self.rows.get(key, MISSING)

    def has(self, key):
        return key in self.rows

    def put_many(self, pairs):
        self.rows.update(pairs)
        self.rows.commit()

    def delete(self, key):
        existed = self.rows.pop(key, MISSING) is not MISSING
        self.rows.commit()
        return existed

    def keys(self):
        return list(self.rows.keys())

    def items(self):
        return list(self.rows.items())

    def count(self):
        return len(self.rows)

    def clear(self):
        self.rows.clear()

"""requests-cache: umi-sim target requests_cache_dicts:Sqlite   (and :Files, :SqliteFailing and others)

Run with requests-cache 1.3.3.
"""

from requests_cache.backends.filesystem import FileDict
from requests_cache.backends.sqlite import SQLiteDict

from umi_sim.targets import MISSING, Known, Kv


class Sqlite(Kv):
    durable = True
    values = "text"
    odd = False  # see docs/findings.md, as for failures
    fails = ()

    def make(self):
        self.rows = SQLiteDict(self.folder / "rows.db", serializer=None)

    def close(self):
        self.rows.close()

    def put(self, key, value):
        self.rows[key] = value

    def get(self, key):
        return self.rows.get(key, MISSING)

    def delete(self, key):
        return self.rows.pop(key, MISSING) is not MISSING

    def keys(self):
        return list(self.rows)

    def count(self):
        return len(self.rows)

    def clear(self):
        self.rows.clear()


class Files(Sqlite):
    known = (Known("docs/findings.md: a death within a write", rule="answer", op="get"),)

    def make(self):
        self.rows = FileDict(self.folder / "rows", serializer=None)

    def close(self):
        pass


class SqliteOdd(Sqlite):
    """Shows a failure that docs/findings.md describes, as do the next two classes."""

    odd = True


class SqliteFailing(Sqlite):
    fails = ("statement", "commit")


class FilesFailing(Files):
    fails = ("write",)
    known = ()

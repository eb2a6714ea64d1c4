"""zict: umi-sim target zict_mappings:Files   (and :Cached, :Buffered, :FilesFailing)

Run with zict 3.0.0.
"""

import json
from urllib.parse import quote

from zict import LRU, Buffer, Cache, File, Func

from umi_sim.targets import MISSING, Kv

LONGEST = 250  # of a file name


class Files(Kv):
    keeps_none = True
    fails = ()  # see docs/findings.md
    refuses = (ValueError, TypeError, OSError)  # a key may be too long for the name of a file

    def make(self):
        self.rows = Func(lambda value: json.dumps(value).encode(), json.loads, File(self.folder / "rows"))

    def close(self):
        self.rows.close()

    def put(self, key, value):
        self.rows[key] = value

    def get(self, key):
        return self.rows.get(key, MISSING)

    def has(self, key):
        return key in self.rows

    def delete(self, key):
        return self.rows.pop(key, MISSING) is not MISSING

    def items(self):
        return list(self.rows.items())

    def count(self):
        return len(self.rows)

    def clear(self):
        self.rows.clear()


class Cached(Files):
    def make(self):
        super().make()
        self.rows = Cache(self.rows, LRU(2, {}))


class Buffered(Files):
    def make(self):
        super().make()
        self.rows = Buffer({}, self.rows, 2)

    def put(self, key, value):
        if len(quote(key, safe="")) > LONGEST:  # else a later put of another key would fail
            raise ValueError(key)
        super().put(key, value)


class FilesFailing(Files):
    """Shows a failure that docs/findings.md describes."""

    fails = ("open", "write")

"""shelve of Python's library: umi-sim target shelve_of_python:Dumb   (and :DumbFailing)

It needs no package.
"""

import dbm.dumb
import shelve

from umi_sim.targets import MISSING, Known, Kv


class Dumb(Kv):
    durable = True
    keeps_none = True
    fails = ()  # no promise if a write fails or is cut off; see docs/findings.md
    known = tuple(
        Known("docs/findings.md: a death between two writes", rule=rule)
        for rule in ("raises", "crash-split", "reopen-lost")
    )

    def make(self):
        file = dbm.dumb.open(str(self.folder / "rows"), "c")  # noqa: SIM115 - `close` closes it
        self.rows = shelve.Shelf(file)

    def close(self):
        self.rows.close()

    def put(self, key, value):
        self.rows[key] = value
        self.rows.sync()

    def get(self, key):
        return self.rows.get(key, MISSING)

    def has(self, key):
        return key in self.rows

    def delete(self, key):
        existed = self.rows.pop(key, MISSING) is not MISSING
        self.rows.sync()
        return existed

    def items(self):
        return list(self.rows.items())

    def count(self):
        return len(self.rows)

    def clear(self):
        self.rows.clear()
        self.rows.sync()


class DumbFailing(Dumb):
    """Shows a failure that docs/findings.md describes."""

    fails = ("open", "write")
    known = ()

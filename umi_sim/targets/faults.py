"""Failures of what a store stands on, without touching its code: the sites, and SQLite.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. What fails has not happened: a statement is not executed, a commit not tried.
Law 3. Only what belongs to the store is counted: connections made during a run, files of its folder.
"""

import datetime
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

NO_WAIT = "PRAGMA busy_timeout = 0"
EXECUTING = ("execute", "executemany", "executescript")


class Killed(BaseException):
    """The process is gone; what still runs of it is of no use."""


class Sites:
    """The sites that the store has reached and that may fail; while it is armed, the n-th time does."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.site, self.n, self.part, self.fired = "", 0, 0, False
        self.told = ""  # what had been done of the call that failed, or in which the process died
        self.full = ""  # the path of a file for which the disk has no room
        self.action: Callable[[Exception], None] = fail
        self.counts: Counter[str] = Counter()  # since it was armed

    def arm(self, site: str, n: int, action: Callable[[Exception], None], part: int = 0) -> None:
        """`part`: how much of the call is done all the same, in per cent."""
        self.site, self.n, self.part, self.fired, self.action = site, n, part, False, action
        self.told = self.full = ""
        self.counts.clear()

    def disarm(self) -> bool:
        """Disarm it, and return whether it failed."""
        self.site, fired = "", self.fired
        return fired

    def reach(self, site: str, error: Exception, do_part: Callable[[int], str] | None = None) -> None:
        """`do_part`: does so many per cent of the call, and returns what was done."""
        self.counts[site] += 1
        if site == self.site and not self.fired and self.counts[site] >= self.n:
            self.fired = True
            self.told = do_part(self.part) if do_part else ""
            self.action(error)

    def is_own(self, path: Any) -> bool:
        try:
            return os.path.abspath(os.fsdecode(path)).startswith(self.folder)
        except TypeError:  # no path at all
            return False

    def label(self, path: str) -> str:
        """Return the name of a file within the folder of the store, whichever life that is of."""
        return path[len(self.folder) + 1 :].partition(os.sep)[2]


def fail(error: Exception) -> None:
    error.add_note("made by umi_sim")
    raise error


def tell_time(connection: Any, seconds: Callable[[], float]) -> None:
    """SQL reads the clock of the run too. Its own functions compute, on a connection of their own."""
    real = sqlite3.Connection(":memory:", check_same_thread=False)

    def now() -> str:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=round(seconds() * 1000))
        return moment.isoformat(sep=" ", timespec="milliseconds")

    def teller(name: str, now_at: int) -> Callable[..., Any]:
        def tell(*args: Any) -> Any:
            given = [now() if str(arg).lower() == "now" else arg for arg in args]
            given += [now()] if len(args) <= now_at else []
            marks = ", ".join("?" * len(given))
            return real.execute(f"SELECT {name}({marks})", given).fetchone()[0]

        return tell

    for name in ("datetime", "date", "time", "julianday", "unixepoch"):
        connection.create_function(name, -1, teller(name, 0))
    connection.create_function("strftime", -1, teller("strftime", 1))
    for name in ("timestamp", "date", "time"):
        tell = teller({"timestamp": "datetime"}.get(name, name), 0)
        connection.create_function(f"current_{name}", 0, tell)


def connection_class(sites: Sites) -> type:
    """Connections that can fail, as can their cursors."""

    def statement(sql: Any) -> Any:
        """Return the statement to execute. Raises if it is its turn to fail."""
        word = str(sql).lstrip().split(None, 1)[:1]
        if word and word[0].upper() in ("PRAGMA", "ROLLBACK"):  # what fails after a failure is another story
            return NO_WAIT if "busy_timeout" in str(sql).lower() and "=" in str(sql) else sql
        if word and word[0].upper().rstrip(";") in ("COMMIT", "END"):
            sites.reach("commit", sqlite3.OperationalError("database is locked"))
        else:
            sites.reach("statement", sqlite3.OperationalError("disk I/O error"))
        return sql

    def failing(real: type) -> type:
        def method(name: str) -> Any:
            return lambda self, sql, *args: getattr(real, name)(self, statement(sql), *args)

        return type(real.__name__, (real,), {name: method(name) for name in EXECUTING})

    cursor_class = failing(sqlite3.Cursor)

    class Connection(sqlite3.Connection):
        # No cursor of ours in `execute`: the traceback of an error would keep it, and with it a transaction.
        def cursor(self, factory: Any = cursor_class) -> Any:
            return super().cursor(factory)

        def commit(self) -> None:
            if self.in_transaction:
                sites.reach("commit", sqlite3.OperationalError("database is locked"))
            super().commit()

        def __exit__(self, kind: Any, value: Any, trace: Any) -> Any:
            if kind is not None:
                self.rollback()
                return False
            try:
                self.commit()
            except BaseException:
                self.rollback()  # as the real one
                raise
            return False

    return failing(Connection)


@contextmanager
def install(sites: Sites, seconds: Callable[[], float]) -> Iterator[None]:
    """Until the block ends, SQLite can fail. SQL reads `seconds` as its clock.

    No lock is waited for: its holder is in this thread too.
    """
    connection = connection_class(sites)
    connect = sqlite3.connect

    def new_connect(*args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("factory", connection)
        made = connect(*args, **{**kwargs, "timeout": 0} if len(args) < 2 else kwargs)
        tell_time(made, seconds)
        return made

    owners: tuple[Any, ...] = sqlite3, sqlite3.dbapi2
    for owner in owners:
        owner.connect = new_connect
    try:
        yield
    finally:
        for owner in owners:
            owner.connect = connect

"""Failures of what a store stands on, without touching its code: the sites, SQLite, and a network.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. What fails has not happened: a statement is not executed, a commit not tried.
Law 3. Only what belongs to the store is counted: connections made during a run, files of its folder.
"""

import asyncio
import datetime
import os
import re
import sqlite3
import sys
from _thread import get_ident
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any

from umi_sim.targets import clocks

NO_WAIT = "PRAGMA busy_timeout = 0"
BUSY_TIMEOUT = re.compile(r"\s*PRAGMA\s.*\bbusy_timeout\s*[=(]\s*['\"]?([0-9]+)", re.IGNORECASE)
TIMEOUT_SECONDS = 5  # of sqlite3.connect
CONNECT_ARGS = 6  # up to `factory`
EXECUTING = ("execute", "executemany", "executescript")
ENDING = ("COMMIT", "END")


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
        self.loop: Any = None  # that of the run: at each site other jobs may go on
        self.latency_ms = 0  # of a reply that took no time, such as one of a mock
        self.is_locked = False  # by a lock of Python itself: no job can pause here
        self.is_ours = False  # what is done to files meanwhile the simulator does, and not the store

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
        self.switch()
        self.counts[site] += 1
        if site == self.site and not self.fired and self.counts[site] >= self.n and self.can_act():
            self.fired = True
            self.told = do_part(self.part) if do_part else ""
            self.action(error)

    def can_act(self) -> bool:
        """Return whether it fails here: a thread of the store's own cannot die in place of its process."""
        return self.action is fail or self.loop is None or get_ident() in self.loop.clock.threads

    def switch(self) -> None:
        if self.loop is not None and not self.is_locked:
            self.loop.switch()

    def is_own(self, path: Any) -> bool:
        try:
            return not self.is_ours and os.path.abspath(os.fsdecode(path)).startswith(self.folder)
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

    def make_sql_function(name: str, now_at: int) -> Callable[..., Any]:
        def tell(*args: Any) -> Any:
            given = [now() if str(arg).lower() == "now" else arg for arg in args]
            given += [now()] if len(args) <= now_at else []
            marks = ", ".join("?" * len(given))
            return real.execute(f"SELECT {name}({marks})", given).fetchone()[0]

        return tell

    def create(name: str, count: int, tell: Callable[..., Any]) -> None:
        if hasattr(connection, "create_function"):
            connection.create_function(name, count, tell)
        else:
            connection.create_scalar_function(name, tell, count)

    for name in ("datetime", "date", "time", "julianday", "unixepoch"):
        create(name, -1, make_sql_function(name, 0))
    create("strftime", -1, make_sql_function("strftime", 1))
    for name in ("timestamp", "date", "time"):
        create(f"current_{name}", 0, make_sql_function({"timestamp": "datetime"}.get(name, name), 0))


class Rows:
    """Rows that are taken from an iterator once, and given as often as SQLite asks."""

    def __init__(self, rows: Any) -> None:
        self.left, self.seen = iter(rows), list[Any]()

    def __iter__(self) -> Iterator[Any]:
        yield from tuple(self.seen)
        for row in self.left:
            self.seen.append(row)
            yield row


def act_patiently(
    sites: Sites, connection: Any, act: Callable[[], Any], word: str, is_script: bool = False
) -> Any:
    """Act, and again after other jobs went on, while one of those writes and the store would wait.

    What needs a lock in the middle of what it has begun to read fails at once, as in SQLite: the others may
    wait for it. Nor does a script begin anew that has begun a transaction.
    """
    if sites.loop is None or not sites.loop.flights or not connection.timeout_s > 0:
        return act()
    was_within = connection.in_transaction
    has_begun = was_within and connection.has_begun and word not in ENDING

    def may_wait() -> bool:
        return not has_begun and not (is_script and was_within != connection.in_transaction)

    return sites.loop.insist(act, connection.timeout_s, may_wait)


def failing_class(sites: Sites, real: type, broken: type[Exception], locked: type[Exception]) -> type:
    """Connections or cursors whose statements can fail. None of them waits in SQLite itself.

    `broken`: the error of a statement that fails; `locked`: that of a COMMIT.
    """

    def statement(connection: Any, word: str, sql: Any) -> Any:
        """Return the statement to execute. Raises if it is its turn to fail."""
        if word in ("PRAGMA", "ROLLBACK"):  # what fails after a failure is another story
            if asked := BUSY_TIMEOUT.match(str(sql)):
                connection.timeout_s = int(asked[1]) / 1000
            return NO_WAIT if asked else sql
        if word in ENDING:
            sites.reach("commit", locked("database is locked"))
        else:
            sites.reach("statement", broken("disk I/O error"))
        return sql

    def method(name: str) -> Any:
        act = getattr(real, name)

        def call(self: Any, sql: Any, *args: Any, **kwargs: Any) -> Any:
            connection, word = getattr(self, "connection", self), first_word(str(sql))
            sql = statement(connection, word, sql)
            if name == "executemany" and args and not isinstance(args[0], Sequence):
                args = Rows(args[0]), *args[1:]
            is_script = name == "executescript"
            begin = partial(act, self, sql, *args, **kwargs)
            found = act_patiently(sites, connection, begin, word, is_script)
            if word not in ("SAVEPOINT", "PRAGMA"):
                connection.has_begun = word != "BEGIN" and connection.in_transaction
            return found

        return call

    return type(real.__name__, (real,), {name: method(name) for name in EXECUTING if hasattr(real, name)})


def connection_class(sites: Sites) -> type:
    """Connections of sqlite3 that can fail, as can their cursors."""
    failing = partial(failing_class, sites, broken=sqlite3.OperationalError, locked=sqlite3.OperationalError)
    cursor_class = failing(sqlite3.Cursor)

    class Connection(sqlite3.Connection):
        timeout_s: float = TIMEOUT_SECONDS  # how long the store would wait for a lock
        has_begun = False  # to read or to write in its transaction

        # No cursor of ours in `execute`: the traceback of an error would keep it, and with it a transaction.
        def cursor(self, factory: Any = cursor_class) -> Any:
            return super().cursor(factory)

        def commit(self) -> None:
            if self.in_transaction:
                sites.reach("commit", sqlite3.OperationalError("database is locked"))
            act_patiently(sites, self, super().commit, "COMMIT")
            self.has_begun = False

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


def apsw_class(sites: Sites, seconds: Callable[[], float], apsw: Any) -> type:
    """Connections of apsw that can fail, by their cursors: its connections execute by these."""
    cursor_class = failing_class(sites, apsw.Cursor, broken=apsw.IOError, locked=apsw.BusyError)

    class ApswConnection(apsw.Connection):  # type: ignore[misc] # what it is, is known when a store has loaded it
        timeout_s: float = 0
        has_begun = False

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            sites.switch()
            super().__init__(*args, **kwargs)
            self.cursor_factory = cursor_class
            tell_time(self, seconds)

        def set_busy_timeout(self, milliseconds: int) -> None:
            self.timeout_s = milliseconds / 1000

    return ApswConnection


@lru_cache(maxsize=256)
def first_word(sql: str) -> str:
    return "".join(sql.lstrip().split(None, 1)[:1]).upper().rstrip(";")


def install(sites: Sites, seconds: Callable[[], float]) -> AbstractContextManager[None]:
    """Until the block ends, SQLite can fail. SQL reads `seconds` as its clock.

    No lock is waited for in SQLite: its holder goes on only when that returns.
    """
    connection = connection_class(sites)
    connect = sqlite3.connect

    def new_connect(*args: Any, **kwargs: Any) -> Any:
        sites.switch()
        if len(args) < CONNECT_ARGS:
            kwargs.setdefault("factory", connection)
        timeout_s = args[1] if args[1:] else kwargs.get("timeout", TIMEOUT_SECONDS)
        if args[1:]:
            args = args[0], 0, *args[2:]
        else:
            kwargs["timeout"] = 0
        made = connect(*args, **kwargs)
        if isinstance(made, connection):
            made.timeout_s = timeout_s  # type: ignore[attr-defined] # it is ours
        tell_time(made, seconds)
        return made

    changes: list[tuple[Any, str, Any]] = [
        (owner, "connect", new_connect) for owner in (sqlite3, sqlite3.dbapi2)
    ]
    if apsw := sys.modules.get("apsw"):
        changes.append((apsw, "Connection", apsw_class(sites, seconds, apsw)))
    return clocks.patch_names(changes)


# What a store asks of others over a network. A request that fails was not sent; a response that fails is
# lost, and what was asked was done. The adapter has what answers: a fake server of redis, say.

Errors = Callable[[str], Exception]


def failing(sites: Any, real: Any, unsent: Errors, lost: Errors) -> Any:
    """The same method, which fails when it is its turn."""

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        sites.reach("request", unsent("connection refused"))
        answer = real(self, *args, **kwargs)
        sites.reach("response", lost("timed out"))
        return answer

    return ask


def failing_later(sites: Any, real: Any, unsent: Errors, lost: Errors) -> Any:
    """The same for a method that is waited for."""

    async def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        sites.reach("request", unsent("connection refused"))
        before = sites.loop.callback_count if sites.latency_ms else -1
        answer = await real(self, *args, **kwargs)
        if before >= 0 and before == sites.loop.callback_count:
            await asyncio.sleep(sites.latency_ms / 1000)  # else no cancel could come before the reply
        sites.reach("response", lost("timed out"))
        return answer

    return ask


def places() -> Iterator[tuple[Any, str, Any, Errors, Errors]]:
    """Return the loaded classes whose methods ask a server, and the errors of their packages."""
    for name in ("httpx", "httpx2"):
        if http := sys.modules.get(name):
            yield http.Client, "send", failing, http.ConnectError, http.ReadTimeout
            yield http.AsyncClient, "send", failing_later, http.ConnectError, http.ReadTimeout
    if redis := sys.modules.get("redis"):
        errors = redis.ConnectionError, redis.TimeoutError
        later = redis.asyncio
        yield redis.Redis, "execute_command", failing, *errors
        yield redis.client.Pipeline, "execute", failing, *errors
        yield later.Redis, "execute_command", failing_later, *errors
        yield later.client.Pipeline, "execute", failing_later, *errors


def install_network(sites: Any) -> AbstractContextManager[None]:
    """Until the block ends, these can fail."""
    return clocks.patch_names(
        (owner, name, make(sites, getattr(owner, name), unsent, lost))
        for owner, name, make, unsent, lost in places()
    )

"""Faults below a store, injected without changes to its code: the sites, SQLite, and the network.

Law 1. This file needs only the standard library: an exported script contains a copy of it.
Law 2. A call that fails has no effect: a statement is not executed, a commit not tried. (Exceptions: a write
       done in part, and a request whose response is lost.)
Law 3. Only calls of the store are counted: on connections made during a run, and on files in its folder.
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
TIMEOUT_SECONDS = 5  # the default of sqlite3.connect
CONNECT_ARGS = 6  # the number of its positional arguments up to `factory`
EXECUTING = ("execute", "executemany", "executescript")
ENDING = ("COMMIT", "END")


class Killed(BaseException):
    """The simulated process has died. Not an Exception, so that stores do not catch it."""


class Sites:
    """Counts the calls of each site. While it is armed, the n-th call of one site fails."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.site, self.n, self.part, self.fired = "", 0, 0, False
        self.told = ""  # what was done of the partial call that failed
        self.full = ""  # the path of a file that gets no more room on the disk
        self.action: Callable[[Exception], None] = fail
        self.counts: Counter[str] = Counter()  # calls by site, since it was armed
        self.loop: Any = None  # the loop of the run: at each site other jobs may run
        self.latency_ms = 0  # added to a reply that took no time, such as one of a mock
        self.is_locked = False  # Python holds a lock of its own, so jobs cannot pause
        self.is_ours = False  # set while the simulator itself uses files

    def arm(self, site: str, n: int, action: Callable[[Exception], None], part: int = 0) -> None:
        """Let the n-th call of `site` fail by `action`. `part`: per cent of the call that is done before."""
        self.site, self.n, self.part, self.fired, self.action = site, n, part, False, action
        self.told = self.full = ""
        self.counts.clear()

    def disarm(self) -> bool:
        """Disarm it. Return whether the call has failed."""
        self.site, fired = "", self.fired
        return fired

    def reach(self, site: str, error: Exception, do_part: Callable[[int], str] | None = None) -> None:
        """Count a call, and fail if it is its turn. `do_part`: does these per cent, and says what it did."""
        self.switch()
        self.counts[site] += 1
        if site == self.site and not self.fired and self.counts[site] >= self.n and self.can_act():
            self.fired = True
            self.told = do_part(self.part) if do_part else ""
            self.action(error)

    def comes_late(self) -> bool:
        """Count a result of a job. Return whether a timer of the store must go off before it arrives."""
        self.counts["timeout"] += 1
        is_due = self.site == "timeout" and not self.fired and self.counts["timeout"] >= self.n
        self.fired |= is_due and self.action is fail
        return is_due and self.action is fail

    def can_act(self) -> bool:
        """Return whether the fault can be applied: a death cannot happen in a thread that the store began."""
        return self.action is fail or self.loop is None or get_ident() in self.loop.clock.threads

    def switch(self) -> None:
        if self.loop is not None and not self.is_locked:
            self.loop.switch()

    def is_own(self, path: Any) -> bool:
        try:
            return not self.is_ours and os.path.abspath(os.fsdecode(path)).startswith(self.folder)
        except TypeError:  # not a path
            return False

    def label(self, path: str) -> str:
        """Return the path of a file relative to the folder of its process."""
        return path[len(self.folder) + 1 :].partition(os.sep)[2]


def fail(error: Exception) -> None:
    error.add_note("made by umi_sim")
    raise error


def tell_time(connection: Any, seconds: Callable[[], float]) -> None:
    """Let SQL functions use the simulated time. The real functions compute, on a separate connection."""
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
    """Rows of an iterator, kept so that a repeated call of `executemany` gets them again."""

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
    """Make a call, and repeat it while another job holds the lock, for as long as the store would wait.

    A transaction that has already read fails at once, as in SQLite, since the others may wait for it. A
    script that has begun a transaction is not repeated.
    """
    if sites.loop is None or not sites.loop.flights or not connection.timeout_s > 0:
        return act()
    was_within = connection.in_transaction
    has_begun = was_within and connection.has_begun and word not in ENDING

    def may_wait() -> bool:
        return not has_begun and not (is_script and was_within != connection.in_transaction)

    return sites.loop.insist(act, connection.timeout_s, may_wait)


def failing_class(sites: Sites, real: type, broken: type[Exception], locked: type[Exception]) -> type:
    """Return a class of connections or cursors whose statements can fail, and never wait in SQLite itself.

    `broken`: the error of a failing statement. `locked`: the error of a failing COMMIT.
    """

    def statement(connection: Any, word: str, sql: Any) -> Any:
        """Return the statement to execute. Raises the error of the site if it is its turn to fail."""
        if word in ("PRAGMA", "ROLLBACK"):  # rollbacks never fail
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
    """Return a class of connections of sqlite3 that can fail, as can their cursors."""
    failing = partial(failing_class, sites, broken=sqlite3.OperationalError, locked=sqlite3.OperationalError)
    cursor_class = failing(sqlite3.Cursor)

    class Connection(sqlite3.Connection):
        timeout_s: float = TIMEOUT_SECONDS  # how long the store waits for a lock
        has_begun = False  # whether its transaction has read or written

        # `execute` makes no cursor here: the traceback of an error would keep it and its transaction alive.
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
                self.rollback()  # as in sqlite3
                raise
            return False

    return failing(Connection)


def apsw_class(sites: Sites, seconds: Callable[[], float], apsw: Any) -> type:
    """Return a class of connections of apsw that can fail: they execute everything by their cursors."""
    cursor_class = failing_class(sites, apsw.Cursor, broken=apsw.IOError, locked=apsw.BusyError)

    class ApswConnection(apsw.Connection):  # type: ignore[misc] # apsw is optional
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
    """Let SQLite fail until the block ends. `seconds`: the clock of SQL functions.

    SQLite itself never waits for a lock: the holder of the lock can only run once the call has returned.
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
            made.timeout_s = timeout_s  # type: ignore[attr-defined] # our class
        tell_time(made, seconds)
        return made

    changes: list[tuple[Any, str, Any]] = [
        (owner, "connect", new_connect) for owner in (sqlite3, sqlite3.dbapi2)
    ]
    if apsw := sys.modules.get("apsw"):
        changes.append((apsw, "Connection", apsw_class(sites, seconds, apsw)))
    return clocks.patch_names(changes)


# Requests over a network. A request that fails was not sent; if a response fails, the request was done, and
# its response is lost. The adapter provides the server, for example a fake redis.

Errors = Callable[[str], Exception]


def failing(sites: Any, real: Any, unsent: Errors, lost: Errors) -> Any:
    """Return a method that can fail before (`unsent`) and after (`lost`) it calls the real one."""

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        sites.reach("request", unsent("connection refused"))
        answer = real(self, *args, **kwargs)
        try:
            sites.reach("response", lost("timed out"))
        except Exception:
            if hasattr(answer, "aclose"):  # a response of httpx, with a connection that the caller never gets
                answer.close()
            raise
        return answer

    return ask


def failing_later(sites: Any, real: Any, unsent: Errors, lost: Errors) -> Any:
    """Return the same as `failing` for an async method."""

    async def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        sites.reach("request", unsent("connection refused"))
        before = sites.loop.callback_count if sites.latency_ms else -1
        answer = await real(self, *args, **kwargs)
        if before >= 0 and before == sites.loop.callback_count:
            await asyncio.sleep(sites.latency_ms / 1000)  # so that a cancel can come before the reply
        try:
            sites.reach("response", lost("timed out"))
        except Exception:
            if hasattr(answer, "aclose"):
                await answer.aclose()
            raise
        return answer

    return ask


def places() -> Iterator[tuple[Any, str, Any, Errors, Errors]]:
    """Yield the methods of loaded clients that send requests, with the errors of their packages."""
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
    """Let requests of httpx and redis fail until the block ends."""
    return clocks.patch_names(
        (owner, name, make(sites, getattr(owner, name), unsent, lost))
        for owner, name, make, unsent, lost in places()
    )

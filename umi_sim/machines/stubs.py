"""How the fence sees what a step calls: a hook where the interpreter audits, and stubs where it does not.

The interpreter tells of files, sockets, processes and threads that are opened. The clock, chance and the
environment are functions of a few modules: while runs are on, stubs stand in their place, and do what the
functions do unless a step is on the stack. A name that was imported by itself (`from time import time`) is
replaced in the modules that the fence says.
"""

import _thread
import datetime
import os
import pathlib
import random
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from umi_sim.kernel.dates import class_of_date
from umi_sim.machines.fence import ARMED, WATCH, Fence, Reach, is_of, must_stay_inside, report_reach
from umi_sim.record import rules

# What the interpreter audits.

AUDITED: Final[dict[str, Reach]] = {
    "open": "files", "os": "files", "shutil": "files", "tempfile": "files", "glob": "files", "mmap": "files",
    "fcntl": "files", "sqlite3": "files", "builtins.input": "files", "pathlib": "files",
    "socket": "network",
    "subprocess": "threads", "pty": "threads", "os.fork": "threads",
    "os.forkpty": "threads", "os.exec": "threads", "os.posix_spawn": "threads", "os.spawn": "threads",
    "os.system": "threads", "os.kill": "threads", "os.putenv": "environment", "os.unsetenv": "environment",
}  # fmt: skip
"""By the name of the event, or its first part."""


def audit(event: str, args: object) -> None:
    """Look at an event of the interpreter; nearly all of them come outside steps."""
    # An audit hook runs at each open and import of the process:
    # this one comparison is all that it costs outside.
    if WATCH.fence is not None:
        reach = AUDITED.get(event) or AUDITED.get(event.partition(".")[0])
        if reach is not None:
            report_reach(reach, event)


# What it does not.

CLOCKS: Final = (
    "time", "monotonic", "perf_counter", "process_time", "thread_time", "time_ns", "monotonic_ns",
    "perf_counter_ns", "process_time_ns", "thread_time_ns", "clock_gettime", "clock_gettime_ns", "sleep",
)  # fmt: skip
TIMES: Final = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
"""Functions of `time` that read the clock unless they are given so many arguments."""
OF_THE_SYSTEM: Final[dict[Reach, tuple[str, ...]]] = {
    "chance": ("urandom", "getrandom"),
    "clock": ("times",),
    "files": ("getcwd",),
    "environment": ("getpid", "getppid", "cpu_count", "uname", "getlogin", "getloadavg"),
}
STARTS: Final = ("start_new_thread", "start_joinable_thread", "_start_new_thread", "_start_joinable_thread")
OF_PATHS: Final = ("exists", "lexists", "isfile", "isdir", "getsize", "getmtime")


class Stub(NamedTuple):
    """A function, or a class, and what stands in its place while runs are on."""

    owner: Any
    name: str
    original: Any
    instead: Any


def stubs() -> Iterator[Stub]:
    for name in CLOCKS:
        yield from stub(time, name, "clock")
    for name, count in TIMES.items():
        yield from stub(time, name, "clock", count)
    for reach, names in OF_THE_SYSTEM.items():
        for name in names:
            yield from stub(os, name, reach)
    for name in OF_PATHS:
        yield from stub(os.path, name, "files")
    yield from stub(pathlib.Path, "stat", "files")
    for module in (_thread, threading):
        for name in STARTS:
            yield from stub(module, name, "threads")
    for name in ("__getitem__", "__iter__"):
        yield from stub(type(os.environ), name, "environment")
    for name, value in sorted(vars(random).items()):
        # random.random and its like are methods of one hidden
        # generator; a generator that code seeds itself is no chance.
        if isinstance(getattr(value, "__self__", None), random.Random):  # of the one that all share
            yield from stub(random, name, "chance")
    yield from stub(random, "_urandom", "chance")
    yield from stub(random.Random, "seed", "chance", 2)


def stub(owner: Any, name: str, reach: Reach, harmless_count: int = sys.maxsize) -> Iterator[Stub]:
    """Yield the stub of a function, if this machine has it. It is harmless with so many arguments."""
    original, what = getattr(owner, name, None), f"{owner.__name__}.{name}"
    if original is None:
        return

    def instead(*args: Any, **kwargs: Any) -> Any:
        # localtime(0) reads no clock, localtime() and localtime(None) do.
        if WATCH.fence is not None and (len(args) < harmless_count or args[harmless_count - 1] is None):
            report_reach(reach, what)
        return original(*args, **kwargs)

    yield Stub(owner, name, original, instead)


NOW: Final = ("now", "utcnow", "today")


def teller(real: Any, name: str) -> Any:
    def tell(cls: type, *args: Any, **kwargs: Any) -> Any:
        report_reach("clock", f"datetime.{real.__name__}.{name}")
        return getattr(real, name)(*args, **kwargs)

    return tell


STUBS: Final = tuple(stubs())


# While runs are on.


@contextmanager
def arm_fence(fence: Fence, off: Collection[str] = ()) -> Iterator[None]:
    """Until the block ends, what a step calls is seen, if its rule is not among those that are off."""
    if not fence.reaches or rules.STEP_STAYS_INSIDE.name in off:
        yield
        return
    hook()
    must_stay_inside()  # judged from now on; to count it at each step would be dear
    ARMED.append(fence)
    # Runs may be nested (an equivalence lives another one):
    # the first puts the stubs in place, the last removes them.
    places = (*(STUBS if len(ARMED) == 1 else ()), *find_renamed(tuple(fence.renames), len(sys.modules)))
    try:
        for owner, name, original, instead in places:
            put(owner, name, original, instead)
        yield
    finally:
        ARMED.remove(fence)
        for owner, name, original, instead in (*places, *(() if ARMED else STUBS)):
            put(owner, name, instead, original)


def hook() -> None:
    """Install once in a process, since it cannot be removed again."""
    if not HOOKED:
        HOOKED.append(audit)
        sys.addaudithook(audit)


HOOKED: Final[list[Callable[..., None]]] = []


def put(owner: Any, name: str, old: Any, new: Any) -> None:
    """Leave alone what other code has put there meanwhile."""
    if getattr(owner, name, None) is old:
        setattr(owner, name, new)


NAMED: Final = (BuiltinFunctionType, FunctionType, MethodType, ModuleType, type)


@lru_cache(maxsize=1)
def find_renamed(packages: tuple[str, ...], loaded_count: int) -> tuple[Stub, ...]:
    """The names of these modules that stand for something outside; the same until more are loaded."""
    instead = list_replacements()
    return tuple(
        Stub(module, name, value, instead[value])
        for loaded, module in tuple(sys.modules.items())
        if is_of(loaded, packages)
        for name, value in vars(module).items()
        # Types first: `in` would hash any value of a module, and some cannot be hashed.
        if type(value) in NAMED and value in instead
    )


def list_replacements() -> dict[Any, Any]:
    """By what may have been imported by its name: what stands for it."""
    dates = {
        real: class_of_date(real, {name: teller(real, name) for name in NOW if hasattr(real, name)})
        for real in (datetime.datetime, datetime.date)
    }
    module = ModuleType("datetime")
    vars(module).update(vars(datetime))
    vars(module).update({real.__name__: instead for real, instead in dates.items()})
    functions = {each.original: each.instead for each in STUBS if isinstance(each.owner, ModuleType)}
    return {**functions, **dates, datetime: module}

"""The fence: clock, chance, files, network, threads and environment are out of reach while a machine steps.

Law 1. What is called is refused before it happens, and the step is a finding even if it caught the refusal.
Law 2. The innermost frame that is not of the standard library is blamed, if the fence blames its package.
       What the interpreter runs between two lines of a step (imports, finalizers, debuggers) is excused, and
       so is the standard library where it reads a clock for its own use (logging, asyncio).
Law 3. Other threads, and everything outside steps, reach what they always did. When the last run is over,
       all functions are those that they were.

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
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Literal, NamedTuple

from umi_core.data import Data, Owner
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect
from umi_sim.kernel.dates import class_of_date
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

Reach = Literal["clock", "chance", "files", "network", "threads", "environment"]

TOLD: Final[dict[Reach, str]] = {
    "clock": "read the clock",
    "chance": "drew chance",
    "files": "touched files",
    "network": "reached for the network",
    "threads": "started a thread or a process",
    "environment": "read its environment",
}
EVERYTHING: Final[Collection[Reach]] = tuple(TOLD)

Stepping = Callable[[int, Value], Sequence[Effect]]


class Fence(Data):
    """Everything that a step must not reach, and the code whose reaching for it is a finding.

    `blames`: packages or modules; none: all code but the standard library. `renames`: those in which names
    that were imported one by one (`from time import time`) are replaced too.
    """

    reaches: Collection[Reach] = ()
    blames: Collection[str] = ()
    renames: Collection[str] = ()


class FenceWatch(Owner):
    """The fence of the step that runs now, and what a step has reached for, with its thread."""

    fence: Fence | None = None
    breach: tuple[int, str] | None = None


WATCH: Final = FenceWatch()
ARMED: Final[list[Fence]] = []  # of the runs that are on


def step(of: Stepping, now_ms: int, value: Value, fence: Fence) -> Sequence[Effect]:
    """Run one step of a machine inside the fence. Raises Broken if it reaches for what is outside."""
    WATCH.fence = fence
    try:
        return of(now_ms, value)
    # Here, not in an `except`: code under test that catches the
    # refusal and goes on is a finding all the same (law 1).
    finally:
        WATCH.fence = None
        if WATCH.breach is not None:
            must_stay_inside()


def must_stay_inside() -> None:
    """Raises Broken if a step of this thread has reached outside."""
    breach = WATCH.breach
    # Two runs in two threads share WATCH: each takes only what its own step did.
    is_own = breach is not None and breach[0] == _thread.get_ident()
    if is_own:
        WATCH.breach = None
    reach = breach[1] if breach is not None else ""
    demand(not is_own, rules.STEP_STAYS_INSIDE, reach)


def report_reach(reach: Reach, what: str) -> None:
    """Note a forbidden call. Raises Broken if it happened in a step, by code that the fence blames."""
    fence = WATCH.fence
    if fence is None or fence not in ARMED or reach not in fence.reaches:
        return
    # Frame 0 is this function, 1 the stub or the audit hook that called it, 2 the code that made the call.
    culprit = find_blamed(sys._getframe(2), reach, fence.blames)
    if culprit is not None:
        message = f"{place(culprit)} {TOLD[reach]}: {what}"
        # The first one is told: what follows may only be the handling of the refusal.
        WATCH.breach = WATCH.breach or (_thread.get_ident(), message)
        raise Broken(rules.STEP_STAYS_INSIDE, message)


# The caller to blame.

IMPORTING: Final = ("_frozen_importlib", "_frozen_importlib_external", "importlib")
BETWEEN: Final = {*IMPORTING, "bdb", "linecache", "pdb", "weakref"}
"""What runs between two lines of a step without its doing."""
OWN_USE: Final = set("asyncio concurrent logging selectors subprocess tempfile threading warnings".split())
"""Functions that read the clock, or draw a name, and tell their caller nothing of it."""


def find_blamed(frame: FrameType | None, reach: Reach, blames: Collection[str]) -> FrameType | None:
    """Return the frame that made the call; None if the fence does not blame it."""
    excused = BETWEEN | OWN_USE if reach in ("clock", "chance") else BETWEEN
    culprit: FrameType | None = None
    # From the call outwards, to the step. Without `step` on the stack it is the call of another thread.
    while frame is not None and frame.f_code is not step.__code__:
        module = module_of(frame)
        top = module.partition(".")[0]
        # An import in the middle of a step reads files, a log
        # line reads the clock: neither tells the step anything.
        if top in excused:
            return None
        if culprit is None and top not in sys.stdlib_module_names:
            culprit = frame
        frame = frame.f_back
    if frame is None or culprit is None:  # of another thread, or not blamed
        return None
    return culprit if not blames or is_of(module_of(culprit), blames) else None


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def is_of(module: str, packages: Collection[str]) -> bool:
    # With the dot, so that `umi_core_extra` is not of `umi_core`.
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def place(frame: FrameType) -> str:
    """`umi_core/memory.py line 40 (Memory.step)`: the same on every machine."""
    path = module_of(frame).replace(".", "/") + ("/__init__" if "__path__" in frame.f_globals else "")
    return f"{path}.py line {frame.f_lineno} ({frame.f_code.co_qualname})"


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


def report_reads(real: Any, name: str) -> Any:
    def read(cls: type, *args: Any, **kwargs: Any) -> Any:
        report_reach("clock", f"datetime.{real.__name__}.{name}")
        return getattr(real, name)(*args, **kwargs)

    return read


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
        real: class_of_date(real, {name: report_reads(real, name) for name in NOW if hasattr(real, name)})
        for real in (datetime.datetime, datetime.date)
    }
    module = ModuleType("datetime")
    vars(module).update(vars(datetime))
    vars(module).update({real.__name__: instead for real, instead in dates.items()})
    functions = {each.original: each.instead for each in STUBS if isinstance(each.owner, ModuleType)}
    return {**functions, **dates, datetime: module}

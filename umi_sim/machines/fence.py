"""The fence: clock, chance, files, network, threads and environment are out of reach while a machine steps.

Law 1. A forbidden call is refused before it takes effect, and is a finding even if the step catches the
       refusal.
Law 2. The innermost frame outside the standard library is blamed, if the fence blames its package. Code that
       the interpreter runs between two lines of a step (imports, finalizers, debuggers) is excused, and so is
       the standard library when it reads a clock for its own use (logging, asyncio).
Law 3. Other threads, and all code outside steps, are not restricted. After the last run, all functions are
       the original ones.

Audit events of the interpreter report files, sockets, processes and threads. The clock, chance and the
environment are functions of a few modules: during runs, stubs replace them, which behave like the functions
unless a step is on the stack. Names that were imported one by one (`from time import time`) are replaced in
the modules that the fence gives.
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
    """Everything that a step must not reach, and the code whose calls are findings.

    `blames`: packages or modules; none: all code except the standard library. `renames`: modules in which
    names that were imported one by one (`from time import time`) are replaced, too.
    """

    reaches: Collection[Reach] = ()
    blames: Collection[str] = ()
    renames: Collection[str] = ()


class FenceWatch(Owner):
    """The fence of the running step, and the first forbidden call of a step: its thread, and a message."""

    fence: Fence | None = None
    breach: tuple[int, str] | None = None


WATCH: Final = FenceWatch()
ARMED: Final[list[Fence]] = []  # fences of the current runs


def step(of: Stepping, now_ms: int, value: Value, fence: Fence) -> Sequence[Effect]:
    """Run one step of a machine inside the fence. Raises Broken if the step makes a forbidden call."""
    WATCH.fence = fence
    try:
        return of(now_ms, value)
    # Not in an `except`: code under test that catches the refusal is a finding as well (law 1).
    finally:
        WATCH.fence = None
        if WATCH.breach is not None:
            must_stay_inside()


def must_stay_inside() -> None:
    """Raises Broken if a step of this thread has made a forbidden call."""
    breach = WATCH.breach
    # Runs in several threads share WATCH: each looks only at the breach of its own thread.
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
        # Only the first call is reported: later ones may come from handling the refusal.
        WATCH.breach = WATCH.breach or (_thread.get_ident(), message)
        raise Broken(rules.STEP_STAYS_INSIDE, message)


# Finding the caller to blame.

IMPORTING: Final = ("_frozen_importlib", "_frozen_importlib_external", "importlib")
BETWEEN: Final = {*IMPORTING, "bdb", "linecache", "pdb", "weakref"}
"""Modules that the interpreter runs between two lines of a step."""
OWN_USE: Final = set("asyncio concurrent logging selectors subprocess tempfile threading warnings".split())
"""Modules that read the clock or draw names for their own use, and do not pass them to their caller."""


def find_blamed(frame: FrameType | None, reach: Reach, blames: Collection[str]) -> FrameType | None:
    """Return the frame that made the call; None if the fence does not blame it."""
    excused = BETWEEN | OWN_USE if reach in ("clock", "chance") else BETWEEN
    culprit: FrameType | None = None
    # From the call outwards to `step`. If `step` is not on the stack, another thread made the call.
    while frame is not None and frame.f_code is not step.__code__:
        module = module_of(frame)
        top = module.partition(".")[0]
        # An import reads files and a log line reads the clock, but the step learns nothing from them.
        if top in excused:
            return None
        if culprit is None and top not in sys.stdlib_module_names:
            culprit = frame
        frame = frame.f_back
    if frame is None or culprit is None:  # in another thread, or only in the standard library
        return None
    return culprit if not blames or is_of(module_of(culprit), blames) else None


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def is_of(module: str, packages: Collection[str]) -> bool:
    # With the dot, so that `umi_core_extra` is not taken for a part of `umi_core`.
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def place(frame: FrameType) -> str:
    """Return a frame as `umi_core/memory.py line 40 (Memory.step)`, the same on every machine."""
    path = module_of(frame).replace(".", "/") + ("/__init__" if "__path__" in frame.f_globals else "")
    return f"{path}.py line {frame.f_lineno} ({frame.f_code.co_qualname})"


# Events that the interpreter audits.

AUDITED: Final[dict[str, Reach]] = {
    "open": "files", "os": "files", "shutil": "files", "tempfile": "files", "glob": "files", "mmap": "files",
    "fcntl": "files", "sqlite3": "files", "builtins.input": "files", "pathlib": "files",
    "socket": "network",
    "subprocess": "threads", "pty": "threads", "os.fork": "threads",
    "os.forkpty": "threads", "os.exec": "threads", "os.posix_spawn": "threads", "os.spawn": "threads",
    "os.system": "threads", "os.kill": "threads", "os.putenv": "environment", "os.unsetenv": "environment",
}  # fmt: skip
"""By the name of the event, or the first part of the name."""


def audit(event: str, args: object) -> None:
    """Report an audit event of the interpreter if a step caused it; nearly all come outside steps."""
    # The hook runs at each open and import of the process; outside steps it costs only this comparison.
    if WATCH.fence is not None:
        reach = AUDITED.get(event) or AUDITED.get(event.partition(".")[0])
        if reach is not None:
            report_reach(reach, event)


# Functions that it does not audit.

CLOCKS: Final = (
    "time", "monotonic", "perf_counter", "process_time", "thread_time", "time_ns", "monotonic_ns",
    "perf_counter_ns", "process_time_ns", "thread_time_ns", "clock_gettime", "clock_gettime_ns", "sleep",
)  # fmt: skip
TIMES: Final = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
"""Functions of `time` that read the clock unless they get at least that many arguments."""
OF_THE_SYSTEM: Final[dict[Reach, tuple[str, ...]]] = {
    "chance": ("urandom", "getrandom"),
    "clock": ("times",),
    "files": ("getcwd",),
    "environment": ("getpid", "getppid", "cpu_count", "uname", "getlogin", "getloadavg"),
}
STARTS: Final = ("start_new_thread", "start_joinable_thread", "_start_new_thread", "_start_joinable_thread")
OF_PATHS: Final = ("exists", "lexists", "isfile", "isdir", "getsize", "getmtime")


class Stub(NamedTuple):
    """A function or class, and its replacement during runs."""

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
        # random.random and its like are methods of one shared generator. Generators that code seeds itself
        # are deterministic, so they are allowed.
        if isinstance(getattr(value, "__self__", None), random.Random):
            yield from stub(random, name, "chance")
    yield from stub(random, "_urandom", "chance")
    yield from stub(random.Random, "seed", "chance", 2)


def stub(owner: Any, name: str, reach: Reach, harmless_count: int = sys.maxsize) -> Iterator[Stub]:
    """Yield the stub of a function if Python has it here; calls with so many arguments are harmless."""
    original, what = getattr(owner, name, None), f"{owner.__name__}.{name}"
    if original is None:
        return

    def instead(*args: Any, **kwargs: Any) -> Any:
        # localtime(0) reads no clock; localtime() and localtime(None) do.
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


# Installing the fence for a run.


@contextmanager
def arm_fence(fence: Fence, off: Collection[str] = ()) -> Iterator[None]:
    """Watch the calls of steps until the block ends, unless the rule is off."""
    if not fence.reaches or rules.STEP_STAYS_INSIDE.name in off:
        yield
        return
    hook()
    must_stay_inside()  # counts the rule once: counting at each step would be slow
    ARMED.append(fence)
    # Runs may be nested, as in an equivalence: the first installs the stubs, the last removes them.
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
    """Install the audit hook once in a process, since it cannot be removed."""
    if not HOOKED:
        HOOKED.append(audit)
        sys.addaudithook(audit)


HOOKED: Final[list[Callable[..., None]]] = []


def put(owner: Any, name: str, old: Any, new: Any) -> None:
    """Replace an attribute, unless other code has replaced it meanwhile."""
    if getattr(owner, name, None) is old:
        setattr(owner, name, new)


NAMED: Final = (BuiltinFunctionType, FunctionType, MethodType, ModuleType, type)


@lru_cache(maxsize=1)
def find_renamed(packages: tuple[str, ...], loaded_count: int) -> tuple[Stub, ...]:
    """Return stubs for names that these packages imported; cached until more modules are loaded."""
    instead = list_replacements()
    return tuple(
        Stub(module, name, value, instead[value])
        for loaded, module in tuple(sys.modules.items())
        if is_of(loaded, packages)
        for name, value in vars(module).items()
        # Types first: `in` would hash every value of a module, and some cannot be hashed.
        if type(value) in NAMED and value in instead
    )


def list_replacements() -> dict[Any, Any]:
    """Return the replacement of each function, class or module that may have been imported by name."""
    dates = {
        real: class_of_date(real, {name: report_reads(real, name) for name in NOW if hasattr(real, name)})
        for real in (datetime.datetime, datetime.date)
    }
    module = ModuleType("datetime")
    vars(module).update(vars(datetime))
    vars(module).update({real.__name__: instead for real, instead in dates.items()})
    functions = {each.original: each.instead for each in STUBS if isinstance(each.owner, ModuleType)}
    return {**functions, **dates, datetime: module}

"""Threads of a run: those of jobs, of which one at a time goes on, and those that a store begins itself.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. A job runs in a thread of its executor, and goes on only while the loop waits for it. What happens
       follows from the choices of the loop, whatever the system schedules.
Law 3. What a thread does that the store itself began follows from no seed.
"""

import ctypes
import queue
import sys
import threading
import time
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import BuiltinMethodType, ModuleType
from typing import Any

from umi_sim.targets import clocks

SILENT_SECONDS_MAX = 10  # of real time, in which a job neither ends, nor pauses, nor computes
LOOK_SECONDS = 1 / 10  # after which the loop looks at what has happened
COMPUTING_SHARE = 2 / 100  # of that time, on a machine that has much else to do
ENDING_SECONDS_MAX = 1  # of real time, for what is abandoned
REAL_SECONDS = 1 / 20  # in which a thread that the store has begun may release a lock
MOMENT_SECONDS = 1 / 1_000
REAL_SLEEP, process_time = time.sleep, time.process_time
ENDING_TRIES = 100  # of a job that goes on whatever is raised in it
PACKAGES = "site-packages", "dist-packages"
KINDS = type(allocate_lock()), type(threading.RLock()), queue.SimpleQueue
DEPTH_MAX = 4  # from a module to its class, its object there, a queue of that, and a condition of this
HOLDERS = threading.Condition, threading.Event, threading.Semaphore, threading.Barrier, queue.Queue


class Abandoned(BaseException):
    """The process is gone in which this job ran; what still runs of it is of no use."""


class JobThread:
    """A thread that runs jobs, one after the other. `function`: the one that is in flight."""

    def __init__(self, threads: set[int]) -> None:
        self.go, self.back, self.over = allocate_lock(), allocate_lock(), allocate_lock()
        for lock in (self.go, self.back, self.over):
            lock.acquire()
        self.function: Callable[[], Any] | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_free: Callable[[], bool] | None = None  # what it waits for
        self.until: float | None = None  # for how long at most
        self.is_late = self.is_abandoned = False
        self.point_count = 0
        self.ident = start_new_thread(self.live, (threads,))

    # In its own thread.

    def live(self, threads: set[int]) -> None:
        threads.add(get_ident())
        sys.settrace(threading.gettrace())  # None: none
        with suppress(Abandoned):  # it comes from outside, at any time
            while self.take_turn():
                try:
                    self.result = self.function()  # type: ignore[misc] # it has one, as it goes on
                except BaseException as error:
                    self.error = error
                self.function = None
                self.back.release()
        threads.discard(get_ident())
        self.over.release()

    def take_turn(self) -> bool:
        self.go.acquire()
        return self.function is not None

    def pause(self, is_free: Callable[[], bool] | None = None, until: float | None = None) -> bool:
        """Let others go on; return False if it waited for too long. Raises Abandoned."""
        self.is_free, self.until, self.is_late = is_free, until, False
        self.back.release()
        self.go.acquire()
        self.is_free = self.until = None
        if self.is_abandoned:
            raise Abandoned
        return not self.is_late

    # In the thread of the loop.

    def can_go_on(self) -> bool:
        return self.is_free is None or self.is_free()

    def go_on(self) -> bool:
        """Wait until the job ends or pauses; return whether it ended. Raises TimeoutError."""
        self.go.release()
        silent_count, before_s = 0, process_time()
        try:
            while not self.back.acquire(timeout=LOOK_SECONDS):  # for as long as the job computes
                computed_s, before_s = process_time() - before_s, process_time()
                silent_count = 0 if computed_s > COMPUTING_SHARE * LOOK_SECONDS else silent_count + 1
                if silent_count * LOOK_SECONDS >= SILENT_SECONDS_MAX:
                    raise TimeoutError
        except BaseException as error:  # what interrupts the loop ends the job too
            if not isinstance(error, TimeoutError):  # else it does not compute, and would not see it
                thread, raised = ctypes.c_ulong(self.ident), ctypes.py_object(Abandoned)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)  # as soon as it runs Python
            self.abandon()
            raise
        return self.function is None

    def abandon(self) -> None:
        """End the job where it is; it may still close what it has opened."""
        self.is_abandoned = True
        for _ in range(ENDING_TRIES):
            if self.function is None:
                break
            if self.go.locked():
                self.go.release()
            if not self.back.acquire(timeout=ENDING_SECONDS_MAX):
                break
        self.error = self.result = None

    def end(self) -> None:
        if self.function is None:
            if self.go.locked():
                self.go.release()
            self.over.acquire(timeout=ENDING_SECONDS_MAX)


def trace_lines(function: Callable[[], Any], reach: Callable[[], None]) -> Callable[[], Any]:
    """Return the same function, which reaches a point before each line of the code under test."""

    def trace_line(frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            reach()
        return trace_line

    def trace_call(frame: Any, event: str, arg: Any) -> Any:
        module = str(frame.f_globals.get("__name__"))
        is_own = module.partition(".")[0] not in clocks.NOT_THEIRS
        is_own = is_own and not any(each in frame.f_code.co_filename for each in PACKAGES)
        return trace_line if is_own and frame.f_code.co_name != "<module>" else None

    def call() -> Any:
        before = sys.gettrace()
        sys.settrace(trace_call)
        try:
            return function()
        finally:
            sys.settrace(before)

    return call


class Lock:
    """A lock in the place of one of `threading`: where it would wait, others of the run go on.

    RLock, Condition, Event, Semaphore and Queue are made of it. Outside of a run, and in threads of the
    store itself, it is like any other.
    """

    is_point = True  # whether a job may pause before it

    def __init__(self) -> None:
        self.real = allocate_lock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        loop = running[-1] if running else None
        if loop is None or not blocking or get_ident() not in loop.clock.threads:
            return self.real.acquire(blocking, timeout)
        if self.is_point:
            loop.switch()
        if self.real.acquire(False) or (find_own_threads(loop) and self.real.acquire(True, REAL_SECONDS)):
            return True
        until = None if timeout < 0 else loop.time() + timeout
        while not self.real.acquire(False):
            if not loop.wait(lambda: not self.real.locked(), until):
                return False
        return True

    def release(self) -> None:
        self.real.release()

    def is_locked(self) -> bool:
        return self.real.locked()

    locked = is_locked

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.real.release()

    def _at_fork_reinit(self) -> None:
        self.real = allocate_lock()


class QuietLock(Lock):
    """A lock within the future of a job: no other program has a point there."""

    is_point = False


running: list[Any] = []  # the loop of the run that goes on


@contextmanager
def install(loop: Any) -> Iterator[None]:
    """Until the block ends, locks that would wait let other jobs of this loop go on."""
    running.append(loop)
    try:
        with clocks.patch_names(substitutes(loop)):
            yield
    finally:
        running.remove(loop)


def substitutes(loop: Any) -> Iterator[tuple[Any, str, Any]]:
    ours = {threading.Lock: Lock, queue.SimpleQueue: queue._PySimpleQueue}  # type: ignore[attr-defined]
    real_start = threading.Thread.start

    def start(self: threading.Thread) -> Any:
        if get_ident() in loop.clock.threads or threading.current_thread() in loop.own_threads:
            loop.own_threads.append(self)
        return real_start(self)

    yield threading.Thread, "start", start  # every thread begins by this
    for name, value in {"Lock": Lock, "_allocate_lock": Lock, "_CRLock": None}.items():
        yield threading, name, value
    for owner, name in ((threading, "_time"), (queue, "time")):  # by which they count how long they wait
        yield owner, name, time.monotonic
    yield queue, "SimpleQueue", ours[queue.SimpleQueue]
    yield from clocks.find_uses(ours)
    made: dict[Any, Any] = {}
    for owner, name, real in find_locks(len(sys.modules)):
        lock = getattr(real, "__self__", real)  # a Condition has methods of its lock
        if vars(owner).get(name) is real and (own := made.setdefault(lock, make_own(lock))):
            yield owner, name, own if lock is real else getattr(own, real.__name__)


def make_own(real: Any) -> Any:
    """Return what stands for a lock or a queue in the run; None for a lock that another thread has."""
    if isinstance(real, KINDS[2]):
        own = queue._PySimpleQueue()  # type: ignore[attr-defined]
        for each in [real.get() for _ in range(real.qsize())]:
            real.put(each)
            own.put(each)
        return own
    if not real.acquire(blocking=False):
        return None
    real.release()
    return Lock() if isinstance(real, KINDS[0]) else threading.RLock()


@lru_cache(maxsize=1)
def find_locks(loaded_count: int) -> list[tuple[Any, str, Any]]:
    """Find the locks and queues that were made at import: in modules of others, their classes and objects.

    Also those within the attributes of such an object, and within a Condition, a Semaphore or a Queue there.
    """
    found = list[tuple[Any, str, Any]]()

    def look(owner: Any, depth: int = 0) -> None:
        for name, value in tuple(attributes_of(owner).items()):
            kind = type(value)  # and not `isinstance`: a proxy would load what it stands for
            try:  # some objects are not what they seem
                if issubclass(type(value.__self__) if kind is BuiltinMethodType else kind, KINDS):
                    found.append((owner, name, value))
                elif depth < DEPTH_MAX and is_owner(value, kind, owner):
                    look(value, depth + 1)
            except Exception:
                continue

    def is_owner(value: Any, kind: Any, owner: Any) -> bool:
        if issubclass(kind, type):
            return isinstance(owner, ModuleType) and is_theirs(value)
        return may_own(kind)

    def attributes_of(owner: Any) -> Any:
        is_plain = issubclass(type(owner), type | ModuleType)
        return vars(owner) if is_plain else object.__getattribute__(owner, "__dict__")

    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] not in clocks.NOT_THEIRS and issubclass(type(module), ModuleType):
            look(module)
    return found


def is_theirs(kind: Any) -> bool:
    return str(kind.__module__).partition(".")[0] not in clocks.NOT_THEIRS


@lru_cache(maxsize=100_000)
def may_own(kind: Any) -> bool:
    """Return whether objects of this class have attributes in which a lock may be."""
    is_plain = kind.__dictoffset__ != 0 and not issubclass(kind, ModuleType)
    return issubclass(kind, HOLDERS) or (is_plain and is_theirs(kind))


def find_own_threads(loop: Any) -> list[threading.Thread]:
    """Return the threads that the store has begun itself, and that have not ended."""
    return [each for each in threading.enumerate() if each in loop.own_threads]

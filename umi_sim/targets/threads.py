"""Threads of a run: those of jobs, of which one runs at a time, and those that a store starts itself.

Law 1. This file needs only the standard library: an exported script contains a copy of it.
Law 2. A job has a thread of its own, and runs only while the loop waits for it. So the loop decides the order
       of jobs, not the scheduler of the operating system.
Law 3. Threads that the store itself starts are not controlled; their timing follows from no seed.
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

SILENT_SECONDS_MAX = 10  # real time in which a job neither ends, pauses nor computes
LOOK_SECONDS = 1 / 10  # real time between two looks at a running job
COMPUTING_SHARE = 2 / 100  # of that time: a job with less is silent, even on a busy machine
ENDING_SECONDS_MAX = 1  # real time to wait for an abandoned job
REAL_SECONDS = 1 / 20  # real time to wait for a lock that a thread of the store may hold
MOMENT_SECONDS = 1 / 1_000
REAL_SLEEP, process_time = time.sleep, time.process_time
ENDING_TRIES = 100  # of ending a job that catches Abandoned
PACKAGES = "site-packages", "dist-packages"
KINDS = type(allocate_lock()), type(threading.RLock()), queue.SimpleQueue
DEPTH_MAX = 4  # module, class, object, queue, condition
HOLDERS = threading.Condition, threading.Event, threading.Semaphore, threading.Barrier, queue.Queue


class Abandoned(BaseException):
    """The process of this job has died. Raised in the job, to end it."""


class JobThread:
    """A thread that runs jobs one after the other. `function`: the current job."""

    def __init__(self, threads: set[int]) -> None:
        self.go, self.back, self.over = allocate_lock(), allocate_lock(), allocate_lock()
        for lock in (self.go, self.back, self.over):
            lock.acquire()
        self.function: Callable[[], Any] | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_free: Callable[[], bool] | None = None  # the condition that it waits for
        self.until: float | None = None  # the time at which it stops waiting, in seconds
        self.is_late = self.is_abandoned = False
        self.point_count = 0
        self.ident = start_new_thread(self.live, (threads,))

    # In its own thread.

    def live(self, threads: set[int]) -> None:
        threads.add(get_ident())
        sys.settrace(threading.gettrace())  # may be None
        with suppress(Abandoned):  # `go_on` may raise it here at any time
            while self.take_turn():
                try:
                    self.result = self.function()  # type: ignore[misc] # `take_turn` has checked
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
        """Give control to the loop. Return False if `until` came before `is_free`. Raises Abandoned."""
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
        """Run the job until it ends or pauses. Return whether it ended. Raises TimeoutError if it blocks."""
        self.go.release()
        silent_count, before_s = 0, process_time()
        try:
            while not self.back.acquire(timeout=LOOK_SECONDS):  # for as long as the job computes
                computed_s, before_s = process_time() - before_s, process_time()
                silent_count = 0 if computed_s > COMPUTING_SHARE * LOOK_SECONDS else silent_count + 1
                if silent_count * LOOK_SECONDS >= SILENT_SECONDS_MAX:
                    raise TimeoutError
        except BaseException as error:  # an interrupt of the loop ends the job too
            if not isinstance(error, TimeoutError):  # a blocked job would not notice it
                thread, raised = ctypes.c_ulong(self.ident), ctypes.py_object(Abandoned)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)  # once it runs Python
            self.abandon()
            raise
        return self.function is None

    def abandon(self) -> None:
        """Raise Abandoned in the job until it ends. Its `finally` blocks run."""
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
    """Return the function with a point, a call of `reach`, before each line of the code under test."""

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
    """A replacement of `threading.Lock`: instead of blocking it lets other jobs of the run continue.

    RLock, Condition, Event, Semaphore and Queue are built on it. Outside of a run, and in threads that the
    store has started, it is an ordinary lock.
    """

    is_point = True  # whether a job may pause before it takes the lock

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
    """The lock in the future of a job. Jobs do not pause at it, since it belongs to the simulator."""

    is_point = False


running: list[Any] = []  # loops of runs in progress; the current one is last


@contextmanager
def install(loop: Any) -> Iterator[None]:
    """Replace locks by those of Lock, which lets other jobs run instead of blocking."""
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

    yield threading.Thread, "start", start  # all threads start by this method
    for name, value in {"Lock": Lock, "_allocate_lock": Lock, "_CRLock": None}.items():
        yield threading, name, value
    for owner, name in ((threading, "_time"), (queue, "time")):  # their clocks for timeouts
        yield owner, name, time.monotonic
    yield queue, "SimpleQueue", ours[queue.SimpleQueue]
    yield from clocks.find_uses(ours)
    made: dict[Any, Any] = {}
    for owner, name, real in find_locks(len(sys.modules)):
        lock = getattr(real, "__self__", real)  # a Condition has bound methods of its lock
        if vars(owner).get(name) is real and (own := made.setdefault(lock, make_own(lock))):
            yield owner, name, own if lock is real else getattr(own, real.__name__)


def make_own(real: Any) -> Any:
    """Return the replacement of a lock or a queue; None for a lock that is held."""
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
    """Return the locks and queues made at import, in modules outside umi_sim, their classes and objects.

    They are searched in attributes of objects, and in each Condition, Semaphore and Queue, up to DEPTH_MAX.
    """
    found = list[tuple[Any, str, Any]]()

    def look(owner: Any, depth: int = 0) -> None:
        for name, value in tuple(attributes_of(owner).items()):
            kind = type(value)  # not `isinstance`, at which a lazy proxy would load its target
            try:  # attributes of odd objects may raise anything
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
    """Return whether objects of this class may have a lock in their attributes."""
    is_plain = kind.__dictoffset__ != 0 and not issubclass(kind, ModuleType)
    return issubclass(kind, HOLDERS) or (is_plain and is_theirs(kind))


def find_own_threads(loop: Any) -> list[threading.Thread]:
    """Return the threads that the store itself has started and that still run."""
    return [each for each in threading.enumerate() if each in loop.own_threads]

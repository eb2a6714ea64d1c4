"""A deterministic event loop: one thread runs at a time, without sockets, on a simulated clock.

Law 1. This file needs only the standard library: an exported script contains a copy of it.
Law 2. Callbacks run in the order in which they were scheduled, as asyncio promises. Only the choices that
       asyncio leaves open are made by `pick`: when a task starts, and which job of an executor starts first.
Law 3. A job that has started runs to its end, unless it waits, or `pauses` lets it pause at a point. A paused
       job continues when nothing else can run.
Law 4. A timer fires at its time, also while time passes between operations.
Law 5. A program that waits for something that nothing can wake raises Stuck at once; one that runs for ever
       raises it after STEPS_MAX steps.
"""

import asyncio
import heapq
import inspect
import os
import sys
import threading
import warnings
from _thread import get_ident
from asyncio import events
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar

from umi_sim.targets import clocks, threads
from umi_sim.targets.threads import JobThread

STEPS_MAX = 200_000
DELAY_MAX = 6  # the most steps until a task starts
FINISH_STEPS = 1_000
ADVANCE_STEPS_MAX = 20_000  # in one `advance`: a store may have a timer each millisecond
RESOLUTION_S = 1 / 1_000_000  # tolerance for sums of floats; the clock counts milliseconds
PATIENCE = 100  # steps after which a job runs even if callbacks are ready: a task may poll for its result
POINTS_MAX = 1_000  # points after which a job pauses in any case: it may poll for another job
PROCESSORS = 28  # the number of processors that runs see on every machine
THREADS_MAX = PROCESSORS + 4  # the default limit of an executor, as in Python
HERE_MAX = ThreadPoolExecutor()._max_workers  # the same on this machine
SQLITE_BUSY = 5
NEVER = 2**40  # seconds
MOMENTS_MAX = 10_000
OUTSIDE = """add_reader add_writer create_connection create_server subprocess_exec
subprocess_shell""".split()
T = TypeVar("T")


class Stuck(BaseException):
    """Nothing can run any more, or it runs for ever. Not an Exception, so that stores do not catch it."""


class OutOfReach(BaseException):
    """The program needs a feature that this loop does not have. Not an Exception, for the same reason."""


class Jobs:
    """The jobs of one executor, or of one connection of aiosqlite, on at most `limit` threads.

    `is_single`: each job is a single call of SQLite, without points at which it could pause.
    """

    def __init__(self, loop: "Loop", limit: int, is_single: bool = False) -> None:
        self.loop, self.limit, self.is_single = loop, limit, is_single
        self.waiting: deque[tuple[Any, Callable[[], Any]]] = deque()  # pairs of a future and a job
        self.idle: deque[JobThread] = deque()
        self.flying: dict[JobThread, Any] = {}  # by thread, the future of its job

    def put_nowait(self, job: Any) -> None:
        if isinstance(job, tuple):  # not the stop signal for the thread of aiosqlite 0.21
            self.waiting.append(job)

    @property
    def can_begin(self) -> bool:
        return bool(self.waiting) and len(self.flying) < self.limit

    def begin_one(self) -> None:
        at = self.loop.pick(min(len(self.waiting), self.limit - len(self.flying)))
        future, function = self.waiting[at]
        del self.waiting[at]
        if isinstance(future, Future) and not future.set_running_or_notify_cancel():
            return
        worker = self.idle.popleft() if self.idle else self.loop.make_worker()
        self.flying[worker] = future
        self.loop.begin(worker, self, function)

    def end(self, worker: JobThread) -> None:
        """Deliver the result of a job. Raises its error if that is no Exception."""
        future, error, result = self.flying.pop(worker), worker.error, worker.result
        worker.error = worker.result = None
        self.idle.append(worker)
        if error is not None and not isinstance(error, Exception):
            raise error
        if future is not None and not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


class Loop(asyncio.BaseEventLoop):
    """The event loop. `pick(n)` returns a number below n, where asyncio leaves an order open."""

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.clock, self.thread = clock, get_ident()
        self.ready: deque[asyncio.Handle] = vars(self)["_ready"]
        self.timers: list[asyncio.TimerHandle] = vars(self)["_scheduled"]
        self.jobs: dict[Any, Jobs] = {}  # by executor, or connection of aiosqlite
        self.pick: Callable[[int], int] = lambda n: 0
        self.turn = 0  # rotates between executors, so that none waits for ever
        self.job_count = 0  # jobs of executors so far
        self.has_points_in_lines = False  # whether jobs can pause at each line
        self.workers: list[JobThread] = []
        self.flights: dict[int, tuple[JobThread, Jobs]] = {}  # jobs that have started, by thread
        self.pauses: deque[int] = deque()  # points until a job pauses, then until the next pause, and so on
        self.delays: deque[int] = deque()  # jobs that end until a result is delivered late, and so on
        self.done: deque[tuple[JobThread, Jobs]] = deque()  # jobs whose results are not delivered yet
        self.pause_count = self.whole_count = 0  # pauses; jobs without a point while another waited
        self.paused_at: list[str] = []  # the lines of the store where jobs paused in the last item
        self.comes_late: Callable[[], bool] = lambda: False  # whether a result arrives after the next timer
        self.can_end_early = False  # whether a task may be cancelled while its job pauses
        self.progress = self.callback_count = 0
        self.passed_over = 0  # steps since a job last ran in which one could have run
        self.step_count = 0  # of the last `run`
        self.moment_count = 0  # waits in real time for threads of the store
        self.own_threads: list[threading.Thread] = []  # started by the store itself
        self.set_default_executor(ThreadPoolExecutor(THREADS_MAX))

    # The interface of an asyncio loop.

    def time(self) -> float:
        return float(self.clock.seconds())

    def _write_to_self(self) -> None:
        """Do nothing: no thread sleeps in a selector that has to be woken."""

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def add_signal_handler(self, *args: Any) -> None:  # type: ignore[override] # ignores its arguments
        """Do nothing: a run gets no signals."""

    def remove_signal_handler(self, sig: int) -> bool:
        return True

    def call_exception_handler(self, context: Any) -> None:
        """Ignore errors of tasks that nothing awaits; asyncio would only log them."""

    # Running.

    def run_until_complete(self, future: Any) -> Any:
        task = asyncio.ensure_future(future, loop=self)
        self.run([task])
        return task.result()

    def run(self, tasks: Sequence[Any], steps_max: int = STEPS_MAX) -> bool:
        """Run until all tasks are done, or for `steps_max` steps; return whether all are. Raises Stuck."""
        self.can_end_early = steps_max < STEPS_MAX
        with self.running():
            for self.step_count in range(steps_max):
                if all(task.done() for task in tasks):
                    return True
                self.step()
                self.clock.poll()
        if steps_max == STEPS_MAX:
            raise Stuck(f"goes on for ever: {STEPS_MAX} steps")
        return all(task.done() for task in tasks)

    def settle(self, steps_max: int) -> None:
        """Run until all that is left waits for time to pass, or for `steps_max` steps."""
        with self.running():
            for _ in range(steps_max):
                if self.is_idle():
                    return
                self.step()

    def is_idle(self) -> bool:
        """Return whether nothing can run until time passes."""
        self.wake_due()
        return not (self.ready or self.done) and self.next_jobs() is None and self.next_able() is None

    def advance(self, ms: int) -> None:
        """Let this much time pass. Timers that are due meanwhile fire at their time."""
        until_ms = self.clock.now_ms + ms
        with self.running():
            for _ in range(ADVANCE_STEPS_MAX):
                if self.is_idle() and self.next_time() > until_ms / 1000 + RESOLUTION_S:
                    break
                self.step()
        self.clock.now_ms = max(self.clock.now_ms, until_ms)

    def abandon(self) -> None:
        """Drop all callbacks, timers and jobs, as the death of the process does."""
        coroutines = [task.get_coro() for task in asyncio.all_tasks(self)]
        # Python warns when a coroutine is destroyed before it has started. Close those of tasks, and ignore
        # the warnings about coroutines that are their arguments.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for coroutine in filter(inspect.iscoroutine, coroutines):
                if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                    coroutine.close()
        self.ready.clear()
        self.timers.clear()
        for jobs in self.jobs.values():
            jobs.waiting.clear()
        self.abandon_flights()

    def finish_jobs(self) -> None:
        """Run all jobs to their end, as a program does before it exits."""
        with self.running():
            while self.run_job() or self.wake_sleeper(NEVER):
                pass

    def abandon_flights(self) -> None:
        for worker, jobs in list(self.flights.values()):
            worker.abandon()
            del self.flights[worker.ident], jobs.flying[worker]
        for worker, jobs in self.done:
            del jobs.flying[worker]
        self.done.clear()

    @contextmanager
    def running(self) -> Iterator[None]:
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            yield
        finally:
            events._set_running_loop(before)

    def finish(self) -> None:
        """Cancel all tasks, end all jobs and threads, and close the loop."""
        tasks = asyncio.all_tasks(self)
        for task in tasks:
            task.cancel()
        with suppress(Stuck):
            self.run(list(tasks), FINISH_STEPS)
        self.abandon_flights()
        for worker in self.workers:
            worker.end()
        self.close()

    def wake_due(self) -> None:
        while self.timers and self.timers[0].when() <= self.time() + RESOLUTION_S:
            self.ready.append(heapq.heappop(self.timers))

    def next_time(self) -> float:
        """Return the time at which the next timer, or the timeout of the next waiting job, is due."""
        times = [worker.until for worker, _ in self.flights.values() if worker.until is not None]
        return min([*times, *(timer.when() for timer in self.timers[:1])], default=NEVER)

    def step(self) -> None:
        self.wake_due()
        able = self.next_able() if self.flights else None
        busy = [jobs for jobs in self.jobs.values() if jobs.can_begin]
        has_waited = self.passed_over >= PATIENCE
        self.passed_over += able is not None or bool(busy)
        if able is not None and (has_waited or not (self.ready or busy)):
            self.passed_over = 0
            self.resume(able)
        elif busy and (has_waited or not self.ready or self.pick(2)):
            if able is None:
                self.passed_over = 0
            self.turn += 1
            busy[(self.pick(len(busy)) + self.turn) % len(busy)].begin_one()
        elif self.ready:
            self.progress += 1
            handle = self.ready.popleft()
            if not handle.cancelled():
                self.callback_count += 1
                with suppress(SystemExit):  # its task has it as its error
                    handle._run()
        elif self.done:
            self.end_first()
        elif self.wake_sleeper(self.timers[0].when() if self.timers else NEVER):
            pass
        elif self.timers:
            self.fire_timer()
        else:
            self.await_threads()

    # Jobs.

    def make_worker(self) -> JobThread:
        self.workers.append(JobThread(self.clock.threads))
        return self.workers[-1]

    def begin(self, worker: JobThread, jobs: Jobs, function: Callable[[], Any]) -> None:
        if self.has_points_in_lines and self.pauses:
            function = threads.trace_lines(function, self.switch)
        worker.function, worker.point_count = function, 0
        self.flights[worker.ident] = worker, jobs
        self.resume(worker)

    def resume(self, worker: JobThread) -> None:
        """Run a job until it ends or pauses. Raises its error if that is no Exception."""
        jobs = self.flights[worker.ident][1]
        try:
            if not worker.go_on():
                self.flights[worker.ident] = self.flights.pop(worker.ident)  # moved to the end of the queue
                return
        except BaseException as error:
            del self.flights[worker.ident], jobs.flying[worker]
            if isinstance(error, TimeoutError):
                others = "another process, or an event loop of its own"
                message = f"a job waits for a lock that was made before the run, for {others}"
                raise OutOfReach(message) from None
            raise
        if not (worker.point_count or jobs.is_single or self.has_points_in_lines):
            self.whole_count += len(self.flights) > 1 or self.next_jobs() is not None
        del self.flights[worker.ident]
        self.progress += 1
        self.done.append((worker, jobs))
        if not self.is_delayed():
            self.done.rotate(1)
            self.end_first()

    def is_delayed(self) -> bool:
        """Count an ended job. Return whether its result is delivered late, when nothing else can run."""
        if not self.delays:
            return False
        self.delays[0] -= 1
        if self.delays[0] > 0:
            return False
        self.delays.popleft()
        return True

    def end_first(self) -> None:
        if any(not timer.cancelled() for timer in self.timers) and self.comes_late():
            while not self.fire_timer():
                pass
            return
        worker, jobs = self.done.popleft()
        jobs.end(worker)

    def fire_timer(self) -> bool:
        """Let time pass until the first timer, and make it ready. Return False if it was cancelled."""
        timer = heapq.heappop(self.timers)
        if timer.cancelled():
            return False
        self.clock.sleep(timer.when() - self.time())
        self.ready.append(timer)
        return True

    def next_able(self) -> JobThread | None:
        return next((worker for worker, _ in self.flights.values() if worker.can_go_on()), None)

    def next_jobs(self) -> Jobs | None:
        return next((jobs for jobs in self.jobs.values() if jobs.can_begin), None)

    def run_job(self) -> bool:
        """Continue or start one job, or deliver a late result. Return whether there was one."""
        if worker := self.next_able():
            self.resume(worker)
        elif jobs := self.next_jobs():
            jobs.begin_one()
        elif self.done:
            self.end_first()
        else:
            return False
        return True

    @contextmanager
    def pausing(self, pauses: Sequence[int]) -> Iterator[None]:
        """Let jobs pause as an item says until the block ends. -2: the second result is delivered late."""
        self.pauses.extend(each for each in pauses if each > 0)
        self.delays.extend(-each for each in pauses if each < 0)
        try:
            yield
        finally:
            self.pauses.clear()
            self.delays.clear()

    def wake_sleeper(self, before: float) -> bool:
        """Let time pass until a waiting job times out. Return False if none does before this time."""
        timed = [(worker.until, worker) for worker, _ in self.flights.values() if worker.until is not None]
        until, worker = min(timed, key=lambda each: each[0], default=(NEVER, None))
        if worker is None or until > before:
            return False
        self.clock.sleep(until - self.time())
        worker.is_late = True
        self.resume(worker)
        return True

    def await_threads(self) -> None:
        """Wait in real time for threads that the store started. Raises Stuck if there are none."""
        self.moment_count += 1
        if self.moment_count > MOMENTS_MAX or not threads.find_own_threads(self):
            raise Stuck("waits for something that never happens")
        threads.REAL_SLEEP(threads.MOMENT_SECONDS)

    # Called from the store, in any thread.

    def switch(self) -> None:
        """Mark a point at which other jobs may run, and pause here if `pauses` says so."""
        self.progress += 1
        ident = get_ident()
        if ident not in self.flights:
            if (
                self.pauses
                and ident == self.thread
                and (self.flights or self.next_jobs())
                and self.is_pause()
            ):
                while self.run_job():
                    pass
            return
        worker = self.flights[ident][0]
        worker.point_count += 1
        if worker.is_abandoned:
            raise threads.Abandoned
        is_due = self.pauses or not worker.point_count % POINTS_MAX
        if is_due and self.can_others_go_on(worker) and (not self.pauses or self.is_pause()):
            worker.pause()

    def is_pause(self) -> bool:
        """Count a point. Return whether to pause at it."""
        self.pauses[0] -= 1
        if self.pauses[0] > 0:
            return False
        self.pauses.popleft()
        self.pause_count += 1
        self.paused_at.append(place_of(sys._getframe()))
        return True

    def can_others_go_on(self, worker: JobThread) -> bool:
        others = (each for each, _ in self.flights.values() if each is not worker and each.can_go_on())
        return self.can_end_early or bool(self.ready) or self.next_jobs() is not None or any(others)

    def wait(self, is_free: Callable[[], bool], until: float | None = None) -> bool:
        """Run other jobs until `is_free`; return False if it is not by `until`, in seconds. Raises Stuck."""
        if get_ident() in self.flights:
            return self.flights[get_ident()][0].pause(is_free, until)
        while not is_free():  # no task runs meanwhile, since the thread of the loop waits
            if self.run_job() or self.wake_sleeper(NEVER if until is None else until):
                continue
            if until is not None:
                self.clock.sleep(until - self.time())
                return False
            self.await_threads()
        return True

    def sleep(self, seconds: float) -> None:
        """Let time pass. If a job sleeps, others run meanwhile."""
        if seconds <= 0:
            self.clock.poll()
        if get_ident() not in self.flights:
            self.clock.sleep(seconds)
        elif seconds > 0:
            self.wait(lambda: False, self.time() + seconds)
        else:
            self.switch()

    def insist(self, act: Callable[[], T], seconds: float, may_wait: Callable[[], bool]) -> T:
        """Repeat a call while SQLite is busy and other jobs make progress, for at most `seconds`."""
        until = self.time() + seconds
        while True:
            seen = self.progress
            try:
                return act()
            except Exception as error:
                codes = [getattr(error, name, 0) for name in ("sqlite_errorcode", "result")]  # sqlite3, apsw
                is_busy = SQLITE_BUSY in codes and may_wait()
                if not is_busy or not self.wait(lambda: self.progress != seen, until):  # noqa: B023 - at once
                    raise

    def at_once(
        self, starts: Sequence[Callable[[], Any]], pick: Callable[[int], int], pauses: Sequence[int] = ()
    ) -> list[Any]:
        """Run tasks that start at picked times. Return the outcome of each: a value or its exception."""
        self.pick = pick
        try:
            with self.pausing(pauses):
                tasks = [asyncio.Task(delay_start(start, pick(DELAY_MAX)), loop=self) for start in starts]
                self.run(tasks)
        finally:
            self.pick = lambda n: 0
        return [outcome_of(task) for task in tasks]


def place_of(frame: Any) -> str:
    """Return the innermost place outside umi_sim and the standard library, as file:line."""
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in clocks.NOT_THEIRS:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "elsewhere"


def out_of_reach(*args: Any, **kwargs: Any) -> Any:
    raise OutOfReach("needs an event loop with sockets or pipes")


for outside in OUTSIDE:
    setattr(Loop, outside, out_of_reach)


def outcome_of(task: Any) -> Any:
    """Return the value of a task, or the Exception that it raised. Raises any other error."""
    if task.cancelled():
        return asyncio.CancelledError()
    error = task.exception()
    return error if isinstance(error, Exception | SystemExit) else task.result()


async def delay_start(start: Callable[[], Any], count: int) -> Any:
    for _ in range(count):
        await asyncio.sleep(0)
    return await start()


def submitting(loop: Loop, real: Any) -> Any:
    def submit(self: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if get_ident() not in loop.clock.threads:
            return real(self, function, *args, **kwargs)
        if getattr(self, "_shutdown", False) or getattr(self, "_shutdown_thread", False):
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self not in loop.jobs:
            limit = self._max_workers  # an executor made before the run has the limit of this machine
            loop.jobs[self] = Jobs(loop, THREADS_MAX if limit == HERE_MAX else limit)
        loop.job_count += 1
        future = Future[Any]()
        future._condition = threading.Condition(threads.QuietLock())  # type: ignore[arg-type] # a lock
        loop.jobs[self].put_nowait((future, partial(function, *args, **kwargs)))
        return future

    return submit


def shutting_down(loop: Loop, real: Any) -> Any:
    def shutdown(self: Any, wait: bool = True, *, cancel_futures: bool = False) -> None:
        jobs = loop.jobs.get(self) if get_ident() in loop.clock.threads else None
        for future, _ in jobs.waiting if jobs and cancel_futures else ():
            future.cancel()
        if jobs and wait:
            loop.wait(lambda: not (jobs.waiting or jobs.flying))
        real(self, wait, cancel_futures=cancel_futures)

    return shutdown


@cache
def find_aiosqlite() -> Any:
    """Return the class of connections of aiosqlite, or None. Stores may import it only later."""
    try:
        return import_module("aiosqlite.core").Connection
    except ImportError:
        return None


@contextmanager
def install(loop: Loop) -> Iterator[None]:
    """Run the jobs of executors, aiosqlite and anyio on this loop until the block ends."""
    with clocks.patch_names(substitutes(loop)):
        yield


def substitutes(loop: Loop) -> Iterator[tuple[Any, str, Any]]:
    for name in sorted({"cpu_count", "process_cpu_count"} & {*vars(os)}):
        yield os, name, lambda: PROCESSORS
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        yield kind, "submit", submitting(loop, kind.submit)
        yield kind, "shutdown", shutting_down(loop, kind.shutdown)
    if connection := find_aiosqlite():
        real = connection.__init__

        def begin(self: Any, *args: Any, **kwargs: Any) -> None:
            real(self, *args, **kwargs)
            self._tx, self._thread = Jobs(loop, limit=1, is_single=True), NoThread()
            self.start = self._thread.start  # until aiosqlite 0.21 a connection is a thread
            loop.jobs[self] = self._tx

        yield connection, "__init__", begin
    if "anyio" in sys.modules:

        async def run(cls: Any, func: Any, args: Any, *rest: Any, **kwargs: Any) -> Any:
            return await loop.run_in_executor(None, func, *args)

        yield import_module("anyio._backends._asyncio").AsyncIOBackend, WORKER, classmethod(run)


WORKER = "run_sync_in_worker_thread"


class NoThread:
    """A stand-in for the thread of a connection of aiosqlite."""

    has_begun = False

    def start(self) -> None:
        self.has_begun = True

    def is_alive(self) -> bool:
        return self.has_begun

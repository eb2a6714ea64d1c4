"""An event loop that does the same each time: one thread at a time, no sockets, and a still clock.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. Callbacks run in the order in which they came, as asyncio promises. Free is only what is free there:
       when a task gets to begin, and which job of an executor begins first; `pick` decides.
Law 3. A job that has begun goes on to its end, unless it waits or `pauses` says that it pauses at this point:
       then it goes on when nothing else can.
Law 4. A timer runs when its time comes, as in a loop that waits: also while time passes between operations.
Law 5. What nothing will ever wake is Stuck at once, and what never ends after STEPS_MAX steps.
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
DELAY_MAX = 6  # steps until a task begins
FINISH_STEPS = 1_000
ADVANCE_STEPS_MAX = 20_000  # while time passes: a store may do something each millisecond
RESOLUTION_S = 1 / 1_000_000  # of sums of times: a clock of milliseconds tells no less apart
PATIENCE = 100  # steps until a job goes on, or begins, all the same: a task may wait for it by asking
POINTS_MAX = 1_000  # until a job pauses in any case: it may wait for another by asking
PROCESSORS = 28  # of each machine, as a run sees it
THREADS_MAX = PROCESSORS + 4  # of an executor that sets no limit, as in Python
HERE_MAX = ThreadPoolExecutor()._max_workers  # of such an executor, on this machine
SQLITE_BUSY = 5
NEVER = 2**40  # seconds
MOMENTS_MAX = 10_000
OUTSIDE = """add_reader add_writer create_connection create_server subprocess_exec
subprocess_shell""".split()
T = TypeVar("T")


class Stuck(BaseException):
    """Nothing goes on, or it goes on for ever. Nothing that a store catches."""


class OutOfReach(BaseException):
    """It needs what this loop has not; no `except Exception` takes it for its own."""


class Jobs:
    """Work of one executor, or of one connection of aiosqlite, on at most `limit` threads.

    `is_single`: each job is one call of SQLite, within which there is nothing to be explored.
    """

    def __init__(self, loop: "Loop", limit: int, is_single: bool = False) -> None:
        self.loop, self.limit, self.is_single = loop, limit, is_single
        self.waiting: deque[tuple[Any, Callable[[], Any]]] = deque()  # each with its future
        self.idle: deque[JobThread] = deque()
        self.flying: dict[JobThread, Any] = {}  # with the future of the job

    def put_nowait(self, job: Any) -> None:
        if isinstance(job, tuple):  # and not what tells the thread of aiosqlite 0.21 to end
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
        """Tell what the job came to. Raises its error if that is no Exception."""
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
    """Order tasks by `pick(n)`, one of n, where asyncio leaves open which is first."""

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.clock, self.thread = clock, get_ident()
        self.ready: deque[asyncio.Handle] = vars(self)["_ready"]
        self.timers: list[asyncio.TimerHandle] = vars(self)["_scheduled"]
        self.jobs: dict[Any, Jobs] = {}  # by executor, or connection of aiosqlite
        self.pick: Callable[[int], int] = lambda n: 0
        self.turn = 0  # one after the other, so that no task waits for ever
        self.job_count = 0  # of executors
        self.has_points_in_lines = False  # whether jobs can pause at each line
        self.workers: list[JobThread] = []
        self.flights: dict[int, tuple[JobThread, Jobs]] = {}  # jobs that go on, by thread
        self.pauses: deque[int] = deque()  # how many points until a job pauses, and until the next pause
        self.delays: deque[int] = deque()  # how many jobs end until the result of one comes late, and so on
        self.done: deque[tuple[JobThread, Jobs]] = deque()  # jobs whose results come late
        self.pause_count = self.whole_count = 0  # jobs that paused; that ran whole while another waited
        self.paused_at: list[str] = []  # of the last item, places in the code of the store
        self.can_end_early = False  # whether a task may be cancelled while its job pauses
        self.progress = self.callback_count = 0
        self.passed_over = 0  # steps in which a job could have gone on, since one did
        self.moment_count = 0  # of real time, in which a thread of the store was waited for
        self.own_threads: list[threading.Thread] = []  # that the store itself has begun
        self.set_default_executor(ThreadPoolExecutor(THREADS_MAX))

    # What asyncio asks of a loop.

    def time(self) -> float:
        return float(self.clock.seconds())

    def _write_to_self(self) -> None:
        """Do nothing: no other thread sleeps in this loop and has to be woken."""

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def add_signal_handler(self, *args: Any) -> None:  # type: ignore[override] # it looks at none
        """Do nothing: no signal comes."""

    def remove_signal_handler(self, sig: int) -> bool:
        return True

    def call_exception_handler(self, context: Any) -> None:
        """Ignore the failure of a task that nothing awaits, as a program does that only logs it."""

    # Running.

    def run_until_complete(self, future: Any) -> Any:
        task = asyncio.ensure_future(future, loop=self)
        self.run([task])
        return task.result()

    def run(self, tasks: Sequence[Any], steps_max: int = STEPS_MAX) -> bool:
        """Run until all tasks are done, or for so many steps; return whether they are done. Raises Stuck."""
        self.can_end_early = steps_max < STEPS_MAX
        with self.running():
            for _ in range(steps_max):
                if all(task.done() for task in tasks):
                    return True
                self.step()
                self.clock.poll()
        if steps_max == STEPS_MAX:
            raise Stuck(f"goes on for ever: {STEPS_MAX} steps")
        return all(task.done() for task in tasks)

    def settle(self, steps_max: int) -> None:
        """Run everything that was begun until it waits for time alone, or for so many steps."""
        with self.running():
            for _ in range(steps_max):
                if self.is_idle():
                    return
                self.step()

    def is_idle(self) -> bool:
        """Return whether nothing goes on before some time has passed."""
        self.wake_due()
        return not (self.ready or self.done) and self.next_jobs() is None and self.next_able() is None

    def advance(self, ms: int) -> None:
        """Let so much time pass; what is due meanwhile is done at its time."""
        until_ms = self.clock.now_ms + ms
        with self.running():
            for _ in range(ADVANCE_STEPS_MAX):
                if self.is_idle() and self.next_time() > until_ms / 1000 + RESOLUTION_S:
                    break
                self.step()
        self.clock.now_ms = max(self.clock.now_ms, until_ms)

    def abandon(self) -> None:
        """The process is gone, and with it whatever was to be done."""
        coroutines = [task.get_coro() for task in asyncio.all_tasks(self)]
        # Python warns of a coroutine that is destroyed before it began, as if it had been forgotten: these,
        # and those that are their arguments.
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
        """Wait for all jobs, as a program does that ends."""
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
        """Whatever is still going on is cancelled."""
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
        """Return when the next timer is due, or the next job has waited for long enough."""
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
                with suppress(SystemExit):  # its task has kept it
                    handle._run()
        elif self.done:
            self.end_first()
        elif self.wake_sleeper(self.timers[0].when() if self.timers else NEVER):
            pass
        elif self.timers:
            timer = heapq.heappop(self.timers)
            if not timer.cancelled():
                self.clock.sleep(timer.when() - self.time())
                self.ready.append(timer)
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
        """Let a job go on until it ends or pauses. Raises its error if that is no Exception."""
        jobs = self.flights[worker.ident][1]
        try:
            if not worker.go_on():
                self.flights[worker.ident] = self.flights.pop(worker.ident)  # the last one to go on
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
        """Count a job that has ended; return whether its result comes late, after all that can go on."""
        if not self.delays:
            return False
        self.delays[0] -= 1
        if self.delays[0] > 0:
            return False
        self.delays.popleft()
        return True

    def end_first(self) -> None:
        worker, jobs = self.done.popleft()
        jobs.end(worker)

    def next_able(self) -> JobThread | None:
        return next((worker for worker, _ in self.flights.values() if worker.can_go_on()), None)

    def next_jobs(self) -> Jobs | None:
        return next((jobs for jobs in self.jobs.values() if jobs.can_begin), None)

    def run_job(self) -> bool:
        """Let a job go on, or one begin; return whether there was one."""
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
        """Until the block ends, jobs pause as an item says: -2 is the second job that ends, told late."""
        self.pauses.extend(each for each in pauses if each > 0)
        self.delays.extend(-each for each in pauses if each < 0)
        try:
            yield
        finally:
            self.pauses.clear()
            self.delays.clear()

    def wake_sleeper(self, before: float) -> bool:
        """Let time pass until a job has waited for long enough; return False if none has before this time."""
        timed = [(worker.until, worker) for worker, _ in self.flights.values() if worker.until is not None]
        until, worker = min(timed, key=lambda each: each[0], default=(NEVER, None))
        if worker is None or until > before:
            return False
        self.clock.sleep(until - self.time())
        worker.is_late = True
        self.resume(worker)
        return True

    def await_threads(self) -> None:
        """Wait in real time for a thread that the store itself began. Raises Stuck if none does anything."""
        self.moment_count += 1
        if self.moment_count > MOMENTS_MAX or not threads.find_own_threads(self):
            raise Stuck("waits for something that never happens")
        threads.REAL_SLEEP(threads.MOMENT_SECONDS)

    # What the store calls, wherever it runs.

    def switch(self) -> None:
        """Be at a point at which others may go on, and let them if it is time for a pause."""
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
        """Count a point; return whether it is one of those at which to pause."""
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
        """Let others go on until it is free; return False if it is not before this time. Raises Stuck."""
        if get_ident() in self.flights:
            return self.flights[get_ident()][0].pause(is_free, until)
        while not is_free():  # no task goes on meanwhile: it is their thread that waits
            if self.run_job() or self.wake_sleeper(NEVER if until is None else until):
                continue
            if until is not None:
                self.clock.sleep(until - self.time())
                return False
            self.await_threads()
        return True

    def sleep(self, seconds: float) -> None:
        """Let time pass, and others go on meanwhile if a job sleeps."""
        if seconds <= 0:
            self.clock.poll()
        if get_ident() not in self.flights:
            self.clock.sleep(seconds)
        elif seconds > 0:
            self.wait(lambda: False, self.time() + seconds)
        else:
            self.switch()

    def insist(self, act: Callable[[], T], seconds: float, may_wait: Callable[[], bool]) -> T:
        """Act until SQLite is no longer busy, or nothing else goes on for so many seconds."""
        until = self.time() + seconds
        while True:
            seen = self.progress
            try:
                return act()
            except Exception as error:
                codes = [
                    getattr(error, name, 0) for name in ("sqlite_errorcode", "result")
                ]  # the second: apsw
                is_busy = SQLITE_BUSY in codes and may_wait()
                if not is_busy or not self.wait(lambda: self.progress != seen, until):  # noqa: B023 - at once
                    raise

    def at_once(
        self, starts: Sequence[Callable[[], Any]], pick: Callable[[int], int], pauses: Sequence[int] = ()
    ) -> list[Any]:
        """Tasks that begin at times of their own; what each came to, a value or its exception."""
        self.pick = pick
        try:
            with self.pausing(pauses):
                tasks = [asyncio.Task(delay_start(start, pick(DELAY_MAX)), loop=self) for start in starts]
                self.run(tasks)
        finally:
            self.pick = lambda n: 0
        return [outcome_of(task) for task in tasks]


def place_of(frame: Any) -> str:
    """Return the innermost place in the code of the store: its file and line."""
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in clocks.NOT_THEIRS:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "elsewhere"


def out_of_reach(*args: Any, **kwargs: Any) -> Any:
    raise OutOfReach("needs an event loop with sockets or pipes")


for outside in OUTSIDE:
    setattr(Loop, outside, out_of_reach)


def outcome_of(task: Any) -> Any:
    """A value, or the exception that the store raised; one that is none of its own goes on."""
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
            limit = self._max_workers  # of an executor that was made before the run, that of this machine
            loop.jobs[self] = Jobs(loop, THREADS_MAX if limit == HERE_MAX else limit)
        loop.job_count += 1
        future = Future[Any]()
        future._condition = threading.Condition(threads.QuietLock())  # type: ignore[arg-type] # it has the same methods
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
    """Return the connections of aiosqlite, which many stores import as late as they connect; or None."""
    try:
        return import_module("aiosqlite.core").Connection
    except ImportError:
        return None


@contextmanager
def install(loop: Loop) -> Iterator[None]:
    """Until the block ends, jobs of executors, aiosqlite and anyio are those of this loop."""
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
            self.start = self._thread.start  # up to aiosqlite 0.21 a connection is a thread
            loop.jobs[self] = self._tx

        yield connection, "__init__", begin
    if "anyio" in sys.modules:

        async def run(cls: Any, func: Any, args: Any, *rest: Any, **kwargs: Any) -> Any:
            return await loop.run_in_executor(None, func, *args)

        yield import_module("anyio._backends._asyncio").AsyncIOBackend, WORKER, classmethod(run)


WORKER = "run_sync_in_worker_thread"


class NoThread:
    """A stand-in for a thread that has nothing to do."""

    has_begun = False

    def start(self) -> None:
        self.has_begun = True

    def is_alive(self) -> bool:
        return self.has_begun

"""An event loop that does the same each time: no threads, no sockets, and a clock that stands still.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. Callbacks run in the order in which they came, as asyncio promises. Free is only what is free there:
       when a task gets to begin, and which job of an executor is done first; `pick` decides.
Law 3. A timer runs when its time comes, as in a loop that waits: also while time passes between operations.
Law 4. What nothing will ever wake is Stuck at once, and what never ends after STEPS_MAX steps.
"""

import asyncio
import heapq
import sqlite3
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar, TypeVarTuple

STEPS_MAX = 200_000
DELAY_MAX = 6  # steps until a task begins
FINISH_STEPS = 1_000
ADVANCE_STEPS_MAX = 20_000  # while time passes: a store may do something each millisecond
RESOLUTION_S = 1 / 1_000_000  # of sums of times: a clock of milliseconds tells no less apart
TRIES_MAX = 200  # of a statement that waits for a lock
OUTSIDE = """add_reader add_signal_handler add_writer create_connection create_server subprocess_exec
subprocess_shell""".split()
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Stuck(BaseException):
    """Nothing goes on, or it goes on for ever. Nothing that a store catches."""


class OutOfReach(BaseException):
    """It needs what this loop has not; no `except Exception` takes it for its own."""


class Jobs:
    """Work of one executor, or of one connection of aiosqlite: done in order, each at once."""

    def __init__(self, loop: "Loop", is_ordered: bool) -> None:
        self.loop, self.is_ordered = loop, is_ordered
        self.waiting: deque[tuple[Any, Callable[[], Any]]] = deque()
        self.tries_left = TRIES_MAX
        loop.jobs.append(self)

    def put_nowait(self, job: tuple[Any, Callable[[], Any]]) -> None:
        self.waiting.append(job)

    def run_one(self) -> None:
        at = 0 if self.is_ordered else self.loop.pick(len(self.waiting))
        future, function = self.waiting[at]
        del self.waiting[at]
        try:
            result = function()
        except Exception as error:  # the job is the store's, and so is what it raises
            if self.must_wait(error):
                self.waiting.appendleft((future, function))
                return
            if future is not None and not future.done():
                future.set_exception(error)
        else:
            self.tries_left = TRIES_MAX
            if future is not None and not future.done():
                future.set_result(result)

    def must_wait(self, error: Exception) -> bool:
        """Return whether another connection holds a lock, and will let go of it when it goes on."""
        is_busy = isinstance(error, sqlite3.OperationalError) and "is locked" in str(error)
        is_made = hasattr(error, "__notes__")  # by us: nothing that goes away when others go on
        if not is_busy or is_made or not self.is_ordered or not self.tries_left:
            return False
        self.tries_left -= 1
        return True


class Loop(asyncio.BaseEventLoop):
    """Order tasks by `pick(n)`, one of n, where asyncio leaves open which is first."""

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.clock = clock
        self.ready: deque[asyncio.Handle] = vars(self)["_ready"]
        self.timers: list[asyncio.TimerHandle] = vars(self)["_scheduled"]
        self.jobs: list[Jobs] = []
        self.executors: dict[Any, Jobs] = {}
        self.pick: Callable[[int], int] = lambda n: 0
        self.job_count = 0  # of executors
        self.turn = 0  # one after the other, so that no task waits for ever

    # What asyncio asks of a loop.

    def time(self) -> float:
        return float(self.clock.seconds())

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        if executor not in self.executors:
            self.executors[executor] = Jobs(self, getattr(executor, "_max_workers", 0) == 1)
        self.job_count += 1
        future: asyncio.Future[T] = self.create_future()
        self.executors[executor].put_nowait((future, lambda: func(*args)))
        return future

    def _write_to_self(self) -> None:
        """Do nothing: no other thread sleeps in this loop and has to be woken."""

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def call_exception_handler(self, context: Any) -> None:
        """Ignore the failure of a task that nothing awaits, as a program does that only logs it."""

    # Running.

    def run_until_complete(self, future: Any) -> Any:
        task = asyncio.ensure_future(future, loop=self)
        self.run([task])
        return task.result()

    def run(self, tasks: Sequence[Any], steps_max: int = STEPS_MAX) -> bool:
        """Until all tasks are done, or so many steps: whether they are done. Raises Stuck."""
        with self.running():
            for _ in range(steps_max):
                if all(task.done() for task in tasks):
                    return True
                self.step()
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
        return not self.ready and not any(jobs.waiting for jobs in self.jobs)

    def advance(self, ms: int) -> None:
        """Let so much time pass; what is due meanwhile is done at its time."""
        until_ms = self.clock.now_ms + ms
        with self.running():
            for _ in range(ADVANCE_STEPS_MAX):
                is_late = not self.timers or self.timers[0].when() > until_ms / 1000 + RESOLUTION_S
                if self.is_idle() and is_late:
                    break
                self.step()
        self.clock.now_ms = max(self.clock.now_ms, until_ms)

    def abandon(self) -> None:
        """The process is gone, and with it whatever was to be done."""
        self.ready.clear()
        self.timers.clear()
        for jobs in self.jobs:
            jobs.waiting.clear()

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
        self.close()

    def wake_due(self) -> None:
        while self.timers and self.timers[0].when() <= self.time() + RESOLUTION_S:
            self.ready.append(heapq.heappop(self.timers))

    def step(self) -> None:
        self.wake_due()
        busy = [jobs for jobs in self.jobs if jobs.waiting]
        if busy and (not self.ready or self.pick(2)):
            self.turn += 1
            busy[(self.pick(len(busy)) + self.turn) % len(busy)].run_one()
        elif self.ready:
            handle = self.ready.popleft()
            if not handle.cancelled():
                with suppress(SystemExit):  # its task has kept it
                    handle._run()
        elif self.timers:
            timer = heapq.heappop(self.timers)
            if not timer.cancelled():
                self.clock.sleep(timer.when() - self.time())
                self.ready.append(timer)
        else:
            raise Stuck("waits for something that nobody will do")

    def at_once(self, starts: Sequence[Callable[[], Any]], pick: Callable[[int], int]) -> list[Any]:
        """Tasks that begin at times of their own; what each came to, a value or its exception."""
        self.pick = pick
        try:
            tasks = [asyncio.Task(delay_start(start, pick(DELAY_MAX)), loop=self) for start in starts]
            self.run(tasks)
        finally:
            self.pick = lambda n: 0
        return [outcome_of(task) for task in tasks]


def out_of_reach(*args: Any, **kwargs: Any) -> Any:
    raise OutOfReach("needs an event loop with sockets, pipes or signals")


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


@contextmanager
def install(loop: Loop) -> Iterator[None]:
    """Until the block ends, aiosqlite and anyio do without their threads."""
    with ExitStack() as stack:
        with suppress(ImportError):
            core = import_module("aiosqlite.core")  # many import it as late as they connect
            real = core.Connection.__init__
            stack.callback(setattr, core.Connection, "__init__", real)

            def begin(self: Any, *args: Any, **kwargs: Any) -> None:
                real(self, *args, **kwargs)
                self._tx, self._thread = Jobs(loop, is_ordered=True), NoThread()

            core.Connection.__init__ = begin
        if "anyio" in sys.modules:
            owner = import_module("anyio._backends._asyncio").AsyncIOBackend
            stack.callback(setattr, owner, WORKER, vars(owner)[WORKER])

            async def run(cls: Any, func: Any, args: Any, *rest: Any, **kwargs: Any) -> Any:
                return await loop.run_in_executor("anyio", func, *args)

            setattr(owner, WORKER, classmethod(run))
        yield


WORKER = "run_sync_in_worker_thread"


class NoThread:
    """A stand-in for a thread that has nothing to do."""

    def start(self) -> None:
        pass

"""The conductor: hands chunks to an executor, gathers the results, and decides when to end.

Law 1. The outcome does not depend on the order of results.
Law 2. A task that an executor loses is tried once more while nothing else runs; then its seeds are lost.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    wait,
)
from typing import Any, Final

import msgspec
from msgspec import structs

from umi_core.data import Owner
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs.corpus import CorpusFile
from umi_sim.scenario import floors
from umi_sim.sweep import worker_process
from umi_sim.sweep.executors import Make, Workers
from umi_sim.sweep.journal import Chunk, Journal, chunk_of
from umi_sim.sweep.outside import MINUTE_MS, Stopwatch
from umi_sim.sweep.plan import ScenarioSource, SweepPlan, Task, source_of
from umi_sim.sweep.totals import TOTALS, LostSeed, SweepOutcome, Swept, Totals
from umi_sim.sweep.work import work

CHANCE_COUNT: Final = 2
QUEUE_PER_JOB: Final = 2  # one task that runs, and one that starts when it ends

Tell = Callable[[Chunk, bool], None]


class Flight(Owner):
    """A submitted task. `number`: its place in the plan; `chance`: 1, or 2 if it was lost once (law 2)."""

    number: int
    task: Task
    executor: Workers | None = None
    chance: int = 1


class Conductor(Owner):
    """One sweep in progress."""

    plan: SweepPlan
    make: Make
    jobs: int
    tell: Tell
    journal: Journal | None = None
    minutes: int | None = None
    watch: Stopwatch = msgspec.field(default_factory=Stopwatch)
    executor: Workers | None = None
    flights: "dict[Future[dict[str, Any]], Flight]" = {}
    waiting: list[Flight] = []
    totals: Totals = msgspec.field(default_factory=Totals)
    swept: Swept = msgspec.field(default_factory=Swept)
    held: dict[int, Chunk] = {}  # with stop_first: results by task number, until `last` is known
    last: int | None = None  # the first task with a failure, if that ends the sweep
    is_interrupted: bool = False
    problem: str = ""  # why chunks are no longer written to the journal

    def conduct(self) -> None:
        """Run the plan, and collect the results in `totals` and `swept`. Ctrl-C ends it and keeps them."""
        tasks = enumerate(self.plan.tasks())
        try:
            while True:
                self.fill(tasks)
                # No task is left, or only tasks after the first failure, which do not count.
                if all(self.is_beyond(flight.number) for flight in (*self.flights.values(), *self.waiting)):
                    break
                done, _ = wait(self.flights, return_when=FIRST_COMPLETED)
                # Sorted, so that results that arrive together are reported in the order of the plan.
                for future in sorted(done, key=lambda each: self.flights[each].number):
                    self.land(future, self.flights.pop(future))
        except KeyboardInterrupt:
            self.is_interrupted = True
        finally:
            self.end()
        if self.is_interrupted:
            self.gather_parts()
        for number, chunk in self.held.items():
            if not self.is_beyond(number):
                self.count(chunk)

    def fill(self, tasks: Iterator[tuple[int, Task]]) -> None:
        """Submit tasks until the queue is full; a task that was lost runs alone."""
        # Such a task may use up all memory; if it runs alone, no other task is lost because of it.
        while self.waiting and not self.flights:
            self.begin(self.waiting.pop(0))
        while not self.waiting and len(self.flights) < self.jobs * QUEUE_PER_JOB and not self.is_over():
            number, task = next(tasks, (0, None))
            if task is None:
                return
            chunk = self.journal.done.get(task.chunk) if self.journal else None
            # A chunk that lost a seed is run again: its process may have died because of the machine.
            if chunk is not None and chunk.is_done:
                self.gather(number, chunk, is_old=True)
            else:
                if self.journal:
                    self.journal.must_fit(task)
                    task = structs.replace(task, stop_first=False)  # a journal has only complete chunks
                self.begin(Flight(number, task))

    def current(self) -> Workers:
        if self.executor is None:
            self.executor = self.make(self.jobs)
        return self.executor

    def begin(self, flight: Flight) -> None:
        task = structs.asdict(flight.task)
        try:
            future = self.current().submit(work, task)
        except BrokenExecutor:  # the executor broke since it was made
            self.executor = None
            future = self.current().submit(work, task)
        flight.executor = self.executor
        self.flights[future] = flight

    def is_over(self) -> bool:
        """Return True if no more tasks are submitted."""
        is_late = self.minutes is not None and self.watch.elapsed_ms() >= self.minutes * MINUTE_MS
        return is_late or self.last is not None

    def is_beyond(self, number: int) -> bool:
        return self.last is not None and number > self.last

    def land(self, future: "Future[dict[str, Any]]", flight: Flight) -> None:
        """Gather the result of a task, or queue the task once more if its executor lost it."""
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            chunk = chunk_in(future, flight.task)
            # A part of a chunk (after stop_first) is never written: the name of a chunk means all its seeds.
            if chunk.seeds == flight.task.seeds:
                self.write(chunk)  # before `gather`, so that its seed files are never older than the chunk
            self.gather(flight.number, chunk)
            return
        # Several tasks of one broken executor fail one after the other; only the first may discard it.
        if isinstance(error, BrokenExecutor) and flight.executor is self.executor:
            self.executor = None
        if flight.chance < CHANCE_COUNT:
            self.waiting.append(structs.replace(flight, chance=flight.chance + 1))
        else:
            self.gather(flight.number, chunk_of(flight.task, count_lost(flight.task, error)))

    def gather_parts(self) -> None:
        """Gather the results of unfinished chunks whose processes were ended."""
        for future, flight in sorted(self.flights.items(), key=lambda pair: pair[1].number):
            if future.done() and not future.cancelled() and future.exception() is None:
                chunk = chunk_in(future, flight.task)
                # The sweep itself ended the processes of these seeds, so they count as not run, not as lost.
                lost = [seed for _, seed in chunk.totals.lost]
                chunk.totals.lost.clear()
                whole = tuple(seed for seed in chunk.seeds if seed not in lost)
                self.gather(flight.number, structs.replace(chunk, seeds=whole))

    def write(self, chunk: Chunk) -> None:
        """Write a chunk to the journal; if that fails, the chunk still counts, and no more are written."""
        try:
            if self.journal:
                self.journal.append(chunk)
        except OSError as error:
            self.problem, self.journal = f"{error.filename or 'the file of chunks'}: {error.strerror}", None

    def gather(self, number: int, chunk: Chunk, *, is_old: bool = False) -> None:
        self.tell(chunk, is_old)
        if not self.plan.stop_first:
            self.count(chunk)
            return
        self.held[number] = chunk
        # If tasks 3 and 5 fail while 4 still runs, 3 is the last, whichever ended first, and 4 and 5 do not
        # count. The outcome is therefore the same as that of one process.
        if chunk.totals.found:
            self.last = number if self.last is None else min(self.last, number)

    def count(self, chunk: Chunk) -> None:
        self.totals.add(chunk.totals)
        self.swept.add(chunk.scenario, chunk.seeds, chunk.base)

    def end(self) -> None:
        """Cancel the tasks in flight and end all processes and threads."""
        for future in self.flights:
            future.cancel()
        if self.flights:
            # Children end first, because `shutdown` waits for threads, and each thread waits for a child.
            worker_process.CREW.dismiss()
        if self.executor is not None:
            self.executor.shutdown()
        worker_process.CREW.is_open = True


def chunk_in(future: "Future[dict[str, Any]]", task: Task) -> Chunk:
    """Return the result of a task as a chunk of the seeds that were run."""
    answer = future.result()
    chunk = chunk_of(task, TOTALS.read(answer["totals"]))
    return structs.replace(chunk, seeds=task.seeds[: answer["count"]])


def count_lost(task: Task, error: BaseException) -> Totals:
    """Return the totals of a chunk without any result."""
    why = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
    return Totals(lost={(task.scenario, seed): LostSeed(task.scenario, seed, why) for seed in task.seeds})


CANARY: Final = "canary"
CANARY_SEED_COUNT: Final = 5


def blindness(make: Make) -> str:
    """Return why no verdict can be trusted, or "": a planted bug must be found, and by the right rule."""
    source = source_of(CANARY)
    # There is no journal, because an old result of the canary proves nothing.
    look = Conductor(SweepPlan((source,), range(CANARY_SEED_COUNT)), make, 1, lambda chunk, is_old: None)
    look.conduct()
    if look.is_interrupted:
        raise KeyboardInterrupt
    rules = [found.rule for found in sorted(look.totals.found.values(), key=lambda each: each.seed)]
    expected = MUTANTS[str(source.file.mutant)].rules
    # The smallest seed decides, so that the result is the same on any machine.
    if rules and rules[0].partition(" ")[0] in expected:
        return ""
    if look.totals.lost:
        return f"no run comes to an end: {next(iter(look.totals.lost.values())).why}"
    return "the canary is not found: a planted bug stays unnoticed, so no verdict can be trusted"


def outcome_of(
    totals: Totals,
    swept: Swept,
    sources: Iterable[ScenarioSource],
    kept: tuple[CorpusFile, ...] = (),
    *,
    is_interrupted: bool = False,
) -> SweepOutcome:
    """Return the outcome, with the missed demands of the scenarios if the whole plan was run."""
    files = {source.name: source.file for source in sources}
    swept.names = {name: None for name in files if name in swept.names}
    swept.bases = dict.fromkeys(sorted(swept.bases))
    runs = (floors.RUN_COUNT_MIN, floors.PAIR_RUN_COUNT_MIN)
    # The demands apply to the whole plan only: a part of it may well miss some.
    missed = () if is_interrupted else tuple(floors.list_missed(files, totals.summaries, *runs))
    return SweepOutcome(totals, swept, files, missed, kept, is_interrupted)

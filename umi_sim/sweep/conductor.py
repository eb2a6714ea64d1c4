"""The conductor: hands chunks to an executor, gathers the results, and decides when to end.

Law 1. The outcome does not depend on the order of results.
Law 2. A task that an executor loses has one more chance, while nothing else runs; then its seeds are lost.
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
QUEUE_PER_JOB: Final = 2  # one that runs, and one that is ready when it ends

Tell = Callable[[Chunk, bool], None]


class Flight(Owner):
    """A task under way. `number`: its place in the plan; `executor`: where it runs."""

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
    held: dict[int, Chunk] = {}  # by number, until it is known which was the last
    last: int | None = None  # the first task with a failure, if that ends the sweep
    is_interrupted: bool = False
    problem: str = ""  # why chunks are no longer written

    def conduct(self) -> None:
        """Run the plan, and collect its results in `totals` and `swept`. Ctrl-C ends it with those so far."""
        tasks = enumerate(self.plan.tasks())
        try:
            while True:
                self.fill(tasks)
                # Empty, or only tasks behind the first failure are left, which no longer count.
                if all(self.is_beyond(flight.number) for flight in (*self.flights.values(), *self.waiting)):
                    break
                done, _ = wait(self.flights, return_when=FIRST_COMPLETED)
                # By number, so that results that arrive together are reported in the order of the plan.
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
        """Hand out tasks; one that was lost runs alone."""
        # Alone, as it may use up all memory: then no other task is lost because of it.
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
        except BrokenExecutor:  # it broke in the meantime
            self.executor = None
            future = self.current().submit(work, task)
        flight.executor = self.executor
        self.flights[future] = flight

    def is_over(self) -> bool:
        """Return whether no more tasks are begun."""
        is_late = self.minutes is not None and self.watch.elapsed_ms() >= self.minutes * MINUTE_MS
        return is_late or self.last is not None

    def is_beyond(self, number: int) -> bool:
        return self.last is not None and number > self.last

    def land(self, future: "Future[dict[str, Any]]", flight: Flight) -> None:
        """Take the result of a task that has ended, or whose executor broke."""
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            chunk = chunk_in(future, flight.task)
            # A part of a chunk (after stop_first) is never written: its name stands for all its seeds.
            if chunk.seeds == flight.task.seeds:
                self.write(chunk)  # first, so that a file of a failure is never older than its chunk
            self.gather(flight.number, chunk)
            return
        # Several flights of one broken pool come back one after the other; only the first may replace it.
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
                # This sweep itself ended their processes: these seeds were not lost, they were not run.
                lost = [seed for _, seed in chunk.totals.lost]
                chunk.totals.lost.clear()
                whole = tuple(seed for seed in chunk.seeds if seed not in lost)
                self.gather(flight.number, structs.replace(chunk, seeds=whole))

    def write(self, chunk: Chunk) -> None:
        """Write a chunk to the journal; if that fails, it still counts, and the journal is given up."""
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
        # Tasks 3 and 5 fail while 4 still runs: 3 is the last, whichever ended first, and 4 and 5 do not
        # count. So the outcome is that of one process.
        if chunk.totals.found:
            self.last = number if self.last is None else min(self.last, number)

    def count(self, chunk: Chunk) -> None:
        self.totals.add(chunk.totals)
        self.swept.add(chunk.scenario, chunk.seeds, chunk.base)

    def end(self) -> None:
        """Leave nothing behind, also after an interrupt."""
        for future in self.flights:
            future.cancel()
        if self.flights:
            # First the children: `shutdown` waits for threads, and each of those waits for a child.
            worker_process.CREW.dismiss()
        if self.executor is not None:
            self.executor.shutdown()
        worker_process.CREW.is_open = True


def chunk_in(future: "Future[dict[str, Any]]", task: Task) -> Chunk:
    """Read the result of a task: of as many of its seeds as were run."""
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
    """Return why no verdict can be trusted: a planted bug is not found, or by a wrong rule; else empty."""
    source = source_of(CANARY)
    # One job and no journal: an old result of the canary proves nothing.
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
    # Floors hold for the whole plan: a part of it may well have missed something.
    missed = () if is_interrupted else tuple(floors.list_missed(files, totals.summaries, *runs))
    return SweepOutcome(totals, swept, files, missed, kept, is_interrupted)

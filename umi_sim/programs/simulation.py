"""One run of a program on the simulated event loop: main in one process or several, then resume and verify.

    main      until it ends or its process dies; after a death it runs again in a new process
    resume    in the process in which main ended
    verify    in a new process

Law 1. The same case (program, perturbations, seed) always runs in the same way. Perturbations are applied
while main runs, never later. Law 2. A process that dies runs no `finally` block: its tasks stop, and its
files keep what the operating system held at that moment.
"""

import asyncio
import ctypes
import gc
import inspect
import logging
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import ESRCH
from hashlib import blake2b
from inspect import CORO_CLOSED
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from umi_core.data import Data
from umi_sim.kernel.wording import cut
from umi_sim.programs.events import SUBJECT_CHARS_MAX, TEXT_CHARS_MAX, EventKind, ProgramEvent
from umi_sim.programs.module_state import find_state
from umi_sim.programs.perturbations import (
    CancelTask,
    DelayCallback,
    FailSite,
    KillAtSite,
    KillProcess,
    OrderJobs,
    Perturbation,
)
from umi_sim.programs.places import (
    find_caller,
    find_first,
    find_place,
    find_raised,
    hide_addresses,
    is_own,
    name_task,
)
from umi_sim.programs.program import Main, Program, ProgramRun, begin, check_program, show_effect
from umi_sim.programs.services import LATENCY_MS, BadProgram, running
from umi_sim.runs.time_limit import OutOfTime, computing_at_most
from umi_sim.targets.clocks import patch_names
from umi_sim.targets.faults import Killed, fail
from umi_sim.targets.loop import STEPS_MAX, OutOfReach, Stuck
from umi_sim.targets.world import TargetWorld, freeze_older_objects, world_of

STEP_SECONDS: Final = 1 / 10_000  # a step takes time, so that polling without a sleep reaches its deadline
SETTLING_STEPS: Final = 1_000
COMPUTING_SECONDS_MAX: Final = 10
PIDS: Final = 5_000_000  # larger than any real process id
REAL_KILL: Final = os.kill
TRACE_BYTES: Final = 16
taken_away: Final[list[int]] = []  # numbers of tasks that died or hung in the outermost `silence_dead` block


class ProcessDied(BaseException):
    """The simulated process dies at this point."""


class NumberedTask(asyncio.Task[Any]):
    """A task whose hash is its number, so that sets of tasks have the same order in each run."""

    number = 0
    title = ""  # main, resume or verify
    born = 0  # the number of steps that had run when it was made
    is_own = False  # the code of the program made it, from a coroutine of the program

    def __hash__(self) -> int:
        return self.number


class EndedTask(Data):
    """A task that has ended. Its errors, with all that their frames hold, belong to the program alone."""

    number: int
    born: int
    is_own: bool

    @classmethod
    def of(cls, task: Any) -> "EndedTask":
        task._log_traceback = False
        return cls(task.number, task.born, task.is_own)

    def done(self) -> bool:
        return True


def make_task(tasks: list[Any], born: int, coro: Any, loop: Any, how: Mapping[str, Any]) -> NumberedTask:
    """Make a task with the next number."""
    task = NumberedTask.__new__(NumberedTask)
    task.number, task.born, task.is_own = len(tasks), born, is_own(coro)
    tasks.append(task)
    task.__init__(coro, loop=loop, **how)  # type: ignore[misc] # hashed here, so numbered before
    return task


class ProgramEnding(Data):
    """The end of main, resume or verify. `place`: where it waits, if it hangs.

    `has_ignored`: it returned although it was cancelled, and did not call `Task.uncancel`. `raised_at`: the
    line of the program that raised `error`. `folder`: the folder of this run, a different one in each run;
    `str` shows it as FOLDER.
    """

    what: Literal["main", "resume", "verify"]
    how: Literal["returned", "raised", "cancelled", "died", "hung"]
    error: BaseException | None = None
    uncompared = ("error", "folder", "raised_at")
    place: str = ""
    has_ignored: bool = False
    folder: str = ""
    raised_at: str = ""

    def __str__(self) -> str:
        message = "".join(f": {type(each).__name__}: {each}" for each in list_errors(self.error))
        message = message.replace(self.folder, "FOLDER") if self.folder else message
        return f"{self.what} {self.how}{message}{f' at {self.place}' if self.place else ''}"


class ProgramOutcome(Data):
    """The result of a run, which rules judge. `endings`: of main in each process, then of resume and verify.

    `disturbed`: for each run of main, whether a perturbation excuses an error of it. `leaked`: tasks that
    still run after main has ended. `history`: `run.history` at the end of resume, or of main. `effects`: the
    perturbations that were applied, with their places. `events`: empty unless the run was watched.
    """

    seed: int
    perturbations: tuple[Perturbation, ...]
    endings: tuple[ProgramEnding, ...]
    disturbed: tuple[bool, ...]
    leaked: tuple[str, ...]
    history: Sequence[Any]
    acknowledged: Mapping[Any, Any]
    effects: tuple[str, ...]
    reached: "Reached" = msgspec.field(default_factory=lambda: Reached())
    trace: str = ""
    events: Sequence[ProgramEvent] = ()
    uncompared = ("reached", "events")


class Reached(Data):
    """The points of a run at which perturbations can be applied.

    `step_count`: the steps of main in all processes. `spans`: for each task, the steps before which it could
    be cancelled. `own_tasks`: numbers of the tasks that the program itself made. `calls`: the number of calls
    of each service; `failures`: how each can fail. `sites`: how often each site was reached. `job_count`:
    jobs of executors. `applied_step`: how many steps had run when the first perturbation was applied.
    `has_died`: whether a process died.
    """

    step_count: int = 0
    spans: tuple[range, ...] = ()
    own_tasks: tuple[int, ...] = ()
    calls: Mapping[str, int] = {}
    failures: Mapping[str, Sequence[str]] = {}
    sites: Mapping[str, int] = {}
    job_count: int = 0
    applied_step: int = 0
    has_died: bool = False


def run_case(
    program: Program, perturbations: Sequence[Perturbation] = (), seed: int = 0, *, is_watched: bool = False
) -> ProgramOutcome:
    """Run a program once. Raises BadProgram. `is_watched`: record the events of the run in the outcome."""
    check_program(program, perturbations)
    with silence_dead(), world_of(PlainProcess, seed) as world:
        simulation = Simulation(program, perturbations, seed, world, is_watched)
        try:
            return simulation.run_all()
        finally:
            simulation.discard_tasks()


@contextmanager
def silence_dead() -> Iterator[None]:
    """Print no finalizer errors of coroutines of dead processes until the outermost block ends."""
    before = sys.unraisablehook
    if before is ignore_dead:
        yield
        return
    sys.unraisablehook = ignore_dead
    with freeze_older_objects():
        try:
            yield
        finally:
            if taken_away:
                with keep_quiet():
                    gc.collect()  # else they are finalized later, when their errors are printed
                taken_away.clear()
            sys.unraisablehook = before


@contextmanager
def keep_quiet() -> Iterator[None]:
    """Disable logging and warnings, such as those about coroutines never awaited, until the block ends."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def keep_for_ever(coroutine: Any) -> None:
    """Leak a coroutine that ignores being closed: the finalizer of such a coroutine would never end.

    while True:
        try: await queue.get()          # raises RuntimeError, as no loop runs
        except BaseException: continue
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))


def ignore_dead(error: object) -> None:
    """Ignore the errors of finalizers: the value of `sys.unraisablehook` in `silence_dead`."""


class PlainProcess:
    """The adapter class of a world that runs a program instead of a store."""

    line_by_line = False


class Simulation:
    """One run in progress. `runs`: for each step, the number of the task that ran; -1 for other callbacks."""

    def __init__(
        self, program: Program, perturbations: Sequence[Perturbation], seed: int, world: TargetWorld,
        is_watched: bool,
    ) -> None:  # fmt: skip
        self.program, self.perturbations, self.seed, self.world = program, perturbations, seed, world
        self.loop: Any = world.loop
        self.run = ProgramRun(world.folder, perturbations)
        self.modules = find_state(program)
        world.sites.latency_ms = LATENCY_MS
        self.start_ms, self.events = world.clock.now_ms, list[ProgramEvent]()
        if is_watched:
            self.run.watch = self.note_event
        self.is_watched = is_watched
        self.tasks: list[Any] = []  # also those of dead processes: nothing may finalize them
        self.dead: list[Any] = []  # the memory of dead processes, for the same reason
        self.runs: list[int] = []
        self.endings: list[ProgramEnding] = []
        self.disturbed: list[bool] = []
        self.site_place = ""  # the line of the program at which the site failed
        self.ordered: OrderJobs | None = None
        self.applied_step = 0
        self.left: Any = None  # a copy of the folder, if the process died at a site
        self.cancels = [it for it in perturbations if isinstance(it, CancelTask)]
        self.kills = {it.step: it for it in perturbations if isinstance(it, KillProcess)}
        self.delays = {it.step: it for it in perturbations if isinstance(it, DelayCallback)}
        self.sites = [it for it in perturbations if isinstance(it, FailSite)]
        self.loop.set_task_factory(
            lambda loop, coro, **how: make_task(self.tasks, len(self.runs), coro, loop, how)
        )
        if len(self.sites) > 1:
            raise BadProgram("at most one FailSite or KillAtSite in a case")

    # Processes.

    def run_all(self) -> ProgramOutcome:
        running.append(self.run)
        try:
            ours = {"_exit": self.refuse_exit, "getpid": self.find_pid, "kill": self.send_signal}
            system = patch_names((os, name, function) for name, function in ours.items())
            with computing_at_most(COMPUTING_SECONDS_MAX), self.install_hooks(), system:
                self.run_main()
                self.run_rest()
        except OutOfReach as error:
            raise BadProgram(f"{self.program.name}: {error}, which a simulation does not have") from None
        finally:
            self.run.has_died = True  # code that still runs from here on has no effect
            running.pop()
        if self.run.refused is not None:
            raise self.run.refused
        return self.make_outcome()

    def refuse_exit(self, code: int) -> None:
        self.run.refuse(f"{self.program.name}: ends by os._exit({code}), which would end the simulation too")

    def find_pid(self) -> int:
        """Return the process id of the current process; each new process has another one."""
        return PIDS + self.run.life

    def send_signal(self, pid: int, number: int) -> None:
        """Replace `os.kill`: treat processes of the run as simulated, and signal any other process."""
        if pid == self.find_pid() and number:
            self.run.refuse(f"{self.program.name}: sends signal {number} to its process, which has none")
        elif PIDS < pid < PIDS + self.run.life:
            raise ProcessLookupError(ESRCH, "No such process")
        elif pid != self.find_pid():
            REAL_KILL(pid, number)

    def run_main(self) -> None:
        site = self.sites[0] if self.sites else None
        action = self.die if isinstance(site, KillAtSite) else self.fail_site
        self.world.sites.arm(
            site.site if site else "", site.call if site else 0, action, site.part if site else 0
        )
        self.loop.can_end_early = bool(self.cancels)
        for each in self.perturbations:
            if isinstance(each, OrderJobs):
                self.loop.pick = make_pick(each.order)
                self.loop.pauses.extend(each.pauses)
                self.ordered = each
                self.run.watch("injection", "", str(each))
        while True:
            before = len(self.run.effects)
            self.endings.append(self.drive("main", self.program.main))
            self.disturbed.append(any(each.excuses for each, _ in self.run.effects[before:]))
            if self.endings[-1].how != "died":
                break
            self.restart()
        if self.ordered is not None and self.loop.job_count:
            places = ", ".join(dict.fromkeys(self.loop.paused_at))
            self.run.effects.append((self.ordered, f"paused at {places}" if places else ""))
        self.run.is_quiet = True
        self.calls, self.sites_reached = dict(self.run.calls), dict(self.world.sites.counts)
        self.world.sites.site = self.world.sites.full = ""
        self.loop.pauses.clear()
        self.loop.pick = lambda n: 0
        self.cancels, self.kills, self.delays = [], {}, {}

    def run_rest(self) -> None:
        self.step_count, self.spans = len(self.runs), self.list_spans()
        self.leaked = self.list_leaked() if self.endings[-1].how != "hung" else ()
        for each in self.leaked:
            self.run.watch("end", "", f"goes on after main: {each}")
        self.history = self.run.history
        for what, function in (("resume", self.program.resume), ("verify", self.program.verify)):
            if function is None or self.endings[-1].how == "hung" or self.has_failed():
                continue
            if what == "verify":
                self.restart()
            self.endings.append(self.drive(what, function))
            if what == "resume":
                self.history = self.run.history

    def has_failed(self) -> bool:
        """Return whether the last ending is an error of resume, or one of main that nothing excuses."""
        last = self.endings[-1]
        return last.how == "raised" and (last.what != "main" or not self.disturbed[-1])

    def restart(self) -> None:
        """End the process, and begin a new one on a copy of its folder."""
        self.run.has_died = True
        self.run.folder = self.world.folder = self.left or self.world.copy_folder()
        self.left = None
        self.loop.abandon()
        self.dead += [self.run.state, self.run.history, self.run.scripts, *self.modules.list_contents()]
        self.modules.begin_process()
        self.run.begin_process()
        self.run.watch("process", "", "a new process begins on what the last one left")

    def fail_site(self, error: Exception) -> None:
        self.site_place = show_caller()
        fail(error)

    def die(self, error: Exception) -> None:
        self.site_place = show_caller()
        self.left = self.world.copy_folder()
        self.run.has_died = True
        raise Killed

    def list_spans(self) -> tuple[range, ...]:
        last = {number: step for step, number in enumerate(self.runs, 1)}
        return tuple(range(each.born + 1, last.get(each.number, 0) + 1) for each in self.tasks)

    def discard_tasks(self) -> None:
        """Close tasks that died or hang. Their `finally` blocks run now, too late to change the outcome."""
        with keep_quiet(), self.loop.running():
            for task in self.tasks:
                if task.done():
                    continue
                taken_away.append(task.number)
                coroutine: Any = task.get_coro()
                with suppress(BaseException):
                    coroutine.close()
                if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) != CORO_CLOSED:
                    keep_for_ever(coroutine)
            self.tasks.clear()
            self.dead.clear()
            self.loop.abandon()

    def list_leaked(self) -> tuple[str, ...]:
        """Return the tasks that still run after main has ended and all ready callbacks were run."""
        for _ in range(SETTLING_STEPS):
            if self.loop.is_idle():
                break
            self.step()
        left = [each for each in self.tasks[self.first_task :] if not each.done()]
        return tuple(f"{name_task(each)} at {find_place(each)}" for each in left)

    # Steps.

    @contextmanager
    def install_hooks(self) -> Iterator[None]:
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self.loop._asyncgen_firstiter_hook, self.loop._asyncgen_finalizer_hook)
        try:
            with self.loop.running():
                yield
        finally:
            sys.set_asyncgen_hooks(*before)

    def drive(self, what: Any, function: Main) -> ProgramEnding:
        """Run main, resume or verify until it ends, hangs, or its process dies."""
        self.first_task = len(self.tasks)
        task = self.loop.create_task(begin(function, self.run))
        task.title = what
        try:
            for _ in range(STEPS_MAX):
                if task.done():
                    ending = end_of(what, task, self.world.base)
                    for error in list_errors(ending.error):
                        if isinstance(error, OutOfTime | OutOfReach | BadProgram):
                            raise error
                    forget_frames(ending.error)
                    return ending
                self.step()
            return ProgramEnding(
                what, "hung", Stuck(f"goes on for ever: {STEPS_MAX} steps"), find_place(task)
            )
        except ProcessDied:
            return ProgramEnding(what, "died")
        except Stuck as error:
            return ProgramEnding(what, "hung", error, find_place(task))
        except OutOfTime:
            stuck = Stuck(f"computes for {COMPUTING_SECONDS_MAX} seconds, and does not end")
            return ProgramEnding(what, "hung", stuck, find_place(task))

    def step(self) -> None:
        self.loop.wake_due()
        ready: Any = self.loop.ready
        head = ready[0] if ready and not ready[0].cancelled() else None
        if head is not None:
            self.disturb(len(self.runs) + 1)
            head = ready[0]  # a different callback, if the first was delayed
        with suppress(Killed):  # raised by a job of an executor; a task keeps it as its own error
            self.loop.step()
        if head is not None and not (ready and ready[0] is head):  # else the loop ran a part of a job instead
            self.world.clock.sleep(STEP_SECONDS)
            self.runs.append(getattr(getattr(head._callback, "__self__", None), "number", -1))
            if self.is_watched and self.runs[-1] >= 0:
                self.note_step(self.tasks[self.runs[-1]])
            if self.runs[-1] >= 0 and (task := self.tasks[self.runs[-1]]).done():
                self.tasks[task.number] = EndedTask.of(task)
        self.note_sites()
        if self.run.effects and not self.applied_step:
            self.applied_step = len(self.runs)

    def note_step(self, task: NumberedTask) -> None:
        name = name_task(task)
        if task.done():
            ending = end_of("", task, self.world.base)
            has_died = isinstance(ending.error, Killed)
            self.note_event("end", name, "dies with its process" if has_died else str(ending).strip())
        else:
            place = find_place(task)
            self.note_event("step", name, f"waits at {place}" if place else "waits")

    def note_event(self, kind: EventKind, subject: str, text: str) -> None:
        ms = self.world.clock.now_ms - self.start_ms
        shown = cut(hide_addresses(subject), SUBJECT_CHARS_MAX), cut(hide_addresses(text), TEXT_CHARS_MAX)
        self.events.append(ProgramEvent(ms, len(self.runs), kind, *shown))

    def disturb(self, step: int) -> None:
        """Apply the perturbations of this step before it runs. Raises ProcessDied."""
        if kill := self.kills.pop(step, None):
            main = self.tasks[self.first_task]
            self.apply(kill, f"{name_task(main)} is at {find_place(main) or 'its beginning'}")
            raise ProcessDied
        for cancel in [each for each in self.cancels if each.step == step]:
            self.cancels.remove(cancel)
            of_process = self.tasks[self.first_task :]
            task = of_process[cancel.task] if cancel.task < len(of_process) else None
            if task is not None and not task.done():
                self.apply(cancel, f"{name_task(task)} is at {find_place(task) or 'its beginning'}")
                task.cancel()
        if len(self.loop.ready) > 1 and (delay := self.delays.pop(step, None)):
            self.apply(delay)
            self.loop.ready.insert(delay.by, self.loop.ready.popleft())

    def note_sites(self) -> None:
        """Record that a site has failed. Raises ProcessDied if the process died there."""
        if self.sites and self.world.sites.fired:
            self.apply(self.sites.pop(), "; ".join(filter(None, (self.world.sites.told, self.site_place))))
        if self.left is not None:
            raise ProcessDied

    def apply(self, effect: Perturbation, place: str = "") -> None:
        self.run.effects.append((effect, place))
        self.run.watch("injection", "", show_effect(effect, place))

    def make_outcome(self) -> ProgramOutcome:
        if self.endings[-1].how == "hung":
            self.run.watch("end", "", str(self.endings[-1]))
        effects = (show_effect(each, place) for each, place in self.run.effects)
        digest = blake2b(digest_size=TRACE_BYTES)
        for part in (self.runs, self.run.calls, self.leaked, *self.endings):
            digest.update(hide_addresses(str(part)).encode(errors="backslashreplace"))
        own = tuple(each.number for each in self.tasks[: len(self.spans)] if each.is_own)
        reached = Reached(
            self.step_count,
            self.spans,
            own,
            self.calls,
            self.run.failures,
            self.sites_reached,
            self.loop.job_count,
            self.applied_step,
            any(each.how == "died" for each in self.endings),
        )
        return ProgramOutcome(
            self.seed, tuple(self.perturbations), tuple(self.endings), tuple(self.disturbed), self.leaked,
            self.history, self.run.acknowledged, tuple(effects), reached, digest.hexdigest(),
            self.events,
        )  # fmt: skip


def show_caller() -> str:
    place = find_caller()
    return f"at {place}" if place else ""


def make_pick(order: int) -> Callable[[int], int]:
    """Return a function that picks an index below n, pseudo-random with seed `order`; order 0 picks 0."""
    drawn = random.Random(order)
    return lambda n: drawn.getrandbits(32) % n if order else 0


def list_errors(error: BaseException | None) -> list[BaseException]:
    """Return an error, and if it is a group, the first error in it too."""
    if error is None:
        return []
    return [error, find_first(error)] if isinstance(error, BaseExceptionGroup) else [error]


def forget_frames(error: BaseException | None) -> None:
    """Release what an error that nothing handles any more refers to, such as an open cursor of SQLite."""
    waiting, known = [error], list[BaseException]()
    while waiting:
        each = waiting.pop()
        if each is None or any(each is it for it in known):
            continue
        known.append(each)
        each.__traceback__ = None
        waiting += [each.__cause__, each.__context__]
        waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def end_of(what: Any, task: Any, folder: Path) -> ProgramEnding:
    if task.cancelled():
        return ProgramEnding(what, "cancelled")
    error = task.exception()
    has_ignored = error is None and task.cancelling() > 0
    how: Literal["returned", "raised"] = "returned" if error is None else "raised"
    place = find_raised(error) if error is not None else ""
    return ProgramEnding(what, how, error, has_ignored=has_ignored, folder=str(folder), raised_at=place)

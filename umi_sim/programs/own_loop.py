"""Runs on a real asyncio event loop, with real time and real threads; only cancels can be injected.

Steps are callbacks, counted as in a simulation, so a step means the same there and here unless threads or
sockets take part.
"""

import asyncio
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import Any, Final

from umi_sim.programs.module_state import find_state
from umi_sim.programs.perturbations import CancelTask, Perturbation
from umi_sim.programs.places import find_place, name_task
from umi_sim.programs.program import Main, Program, ProgramRun, begin, check_program
from umi_sim.programs.services import BadProgram, running
from umi_sim.programs.simulation import (
    EndedTask,
    ProgramEnding,
    ProgramOutcome,
    end_of,
    forget_frames,
    make_task,
)
from umi_sim.targets.loop import Stuck

SECONDS_MAX: Final = 10
SETTLING_SECONDS: Final = 1 / 10


class CountingQueue(deque[Any]):
    """The ready callbacks of an event loop. `reach`: called with the number of each before it runs."""

    run_count = 0
    reach: Callable[[int], None]

    def popleft(self) -> Any:
        handle = super().popleft()
        if not handle.cancelled():
            self.run_count += 1
            self.reach(self.run_count)
        return handle


def run_on_asyncio(program: Program, perturbations: Sequence[Perturbation] = ()) -> ProgramOutcome:
    """Run a program once on a real asyncio loop. Raises BadProgram for perturbations except CancelTask."""
    check_program(program, perturbations)
    for each in perturbations:
        if not isinstance(each, CancelTask):
            raise BadProgram(f"{each}: on asyncio's own loop tasks can be cancelled, and nothing else")
    with tempfile.TemporaryDirectory() as folder:
        return OwnLoopRun(program, perturbations, Path(folder)).run_to_end()


class OwnLoopRun:
    """One run on a real asyncio loop. `tasks`: all tasks made so far; each one's number is its index."""

    def __init__(self, program: Program, perturbations: Sequence[Perturbation], folder: Path) -> None:
        self.program, self.perturbations = program, perturbations
        self.run, self.modules = ProgramRun(folder), find_state(program)
        self.cancels = {each.step: each for each in perturbations if isinstance(each, CancelTask)}
        self.tasks: list[Any] = []
        self.effects: list[str] = []

    def run_to_end(self) -> ProgramOutcome:
        loop, endings = self.make_loop(), list[ProgramEnding]()
        running.append(self.run)
        try:
            endings.append(self.drive(loop, "main", self.program.main))
            self.cancels = {}
            self.settle(loop)
            forget_frames(endings[0].error)
            self.tasks[:] = [EndedTask.of(each) if each.done() else each for each in self.tasks]
            left = [f"{name_task(each)} at {find_place(each)}" for each in self.tasks if not each.done()]
            if self.program.resume is not None:
                endings.append(self.drive(loop, "resume", self.program.resume))
            history = self.run.history
            if self.program.verify is not None:
                self.modules.begin_process()
                self.run.begin_process()
                endings.append(self.drive(loop, "verify", self.program.verify))
        finally:
            running.pop()
            self.close(loop)
        return ProgramOutcome(
            0, tuple(self.perturbations), tuple(endings), (bool(self.effects),), tuple(left), history,
            self.run.acknowledged, tuple(self.effects),
        )  # fmt: skip

    def make_loop(self) -> Any:
        loop: Any = asyncio.SelectorEventLoop()
        queue = CountingQueue()
        queue.reach = self.reach
        loop._ready = queue
        loop.set_task_factory(
            lambda loop, coro, **how: make_task(self.tasks, queue.run_count, coro, loop, how)
        )
        loop.set_exception_handler(lambda loop, context: None)
        return loop

    def reach(self, step: int) -> None:
        cancel = self.cancels.get(step)
        if cancel is not None and cancel.task < len(self.tasks) and not self.tasks[cancel.task].done():
            task = self.tasks[cancel.task]
            self.effects.append(f"{cancel}; {name_task(task)} is at {find_place(task) or 'its beginning'}")
            task.cancel()

    def drive(self, loop: Any, what: Any, function: Main) -> ProgramEnding:
        task = loop.create_task(begin(function, self.run))
        task.title = what
        timer = loop.call_later(SECONDS_MAX, loop.stop)
        task.add_done_callback(self.stop)
        loop.run_forever()
        timer.cancel()
        task.remove_done_callback(self.stop)
        if task.done():
            return end_of(what, task, self.run.folder)
        return ProgramEnding(
            what, "hung", Stuck(f"does not end within {SECONDS_MAX} seconds"), find_place(task)
        )

    def settle(self, loop: Any) -> None:
        """Run what is ready, and what threads deliver. Timers stand still, as they do in a simulation."""
        now = loop.time()
        loop.time = lambda: now
        Timer(SETTLING_SECONDS, loop.call_soon_threadsafe, [loop.stop]).start()
        loop.run_forever()
        del loop.time

    def stop(self, task: Any) -> None:
        task.get_loop().stop()

    def close(self, loop: Any) -> None:
        for task in [each for each in self.tasks if not each.done()]:
            task.cancel()
        loop.run_until_complete(asyncio.sleep(SETTLING_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

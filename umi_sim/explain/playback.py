"""Playback: a recorded run, stopped after any of its steps, by running it again up to there.

Law 1. A step is a call of the memory, numbered as in failures. Going back is as exact as going forward.
Law 2. Watching changes nothing: a watched run has the same trace as an unwatched one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from umi_core.data import Data
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect
from umi_sim.explain.records import event_of, is_step
from umi_sim.judge.inspector import Inspector
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record.items import Item
from umi_sim.record.run_config import RunConfig
from umi_sim.record.state_tree import MISSING, NoSuchPath, Tree, parts_of, tree_at
from umi_sim.record.trace import Record, Tag, Trace, decode
from umi_sim.record.trace_fields import TAG
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.runs.runner import Run, begin_run, finish_run, run_once
from umi_sim.services.storage import SimStorage

HIDDEN: Final = ("config", "memory", "surroundings")  # fields of the oracle that `oracle` does not show


class Stop(BaseException):
    """The step was reached. A BaseException, so that no `except Exception` in the run catches it."""


class PausedRun(Data):
    """A run right after a step: its state before the step, the run itself, and the records since the
    previous step.

    `failure` is set if the run failed in the step.
    """

    before: Tree
    run: Run
    records: Sequence[Record]
    failure: Failure | None


class Course(Data):
    """A whole run: the event of each step from step 1 on, the step that sent each effect, and the failure."""

    events: Sequence[str]
    sent: Mapping[str, int]
    failure: Failure | None


class Watcher(Inspector):
    """An inspector with callbacks before and after each step."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self.begins: Callable[[], None] = lambda: None
        self.ends: Callable[[], None] = lambda: None

    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None:
        self.begins()
        super().stepping(agent, machine, value, reading_ms)

    def observe_step(
        self, agent: str, machine: Machine, storage: SimStorage, value: Value, effects: Sequence[Effect]
    ) -> None:
        super().observe_step(agent, machine, storage, value, effects)
        self.ends()


class Playback(Data):
    """A run that can be repeated from its configuration and items; None draws the items from the seed."""

    config: RunConfig
    items: Sequence[Item] | None = None

    @contextmanager
    def begin(self) -> Iterator[tuple[Run, Watcher]]:
        """Set up the run before its first step; a planted bug is in its memory until the block ends."""
        watcher = Watcher(self.config)
        with begin_run(self.config, self.items, inspector=watcher, keep_trace=True) as run:
            yield run, watcher

    def run_to_end(self) -> tuple[Verdict, Trace]:
        """Run to the end and keep the trace."""
        return run_once(self.config, self.items, keep_trace=True)

    def course(self) -> Course:
        """Run to the end and return what happened in each step."""
        verdict, trace = self.run_to_end()
        events: list[str] = []
        sent: dict[str, int] = {}
        for record in map(decode, trace.kept):
            if is_step(record):
                events.append(event_of(record))
            elif record[TAG] == Tag.EFFECT:
                sent.setdefault(str(record[3]), len(events))
        return Course(events, sent, verdict.failure)

    def at(self, step: int, path: str = "") -> PausedRun:
        """Run until this step has ended, or to the end. `path`: the part of the earlier state to keep."""
        before: list[Tree] = []
        first = 0

        def begins() -> None:
            # Step 0 is the world before its first step, so stop when the first step begins.
            if step == 0:
                raise Stop
            if run.world.step_count == step:
                before.append(look(run, path))

        def ends() -> None:
            nonlocal first
            if run.world.step_count == step:
                raise Stop
            # Records from here on belong to the requested step: whatever
            # was sent, moved or injected since the previous step ended.
            if run.world.step_count == step - 1:
                first = run.world.trace.record_count

        with self.begin() as (run, watcher):
            watcher.begins, watcher.ends = begins, ends
            failure = run_until_stop(run)
        # If no state was kept, the step does not exist: it is 0 or beyond the end of the run.
        records = [decode(record) for record in list(run.world.trace.kept)[first:]] if before else []
        return PausedRun(before[0] if before else None, run, records, failure)

    def first_change(self, path: str, after: int) -> int | None:
        """Find the first step after step `after` that changes the value at a path; None if none does."""
        seen: list[Tree] = []
        found: list[int] = []

        def begins() -> None:
            if after == 0 and not seen:  # no step 0 ever ends, so look before step 1 begins
                seen.append(look_or_missing(run, path))

        def ends() -> None:
            step = run.world.step_count
            if step < after:
                return
            now = look_or_missing(run, path)
            # Compare with the value seen at step `after`, or before step 1 if `after` is 0.
            if seen and step > after and now != seen[-1]:
                found.append(step)
                raise Stop
            seen.append(now)

        with self.begin() as (run, watcher):
            watcher.begins, watcher.ends = begins, ends
            run_until_stop(run)
        return found[0] if found else None


def run_until_stop(run: Run) -> Failure | None:
    """Run until Stop is raised, or to the end."""
    try:
        return finish_run(run)
    except Stop:
        return None


# The state at an instant.


def look(run: Run, path: str = "") -> Tree:
    """Return a copy of a part of the run's present state; the empty path means all. Raises NoSuchPath."""
    return tree_at(roots(run), path)


def roots(run: Run) -> dict[str, object]:
    """Return the objects that paths start from, by name."""
    world = run.world
    memories = {name: memory_of(agent.machine) for name, agent in world.agents.items()}
    states = {name: memory and memory.state for name, memory in memories.items()}
    clocks = {name: agent.clock.reading(world.now_ms) for name, agent in world.agents.items()}
    flying = {name: dict(agent.in_flight) for name, agent in world.agents.items()}
    now = {"now_ms": world.now_ms, "clocks": clocks, "in_flight": flying, "is_healed": world.is_healed}
    oracle = {name: part for name, part in parts_of(run.inspector.oracle) if name not in HIDDEN}
    whole = {"memory": states, "storage": world.services.storage, "oracle": oracle}
    return {**whole, "world": now, "config": run.config}


def look_or_missing(run: Run, path: str) -> Tree:
    try:
        return look(run, path)
    except NoSuchPath:
        return MISSING

"""Repeats a run for a page, and returns its steps with their arrows and changes of state.

Law 1. Observation does not change the run: it is the same as a replay of the same file.
Law 2. A page has at most STEP_COUNT_MAX steps, the last ones, and the number of all steps.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from umi_core.data import Data
from umi_sim.explain.playback import Playback, look, run_until_stop
from umi_sim.explain.records import event_of, is_step
from umi_sim.pages.lanes import ANSWER, Arrow, Lanes, line
from umi_sim.pages.states import ROOTS, Delta, States
from umi_sim.record.trace import Record, Tag, decode
from umi_sim.record.trace_fields import TAG
from umi_sim.record.verdict import Failure

STEP_COUNT_MAX: Final = 400
NOTHING: Final = Delta()


class PageStep(Data):
    """One step of a memory. `ms`: the time of the world; `reading_ms`: the time of the agent's clock."""

    number: int
    ms: int
    agent: str
    reading_ms: int
    event: str
    arrows: tuple[Arrow, ...]
    delta: Delta = NOTHING


class PageRun(Data):
    """A whole run, or its last steps. `base`: the state before the first of these.

    `failure`: the failure that ended the run, if any. `states`: None if no states were read.
    """

    lanes: tuple[str, ...]
    steps: tuple[PageStep, ...]
    step_count: int
    base: Delta = NOTHING
    states: States | None = None
    failure: Failure | None = None


def play_steps(playback: Playback, roots: Sequence[str] = ROOTS, first: int = 1) -> PageRun:
    """Return the run from step `first` on, with the states below these roots; without roots, no states."""
    states, ends, deltas = States(tuple(roots)), list[int](), list[Delta]()
    with playback.begin() as (run, watcher):

        def keep() -> None:
            ends.append(run.world.trace.record_count)
            # States are read from the step before the first one shown,
            # because the changes of a step are those since the previous one.
            is_shown = roots and len(ends) >= first - 1
            deltas.append(states.look(partial(look, run)) if is_shown else NOTHING)

        deltas.append(states.look(partial(look, run)) if roots and first == 1 else NOTHING)
        watcher.ends = keep
        failure = run_until_stop(run)
        if run.world.step_count > len(ends):  # the step that failed has not ended
            keep()
        records = [decode(record) for record in run.world.trace.kept]
    lanes = Lanes.of([agent.name for agent in playback.config.agents], playback.items or ())
    # The last step also gets the records after it, because the end of the run is no step.
    chunks = list(split_records(records, [*ends[:-1], len(records)]))
    arrows = [tuple(lanes.arrows(each)) for each in chunks]
    each_step = zip(chunks, arrows, deltas[1:], strict=True)
    steps = [step_of(number, *parts) for number, parts in enumerate(each_step, 1)]
    shown = tuple(step for step in steps if step.number >= first)
    return PageRun(
        tuple(lanes.names), shown, len(steps), deltas[first - 1], states if roots else None, failure
    )


def split_records(records: Sequence[Record], ends: Sequence[int]) -> Iterator[list[Record]]:
    """Yield the records of each step. `ends`: the number of records after each step.

    The record of a fault on a question is yielded with the step that asked the question.
    """
    start, late = 0, list[Record]()
    for end, after in zip(ends, [*ends[1:], ends[-1]], strict=True):
        #   records   STEP 1, EFFECT, | FAULT on that effect, STEP 2 ...
        #   step 1    STEP 1, EFFECT, FAULT        the fault is recorded when the call arrives, which is later
        mine = [record for record in records[start:end] if record not in late]
        late = [record for record in records[end:after] if strikes_question(record)]
        yield mine + late
        start = end


def strikes_question(record: Record) -> bool:
    # "o7/commit#1" is a question, "o7/commit#1/answer" its answer, "o7" alone a request.
    return record[TAG] == Tag.FAULT and "#" in str(record[5]) and ANSWER not in str(record[5])


def step_of(number: int, records: Sequence[Record], arrows: tuple[Arrow, ...], delta: Delta) -> PageStep:
    taken = next((record for record in records if is_step(record)), None)
    if taken is None:
        last_ms = records[-1][1] if records else 0
        return PageStep(number, last_ms if isinstance(last_ms, int) else 0, "", 0, "", arrows, delta)
    # Fields of OP: item, agent, reading, ...; of STEP: agent, reading, ...
    places = (4, 5) if taken[TAG] == Tag.OP else (3, 4)
    agent, reading_ms = (taken[place] for place in places)
    assert isinstance(taken[1], int)
    assert isinstance(reading_ms, int)
    return PageStep(number, taken[1], line(agent), reading_ms, line(event_of(taken)), arrows, delta)

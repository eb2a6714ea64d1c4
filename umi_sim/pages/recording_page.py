"""The page of a recording: repeats the recorded run of a live memory."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shlex import join
from typing import Final

import msgspec
from msgspec import structs

from umi_core.data import Owner, list_fields
from umi_core.memory import Memory
from umi_core.messages.answers import Wake
from umi_core.messages.effects import Effect, Reply
from umi_core.messages.requests import REQUESTS, Request
from umi_core.recordings import RecordedStep, RecordingHead
from umi_sim.pages.lanes import ANSWER, Lanes
from umi_sim.pages.lives import NOTHING, PageRun, step_of
from umi_sim.pages.page_data import About, page_data
from umi_sim.pages.states import States
from umi_sim.record.items import Op
from umi_sim.record.state_tree import Tree, tree_at
from umi_sim.record.trace import Record, Tag, Trace, decode
from umi_sim.record.trace_fields import answer_fields, effect_fields, outcome_fields
from umi_sim.runs import recorded

AGENT: Final = "a"
WAKE: Final = "wake"
UNKNOWN: Final = ("", "unknown")  # the label of an answer without a question in flight


def data_of(file: str, head: RecordingHead, steps: Sequence[RecordedStep]) -> dict[str, object]:
    """Return all data of the page."""
    done = recorded.run_recording(head, steps)
    scope = f"{head.scope.user}/{head.scope.agent}"
    facts = [("told", done.message)] if done.failure else []
    if done.differs_at is not None:
        facts.append(("differs", f"step {done.differs_at} gives other effects than were recorded"))
    about = About(
        f"recording {Path(file).name} of {scope}" + (f": {done.failure}" if done.failure else ""),
        join(["umi-sim", "replay", file]), "FAIL" if done.failure else "PASS", tuple(facts),
        rule=done.failure,
    )  # fmt: skip
    return page_data(about, partial(play_recording, head, done.steps), len(done.steps))


def play_recording(
    head: RecordingHead, steps: Sequence[RecordedStep], roots: Sequence[str], first: int
) -> PageRun:
    """Return the run from step `first` on; if there are roots, with states of the memory."""
    memory, telling, states = Memory(head.scope, head.config), Telling(), States(("memory",))
    lanes, found = Lanes.of([AGENT]), []
    start_ms = steps[0].now_ms if steps else 0
    base = states.look(partial(look, memory)) if roots else NOTHING
    for number, taken in enumerate(steps, 1):
        records = telling.records(memory, taken, taken.now_ms - start_ms)
        if isinstance(taken.value, Request):
            lanes.knows(item_of(taken.value))
        arrows = tuple(lanes.arrows(records))
        delta = states.look(partial(look, memory)) if roots and number >= first - 1 else NOTHING
        # Each look returns the changes since the previous one, so the
        # look at step first - 1 contains the changes of all steps before.
        if number < first:
            base = delta
            continue
        found.append(step_of(number, records, arrows, delta))
    return PageRun(tuple(lanes.names), tuple(found), len(steps), base, states if roots else None)


def look(memory: Memory, _: str) -> Tree:
    return tree_at({AGENT: memory.state})


class Telling(Owner):
    """Writes the steps of a recording as records, like those of a run in the simulator."""

    questions: recorded.Questions = msgspec.field(default_factory=recorded.Questions)

    def records(self, memory: Memory, taken: RecordedStep, world_ms: int) -> list[Record]:
        trace = Trace(keep_all=True)
        trace.world_ms = world_ms
        # The input is written before the step, as in a run (law 4 of world.py), in case the memory raises.
        self.tell_value(trace, taken)
        try:
            effects = memory.step(taken.now_ms, taken.value)
        except Exception as error:  # any exception is one of the memory
            trace.add(Tag.MARK, f"{type(error).__name__}: {error}")
            effects = ()
        self.questions.learn(memory)
        for effect in effects:
            self.tell_effect(trace, effect)
        return list(map(decode, trace.kept))

    def tell_value(self, trace: Trace, taken: RecordedStep) -> None:
        value, now_ms = taken.value, taken.now_ms
        if isinstance(value, Request):
            asked = [field for name, field in structs.asdict(value).items() if name != "op_id"]
            trace.add(Tag.OP, str(value.op_id), AGENT, now_ms, name_of(value), asked)
        elif isinstance(value, Wake):
            trace.add(Tag.STEP, AGENT, now_ms, "Wake", WAKE)
        else:
            event = f"{self.name_of(value.request_id)}{ANSWER}"
            trace.add(Tag.ANSWER, event, *answer_fields(value))
            trace.add(Tag.STEP, AGENT, now_ms, type(value).__name__, event)

    def tell_effect(self, trace: Trace, effect: Effect) -> None:
        if isinstance(effect, Reply):
            trace.add(Tag.REPLY, str(effect.op_id), *outcome_fields(effect.outcome))
        else:
            trace.add(Tag.EFFECT, self.name_of(effect.request_id), *effect_fields(effect))

    def name_of(self, request_id: int) -> str:
        """Name a question by its operation and number: 7#2, or recover:1#2 of background work."""
        (workflow, op_id), count = self.questions.labels.get(request_id, (UNKNOWN, request_id))
        return f"{workflow}{':' if workflow else ''}{op_id}#{count}"


def item_of(request: Request) -> Op:
    """Return a request as an item, without fields that have their default value."""
    args = {
        field.name: getattr(request, field.name)
        for field in list_fields(type(request))
        if field.name != "op_id" and getattr(request, field.name) != field.default
    }
    return Op(str(request.op_id), 0, AGENT, name_of(request), args)


def name_of(request: Request) -> str:
    return next(name for name, kind in REQUESTS.items() if kind is type(request))

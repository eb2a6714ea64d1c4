"""Recordings of a live memory, run again with every invariant after every step, and a trace hash.

Law 1. Two runs of one recording have the same trace hash, and the recorded effects at each step.
Law 2. An answer belongs to the n-th question of an operation. If a request was removed from a recording, the
answers to its questions are dropped, and the other answers get the question numbers of this run.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import structs

from umi_core.codec import encode
from umi_core.data import Data, Owner
from umi_core.errors import Rejected
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Value, Wake
from umi_core.messages.effects import Effect, Reply
from umi_core.messages.requests import Request
from umi_core.recordings import RecordedStep, RecordingHead, digest_of, read_recording
from umi_sim.judge.state import before_step, check_memory, check_step_result
from umi_sim.record.broken import Broken
from umi_sim.record.saved_failures import write_whole

# A check of the whole memory costs more than the steps in between; the rules of a step run at every step.
CHECK_EVERY: Final = 64
CRASH: Final = "crash"

Name = tuple[str, int | str]  # of an operation: ("", id of its request), or (workflow, number of its run)
Label = tuple[Name, int]  # an operation, and the number of a question within it


class BadRecording(Exception):
    """The file cannot be read; the text is one line."""


class RecordingRun(Data):
    """The result of running a recording. `failure`: the first broken rule, or `crash`; `message`: details.

    `differs_at`: the first step whose effects differ from the recorded ones. `steps`: the steps of this run,
    without answers to questions that it never asked.
    """

    steps: tuple[RecordedStep, ...]
    trace: str
    request_count: int
    failure: str = ""
    message: str = ""
    differs_at: int | None = None


class Questions(Owner):
    """The questions of one run: which question of which operation each request id stands for."""

    labels: dict[int, Label] = {}
    counts: dict[str | Name, int] = {}
    names: dict[int, Name] = {}

    def learn(self, memory: Memory) -> None:
        for request_id, operation in memory.in_flight.items():
            if request_id not in self.labels:
                if operation.number not in self.names:
                    self.names[operation.number] = self.name_of(operation.op_id, operation.workflow)
                name = self.names[operation.number]
                # Request ids change when a recording is reduced, labels do not:
                #   recorded     o1 asks 1, o2 asks 2    2 -> (("", "o2"), 1)
                #   without o1   o2 asks 1               1 -> (("", "o2"), 1)
                self.labels[request_id] = (name, self.count(name))

    def name_of(self, op_id: int | str | None, workflow: str) -> Name:
        """Return the name of an operation: its id, or for background work its workflow and run number."""
        # ("", "o7") for a request, ("rebalance", 3) for the third background run of a workflow.
        return (workflow, self.count(workflow)) if op_id is None else ("", op_id)

    def count(self, name: str | Name) -> int:
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.counts[name]


def read(path: Path) -> tuple[RecordingHead, tuple[RecordedStep, ...]]:
    """Read a recording. Raises BadRecording."""
    try:
        return read_recording(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecording(f"{path}: cannot be read: {error}") from None
    except Rejected as rejected:
        raise BadRecording(f"{path}: {rejected}") from None


def write(path: Path, head: RecordingHead, steps: Sequence[RecordedStep]) -> None:
    """Write a recording atomically: after a crash the file is the old one or the new one."""
    write_whole(path, "\n".join([head.line(), *(step.line() for step in steps), ""]).encode())


def drop_digest(step: RecordedStep) -> RecordedStep:
    """Return a step without the digest of its effects."""
    return structs.replace(step, digest="")


def labels_of(head: RecordingHead, steps: Sequence[RecordedStep]) -> list[Label | None]:
    """Return for each step the label of the question that it answers; None for no answer or a late one."""
    memory, questions, found = Memory(head.scope, head.config), Questions(), list[Label | None]()
    for step in steps:
        value, asked = step.value, memory.in_flight
        if isinstance(value, Answer) and value.request_id in asked:
            found.append(questions.labels[value.request_id])
        else:
            found.append(None)
        try:
            memory.step(step.now_ms, step.value)
        except Exception:
            break
        questions.learn(memory)
    return found + [None] * (len(steps) - len(found))


def run_recording(
    head: RecordingHead, steps: Sequence[RecordedStep], labels: Sequence[Label | None] | None = None
) -> RecordingRun:
    """Run step by step until a rule is broken. `labels`: the questions of answers of a reduced recording."""
    memory, questions = Memory(head.scope, head.config), Questions()
    hashed, taken, differs_at, request_count = blake2b(digest_size=16), list[RecordedStep](), None, 0
    failure = message = ""
    for number, step in enumerate(steps):
        value = step.value if labels is None else fit_value(step.value, labels[number], questions, memory)
        if value is None:
            continue
        taken.append(RecordedStep(step.now_ms, value, step.digest))
        request_count += isinstance(value, Request)
        try:
            effects = checked_step(memory, step.now_ms, value, is_full=len(taken) % CHECK_EVERY == 0)
        except Broken as broken:
            failure, message = broken.rule, f"{broken.message}: expected {broken.expected}, got {broken.got}"
            break
        except Exception as error:  # any exception of the memory is a finding
            failure, message = CRASH, f"{type(error).__name__}: {error}"
            break
        questions.learn(memory)
        hashed.update(encode(effects))
        # Only the first difference is informative: later steps may differ because of it. It is no failure by
        # itself, since another version may have made the recording.
        if step.digest and differs_at is None and digest_of(effects) != step.digest:
            differs_at = len(taken)
    # The last full check may be up to 63 steps old.
    if not failure:
        failure, message = last_look(memory)
    return RecordingRun(tuple(taken), hashed.hexdigest(), request_count, failure, message, differs_at)


def fit_value(value: Value, label: Label | None, questions: Questions, memory: Memory) -> Value | None:
    """Return the value with the ids of this run; None for an answer whose question this run never asked."""
    if isinstance(value, Request | Wake):
        return value
    # An answer without a label came too late when it was recorded, so it is dropped.
    for request_id in memory.in_flight if label is not None else ():
        if questions.labels[request_id] == label:
            return structs.replace(value, request_id=request_id)
    return None


def checked_step(memory: Memory, now_ms: int, value: Value, is_full: bool) -> tuple[Effect, ...]:
    """Take one step and check every rule on it. Raises Broken, and any exception of the memory."""
    before = before_step(memory.state)
    effects = memory.step(now_ms, value)
    replies = [it for it in effects if isinstance(it, Reply)]
    check_step_result(before, value, memory.state, memory.registry, replies)
    if is_full:
        check_memory(memory.state)
    return effects


def last_look(memory: Memory) -> tuple[str, str]:
    try:
        check_memory(memory.state)
    except Broken as broken:
        return broken.rule, broken.message
    return "", ""

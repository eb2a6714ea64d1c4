"""A whole life again: afresh, and with a memory that is made anew from its bytes again and again.

Law 1. What a memory does follows from its inputs alone (E-REPLAY), and from its bytes alone (E-RESTORE).
Law 2. A copy of a large memory is followed by steps without one: what copies cost grows with the steps of a
       life, and not with their square.
"""

from contextlib import suppress
from typing import Final

from umi_core.errors import Rejected
from umi_core.messages.answers import Value
from umi_core.recordings import RecordingHead, Taken, digest_line, digest_of, read_recording
from umi_sim.judge.equivalences.lives import RecordedLife, copy_saved, follow, shorten_value
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

COPY_STEPS: Final = 6
STEP_BYTES: Final = 512
"""A copy costs as much as six steps, and as one for each 512 bytes; so many steps follow it without a copy."""
NO_BYTES: Final = (KeyError, UnicodeEncodeError, OverflowError)  # what a value without bytes raises


def read_back_inputs(life: RecordedLife) -> list[Value]:
    """Return the inputs as the recording of a life has them; one without bytes is left out of it."""
    values, numbers = [step.value for step in life.steps], list[int]()
    head = RecordingHead(life.scope, life.config)
    lines, digests = [head.line()], list[str]()
    for number, step in enumerate(life.steps):
        with suppress(*NO_BYTES):
            lines += [Taken(step.now_ms, step.value).line(), digest_line(step.effects)]
            digests.append(digest_of(step.effects))
            numbers.append(number)
    try:
        inputs, taken = read_recording("\n".join(lines))
    except Rejected as refused:
        raise Broken(rules.REPLAY_INPUTS, f"its recording cannot be read: {refused}") from refused
    got = inputs, [it.digest for it in taken], [it.now_ms for it in taken]
    due = head, digests, [life.steps[number].now_ms for number in numbers]
    demand(got == due, rules.REPLAY_INPUTS, "its recording tells another life", due, got)
    for number, it in zip(numbers, taken, strict=True):
        values[number] = it.value
    return values


def compare_replay(life: RecordedLife) -> int:
    """Run E-REPLAY: the inputs of a life, as its recording tells them, into a fresh memory."""
    memory, values = life.create_memory(), read_back_inputs(life)
    for number, (step, value) in enumerate(zip(life.steps, values, strict=True)):
        follow(memory, step)
        effects = memory.step(step.now_ms, value)
        if effects != step.effects:
            what = f"the inputs again: step {number}, {step.name}, has other effects"
            raise Broken(rules.REPLAY_INPUTS, what, shorten_value(step.effects), shorten_value(effects))
    if memory.digest() != life.digest:
        raise Broken(rules.REPLAY_INPUTS, "the inputs again end in another state", life.digest.hex())
    return len(life.steps)


def compare_restored(life: RecordedLife) -> int:
    """Run E-RESTORE: its inputs into a memory made anew from its bytes as often as Law 2 allows."""
    memory, copied_at, next_at = life.create_memory(), 0, 0
    for number, step in enumerate(life.steps):
        follow(memory, step)
        if number == next_at:
            memory, size_bytes = copy_saved(memory)
            # a copy of 5,000 bytes before step 7: the next one is made before step 23
            copied_at, next_at = number, number + 1 + COPY_STEPS + size_bytes // STEP_BYTES
        effects = memory.step(step.now_ms, step.value)
        what = f"made anew before step {copied_at}, it in step {number}, {step.name},"
        rule = rules.COPIED_STATE_CONTINUES
        if effects != step.effects:
            raise Broken(
                rule, f"{what} has other effects", shorten_value(step.effects), shorten_value(effects)
            )
        if memory.deadline_ms() != step.deadline_ms:
            raise Broken(rule, f"{what} wakes at another time", step.deadline_ms, memory.deadline_ms())
    if memory.digest() != life.digest:
        raise Broken(rules.COPIED_STATE_CONTINUES, "made anew again and again, it ends as another memory")
    return len(life.steps)

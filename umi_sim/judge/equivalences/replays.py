"""A whole life again: from the beginning, and with a memory that is restored from its bytes again and again.

Law 1. What a memory does follows from its inputs alone (E-REPLAY), and from its bytes alone (E-RESTORE).
Law 2. The larger a memory, the more steps follow without a restore, so the cost of all restores grows with
the steps of a life, and not with their square.
"""

from contextlib import suppress
from typing import Final

from umi_core.errors import Rejected
from umi_core.messages.answers import Value
from umi_core.recordings import RecordedStep, RecordingHead, digest_line, digest_of, read_recording
from umi_sim.judge.equivalences.lives import RecordedLife, copy_saved, shorten_value, use_tables
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

COPY_STEPS: Final = 6
STEP_BYTES: Final = 512
"""A copy costs as much as COPY_STEPS steps and one more for each STEP_BYTES bytes, so as many steps follow it
without a copy."""
NO_BYTES: Final = (KeyError, UnicodeEncodeError, OverflowError)  # raised by values that cannot be encoded


def read_back_inputs(life: RecordedLife) -> list[Value]:
    """Return the inputs of a life, read back from its recording unless they cannot be encoded."""
    values, numbers = [step.value for step in life.steps], list[int]()
    head = RecordingHead(life.scope, life.config)
    lines, digests = [head.line()], list[str]()
    for number, step in enumerate(life.steps):
        with suppress(*NO_BYTES):
            lines += [RecordedStep(step.now_ms, step.value).line(), digest_line(step.effects)]
            digests.append(digest_of(step.effects))
            numbers.append(number)
    try:
        inputs, taken = read_recording("\n".join(lines))
    except Rejected as refused:
        raise Broken(rules.REPLAY_INPUTS, f"the recording of a life cannot be read: {refused}") from refused
    got = inputs, [it.digest for it in taken], [it.now_ms for it in taken]
    expected = head, digests, [life.steps[number].now_ms for number in numbers]
    demand(got == expected, rules.REPLAY_INPUTS, "the recording of a life, read back", expected, got)
    for number, it in zip(numbers, taken, strict=True):
        values[number] = it.value
    return values


def compare_replay(life: RecordedLife) -> int:
    """Run E-REPLAY: give the inputs in the recording of a life to a new memory."""
    memory, values = life.create_memory(), read_back_inputs(life)
    for number, (step, value) in enumerate(zip(life.steps, values, strict=True)):
        use_tables(memory, step)
        effects = memory.step(step.now_ms, value)
        if effects != step.effects:
            message = f"the effects of step {number}, {step.name}, in a replay"
            raise Broken(rules.REPLAY_INPUTS, message, shorten_value(step.effects), shorten_value(effects))
    if memory.digest() != life.digest:
        expected, got = life.digest.hex(), memory.digest().hex()
        raise Broken(rules.REPLAY_INPUTS, "the digest of the state after a replay", expected, got)
    return len(life.steps)


def compare_restored(life: RecordedLife) -> int:
    """Run E-RESTORE: give the inputs to a memory that is restored from its bytes as often as law 2 allows."""
    memory, copied_at, next_at = life.create_memory(), 0, 0
    for number, step in enumerate(life.steps):
        use_tables(memory, step)
        if number == next_at:
            memory, size_bytes = copy_saved(memory)
            # After a copy of 5,000 bytes before step 7 the next one is made before step 23.
            copied_at, next_at = number, number + 1 + COPY_STEPS + size_bytes // STEP_BYTES
        effects = memory.step(step.now_ms, step.value)
        what, rule = f"step {number}, {step.name}, restored before {copied_at}", rules.COPIED_STATE_CONTINUES
        if effects != step.effects:
            expected, got = shorten_value(step.effects), shorten_value(effects)
            raise Broken(rule, f"the effects of {what}", expected, got)
        if memory.deadline_ms() != step.deadline_ms:
            raise Broken(rule, f"the deadline after {what}", step.deadline_ms, memory.deadline_ms())
    if memory.digest() != life.digest:
        message = "a memory that was restored again and again ends in another state"
        raise Broken(rules.COPIED_STATE_CONTINUES, message)
    return len(life.steps)

"""A whole life again: afresh, and with a memory made anew from its bytes after every step.

Law 1. What a memory does follows from its inputs alone (E-REPLAY), and from its bytes alone (E-RESTORE).
"""

from umi_core.invariants.broken import Broken
from umi_sim.judge.equivalences.lives import Life, copied, follow, told
from umi_sim.record import rules


def replayed(life: Life) -> int:
    """E-REPLAY: the inputs of a life into a fresh memory."""
    memory = life.born()
    for number, step in enumerate(life.steps):
        follow(memory, step)
        effects = memory.step(step.now_ms, step.value)
        if effects != step.effects:
            what = f"the inputs again: step {number}, {step.name}, has other effects"
            raise Broken(rules.REPLAY_INPUTS, what, told(step.effects), told(effects))
    if memory.digest() != life.digest:
        raise Broken(rules.REPLAY_INPUTS, "the inputs again end in another state", life.digest.hex())
    return len(life.steps)


def restored(life: Life) -> int:
    """E-RESTORE: the inputs of a life into a memory that is made anew from its bytes before each of them."""
    memory = life.born()
    for number, step in enumerate(life.steps):
        follow(memory, step)
        memory = copied(memory)
        effects = memory.step(step.now_ms, step.value)
        what = f"made anew before step {number}, {step.name}, it"
        rule = rules.COPIED_STATE_CONTINUES
        if effects != step.effects:
            raise Broken(rule, f"{what} has other effects", told(step.effects), told(effects))
        if memory.deadline_ms() != step.deadline_ms:
            raise Broken(rule, f"{what} wakes at another time", step.deadline_ms, memory.deadline_ms())
    if memory.digest() != life.digest:
        raise Broken(rules.COPIED_STATE_CONTINUES, "made anew again and again, it ends as another memory")
    return len(life.steps)

"""Beginnings: whatever a memory is given first, a request as well as a wake, it begins to recover at once.

Law 1. It is tried with a second memory like the one whose life begins, which is then dropped. What that one
raises the life itself will raise, and there it is reported with what led to it.
"""

from umi_core.memory import Memory
from umi_core.messages.effects import Read, Reply
from umi_core.messages.requests import Len
from umi_core.workflows import BUILT_IN
from umi_sim.record import rules
from umi_sim.record.broken import demand


def check_beginning(memory: Memory) -> None:
    """Demand that a request of the working tier is answered at once, and that recovery begins."""
    state = memory.state
    try:
        asked = Memory(state.scope, state.config, BUILT_IN).step(0, Len("first"))
    except Exception:
        return
    got = [type(effect).__name__ for effect in asked]
    due = [Read.__name__, Reply.__name__]
    demand(sorted(got) == due, rules.PROGRESS, "a memory that is given a request first", due, got)

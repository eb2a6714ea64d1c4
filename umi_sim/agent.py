"""Agents of a world, what is on its way between them and the services, and who watches.

An agent is one memory with its clock and what it is about to do; it has no memory while it is down.
"""

from collections import Counter, deque
from typing import Final, Protocol

import attrs

from umi_core.effects import Done, Effect, Failed, Outcome, Refused, Reply, Unknown
from umi_core.inputs import Answer, Request, Value
from umi_core.memory import Memory
from umi_sim.clock import SimClock
from umi_sim.items import ClockMove, Op
from umi_sim.run_config import AgentConfig
from umi_sim.services import Call, Flush
from umi_sim.storage import SimStorage


class Judge(Protocol):
    """What sees a run and says when a promise is broken, by raising Broken."""

    def issued(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None: ...
    def answered(self, call: Call, answer: Answer, reading_ms: int) -> None: ...
    def woken(self, agent: str, reading_ms: int) -> object: ...
    def replied(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None: ...
    def crashed(self, agent: str) -> None: ...
    def stepping(self, agent: str, memory: Memory, value: Value, reading_ms: int) -> None: ...
    def stepped(
        self, agent: str, memory: Memory, storage: SimStorage, value: Value, effects: tuple[Effect, ...]
    ) -> None: ...


@attrs.define
class Agent:
    """One memory with its clock and what it is about to do."""

    name: str
    config: AgentConfig
    clock: SimClock
    memory: Memory | None = None
    life: int = 0
    wake_ms: int | None = None
    pending: deque[Op | ClockMove] = attrs.field(factory=deque)
    in_flight: dict[str, str] = attrs.field(factory=dict)
    wake_count: int = 0
    spin_count: int = 0
    restart_ms: int | None = None


@attrs.frozen
class Message:
    """Something on its way: a call to its service, its flush, or its answer back."""

    event: str
    call: Call
    leg: str
    flush: Flush | None = None
    answer: Answer | None = None


def is_busy(agent: Agent) -> bool:
    if agent.pending or agent.in_flight or agent.memory is None:
        return True
    state = agent.memory.state
    return bool(state.operations) or state.phase == "recovering"


@attrs.define
class Tally:
    """What happened how often in a run, by name."""

    operations: Counter[str] = attrs.field(factory=Counter)
    replies: Counter[str] = attrs.field(factory=Counter)
    degraded: Counter[str] = attrs.field(factory=Counter)
    fired: Counter[str] = attrs.field(factory=Counter)
    blunt: Counter[str] = attrs.field(factory=Counter)
    skipped: Counter[str] = attrs.field(factory=Counter)
    excused: Counter[str] = attrs.field(factory=Counter)
    marks: Counter[str] = attrs.field(factory=Counter)

    def replied(self, outcome: Outcome) -> None:
        name = OUTCOME_NAMES[outcome.__class__]
        self.replies[name] += 1
        if isinstance(outcome, Done):
            for item in outcome.degraded:
                self.degraded[item.name] += item.count
        elif isinstance(outcome, Refused | Failed):
            self.marks[f"{name}: {type(outcome.error).__name__}"] += 1


OUTCOME_NAMES: Final[dict[type[Outcome], str]] = {
    Done: "done",
    Refused: "refused",
    Failed: "failed",
    Unknown: "unknown",
}

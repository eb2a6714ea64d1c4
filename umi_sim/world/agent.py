"""Agents of a world, the messages between them and the services, and the interface of an observer.

An agent is one machine with its clock and its pending items. While it is down it has no machine; while it is
paused no message or operation is delivered to it.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, Protocol

import msgspec
from msgspec import structs

from umi_core.data import Data, Owner
from umi_core.messages.answers import Answer, Value
from umi_core.messages.effects import Done, Effect, Failed, Outcome, Refused, Reply, Unknown
from umi_core.messages.requests import Request
from umi_sim.faults.window import Window
from umi_sim.kernel.clock import SimClock
from umi_sim.machines.protocol import Machine
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand
from umi_sim.record.items import ClockMove, Op
from umi_sim.record.run_config import AgentConfig
from umi_sim.services.calls import Call, Flush
from umi_sim.services.storage import SimStorage
from umi_sim.world import moments

# If a machine does nothing when woken and keeps its deadline, that deadline is always the next event, and the
# time of the world stands still. Without this limit such a run would end only at its step limit.
SPIN_MAX: Final = 3


class Judge(Protocol):
    """Observer of a run that raises Broken when a promise is broken."""

    def observe_request(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None: ...
    def observe_call(self, call: Call) -> None: ...
    def observe_commit(self, call: Call) -> None: ...
    def observe_answer(self, call: Call, answer: Answer, reading_ms: int) -> None: ...
    def woken(self, agent: str, reading_ms: int) -> object: ...
    def check_outcome(self, agent: str, op_id: str, outcome: Outcome) -> None: ...
    def observe_reply(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None: ...
    def observe_crash(self, agent: str) -> None: ...
    def observe_takeover(self, agent: str, old: str) -> None: ...
    def observe_successor(self, old: str) -> None: ...
    def observe_wipe(self) -> None: ...
    def observe_tampering(self) -> None: ...
    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None: ...
    def observe_step(
        self, agent: str, machine: Machine, storage: SimStorage, value: Value, effects: Sequence[Effect]
    ) -> None: ...


class Agent(Owner):
    """One machine with its clock and its pending items. `held`: what arrived during a pause, in order."""

    is_old: ClassVar[bool] = False  # whether another incarnation has replaced it
    name: str
    config: AgentConfig
    clock: SimClock
    machine: Machine | None = None
    incarnation: int = 0
    recovery_crash_count: int = 0  # how many of the last incarnations, in a row, crashed while recovering
    wake_ms: int | None = None
    pending: deque[Op | ClockMove] = msgspec.field(default_factory=deque)
    # From the id of an operation to the name of its request: "o7" -> "remember".
    in_flight: dict[str, str] = {}
    wake_count: int = 0
    spin_count: int = 0
    restart_ms: int | None = None
    resume_ms: int | None = None
    is_clock_held: bool = False  # whether this pause stopped the clock, rather than a clock fault before it
    window: Window = msgspec.field(default_factory=Window)
    held: list["NetworkMessage | Op"] = []

    def wants_items(self) -> bool:
        """Return True if the agent is up and no operation is pending; a move of its clock may be pending."""
        # A pending item that is no op ends a clock fault, such as a thaw. It may be a minute ahead, and the
        # user does not wait for it. The first item is checked first, since it is nearly always an op.
        pending = self.pending
        is_busy = pending and (pending[0].__class__ is Op or any(item.__class__ is Op for item in pending))
        return self.machine is not None and not is_busy

    def awaits(self, answer: Answer, reading_ms: int) -> bool:
        """Return whether the agent is up and its machine still waits for this answer."""
        return self.machine is not None and self.machine.awaits(answer.request_id, reading_ms)

    def must_not_spin(self, idle_ms: int | None) -> None:
        """Count wake-ups without effect. Raises Broken at the third in a row.

        `idle_ms`: the deadline of the wake-up if the machine did nothing and kept that deadline, else None.
        """
        self.spin_count = 0 if idle_ms is None else self.spin_count + 1
        message = f"{self.name} was woken {SPIN_MAX} times for {idle_ms}, for nothing"
        demand(self.spin_count < SPIN_MAX, rules.PROGRESS, message)

    def take_items(self, items: Sequence[Op | ClockMove]) -> None:
        """Add items to the pending ones, in order of their times, then of the record."""
        # Sorting is stable, so items of one instant stay in the order of the record: a move before its op.
        self.pending = deque(sorted((*self.pending, *items), key=lambda item: item.at_ms))

    def pause(self, now_ms: int, for_ms: int, *, clock_stands: bool) -> None:
        """Hold messages and operations for a while. The clock runs on, or stands and then catches up."""
        self.resume_ms = now_ms + for_ms
        # If a clock fault has frozen the clock already, its own thaw ends that, not the end of this pause.
        if clock_stands and not self.clock.is_frozen:
            self.clock.freeze(now_ms)
            self.is_clock_held = True

    def resume(self, now_ms: int) -> list["NetworkMessage | Op"]:
        """End the pause; return the messages and operations that arrived during it, in order."""
        if self.is_clock_held:
            self.clock.thaw(now_ms, catch_up=True)
        self.resume_ms, self.is_clock_held = None, False
        held, self.held = self.held, []
        return held


class NetworkMessage(Data):
    """A message under way: a call to a service, the flush of its batch, its answer, or a copy of one."""

    event: str  # "o7/commit#2" for the call; "o7/commit#2/flush" and "o7/commit#2/answer" after it
    call: Call
    leg: str  # "request", "flush" or "answer"
    flush: Flush | None = None
    answer: Answer | None = None
    is_copy: bool = False

    def next(self, leg: str, flush: Flush | None = None, answer: Answer | None = None) -> "NetworkMessage":
        """Return the message that follows this one: the flush or the answer of its call."""
        event = f"{self.call.event}/{leg}{'.2' if self.is_copy else ''}"
        return NetworkMessage(event, self.call, leg, flush, answer, self.is_copy)

    def copy(self) -> "NetworkMessage":
        return structs.replace(self, event=f"{self.call.event}/{self.leg}.2", is_copy=True)


def is_busy(agent: Agent) -> bool:
    """Return whether the agent has anything to do besides background work.

    An operation in flight without a wake-up time does not count: only a message can continue it, and messages
    keep the world busy themselves. A replaced incarnation whose clock stands still waits like this until the
    world heals. If it counted, the background work of its successor would run for years of world time.
    """
    # A restart or the end of a pause is work, since recovery, or held messages, must still be processed.
    if agent.pending or agent.machine is None or agent.resume_ms is not None:
        return True
    return agent.wake_ms is not None and (bool(agent.in_flight) or agent.machine.is_working)


def must_be_quiet(agents: Iterable[Agent]) -> None:
    """Check that no agent waits in a quiet world, unless its clock stands until the world heals."""
    for agent in agents:
        # While the clock stands, it never reaches the deadline (SimClock.world_at is None), so the world is
        # quiet although an operation waits. The heal thaws the clock; the drain demands the reply.
        if agent.clock.is_frozen:
            continue
        if agent.in_flight:
            op_id, name = next(iter(agent.in_flight.items()))
            raise Broken(rules.PROGRESS, f"{op_id} {name} waits, and nothing is left that could answer it")
        if agent.machine is not None and (stuck := next(agent.machine.running(), None)):
            raise Broken(rules.PROGRESS, f"{stuck} of {agent.name} waits, and nothing could answer it")


def wake_name(agent: Agent) -> str:
    """Return the name of an agent's next event of its own: a restart, the end of a pause, or a wake-up."""
    if agent.machine is None:
        return f"{agent.name}/start#{agent.incarnation + 1}"
    return (
        f"{agent.name}/resume" if agent.resume_ms is not None else f"{agent.name}/wake#{agent.wake_count + 1}"
    )


class Tally(Owner):
    """Counts of what happened in a run, by name."""

    operations: Counter[str] = msgspec.field(default_factory=Counter)
    replies: Counter[str] = msgspec.field(default_factory=Counter)
    degraded: Counter[str] = msgspec.field(default_factory=Counter)
    fired: Counter[str] = msgspec.field(default_factory=Counter)
    without_effect: Counter[str] = msgspec.field(default_factory=Counter)
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    excused: Counter[str] = msgspec.field(default_factory=Counter)
    marks: Counter[str] = msgspec.field(default_factory=Counter)

    def mark(self, names: Iterable[str]) -> None:
        """Count marks one by one: usually there are none, and `Counter.update` costs ten times as much."""
        for name in names:
            self.marks[name] += 1

    def count_reply(self, outcome: Outcome) -> None:
        name = OUTCOME_NAMES[outcome.__class__]
        self.replies[name] += 1
        if isinstance(outcome, Done):
            for item in outcome.degraded:
                self.degraded[item.name] += item.count
            if outcome.value is not None:
                self.mark(moments.of_value(outcome.value))
        # Refused and Failed have a typed error, which makes a more precise mark: "refused: TextTooLong".
        elif not isinstance(outcome, Unknown):
            self.marks[f"{name}: {type(outcome.error).__name__}"] += 1


OUTCOME_NAMES: Final[dict[type[Outcome], str]] = {
    Done: "done", Refused: "refused", Failed: "failed", Unknown: "unknown"
}  # fmt: skip

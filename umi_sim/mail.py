"""Mail: what is on its way between agents and services, and what becomes of a call that arrives.

Law 1. An effect has a name: its owner, the row that asks, and how often this owner asked there.
Law 2. Oldest first among what is due at the same time, unless a link says otherwise.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Protocol

import attrs

from umi_core.effects import Asked
from umi_core.memory import Memory
from umi_core.state import Operation
from umi_sim import strikes
from umi_sim.agent import Agent, Message
from umi_sim.links import latency_of
from umi_sim.records import effect_fields, short
from umi_sim.run_config import RunConfig
from umi_sim.services import Call, Flush, Later, Services
from umi_sim.source import Source
from umi_sim.trace import Tag, Trace

Entry = tuple[int, int, Message]  # due time, place in the order of that time, what is delivered


class Around(Protocol):
    """What mail needs of the world around it."""

    config: RunConfig
    source: Source
    trace: Trace
    services: Services
    now_ms: int
    is_healed: bool
    keep_story: bool

    def strike(self, item_id: str, kind: str, event: str) -> None: ...
    def tell(self, event: str, what: str) -> None: ...


@attrs.define
class Mail:
    """Messages in order of their due time."""

    world: Around = attrs.field(repr=False)
    queue: list[Entry] = attrs.field(init=False, factory=list)
    latency: Callable[[str], int] = attrs.field(init=False)
    sent_count: int = attrs.field(init=False, default=0)
    names: Counter[str] = attrs.field(init=False, factory=Counter)  # how often a place asked, by name
    owners: dict[tuple[str, int, int], str] = attrs.field(init=False, factory=dict)  # background operations

    def __attrs_post_init__(self) -> None:
        self.latency = latency_of(self.world.config)

    # The queue.

    def next_due(self) -> int | None:
        return self.queue[0][0] if self.queue else None

    def due(self, due_ms: int) -> Iterator[Entry]:
        """All that is due by then, oldest first."""
        return iter(sorted(entry for entry in self.queue if entry[0] <= due_ms))

    def take_first(self) -> Message:
        return heappop(self.queue)[2]

    def take(self, entry: Entry) -> Message:
        self.queue.remove(entry)
        self.queue.sort()  # a sorted list is a heap
        return entry[2]

    def post(self, delay_ms: int, message: Message) -> None:
        self.sent_count += 1
        heappush(self.queue, (self.world.now_ms + delay_ms, self.sent_count, message))

    def heal(self) -> None:
        """From now on nothing is slow."""
        self.latency = no_delay

    # On the way up.

    def send(self, agent: Agent, memory: Memory, effect: Asked) -> None:
        """Name the effect and put it on its way."""
        operation = memory.state.operations[memory.state.waiting[effect.request_id]]
        step = memory.registry.at(operation.workflow, operation.revision).steps[operation.row].id
        owner = self.owner_of(agent, operation)
        place = f"{owner}/{step}"
        self.names[place] += 1
        event = f"{place}#{self.names[place]}"
        self.world.trace.add(Tag.EFFECT, event, *effect_fields(effect))
        if self.world.keep_story:
            self.world.tell(event, short(effect))
        call = Call(event, agent.name, agent.life, owner, operation.workflow, step, effect, self.world.now_ms)
        self.post(self.latency(event), Message(event, call, "request"))

    def owner_of(self, agent: Agent, operation: Operation) -> str:
        """The request's item, or agent:workflow:k for the k-th background operation of its kind."""
        if operation.op_id is not None:
            return str(operation.op_id)
        key = (agent.name, agent.life, operation.number)
        if key not in self.owners:
            kind = f"{agent.name}:{operation.workflow}"
            self.names[kind] += 1
            self.owners[key] = f"{kind}:{self.names[kind]}"
        return self.owners[key]

    # At the service.

    def arrive(self, call: Call) -> None:
        """The call reaches its service, where a fault may be waiting."""
        world, services, fault = self.world, self.world.services, None
        luck = services.luck(call)
        if not world.is_healed and not services.is_away(call, world.now_ms):
            fault = world.source.fault(
                call.verb, call.site, call.event, luck, strikes.args_for(services, call)
            )
        if fault is None:
            handled = services.handle(call, world.now_ms)
        else:
            world.strike(fault.id, fault.fault, call.event)
            handled = strikes.strike(services, call, world.now_ms, fault.fault, fault.args)
        if isinstance(handled, Flush):
            self.post(world.config.flush_ms, Message(f"{call.event}/flush", call, "flush", flush=handled))
        else:
            self.answer_later(call, handled)

    def flush(self, call: Call, flush: Flush) -> None:
        """A batch becomes durable."""
        self.answer_later(call, self.world.services.flush(call, flush, self.world.now_ms))

    def answer_later(self, call: Call, later: Later | None) -> None:
        if later is not None:
            event = f"{call.event}/answer"
            delay_ms = max(0, later.at_ms - self.world.now_ms) + self.latency(event)
            self.post(delay_ms, Message(event, call, "answer", answer=later.answer))


def no_delay(event: str) -> int:
    return 0

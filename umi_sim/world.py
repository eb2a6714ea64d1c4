"""The world: agents, the services they share, one queue of events in virtual time.

Law 1. World time starts at 0, jumps from event to event and never goes back.
Law 2. Ready are all events of the smallest due time. Oldest first means: messages in order of sending, then
       wake-ups by agent, then items in order of the record.
Law 3. A run is a function of configuration and items. The world asks its source for luck and order, and
       cannot tell a generator from a record.
Law 4. Every input makes a record of the trace before the memory sees it.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from typing import Final

import attrs

from umi_core.codec import plain_parts
from umi_core.config import Config
from umi_core.effects import Asked, Reply
from umi_core.inputs import REQUESTS, Answer, Value, Wake
from umi_core.memory import Memory
from umi_core.state import Operation
from umi_core.workflow import Registry
from umi_core.workflows import BUILT_IN
from umi_sim import strikes
from umi_sim.agent import Agent, Judge, Message, Tally, is_busy
from umi_sim.clock import SimClock
from umi_sim.crashes import crash_args, may_crash
from umi_sim.items import Args, ClockMove
from umi_sim.links import latency_of
from umi_sim.records import answer_fields, effect_fields, outcome_fields, short, shown_args
from umi_sim.run_config import RunConfig
from umi_sim.services import Call, Flush, Later, Services
from umi_sim.source import Source
from umi_sim.trace import Tag, Trace
from umi_sim.verdict import Broken, Event

STATE_EVERY: Final = 16
RESTORE_EVERY: Final = 64
SPIN_MAX: Final = 3
STORY_COUNT_MAX: Final = 400

OP, STEP, EFFECT, REPLY, ANSWER, STATE = Tag.OP, Tag.STEP, Tag.EFFECT, Tag.REPLY, Tag.ANSWER, Tag.STATE

Ready = tuple[str, Callable[[], None]]


class OutOfSteps(Exception):
    """The step limit of a run was reached."""


@attrs.define
class World:
    """One run in progress. `judge` sees everything from outside; `source` supplies items, luck and order."""

    config: RunConfig
    source: Source
    judge: Judge
    registry: Registry = BUILT_IN
    keep_story: bool = False
    agents: dict[str, Agent] = attrs.field(init=False, factory=dict)
    lone: Agent = attrs.field(init=False)  # the last agent; the only one if there is one
    services: Services = attrs.field(init=False)
    trace: Trace = attrs.field(init=False, factory=Trace)
    latency: Callable[[str], int] = attrs.field(init=False)
    now_ms: int = attrs.field(init=False, default=0)
    queue: list[tuple[int, int, Message]] = attrs.field(init=False, factory=list)
    is_healed: bool = attrs.field(init=False, default=False)
    may_crash: bool = attrs.field(init=False, default=False)
    item: str = attrs.field(init=False, default="")
    step_count: int = attrs.field(init=False, default=0)
    crash_count: int = attrs.field(init=False, default=0)
    tally: Tally = attrs.field(init=False, factory=Tally)
    story: deque[Event] = attrs.field(init=False, factory=partial(deque, maxlen=STORY_COUNT_MAX))
    sent_count: int = attrs.field(init=False, default=0)
    names: Counter[str] = attrs.field(init=False, factory=Counter)  # how often a place asked, by name
    owners: dict[tuple[str, int, int], str] = attrs.field(init=False, factory=dict)  # background operations

    def __attrs_post_init__(self) -> None:
        config = self.config
        self.latency = latency_of(config)
        self.may_crash = may_crash(config, self.source)
        dims = Config(**config.memory).embedding_dims  # type: ignore[arg-type]
        self.services = Services({agent.name: dims for agent in config.agents})
        for agent in config.agents:
            clock = SimClock.start(0, config.start_ms + agent.skew_ms)
            self.agents[agent.name] = self.lone = Agent(agent.name, agent, clock)

    def begin(self) -> None:
        """The first life of every agent."""
        self.trace.add(Tag.RUN, self.config.scenario, self.config.version, str(self.config.seed))
        for agent in self.agents.values():
            self.start(agent)

    # The loop.

    def run_until_quiet(self, step_max: int) -> None:
        """Deliver events until nothing is in flight and no item is left. Raises Broken(progress) if stuck."""
        while self.step_count < step_max:
            self.refill()
            if not (self.deliver_lone_item() or self.deliver_next()):
                return
        raise OutOfSteps(f"not finished after {step_max} steps")

    def refill(self) -> None:
        for agent in self.agents.values():
            if not agent.pending and agent.memory is not None:
                agent.pending.extend(self.source.next_items(agent.name, self.now_ms, len(agent.in_flight)))

    def deliver_lone_item(self) -> bool:
        """The short way for the commonest case: one agent, nothing under way or due before its next item."""
        agent = self.lone
        is_alone = not self.queue and len(self.agents) == 1
        if not is_alone or not agent.pending or agent.wake_ms is not None or agent.memory is None:
            return False
        self.set_time(max(agent.pending[0].at_ms, self.now_ms))
        self.deliver_item(agent)
        return True

    def deliver_next(self) -> bool:
        """Deliver one of the ready events; False when the world is quiet."""
        due_ms = self.next_due()
        if due_ms is None:
            self.must_be_quiet()
            return False
        self.set_time(due_ms)
        if self.config.policy == "fifo" and self.queue and self.queue[0][0] <= due_ms:
            self.deliver_message(heappop(self.queue)[2])
            return True
        ready = list(self.ready(due_ms))
        index = 0 if self.config.policy == "fifo" or len(ready) == 1 else self.choose(ready)
        ready[index][1]()
        return True

    def choose(self, ready: list[Ready]) -> int:
        index = self.source.choose([name for name, _ in ready])
        if index:
            self.trace.add(Tag.SCHEDULE, ready[index][0], ready[0][0])
        return index

    def set_time(self, now_ms: int) -> None:
        assert now_ms >= self.now_ms
        self.now_ms = self.trace.world_ms = now_ms

    def next_due(self) -> int | None:
        """The time of the next event; None when only idle agents are left."""
        due_ms = self.queue[0][0] if self.queue else None
        is_awake = self.is_busy()
        for agent in self.agents.values():
            for at_ms in (self.wake_at(agent, is_awake), self.item_at(agent)):
                if at_ms is not None and (due_ms is None or at_ms < due_ms):
                    due_ms = at_ms
        return due_ms

    def ready(self, due_ms: int) -> Iterator[Ready]:
        """Everything due now, oldest first, each with what delivers it."""
        for entry in sorted(entry for entry in self.queue if entry[0] <= due_ms):
            yield entry[2].event, partial(self.deliver_queued, entry)
        is_awake = self.is_busy()
        for agent in self.agents.values():
            at_ms = self.wake_at(agent, is_awake)
            if at_ms is not None and at_ms <= due_ms:
                yield f"{agent.name}/wake#{agent.wake_count + 1}", partial(self.deliver_wake, agent)
        with_item = [agent for agent in self.agents.values() if self.item_at(agent) == due_ms]
        for agent in sorted(with_item, key=place_in_record):
            yield agent.pending[0].id, partial(self.deliver_item, agent)

    def wake_at(self, agent: Agent, is_awake: bool) -> int | None:
        """When the agent is woken or restarted; a world at rest wakes nobody for background work."""
        if agent.memory is None:
            return agent.restart_ms
        return agent.wake_ms if is_awake else None

    def item_at(self, agent: Agent) -> int | None:
        return max(agent.pending[0].at_ms, self.now_ms) if agent.pending else None

    def is_busy(self) -> bool:
        """Something other than background work is still to come."""
        return bool(self.queue) or any(is_busy(agent) for agent in self.agents.values())

    # Deliveries.

    def deliver_queued(self, entry: tuple[int, int, Message]) -> None:
        self.queue.remove(entry)
        self.queue.sort()  # a sorted list is a heap
        self.deliver_message(entry[2])

    def deliver_item(self, agent: Agent) -> None:
        item = agent.pending.popleft()
        self.item = item.id
        if isinstance(item, ClockMove):
            self.move_clock(agent, item)
        elif agent.memory is None or (self.may_crash and self.is_struck(agent, item.id)):
            self.tally.skipped["op of an agent that is down"] += 1
            self.trace.add(Tag.SKIPPED, item.id, "down")
        else:
            self.issue(agent, item.id, item.name, item.args)

    def issue(self, agent: Agent, op_id: str, name: str, args: Args) -> None:
        """Hand a request to the memory."""
        request = REQUESTS[name](op_id, **args)  # type: ignore[arg-type]
        reading_ms = agent.clock.reading(self.now_ms)
        self.tally.operations[name] += 1
        agent.in_flight[op_id] = name
        self.trace.add(OP, op_id, agent.name, reading_ms, name, plain_parts(args.values()))
        self.judge.issued(agent.name, op_id, request, reading_ms)
        if self.keep_story:
            self.tell(op_id, f"{name} {shown_args(args)}")
        self.give(agent, request, reading_ms)

    def deliver_wake(self, agent: Agent) -> None:
        if agent.memory is None:
            self.start(agent)
            return
        agent.wake_count += 1
        event = f"{agent.name}/wake#{agent.wake_count}"
        if not self.is_struck(agent, event):
            self.wake(agent, agent.memory, event)

    def wake(self, agent: Agent, memory: Memory, event: str) -> None:
        reading_ms, before_ms = agent.clock.reading(self.now_ms), memory.deadline_ms()
        self.trace.add(STEP, agent.name, reading_ms, "Wake", event)
        self.judge.woken(agent.name, reading_ms)
        is_spin = self.give(agent, Wake(), reading_ms) == 0 and memory.deadline_ms() == before_ms
        agent.spin_count = agent.spin_count + 1 if is_spin else 0
        if agent.spin_count >= SPIN_MAX:
            raise Broken("progress", f"{agent.name} was woken {SPIN_MAX} times for {before_ms}, for nothing")

    def deliver_message(self, message: Message) -> None:
        if message.leg == "request":
            self.arrive(message.call)
        elif message.flush is not None:
            self.answer_later(message.call, self.services.flush(message.call, message.flush, self.now_ms))
        else:
            assert message.answer is not None
            self.deliver_answer(message.call, message.answer)

    def arrive(self, call: Call) -> None:
        """The call reaches its service, where a fault may be waiting."""
        services, fault = self.services, None
        luck = services.luck(call)
        if not self.is_healed and not services.is_away(call, self.now_ms):
            fault = self.source.fault(
                call.verb, call.site, call.event, luck, strikes.args_for(services, call)
            )
        if fault is None:
            handled = services.handle(call, self.now_ms)
        else:
            self.strike(fault.id, fault.fault, call.event)
            handled = strikes.strike(services, call, self.now_ms, fault.fault, fault.args)
        if isinstance(handled, Flush):
            self.post(self.config.flush_ms, Message(f"{call.event}/flush", call, "flush", flush=handled))
        else:
            self.answer_later(call, handled)

    def answer_later(self, call: Call, later: Later | None) -> None:
        if later is not None:
            event = f"{call.event}/answer"
            delay_ms = max(0, later.at_ms - self.now_ms) + self.latency(event)
            self.post(delay_ms, Message(event, call, "answer", answer=later.answer))

    def deliver_answer(self, call: Call, answer: Answer) -> None:
        agent, event = self.agents[call.agent], f"{call.event}/answer"
        memory = agent.memory
        if memory is None or agent.life != call.life or self.is_struck(agent, event):
            return
        reading_ms = agent.clock.reading(self.now_ms)
        self.trace.add(ANSWER, event, *answer_fields(answer))
        self.trace.add(STEP, agent.name, reading_ms, type(answer).__name__, event)
        if answer.request_id in memory.state.waiting:
            self.judge.answered(call, answer, reading_ms)
        else:
            self.judge.woken(agent.name, reading_ms)
        if self.keep_story:
            self.tell(event, short(answer))
        self.give(agent, answer, reading_ms)

    # Steps and effects.

    def give(self, agent: Agent, value: Value, reading_ms: int) -> int:
        """Step a memory and send what it asks; how many effects there were."""
        memory = agent.memory
        assert memory is not None
        self.step_count += 1
        self.judge.stepping(agent.name, memory, value, reading_ms)
        effects = memory.step(reading_ms, value)
        for effect in effects:
            if isinstance(effect, Reply):
                self.reply(agent, effect, reading_ms)
            else:
                self.send(agent, memory, effect)
        if memory.marks:
            self.tally.marks.update(memory.marks)
        self.judge.stepped(agent.name, memory, self.services.storage, value, effects)
        self.set_alarm(agent, memory)
        if self.step_count % STATE_EVERY == 0:
            self.trace.add(STATE, agent.name, digest := memory.digest())
            if memory.state.operations and self.step_count % RESTORE_EVERY == 0:
                self.restore(agent, memory, digest)
        return len(effects)

    def set_alarm(self, agent: Agent, memory: Memory) -> None:
        deadline_ms = memory.deadline_ms()
        agent.wake_ms = None if deadline_ms is None else agent.clock.world_at(deadline_ms, self.now_ms)

    def restore(self, agent: Agent, memory: Memory, digest: bytes) -> None:
        """Go on with a copy made from bytes: nobody may notice, operations in flight included."""
        agent.memory = Memory.restore(memory.snapshot(), self.registry)
        if agent.memory.digest() != digest:
            raise Broken(
                "copied-state-continues", f"{agent.name} restored from its snapshot is another memory"
            )

    def reply(self, agent: Agent, reply: Reply, reading_ms: int) -> None:
        op_id, outcome = str(reply.op_id), reply.outcome
        self.trace.add(REPLY, op_id, *outcome_fields(outcome))
        if self.keep_story:
            self.tell(op_id, f"Reply {short(outcome)}")
        if agent.in_flight.pop(op_id, None) is None:
            raise Broken("one-reply", f"{op_id} was answered twice, or never asked")
        self.tally.replied(outcome)
        self.judge.replied(agent.name, op_id, reply, reading_ms)

    def send(self, agent: Agent, memory: Memory, effect: Asked) -> None:
        """Name the effect and put it on its way."""
        operation = memory.state.operations[memory.state.waiting[effect.request_id]]
        step = memory.registry.at(operation.workflow, operation.revision).steps[operation.row].id
        owner = self.owner_of(agent, operation)
        place = f"{owner}/{step}"
        self.names[place] += 1
        event = f"{place}#{self.names[place]}"
        self.trace.add(EFFECT, event, *effect_fields(effect))
        if self.keep_story:
            self.tell(event, short(effect))
        call = Call(event, agent.name, agent.life, owner, operation.workflow, step, effect, self.now_ms)
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

    def post(self, delay_ms: int, message: Message) -> None:
        self.sent_count += 1
        heappush(self.queue, (self.now_ms + delay_ms, self.sent_count, message))

    # Faults and lives.

    def strike(self, item_id: str, kind: str, event: str) -> None:
        self.tally.fired[kind] += 1
        self.trace.add(Tag.FAULT, item_id, kind, event)
        if self.keep_story:
            self.tell(event, f"FAULT {item_id} {kind}")

    def is_struck(self, agent: Agent, event: str) -> bool:
        """An agent may crash before any event that would reach it."""
        if not self.may_crash or self.is_healed or agent.memory is None:
            return False
        place = "recovery" if agent.memory.state.phase == "recovering" else "life"
        fault = self.source.fault(
            "agent.event", f"agent.event.{place}", event, event, partial(crash_args, place)
        )
        if fault is None:
            return False
        down_ms = fault.args["down_ms"]
        assert isinstance(down_ms, int)
        self.strike(fault.id, fault.fault, event)
        self.crash(agent, down_ms)
        return True

    def start(self, agent: Agent) -> None:
        """A new life: it recovers from what storage holds."""
        agent.memory = Memory(agent.config.scope, Config(**self.config.memory), self.registry)  # type: ignore[arg-type]
        agent.life += 1
        agent.restart_ms = None
        self.trace.add(Tag.LIFE, "start", agent.name)
        self.wake(agent, agent.memory, f"{agent.name}/start#{agent.life}")

    def crash(self, agent: Agent, down_ms: int) -> None:
        """Everything volatile is gone; operations in flight will never reply."""
        self.crash_count += 1
        self.trace.add(Tag.LIFE, "crash", agent.name)
        self.tally.excused["crashed"] += len(agent.in_flight)
        agent.in_flight.clear()
        agent.memory = agent.wake_ms = None
        agent.restart_ms = self.now_ms + down_ms
        self.judge.crashed(agent.name)

    def move_clock(self, agent: Agent, item: ClockMove) -> None:
        by_ms = item.args["by_ms"]
        assert isinstance(by_ms, int)
        agent.clock.jump(self.now_ms, by_ms)
        self.tally.fired["clock_jump_forward" if by_ms > 0 else "clock_jump_back"] += 1
        self.trace.add(Tag.CLOCK, agent.name, item.move, agent.clock.reading(self.now_ms))
        if agent.memory is not None:
            self.set_alarm(agent, agent.memory)

    # Phases.

    def heal(self) -> None:
        """No new faults; windows end; links are instant; agents restart; clocks that fell behind catch up."""
        self.is_healed = True
        self.latency = no_delay
        self.services.heal()
        for agent in self.agents.values():
            if agent.memory is None:
                self.start(agent)
            assert agent.memory is not None
            behind_ms = agent.memory.state.seen_ms - agent.clock.reading(self.now_ms)
            if behind_ms > 0:
                agent.clock.jump(self.now_ms, behind_ms)
                self.set_alarm(agent, agent.memory)

    def ask(self, agent: Agent, op_id: str, name: str, args: Args, step_max: int) -> None:
        """Issue a request of a phase and run until it is answered."""
        self.item = op_id
        self.issue(agent, op_id, name, args)
        self.run_until_quiet(step_max)

    def must_be_quiet(self) -> None:
        """Nothing is due: then nothing may wait."""
        for agent in self.agents.values():
            if agent.in_flight:
                op_id, name = next(iter(agent.in_flight.items()))
                raise Broken("progress", f"{op_id} {name} waits, and nothing is left that could answer it")
            if agent.memory is not None and agent.memory.state.operations:
                stuck = next(iter(agent.memory.state.operations.values()))
                raise Broken(
                    "progress", f"{stuck.workflow} of {agent.name} waits, and nothing could answer it"
                )

    def tell(self, event: str, what: str) -> None:
        self.story.append(Event(self.step_count, self.now_ms, event, what))


def no_delay(event: str) -> int:
    return 0


def place_in_record(agent: Agent) -> int:
    """Items are numbered in the order of the record."""
    return int(agent.pending[0].id[1:])

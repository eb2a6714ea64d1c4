"""The world: agents, the services they share, one queue of events in virtual time.

Law 1. World time starts at 0, jumps from event to event and never goes back. Law 2. Ready are all events of the smallest due time; oldest
first means messages in order of sending, then wake-ups by agent, then items in order of the record. Law 3. A run is a
function of configuration and items; the world asks its source for both luck and order, and cannot tell a generator
from a record. Law 4. Every input makes a record of the trace before the memory sees it.
"""

from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, Protocol

import attrs

from umi_core.config import Config
from umi_core.effects import AskModel, Asked, Commit, Done, Effect, Embed, Failed, Refused, Reply
from umi_core.inputs import REQUESTS, Answer, Rebalance, Request, Value, Wake
from umi_core.memory import Memory
from umi_core.workflow import Registry
from umi_core.workflows import BUILT_IN
from umi_sim.clock import SimClock
from umi_sim.faults import Draw, WINDOW_MS_MAX, log_uniform
from umi_sim.items import Args, ClockMove, Op
from umi_sim.prng import Keyed, stream_key
from umi_sim.run_config import AgentConfig, RunConfig
from umi_sim.services import ARGS, SERVICE_OF, VERB_OF, Call, Flush, Later, Services
from umi_sim.source import Source
from umi_sim.storage import SimStorage
from umi_sim.records import answer_fields, effect_fields, outcome_fields, traced
from umi_sim.trace import Tag, Trace
from umi_sim.verdict import Broken, Event

STATE_EVERY: Final = 16

OP, STEP, EFFECT, REPLY, ANSWER, STATE = Tag.OP, Tag.STEP, Tag.EFFECT, Tag.REPLY, Tag.ANSWER, Tag.STATE
SPIN_MAX: Final = 3


class Judge(Protocol):
    """What sees a run and says when a promise is broken, by raising Broken."""

    def issued(self, agent: str, op_id: str, request: Request, reading_ms: int) -> None: ...
    def answered(self, call: Call, answer: Answer, reading_ms: int) -> None: ...
    def woken(self, agent: str, reading_ms: int) -> object: ...
    def replied(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None: ...
    def crashed(self, agent: str) -> None: ...
    def stepping(self, memory: Memory, value: Value) -> None: ...
    def stepped(self, agent: str, memory: Memory, storage: SimStorage, value: Value) -> None: ...


@attrs.define
class Agent:
    """One memory with its clock and what it is about to do."""

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

    @property
    def name(self) -> str:
        return self.config.name


@attrs.frozen
class Message:
    """Something on its way: a call to its service, its flush, or its answer back."""

    event: str
    call: Call
    leg: str
    flush: Flush | None = None
    answer: Answer | None = None


@attrs.define
class World:
    """One run in progress. `judge` sees everything from outside; `source` supplies items, luck and order."""

    config: RunConfig
    source: Source
    judge: Judge
    registry: Registry = BUILT_IN
    keep_story: bool = False
    agents: dict[str, Agent] = attrs.field(init=False, factory=dict)
    services: Services = attrs.field(init=False)
    trace: Trace = attrs.field(init=False, factory=Trace)
    now_ms: int = attrs.field(init=False)
    step_count: int = 0
    crash_count: int = 0
    sequence: int = 0
    queue: list[tuple[int, int, Message]] = attrs.field(init=False, factory=list)
    asked: Counter[str] = attrs.field(init=False, factory=Counter)
    background: Counter[str] = attrs.field(init=False, factory=Counter)
    operations: Counter[str] = attrs.field(init=False, factory=Counter)
    replies: Counter[str] = attrs.field(init=False, factory=Counter)
    degraded: Counter[str] = attrs.field(init=False, factory=Counter)
    fired: Counter[str] = attrs.field(init=False, factory=Counter)
    blunt: Counter[str] = attrs.field(init=False, factory=Counter)
    skipped: Counter[str] = attrs.field(init=False, factory=Counter)
    excused: Counter[str] = attrs.field(init=False, factory=Counter)
    marks: Counter[str] = attrs.field(init=False, factory=Counter)
    story: deque[Event] = attrs.field(init=False, factory=lambda: deque(maxlen=400))
    latency: Callable[[str], int] = attrs.field(init=False)
    item: str = ""
    has_agent_faults: bool = attrs.field(init=False, default=False)
    is_healed: bool = False
    lone: Agent = attrs.field(init=False)
    owners: dict[tuple[str, int, int], str] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        config = self.config
        self.now_ms = self.trace.world_ms = 0
        self.latency = latency_of(config)
        self.has_agent_faults = any(name.startswith("agent_") for name in config.faults)
        memory = Config(**config.memory)  # type: ignore[arg-type]
        self.services = Services({agent.name: memory.embedding_dims for agent in config.agents})
        for agent_config in config.agents:
            clock = SimClock.start(0, config.start_ms + agent_config.skew_ms)
            self.agents[agent_config.name] = self.lone = Agent(agent_config, clock)

    def begin(self) -> None:
        """The first life of every agent."""
        self.trace.world_ms = self.now_ms
        self.trace.add(Tag.RUN, self.config.scenario, self.config.version, str(self.config.seed))
        for agent in self.agents.values():
            self.start(agent)

    # Events.

    def run_until_quiet(self, step_max: int) -> None:
        """Deliver events until nothing is in flight and no item is left. Raises Broken(progress) if stuck."""
        while self.step_count < step_max:
            self.refill()
            if not (self.deliver_lone_item() or self.deliver_next()):
                return
        raise OutOfSteps(step_max)

    def deliver_lone_item(self) -> bool:
        """The short way for the commonest case: one agent, nothing on its way, nothing due before its next item."""
        if self.queue or len(self.agents) > 1:
            return False
        agent = self.lone
        if not agent.pending or agent.wake_ms is not None or agent.memory is None:
            return False
        self.now_ms = self.trace.world_ms = max(agent.pending[0].at_ms, self.now_ms)
        self.deliver_item(agent)
        return True

    def refill(self) -> None:
        for agent in self.agents.values():
            if not agent.pending and agent.memory is not None:
                agent.pending.extend(self.source.next_items(agent.name, self.now_ms, len(agent.in_flight)))

    def deliver_next(self) -> bool:
        """Deliver one event; False when the world is quiet."""
        due_ms = self.next_due()
        if due_ms is None:
            self.must_be_quiet()
            return False
        self.now_ms = self.trace.world_ms = due_ms
        queue = self.queue
        if self.config.policy == "fifo" and not self.has_deviations():
            if queue and queue[0][0] <= due_ms:
                self.deliver_message(heappop(queue)[2])
            else:
                self.deliver_other(due_ms)
            return True
        self.deliver_chosen(due_ms)
        return True

    def has_deviations(self) -> bool:
        return self.config.policy != "fifo"

    def next_due(self) -> int | None:
        """The time of the next event; None when only idle agents are left."""
        due_ms = self.queue[0][0] if self.queue else None
        for agent in self.agents.values():
            for at_ms in (self.wake_of(agent), self.item_at(agent)):
                if at_ms is not None and (due_ms is None or at_ms < due_ms):
                    due_ms = at_ms
        return due_ms

    def wake_of(self, agent: Agent) -> int | None:
        """When the agent is woken: restart, deadlines of operations; background work only while others are busy."""
        if agent.memory is None:
            return agent.restart_ms
        return agent.wake_ms if self.is_busy() else None

    def is_busy(self) -> bool:
        """Something other than background work is still to come."""
        return bool(self.queue) or any(is_busy(agent) for agent in self.agents.values())

    def item_at(self, agent: Agent) -> int | None:
        return max(agent.pending[0].at_ms, self.now_ms) if agent.pending else None

    def deliver_other(self, due_ms: int) -> None:
        """A wake-up by agent, else an item in order of the record."""
        for agent in self.agents.values():
            at_ms = self.wake_of(agent)
            if at_ms is not None and at_ms <= due_ms:
                self.deliver_wake(agent)
                return
        ready = [agent for agent in self.agents.values() if agent.pending and self.item_at(agent) == due_ms]
        self.deliver_item(min(ready, key=lambda agent: number_of(agent.pending[0].id)))

    def deliver_chosen(self, due_ms: int) -> None:
        """One of the ready events, as the source says."""
        ready: list[tuple[str, Callable[[], None]]] = []
        messages: list[tuple[int, int, Message]] = []
        while self.queue and self.queue[0][0] <= due_ms:
            messages.append(heappop(self.queue))
        for entry in messages:
            ready.append((entry[2].event, lambda entry=entry: self.deliver_message(entry[2])))  # type: ignore[misc]
        for agent in self.agents.values():
            at_ms = self.wake_of(agent)
            if at_ms is not None and at_ms <= due_ms:
                ready.append((f"{agent.name}/wake#{agent.wake_count + 1}", lambda agent=agent: self.deliver_wake(agent)))  # type: ignore[misc]
        items = [agent for agent in self.agents.values() if agent.pending and self.item_at(agent) == due_ms]
        for agent in sorted(items, key=lambda agent: number_of(agent.pending[0].id)):
            ready.append((agent.pending[0].id, lambda agent=agent: self.deliver_item(agent)))  # type: ignore[misc]
        index = self.source.choose([name for name, _ in ready]) if len(ready) > 1 else 0
        if index > 0:
            self.trace.add(Tag.SCHEDULE, ready[index][0], ready[0][0])
        for n, entry in enumerate(messages):
            if n != index:
                heappush(self.queue, entry)
        ready[index][1]()

    # Deliveries.

    def deliver_item(self, agent: Agent) -> None:
        item = agent.pending.popleft()
        self.item = item.id
        if isinstance(item, ClockMove):
            self.move_clock(agent, item)
        elif agent.memory is None or self.is_struck(agent, item.id):
            self.skipped["op of an agent that is down"] += 1
            self.trace.add(Tag.SKIPPED, item.id, "down")
        else:
            self.issue(agent, item.id, item.name, item.args)

    def issue(self, agent: Agent, op_id: str, name: str, args: Args) -> None:
        """Hand a request to the memory."""
        request = REQUESTS[name](op_id, **args)  # type: ignore[arg-type]
        reading_ms = agent.clock.reading(self.now_ms)
        self.operations[name] += 1
        agent.in_flight[op_id] = name
        self.trace.add(OP, op_id, agent.name, reading_ms, name, [traced(value) for value in args.values()])
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
            self.wake(agent, event)

    def wake(self, agent: Agent, event: str) -> None:
        assert agent.memory is not None
        reading_ms = agent.clock.reading(self.now_ms)
        before = agent.memory.deadline_ms()
        self.trace.add(STEP, agent.name, reading_ms, "Wake", event)
        self.judge.woken(agent.name, reading_ms)
        effect_count = self.give(agent, Wake(), reading_ms)
        is_spin = effect_count == 0 and agent.memory is not None and agent.memory.deadline_ms() == before
        agent.spin_count = agent.spin_count + 1 if is_spin else 0
        if agent.spin_count >= SPIN_MAX:
            raise Broken("progress", f"{agent.name} was woken {SPIN_MAX} times for {before} and did nothing")

    def deliver_message(self, message: Message) -> None:
        call = message.call
        if message.leg == "request":
            self.arrive(call)
        elif message.leg == "flush":
            assert message.flush is not None
            self.after_flush(call, self.services.flush(call, message.flush, self.now_ms))
        else:
            assert message.answer is not None
            self.deliver_answer(call, message.answer)

    def deliver_answer(self, call: Call, answer: Answer) -> None:
        agent = self.agents[call.agent]
        event = f"{call.event}/answer"
        if agent.memory is None or agent.life != call.life or self.is_struck(agent, event):
            return
        reading_ms = agent.clock.reading(self.now_ms)
        self.trace.add(ANSWER, event, *answer_fields(answer))
        self.trace.add(STEP, agent.name, reading_ms, type(answer).__name__, event)
        if answer.request_id in agent.memory.state.waiting:
            self.judge.answered(call, answer, reading_ms)
        else:
            self.judge.woken(agent.name, reading_ms)
        if self.keep_story:
            self.tell(event, short(answer))
        self.give(agent, answer, reading_ms)

    # Steps and effects.

    def give(self, agent: Agent, value: Value, reading_ms: int) -> int:
        """Step a memory and send what it asks."""
        memory = agent.memory
        assert memory is not None
        self.step_count += 1
        self.judge.stepping(memory, value)
        effects = memory.step(reading_ms, value)
        for effect in effects:
            if isinstance(effect, Reply):
                self.reply(agent, effect, reading_ms)
            else:
                self.send(agent, effect)
        if memory.marks:
            self.marks.update(memory.marks)
        self.judge.stepped(agent.name, memory, self.services.storage, value)
        deadline_ms = memory.deadline_ms()
        agent.wake_ms = None if deadline_ms is None else agent.clock.world_at(deadline_ms, self.now_ms)
        if self.step_count % STATE_EVERY == 0:
            self.trace.add(STATE, agent.name, memory.digest())
            if memory.state.operations:
                self.restore(agent, memory)
        return len(effects)

    def restore(self, agent: Agent, memory: Memory) -> None:
        """Go on with a copy made from bytes: nobody may notice, operations in flight included."""
        agent.memory = Memory.restore(memory.snapshot(), self.registry)
        if agent.memory.digest() != memory.digest():
            raise Broken("copied-state-continues", f"{agent.name} restored from its own snapshot is another memory")

    def reply(self, agent: Agent, reply: Reply, reading_ms: int) -> None:
        op_id, outcome = str(reply.op_id), reply.outcome
        self.trace.add(REPLY, op_id, *outcome_fields(outcome))
        if self.keep_story:
            self.tell(op_id, f"Reply {short(outcome)}")
        if op_id not in agent.in_flight:
            raise Broken("one-reply", f"{op_id} was answered twice, or never asked")
        del agent.in_flight[op_id]
        self.replies[type(outcome).__name__.lower()] += 1
        if isinstance(outcome, Refused | Failed):
            self.marks[f"{type(outcome).__name__.lower()}: {type(outcome.error).__name__}"] += 1
        if isinstance(outcome, Done):
            for item in outcome.degraded:
                self.degraded[item.name] += item.count
        self.judge.replied(agent.name, op_id, reply, reading_ms)

    def send(self, agent: Agent, effect: Asked) -> None:
        """Name the effect and put it on its way."""
        memory = agent.memory
        assert memory is not None
        operation = memory.in_flight[effect.request_id]
        step = memory.registry.at(operation.workflow, operation.revision).steps[operation.row].id
        owner = self.owner_of(agent, operation.number, operation.workflow, operation.op_id)
        self.asked[f"{owner}/{step}"] += 1
        event = f"{owner}/{step}#{self.asked[f'{owner}/{step}']}"
        call = Call(event, agent.name, agent.life, owner, operation.workflow, step, effect, self.now_ms)
        self.trace.add(EFFECT, event, *effect_fields(effect))
        if self.keep_story:
            self.tell(event, short(effect))
        self.post(self.latency(event), Message(event, call, "request"))

    def owner_of(self, agent: Agent, number: int, workflow: str, op_id: int | str | None) -> str:
        """The request's item, or agent:workflow:k for the k-th background operation of its kind."""
        if op_id is not None:
            return str(op_id)
        key = (agent.name, agent.life, number)
        if key not in self.owners:
            self.background[f"{agent.name}:{workflow}"] += 1
            self.owners[key] = f"{agent.name}:{workflow}:{self.background[f'{agent.name}:{workflow}']}"
        return self.owners[key]

    def post(self, delay_ms: int, message: Message) -> None:
        self.sequence += 1
        heappush(self.queue, (self.now_ms + delay_ms, self.sequence, message))

    def arrive(self, call: Call) -> None:
        """The call reaches its service, where a fault may be waiting."""
        services = self.services
        luck = services.luck(call)
        fault = None
        if not self.is_healed and not services.is_away(call, self.now_ms):
            verb = VERB_OF[type(call.effect)]
            fault = self.source.fault(verb, call.site, call.event, luck, lambda kind, draw: ARGS.get(kind, nothing)(services, call, draw))
        if fault is not None:
            self.strike(fault.id, fault.fault, call.event)
        handled = services.handle(call, self.now_ms, fault.fault if fault else None, fault.args if fault else {})
        if isinstance(handled, Flush):
            self.post(self.config.flush_ms, Message(f"{call.event}/flush", call, "flush", flush=handled))
        else:
            self.after_flush(call, handled)

    def after_flush(self, call: Call, later: Later | None) -> None:
        if later is not None:
            delay_ms = max(0, later.at_ms - self.now_ms) + self.latency(f"{call.event}/answer")
            self.post(delay_ms, Message(f"{call.event}/answer", call, "answer", answer=later.answer))

    def strike(self, item_id: str, kind: str, event: str) -> None:
        self.fired[kind] += 1
        self.trace.add(Tag.FAULT, item_id, kind, event)
        if self.keep_story:
            self.tell(event, f"FAULT {item_id} {kind}")

    # Lives.

    def start(self, agent: Agent) -> None:
        """A new life: it recovers from what storage holds."""
        agent.memory = Memory(agent.config.scope, Config(**self.config.memory), self.registry)  # type: ignore[arg-type]
        agent.life += 1
        agent.restart_ms = None
        self.trace.add(Tag.LIFE, "start", agent.name)
        self.wake(agent, f"{agent.name}/start#{agent.life}")

    def is_struck(self, agent: Agent, event: str) -> bool:
        """An agent may crash before any event that would reach it."""
        if self.is_healed or agent.memory is None:
            return False
        verb = "agent.event"
        state = agent.memory.state
        place = "recovery" if state.phase == "recovering" else "life"
        fault = self.source.fault(verb, f"{verb}.{place}", event, event, lambda kind, draw: crash_args(kind, place, draw))
        if fault is None:
            return False
        down_ms = fault.args["down_ms"]
        assert isinstance(down_ms, int)
        self.strike(fault.id, fault.fault, event)
        self.crash(agent, down_ms)
        return True

    def crash(self, agent: Agent, down_ms: int) -> None:
        """Everything volatile is gone; operations in flight will never reply."""
        self.crash_count += 1
        self.trace.add(Tag.LIFE, "crash", agent.name)
        self.excused["crashed"] += len(agent.in_flight)
        agent.in_flight.clear()
        agent.memory = None
        agent.wake_ms = None
        agent.restart_ms = self.now_ms + down_ms
        self.judge.crashed(agent.name)

    def move_clock(self, agent: Agent, item: ClockMove) -> None:
        by_ms = item.args["by_ms"]
        assert isinstance(by_ms, int)
        agent.clock.jump(self.now_ms, by_ms)
        if by_ms:
            self.fired["clock_jump_forward" if by_ms > 0 else "clock_jump_back"] += 1
        self.trace.add(Tag.CLOCK, agent.name, item.move, agent.clock.reading(self.now_ms))
        if agent.memory is not None:
            deadline_ms = agent.memory.deadline_ms()
            agent.wake_ms = None if deadline_ms is None else agent.clock.world_at(deadline_ms, self.now_ms)

    # Phases.

    def heal(self) -> None:
        """No new faults; windows end; links are instant; crashed agents restart; clocks that fell behind catch up."""
        self.is_healed = True
        self.latency = lambda event: 0
        self.services.heal()
        self.trace.add(Tag.PHASE, "heal")
        for agent in self.agents.values():
            if agent.memory is None:
                self.start(agent)
            assert agent.memory is not None
            behind_ms = agent.memory.state.seen_ms - agent.clock.reading(self.now_ms)
            if behind_ms > 0:
                agent.clock.jump(self.now_ms, behind_ms)
                deadline_ms = agent.memory.deadline_ms()
                agent.wake_ms = None if deadline_ms is None else agent.clock.world_at(deadline_ms, self.now_ms)

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
                raise Broken("progress", f"{stuck.workflow} of {agent.name} waits, and nothing could answer it")

    def tell(self, event: str, what: str) -> None:
        self.story.append(Event(self.step_count, self.now_ms, event, what))


class OutOfSteps(Exception):
    """The step limit of a run was reached."""


def nothing(services: Services, call: Call, draw: Draw) -> Args | None:
    return {}


def crash_args(kind: str, place: str, draw: Draw) -> Args | None:
    is_again = kind == "agent_crash_again"
    return {"down_ms": log_uniform(draw, "down_ms", WINDOW_MS_MAX)} if is_again == (place == "recovery") else None


def is_busy(agent: Agent) -> bool:
    if agent.pending or agent.in_flight or agent.memory is None:
        return True
    state = agent.memory.state
    return bool(state.operations) or state.phase == "recovering"


def number_of(item_id: str) -> int:
    return int(item_id[1:])


def latency_of(config: RunConfig) -> Callable[[str], int]:
    """Delay of a message by its event name, so that it stays with its operation."""
    if config.latency == "instant":
        return lambda event: 0
    keyed = Keyed(stream_key(config.seed, ("latency",)))
    if config.latency == "short":
        return lambda event: keyed.draw(event) * 6 >> 64
    return lambda event: spread(keyed.draw(event))


def spread(word: int) -> int:
    """1 .. 2047, every power of two as likely."""
    bits = 1 + (word & 0xFFFF) * 11 // 65_536
    return (1 << (bits - 1)) + (word >> 16) % (1 << (bits - 1))


# For the trace and for people.


def shown_args(args: Args) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in args.items())


def short(value: object) -> str:
    """One line about an effect, an answer, an outcome or an argument."""
    match value:
        case AskModel(task=task):
            return f"AskModel {task}"
        case Embed(texts=texts):
            return f"Embed {len(texts)} texts"
        case Commit(key=key, writes=writes):
            return f"Commit {len(writes)} writes, key {key[:12]}"
        case Done(value=inner):
            return f"Done {short(inner)}" + "".join(f" degraded {item.name}" for item in value.degraded)
        case Refused(error=error) | Failed(error=error):
            return f"{type(value).__name__} {type(error).__name__}: {error}"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


__all__ = ["SERVICE_OF", "Agent", "Effect", "Judge", "Message", "OutOfSteps", "Rebalance", "World", "short"]

"""The world: agents, the services they share, one queue of events in virtual time.

Law 1. World time starts at 0, jumps from event to event and never goes back.
Law 2. The events with the smallest due time are ready. "Oldest first" orders them: messages in order of
       sending, then wake-ups by agent, then items in order of the record.
Law 3. A run is a function of configuration and items. The world asks its source for faults and for the order
       of events, and cannot tell a generator from a record.
Law 4. Every input is recorded in the trace before the memory gets it.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from umi_core.data import SET_LATER, Owner
from umi_core.messages.answers import Value, Wake
from umi_core.messages.effects import Reply
from umi_core.messages.requests import REQUESTS
from umi_sim.faults.declaration import args_maker
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.clock import READING_MS_MAX, SimClock
from umi_sim.kernel.prng import Keyed, stream_key
from umi_sim.machines.fence import step
from umi_sim.machines.protocol import InitialStorage, Machine, Target
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.items import Args, ClockMove, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Tag, Trace
from umi_sim.record.trace_fields import answer_fields, outcome_fields, short, shown_args
from umi_sim.record.verdict import Event
from umi_sim.services.calls import Services
from umi_sim.services.tampering import Tampering
from umi_sim.world import changes, clock_moves, crashes, moments, takeovers
from umi_sim.world.agent import (
    Agent,
    Judge,
    NetworkMessage,
    Tally,
    is_busy,
    must_be_quiet,
    wake_name,
)
from umi_sim.world.network import Entry, Network
from umi_sim.world.source import At, Source, is_fifo, names_group

# In steps. The digest of a large state costs more than a step, and the trace has every effect anyway.
STATE_EVERY: Final = 16
RESTORE_EVERY: Final = 64  # a multiple of STATE_EVERY, so that the digest exists already
STORY_COUNT_MAX: Final = 400
# A clock that jumps back by days makes a request wait for days, and in that time faults keep the background
# work of other agents going: recoveries crash, and old incarnations work beside new ones. After so many steps
# without a request or a reply, agents are woken for requests alone, so time passes at no cost.
BACKGROUND_STEPS_MAX: Final = 5_000

OP, STEP, REPLY, ANSWER, STATE = Tag.OP, Tag.STEP, Tag.REPLY, Tag.ANSWER, Tag.STATE

Ready = tuple[str, Callable[[], None]]


class OutOfSteps(Exception):
    """The step limit of a run was reached."""


class World(Owner):
    """One run in progress. `judge` observes it from outside; `source` supplies items, faults and order."""

    config: RunConfig
    source: Source
    judge: Judge
    target: Target
    keep_story: bool = False
    agents: dict[str, Agent] = {}
    incarnations: list[Agent] = []  # all agents and their replaced incarnations
    lone: Agent = SET_LATER  # the last agent; used only if there is a single one
    services: Services = SET_LATER
    tampering: Tampering = SET_LATER
    trace: Trace = msgspec.field(default_factory=Trace)
    network: Network = SET_LATER
    now_ms: int = 0
    is_healed: bool = False
    may_crash: bool = False
    may_change: bool = False  # whether workflows are revised or rows tampered with
    is_fifo: bool = False
    item: str = ""
    step_count: int = 0
    request_step: int = 0  # the step of the last request or reply
    step_max: int = sys.maxsize  # for the whole run, across its phases
    crash_count: int = 0
    tally: Tally = msgspec.field(default_factory=Tally)
    story: deque[Event] = msgspec.field(default_factory=partial(deque, maxlen=STORY_COUNT_MAX))

    def __post_init__(self) -> None:
        config = self.config
        self.may_crash = names_group("agent", config, self.source)
        self.may_change = bool(config.revise_every or config.tamper_every)
        self.is_fifo = is_fifo(config, self.source)
        self.services = self.target.services()
        self.services.on_wipe, self.services.on_durable = self.crash_all, self.judge.observe_commit
        self.tampering = Tampering(config.tamper_every, Keyed(stream_key(config.seed, ("tampering",))))
        for agent in config.agents:
            clock = SimClock.start(0, config.start_ms + agent.skew_ms)
            self.agents[agent.name] = self.lone = Agent(agent.name, agent, clock)
            self.incarnations.append(self.lone)
        self.network = Network(self)

    def begin(self) -> None:
        """Begin the first incarnation of every agent."""
        self.trace.add(Tag.RUN, self.config.scenario, self.config.version, str(self.config.seed))
        for agent in self.agents.values():
            self.start(agent)

    # The loop.

    def run_until_quiet(self, step_max: int) -> None:
        """Deliver events until nothing is in flight and no item is left.

        Raises OutOfSteps at the limit, and Broken(progress) if an operation waits for nothing.
        """
        step_max = min(step_max, self.step_max)
        while self.step_count < step_max:
            self.refill()
            if not (self.deliver_lone_item() or self.deliver_next()):
                return
        raise OutOfSteps(f"not finished after {step_max} steps")

    def refill(self) -> None:
        for agent in self.agents.values():
            if agent.wants_items():
                items = self.source.next_items(agent.name, self.now_ms, len(agent.in_flight))
                if items:
                    agent.take_items(items)

    def deliver_lone_item(self) -> bool:
        """Deliver the next item in the commonest case: one agent, no message, no wake-up set."""
        # `deliver_next` would do the same after building a list of ready events. A wake-up comes before an
        # item of the same time (law 2), so this function applies only if none is set.
        agent = self.lone
        is_alone = not self.network.queue and len(self.incarnations) == 1
        if not is_alone or not agent.pending or agent.wake_ms is not None:
            return False
        if agent.machine is None or agent.resume_ms is not None:
            return False
        self.set_time(max(agent.pending[0].at_ms, self.now_ms))
        self.deliver_item(agent)
        return True

    def deliver_next(self) -> bool:
        """Deliver one of the ready events; return False if the world is quiet."""
        is_awake = self.runs_background()
        due_ms = self.next_due(is_awake)
        if due_ms is None:
            if is_awake or not self.is_busy():
                must_be_quiet(self.incarnations)
            return False
        self.set_time(due_ms)
        # Messages come before wake-ups and items (law 2), and the first entry of the heap is the oldest.
        if self.is_fifo and self.network.next_due() == due_ms:
            self.deliver_message(self.network.take_first())
            return True
        ready = list(self.ready(due_ms, is_awake))
        index = 0 if self.is_fifo or len(ready) == 1 else self.choose(ready)
        ready[index][1]()
        return True

    def choose(self, ready: list[Ready]) -> int:
        index = self.source.choose([name for name, _ in ready])
        self.tally.marks["events of one millisecond"] += 1
        if index:
            self.trace.add(Tag.SCHEDULE, ready[index][0], ready[0][0])
        return index

    def set_time(self, now_ms: int) -> None:
        assert now_ms >= self.now_ms
        self.now_ms = self.trace.world_ms = now_ms

    def next_due(self, is_awake: bool | None = None) -> int | None:
        """Return the time of the next event; None when only idle agents are left."""
        is_awake = self.runs_background() if is_awake is None else is_awake
        due_times = [self.network.next_due()]
        for agent in self.incarnations:
            due_times += self.wake_at(agent, is_awake), self.item_at(agent)
        return min((due_ms for due_ms in due_times if due_ms is not None), default=None)

    def ready(self, due_ms: int, is_awake: bool) -> Iterator[Ready]:
        """Yield the events due by `due_ms`, oldest first, each with the function that delivers it."""
        for entry in self.network.due(due_ms):
            yield entry[2].event, partial(self.deliver_entry, entry)
        for agent in self.incarnations:
            at_ms = self.wake_at(agent, is_awake)
            if at_ms is not None and at_ms <= due_ms:
                yield wake_name(agent), partial(self.deliver_wake, agent)
        with_item = [agent for agent in self.agents.values() if self.item_at(agent) == due_ms]
        if len(with_item) > 1:
            # By the number in the id: ops are numbered in the order of the record, and so are clock moves.
            with_item.sort(key=lambda agent: int(agent.pending[0].id[1:]))
        for agent in with_item:
            yield agent.pending[0].id, partial(self.deliver_item, agent)

    def wake_at(self, agent: Agent, is_awake: bool) -> int | None:
        """Return when the agent is restarted, resumed or woken.

        `is_awake`: whether agents are woken for background work.
        """
        if agent.machine is None:
            return agent.restart_ms
        if agent.resume_ms is not None:
            return agent.resume_ms
        if agent.wake_ms is None or not (is_awake or agent.in_flight):
            return None
        return agent.wake_ms if agent.wake_ms > self.now_ms else self.now_ms  # it is in the past if it waited

    def item_at(self, agent: Agent) -> int | None:
        if not agent.pending or agent.resume_ms is not None:
            return None
        at_ms = agent.pending[0].at_ms
        return at_ms if at_ms > self.now_ms else self.now_ms  # no call of `max`: this is the hottest function

    def runs_background(self) -> bool:
        """Return whether agents are woken for background work: the world is busy, and not with that alone."""
        is_idle = self.step_count - self.request_step > BACKGROUND_STEPS_MAX and not self.is_healed
        return not is_idle and self.is_busy()

    def is_busy(self) -> bool:
        """Return whether there is anything left to do besides background work."""
        return bool(self.network.queue) or any(is_busy(agent) for agent in self.incarnations)

    # Deliveries.

    def deliver_entry(self, entry: Entry) -> None:
        self.deliver_message(self.network.take(entry))

    def deliver_item(self, agent: Agent) -> None:
        item = agent.pending.popleft()
        self.item = item.id
        if isinstance(item, ClockMove):
            self.move_clock(agent, item)
        else:
            self.deliver_op(agent, item)

    def deliver_op(self, agent: Agent, op: Op) -> None:
        # After a fault that pauses, the op is held; after a crash there is no machine (next branch); after a
        # takeover the op is delivered.
        if self.may_crash and self.inject_agent_fault(agent, op.id) and agent.resume_ms is not None:
            agent.held.append(op)
        # `inject_agent_fault` above may have crashed it just now.
        elif agent.machine is None:
            self.skip(op.id, "op of an agent that is down", "down")
        elif op.name not in self.target.requests:
            self.skip(op.id, "op that is not served", "not served")
        else:
            if self.may_change:
                changes.revise(self, op.id)
                changes.tamper(self, op.id)
            self.issue(takeovers.addressee(self.incarnations, agent), op.id, op.name, op.args)

    def skip(self, item_id: str, what: str, why: str) -> None:
        self.tally.skipped[what] += 1
        self.trace.add(Tag.SKIPPED, item_id, why)

    def issue(self, agent: Agent, op_id: str, name: str, args: Args) -> None:
        """Give a request to the agent's machine."""
        request = REQUESTS[name](op_id, **args)
        reading_ms = agent.clock.reading(self.now_ms)
        self.tally.operations[name] += 1
        agent.in_flight[op_id] = name
        self.request_step = self.step_count
        self.trace.add(OP, op_id, agent.name, reading_ms, name, list(args.values()))
        self.judge.observe_request(agent.name, op_id, request, reading_ms)
        self.tally.mark(moments.of_request(agent.machine, request))
        if self.keep_story:
            self.tell(op_id, f"{name} {shown_args(args)}", of_next=True)
        self.give(agent, request, reading_ms)

    def deliver_wake(self, agent: Agent) -> None:
        if agent.machine is None:
            self.start(agent)
            return
        if agent.resume_ms is not None:
            self.resume(agent)
            return
        agent.wake_count += 1
        event = f"{agent.name}/wake#{agent.wake_count}"
        if not (takeovers.end_if_idle(self, agent) or self.inject_agent_fault(agent, event)):
            self.wake(agent, agent.machine, event)

    def wake(self, agent: Agent, machine: Machine, event: str) -> None:
        reading_ms, before_ms = agent.clock.reading(self.now_ms), machine.deadline_ms()
        self.trace.add(STEP, agent.name, reading_ms, "Wake", event)
        self.judge.woken(agent.name, reading_ms)
        is_idle = self.give(agent, Wake(), reading_ms) == 0 and machine.deadline_ms() == before_ms
        agent.must_not_spin(before_ms if is_idle else None)

    def deliver_message(self, message: NetworkMessage) -> None:
        if message.leg == "request":
            self.network.arrive(message)
        elif message.flush is not None:
            self.network.flush(message, message.flush)
        else:
            self.deliver_answer(message)

    def deliver_answer(self, message: NetworkMessage) -> None:
        call, answer, event = message.call, message.answer, message.event
        assert answer is not None
        # None if the incarnation that asked has crashed since.
        agent = takeovers.find_caller(self.incarnations, call)
        if agent is None:
            return
        # `hold` looks for the caller again. If a pause or takeover put it to sleep, it gets the answer later;
        # after a crash the answer is lost.
        if agent.resume_ms is not None or self.inject_agent_fault(agent, event):
            takeovers.hold(self.incarnations, message)
            return
        reading_ms = agent.clock.reading(self.now_ms)
        self.trace.add(ANSWER, event, *answer_fields(answer))
        self.trace.add(STEP, agent.name, reading_ms, type(answer).__name__, event)
        # To a machine that no longer waits for the answer, it only shows that time has passed.
        if agent.awaits(answer, reading_ms):
            self.judge.observe_answer(call, answer, reading_ms)
        else:
            self.judge.woken(agent.name, reading_ms)
            self.tally.mark(moments.of_late_answer(agent.machine, reading_ms))
        if self.keep_story:
            self.tell(event, short(answer), of_next=True)
        self.give(agent, answer, reading_ms)

    # Steps and effects.

    def give(self, agent: Agent, value: Value, reading_ms: int) -> int:
        """Step the machine with `value`, process its effects and return their number."""
        machine = agent.machine
        assert machine is not None
        self.step_count += 1
        self.judge.stepping(agent.name, machine, value, reading_ms)
        effects = step(machine.step, reading_ms, value, self.target.fence)
        for effect in effects:
            if isinstance(effect, Reply):
                self.reply(agent, effect, reading_ms)
            else:
                self.network.send(agent, machine, effect)
        if machine.marks:
            self.tally.marks.update(machine.marks)
        self.judge.observe_step(agent.name, machine, self.services.storage, value, effects)
        self.set_alarm(agent, machine)
        if self.step_count % STATE_EVERY == 0:
            self.trace.add(STATE, agent.name, digest := machine.digest())
            if self.step_count % RESTORE_EVERY == 0:
                self.restore(agent, machine, digest)
        return len(effects)

    def set_alarm(self, agent: Agent, machine: Machine) -> None:
        deadline_ms = machine.deadline_ms()
        agent.wake_ms = None if deadline_ms is None else agent.clock.world_at(deadline_ms, self.now_ms)

    def restore(self, agent: Agent, machine: Machine, digest: bytes) -> None:
        """Replace a machine by a copy restored from its bytes. Raises Broken if their digests differ."""
        if (copy := machine.make_copy()) is None:
            return
        # The copy takes over even if the rule is off, so that switching the rule off changes no trace.
        agent.machine = copy
        if (rule := rules.COPIED_STATE_CONTINUES).name not in self.config.off:
            message = f"{agent.name} restored from its snapshot is another memory"
            demand(copy.digest() == digest, rule, message)

    def reply(self, agent: Agent, reply: Reply, reading_ms: int) -> None:
        op_id, outcome = str(reply.op_id), reply.outcome
        is_awaited = agent.in_flight.pop(op_id, None) is not None
        self.request_step = self.step_count
        demand(is_awaited, rules.ONE_REPLY, f"{op_id} was answered twice, or never asked")
        self.judge.check_outcome(agent.name, op_id, outcome)
        self.trace.add(REPLY, op_id, *outcome_fields(outcome))
        if self.keep_story:
            self.tell(op_id, f"Reply {short(outcome)}")
        self.tally.count_reply(outcome)
        if reply.hooks:
            self.tally.mark(moments.of_hooks(reply.hooks))
        self.judge.observe_reply(agent.name, op_id, reply, reading_ms)

    # Faults and incarnations.

    def inject(self, at: At, here: Callable[[], object]) -> tuple[Any] | None:
        """Inject the fault of this event, if any; return its effect in a tuple, or None without a fault."""
        fault = self.source.fault(*at, args_maker(here, self.tally.without_effect))
        if fault is None:
            return None
        self.tally.fired[fault.fault] += 1
        self.trace.add(Tag.FAULT, fault.id, fault.fault, at[2])
        if self.keep_story:
            self.tell(at[2], f"FAULT {fault.id} {fault.fault}")
        # In a tuple, since the effect itself may be None (an answer that never comes).
        return (KINDS[fault.fault](**fault.args).inject(here()),)

    def inject_agent_fault(self, agent: Agent, event: str) -> bool:
        """Inject the agent fault of an event, if any, before its delivery; return whether there was one."""
        # A replaced incarnation meets none (law 2 of takeovers.py), since a restart would give it a second
        # successor.
        if not self.may_crash or self.is_healed or agent.machine is None or agent.is_old:
            return False
        place = "recovery" if agent.machine.is_recovering else "life"
        here = partial(crashes.event_of, self, agent, place == "recovery")
        return self.inject(("agent.event", f"agent.event.{place}", event, event), here) is not None

    def resume(self, agent: Agent) -> None:
        """End a pause and deliver everything that arrived during it."""
        if takeovers.sleeps_on(self, agent):
            return
        self.trace.add(Tag.LIFE, "resume", agent.name)
        held = agent.resume(self.now_ms)
        assert agent.machine is not None
        self.set_alarm(agent, agent.machine)
        for each in held:
            if isinstance(each, Op):
                self.deliver_op(agent, each)
            else:
                self.deliver_answer(each)

    def start(self, agent: Agent) -> None:
        """Begin a new incarnation, which recovers from storage."""
        stored = InitialStorage(self.services, partial(self.network.commits_of, agent.name))
        agent.machine = self.target.begin(agent.name, agent.config.scope, stored)
        agent.incarnation += 1
        agent.restart_ms = None
        self.trace.add(Tag.LIFE, "start", agent.name)
        self.wake(agent, agent.machine, f"{agent.name}/start#{agent.incarnation}")

    def crash(self, agent: Agent, down_ms: int) -> None:
        """Drop the volatile state of an agent; its operations in flight get no reply."""
        self.crash_count += 1
        crashes.crash(self, agent, down_ms)

    def crash_all(self, down_ms: int) -> None:
        """End old incarnations and crash every agent, after storage has lost everything."""
        takeovers.end_all(self)
        for agent in self.agents.values():
            if agent.machine is not None:
                self.crash(agent, down_ms)
        self.judge.observe_wipe()

    def move_clock(self, agent: Agent, item: ClockMove) -> None:
        if not clock_moves.make(agent.clock, item, self.now_ms, self.free_ms(agent), self.tally):
            self.skip(item.id, "landing that is too late or too far", item.move)
            return
        self.trace.add(Tag.CLOCK, agent.name, item.move, agent.clock.reading(self.now_ms))
        if agent.machine is not None:
            self.set_alarm(agent, agent.machine)

    def free_ms(self, agent: Agent) -> int:
        """Return the time until the next event that is no item of this agent."""
        others = (self.item_at(other) for other in self.incarnations if other is not agent)
        # The agent's own wake-up counts as well: a landing must not skip it.
        wakes = (self.wake_at(other, True) for other in self.incarnations)
        due_times = [due_ms for due_ms in (self.network.next_due(), *others, *wakes) if due_ms is not None]
        return max(0, min(due_times) - self.now_ms) if due_times else READING_MS_MAX

    # Phases.

    def heal(self) -> None:
        """End all faults and delays, restart or resume every agent, and correct clocks that are behind."""
        self.is_healed = True
        changes.heal(self)
        self.network.heal()
        self.services.heal(self.now_ms)
        takeovers.end_all(self)
        for agent in self.agents.values():
            if agent.resume_ms is not None:
                self.resume(agent)
            agent.clock.heal(self.now_ms)
            if agent.machine is None:
                self.start(agent)
            assert agent.machine is not None
            # A memory keeps the latest time that it has seen, and after a jump back by 30 days the drain
            # would wait 30 days for a deadline. So the clock is set to the time that the memory has seen.
            behind_ms = agent.machine.seen_ms - agent.clock.reading(self.now_ms)
            if behind_ms > 0:
                agent.clock.jump(self.now_ms, behind_ms)
            self.set_alarm(agent, agent.machine)

    def ask(self, agent: Agent, op_id: str, name: str, args: Args, step_max: int) -> None:
        """Issue a request of a phase and run until it is answered."""
        self.item = op_id
        self.issue(agent, op_id, name, args)
        self.run_until_quiet(step_max)

    def tell(self, event: str, what: str, *, of_next: bool = False) -> None:
        """Add an event to the story. `of_next`: it belongs to the next step, which is not counted yet."""
        self.story.append(Event(self.step_count + of_next, self.now_ms, event, what))

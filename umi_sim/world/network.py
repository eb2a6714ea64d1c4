"""The network: messages between agents and services, the links they travel over, and the calls at services.

Law 1. The name of an effect is its owner, the step that asks, and how often the owner has asked there.
Law 2. Among messages due at the same time the oldest comes first, unless a fault of the link reorders them.
Law 3. How often a message arrives (never, once or twice) is decided when it is sent.
Law 4. A window affects a whole link. A copy and the answers to it meet no fault of their own.
Law 5. A definite failure holds for every copy of a request: a copy that arrives later is dropped.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, Protocol

import msgspec

from umi_core.data import SET_LATER, Owner
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Asked, Commit
from umi_sim.faults.network import Passage, Trip, Trips
from umi_sim.faults.service import Arrival
from umi_sim.faults.window import Window
from umi_sim.kernel.prng import Keyed, stream_key
from umi_sim.machines.protocol import Machine, Origin, Target
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Tag, Trace
from umi_sim.record.trace_fields import effect_fields, short
from umi_sim.services.calls import DOUBTS, Call, Flush, Handled, Later, Services
from umi_sim.world.agent import Agent, Judge, NetworkMessage, Tally
from umi_sim.world.source import At, Source, names_group

UP: Final = "request"

Entry = tuple[int, int, NetworkMessage]  # due time, order among equal due times, message
Lane = tuple[str, str, bool]  # a link: agent, service, whether it leads to the service
InjectFault = Callable[[At, Callable[[], object]], tuple[Any] | None]


class NetworkContext(Protocol):
    """The part of a world that the network, and faults of agents, need."""

    config: RunConfig
    source: Source
    target: Target
    trace: Trace
    tally: Tally
    services: Services
    judge: Judge
    now_ms: int
    is_healed: bool
    keep_story: bool

    def inject(self, at: At, here: Callable[[], object]) -> tuple[Any] | None: ...
    def crash(self, agent: Agent, down_ms: int) -> None: ...
    def tell(self, event: str, what: str) -> None: ...


class Links:
    """All links of a world, each one direction between one agent and one service."""

    def __init__(self, config: RunConfig, inject: InjectFault, *, has_faults: bool) -> None:
        self.delay_ms = latency_of(config)
        self.has_faults = has_faults
        self.copied: dict[str, str] = {}  # state of each request with a copy: sent, arrived or failed
        self._inject = inject
        self._windows: defaultdict[Lane, Window] = defaultdict(Window)
        self._order = Keyed(stream_key(config.seed, ("release",)))

    def trips(self, message: NetworkMessage, ready_ms: int, now_ms: int) -> Trips:
        """Decide the deliveries, none to two, of a message that is sent in `ready_ms` from now."""
        event, usual_ms = message.event, self.delay_ms(message.event)
        if not self.has_faults:
            return (Trip(ready_ms + usual_ms),)
        lane, was_copied = lane_of(message), message.call.event in self.copied
        window, verb = self._windows[lane], "link.up" if lane[2] else "link.down"
        passage = Passage(window, now_ms, ready_ms, usual_ms, was_copied)
        injected: tuple[Trips] | None = None
        # An open window applies to every message on the link, copies included. Otherwise a message meets at
        # most one fault, and a copy meets none (law 4), since a copy could be copied again without end.
        if window.is_open(now_ms):
            injected = (window.fault.apply(passage),)
        elif not message.is_copy:
            injected = self._inject((verb, f"{verb}.{lane[1]}", event, event), lambda: passage)
        return injected[0] if injected else (Trip(passage.delay_ms),)

    def release_order(self, event: str) -> int:
        """Return a number of 24 bits that orders the messages which are released together."""
        # `post` shifts the number by 32 bits, and the result must fit into 64.
        return self._order.draw(event) >> 40

    def heal(self) -> None:
        """End all delays and faults."""
        self.delay_ms = no_delay
        self.has_faults = False


def lane_of(message: NetworkMessage) -> Lane:
    return message.call.agent, message.call.service, message.leg == UP


class Network(Owner):
    """Messages in order of their due time."""

    world: NetworkContext
    uncompared = ("world",)
    queue: list[Entry] = []  # a heap, so the first is due first
    links: Links = SET_LATER
    sent_count: int = 0
    names: Counter[str] = msgspec.field(default_factory=Counter)  # number of effects by "owner/step"
    owners: dict[tuple[str, int, int], str] = {}  # names of background operations
    slow: dict[Lane, Entry] = {}  # the message that the next one on the link overtakes

    def __post_init__(self) -> None:
        world = self.world
        has_faults = names_group("link", world.config, world.source)
        self.links = Links(world.config, world.inject, has_faults=has_faults)

    # The queue.

    def next_due(self) -> int | None:
        return self.queue[0][0] if self.queue else None

    def due(self, due_ms: int) -> Iterator[Entry]:
        """Return all entries that are due by then, oldest first."""
        return iter(sorted(entry for entry in self.queue if entry[0] <= due_ms))

    def take_first(self) -> NetworkMessage:
        return heappop(self.queue)[2]

    def take(self, entry: Entry) -> NetworkMessage:
        self.queue.remove(entry)
        self.queue.sort()  # a sorted list is a heap
        return entry[2]

    def post(self, delay_ms: int, message: NetworkMessage, before: int = 0) -> Entry:
        """Queue a message after others of its due time; with `before` ahead of them, the highest first."""
        self.sent_count += 1
        # Numbers below zero come first at their due time: before = 6 gives -6 * 2**32 + sent_count.
        entry = (self.world.now_ms + delay_ms, self.sent_count - (before << 32), message)
        heappush(self.queue, entry)
        return entry

    def commits_of(self, agent: str) -> Iterator[Commit]:
        """Yield the commits of an agent that are on their way to storage, or back."""
        effects = (message.call.effect for _, _, message in self.queue if message.call.agent == agent)
        return (effect for effect in effects if isinstance(effect, Commit))

    def heal(self) -> None:
        """End all delays; held messages are due now."""
        self.links.heal()
        now_ms = self.world.now_ms
        self.queue = sorted(
            # An order below zero marks a message that a clog holds: it is due now. A slow message keeps its
            # due time.
            (min(due_ms, now_ms) if place < 0 else due_ms, place, message)
            for due_ms, place, message in self.queue
        )

    # Over a link.

    def carry(self, message: NetworkMessage, ready_ms: int = 0) -> None:
        """Send a message in `ready_ms` from now; it may arrive never, once or twice."""
        trips = self.links.trips(message, ready_ms, self.world.now_ms)
        for trip in trips:
            self.travel(message, trip)
        if not trips and self.world.keep_story:
            self.world.tell(message.event, "lost on its way")

    def travel(self, message: NetworkMessage, trip: Trip) -> None:
        if trip.is_copy:
            message = message.copy()
            if message.leg == UP:
                self.links.copied[message.call.event] = "sent"
        before = 1 + self.links.release_order(message.event) if trip.is_released else 0
        entry, lane = self.post(trip.delay_ms, message, before), lane_of(message)
        # `let_pass` comes before the entry is stored as slow, or a message would overtake itself.
        self.let_pass(lane, entry)
        if trip.is_overtaken:
            self.slow[lane] = entry

    def let_pass(self, lane: Lane, entry: Entry) -> None:
        """Move the slow message of a link, if it is due later, to just after the message `entry`."""
        slow = self.slow.pop(lane, None)
        #     slow    due 900            ->  due 420, just after `entry`: the two have changed places
        #     entry   due 420                due 420
        # A slow message that is due before `entry`, or has arrived already, stays as it is.
        if slow is not None and slow[0] > entry[0] and slow in self.queue:
            self.post(entry[0] - self.world.now_ms, self.take(slow))

    # On the way up.

    def send(self, agent: Agent, machine: Machine, effect: Asked) -> None:
        """Name an effect of a machine and send it to its service."""
        origin = machine.origin_of(effect)
        owner, workflow, step = self.owner_of(agent, origin), origin.workflow, origin.step
        place = f"{owner}/{step}"
        # "o7/commit#2" is the second effect of operation o7 in its step `commit`. Faults are bound to this
        # name, so they find the same effect in a replay from which other operations were removed.
        self.names[place] += 1
        event = f"{place}#{self.names[place]}"
        self.world.trace.add(Tag.EFFECT, event, *effect_fields(effect))
        if self.world.keep_story:
            self.world.tell(event, short(effect))
        call = Call(
            event, agent.config.name, agent.incarnation, owner, workflow, step, effect, self.world.now_ms
        )
        self.world.judge.observe_call(call)
        self.carry(NetworkMessage(event, call, UP))

    def owner_of(self, agent: Agent, origin: Origin) -> str:
        """Return the item's id for a request, and agent:workflow:k for the k-th background run."""
        if origin.op_id is not None:
            return origin.op_id
        # Each incarnation numbers its operations from 1, so the key contains the incarnation.
        key = (agent.config.name, agent.incarnation, origin.number)
        if key not in self.owners:
            kind = f"{agent.config.name}:{origin.workflow}"
            self.names[kind] += 1
            self.owners[key] = f"{kind}:{self.names[kind]}"
        return self.owners[key]

    # At the service.

    def arrive(self, message: NetworkMessage) -> None:
        """Deliver a call to its service, where it may meet a fault."""
        call = message.call
        # A call without a copy is not in `copied`; of two copies the first one to arrive finds "sent".
        if self.links.copied.get(call.event, "sent") != "sent":
            self.arrive_again(message)
            return
        world, services, injected = self.world, self.world.services, None
        data, here = (
            services.register_arrival(call, world.now_ms),
            partial(Arrival, call, call.effect, services),
        )
        # A service that is away fails every call anyway.
        if not world.is_healed and not services.is_away(call, world.now_ms):
            injected = world.inject((call.verb, call.site, call.event, data), here)
        handled = injected[0] if injected else services.handle(call, world.now_ms)
        # sent -> arrived -> failed: after a definite failure the other copy must have no effect (law 5).
        if call.event in self.links.copied:
            self.links.copied[call.event] = "arrived"
        self.send_result(message, handled)

    def arrive_again(self, message: NetworkMessage) -> None:
        """Deliver the second copy of a call, unless the first failed definitely or the service is away."""
        call, services, now_ms = message.call, self.world.services, self.world.now_ms
        services.turn_to(now_ms)
        if self.links.copied[call.event] == "arrived" and not services.is_away(call, now_ms):
            self.send_result(message, services.handle(call, now_ms))

    def send_result(self, message: NetworkMessage, handled: Handled) -> None:
        if isinstance(handled, Flush):
            self.post(self.world.config.flush_ms, message.next("flush", flush=handled))
        else:
            self.answer_later(message, handled)

    def flush(self, message: NetworkMessage, flush: Flush) -> None:
        """Make a batch durable, unless its other copy has failed definitely."""
        world, call = self.world, message.call
        # The other copy has failed definitely while this batch waited for its flush (law 5).
        if self.links.copied.get(call.event) == "failed":
            world.services.drop_batch(call, flush)
        else:
            self.answer_later(message, world.services.flush(call, flush, world.now_ms))

    def answer_later(self, message: NetworkMessage, later: Later | None) -> None:
        if later is None:
            return
        event = message.call.event
        if event in self.links.copied and is_definite(message.call, later):
            self.links.copied[event] = "failed"
        ready_ms = max(0, later.at_ms - self.world.now_ms)
        self.carry(message.next("answer", answer=later.answer), ready_ms)


def is_definite(call: Call, later: Later) -> bool:
    """Return whether an answer is a definite failure: the call had no effect and will have none."""
    # After a time-out of a commit its batch is in doubt: it may be durable.
    is_in_doubt = isinstance(call.effect, Commit) and getattr(later.answer, "kind", "") in DOUBTS
    return isinstance(later.answer, EffectFailed) and not is_in_doubt


# Delays without faults. They are drawn by the name of a message, so they stay when other items are removed.


def latency_of(config: RunConfig) -> Callable[[str], int]:
    """Return the function from event names to delays."""
    if config.latency == "instant":
        return no_delay
    keyed = Keyed(stream_key(config.seed, ("latency",)))
    if config.latency == "short":
        return lambda event: keyed.draw(event) * 6 >> 64
    return lambda event: spread(keyed.draw(event))


def no_delay(event: str) -> int:
    return 0


def spread(word: int) -> int:
    """Return a delay of 1 .. 2047 ms from the bits of a word; each bit length is equally likely."""
    # 3 bits give 4 .. 7 ms and 10 bits give 512 .. 1023 ms, so short and long delays are equally frequent.
    bits = 1 + (word & 0xFFFF) * 11 // 65_536
    return (1 << (bits - 1)) + (word >> 16) % (1 << (bits - 1))

"""The network: messages between agents and services, the links they travel over, and the calls at services.

Law 1. An effect has a name: its owner, the step that asks, and how often this owner asked there.
Law 2. Oldest first among what is due at the same time, unless a link says otherwise.
Law 3. The fate of a message is decided when it is sent: it arrives never, once or twice.
Law 4. A window affects a whole link. A copy and the answers to it meet no fault of their own.
Law 5. A definite failure is a promise about every copy of a request: one that arrives later is turned away.
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

Entry = tuple[int, int, NetworkMessage]  # due time, place in the order of that time, what is delivered
Lane = tuple[str, str, bool]  # agent, service, up or down: which link
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
        self.copied: dict[str, str] = {}  # by request that comes twice: sent, arrived or failed
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
        # An open window decides for everything on the link, copies included. Otherwise a message meets
        # at most one fault, and a copy none (law 4), or copies of copies might never end.
        if window.is_open(now_ms):
            injected = (window.fault.apply(passage),)
        elif not message.is_copy:
            injected = self._inject((verb, f"{verb}.{lane[1]}", event, event), lambda: passage)
        return injected[0] if injected else (Trip(passage.delay_ms),)

    def release_order(self, event: str) -> int:
        """Return the place of a message among those that are released with it."""
        # 24 bits: `post` shifts them by 32, and the sum stays a small number that fits any record.
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
    names: Counter[str] = msgspec.field(default_factory=Counter)  # how often a place asked, by name
    owners: dict[tuple[str, int, int], str] = {}  # background operations
    slow: dict[Lane, Entry] = {}  # to be overtaken by the next one

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
        """Queue a message behind all that is due at its time; if `before` is set, in front, highest first."""
        self.sent_count += 1
        # numbers below zero come first at their instant: before = 6 is -6 * 2**32 + sent_count
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
            # A place below zero marks a message that a clog holds: its wait ends. A slow message keeps its
            # time.
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
        # In this order, or a slow message would overtake itself.
        self.let_pass(lane, entry)
        if trip.is_overtaken:
            self.slow[lane] = entry

    def let_pass(self, lane: Lane, entry: Entry) -> None:
        """Deliver an entry that waits to be overtaken right behind this message, if that is sooner."""
        slow = self.slow.pop(lane, None)
        #     slow    due 900            ->  due 420, right behind the next: the two have changed places
        #     next    due 420                due 420
        # Due before the next one, it needs no help; no longer in the queue, it has arrived.
        if slow is not None and slow[0] > entry[0] and slow in self.queue:
            self.post(entry[0] - self.world.now_ms, self.take(slow))

    # On the way up.

    def send(self, agent: Agent, machine: Machine, effect: Asked) -> None:
        """Name the effect and put it on its way."""
        origin = machine.origin_of(effect)
        owner, workflow, step = self.owner_of(agent, origin), origin.workflow, origin.step
        place = f"{owner}/{step}"
        # "o7/commit#2": the second time that operation o7 asks in its step `commit`. A fault is bound to this
        # name, so it finds the same question in a replay from which other operations were removed.
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
        """Return the request's item, or agent:workflow:k for the k-th background operation of its kind."""
        if origin.op_id is not None:
            return origin.op_id
        # Each incarnation numbers its operations from the start, so a number alone may name two operations.
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
        # Absent for a call without a copy; "sent" until the first of two arrives.
        if self.links.copied.get(call.event, "sent") != "sent":
            self.arrive_again(message)
            return
        world, services, injected = self.world, self.world.services, None
        data, here = (
            services.register_arrival(call, world.now_ms),
            partial(Arrival, call, call.effect, services),
        )
        # A service that is away fails every call already.
        if not world.is_healed and not services.is_away(call, world.now_ms):
            injected = world.inject((call.verb, call.site, call.event, data), here)
        handled = injected[0] if injected else services.handle(call, world.now_ms)
        # sent -> arrived -> failed: once the caller may know that nothing happened, its copy must not happen.
        if call.event in self.links.copied:
            self.links.copied[call.event] = "arrived"
        self.send_result(message, handled)

    def arrive_again(self, message: NetworkMessage) -> None:
        """Deliver the second copy, unless the first one has failed for sure or the service is away."""
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
        """Make a batch durable, unless its other copy has failed for sure."""
        world, call = self.world, message.call
        # The other copy failed for sure while this batch waited for its flush, so law 5 forbids it.
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
    """Return whether an answer says that nothing happened, and that nothing will."""
    # A time-out of a commit says nothing about the batch, which may be durable.
    is_in_doubt = isinstance(call.effect, Commit) and getattr(later.answer, "kind", "") in DOUBTS
    return isinstance(later.answer, EffectFailed) and not is_in_doubt


# Delays without faults, drawn by the name of a message, so that they stay with its operation.


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
    """Return 1 .. 2047 from the bits of a word, every power of two as likely."""
    # 1 .. 11 bits, each as likely; bits = 3 gives 4 .. 7 ms, so short and long delays are equally frequent
    bits = 1 + (word & 0xFFFF) * 11 // 65_536
    return (1 << (bits - 1)) + (word >> 16) % (1 << (bits - 1))

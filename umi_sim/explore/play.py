"""Play: lists the possible actions of a world, and plays one, recording it as items for a replay.

Law 1. An action has the same meaning in every world: it names the n-th request, event or option of a fault.
Law 2. Actions run the world's own code, and a replay of the recorded items is the same run.
Law 3. Time never passes an event that is due, because a replay would deliver that event first.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.engine.registry import Registry
from umi_sim.faults.agent import AgentCrash, CrashAgain
from umi_sim.faults.clock import jump_signs
from umi_sim.faults.declaration import ArgsMaker
from umi_sim.faults.kinds import KINDS
from umi_sim.judge.inspector import Inspector
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.items import Args, ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Tag, Trace
from umi_sim.scenario.action_set import ActionSet, ValueOfRun
from umi_sim.world.agent import Agent, must_be_quiet
from umi_sim.world.world import World

STEPS_PER_ACTION_MAX: Final = 2_000
FEW: Final = 4  # a draw of up to so many options tries each; a larger one only the first and the last
LANDING_MS: Final = (-1, 0, 1)
MAY_HAVE_FAULTS: Final = ("request", "deliver", "wait")  # kinds of actions during which a fault is tried


class FaultChoice(Data):
    """A fault at the place with this index in an action; `turns`: the option of each of its draws."""

    kind: str
    place: int
    turns: tuple[int, ...] = ()


class Action(Data):
    """One action. `kind`: request, wait, deliver, jump or crash; `number`: an index, or a time in ms."""

    kind: str
    agent: str = ""
    number: int = 0
    fault: FaultChoice | None = None


class NothingChanged(Exception):
    """The action changes nothing in this world, such as a fault without effect."""


class Untraced(Trace):
    """A trace that records nothing, because a list that fails is run again with a real one."""

    __slots__ = ()

    def add(self, tag: Tag, *fields: object) -> None:
        """Drop the record."""


class ActionSource:
    """The source of an explored world: injects the fault of the current action, and records items."""

    def __init__(self) -> None:
        self.record: list[Item] = []
        self.choice: FaultChoice | None = None
        self.places: list[str] = []  # the verb of each place for a fault in this action
        self.taken: list[tuple[int, int]] = []  # the draws of the fault: (chosen option, number of options)

    def begin(self, choice: FaultChoice | None) -> None:
        self.choice, self.places, self.taken = choice, [], []

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        return ()

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        choice, place = self.choice, len(self.places)
        self.places.append(verb)
        if choice is None or place != choice.place or not KINDS[choice.kind].is_at(verb):
            return None
        args = make_args(choice.kind, self.draw)
        if args is None:
            raise NothingChanged
        fault = Fault(self.next_id("f"), choice.kind, event, args)
        self.record.append(fault)
        return fault

    def draw(self, label: str, n: int) -> int:
        """Return the option that `turns` chooses for this draw; the first option if it has none for it."""
        assert self.choice is not None
        # For n = 3 the options are 0, 1, 2; for n = 1000, such as a byte to flip, only the first and the
        # last. A crashed agent always stays down for the shortest time; waiting is an action of its own.
        options = (0,) if label.startswith("down_ms") else tuple(range(n)) if n <= FEW else (0, n - 1)
        turn = self.choice.turns[len(self.taken)] if len(self.taken) < len(self.choice.turns) else 0
        self.taken.append((turn, len(options)))
        return options[turn]

    def choose(self, ready: Sequence[str]) -> int:
        return 0

    def next_id(self, first: str) -> str:
        return f"{first}{len(self.record) + 1}"


class Explored(World):
    """A world that is driven action by action. It stays busy during a list, as in a replay of the list."""

    is_awake: bool = True

    def is_busy(self) -> bool:
        return self.is_awake or World.is_busy(self)

    def read_now(self) -> int:
        return self.now_ms


def first_world(config: RunConfig, registry: Registry) -> Explored:
    """Return the world in which every list begins: each agent has recovered, and nothing is in flight."""
    inspector = Inspector(config)
    world = Explored(config, ActionSource(), inspector, UmiTarget(config, registry))
    world.trace = Untraced()
    inspector.oracle.surroundings.world_ms = world.read_now
    world.begin()
    world.is_awake = False
    world.run_until_quiet(STEPS_PER_ACTION_MAX)
    world.is_awake = True
    return world


def source_of(world: Explored) -> ActionSource:
    assert isinstance(world.source, ActionSource)
    return world.source


def inspector_of(world: Explored) -> Inspector:
    assert isinstance(world.judge, Inspector)
    return world.judge


# Listing actions.


def list_actions(world: Explored, action_set: ActionSet) -> Iterator[Action]:
    """Yield every action that can be played in this world, without faults."""
    for agent in world.agents.values():
        if agent.machine is None:
            continue
        if len(agent.in_flight) < world.config.in_flight_max:
            for number, (_, args) in enumerate(action_set.requests):
                if fill_arguments(world, agent, args) is not None:
                    yield Action("request", agent.name, number)
        if any(KINDS[kind].group == "agent" for kind in action_set.faults):
            yield Action("crash", agent.name)
        for sign in jump_signs(action_set.faults):
            yield from (Action("jump", agent.name, sign * by_ms) for by_ms in action_set.advance_ms)
    due_ms = world.next_due() if action_set.interleave else None
    if due_ms is not None:
        count = sum(1 for _ in world.ready(due_ms, world.runs_background()))
        yield from (Action("deliver", "", number) for number in range(count))
    for wait_ms in list_waits(world, action_set):
        if due_ms is None or world.now_ms + wait_ms <= due_ms:
            yield Action("wait", "", wait_ms)


def list_waits(world: Explored, action_set: ActionSet) -> list[int]:
    """Return the times to wait in ms: those of the action set, and until every deadline or 1 ms beside it."""
    found = dict.fromkeys(action_set.advance_ms)
    for agent in world.agents.values() if action_set.land else ():
        for deadline_ms in list_deadlines(world, agent):
            for off_ms in LANDING_MS:
                at_ms = agent.clock.world_at(deadline_ms + off_ms, world.now_ms)
                if at_ms is not None and at_ms > world.now_ms:
                    found[at_ms - world.now_ms] = None
    return sorted(found)


def list_deadlines(world: Explored, agent: Agent) -> list[int]:
    """Return deadlines by the clock of an agent: expiries of live and saved entries, and its next wake-up."""
    oracle = inspector_of(world).oracle
    newest = [session.versions[session.must] for session in oracle.sessions.sessions.values()]
    at_rest = [entry[1] for saved in newest for entry in saved[0].twin.entries.values()]
    wanted = agent.machine.deadline_ms() if agent.machine else None
    return [*oracle.expiries(agent.name), *at_rest, *([] if wanted is None else [wanted])]


def list_fault_choices(source: ActionSource, action: Action, action_set: ActionSet) -> Iterator[Action]:
    """Yield the action that was just played with each fault at each place that it has for one."""
    for place, verb in enumerate(source.places if action.kind in MAY_HAVE_FAULTS else ()):
        for kind in action_set.faults:
            is_rest = action.kind == "request" and place == 0 and verb == "agent.event"
            if KINDS[kind].is_at(verb) and not is_rest:  # a crash before a request is the action `crash`
                yield structs.replace(action, fault=FaultChoice(kind, place))


def find_next_draws(source: ActionSource, action: Action) -> Action | None:
    """Return the action with the next combination of draws of its fault; None if all were tried."""
    turns = list(source.taken)
    # Counts like an odometer: (0, 0), (0, 1), (1, 0), (1, 1). Last draws that have reached their last option
    # are dropped, and the draw before them is increased; the dropped draws start at 0 again.
    while turns and turns[-1][0] + 1 == turns[-1][1]:
        turns.pop()
    if not turns or action.fault is None:
        return None
    following = (*(turn for turn, _ in turns[:-1]), turns[-1][0] + 1)
    return structs.replace(action, fault=structs.replace(action.fault, turns=following))


# Playing an action.


def play(world: Explored, action: Action, action_set: ActionSet) -> None:
    """Play an action. Raises NothingChanged, Broken, OutOfSteps, or any exception of the memory."""
    source = source_of(world)
    source.begin(action.fault)
    match action.kind:
        case "request":
            name, args = action_set.requests[action.number]
            agent = world.agents[action.agent]
            issue(world, agent, name, fill_arguments(world, agent, args) or {})
        case "crash":
            source.begin(choose_crash(world.agents[action.agent]))
            issue(world, world.agents[action.agent], "len", {})
        case "jump":
            agent = world.agents[action.agent]
            move = ClockMove(source.next_id("c"), world.now_ms, agent.name, "jump", {"by_ms": action.number})
            deliver(world, agent, move)
        case "deliver":
            deliver_ready(world, action.number)
        case "wait":
            let_pass(world, world.now_ms + action.number, action_set)
    if not action_set.interleave and action.kind != "wait":
        settle(world)
    if world.next_due() is None:
        must_be_quiet(world.agents.values())


def choose_crash(agent: Agent) -> FaultChoice:
    """Return a crash at the first place of a request, so that the agent crashes before it is delivered."""
    is_recovering = agent.machine is not None and agent.machine.is_recovering
    return FaultChoice((CrashAgain if is_recovering else AgentCrash).name, 0)


def issue(world: Explored, agent: Agent, name: str, args: Args) -> None:
    deliver(world, agent, Op(source_of(world).next_id("o"), world.now_ms, agent.name, name, args))


def deliver(world: Explored, agent: Agent, item: Op | ClockMove) -> None:
    """Deliver an item before all ready events, and record a deviation so that a replay does the same."""
    source = source_of(world)
    source.record.append(item)
    if world.next_due() == world.now_ms:
        first = next(world.ready(world.now_ms, world.runs_background()))[0]
        source.record.append(Deviation(source.next_id("s"), item.id, first))
    agent.pending.append(item)
    world.deliver_item(agent)


def deliver_ready(world: Explored, number: int) -> None:
    due_ms = world.next_due()
    assert due_ms is not None
    world.set_time(due_ms)
    ready = list(world.ready(due_ms, world.runs_background()))
    if number:
        source = source_of(world)
        source.record.append(Deviation(source.next_id("s"), ready[number][0], ready[0][0]))
    ready[number][1]()


def let_pass(world: Explored, until_ms: int, action_set: ActionSet) -> None:
    """Let time pass. Events due until then are delivered first, unless deliveries are actions themselves."""
    while not action_set.interleave and (due_ms := world.next_due()) is not None and due_ms <= until_ms:
        world.deliver_next()
    world.set_time(max(until_ms, world.now_ms))


def settle(world: Explored) -> None:
    """Run the world until nothing is in flight."""
    world.is_awake = False
    world.run_until_quiet(world.step_count + STEPS_PER_ACTION_MAX)
    world.is_awake = True


# Arguments whose values are known only during a run.


def fill_arguments(world: Explored, agent: Agent, args: Args) -> Args | None:
    """Replace each ValueOfRun among the arguments by its value; return None if one does not exist yet."""
    given = {
        name: find_value(world, agent, it) if isinstance(it, ValueOfRun) else it for name, it in args.items()
    }
    return None if any(value is None for value in given.values()) else given


def find_value(world: Explored, agent: Agent, value: ValueOfRun) -> object:
    """Return the other agents, or the id of the n-th session or entity; None if there are fewer."""
    oracle = inspector_of(world).oracle
    if value.what == "others":
        return oracle.other_agents(agent.name)
    ids = oracle.session_ids(agent.name) if value.what == "session" else oracle.entity_ids(agent.name)
    return ids[value.number - 1] if len(ids) >= value.number else None

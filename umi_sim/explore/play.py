"""Play: what each action does to a world. It is recorded as items for a replay.

Law 1. An action means the same wherever it is offered: the n-th agent, request, event or option of a fault.
Law 2. What is played is the world's own code; the items it leaves make the same run when they are replayed.
Law 3. Time never passes an event that is due: in a replay it would be delivered first.
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
FEW: Final = 4  # a draw of so many options takes all of them; of more the first and the last
LANDING_MS: Final = (-1, 0, 1)
MAY_HAVE_FAULTS: Final = ("request", "deliver", "wait")  # actions with which a fault may come


class FaultChoice(Data):
    """A fault at the n-th place of an action where one is possible, and the option of each of its draws."""

    kind: str
    place: int
    turns: tuple[int, ...] = ()


class Action(Data):
    """One choice. `kind`: request, wait, deliver, jump or crash; `number`: which one, or how many ms."""

    kind: str
    agent: str = ""
    number: int = 0
    fault: FaultChoice | None = None


class NothingChanged(Exception):
    """The action changes nothing here, such as a fault without effect."""


class Untraced(Trace):
    """Records nothing: a list that fails is run again."""

    __slots__ = ()

    def add(self, tag: Tag, *fields: object) -> None:
        """Drop the record."""


class ActionSource:
    """The source of an explored world: does what the action says, and records it as items."""

    def __init__(self) -> None:
        self.record: list[Item] = []
        self.choice: FaultChoice | None = None
        self.places: list[str] = []  # the verb of each place for a fault in this action
        self.taken: list[tuple[int, int]] = []  # the draws of the fault: which option, of how many

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
        """Return the chosen option, or the first beyond the choices so far. A stopped agent waits."""
        assert self.choice is not None
        # n = 3: all of 0, 1, 2; n = 1000, such as a byte to turn: the first and the last alone
        options = (0,) if label.startswith("down_ms") else tuple(range(n)) if n <= FEW else (0, n - 1)
        turn = self.choice.turns[len(self.taken)] if len(self.taken) < len(self.choice.turns) else 0
        self.taken.append((turn, len(options)))
        return options[turn]

    def choose(self, ready: Sequence[str]) -> int:
        return 0

    def next_id(self, first: str) -> str:
        return f"{first}{len(self.record) + 1}"


class Explored(World):
    """A world that is driven action by action. It is awake during a list, as a replay of it would be."""

    is_awake: bool = True

    def is_busy(self) -> bool:
        return self.is_awake or World.is_busy(self)

    def read_now(self) -> int:
        return self.now_ms


def first_world(config: RunConfig, registry: Registry) -> Explored:
    """Return the world in which every list begins: each agent has recovered, and nothing is under way."""
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


# Which actions there are.


def list_actions(world: Explored, action_set: ActionSet) -> Iterator[Action]:
    """Yield every action that can be played here, without faults."""
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
        count = sum(1 for _ in world.ready(due_ms, world.is_busy()))
        yield from (Action("deliver", "", number) for number in range(count))
    for wait_ms in list_waits(world, action_set):
        if due_ms is None or world.now_ms + wait_ms <= due_ms:
            yield Action("wait", "", wait_ms)


def list_waits(world: Explored, action_set: ActionSet) -> list[int]:
    """Return how long time may pass: the given pauses, and landings beside every deadline."""
    found = dict.fromkeys(action_set.advance_ms)
    for agent in world.agents.values() if action_set.land else ():
        for deadline_ms in list_deadlines(world, agent):
            for off_ms in LANDING_MS:
                at_ms = agent.clock.world_at(deadline_ms + off_ms, world.now_ms)
                if at_ms is not None and at_ms > world.now_ms:
                    found[at_ms - world.now_ms] = None
    return sorted(found)


def list_deadlines(world: Explored, agent: Agent) -> list[int]:
    """Return instants that matter on the clock of this agent: of live entries, saved ones, and the memory."""
    oracle = inspector_of(world).oracle
    newest = [session.versions[session.must] for session in oracle.sessions.sessions.values()]
    at_rest = [entry[1] for saved in newest for entry in saved[0].twin.entries.values()]
    wanted = agent.machine.deadline_ms() if agent.machine else None
    return [*oracle.expiries(agent.name), *at_rest, *([] if wanted is None else [wanted])]


def list_fault_choices(source: ActionSource, action: Action, action_set: ActionSet) -> Iterator[Action]:
    """Yield, for an action that was played, the same action with each fault at each possible place."""
    for place, verb in enumerate(source.places if action.kind in MAY_HAVE_FAULTS else ()):
        for kind in action_set.faults:
            is_rest = action.kind == "request" and place == 0 and verb == "agent.event"
            if KINDS[kind].is_at(verb) and not is_rest:  # a crash at rest is an action of its own
                yield structs.replace(action, fault=FaultChoice(kind, place))


def find_next_draws(source: ActionSource, action: Action) -> Action | None:
    """Return the next combination of draws of a fault that was played; None if all were tried."""
    turns = list(source.taken)
    # Like an odometer: (0, 0), (0, 1), (1, 0), (1, 1). A last digit at its end goes, and the one before it
    # counts on; draws behind it are made anew and begin at 0.
    while turns and turns[-1][0] + 1 == turns[-1][1]:
        turns.pop()
    if not turns or action.fault is None:
        return None
    following = (*(turn for turn, _ in turns[:-1]), turns[-1][0] + 1)
    return structs.replace(action, fault=structs.replace(action.fault, turns=following))


# Playing one.


def play(world: Explored, action: Action, action_set: ActionSet) -> None:
    """Do what the action says. Raises NothingChanged, Broken, OutOfSteps, or whatever the memory raised."""
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
    """Return a crash, which happens before its request is delivered."""
    is_recovering = agent.machine is not None and agent.machine.is_recovering
    return FaultChoice((CrashAgain if is_recovering else AgentCrash).name, 0)


def issue(world: Explored, agent: Agent, name: str, args: Args) -> None:
    deliver(world, agent, Op(source_of(world).next_id("o"), world.now_ms, agent.name, name, args))


def deliver(world: Explored, agent: Agent, item: Op | ClockMove) -> None:
    """Deliver an item before all ready events; a deviation has a replay do the same."""
    source = source_of(world)
    source.record.append(item)
    if world.next_due() == world.now_ms:
        first = next(world.ready(world.now_ms, world.is_busy()))[0]
        source.record.append(Deviation(source.next_id("s"), item.id, first))
    agent.pending.append(item)
    world.deliver_item(agent)


def deliver_ready(world: Explored, number: int) -> None:
    due_ms = world.next_due()
    assert due_ms is not None
    world.set_time(due_ms)
    ready = list(world.ready(due_ms, world.is_busy()))
    if number:
        source = source_of(world)
        source.record.append(Deviation(source.next_id("s"), ready[number][0], ready[0][0]))
    ready[number][1]()


def let_pass(world: Explored, until_ms: int, action_set: ActionSet) -> None:
    """Let the time pass; what is due until then happens first, unless each delivery is an action."""
    while not action_set.interleave and (due_ms := world.next_due()) is not None and due_ms <= until_ms:
        world.deliver_next()
    world.set_time(max(until_ms, world.now_ms))


def settle(world: Explored) -> None:
    """Go on until nothing is under way."""
    world.is_awake = False
    world.run_until_quiet(world.step_count + STEPS_PER_ACTION_MAX)
    world.is_awake = True


# Arguments that are known only in a run.


def fill_arguments(world: Explored, agent: Agent, args: Args) -> Args | None:
    """Return the arguments with values of this run; None if one means an id that does not exist."""
    given = {
        name: find_value(world, agent, it) if isinstance(it, ValueOfRun) else it for name, it in args.items()
    }
    return None if any(value is None for value in given.values()) else given


def find_value(world: Explored, agent: Agent, value: ValueOfRun) -> object:
    """Return the id that this value means here; None if there are not so many."""
    oracle = inspector_of(world).oracle
    if value.what == "others":
        return oracle.other_agents(agent.name)
    ids = oracle.session_ids(agent.name) if value.what == "session" else oracle.entity_ids(agent.name)
    return ids[value.number - 1] if len(ids) >= value.number else None

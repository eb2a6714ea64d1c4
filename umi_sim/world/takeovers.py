"""Takeovers: an agent gets a new incarnation while the old one still runs, unaware of its replacement.

    old   asked . . . . . asleep . . . . . . . wakes up, gets its answers, asks again: the epoch is now 8
    new                   claims epoch 8 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .

Law 1. The old incarnation resumes only when the new one has recovered. It ends if that takes too long, if it
       wakes with nothing in flight more than a day after its replacement, or if there are too many old ones.
Law 2. The old incarnation has a clock of its own, and meets no further fault of agents.
Law 3. The old incarnation still exchanges messages with the services.
"""

from collections.abc import Iterator
from copy import copy
from typing import ClassVar, Final, Protocol

from umi_core.limits import DAY_MS
from umi_sim.faults.window import WINDOW_MS_MAX
from umi_sim.record.trace import Tag
from umi_sim.services.calls import Call, old_name
from umi_sim.world import network
from umi_sim.world.agent import Agent, Judge, NetworkMessage

OLD_COUNT_MAX: Final = 4  # old incarnations of one agent


class ReplacedAgent(Agent, kw_only=True):
    """An old incarnation that runs beside its successor. It gets the next `ask_count` operations."""

    is_old: ClassVar[bool] = True
    successor: Agent
    replaced_ms: int  # the world time of the takeover
    sleep_ms: int
    ask_count: int


class TakeoverContext(network.NetworkContext, Protocol):
    """The part of a world that a takeover needs."""

    judge: Judge
    incarnations: list[Agent]

    def start(self, agent: Agent) -> None: ...


def take_over(world: TakeoverContext, agent: Agent, for_ms: int, ask_count: int) -> None:
    """Begin a new incarnation of an agent now; the old one sleeps for `for_ms`."""
    old = ReplacedAgent(
        name=old_name(agent.name, agent.incarnation), config=agent.config, clock=copy(agent.clock),
        machine=agent.machine, incarnation=agent.incarnation, in_flight=agent.in_flight, successor=agent,
        replaced_ms=world.now_ms, sleep_ms=for_ms, ask_count=ask_count,
    )  # fmt: skip
    old.pause(world.now_ms, for_ms, clock_stands=False)
    agent.machine = agent.wake_ms = None
    # A new dict, since the old incarnation keeps the present one: it still owes those replies.
    agent.in_flight = {}
    others = [it for it in replaced_agents(world.incarnations) if it.successor is agent]
    # With `old` there are at most four. Of four others [:-3] is the oldest one, of three it is empty.
    for surplus in others[: 1 - OLD_COUNT_MAX]:
        end(world, surplus)
    world.incarnations.append(old)
    world.trace.add(Tag.LIFE, "taken over", old.name)
    world.judge.observe_takeover(agent.name, old.name)
    world.start(agent)


def sleeps_on(world: TakeoverContext, agent: Agent) -> bool:
    """Put an old incarnation to sleep again if its successor has not recovered; return whether it sleeps."""
    if not isinstance(agent, ReplacedAgent):
        return False
    machine = agent.successor.machine
    # Until the successor has claimed its epoch, storage accepts commits of the old incarnation; that would
    # test nothing.
    if machine is not None and not machine.is_recovering:
        world.judge.observe_successor(agent.name)
        return False
    # Doubled, so that a slow recovery costs few wake-ups: 1 ms exceeds a minute after 16 of them.
    agent.sleep_ms = max(1, 2 * agent.sleep_ms)
    if agent.sleep_ms > WINDOW_MS_MAX:
        end(world, agent)
    else:
        agent.pause(world.now_ms, agent.sleep_ms, clock_stands=False)
    return True


def end_if_idle(world: TakeoverContext, agent: Agent) -> bool:
    """End an old incarnation that was replaced over a day ago and has nothing in flight; return if ended."""
    if not isinstance(agent, ReplacedAgent) or agent.in_flight or world.now_ms - agent.replaced_ms <= DAY_MS:
        return False
    end(world, agent)
    return True


def end(world: TakeoverContext, old: ReplacedAgent) -> None:
    """End an old incarnation; its operations in flight get no replies."""
    world.tally.excused["taken over"] += len(old.in_flight)
    world.incarnations[:] = [agent for agent in world.incarnations if agent is not old]


def end_all(world: TakeoverContext, successor: Agent | None = None) -> None:
    """End all old incarnations, or those of `successor`."""
    for old in list(replaced_agents(world.incarnations)):
        if successor is None or successor is old.successor:
            end(world, old)


def replaced_agents(incarnations: list[Agent]) -> Iterator[ReplacedAgent]:
    return (agent for agent in incarnations if isinstance(agent, ReplacedAgent))


def find_caller(incarnations: list[Agent], call: Call) -> Agent | None:
    """Return the incarnation that asked, if it still runs."""
    # A call has the name of its sender at the time, "alice"; since then the sender may have become "alice~2".
    # The incarnation number tells it from its successor, which has the name "alice" now.
    names = (call.agent, call.old_asker)
    found = (
        it
        for it in incarnations
        if it.name in names and it.incarnation == call.incarnation and it.machine is not None
    )
    return next(found, None)


def hold(incarnations: list[Agent], message: NetworkMessage) -> None:
    """Keep an answer until the incarnation that asked resumes; drop it if that one does not sleep."""
    agent = find_caller(incarnations, message.call)
    if agent is not None and agent.resume_ms is not None:
        agent.held.append(message)


def addressee(incarnations: list[Agent], agent: Agent) -> Agent:
    """Return the incarnation that gets the user's next op: at first an old one, `ask_count` times."""
    for old in incarnations:
        if (
            isinstance(old, ReplacedAgent)
            and old.successor is agent
            and old.resume_ms is None
            and old.ask_count
        ):
            old.ask_count -= 1  # the number of operations that the user still sends to the old address
            return old
    return agent

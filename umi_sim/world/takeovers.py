"""Takeovers: an agent has a new life while the old one still runs, and does not know that it was replaced.

    old life   asked . . . . . asleep . . . . . . . wakes up, hears its answers, asks on: the epoch is 8
    new life                   claims epoch 8 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .

Law 1. An old life wakes up only when the new one has recovered. If that takes too long, it is gone; so it is
       when it has nothing to hear, a day after it was replaced, and when there are too many of them.
Law 2. It has a clock of its own from then on, and no further fault strikes the agent that it is.
Law 3. Answers to what it asked reach it, and what it asks reaches the services.
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

OLD_COUNT_MAX: Final = 4  # of one agent


class ReplacedAgent(Agent, kw_only=True):
    """A life that goes on beside the one that took its place. It gets the next `ask_count` operations."""

    is_old: ClassVar[bool] = True
    successor: Agent
    replaced_ms: int  # the world's time
    sleep_ms: int
    ask_count: int


class TakeoverContext(network.NetworkContext, Protocol):
    """The part of a world that a takeover needs."""

    judge: Judge
    lives: list[Agent]

    def start(self, agent: Agent) -> None: ...


def take_over(world: TakeoverContext, agent: Agent, for_ms: int, ask_count: int) -> None:
    """The agent begins a new life at once; the one that it had falls asleep."""
    old = ReplacedAgent(
        name=old_name(agent.name, agent.life), config=agent.config, clock=copy(agent.clock),
        machine=agent.machine, life=agent.life, in_flight=agent.in_flight, successor=agent,
        replaced_ms=world.now_ms, sleep_ms=for_ms, ask_count=ask_count,
    )  # fmt: skip
    old.pause(world.now_ms, for_ms, clock_stands=False)
    agent.machine = agent.wake_ms = None
    # A new dict, since the old life has taken this one with it: it still owes these replies.
    agent.in_flight = {}
    others = [it for it in old_lives(world.lives) if it.successor is agent]
    # The eldest go, so that with the new one there are four:
    # of four others [:-3] is the first one, of three none.
    for surplus in others[: 1 - OLD_COUNT_MAX]:
        end(world, surplus)
    world.lives.append(old)
    world.trace.add(Tag.LIFE, "taken over", old.name)
    world.judge.observe_takeover(agent.name, old.name)
    world.start(agent)


def sleeps_on(world: TakeoverContext, life: Agent) -> bool:
    """Put an old life to sleep again, twice as long each time. Return whether it still had to sleep."""
    if not isinstance(life, ReplacedAgent):
        return False
    machine = life.successor.machine
    # Before the new life has claimed its epoch, storage accepts
    # what the old one commits: a takeover that would show nothing.
    if machine is not None and not machine.is_recovering:
        world.judge.old_life_woke(life.name)
        return False
    # Doubled, so that a recovery that faults hold up costs
    # few wake-ups: 1 ms grows past a minute in 16 of them.
    life.sleep_ms = max(1, 2 * life.sleep_ms)
    if life.sleep_ms > WINDOW_MS_MAX:
        end(world, life)
    else:
        life.pause(world.now_ms, life.sleep_ms, clock_stands=False)
    return True


def has_had_its_day(world: TakeoverContext, life: Agent) -> bool:
    """Return whether it wakes by itself, with nothing in flight, long after it was replaced; it ends then."""
    if not isinstance(life, ReplacedAgent) or life.in_flight or world.now_ms - life.replaced_ms <= DAY_MS:
        return False
    end(world, life)
    return True


def end(world: TakeoverContext, old: ReplacedAgent) -> None:
    """End an old life; the replies of what it had in flight never arrive."""
    world.tally.excused["taken over"] += len(old.in_flight)
    world.lives[:] = [life for life in world.lives if life is not old]


def end_all(world: TakeoverContext, successor: Agent | None = None) -> None:
    """End old lives, of this agent alone if one is given."""
    for old in list(old_lives(world.lives)):
        if successor is None or successor is old.successor:
            end(world, old)


def old_lives(lives: list[Agent]) -> Iterator[ReplacedAgent]:
    return (life for life in lives if isinstance(life, ReplacedAgent))


def asker(lives: list[Agent], call: Call) -> Agent | None:
    """The life that asked, if it still runs."""
    # A call bears the name under which it was sent, "alice"; since then its life may have become "alice~2".
    # The number of the life tells it from its successor, which is called "alice" now.
    names = (call.agent, call.old_asker)
    found = (it for it in lives if it.name in names and it.life == call.life and it.machine is not None)
    return next(found, None)


def hold(lives: list[Agent], message: NetworkMessage) -> None:
    """Take what comes for an incarnation that sleeps, perhaps only just; no other one hears it."""
    life = asker(lives, message.call)
    if life is not None and life.resume_ms is not None:
        life.held.append(message)


def addressee(lives: list[Agent], agent: Agent) -> Agent:
    """Return the life that gets the next operation of this agent's user: an old one that is up and known."""
    for old in lives:
        if (
            isinstance(old, ReplacedAgent)
            and old.successor is agent
            and old.resume_ms is None
            and old.ask_count
        ):
            # Its user still knows the old address for so many operations.
            old.ask_count -= 1
            return old
    return agent

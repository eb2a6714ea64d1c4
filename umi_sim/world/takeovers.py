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

import attrs

from umi_core.limits import DAY_MS
from umi_sim.faults.window import WINDOW_MS_MAX
from umi_sim.record.trace import Tag
from umi_sim.services.calls import Call, old_name
from umi_sim.world import network
from umi_sim.world.agent import Agent, Judge, Message

OLD_COUNT_MAX: Final = 4  # of one agent


@attrs.define(kw_only=True)
class OldLife(Agent):
    """A life that goes on beside the one that took its place. It gets the next `ask_count` operations."""

    is_old: ClassVar[bool] = True
    successor: Agent
    replaced_ms: int  # the world's time
    sleep_ms: int
    ask_count: int


class Around(network.Around, Protocol):
    """What a takeover needs of the world around."""

    judge: Judge
    lives: list[Agent]

    def start(self, agent: Agent) -> None: ...


def take_over(world: Around, agent: Agent, for_ms: int, ask_count: int) -> None:
    """The agent begins a new life at once; the one that it had falls asleep."""
    old = OldLife(
        name=old_name(agent.name, agent.life), config=agent.config, clock=copy(agent.clock),
        machine=agent.machine, life=agent.life, in_flight=agent.in_flight, successor=agent,
        replaced_ms=world.now_ms, sleep_ms=for_ms, ask_count=ask_count,
    )  # fmt: skip
    old.pause(world.now_ms, for_ms, clock_stands=False)
    agent.machine = agent.wake_ms = None
    agent.in_flight = {}
    others = [it for it in old_lives(world.lives) if it.successor is agent]
    for surplus in others[: 1 - OLD_COUNT_MAX]:
        end(world, surplus)
    world.lives.append(old)
    world.trace.add(Tag.LIFE, "taken over", old.name)
    world.judge.taken_over(agent.name, old.name)
    world.start(agent)


def sleeps_on(world: Around, life: Agent) -> bool:
    """Whether it was not replaced yet, and must not wake up: it sleeps twice as long, up to a limit."""
    if not isinstance(life, OldLife):
        return False
    machine = life.successor.machine
    if machine is not None and not machine.is_recovering:
        world.judge.old_life_woke(life.name)
        return False
    life.sleep_ms = max(1, 2 * life.sleep_ms)
    if life.sleep_ms > WINDOW_MS_MAX:
        end(world, life)
    else:
        life.pause(world.now_ms, life.sleep_ms, clock_stands=False)
    return True


def has_had_its_day(world: Around, life: Agent) -> bool:
    """Whether it wakes up by itself, with nothing in flight, long after it was replaced: then it is gone."""
    if not isinstance(life, OldLife) or life.in_flight or world.now_ms - life.replaced_ms <= DAY_MS:
        return False
    end(world, life)
    return True


def end(world: Around, old: OldLife) -> None:
    """What it had in flight nobody will hear of."""
    world.tally.excused["taken over"] += len(old.in_flight)
    world.lives[:] = [life for life in world.lives if life is not old]


def end_all(world: Around, successor: Agent | None = None) -> None:
    """Of this agent alone, if one is given."""
    for old in list(old_lives(world.lives)):
        if successor is None or successor is old.successor:
            end(world, old)


def old_lives(lives: list[Agent]) -> Iterator[OldLife]:
    return (life for life in lives if isinstance(life, OldLife))


def asker(lives: list[Agent], call: Call) -> Agent | None:
    """The life that asked, if it still runs."""
    names = (call.agent, call.old_asker)
    found = (it for it in lives if it.name in names and it.life == call.life and it.machine is not None)
    return next(found, None)


def hold(lives: list[Agent], message: Message) -> None:
    """For a life that sleeps, perhaps since a moment; nobody else hears it."""
    life = asker(lives, message.call)
    if life is not None and life.resume_ms is not None:
        life.held.append(message)


def addressee(lives: list[Agent], agent: Agent) -> Agent:
    """Who gets the next operation of this agent's user: an old life that is up and still known to them."""
    for old in lives:
        if isinstance(old, OldLife) and old.successor is agent and old.resume_ms is None and old.ask_count:
            old.ask_count -= 1
            return old
    return agent

"""Crashes, pauses and takeovers: their effects on an agent."""

from collections.abc import Iterator
from functools import partial

from umi_sim.faults.agent import AgentEvent
from umi_sim.machines.protocol import Machine
from umi_sim.record.trace import Tag
from umi_sim.world import takeovers
from umi_sim.world.agent import Agent


def event_of(world: takeovers.TakeoverContext, agent: Agent, is_recovering: bool) -> AgentEvent:
    """Return the event that a fault of an agent is drawn from, with the functions that it may call."""

    def crash(down_ms: int, entry_count_max: int | None) -> None:
        if world.target.limit_entries(agent.name, entry_count_max):
            takeovers.end_all(world, agent)  # old incarnations keep the old limit, which core no longer fits
        world.crash(agent, down_ms)

    def pause(for_ms: int, clock_stands: bool) -> None:
        world.trace.add(Tag.LIFE, "pause", agent.name)
        agent.pause(world.now_ms, for_ms, clock_stands=clock_stands)

    def take_over(for_ms: int, ask_count: int) -> None:
        takeovers.take_over(world, agent, for_ms, ask_count)

    counts = partial(world.target.entry_counts, agent.config.scope, world.services)
    return AgentEvent(
        world.now_ms, agent.window, is_recovering, agent.recovery_crash_count, counts, crash, pause, take_over
    )


def crash(world: takeovers.TakeoverContext, agent: Agent, down_ms: int) -> None:
    """Stop the machine of an agent; the agent starts again after `down_ms`."""
    world.trace.add(Tag.LIFE, "crash", agent.name)
    # The replies of operations in flight are lost with the machine; every other operation must be answered.
    world.tally.excused["crashed"] += len(agent.in_flight)
    world.tally.marks.update(marks_of(agent.machine))
    is_again = agent.machine is not None and agent.machine.is_recovering
    agent.recovery_crash_count = agent.recovery_crash_count + 1 if is_again else 0
    agent.in_flight.clear()
    # This ends a pause for the sake of the clock; held answers and ops are lost with this incarnation. Only a
    # wipe of the store crashes a paused agent, since no event is delivered to it.
    agent.resume(world.now_ms)
    agent.machine = agent.wake_ms = None
    agent.restart_ms = world.now_ms + down_ms
    world.judge.observe_crash(agent.name)


def marks_of(machine: Machine | None) -> Iterator[str]:
    """Yield marks for a crash of this machine at a rare instant."""
    if machine is not None and machine.is_recovering:
        yield "crash: during recovery"
    if machine is not None and machine.is_committing:
        yield "crash: a commit was on its way"

"""Crashes and pauses: what they do to an agent."""

from collections.abc import Iterator
from functools import partial

from umi_sim.faults.agent import Life
from umi_sim.record.trace import Tag
from umi_sim.target.machine import Machine
from umi_sim.world.agent import Agent
from umi_sim.world.network import Around


def life_of(world: Around, agent: Agent, is_recovering: bool) -> Life:
    def crash(down_ms: int, entry_count_max: int | None) -> None:
        world.target.limit_entries(agent.name, entry_count_max)
        world.crash(agent, down_ms)

    def pause(for_ms: int, clock_stands: bool) -> None:
        world.trace.add(Tag.LIFE, "pause", agent.name)
        agent.pause(world.now_ms, for_ms, clock_stands=clock_stands)

    counts = partial(world.target.entry_counts, agent.config.scope, world.services)
    return Life(world.now_ms, agent.window, is_recovering, counts, crash, pause)


def marks_of(machine: Machine | None) -> Iterator[str]:
    """The rare instants at which this crash may come."""
    if machine is not None and machine.is_recovering:
        yield "crash: during recovery"
    if machine is not None and machine.is_committing:
        yield "crash: a commit was on its way"

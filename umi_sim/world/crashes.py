"""Crashes and pauses: what they do to an agent, and with what limits it comes back."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from umi_core.config import Config
from umi_core.messages.effects import Commit
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import Address, Core
from umi_sim.faults.agent import Life
from umi_sim.record.trace import Tag
from umi_sim.services.storage import SimStorage
from umi_sim.world.agent import Agent, Message
from umi_sim.world.network import Around


def life_of(world: Around, agent: Agent, is_recovering: bool) -> Life:
    def crash(down_ms: int, entry_count_max: int | None) -> None:
        agent.entry_count_max = entry_count_max
        world.crash(agent, down_ms)

    def pause(for_ms: int, clock_stands: bool) -> None:
        world.trace.add(Tag.LIFE, "pause", agent.name)
        agent.pause(world.now_ms, for_ms, clock_stands=clock_stands)

    counts = partial(entry_counts, agent, world.services.storage)
    return Life(world.now_ms, agent.window, is_recovering, counts, crash, pause)


def entry_counts(agent: Agent, storage: SimStorage) -> tuple[int, int]:
    """Of core as it is stored: the entries about itself, and all."""
    core = stored_core(agent, storage)
    return (own_count(core), entry_count(core)) if core else (0, 0)


def config_of(agent: Agent, usual: Mapping[str, int | bool], cores: Iterator[Core]) -> Config:
    """The options of the agent's next life. Its own entries never leave core, so they always have room.

    A limit that was raised for them stays so: else a plain restart, after one has left, would find less room.
    """
    if agent.entry_count_max is None:
        return Config.of(usual)
    agent.entry_count_max = max((agent.entry_count_max, *map(own_count, cores)))
    return Config.of({**usual, "core_entry_count_max": agent.entry_count_max})


def marks_of(agent: Agent) -> Iterator[str]:
    """The rare instants at which this crash may come."""
    if agent.memory is not None and agent.memory.state.phase == "recovering":
        yield "crash: during recovery"
    operations = agent.memory.state.operations.values() if agent.memory else ()
    if any(isinstance(operation.sent, Commit) for operation in operations):
        yield "crash: a commit was on its way"


def stored_core(agent: Agent, storage: SimStorage) -> Core | None:
    row = storage.rows.get(Address(agent.config.scope, "core", "core"))
    return row.body if row and isinstance(row.body, Core) else None


def cores(agent: Agent, storage: SimStorage, queue: Sequence[tuple[int, int, Message]]) -> Iterator[Core]:
    """What recovery may find: core as it is stored, or as a commit that is on its way has it."""
    if core := stored_core(agent, storage):
        yield core
    for _, _, message in queue:
        if message.call.agent == agent.name and isinstance(message.call.effect, Commit):
            yield from (it.body for it in message.call.effect.writes if isinstance(it.body, Core))


def own_count(core: Core) -> int:
    return sum(len(block.entries) for block in core.blocks if block.kind == SELF_BLOCK)


def entry_count(core: Core) -> int:
    return sum(len(block.entries) for block in core.blocks)

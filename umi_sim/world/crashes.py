"""Crashes and pauses: whether a run has any, how long an agent is away, with what limits it comes back."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from umi_core.config import Config
from umi_core.messages.effects import Commit
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import Address, Core
from umi_sim.faults.kinds import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.faults.window import Window
from umi_sim.record.items import Args, Fault
from umi_sim.record.run_config import RunConfig
from umi_sim.services.storage import SimStorage
from umi_sim.world.agent import Agent, Message
from umi_sim.world.source import Source

CLOCKS: Final = ("runs", "stands")
LIMIT: Final = "core_entry_count_max"


def may_crash(config: RunConfig, source: Source) -> bool:
    """Only then is it asked before every event."""
    recorded = (item.fault for item in source.record if isinstance(item, Fault))
    return any(kind.startswith("agent_") for kind in (*config.faults, *recorded))


def args_for(
    agent: Agent, storage: SimStorage, place: str, now_ms: int, kind: str, draw: Draw
) -> Args | None:
    """The args of what is about to strike an agent; None if it must not."""
    if kind == "agent_pause":
        return pause_args(agent.window, now_ms, draw)
    return crash_args(place, partial(stored_core, agent, storage), kind, draw)


def pause_args(window: Window, now_ms: int, draw: Draw) -> Args | None:
    """How long nothing reaches the agent, and what its clock does meanwhile."""
    args = window.args(now_ms, draw)
    return args and {**args, "clock": CLOCKS[draw("clock", len(CLOCKS))]}


def crash_args(place: str, stored: Callable[[], Core | None], kind: str, draw: Draw) -> Args | None:
    """A second crash strikes recovery, any other one the life after it; a limit is below what core holds."""
    down = {"down_ms": log_uniform(draw, "down_ms", WINDOW_MS_MAX)}
    if (kind == "agent_crash_again") != (place == "recovery"):
        return None
    if kind != "agent_lower_limit":
        return down
    core = stored()
    own, count = (own_count(core), entry_count(core)) if core else (0, 0)
    return {LIMIT: own + draw(LIMIT, count - own), **down} if own < count else None


def down_ms(agent: Agent, args: Args) -> int:
    """How long the agent is down; the next life has the limit of this crash, or the usual one again."""
    limit, for_ms = args.get(LIMIT), args["down_ms"]
    assert isinstance(limit, int | None)
    assert isinstance(for_ms, int)
    agent.entry_count_max = limit
    return for_ms


def config_of(agent: Agent, usual: Mapping[str, int | bool], cores: Iterator[Core]) -> Config:
    """The options of the agent's next life. Its own entries never leave core, so they always have room."""
    if agent.entry_count_max is None:
        return Config.of(usual)
    limit = max((agent.entry_count_max, *map(own_count, cores)))
    return Config.of({**usual, LIMIT: limit})


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

"""Crashes: whether a run may have any, how long an agent stays down, and all of them together."""

from typing import TYPE_CHECKING

from umi_sim.faults import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.items import Args, Fault
from umi_sim.run_config import RunConfig
from umi_sim.source import Source

if TYPE_CHECKING:
    from umi_sim.world import World


def may_crash(config: RunConfig, source: Source) -> bool:
    """Only then is it asked before every event."""
    recorded = (item.fault for item in source.record if isinstance(item, Fault))
    return any(kind.startswith("agent_") for kind in (*config.faults, *recorded))


def crash_args(place: str, kind: str, draw: Draw) -> Args | None:
    """A second crash strikes recovery, the first one anything else."""
    is_right = (kind == "agent_crash_again") == (place == "recovery")
    return {"down_ms": log_uniform(draw, "down_ms", WINDOW_MS_MAX)} if is_right else None


def restart_all(world: "World", down_ms: int) -> None:
    """Whoever used a store that is empty now begins anew with it."""
    for agent in world.agents.values():
        if agent.memory is not None:
            world.crash(agent, down_ms)
    world.judge.wiped()

"""Crashes and pauses: whether a run may have any, and how long an agent stays down or still."""

from typing import Final

from umi_sim.agent import Agent
from umi_sim.faults import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.items import Args, Fault
from umi_sim.run_config import RunConfig
from umi_sim.source import Source
from umi_sim.window import Window

CLOCKS: Final = ("runs", "stands")


def may_crash(config: RunConfig, source: Source) -> bool:
    """Only then is it asked before every event."""
    recorded = (item.fault for item in source.record if isinstance(item, Fault))
    return any(kind.startswith("agent_") for kind in (*config.faults, *recorded))


def args_for(agent: Agent, place: str, now_ms: int, kind: str, draw: Draw) -> Args | None:
    """The args of what is about to strike an agent; None if it must not."""
    is_pause = kind == "agent_pause"
    return pause_args(agent.window, now_ms, draw) if is_pause else crash_args(place, kind, draw)


def pause_args(window: Window, now_ms: int, draw: Draw) -> Args | None:
    """How long nothing reaches the agent, and what its clock does meanwhile."""
    args = window.args(now_ms, draw)
    return args and {**args, "clock": CLOCKS[draw("clock", len(CLOCKS))]}


def crash_args(place: str, kind: str, draw: Draw) -> Args | None:
    """A second crash strikes recovery, the first one anything else."""
    is_right = (kind == "agent_crash_again") == (place == "recovery")
    return {"down_ms": log_uniform(draw, "down_ms", WINDOW_MS_MAX)} if is_right else None

"""A run as calls of Python, the same in every version: what stands under `script` runs as it is printed."""

from collections.abc import Mapping
from typing import Final

import attrs

from umi_core.values import Scope
from umi_sim.kernel.literals import Shortener, literal, shown
from umi_sim.kernel.literals import in_double_quotes as dq
from umi_sim.record.items import Deviation, Fault, Item, Op
from umi_sim.record.run_config import DRAWN, AgentConfig, RunConfig
from umi_sim.seedfile.fields import CONFIG_FIELDS, PLAIN

NAMES: Final = "abcd"
LIMITS: Final = ("steps_max", "virtual_ms_max")


def whole(text: str) -> str:
    """What runs as it is printed is never cut."""
    return text


def world_call(config: RunConfig, *, is_limited: bool = False) -> str:
    """How to make the world: as its seed draws it, or plain, but for what is said; limits too if asked."""
    parts = [dq(config.scenario), f"seed={config.seed}"]
    if is_drawn(config):
        names = ", ".join(dq(agent.name) for agent in config.agents)
        return f"world = World({', '.join(parts)}, agents=[{names}], latency={dq(config.latency)})"
    kept = [name for name in CONFIG_FIELDS if name not in ("agents", *DRAWN)]
    kept += LIMITS if is_limited else ()
    odd = {name: getattr(config, name) for name in kept if getattr(config, name) != getattr(PLAIN, name)}
    agents = ", ".join(map(agent_call, config.agents))
    parts += ["plain=True", f"agents=[{agents}]", *named(odd, whole)]
    return f"world = World({', '.join(parts)})"


def is_drawn(config: RunConfig) -> bool:
    """Whether a seed and the id of a shipped scenario say all of it."""
    from umi_sim.scenario import files as scenario  # only for a report; a replay needs none

    path = scenario.shipped().get(config.scenario)
    return path is not None and scenario.draw(scenario.load(path), config.seed) == config


def agent_call(agent: AgentConfig) -> str:
    if agent == usual_agent(agent.name):
        return dq(agent.name)
    return literal((agent.name, agent.scope.user, agent.scope.agent, agent.skew_ms), whole)


def usual_agent(name: str) -> AgentConfig:
    """What an agent of this name is in a world with one user and clocks that are right."""
    return attrs.evolve(PLAIN.agents[0], name=name, scope=Scope("u1", f"a{NAMES.find(name[0]) + 1}"))


def call(item: Item) -> str:
    """An item as a line of the script; times count from the start of the world."""
    match item:
        case Op():
            parts = [
                dq(item.id),
                dq(item.agent),
                dq(item.name),
                *named(item.args, whole),
            ]
            return f"world.op({', '.join(parts)}{at(item.at_ms)})"
        case Fault():
            args = ", ".join(f"{dq(name)}: {literal(value, whole)}" for name, value in item.args.items())
            given = f", args={{{args}}}" if args else ""
            return f"world.fault({dq(item.id)}, {dq(item.fault)}, at={dq(item.at)}{given})"
        case Deviation():
            return f"world.schedule({dq(item.id)}, take={dq(item.take)}, over={dq(item.over)})"
    parts = [
        dq(item.id),
        dq(item.agent),
        dq(item.move),
        *named(item.args, whole),
    ]
    return f"world.clock({', '.join(parts)}{at(item.at_ms)})"


def at(at_ms: int) -> str:
    return f", at_ms={at_ms}" if at_ms else ""


def named(args: Mapping[str, object], short: Shortener = shown) -> list[str]:
    return [f"{name}={literal(value, short)}" for name, value in args.items()]

"""A run as calls of Python, the same in every version: what stands under `script` runs as it is printed."""

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from umi_core.values import Scope, Turn
from umi_sim.kernel.wording import cut
from umi_sim.record.items import Deviation, Fault, Item, Op
from umi_sim.record.run_config import DRAWN, AgentConfig, RunConfig
from umi_sim.seedfile.fields import CONFIG_FIELDS, PLAIN
from umi_sim.seedfile.item_json import runs

VALUE_CHARS_MAX: Final = 60
NAMES: Final = "abcd"
LIMITS: Final = ("steps_max", "virtual_ms_max")

Shortener = Callable[[str], str]


def shown(text: str) -> str:
    return cut(text, VALUE_CHARS_MAX)


def whole(text: str) -> str:
    """What runs as it is printed is never cut."""
    return text


def world_call(config: RunConfig, *, is_limited: bool = False) -> str:
    """How to make the world: as its seed draws it, or plain, but for what is said; limits too if asked."""
    parts = [quoted(config.scenario), f"seed={config.seed}"]
    if is_drawn(config):
        names = ", ".join(quoted(agent.name) for agent in config.agents)
        return f"world = World({', '.join(parts)}, agents=[{names}], latency={quoted(config.latency)})"
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
        return quoted(agent.name)
    return literal((agent.name, agent.scope.user, agent.scope.agent, agent.skew_ms), whole)


def usual_agent(name: str) -> AgentConfig:
    """What an agent of this name is in a world with one user and clocks that are right."""
    return attrs.evolve(PLAIN.agents[0], name=name, scope=Scope("u1", f"a{NAMES.find(name[0]) + 1}"))


def call(item: Item) -> str:
    """An item as a line of the script; times count from the start of the world."""
    match item:
        case Op():
            parts = [quoted(item.id), quoted(item.agent), quoted(item.name), *named(item.args, whole)]
            return f"world.op({', '.join(parts)}{at(item.at_ms)})"
        case Fault():
            args = ", ".join(f"{quoted(name)}: {literal(value, whole)}" for name, value in item.args.items())
            given = f", args={{{args}}}" if args else ""
            return f"world.fault({quoted(item.id)}, {quoted(item.fault)}, at={quoted(item.at)}{given})"
        case Deviation():
            return f"world.schedule({quoted(item.id)}, take={quoted(item.take)}, over={quoted(item.over)})"
    parts = [quoted(item.id), quoted(item.agent), quoted(item.move), *named(item.args, whole)]
    return f"world.clock({', '.join(parts)}{at(item.at_ms)})"


def at(at_ms: int) -> str:
    return f", at_ms={at_ms}" if at_ms else ""


def named(args: Mapping[str, object], short: Shortener = shown) -> list[str]:
    return [f"{name}={literal(value, short)}" for name, value in args.items()]


def literal(value: object, short: Shortener = shown) -> str:
    """A value as Python writes it, the same in every version; `short` makes of a long text what is told."""
    match value:
        case Mapping():
            pairs = [f"{quoted(str(name))}: {literal(each, short)}" for name, each in value.items()]
            return f"{{{', '.join(pairs)}}}"
        case str():
            return in_pieces(value, quoted, short)
        case bytes():
            return in_pieces(value.decode("latin-1"), lambda text: repr(text.encode("latin-1")), short)
        case Turn(role=role, text=text):
            return f"Turn({literal(role, short)}, {literal(text, short)})"
        case tuple() | list():
            inner = ", ".join(literal(each, short) for each in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
    return str(value) if value is None or isinstance(value, int) else short(repr(value))


def in_pieces(text: str, write: Callable[[str], str], short: Shortener) -> str:
    """A long run of the same characters as a product."""
    written = runs(text) if len(text) > VALUE_CHARS_MAX else text
    pieces = [written] if isinstance(written, str) else written["runs"]
    return " + ".join(
        write(short(piece)) if isinstance(piece, str) else f"{write(piece[0])} * {piece[1]}"
        for piece in pieces
    )


def quoted(text: str) -> str:
    body = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{body}"'

"""A run as calls of Python, the same in every version: the lines under `script` run as they are printed."""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.values import Scope
from umi_sim.kernel.literals import Shortener, literal, shorten_text
from umi_sim.kernel.report import COMMA, ReportRow
from umi_sim.kernel.wording import cut
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import DRAWN, AgentConfig, RunConfig
from umi_sim.seedfile.fields import CONFIG_FIELDS, PLAIN

NAMES: Final = "abcd"
HANG: Final = 4
ITEM_CHARS: Final = 58


def keep_whole(text: str) -> str:
    """Return the text unchanged: a script must run as printed, so it is never cut."""
    return text


def call(name: str, *args: str) -> ReportRow:
    """Return a call as a row; a long call is broken after a comma."""
    parts = list(args) or [""]
    parts[0] = f"{name}({parts[0]}"
    parts[-1] += ")"
    return ReportRow("", parts, COMMA, HANG)


def world_call(config: RunConfig, *, is_limited: bool = False) -> ReportRow:
    """Write the call that makes the world: drawn, or plain with every option that differs from plain."""
    parts = [literal(config.scenario), f"seed={config.seed}"]
    # If the seed and the scenario determine the whole configuration, no options are written out.
    if is_drawn(config):
        names = literal([agent.name for agent in config.agents])
        return call("script = Script", *parts, f"agents={names}", f"latency={literal(config.latency)}")
    kept = ["target", *(name for name in CONFIG_FIELDS if name not in ("agents", *DRAWN))]
    # Only a run that ended at its limit needs the limit written out to fail in the same way.
    kept += ("steps_max",) if is_limited else ()
    options = {name: getattr(config, name) for name in kept if getattr(config, name) != getattr(PLAIN, name)}
    agents = ", ".join(map(describe_agent, config.agents))
    return call(
        "script = Script", *parts, "plain=True", f"agents=[{agents}]", *name_arguments(options, keep_whole)
    )


def is_drawn(config: RunConfig) -> bool:
    """Check whether a seed and the id of a shipped scenario determine the whole configuration."""
    from umi_sim.scenario import files as scenario  # only for a report; a replay needs none

    path = scenario.list_shipped().get(config.scenario)
    return path is not None and scenario.draw(scenario.load(path), config.seed) == config


def describe_agent(agent: AgentConfig) -> str:
    is_usual = agent == usual_agent(agent.name)
    return literal(
        agent.name if is_usual else (agent.name, agent.scope.user, agent.scope.agent, agent.skew_ms)
    )


def usual_agent(name: str) -> AgentConfig:
    """Return the agent of this name in a world with one user and correct clocks."""
    # "a" -> user u1, agent a1; "b" -> a2: the agents that `Script` makes from bare names.
    return structs.replace(PLAIN.agents[0], name=name, scope=Scope("u1", f"a{NAMES.find(name[0]) + 1}"))


def item_call(item: Item) -> ReportRow:
    """Return an item as a line of the script; times are relative to the start of the world."""
    first: tuple[str, ...]
    match item:
        case Op():
            first, args = ("script.op", item.id, item.agent, item.name), name_arguments(item.args, keep_whole)
        case Fault():
            first, args = ("script.fault", item.id, item.fault), [f"at={literal(item.at)}"]
            args += [f"args={literal(item.args, keep_whole)}"] if item.args else []
        case Deviation():
            first, args = ("script.schedule", item.id), name_arguments({"take": item.take, "over": item.over})
        case ClockMove():
            first, args = (
                ("script.clock", item.id, item.agent, item.move),
                name_arguments(item.args, keep_whole),
            )
    at_ms = item.at_ms if isinstance(item, Op | ClockMove) else 0
    name, *texts = first
    return call(name, *map(literal, texts), *args, *([f"at_ms={at_ms}"] if at_ms else []))


def name_arguments(args: Mapping[str, object], short: Shortener = shorten_text) -> list[str]:
    return [f"{name}={literal(value, short)}" for name, value in args.items()]


def in_words(item: Item) -> str:
    """Describe an item in a few words: f1 storage_lost at o3/commit#1."""
    match item:
        case Op():
            text = f"{item.id} {item.name} {', '.join(name_arguments(item.args))}"
        case Fault():
            text = f"{item.id} {item.fault} at {item.at}"
        case Deviation():
            text = f"{item.id} {item.take} before {item.over}"
        case ClockMove():
            text = f"{item.id} clock of {item.agent}: {item.move} {', '.join(name_arguments(item.args))}"
    return cut(text.rstrip(), ITEM_CHARS)

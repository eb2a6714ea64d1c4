"""A candidate: a configuration and items that may fail as the first run did, and their size.

Law 1. Fewer items are smaller; for equal counts fewer kinds and options, then fewer bytes, then the text that
       sorts first. Ids do not count, since they never change.
Law 2. A fault or deviation belongs to the owner of its event, and is removed together with the owner.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Final, TypeVar

from msgspec import structs

from umi_core.data import Data, Owner
from umi_sim.record.items import ITEM_KINDS, ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.seedfile import item_json
from umi_sim.seedfile.fields import CONFIG_FIELDS, PLAIN
from umi_sim.seedfile.files import config_to_json

T = TypeVar("T")

KEPT: Final = ("agents", "memory", "planted", "off")
OPTIONS: Final = tuple(name for name in CONFIG_FIELDS if name not in KEPT)


class Candidate(Data, dict=True):
    """A configuration and items that may fail as the first run did."""

    config: RunConfig
    items: tuple[Item, ...]

    @property
    def ops(self) -> tuple[Op, ...]:
        return tuple(item for item in self.items if isinstance(item, Op))

    @cached_property
    def outline(self) -> tuple[int, int]:
        """Return the number of items, and the number of their kinds and of options."""
        # These are cheap; the texts are written only if both numbers are equal.
        kinds = len({kind_of(item) for item in self.items})
        return len(self.items), kinds + option_count(self.config)

    def only(self, kind: type[Item], kept: Sequence[Item]) -> "Candidate":
        """Return the candidate with only the `kept` items of a kind, and without what the others own."""
        ids = {item.id for item in kept}
        removed = {item.id for item in self.items if isinstance(item, kind) and item.id not in ids}
        return self.without(removed.__contains__)

    def without(self, is_removed: Callable[[str], bool]) -> "Candidate":
        """Return the candidate without the items whose ids `is_removed` accepts, and what they own."""
        left = [item for item in self.items if not is_removed(item.id)]
        # One round is enough: faults and deviations own nothing.
        left = [item for item in left if not any(map(is_removed, owners(item)))]
        return self if len(left) == len(self.items) else Candidate(self.config, tuple(left))

    def replace_items(self, changes: Mapping[str, Item]) -> "Candidate":
        """Return the candidate with these items in place of those with the same ids."""
        return structs.replace(self, items=tuple(changes.get(item.id, item) for item in self.items))


def owners(item: Item) -> tuple[str, ...]:
    """Return the owners of an item: op o7 of o7/commit#1, agent a of a/wake#3 or a:rebalance:1/..."""
    events = {Fault: ("at",), Deviation: ("take", "over")}.get(type(item), ())
    return tuple(str(getattr(item, name)).partition("/")[0].partition(":")[0] for name in events)


def counts(items: Sequence[Item]) -> dict[str, int]:
    """Count the items of each kind."""
    return {name: sum(isinstance(item, kind) for item in items) for name, kind in ITEM_KINDS.items()}


# Sizes.


class Scale(Owner):
    """Measures candidates; caches the texts of items and configurations, since candidates share most."""

    _texts: dict[str, tuple[object, str]] = {}

    def is_smaller(self, candidate: Candidate, other: Candidate) -> bool:
        """Check whether `candidate` is smaller than `other`; texts are written only for a tie."""
        if candidate is other:
            return False
        one, two = candidate.outline, other.outline
        return one < two if one != two else by_length(self.text(candidate)) < by_length(self.text(other))

    def text(self, candidate: Candidate) -> str:
        """Return the candidate as text, without the ids, which never change."""
        items = (self._text(item.id, item, item_text) for item in candidate.items)
        return "\n".join((*items, self._text("config", candidate.config, config_text)))

    def digest(self, candidate: Candidate) -> bytes:
        """Return a digest of the candidate, ids included."""
        ids = " ".join(item.id for item in candidate.items)
        return blake2b(f"{ids}\n{self.text(candidate)}".encode(), digest_size=16).digest()

    def _text(self, name: str, value: T, write: Callable[[T], str]) -> str:
        known = self._texts.get(name)
        # Items are frozen and shared by candidates, so the same object has the same text.
        if known is None or known[0] is not value:
            known = self._texts[name] = value, write(value)
        return known[1]


def by_length(text: str) -> tuple[int, str]:
    return len(text), text


def config_text(config: RunConfig) -> str:
    return compact([config_to_json(config), config.steps_max])


def item_text(item: Item) -> str:
    fields = item_json.to_json(item)
    del fields["id"]
    return compact(fields)


compact: Final = json.JSONEncoder(separators=(",", ":")).encode


def kind_of(item: Item) -> str:
    match item:
        case Op():
            return f"op {item.name}"
        case Fault():
            return f"fault {item.fault}"
        case ClockMove():
            return f"clock {item.move}"
    return "schedule"


def option_count(config: RunConfig) -> int:
    """Count the parts of a configuration that are not plain: options, agents, users, wrong clocks."""
    users = {agent.scope.user for agent in config.agents}
    changed = [name for name in OPTIONS if getattr(config, name) != getattr(PLAIN, name)]
    skews = sum(agent.skew_ms != 0 for agent in config.agents)
    return len(changed) + len(config.memory) + len(config.faults) + len(config.agents) + len(users) + skews


# Agents.


def drop_agent(candidate: Candidate, agent: str) -> Candidate:
    """Return the candidate without this agent and all its requests."""
    its = {item.id for item in candidate.items if isinstance(item, Op | ClockMove) and item.agent == agent}
    # The name as well, since faults may be bound to events of the agent itself (a/wake#3).
    left = candidate.without(lambda name: name in its or name == agent)
    return with_agents(left, (each for each in left.config.agents if each.name != agent))


def merge_agents(candidate: Candidate, agent: str, into: str) -> Candidate:
    """Return the candidate in which another agent makes the requests of this one."""
    changes: dict[str, Item] = {
        item.id: structs.replace(item, agent=into)
        for item in candidate.items
        if isinstance(item, Op | ClockMove) and item.agent == agent
    }
    return drop_agent(candidate.replace_items(changes), agent)


def with_agents(candidate: Candidate, agents: Iterator[AgentConfig] | Sequence[AgentConfig]) -> Candidate:
    return structs.replace(candidate, config=structs.replace(candidate.config, agents=tuple(agents)))

"""Share what all parts of the archive's model need, and say what a reply may show of a state."""

import sys
from collections.abc import Callable, Container

import attrs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import RECEIPT_MS_MAX
from umi_core.messages.requests import Recall
from umi_core.messages.results import Hit
from umi_core.values import Pairs, Scope
from umi_sim.judge.oracle.archive.facts import FactState
from umi_sim.judge.oracle.model import NOBODY_TOLD, Surroundings
from umi_sim.record.rules import Rule

# What all parts of the archive's model share: whose archive it is, which rules are off, and the time.


def nowhere(key: str) -> bool:
    """No other agent knows this id."""
    return False


@attrs.define
class Context(Owner):
    """Whose archive this is, and what time it is.

    `off`: rules that are not demanded. `seen_ms`: the latest time that this life of the memory has seen;
    `first_ms`, `latest_ms`: the first and the latest that any life has. `world_ms`: the world's time. `tick`
    counts events. `may_turn_away`: interceptors may keep answers from the memory. `is_elsewhere`: whether
    another agent knows an id. `abouts`: what belongs into each category that any life of it has listed.
    """

    scope: Scope
    config: Config
    off: Container[str]
    surroundings: Surroundings
    seen_ms: int = 0
    first_ms: int = sys.maxsize
    latest_ms: int = 0
    world_ms: int = NOBODY_TOLD
    tick: int = 0
    may_turn_away: bool = False
    abouts: dict[str, str] = attrs.field(factory=dict)
    is_elsewhere: Callable[[str], bool] = nowhere

    def __attrs_post_init__(self) -> None:
        self.abouts |= dict(self.config.categories)

    def list_categories(self, categories: Pairs) -> None:
        """A life begins that lists these."""
        self.config = attrs.evolve(self.config, categories=categories)
        self.abouts |= dict(categories)

    def see(self, now_ms: int) -> None:
        """The clock of this memory has shown this time."""
        self.seen_ms, self.latest_ms = max(self.seen_ms, now_ms), max(self.latest_ms, now_ms)
        self.first_ms = min(self.first_ms, now_ms)
        self.see_world()

    def see_world(self) -> None:
        self.world_ms = max(self.world_ms, self.surroundings.world_ms())

    @property
    def now_ms(self) -> int:
        """The world's time; the memory's, if nobody told the world's."""
        return self.seen_ms if self.world_ms == NOBODY_TOLD else self.world_ms

    def keeps_receipt(self, at_ms: int, asked_ms: int) -> bool:
        """Whether storage had the receipt of a batch of that time when something was asked."""
        return asked_ms - at_ms < RECEIPT_MS_MAX

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        """Raises Broken unless it holds, or the rule is off."""
        if rule.name not in self.off:
            demand(holds, rule, message, expected, got)


@attrs.define
class ArchivePart(Owner):
    """A part of the archive's model."""

    context: Context

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        self.context.demand(holds, rule, message, expected, got)


# What a reply may show of an id in a state.


def is_shown(state: FactState, hit: Hit) -> bool:
    """Whether a hit may show this row."""
    it = state.entity
    told = (hit.version, hit.type, hit.name, hit.content, hit.time_ms)
    return it is not None and (it.version, it.type, it.name, it.content, it.time_ms) == told


def wants(request: Recall, entity_type: str, time_ms: int) -> bool:
    """The caller's filter; both ends of a range belong to it."""
    start_ms, end_ms = request.time_range or (None, None)
    is_in_time = (start_ms is None or start_ms <= time_ms) and (end_ms is None or time_ms <= end_ms)
    return is_in_time and (request.types is None or entity_type in request.types)

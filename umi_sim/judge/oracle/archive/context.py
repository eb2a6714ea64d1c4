"""Context of the archive's model: whose archive it is, which rules are off, the time."""

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.values import Pairs, Scope
from umi_sim.judge.oracle.model import NO_TIME, Surroundings
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.rules import Rule


def nowhere(key: str) -> bool:
    """Return False: no other agent knows this id."""
    return False


class Context(Owner):
    """The scope of an archive, and the time.

    `off`: rules that are not demanded. `seen_ms`: the latest time that this life of the memory has seen.
    `world_ms`: the world's time. `tick` counts events. `may_turn_away`: interceptors may keep answers from
    the memory. `is_elsewhere`: whether another agent knows an id. `abouts`: the descriptions of all
    categories that a life of the memory has listed.
    """

    scope: Scope
    config: Config
    off: Container[str]
    surroundings: Surroundings
    seen_ms: int = 0
    world_ms: int = NO_TIME
    tick: int = 0
    may_turn_away: bool = False
    abouts: dict[str, str] = {}
    is_elsewhere: Callable[[str], bool] = nowhere

    def __post_init__(self) -> None:
        self.abouts |= dict(self.config.categories)

    def list_categories(self, categories: Pairs) -> None:
        """Take the categories that a new life lists."""
        self.config = structs.replace(self.config, categories=categories)
        self.abouts |= dict(categories)

    def see(self, now_ms: int) -> None:
        """Note that the clock of this memory has shown this time."""
        self.seen_ms = max(self.seen_ms, now_ms)
        self.see_world()

    def see_world(self) -> None:
        self.world_ms = max(self.world_ms, self.surroundings.world_ms())

    @property
    def now_ms(self) -> int:
        """Return the world's time; that of the memory if the world's is not known."""
        # Storage forgets receipts by the world's time.
        return self.seen_ms if self.world_ms == NO_TIME else self.world_ms

    def keeps_receipt(self, at_ms: int, asked_ms: int) -> bool:
        """Return whether storage had the receipt of a batch of `at_ms` at the time `asked_ms`."""
        return asked_ms - at_ms < RECEIPT_MS_MAX

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        """Raise Broken unless it holds, or the rule is off."""
        if rule.name not in self.off:
            demand(holds, rule, message, expected, got)


BROKEN_BY: Final[Mapping[str, Rule]] = {  # by the field of a reply that is wrong
    "ended": rules.ENDED_AS_NAMED, "relations": rules.RELATION_ENDS,
    "relation_dropped_count": rules.RELATION_ENDS, "routing": rules.ROUTE_PER_ENTITY,
    "promoted": rules.ROUTE_KNOWN_ONLY, "segment_count": rules.TEXT_COVERED,
    "sources": rules.DERIVED_FOLLOWS_SOURCE, "is_dirty": rules.DERIVED_FOLLOWS_SOURCE,
    "asked": rules.STOP_MEANS_STOP, "skipped": rules.FILTER_NARROWS, "stop_reason": rules.ENOUGH_RULE,
}  # fmt: skip


class ArchivePart(Owner):
    """A part of the archive's model."""

    context: Context

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        self.context.demand(holds, rule, message, expected, got)

    def compare(self, value: Any, *expected: Any, rule: Rule | None = None) -> None:
        """Demand that a reply is one of the `expected` ones; `rule`: the one that a wrong field breaks."""
        # Field by field for a narrow message; then as a whole, since no reply may
        # have field a of one expected value and field b of another.
        for name in reversed(value.__struct_fields__):
            wanted, got = [getattr(it, name) for it in expected], getattr(value, name)
            broken = rule or BROKEN_BY.get(name, rules.REFERENCE_AGREES)
            self.demand(got in wanted, broken, f"{name} of a reply", wanted[-1], got)
        self.demand(
            value in expected, rules.REFERENCE_AGREES, "a reply mixes several states", expected, value
        )

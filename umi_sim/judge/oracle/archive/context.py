"""Context of the archive's model: the scope of the archive, the rules that are off, the time."""

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

    `off`: rules that are not checked. `seen_ms`: the latest time that this incarnation of the memory has
    seen. `world_ms`: the world time. `tick`: the number of events so far. `may_turn_away`: interceptors may
    withhold answers from the memory. `is_elsewhere`: whether another agent knows an id. `abouts`: the
    descriptions of all categories that any incarnation of the memory has listed.
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
        """Set the categories that a new incarnation lists."""
        self.config = structs.replace(self.config, categories=categories)
        self.abouts |= dict(categories)

    def see(self, now_ms: int) -> None:
        """Record a reading of the clock of this memory."""
        self.seen_ms = max(self.seen_ms, now_ms)
        self.see_world()

    def see_world(self) -> None:
        self.world_ms = max(self.world_ms, self.surroundings.world_ms())

    @property
    def now_ms(self) -> int:
        """Return the world time, or the memory's time if the world time is not known."""
        # World time, since storage forgets receipts by world time.
        return self.seen_ms if self.world_ms == NO_TIME else self.world_ms

    def keeps_receipt(self, at_ms: int, asked_ms: int) -> bool:
        """Return whether storage still had the receipt of a batch of `at_ms` at the time `asked_ms`."""
        return asked_ms - at_ms < RECEIPT_MS_MAX

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        """Raise Broken if `holds` is false and the rule is not off."""
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
        """Demand that a reply is one of the `expected` ones; `rule`: the rule that a wrong field breaks."""
        # Fields are compared first, for a narrow message. Then the whole value, since a reply must not
        # have field a of one expected value and field b of another.
        for name in reversed(value.__struct_fields__):
            wanted, got = [getattr(it, name) for it in expected], getattr(value, name)
            broken = rule or BROKEN_BY.get(name, rules.REFERENCE_AGREES)
            self.demand(got in wanted, broken, f"{name} of a reply", wanted[-1], got)
        self.demand(
            value in expected, rules.REFERENCE_AGREES, "a reply mixes several states", expected, value
        )

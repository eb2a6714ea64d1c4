"""What all parts of the archive's model share: whose archive it is, which rules are off, and the time."""

import sys
from collections.abc import Callable, Container

import attrs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import RECEIPT_MS_MAX
from umi_core.values import Scope
from umi_sim.judge.oracle.model import NOBODY_TOLD, Surroundings
from umi_sim.record.rules import Rule


def nowhere(key: str) -> bool:
    """No other agent knows this id."""
    return False


@attrs.define
class Context(Owner):
    """Whose archive this is, and what time it is.

    `off`: rules that are not demanded. `seen_ms`: the latest time that this life of the memory has seen;
    `first_ms`, `latest_ms`: the first and the latest that any life has. `world_ms`: the world's time. `tick`
    counts events. `is_elsewhere`: whether another agent knows an id.
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
    is_elsewhere: Callable[[str], bool] = nowhere

    def see(self, now_ms: int) -> None:
        """The clock of this memory has shown this time."""
        self.seen_ms, self.latest_ms = max(self.seen_ms, now_ms), max(self.latest_ms, now_ms)
        self.first_ms = min(self.first_ms, now_ms)
        self.world_ms = max(self.world_ms, self.surroundings.world_ms())

    @property
    def now_ms(self) -> int:
        """The world's time; the memory's, if nobody told the world's."""
        return self.seen_ms if self.world_ms == NOBODY_TOLD else self.world_ms

    def keeps_receipt(self, asked_ms: int) -> bool:
        """Whether storage still has the receipt of what was asked then."""
        return self.now_ms - asked_ms < RECEIPT_MS_MAX

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        """Raises Broken unless it holds, or the rule is off."""
        if rule.name not in self.off:
            demand(holds, rule, message, expected, got)


@attrs.define
class Part(Owner):
    """A part of the archive's model."""

    context: Context

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        self.context.demand(holds, rule, message, expected, got)

"""Share what all parts of the archive's model need, and say what a reply may show of a state."""

import sys
from collections.abc import Callable, Container
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import RECEIPT_MS_MAX
from umi_core.messages.requests import Recall
from umi_core.messages.results import Hit
from umi_core.rows import Entity, Version
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.possible import UNKNOWN_VECTOR, PossibleState
from umi_sim.judge.oracle.model import NOBODY_TOLD, Surroundings
from umi_sim.judge.plain.scores import shares_terms, vector_ppm
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


# Reads as an outside judge sees them: what a reply may show of an id in a state.
#
# Law 1. Pure: a state and a value in, an answer out. Law 2. Only what somebody told is compared.


FREE: Final = (
    "confidence_ppm",
    "relation_count",
    "contradicts",
    "vector_missing",
    "last_reinforced_ms",
)  # nothing here settles them


def shown(state: PossibleState, number: int | None) -> int:
    """The version that a read of this version, or of the current one, shows; 0 is none."""
    if number is None:
        return state.version if state.entity else 0
    return number if any(row.version == number for row in state.rows) else 0


def fits(state: PossibleState, number: int | None, got: object, latest_ms: int) -> bool:
    """Whether a read of this version, or of the current one, may show this row."""
    row = next((row for row in state.rows if row.version == number), None)
    want: Entity | Version | None = state.entity if number is None else row
    loose = (*FREE, *state.unsure) if number is None else ("at_ms",)
    if want is None or type(got) is not type(want):
        return want is got
    times = [name for name in loose if name.endswith("_ms") and name not in FREE]
    is_in_time = all(getattr(want, name) <= getattr(got, name) <= latest_ms for name in times)
    return is_in_time and attrs.evolve(want, **{name: getattr(got, name) for name in loose}) == got


def is_shown(state: PossibleState, hit: Hit, latest_ms: int) -> bool:
    """Whether a hit may show this row."""
    it = state.entity
    if it is None:
        return False
    is_loose = it.event_time_ms is None and "updated_ms" in state.unsure
    is_in_time = it.time_ms <= hit.time_ms <= latest_ms if is_loose else it.time_ms == hit.time_ms
    told = (hit.version, hit.type, hit.name, hit.content)
    if (
        state.rows
        and state.rows[-1].kind == "contradict"
        and f"{it.id}@{it.version - 1}" not in hit.contradicts
    ):
        return False
    return is_in_time and (it.version, it.type, it.name, it.content) == told


def wants(request: Recall, entity_type: str, time_ms: int) -> bool:
    """The caller's filter; both ends of a range belong to it."""
    start_ms, end_ms = request.time_range or (None, None)
    is_in_time = (start_ms is None or start_ms <= time_ms) and (end_ms is None or time_ms <= end_ms)
    return is_in_time and (request.types is None or entity_type in request.types)


def relevance_of(
    state: PossibleState, request: Recall, variant: str, query: tuple[int, ...] | None, floor_ppm: int
) -> int | None:
    """How relevant a row is to a variant, 0 if it is no hit, None if not known.

    A score by words depends on all rows of the scope, of which not all are known: it is 0 or not known.
    """
    entity = state.entity
    if entity is None or (request.types is not None and entity.type not in request.types):
        return 0
    is_undated = entity.event_time_ms is None and "updated_ms" in state.unsure
    if (is_undated and request.time_range is not None) or (
        query is not None and state.vector == UNKNOWN_VECTOR
    ):
        return None
    if not wants(request, entity.type, entity.time_ms):
        return 0
    if shares_terms(variant, entity.name, entity.content):
        return None
    score = vector_ppm(query, state.vector) if query is not None and state.vector else 0
    return score if score >= floor_ppm else 0

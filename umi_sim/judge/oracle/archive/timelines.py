"""Timelines: what storage holds at each position, and what one batch did.

position   0        1                       2           3
batch               remember "likes tea"    forget      remember "likes tea"
fct_1      nothing  version 1               nothing     version 2
"""

from bisect import bisect_right
from collections.abc import Mapping
from operator import itemgetter
from typing import Generic, TypeVar

import attrs

from umi_core.data import Data, Owner
from umi_core.messages.results import Stored
from umi_core.rows import Relation
from umi_core.values import RoutingDecision
from umi_sim.judge.oracle.archive.facts import (
    FactState,
    Vector,
)
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, BatchContext
from umi_sim.judge.plain.extraction import Extracted
from umi_sim.judge.plain.rows import End

Value = TypeVar("Value")
Claim = tuple[int, str]  # version and kind of change
Given = tuple[str, str]  # the modality and the text of a resource


@attrs.frozen
class MemorizedText(Data):
    """A text as it was memorized last, and the session that it was told in."""

    given: Given
    session: str | None = None


@attrs.frozen
class CategoryState(Data):
    """The summary of a category, of which facts it was made, and whether there are others by now."""

    summary: str = ""
    sources: tuple[End, ...] = ()
    is_dirty: bool = False


@attrs.frozen
class ReflectionState(Data):
    """The reflection of a session, and of which resources it was made."""

    text: str
    sources: tuple[str, ...]
    is_degraded: bool = False


@attrs.define
class Timeline(Generic[Value], Owner):
    """What lies under each key at each position. `nothing`: what lies where nothing was ever stored."""

    nothing: Value
    entries: dict[str, list[tuple[int, Value]]] = attrs.field(factory=dict)

    def now(self, key: str) -> Value:
        entries = self.entries.get(key)
        return entries[-1][1] if entries else self.nothing

    def changed_at(self, key: str) -> int:
        """The position of the last change."""
        entries = self.entries.get(key)
        return entries[-1][0] if entries else 0

    def at(self, key: str, position: int) -> Value:
        entries = self.entries.get(key, [])
        count = bisect_right(entries, position, key=itemgetter(0))
        return entries[count - 1][1] if count else self.nothing

    def since(self, key: str, position: int) -> tuple[Value, ...]:
        """What has lain there since this position, oldest first, each once."""
        entries = self.entries.get(key)
        if not entries or entries[-1][0] <= position:
            return (self.now(key),)
        later = (it for at, it in entries if at > position)
        return tuple(dict.fromkeys((self.at(key, position), *later)))

    def put(self, key: str, position: int, value: Value) -> None:
        self.entries.setdefault(key, []).append((position, value))

    def put_all(self, position: int, values: Mapping[str, Value]) -> None:
        for key, value in values.items():
            self.put(key, position, value)

    def clear(self, position: int) -> None:
        for key in self.entries:
            self.put(key, position, self.nothing)


@attrs.define
class Batch(Owner):
    """What one durable batch did.

    `at_ms`: when, by the world's time. `did`: by id, in the order of the reply; `order`: as the text has
    them. `states`: what lies under each id from now on. `relations` are the new ones, `lost` those that
    left; `dropped_count`: no room for more. `resources`, `categories`, `reflections`: what is stored of
    them from now on. `twins`: what else it may have been, which made the same rows. `is_told`: a reply
    has told of it.
    """

    op: ArchiveOperation
    plan: BatchContext
    position: int
    at_ms: int
    did: dict[str, Claim] = attrs.field(factory=dict)
    order: list[str] = attrs.field(factory=list)
    states: dict[str, FactState] = attrs.field(factory=dict)
    relations: list[Relation] = attrs.field(factory=list)
    lost: list[Relation] = attrs.field(factory=list)
    dropped_count: int = 0
    extraction: Extracted | None = None
    routing: dict[str, RoutingDecision] = attrs.field(factory=dict)
    resources: dict[str, MemorizedText | None] = attrs.field(factory=dict)
    categories: dict[str, CategoryState] = attrs.field(factory=dict)
    reflections: dict[str, ReflectionState | None] = attrs.field(factory=dict)
    twins: list["Batch"] = attrs.field(factory=list)
    is_told: bool = False

    def embed(self, key: str, vector: Vector, *, is_missing: bool) -> None:
        """This fact is found by this vector from now on."""
        state = self.states[key]
        assert state.entity is not None
        entity = attrs.evolve(state.entity, vector_missing=is_missing)
        self.states[key] = attrs.evolve(state, entity=entity, vector=vector)

    @property
    def changed(self) -> list[str]:
        return [key for key, (_, change) in self.did.items() if change == "created"]

    @property
    def stored(self) -> list[Stored]:
        return [Stored(key, *claim) for key, claim in self.did.items() if claim[1] != "ended"]

    @property
    def ended(self) -> list[str]:
        return [key for key, (_, change) in self.did.items() if change == "ended"]

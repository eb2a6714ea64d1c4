"""States: the rows under an id at each position, and how a write changes the state of a fact.

Law 1. All functions of states are pure.
Law 2. The state after a write follows from the request, its answers and the state before, so it is unique.

position   0        1                       2           3
batch               remember "likes tea"    forget      remember "likes tea"
fct_1      nothing  version 1               nothing     version 1
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Final, Generic, TypeVar

from msgspec import structs

from umi_core import limits
from umi_core.data import Data, Owner
from umi_core.ids import entity_id, fact_id
from umi_core.language.extraction import Mention
from umi_core.language.words import auto_name
from umi_core.limits import PERIOD_COUNT_MAX
from umi_core.messages.requests import Remember, UpdateEntity
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Ended, Entity
from umi_core.values import DESCRIBED_BY, Period, Scope

Value = TypeVar("Value")
Vector = tuple[int, ...] | None
Given = tuple[str, str]  # the modality and the text of a resource
End = tuple[str, int]  # one end of a relation: id and version
MEDIA: Final = tuple(DESCRIBED_BY)
DESCRIBE: Final = "describe"  # pending as long as a resource has no description
EMBED: Final = "embed"  # pending as long as a resource, or a part of it, has no vector


class Timeline(Generic[Value], Owner):
    """The value under each key at each position. `nothing`: the value if nothing was ever stored."""

    nothing: Value
    entries: dict[str, list[tuple[int, Value]]] = {}

    def now(self, key: str) -> Value:
        entries = self.entries.get(key)
        return entries[-1][1] if entries else self.nothing

    def at(self, key: str, position: int) -> Value:
        entries = self.entries.get(key, [])
        # With entries at 1 and 3: position 0 -> nothing, 1 and 2 -> the first, 3 and later -> the second.
        count = bisect_right(entries, position, key=itemgetter(0))
        return entries[count - 1][1] if count else self.nothing

    def since(self, key: str, position: int, last: int | None = None) -> tuple[Value, ...]:
        """Return the values from `position` up to `last`, oldest first, each one once."""
        entries = self.entries.get(key)
        if not entries or entries[-1][0] <= position:
            return (self.now(key),)
        later = (it for at, it in entries if at > position and (last is None or at <= last))
        return tuple(dict.fromkeys((self.at(key, position), *later)))

    def put(self, key: str, position: int, value: Value) -> None:
        self.entries.setdefault(key, []).append((position, value))

    def put_all(self, position: int, values: Mapping[str, Value]) -> None:
        for key, value in values.items():
            self.put(key, position, value)


class MemorizedText(Data):
    """A resource: its modality and text as memorized last, and its session."""

    given: Given
    session: str | None = None


class CategoryState(Data):
    """The summary of a category, the facts that it was made of, and whether new facts have been added."""

    summary: str = ""
    sources: tuple[End, ...] = ()
    is_dirty: bool = False


class ReflectionState(Data):
    """The reflection of a session, and the resources that it was made of."""

    text: str
    sources: tuple[str, ...]
    is_degraded: bool = False


class FactState(Data):
    """The rows under the id of a fact.

    `entity`: the fact, if it is current; `ended`: its row if it has ended. `links`: the names of its
    categories.
    """

    entity: Entity | None = None
    ended: Ended | None = None
    vector: Vector = None
    links: tuple[str, ...] = ()

    @property
    def fact(self) -> Entity | None:
        """Return the fact, current or ended."""
        return self.entity if self.ended is None else self.ended.fact

    @property
    def version(self) -> int:
        return 0 if self.fact is None else self.fact.version

    def with_fact(self, fact: Entity) -> "FactState":
        """Return the state with another version of its fact."""
        if self.ended is None:
            return structs.replace(self, entity=fact)
        return structs.replace(self, ended=structs.replace(self.ended, fact=fact))


NOTHING: Final = FactState()


def list_about(mention: Mention, scope: Scope) -> tuple[str, ...]:
    return tuple(entity_id(scope, name) for name in mention.names)


def make_fact_id(mention: Mention, scope: Scope) -> str:
    return fact_id(scope, list_about(mention, scope), mention.content)


# A statement.


def store_fact(
    state: FactState, key: str, mention: Mention, request: Remember, at_ms: int, scope: Scope
) -> FactState:
    """Return the state of a fact after a statement: the stored fact, one that was ended and is current again,
    or a new one, with the options of the request."""
    if state.entity is not None:
        return structs.replace(state, entity=set_given_fields(state.entity, request))
    if state.ended is not None:
        past = state.ended.fact
        last = Period(past.time_ms, state.ended.at_ms, state.ended.by, state.ended.how)
        entity = structs.replace(
            past, version=past.version + 1, block=BLOCK_OF_TYPE[past.type], updated_ms=at_ms,
            event_time_ms=None, periods=(*past.periods, last)[-PERIOD_COUNT_MAX:],
        )  # fmt: skip
    else:
        kind, ppm, block = mention.type, mention.confidence_ppm, BLOCK_OF_TYPE[mention.type]
        entity = Entity(
            key, kind, mention.name, mention.content, 1, 500_000, ppm, block, at_ms, at_ms,
            about=list_about(mention, scope), others=mention.others,
        )  # fmt: skip
    return FactState(set_given_fields(entity, request))


def set_given_fields(entity: Entity, request: Remember) -> Entity:
    """Set the fields that a request gives; the others stay unchanged."""
    names = ("importance_ppm", "event_time_ms", "source")
    given = {name: value for name in names if (value := getattr(request, name)) is not None}
    return structs.replace(entity, **given, metadata=tuple(sorted(request.metadata)) or entity.metadata)


def add_source(source: str, before: FactState, later: FactState, at_ms: int) -> FactState:
    """Return the state with this source added; every source after the first reinforces the fact.

    Without a source (`""`), or with more than a hundred, the fact becomes direct: it stays when its texts are
    deleted.
    """
    entity = later.entity
    assert entity is not None
    # stored by      sources        is_direct
    # r1             r1             no
    # r1, r2         r1, r2         no         reinforced once
    # r1, remember   r1             yes        stays when r1 is forgotten
    if source in entity.sources:
        return later
    if not source or len(entity.sources) >= limits.SOURCE_COUNT_MAX:
        entity = structs.replace(entity, is_direct=True)
    elif before.fact is None:
        entity = structs.replace(entity, sources=(source,))
    else:
        entity = add_sources(entity, (source,), at_ms)
    return structs.replace(later, entity=entity)


def add_sources(entity: Entity, sources: tuple[str, ...], at_ms: int) -> Entity:
    """Return the fact with these sources added, as far as there is room; each new one reinforces it."""
    room = limits.SOURCE_COUNT_MAX - len(entity.sources)
    news = [key for key in sources if key not in entity.sources][:room]
    if not news:
        return entity
    return structs.replace(
        entity, sources=tuple(sorted((*entity.sources, *news))),
        reinforced_count=entity.reinforced_count + len(news), last_reinforced_ms=at_ms,
    )  # fmt: skip


def add_categories(
    later: FactState, before: FactState, mention: Mention, categories: Iterable[str]
) -> FactState:
    """Return a fact with these categories added; a current fact keeps its memory type and block."""
    entity = later.entity
    assert entity is not None
    block = before.entity.block if before.entity else entity.block
    entity = structs.replace(entity, memory_type=entity.memory_type or mention.memory_type, block=block)
    links = tuple(sorted({*before.links, *categories}))
    return structs.replace(later, entity=entity, links=links)


# Deletions.


def drop_source(state: FactState, source: str) -> FactState:
    """Return the state without this source; NOTHING if the fact has no other source and is not direct."""
    fact = state.fact
    assert fact is not None
    sources = tuple(key for key in fact.sources if key != source)
    if not sources and not fact.is_direct:
        return NOTHING
    count = max(1, fact.reinforced_count - 1)
    last_ms = fact.last_reinforced_ms if count > 1 else None
    return state.with_fact(
        structs.replace(fact, sources=sources, reinforced_count=count, last_reinforced_ms=last_ms)
    )


# Updates, which move a fact to the id of its new content.


def find_moved_id(old: Entity, request: UpdateEntity, scope: Scope) -> str:
    """Return the id of a fact after an update."""
    return old.id if request.content is None else fact_id(scope, old.about, request.content)


def choose_links(request: UpdateEntity, *states: FactState) -> tuple[str, ...]:
    """Return the categories that the request names, or those of the states."""
    known = (name for it in states for name in it.links)
    return tuple(sorted({*(known if request.categories is None else request.categories)}))


def update_fact(state: FactState, request: UpdateEntity) -> FactState:
    """Return the state after an update that keeps the id: the request may set categories and `is_direct`."""
    assert state.entity is not None
    is_direct = state.entity.is_direct or request.content is not None
    entity = structs.replace(state.entity, is_direct=is_direct)
    return structs.replace(state, entity=entity, links=choose_links(request, state))


def move_fact(
    state: FactState, key: str, before: FactState, request: UpdateEntity, at_ms: int, scope: Scope
) -> FactState:
    """Return the state of the fact that replaces another one, `before`, which ends."""
    old, content = before.entity, request.content
    assert old is not None
    assert content is not None
    # The name of a note is the beginning of its content, so it changes with the content.
    name, is_named = old.name if old.about else auto_name(content), bool(old.about)
    mention = Mention(old.type, name, content, old.confidence_ppm, is_named, others=old.others)
    later = store_fact(state, key, mention, Remember(0, content), at_ms, scope)
    entity = later.entity
    assert entity is not None
    entity = structs.replace(entity, is_direct=True)
    if state.fact is not None:
        entity = add_sources(entity, old.sources, at_ms)
    else:
        count, last_ms = old.reinforced_count, old.last_reinforced_ms
        entity = structs.replace(
            entity, sources=old.sources, reinforced_count=count, last_reinforced_ms=last_ms
        )
    # A current fact keeps its own details; a new fact takes over those of the old one.
    if state.entity is None:
        names = ("event_time_ms", "source", "metadata")
        given = {name: value for name in names if (value := getattr(old, name)) not in (None, ())}
        kind = entity.memory_type or old.memory_type
        given |= {"block": old.block, "importance_ppm": old.importance_ppm, "memory_type": kind}
        entity = structs.replace(entity, **given)
    return structs.replace(later, entity=entity, links=choose_links(request, state, before))


def drop_relations(fact: Entity, lost_count: int, removed: Iterable[str]) -> Entity:
    """Return a fact without its `lost_count` deleted relations, all of them to `removed` facts."""
    refs = tuple(it for it in fact.contradicts if it.partition("@")[0] not in removed)
    return structs.replace(fact, relation_count=max(0, fact.relation_count - lost_count), contradicts=refs)

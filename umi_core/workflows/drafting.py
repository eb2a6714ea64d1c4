"""Drafting: what a text makes of the statements in it, before anything is written.

Law 1. A statement that is known already changes nothing but what is given explicitly; else it is a new fact.
Law 2. What a request does not give explicitly stays as it was.
Law 3. A fact leaves with the last resource that told it, and never once it was told otherwise: by a remember,
a create_entity, or a resource for which there was no room among its sources.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Final, Protocol

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import Domain
from umi_core.engine.facts import Fact, View
from umi_core.errors import BadOption, Error
from umi_core.ids import entity_id, fact_id
from umi_core.language.extraction import Mention
from umi_core.language.prompts import Statement
from umi_core.limits import EMBED_TEXT_BYTES_MAX, I64_MAX, SOURCE_COUNT_MAX
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import Address, Ended, Entity, Row
from umi_core.text import cut, show_value
from umi_core.values import Pairs, Scope
from umi_core.workflows.commits import address


def bad_draft(name: str, value: object) -> Error | None:
    """Return why a value is no draft: a fact, of which the block may be undecided."""
    decided = isinstance(value, Entity) and (
        value if value.block else structs.replace(value, block=SELF_BLOCK)
    )
    if decided and decided.is_sound:
        return None
    return BadOption(name, show_value(value), "an entity whose fields are in their domains")


Draft = Annotated[Entity, Domain("draft", bad_draft)]
PLACES: Final = ("entity", "ended")  # the kinds of the rows that may lie under the id of a fact


class Drafted(Data):
    """One fact as it will be, with what the rows said when it was planned.

    `old`: the stored one, if it is known. `past`: the row under its id, if that is of an ended fact: it goes,
    unless the fact is known as one that has ended.
    """

    entity: Draft
    is_row_changed: bool
    past: Ended | None = None
    old: Entity | None = None

    @property
    def has_ended(self) -> bool:
        return self.past is not None

    @property
    def stays_ended(self) -> bool:
        return self.past is not None and self.old is not None

    @property
    def change(self) -> str:
        return "created" if self.old is None else "unchanged"

    @property
    def is_changed(self) -> bool:
        return self.old is None


class Options(Protocol):
    """Values that a request gives for all facts of its text; each may be None or empty."""

    @property
    def importance_ppm(self) -> int | None: ...
    @property
    def event_time_ms(self) -> int | None: ...
    @property
    def metadata(self) -> Pairs: ...
    @property
    def source(self) -> str | None: ...


class SharedOptions(Data):
    """Options by themselves, where they are not a request's."""

    event_time_ms: int | None = None
    importance_ppm: int | None = None
    metadata: Pairs = ()
    source: str | None = None


DRAFTS: Final = Fact("drafts", tuple[Drafted, ...])


def about_of(mention: Mention, scope: Scope) -> tuple[str, ...]:
    """Return the ids of the entities that a statement is about; none, of a note."""
    return tuple(entity_id(scope, name) for name in mention.names)


def id_of(mention: Mention, scope: Scope) -> str:
    return fact_id(scope, about_of(mention, scope), mention.content)


def claim_mentions(mentions: Iterable[Mention], scope: Scope) -> tuple[str, ...]:
    """Return the facts that these may write, and the entities that they are about.

    The second one of "Ann lives in Rome." and "Ann lives in Oslo." has to meet the first, to end it.
    """
    return tuple(key for it in mentions for key in (id_of(it, scope), *about_of(it, scope)))


def draft_fact(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return the draft of a statement that its caller makes directly, not by way of a resource."""
    draft = look_up_fact(mention, request, rows, view)
    return with_entity(draft, structs.replace(draft.entity, is_direct=True))


def look_up_fact(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return the draft of a statement: of the stored fact with its options, or of a new one."""
    key = id_of(mention, view.scope)
    row = rows.get(address(view.scope, "entity", key))
    if row is None:
        return create_fact(mention, request, rows, view)
    old = row.body
    assert isinstance(old, Entity)
    # "Ann likes tea" with another importance: the fact stays version 1, and its row is written again.
    fresh = with_options(old, request)
    return Drafted(fresh, fresh != old, old=old)


def create_fact(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return a fact that is new, or current again: the number of one that had ended goes on."""
    key = id_of(mention, view.scope)
    past = rows.get(address(view.scope, "ended", key))
    if past is not None and isinstance(past.body, Ended):
        old = past.body.fact
        # The time of the first statement is not that of this one: "I live in Rome", said today, is of today.
        again = structs.replace(
            old, version=old.version + 1, updated_ms=view.now_ms, event_time_ms=None,
            periods=past.body.periods,
        )  # fmt: skip
        return Drafted(with_options(again, request), True, past.body)
    entity = Entity(
        key, mention.type, mention.name, mention.content, 1, 500_000, mention.confidence_ppm, "",
        view.now_ms, view.now_ms, about=about_of(mention, view.scope), others=mention.others,
    )  # fmt: skip
    return Drafted(with_options(entity, request), True)


def keep_ended(drafts: Sequence[Drafted], text: str) -> tuple[Drafted, ...]:
    """Return the drafts; a fact that a later one of this text has ended stays so, as the text says both."""
    order = order_by_text((draft.entity for draft in drafts), text)
    places = {key: at for at, key in enumerate(order)}
    return tuple(
        keep_past(draft, draft.past)
        if draft.past is not None and places.get(draft.past.by, -1) > places[draft.entity.id]
        else draft
        for draft in drafts
    )


def keep_past(draft: Drafted, past: Ended) -> Drafted:
    """Return the draft of a fact that would be current again as one that is known, and has ended."""
    old = past.fact
    entity = structs.replace(
        draft.entity, version=old.version, updated_ms=old.updated_ms, block=old.block, periods=old.periods,
        event_time_ms=old.event_time_ms if draft.entity.event_time_ms is None else draft.entity.event_time_ms,
    )  # fmt: skip
    return structs.replace(draft, entity=entity, is_row_changed=entity != old, old=old)


def with_options(entity: Entity, request: Options) -> Entity:
    """Return the entity with the explicit options; what is not given stays."""
    importance_ppm, event_time_ms = request.importance_ppm, request.event_time_ms
    return structs.replace(
        entity,
        importance_ppm=entity.importance_ppm if importance_ppm is None else importance_ppm,
        event_time_ms=entity.event_time_ms if event_time_ms is None else event_time_ms,
        metadata=tuple(sorted(request.metadata)) or entity.metadata,
        source=entity.source if request.source is None else request.source,
    )


def with_entity(draft: Drafted, entity: Entity) -> Drafted:
    return structs.replace(
        draft, entity=entity, is_row_changed=draft.is_row_changed or entity != draft.entity
    )


def chain_drafts(drafts: Sequence[Drafted], text: str, last: str | None) -> tuple[Drafted, ...]:
    """Let each new fact follow the one that the text tells before it, and the first one follow `last`."""
    before = dict[str, str | None]()
    for key in order_by_text((draft.entity for draft in drafts), text):
        before[key], last = last, key
    return tuple(follow_fact(draft, before[draft.entity.id]) for draft in drafts)


def follow_fact(draft: Drafted, last: str | None) -> Drafted:
    """Return the draft behind this fact; one that is known, or that is the same fact, stays as it is."""
    # Told, forgotten, and told again as the next fact: it would follow itself.
    is_first = draft.old is None and not draft.has_ended and draft.entity.id != last
    return with_entity(draft, structs.replace(draft.entity, follows=last)) if is_first else draft


def order_by_text(entities: Iterable[Entity], text: str) -> list[str]:
    """Return the ids of facts in the order in which their contents stand in the text.

    A reply lists names, and notes stand behind those. A content in other words keeps its place in the list.
    """
    places = list[tuple[int, str]]()
    place = 0
    for entity in entities:
        found = text.find(entity.content)
        # The model wrote "Ann likes tea" for "I like tea": not found, so it follows the content before it.
        place = place if found < 0 else found
        places.append((place, entity.id))
    return [key for _, key in sorted(places, key=itemgetter(0))]


# How a fact is shown to a model, an embedder, a search.


def embedded_text(fact: Entity) -> str:
    return cut(f"{fact.names}\n{fact.content}", EMBED_TEXT_BYTES_MAX)


def ref(entity: Entity) -> str:
    """Return the name of a fact in questions and answers."""
    return f"{entity.id}@{entity.version}"


def statement_of(entity: Entity) -> Statement:
    return Statement(ref(entity), entity.name, entity.content, entity.updated_ms, entity.event_time_ms)


# Sources: which resources and records told a fact, and what is left of it without one of them.


def add_source(source: str, draft: Drafted, now_ms: int) -> Drafted:
    """Return the draft with this source; a known fact is reinforced by each source that it lacks."""
    entity = draft.entity
    if source in entity.sources:
        return draft
    # No room to remember this source, so the fact must not leave with the others: it counts as told directly.
    if len(entity.sources) >= SOURCE_COUNT_MAX:
        return with_entity(draft, structs.replace(entity, is_direct=True))
    entity = structs.replace(entity, sources=tuple(sorted((*entity.sources, source))))
    # The first telling is no reinforcement; a fact that had ended, and is told again, was known.
    is_known = draft.old is not None or draft.has_ended
    count = min(entity.reinforced_count + 1, I64_MAX)
    reinforced = structs.replace(entity, reinforced_count=count, last_reinforced_ms=now_ms)
    return with_entity(draft, reinforced if is_known else entity)


def drop_source(source: str, entity: Entity) -> Entity | None:
    """Return the fact without this source; None if nothing else told it."""
    sources = tuple(key for key in entity.sources if key != source)
    if not sources and not entity.is_direct:
        return None
    count = max(1, entity.reinforced_count - 1)
    # One source is no reinforcement, so there is no time of one.
    last_ms = entity.last_reinforced_ms if count > 1 else None
    return structs.replace(entity, sources=sources, reinforced_count=count, last_reinforced_ms=last_ms)

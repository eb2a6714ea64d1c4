"""Drafting: turns the statements of a text into facts as they will be stored, before anything is written.

Law 1. A statement that is stored already stays the same fact; any other becomes a new fact.
Law 2. Values that a request gives explicitly (importance, source ...) replace the stored ones; others stay.
Law 3. A fact is forgotten together with its last source, unless it is *direct*: stated by a remember, a
create_entity or an update_entity, or by a resource for which there was no room among its sources.
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
    """Return the error if the value is not a draft, which is a valid fact whose block may be empty."""
    decided = isinstance(value, Entity) and (
        value if value.block else structs.replace(value, block=SELF_BLOCK)
    )
    if decided and decided.is_sound:
        return None
    return BadOption(name, show_value(value), "an entity whose fields are in their domains")


Draft = Annotated[Entity, Domain("draft", bad_draft)]
PLACES: Final = ("entity", "ended")  # the kinds of rows that have a fact under its id: current, ended


class Drafted(Data):
    """One fact as it will be stored, with the rows from which it was planned.

    `old`: the stored fact; None if the fact is new or becomes current again. `past`: the ended row under its
    id, if there is one. That row is deleted, unless the fact stays ended (`old` is set as well).
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
    """Values that a request gives for all facts of its text; None or empty means not given."""

    @property
    def importance_ppm(self) -> int | None: ...
    @property
    def event_time_ms(self) -> int | None: ...
    @property
    def metadata(self) -> Pairs: ...
    @property
    def source(self) -> str | None: ...


class SharedOptions(Data):
    """Options of facts whose request has no such fields."""

    event_time_ms: int | None = None
    importance_ppm: int | None = None
    metadata: Pairs = ()
    source: str | None = None


DRAFTS: Final = Fact("drafts", tuple[Drafted, ...])


def about_of(mention: Mention, scope: Scope) -> tuple[str, ...]:
    """Return the ids of the entities that a statement is about; none if it is a note."""
    return tuple(entity_id(scope, name) for name in mention.names)


def id_of(mention: Mention, scope: Scope) -> str:
    return fact_id(scope, about_of(mention, scope), mention.content)


def claim_mentions(mentions: Iterable[Mention], scope: Scope) -> tuple[str, ...]:
    """Return the ids of the facts that these statements may write, and of the entities they are about.

    Claiming the entity Ann makes "Ann lives in Oslo." wait for "Ann lives in Rome.", so that it can end it.
    """
    return tuple(key for it in mentions for key in (id_of(it, scope), *about_of(it, scope)))


def draft_fact(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return the draft of a statement that a caller makes directly, not in a resource."""
    draft = look_up_fact(mention, request, rows, view)
    return with_entity(draft, structs.replace(draft.entity, is_direct=True))


def look_up_fact(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return the draft of a statement: the stored fact with the options of the request, or a new fact."""
    key = id_of(mention, view.scope)
    row = rows.get(address(view.scope, "entity", key))
    if row is None:
        return create_fact(mention, request, rows, view)
    old = row.body
    assert isinstance(old, Entity)
    # If only an option changed ("Ann likes tea", now important), the row is written with the same version.
    fresh = with_options(old, request)
    return Drafted(fresh, fresh != old, old=old)


def create_fact(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return a new fact, or an ended one that becomes current again under the next version."""
    key = id_of(mention, view.scope)
    past = rows.get(address(view.scope, "ended", key))
    if past is not None and isinstance(past.body, Ended):
        old = past.body.fact
        # The old event time is dropped: "I live in Rome", stated again today, is about today.
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
    """Return the drafts, where a fact stays ended if a later statement of the same text has ended it.

    For example, a text memorized again says "Ann lives in Rome" and later "Ann lives in Oslo": Rome stays
    ended.
    """
    order = order_by_text((draft.entity for draft in drafts), text)
    places = {key: at for at, key in enumerate(order)}
    return tuple(
        keep_past(draft, draft.past)
        if draft.past is not None and places.get(draft.past.by, -1) > places[draft.entity.id]
        else draft
        for draft in drafts
    )


def keep_past(draft: Drafted, past: Ended) -> Drafted:
    """Return the draft of a fact that stays ended, instead of becoming current again."""
    old = past.fact
    entity = structs.replace(
        draft.entity, version=old.version, updated_ms=old.updated_ms, block=old.block, periods=old.periods,
        event_time_ms=old.event_time_ms if draft.entity.event_time_ms is None else draft.entity.event_time_ms,
    )  # fmt: skip
    return structs.replace(draft, entity=entity, is_row_changed=entity != old, old=old)


def with_options(entity: Entity, request: Options) -> Entity:
    """Return the entity with the options that the request gives; other fields stay."""
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
    """Set `follows` of each new fact to the fact before it in the text; of the first one, to `last`."""
    before = dict[str, str | None]()
    for key in order_by_text((draft.entity for draft in drafts), text):
        before[key], last = last, key
    return tuple(follow_fact(draft, before[draft.entity.id]) for draft in drafts)


def follow_fact(draft: Drafted, last: str | None) -> Drafted:
    """Return the draft with `follows` set to `last` if the fact is new and is not `last` itself."""
    # A fact that was stored, forgotten and stated again as the next fact would follow itself.
    is_first = draft.old is None and not draft.has_ended and draft.entity.id != last
    return with_entity(draft, structs.replace(draft.entity, follows=last)) if is_first else draft


def order_by_text(entities: Iterable[Entity], text: str) -> list[str]:
    """Return the ids of facts, ordered by the first place of their contents in the text.

    The model may list facts in another order, and notes come after its facts. A content that is not in the
    text literally takes the place of the fact listed before it.
    """
    places = list[tuple[int, str]]()
    place = 0
    for entity in entities:
        found = text.find(entity.content)
        # For example, the model wrote "Ann likes tea" for "I like tea".
        place = place if found < 0 else found
        places.append((place, entity.id))
    return [key for _, key in sorted(places, key=itemgetter(0))]


# Texts of a fact for a model, an embedder, a search.


def embedded_text(fact: Entity) -> str:
    return cut(f"{fact.names}\n{fact.content}", EMBED_TEXT_BYTES_MAX)


def ref(entity: Entity) -> str:
    """Return the reference to this version of a fact in questions to a model and in its answers."""
    return f"{entity.id}@{entity.version}"


def statement_of(entity: Entity) -> Statement:
    return Statement(ref(entity), entity.name, entity.content, entity.updated_ms, entity.event_time_ms)


# Sources: the resources and records that stated a fact.


def add_source(source: str, draft: Drafted, now_ms: int) -> Drafted:
    """Return the draft with this source added; a new source reinforces a known fact."""
    entity = draft.entity
    if source in entity.sources:
        return draft
    # There is no room for this source, so the fact counts as direct: it must outlive its other sources.
    if len(entity.sources) >= SOURCE_COUNT_MAX:
        return with_entity(draft, structs.replace(entity, is_direct=True))
    entity = structs.replace(entity, sources=tuple(sorted((*entity.sources, source))))
    # The source of a new fact does not reinforce it. A fact that becomes current again counts as known.
    is_known = draft.old is not None or draft.has_ended
    count = min(entity.reinforced_count + 1, I64_MAX)
    reinforced = structs.replace(entity, reinforced_count=count, last_reinforced_ms=now_ms)
    return with_entity(draft, reinforced if is_known else entity)


def drop_source(source: str, entity: Entity) -> Entity | None:
    """Return the fact without this source; None if it has no other source and is not direct."""
    sources = tuple(key for key in entity.sources if key != source)
    if not sources and not entity.is_direct:
        return None
    count = max(1, entity.reinforced_count - 1)
    # A count of 1 is no reinforcement, so it has no time.
    last_ms = entity.last_reinforced_ms if count > 1 else None
    return structs.replace(entity, sources=sources, reinforced_count=count, last_reinforced_ms=last_ms)

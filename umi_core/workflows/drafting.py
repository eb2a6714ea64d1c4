"""Drafting: what a text makes of the entities it names, before anything is written.

Law 1. A mention whose lines are all known changes nothing; else it is the next version. Law 2. Content is a
replay of mentions: extend and derive append the lines that are lacking, update and contradict begin anew.
Law 3. What a request does not give explicitly stays as it was. Law 4. A draft counts the lines that the limit
on its content has dropped.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Protocol

import attrs

from umi_core.data import Data
from umi_core.domains import Content, Count, Domain, Flag, one_of
from umi_core.engine.facts import Fact, View
from umi_core.errors import BadOption, Error
from umi_core.ids import entity_id, note_id
from umi_core.language.evolution import BY_TABLE, Verdict
from umi_core.language.extraction import Mention
from umi_core.language.prompts import Statement
from umi_core.limits import EMBED_TEXT_BYTES_MAX, ENTITY_FACTS_BYTES_MAX
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import Address, Entity, Row, Tombstone
from umi_core.text import cut, norm, shown, size, unique
from umi_core.values import Pairs, Scope
from umi_core.workflows.commits import address

APPENDING = ("extend", "derive")


def bad_draft(name: str, value: object) -> Error | None:
    """An entity, but that nobody may have decided on its block yet."""
    decided = isinstance(value, Entity) and (value if value.block else attrs.evolve(value, block=SELF_BLOCK))
    if decided and decided.is_sound:
        return None
    return BadOption(name, shown(value), "an entity whose fields are in their domains")


Draft = Annotated[Entity, Domain("draft", bad_draft)]
DraftChange = Annotated[str, Domain("draft_change", one_of("created", "updated", "unchanged"))]


@attrs.frozen
class Drafted(Data):
    """One entity as it will be, with what the rows said when it was planned.

    `old` is the version before, `verdict` what this one does to it; None if there is none before.
    `is_given`: a resource tells it, whose lines may leave with it. `dropped_count`: lines of `old` for which
    its content has no room.
    """

    entity: Draft
    change: DraftChange
    mention: Content
    is_row_changed: bool
    is_revived: bool = False  # its tombstone goes
    old: Entity | None = None
    verdict: Verdict | None = None
    is_given: Flag = False
    dropped_count: Count = 0

    def unsound(self) -> str:
        """What does not fit each other, of one that was read from bytes."""
        is_first, is_next = self.old is None, self.verdict is not None
        fits = (self.change == "created") == is_first and (self.change == "updated") == is_next
        return "" if fits else f"{self.change}, and what it was before says otherwise"

    @property
    def is_changed(self) -> bool:
        return self.change != "unchanged"

    @property
    def is_next(self) -> bool:
        """A version that follows another one."""
        return self.is_changed and self.old is not None


class Options(Protocol):
    """What a request says of all entities of its text; nothing of it need be given."""

    @property
    def importance_ppm(self) -> int | None: ...
    @property
    def event_time_ms(self) -> int | None: ...
    @property
    def metadata(self) -> Pairs: ...
    @property
    def source(self) -> str | None: ...


@attrs.frozen
class SharedOptions(Data):
    """Options by themselves, where they are not a request's."""

    event_time_ms: int | None = None
    importance_ppm: int | None = None
    metadata: Pairs = ()
    source: str | None = None


DRAFTS: Final = Fact("drafts", tuple[Drafted, ...])  # as looked up
EVOLVED: Final = Fact("evolved", tuple[Drafted, ...])  # under the verdicts


def id_of(mention: Mention, scope: Scope) -> str:
    if mention.named:
        return entity_id(scope, mention.type, mention.name)
    return note_id(scope, mention.content, mention.memory_type)


def drafted(mention: Mention, request: Options, rows: Mapping[Address, Row], view: View) -> Drafted:
    key = id_of(mention, view.scope)
    row = rows.get(address(view.scope, "entity", key))
    grave = rows.get(address(view.scope, "tombstone", key))
    if row is None:
        return created(mention, request, key, grave, view)
    old = row.body
    assert isinstance(old, Entity)
    fresh = with_options(old, request)
    if lines_of(mention.content).keys() <= lines_of(old.content).keys():
        fresh = told_plainly(fresh, mention.content)
        return Drafted(fresh, "unchanged", mention.content, fresh != old, old=old)
    fresh = attrs.evolve(fresh, version=old.version + 1, updated_ms=view.now_ms)
    draft = Drafted(fresh, "updated", mention.content, True, old=old)
    return evolved(draft, BY_TABLE)


def created(mention: Mention, request: Options, key: str, grave: Row | None, view: View) -> Drafted:
    """A name that is new, or was forgotten: then its versions go on where they ended."""
    version = grave.body.version + 1 if grave and isinstance(grave.body, Tombstone) else 1
    entity = Entity(
        key, mention.type, mention.name, mention.content, version, 500_000, mention.confidence_ppm, "",
        view.now_ms, view.now_ms,
    )  # fmt: skip
    fresh = with_options(entity, request)
    return Drafted(fresh, "created", mention.content, True, is_revived=grave is not None)


def with_options(entity: Entity, request: Options) -> Entity:
    """Explicit values only; what is not given stays."""
    importance_ppm, event_time_ms = request.importance_ppm, request.event_time_ms
    return attrs.evolve(
        entity,
        importance_ppm=entity.importance_ppm if importance_ppm is None else importance_ppm,
        event_time_ms=entity.event_time_ms if event_time_ms is None else event_time_ms,
        metadata=tuple(sorted(request.metadata)) or entity.metadata,
        source=entity.source if request.source is None else request.source,
    )


def evolved(draft: Drafted, verdict: Verdict) -> Drafted:
    """The draft of a next version under this verdict on its mention."""
    old = draft.old
    assert old is not None
    appends = verdict.kind in APPENDING
    now = extended(old.content, draft.mention) if appends else Extended(draft.mention)
    entity = attrs.evolve(draft.entity, content=now.content, contradicts=old.contradicts if appends else ())
    return attrs.evolve(
        draft,
        entity=told_plainly(entity, draft.mention),
        verdict=verdict,
        dropped_count=now.dropped_count,
    )


def told_plainly(entity: Entity, mention: str) -> Entity:
    """What no resource told belongs to none from now on; what is not there belongs to nobody."""
    if not entity.given:
        return entity
    there = lines_of(entity.content).keys() - lines_of(mention).keys()
    return attrs.evolve(entity, given=tuple(line for line in entity.given if norm(line) in there))


@attrs.frozen
class Extended(Data):
    """A content to which lines were appended, and how many old lines the limit has dropped from it."""

    content: str
    dropped_count: int = 0


def extended(old: str, mention: str) -> Extended:
    """Append the lines that are lacking; beyond the limit drop the oldest that the mention has not.

    So a mention that was told is known, and telling it again changes nothing.
    """
    known, told = lines_of(old), lines_of(mention)
    lines = [*old.split("\n"), *(line for key, line in told.items() if key not in known)]
    excess = size("\n".join(lines)) - ENTITY_FACTS_BYTES_MAX
    kept = []
    for line in lines:
        if excess > 0 and norm(line) not in told:
            excess -= size(line) + 1
        else:
            kept.append(line)
    content = "\n".join(kept)
    return Extended(content, len(lost_lines(old, content)))


def lost_lines(old: str, *others: str) -> frozenset[str]:
    """Return the keys of the lines of `old` that none of the others has; a blank line says nothing."""
    remaining = {key for text in others for key in lines_of(text)}
    return frozenset(key for key in lines_of(old) if key and key not in remaining)


def lines_of(content: str) -> dict[str, str]:
    """By what tells them apart, as it does names: each line as it was first written."""
    return unique(content.split("\n"))


# How an entity is shown to a model, an embedder, a search.


def embedded_text(name: str, content: str) -> str:
    return cut(f"{name}\n{content}", EMBED_TEXT_BYTES_MAX)


def ref(entity: Entity) -> str:
    """A statement's name in questions and answers: this content of this entity."""
    return f"{entity.id}@{entity.version}"


def new_statement(draft: Drafted) -> Statement:
    return Statement(ref(draft.entity), draft.entity.name, draft.mention)


def old_statement(entity: Entity) -> Statement:
    return Statement(ref(entity), entity.name, entity.content)

"""Rows: what storage holds. A body is one of the frozen values below, under the address of its row.

A kind of row is one class, and this file is all of its declaration: its fields with their domains, its kind,
its tag in the codec, and the id that it lies under.

Law 1. Every row carries its whole scope. Law 2. A changed row is a new value, under the next version.
"""

from collections.abc import Iterable
from typing import Annotated, Final, TypeVar, overload

from msgspec import structs

from umi_core import domains
from umi_core.body import CHECKS, OfEntity
from umi_core.body import Body as Body
from umi_core.data import Data
from umi_core.declared import Incomplete, list_declared
from umi_core.errors import BadOption, Error
from umi_core.kelpie import rows as api_rows
from umi_core.limits import PERIOD_COUNT_MAX
from umi_core.migration import rows as migration_rows
from umi_core.text import show_value
from umi_core.values import Period, Scope

FILE: Final = "umi_core/rows.py"
B = TypeVar("B", bound=Body)
Rows = TypeVar("Rows", bound="Iterable[Row]")


class Address(Data):
    """Where a row lies. Every row carries its whole scope."""

    tag = 3
    scope: Scope
    kind: str
    id: str


class Row(Data):
    """A row as storage answers it; version counts its writes, score_ppm is set by searches only.

    `body` is None for a row that storage reports as damaged.
    """

    tag = 4
    address: Address
    version: domains.Count
    body: "Body | None"
    score_ppm: domains.Score | None = None

    def unsound(self) -> str:
        """Return the reason why this body cannot be under this address; empty if it can."""
        body, cls, own_id = self.body, BODIES.get(self.address.kind), self.address.id
        # A kind without a class is one of a foreign workflow, and may hold anything. An own id of None fits
        # any address: epoch, head and core lie under an id that is their kind.
        if body is None or cls is None or (isinstance(body, cls) and body.own_id() in (None, own_id)):
            return ""
        return f"not the row {show_value(own_id)} of the kind {self.address.kind}"


class Resource(Body):
    """A text that was memorized, as it was given; or one segment of it, which names its parent.

    `first_line` and `last_line` count the lines that its modality makes of the text. `extracted_types`: the
    memory types for which all of it was read; `pending`: those that were asked for, and are left to read. The
    text of an image, an audio or a video says where it is; its `description` is what a model says that it
    holds, and is read and found in place of the text. It is empty while no model has described it, and for
    texts. `session_id`: the session in which it was memorized, if its caller named one.
    """

    tag = 97
    row_kind = "resource"
    derived = ("touches",)
    added = (1, 1)
    id: domains.EntityId
    modality: domains.Modality
    text: domains.Content
    text_hash: domains.Word
    caption: domains.Word
    first_line: domains.Count
    last_line: domains.Count
    created_ms: domains.EventTime
    updated_ms: domains.EventTime
    uri: domains.Uri | None = None
    parent_id: domains.EntityId | None = None
    position: domains.Count = 0
    extracted_types: domains.Texts = ()
    pending: domains.Texts = ()
    happened_ms: domains.EventTime | None = None
    description: domains.Content = ""
    session_id: domains.SessionId | None = None

    @property
    def touches(self) -> tuple[str, ...]:
        """The text that it is a segment of."""
        return () if self.parent_id is None else (self.parent_id,)

    @property
    def time_ms(self) -> int:
        """When it was told, as far as its caller said, or else memorized."""
        return self.created_ms if self.happened_ms is None else self.happened_ms

    @property
    def shown(self) -> str:
        """Return the text that a reader is shown."""
        return self.description or self.text

    def name_and_text(self) -> tuple[str, str]:
        return "", f"{self.caption}\n{self.shown}"


class Entity(Body):
    """A fact: one statement, about the entity of this type and name, and `others`; a note is about none.

    `about`: the ids of the entities that it is about; conditions ask for them. `version`: 1, and 1 more for
    each time that it had ended and was stated again. `memory_type`: the one under which it was
    memorized first. `sources`: the resources that state it. `is_direct`: it was also stated without a
    resource, so it stays when those are forgotten. `reinforced_count`: 1, and 1 more for each later resource
    that states it. `follows`: the fact that was stated directly before it. `periods`: the times in which it
    was current before the last one, the first of them first; at most PERIOD_COUNT_MAX, of more the latest.
    """

    tag = 5
    row_kind = "entity"
    derived = ("time_ms", "touches")
    added = (1,)
    oldest = 4  # rows of older releases held many statements: umi_live divides them
    id: domains.EntityId
    type: domains.EntityType
    name: domains.EntityName
    content: domains.Content
    version: domains.VersionNumber
    importance_ppm: domains.Importance
    confidence_ppm: domains.Importance
    block: domains.EntityBlock
    created_ms: domains.EventTime
    updated_ms: domains.EventTime
    event_time_ms: domains.EventTime | None = None
    metadata: domains.Metadata = ()
    source: domains.Source | None = None
    vector_missing: domains.Flag = False
    relation_count: domains.Count = 0
    contradicts: domains.Texts = ()  # refs of facts
    memory_type: domains.MemoryType | None = None
    sources: domains.Texts = ()
    reinforced_count: domains.Count = 1
    last_reinforced_ms: domains.EventTime | None = None
    about: domains.Texts = ()
    is_direct: domains.Flag = False
    others: domains.Texts = ()
    follows: domains.EntityId | None = None
    periods: domains.Periods = ()

    @property
    def time_ms(self) -> int:
        return self.updated_ms if self.event_time_ms is None else self.event_time_ms

    @property
    def touches(self) -> tuple[str, ...]:
        """The resources that told it."""
        return self.sources

    def happened_before(self, known: "Entity") -> bool:
        """Return True of a new fact that says when it happened, if that was before a known one.

        A chat of 2023 that is imported today is older than what was told yesterday without a time of its own.
        """
        return self.event_time_ms is not None and self.event_time_ms < known.time_ms

    @property
    def names(self) -> str:
        """All that it is about, as a search and a model read it."""
        return ", ".join((self.name, *self.others))

    def name_and_text(self) -> tuple[str, str]:
        return self.names, self.content


def bad_fact(name: str, value: object) -> Error | None:
    # `is_sound` needs CHECKS, which is filled at the end of this file; it is called on rows only, so later.
    is_fact = isinstance(value, Entity) and value.is_sound
    return None if is_fact else BadOption(name, show_value(value), "a fact whose fields are in their domains")


class Ended(Body):
    """A fact that another one has ended: no search finds it, and the history of its entity has it.

    `by`: the fact that took its place; `how`: it updates this one, or contradicts it.
    """

    tag = 616
    row_kind = "ended"
    derived = ("about", "touches")
    added = (0,)  # its fact has periods
    id: domains.EntityId
    fact: Annotated[Entity, domains.Domain("fact", bad_fact)]
    by: domains.EntityId
    how: domains.EndingKind
    at_ms: domains.EventTime

    @property
    def about(self) -> tuple[str, ...]:
        return self.fact.about

    @property
    def touches(self) -> tuple[str, ...]:
        """The resources that told it."""
        return self.fact.sources

    @property
    def periods(self) -> tuple[Period, ...]:
        """All times in which the fact was current, this last one included."""
        last = Period(self.fact.time_ms, self.at_ms, self.by, self.how)
        return (*self.fact.periods, last)[-PERIOD_COUNT_MAX:]


def bodies_of(rows: Rows, cls: type[B]) -> list[B]:
    """Return the bodies of this class, in order; damaged rows have none."""
    return [row.body for row in rows if isinstance(row.body, cls)]


def body_as(row: Row | None, cls: type[B]) -> B | None:
    """Return the body of the row, if there is one of this class."""
    return row.body if row is not None and isinstance(row.body, cls) else None


@overload
def fact_of(body: Entity | Ended) -> Entity: ...
@overload
def fact_of(body: "Body | None") -> Entity | None: ...
def fact_of(body: "Body | None") -> Entity | None:
    """Return the fact that a row holds, whether it is current or has ended."""
    return body.fact if isinstance(body, Ended) else body if isinstance(body, Entity) else None


def with_fact(body: "Body | None", fact: Entity) -> Body:
    """Return what the row of this body holds once its fact says this."""
    return structs.replace(body, fact=fact) if isinstance(body, Ended) else fact


class Relation(Body):
    """A directed relation between two (fact id, version)."""

    tag = 7
    row_kind = "relation"
    derived = ("touches",)
    id: domains.EntityId
    kind: domains.RelationKind
    source: domains.End
    target: domains.End
    confidence_ppm: domains.Importance
    reason: domains.Reason
    by: domains.Word
    at_ms: domains.EventTime

    @property
    def touches(self) -> tuple[str, ...]:
        """The facts that it belongs to."""
        return self.source[0], self.target[0]


class Vector(Body):
    """The embedding of one version of an entity: whole numbers in -127..127."""

    tag = 8
    row_kind = "vector"
    entity_id: domains.EntityId
    version: domains.VersionNumber
    components: domains.Components

    def own_id(self) -> str:
        return self.entity_id


class Category(Body):
    """A topic; `member_count` is the number of its memberships.

    `summary_sources`: the entities, with their versions, that the summary was made of. `summary_dirty`: there
    are other members than those. `subcategory_ids`: the groups that its members were found to be in.
    `evolved_digest`: of the members as they were then; empty if one has come, changed or left since.
    """

    tag = 98
    row_kind = "category"
    added = (3, 3)
    id: domains.EntityId
    name: domains.EntityName
    description: domains.Word
    member_count: domains.Count
    created_ms: domains.EventTime
    updated_ms: domains.EventTime
    summary: domains.Content = ""
    summary_sources: domains.Ends = ()
    summary_dirty: domains.Flag = True
    subcategory_ids: domains.Texts = ()
    evolved_digest: domains.Word = ""
    evolved_ms: domains.EventTime | None = None

    def name_and_text(self) -> tuple[str, str]:
        return self.name, f"{self.description}\n{self.summary}"


class Membership(OfEntity, Body):
    """An entity in a category; `entity_version` is the one that was linked.

    `subcategory_id`: the group of the category that it is in, if any, and how near to it, with the keywords
    of the group that its content has.
    """

    tag = 99
    row_kind = "membership"
    added = (3,)
    id: domains.EntityId
    entity_id: domains.EntityId
    entity_version: domains.VersionNumber
    category_id: domains.EntityId
    assigned_by: domains.LinkMaker
    created_ms: domains.EventTime
    subcategory_id: domains.EntityId | None = None
    confidence_ppm: domains.Importance | None = None
    keywords_matched: domains.Texts = ()


class Subcategory(Body):
    """A group of members of a category that are about one thing; its centroid is the vector under its id.

    `founder_id`: the member that it began with. `named_by`: whether a model or its keywords named it.
    """

    tag = 160
    row_kind = "subcategory"
    id: domains.EntityId
    category_id: domains.EntityId
    founder_id: domains.EntityId
    name: domains.EntityName
    named_by: domains.NameMaker
    keywords: domains.Texts
    created_ms: domains.EventTime
    updated_ms: domains.EventTime


class AccessRecord(Body):
    """How often and when an entity was accessed, with what its score needs besides."""

    tag = 9
    row_kind = "access"
    entity_id: domains.EntityId
    type: domains.EntityType
    importance_ppm: domains.Importance
    count: domains.Count
    first_ms: domains.EventTime
    last_ms: domains.EventTime

    def own_id(self) -> str:
        return self.entity_id


class Epoch(Body):
    """One incarnation of a memory; the version of its row is the epoch.

    `is_closed`: the agent was deleted, and not opened since. `held_by`: the epoch of the incarnation before
    it wrote this, which it still has if the answer was lost; 0: it has just begun.
    """

    tag = 13
    row_kind = "epoch"
    added = (2,)
    claimed_ms: domains.EventTime
    is_closed: domains.Flag = False
    held_by: domains.Count = 0


class Head(Body):
    """Where the fair scan of the access records stands."""

    tag = 14
    row_kind = "head"
    cursor: domains.Word


class Core(Body):
    """The core tier as one row: limits over all blocks hold because every write expects its version."""

    tag = 12
    row_kind = "core"
    blocks: domains.Blocks


class Receipt(Body):
    """The effects of a commit, by which a repeated request is answered without doing it again.

    `value` is the value of the reply, one of umi_core.messages.results; `by` the operation: epoch and number.
    """

    tag = 16
    row_kind = "receipt"
    added = (0, 0)
    key: domains.Word
    request_digest: domains.Digest
    plan_digest: domains.Digest
    value: domains.Anything
    at_ms: domains.EventTime
    by: domains.Maker = (0, 0)

    def own_id(self) -> str:
        return self.key


class SessionRow(Body):
    """A saved session: the agents that may load it, and its snapshot.

    `carries`: what one of them gets besides its keys. `told`: the last facts of the session, which lie in the
    archive of the agent that saved it; `left_out_count`: how many were told before these.
    """

    tag = 17
    row_kind = "session"
    added = (3,)
    id: domains.SessionId
    user: domains.Word
    creator: domains.Word
    members: domains.Members
    saved_ms: domains.EventTime
    saved_by: domains.Word
    snapshot: domains.Digest
    carries: domains.Carries = ("keys",)
    told: domains.Texts = ()
    left_out_count: domains.Count = 0


class Grant(Body):
    """The agents of the user that may read this archive, in order; there is no row where there is none."""

    tag = 650
    row_kind = "grant"
    readers: domains.Members


class Reflection(Body):
    """The subject of a session that has ended.

    `sources`: the resources, with the versions of their rows, that it was made of; the first was told at
    `started_ms`. `degraded`: no model has summarised them, and their beginning stands here. `pending`: its
    text was removed with one of them, and ending the session again writes it anew.
    """

    tag = 181
    row_kind = "reflection"
    derived = ("touches",)
    id: domains.EntityId
    session_id: domains.SessionId
    text: domains.Content
    sources: domains.Ends
    started_ms: domains.EventTime
    ended_ms: domains.EventTime
    created_ms: domains.EventTime
    updated_ms: domains.EventTime
    degraded: domains.Flag = False
    pending: domains.Flag = False

    @property
    def touches(self) -> tuple[str, ...]:
        """The texts that it was made of."""
        return tuple(key for key, _ in self.sources)

    def name_and_text(self) -> tuple[str, str]:
        return "", self.text


# Versions: a kind has version 1 (or `oldest`), and one more each time that fields were added to it,
# or to what it holds.


def row_version(cls: type[Body]) -> int:
    return cls.oldest + len(cls.added)


def field_count(cls: type[Body], version: int) -> int:
    return len(cls.__struct_fields__) - sum(cls.added[version - cls.oldest :])


def with_defaults(cls: type[Body]) -> type[Body]:
    """Raises Incomplete for a field that older rows lack, if nothing says what it is for them."""
    # Fields are added at the end only, so those behind the count of the oldest version are the later ones.
    later_count = len(cls.__struct_fields__) - field_count(cls, cls.oldest)
    if later_count > len(cls.__struct_defaults__):
        name = cls.__struct_fields__[-len(cls.__struct_defaults__) - 1]
        raise Incomplete(f"{cls.__name__}.{name} has no default for older rows: add one in {FILE}")
    return cls


SEARCHED: Final = ("entity", "category", "resource", "reflection")  # kinds of rows that searches are about
ALL: Final = list_declared(globals() | vars(api_rows) | vars(migration_rows), Body)
BODIES: Final[dict[str, type[Body]]] = {cls.row_kind: with_defaults(cls) for cls in ALL}
FIELDS: Final[dict[type, frozenset[str]]] = {  # what a condition may ask for
    cls: frozenset((*cls.__struct_fields__, *cls.derived)) for cls in BODIES.values()
}
CHECKS.update({cls: domains.checks_of(cls) for cls in BODIES.values()})

"""Rows: the contents of storage. Each row has an address, a version, and a body: one of the values below.

Each kind of row is one class in this file. The class declares everything about the kind: its fields with
their domains, its name, its tag in the codec, and the id of its rows.

Law 1. The address of a row has its whole scope. Law 2. Bodies never change: an update stores a new body under
the next version.
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
    """The key of a row in storage."""

    tag = 3
    scope: Scope
    kind: str
    id: str


class Row(Data):
    """A row as storage returns it. `version` counts its writes; only searches set `score_ppm`.

    `body` is None if storage reports the row as damaged.
    """

    tag = 4
    address: Address
    version: domains.Count
    body: "Body | None"
    score_ppm: domains.Score | None = None

    def unsound(self) -> str:
        """Return why this body cannot be under this address; empty if it can."""
        body, cls, own_id = self.body, BODIES.get(self.address.kind), self.address.id
        # A kind without a class belongs to a custom workflow, and may have any body. A body whose own id is
        # None (epoch, head, core) fits any address.
        if body is None or cls is None or (isinstance(body, cls) and body.own_id() in (None, own_id)):
            return ""
        return f"not the row {show_value(own_id)} of the kind {self.address.kind}"


class Resource(Body):
    """A memorized text as it was given; or one segment of it, which names the resource in `parent_id`.

    `first_line` and `last_line` count the lines into which its modality divides the text. `extracted_types`:
    the memory types for which all of it was read; `pending`: requested types that are still to be read, and
    other work to do. For an image, an audio or a video, `text` is its location, and `description` is a
    model's description of it, which is read and searched instead of the text. The description is empty until
    a model has made it, and for texts. `session_id`: the session in which it was memorized, if one was named.
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
        """The id of the resource of which this is a segment."""
        return () if self.parent_id is None else (self.parent_id,)

    @property
    def time_ms(self) -> int:
        """The time of the text, if its caller gave one, or else the time at which it was memorized."""
        return self.created_ms if self.happened_ms is None else self.happened_ms

    @property
    def shown(self) -> str:
        """Return the text to show: the description if there is one."""
        return self.description or self.text

    def name_and_text(self) -> tuple[str, str]:
        return "", f"{self.caption}\n{self.shown}"


class Entity(Body):
    """A fact: one statement about the entity with this type and name, and `others`; a note is about none.

    `about`: the ids of these entities, for conditions. `version`: 1, and 1 more each time that the fact had
    ended and was stated again. `memory_type`: the one for which it was first memorized. `sources`: ids of the
    resources that state it. `is_direct`: it was also stated without a resource, so it stays when all sources
    are forgotten. `reinforced_count`: 1, and 1 more for each later resource that states it. `follows`: the id
    of the fact stated directly before it. `periods`: the earlier periods in which it was current, oldest
    first; at most the last PERIOD_COUNT_MAX.
    """

    tag = 5
    row_kind = "entity"
    derived = ("time_ms", "touches")
    added = (1,)
    oldest = 4  # older rows have several statements each; umi_live divides them into facts
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
    contradicts: domains.Texts = ()  # refs (id@version) of facts
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
        """The ids of the resources that state it."""
        return self.sources

    def happened_before(self, known: "Entity") -> bool:
        """Return whether this new fact has a time of its own, which is before the time of a known fact.

        For example, a fact of a chat of 2023, imported today, happened before one told yesterday.
        """
        return self.event_time_ms is not None and self.event_time_ms < known.time_ms

    @property
    def names(self) -> str:
        """All names that it is about, as one text for searches and models."""
        return ", ".join((self.name, *self.others))

    def name_and_text(self) -> tuple[str, str]:
        return self.names, self.content


def bad_fact(name: str, value: object) -> Error | None:
    # `is_sound` needs CHECKS, which the end of this file fills; by the time a row is checked, it has run.
    is_fact = isinstance(value, Entity) and value.is_sound
    return None if is_fact else BadOption(name, show_value(value), "a fact whose fields are in their domains")


class Ended(Body):
    """A fact that another one has ended: searches leave it out, `get_entity` and `list` return it.

    `by`: the id of its successor; `how`: the successor updates it or contradicts it.
    """

    tag = 616
    row_kind = "ended"
    derived = ("about", "touches")
    added = (0,)  # version 2: the value of `fact` has more fields
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
        """The ids of the resources that state it."""
        return self.fact.sources

    @property
    def periods(self) -> tuple[Period, ...]:
        """The periods in which the fact was current, including the last one."""
        last = Period(self.fact.time_ms, self.at_ms, self.by, self.how)
        return (*self.fact.periods, last)[-PERIOD_COUNT_MAX:]


def bodies_of(rows: Rows, cls: type[B]) -> list[B]:
    """Return the bodies of this class, in order; damaged rows are left out."""
    return [row.body for row in rows if isinstance(row.body, cls)]


def body_as(row: Row | None, cls: type[B]) -> B | None:
    """Return the body of the row if it is of this class, else None."""
    return row.body if row is not None and isinstance(row.body, cls) else None


@overload
def fact_of(body: Entity | Ended) -> Entity: ...
@overload
def fact_of(body: "Body | None") -> Entity | None: ...
def fact_of(body: "Body | None") -> Entity | None:
    """Return the fact in the body of a row, current or ended; None if the body is of another kind."""
    return body.fact if isinstance(body, Ended) else body if isinstance(body, Entity) else None


def with_fact(body: "Body | None", fact: Entity) -> Body:
    """Return the body with this fact in place of its own."""
    return structs.replace(body, fact=fact) if isinstance(body, Ended) else fact


class Relation(Body):
    """A directed relation between two facts, each as (id, version)."""

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
        """The ids of the facts at its ends."""
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

    `summary_sources`: the facts, with their versions, from which the summary was made. `summary_dirty`: the
    members have changed since. `subcategory_ids`: the groups of the last division. `evolved_digest`: a digest
    of the members at that division; empty if members were added, changed or removed since.
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
    """A fact in a category; `entity_version` is the version of the fact that was linked.

    `subcategory_id`: the group in which it is, if any; `confidence_ppm`: how near it is to the group;
    `keywords_matched`: keywords of the group that occur in its content.
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
    """A group of similar members of a category; its centroid is the vector row under the same id.

    `founder_id`: the member from which its id is made. `named_by`: named by a model or by its keywords.
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
    """The number and times of accesses to a fact, and the other values from which its score is computed."""

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
    """The claim of one incarnation of a memory; the version of this row is the epoch.

    `is_closed`: the agent was deleted, and not opened since. `held_by`: the epoch that the incarnation had
    before this claim, by which it recognises the claim if the answer was lost; 0 at its start.
    """

    tag = 13
    row_kind = "epoch"
    added = (2,)
    claimed_ms: domains.EventTime
    is_closed: domains.Flag = False
    held_by: domains.Count = 0


class Head(Body):
    """The cursor of the fair scan of access records."""

    tag = 14
    row_kind = "head"
    cursor: domains.Word


class Core(Body):
    """The core tier as one row. Every write expects its version, so limits over all blocks hold."""

    tag = 12
    row_kind = "core"
    blocks: domains.Blocks


class Receipt(Body):
    """The record of a commit, by which storage and the memory recognise a repeated one.

    `value`: the value of the reply, one of umi_core.messages.results. `by`: the operation, as epoch and
    number.
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
    """A saved session: the agents that may load it, and a snapshot of the working tier.

    `carries`: the parts that a load gets. `fact_ids`: the last facts of the session, in the archive of the
    agent that saved it; `left_out_count`: the number of facts before these.
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
    fact_ids: domains.Texts = ()
    left_out_count: domains.Count = 0


class Grant(Body):
    """The agents of the user that may read this archive, in order; without any there is no row."""

    tag = 650
    row_kind = "grant"
    readers: domains.Members


class Reflection(Body):
    """A text about the resources of a session that has ended.

    `sources`: the resources, with their row versions, from which it was made; `started_ms`: the time of the
    first. `degraded`: the model failed, and the text is the beginning of the resources. `pending`: the text
    was removed because a resource was forgotten; ending the session again makes a new one.
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
        """The ids of the resources from which it was made."""
        return tuple(key for key, _ in self.sources)

    def name_and_text(self) -> tuple[str, str]:
        return "", self.text


# Versions: a kind of row begins with version 1 (or `oldest`). Each time that fields are added to it, or to a
# value in it, its version rises by 1.


def row_version(cls: type[Body]) -> int:
    return cls.oldest + len(cls.added)


def field_count(cls: type[Body], version: int) -> int:
    return len(cls.__struct_fields__) - sum(cls.added[version - cls.oldest :])


def with_defaults(cls: type[Body]) -> type[Body]:
    """Return the class. Raises Incomplete if a field that older rows lack has no default."""
    # Fields are only added at the end, so all fields after those of the oldest version need a default.
    later_count = len(cls.__struct_fields__) - field_count(cls, cls.oldest)
    if later_count > len(cls.__struct_defaults__):
        name = cls.__struct_fields__[-len(cls.__struct_defaults__) - 1]
        raise Incomplete(f"{cls.__name__}.{name} has no default for older rows: add one in {FILE}")
    return cls


SEARCHED: Final = ("entity", "category", "resource", "reflection")  # kinds of rows that searches can find
ALL: Final = list_declared(globals() | vars(api_rows) | vars(migration_rows), Body)
BODIES: Final[dict[str, type[Body]]] = {cls.row_kind: with_defaults(cls) for cls in ALL}
FIELDS: Final[dict[type, frozenset[str]]] = {  # fields that a condition may name
    cls: frozenset((*cls.__struct_fields__, *cls.derived)) for cls in BODIES.values()
}
CHECKS.update({cls: domains.checks_of(cls) for cls in BODIES.values()})

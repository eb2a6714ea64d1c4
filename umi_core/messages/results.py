"""Values of the replies of operations; working operations reply plain None, bool, int or bytes."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import Count, Domain, EventTime, Score, Turns, VersionNumber, one_of
from umi_core.kelpie.results import Appended, Keyed, RecordDeleted
from umi_core.limits import PPM
from umi_core.rows import Category, Ended, Entity, Membership, Reflection, Relation, Resource, Subcategory
from umi_core.values import RoutingDecision

StoredChange = Annotated[str, Domain("stored_change", one_of("created", "updated", "unchanged", "forgotten"))]
TextChange = Annotated[str, Domain("text_change", one_of("created", "updated", "unchanged"))]
GroupsChange = Annotated[str, Domain("groups_change", one_of("updated", "unchanged"))]
ReflectionChange = Annotated[
    str, Domain("reflection_change", one_of("created", "updated", "unchanged", "removed"))
]
Level = Annotated[str, Domain("level", one_of("categories", "entities", "reflections", "resources"))]
Order = Annotated[str, Domain("order", one_of("vector", "model"))]


class Stored(Data):
    """One fact of a write; `change` is created or unchanged, and forgotten where a text leaves."""

    tag = 75
    id: str
    version: VersionNumber
    change: StoredChange


# Below it a model only suspects a contradiction, and a user who is asked each time stops reading.
NEEDS_RESOLUTION_MIN_PPM: Final = 800_000


def need_resolution(relations: Iterable[Relation]) -> bool:
    """Return whether one of them contradicts, so surely that a user should say which fact is right."""
    return any(it.kind == "contradict" and it.confidence_ppm >= NEEDS_RESOLUTION_MIN_PPM for it in relations)


class Remembered(Data):
    """The result of a remember. `relations` are the new ones.

    `relation_dropped_count`: no room for more. `dropped` are (index in the model's answer, reason).
    `repeated`: the request key was known, nothing was done; reasons of a model are not told again. `ended`:
    the facts that a new one has ended.
    """

    tag = 76
    entities: tuple[Stored, ...]
    relations: tuple[Relation, ...] = ()
    routing: tuple[RoutingDecision, ...] = ()
    promoted: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    # (2, "no_name"): the third element of the model's list had no name.
    dropped: tuple[tuple[int, str], ...] = ()
    relation_dropped_count: Count = 0
    repeated: bool = False
    ended: tuple[str, ...] = ()

    @property
    def needs_resolution(self) -> bool:
        return need_resolution(self.relations)


class RecordAdded(Appended):
    """A record whose text was read for facts. `facts`: the result of a remember of the text."""

    tag = 614
    facts: Remembered = Remembered(())


class RecordForgotten(RecordDeleted):
    """The result of deleting a record. `entities`: the facts that it told; forgotten or unchanged."""

    tag = 615
    entities: tuple[Stored, ...] = ()


class Hit(Data):
    """A fact that a recall found. `contradicts`: refs (`id@version`) of the facts that this one contradicts.

    `time_ms`: when it happened, or since when it is current. `next_id`, `next_content`: the fact that was
    told directly after it, if it is no hit itself. `replaced`: id and content of the facts that it has ended.
    `agent`: in whose archive it is; empty: in one's own.
    """

    tag = 77
    id: str
    version: VersionNumber
    type: str
    name: str
    content: str
    score_ppm: Score
    relevance_ppm: Score
    time_ms: EventTime
    contradicts: tuple[str, ...] = ()
    next_id: str | None = None
    next_content: str = ""
    replaced: tuple[tuple[str, str], ...] = ()
    agent: str = ""


ResolutionOutcome = Literal["disabled", "clear", "no_context", "resolved", "unchanged", "rejected", "failed"]


class Resolution(Data):
    """The outcome of resolving the references of a query.

    `query` is the one that is searched. `terms` stand once each, by first occurrence. `reason` says why a
    rewrite was rejected or failed. `confidence_ppm` is the share of references resolved; None unless
    resolved. `turn_count`: how many turns a model was shown.
    """

    tag = 94
    outcome: ResolutionOutcome
    query: str
    terms: tuple[str, ...] = ()
    reason: str = ""
    confidence_ppm: Score | None = None
    turn_count: Count = 0

    @property
    def certainty_ppm(self) -> int:
        """Return how certain it is that the searched query is what was meant; unresolved references: half."""
        match self.outcome:
            case "clear":
                return PPM
            case "resolved":
                return self.confidence_ppm or 0
            case "unchanged" | "rejected":
                return 0
        # Nothing was resolved, and nothing says that the query is clear: there were no turns, or no answer.
        return PPM // 2


class Recalled(Data):
    """The result of a recall. `variants` are the queries that were searched; `deep_used`: more than one."""

    tag = 93
    hits: tuple[Hit, ...]
    resolution: Resolution
    variants: tuple[str, ...]

    @property
    def deep_used(self) -> bool:
        return len(self.variants) > 1


StopReason = Literal["nothing_asked", "not_needed", "enough", "limit", "levels_max", "exhausted"]


class LevelHit(Data):
    """A row of a level of the archive. `vector_ppm`: how well its vector fits; None if only words found it.

    `text` is the content of an entity, the text of a resource, the summary of a category or what it is about.
    """

    tag = 109
    level: Level
    id: str
    version: VersionNumber
    score_ppm: Score
    vector_ppm: Score | None
    name: str
    text: str


class LevelTried(Data):
    """The result of a level for the query that it was asked; `is_failed`: it could not be searched."""

    tag = 110
    level: Level
    query: str
    found_count: Count
    is_failed: bool = False


class Retrieved(Data):
    """The result of a search of the levels.

    `resolution`: what became of the references of the query; None if nothing was looked up. `asked`: the
    levels that were asked for; `tried`: those that were reached, in that order. `context`: the hits as a text
    for a prompt; `left_out_count` of them have no room in it. `skipped`: levels of which the filter leaves no
    row.
    """

    tag = 108
    query: str
    resolution: Resolution | None
    hits: tuple[LevelHit, ...]
    asked: tuple[str, ...]
    tried: tuple[LevelTried, ...]
    stop_reason: StopReason
    ordered_by: Order
    context: str
    left_out_count: Count = 0
    skipped: tuple[str, ...] = ()

    @property
    def stopped_early(self) -> bool:
        return len(self.tried) < len(self.asked)


class Forgotten(Data):
    """The result of a forget: `existed`, and `repeated` if the request key was known."""

    tag = 78
    existed: bool
    repeated: bool = False


class ResourceForgotten(Data):
    """The result of forgetting a text. `entities`: the facts that it told, forgotten or unchanged, by id."""

    tag = 613
    existed: bool
    entities: tuple[Stored, ...] = ()


Repeatable = Remembered | Forgotten | Keyed  # the replies of requests that have a request key


def as_repeated(value: object) -> Repeatable:
    """Return the value of the first request with this request key, marked as repeated."""
    assert isinstance(value, Repeatable), value
    # The first reply is kept without its texts, so a repeated one lacks reasons of a model.
    return structs.replace(value, repeated=True)


class Memorized(Data):
    """The result of a memorize.

    `change` of the resource is created, updated or unchanged; `entities` in the order in which they were
    found. `pending`: memory types of which some part of the text could not be read; before them `describe`
    if no model could say what an image, an audio or a video holds; behind them `embed` if there is no
    vector to find the text by, or a part of it. `uncovered_count`: sentences of people, in the parts that
    were read, that no fact found there tells, so that they are in the text alone. The rest is as in
    Remembered."""

    tag = 102
    resource_id: str
    change: TextChange
    segment_count: Count = 0
    entities: tuple[Stored, ...] = ()
    pending: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    relation_dropped_count: Count = 0
    ended: tuple[str, ...] = ()
    uncovered_count: Count = 0

    @property
    def needs_resolution(self) -> bool:
        return need_resolution(self.relations)


class Summarised(Data):
    """The summary as it is now, the entities with the versions that it was made of, and whether there are
    others."""

    tag = 105
    summary: str
    sources: tuple[tuple[str, int], ...] = ()
    is_dirty: bool = False


class Group(Data):
    """A subcategory, and how many members are in it."""

    tag = 162
    id: str
    name: str
    keywords: tuple[str, ...]
    member_count: Count


class Evolved(Data):
    """The result of a division: the groups, the largest first, and how many facts are in none.

    `change`: updated or unchanged.
    """

    tag = 163
    change: GroupsChange
    groups: tuple[Group, ...] = ()
    unassigned_count: Count = 0


class Reflected(Data):
    """The reflection of a session as it is now; without an id there is none, since nothing was told in it.

    `change` is created, updated, unchanged or removed. `sources`: the resources, with the versions of their
    rows, that it was made of. `is_degraded`: their beginning stands for what a model would have said.
    """

    tag = 182
    reflection_id: str | None
    change: ReflectionChange
    text: str = ""
    sources: tuple[tuple[str, int], ...] = ()
    is_degraded: bool = False


ListedRow = Entity | Ended | Resource | Category | Membership | Subcategory | Reflection


class Listed(Data):
    """A page of rows. `cursor`: where the next one begins; None behind the last one.

    `damaged`: ids of rows that cannot be read.
    """

    tag = 103
    rows: tuple[ListedRow, ...]
    cursor: str | None = None
    damaged: tuple[str, ...] = ()


class BlockSet(Data):
    """The result of writing a block: facts that core no longer shows, to make room for the text."""

    tag = 79
    evicted: tuple[str, ...] = ()


class BlockRemoved(Data):
    """The text that a block had, and the facts that core no longer shows."""

    tag = 80
    text: str | None
    evicted: tuple[str, ...] = ()


class SessionCreated(Data):
    """The id of a new session, and how many keys were dropped for it."""

    tag = 81
    session_id: str
    started_ms: EventTime
    dropped_count: Count = 0


class SessionSaved(Data):
    """The session that was saved, with the version of its row.

    `left_out_count`: how many of its facts were told too long ago for this save to carry them, too.
    """

    tag = 82
    session_id: str
    version: VersionNumber
    saved_ms: EventTime
    left_out_count: Count = 0


class SessionLoaded(Data):
    """The version of the row, and how many keys had expired since it was saved.

    `turns`: the last messages of the session, if it carries them, the oldest first. `facts`: what became of
    the facts that it carries to this agent; `left_out_count`: how many of those that it names were not told,
    as they are current no more where they were told, or as there is no room.
    """

    tag = 83
    version: VersionNumber
    expired_at_rest: Count
    turns: Turns = ()
    facts: Remembered | None = None
    left_out_count: Count = 0


class ArchiveShared(Data):
    """The agents of the user that may read the archive from now on, in order."""

    tag = 653
    agents: tuple[str, ...]


class Rebalanced(Data):
    """The result of a rebalance; `cursor` is empty when the scan reached the end."""

    tag = 84
    promoted: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    cursor: str = ""
    scanned_count: Count = 0


# What a receipt holds of a reply.

Reasoned = TypeVar("Reasoned", Relation, RoutingDecision)

# Without their texts, since a receipt stays for a day: a fact that is forgotten within it must not be read in
# the summary of its category, or in the text of a block, that a receipt holds.
TEXT_FIELDS: Final[Mapping[type, tuple[str, str | None]]] = {
    BlockRemoved: ("text", None), Summarised: ("summary", ""), Reflected: ("text", ""),
}  # fmt: skip
"""By class, the field with a text of the memory, and what stands there instead in a receipt."""


def without_text(value: object) -> object:
    """Return the reply as a receipt holds it, which may outlive by a day what its texts tell of."""
    match value:
        case RecordAdded():
            return structs.replace(value, facts=without_reasons(value.facts))
        case Remembered():
            return without_reasons(value)
        case Memorized():
            return structs.replace(value, relations=bare(value.relations))
    name, blank = TEXT_FIELDS.get(type(value), ("", None))
    return replace_field(value, name, blank) if name else value


def replace_field(value: Any, name: str, part: object) -> object:
    changed: object = structs.replace(value, **{name: part})
    return changed


def without_reasons(value: Remembered) -> Remembered:
    return structs.replace(value, relations=bare(value.relations), routing=bare(value.routing))


def bare(reasoned: tuple[Reasoned, ...]) -> tuple[Reasoned, ...]:
    return tuple(structs.replace(it, reason="") for it in reasoned)


def with_text(value: object, own: object) -> object:
    """Return the reply of a receipt with the text that this plan knows, if they are of one class.

    Reasons are known only if all else is as this plan says.
    """
    # The receipt is of this very plan, or of one that would say the same: then its texts are the same, too.
    if without_text(own) == value:
        return own
    name, _ = TEXT_FIELDS.get(type(value), ("", None))
    # The reply of an earlier plan, with the text of this one: both were made for one request.
    is_known = name and type(own) is type(value)
    return replace_field(value, name, getattr(own, name)) if is_known else value

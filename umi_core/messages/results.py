"""Results of operations, as replies hold them; working requests return plain None, bool, int or bytes."""

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
    """One fact that a request wrote; `change` is `forgotten` if the fact was removed with its last source."""

    tag = 75
    id: str
    version: VersionNumber
    change: StoredChange


# Below this confidence a contradiction is only a suspicion; users who are asked too often stop reading.
NEEDS_RESOLUTION_MIN_PPM: Final = 800_000


def need_resolution(relations: Iterable[Relation]) -> bool:
    """Return whether a contradiction is so certain that a user should decide which fact is right."""
    return any(it.kind == "contradict" and it.confidence_ppm >= NEEDS_RESOLUTION_MIN_PPM for it in relations)


class Remembered(Data):
    """The result of a remember. `relations` are the new ones.

    `relation_dropped_count`: relations for which there was no room. `dropped`: elements of the model's answer
    that were left out, as (index, reason). `repeated`: the request key was known and nothing was done; the
    reply then lacks the model's reasons. `ended`: the facts that new ones have ended.
    """

    tag = 76
    entities: tuple[Stored, ...]
    relations: tuple[Relation, ...] = ()
    routing: tuple[RoutingDecision, ...] = ()
    promoted: tuple[str, ...] = ()
    evicted: tuple[str, ...] = ()
    # (2, "no_name") means that the third element of the model's list had no name.
    dropped: tuple[tuple[int, str], ...] = ()
    relation_dropped_count: Count = 0
    repeated: bool = False
    ended: tuple[str, ...] = ()

    @property
    def needs_resolution(self) -> bool:
        return need_resolution(self.relations)


class RecordAdded(Appended):
    """The result of adding a record with extraction. `facts`: as for a remember of its text."""

    tag = 614
    facts: Remembered = Remembered(())


class RecordForgotten(RecordDeleted):
    """The result of deleting a record. `entities`: the facts that it stated, forgotten or unchanged."""

    tag = 615
    entities: tuple[Stored, ...] = ()


class Hit(Data):
    """A fact that a recall found. `contradicts`: references (`id@version`) to facts that it contradicts.

    `time_ms`: when it happened, or since when it is current. `next_id`, `next_content`: the fact stated
    directly after it, if that is not a hit itself. `replaced`: id and content of the facts that it has ended.
    `agent`: the agent in whose archive it is; empty for the searching agent.
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

    `query` is the query that is searched. `terms` are its distinct references, by first occurrence. `reason`
    says why a rewrite was rejected or failed. `confidence_ppm`: the share of references that were resolved;
    None unless the outcome is `resolved`. `turn_count`: the number of turns shown to a model.
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
        """Return how certain it is that the searched query means what the user meant."""
        match self.outcome:
            case "clear":
                return PPM
            case "resolved":
                return self.confidence_ppm or 0
            case "unchanged" | "rejected":
                return 0
        # It is open whether the query has references: resolving was disabled, impossible or failed.
        return PPM // 2


class Recalled(Data):
    """The result of a recall. `variants`: the queries that were searched; `deep_used`: more than one was."""

    tag = 93
    hits: tuple[Hit, ...]
    resolution: Resolution
    variants: tuple[str, ...]

    @property
    def deep_used(self) -> bool:
        return len(self.variants) > 1


StopReason = Literal["nothing_asked", "not_needed", "enough", "limit", "levels_max", "exhausted"]


class LevelHit(Data):
    """A row of a level of the archive. `vector_ppm`: its vector relevance; None if only words found it.

    `text` is the content of an entity, the text of a resource, or the summary or description of a category.
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
    """The result of searching one level for `query`; `is_failed`: the level could not be searched."""

    tag = 110
    level: Level
    query: str
    found_count: Count
    is_failed: bool = False


class Retrieved(Data):
    """The result of a search of the levels.

    `resolution`: the outcome of resolving references; None if nothing was searched. `asked`: the requested
    levels; `tried`: those that were searched, in order. `context`: the hits as a text for a prompt, without
    the `left_out_count` hits that did not fit. `skipped`: levels in which no row can meet the filter.
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
    """The result of forgetting a text. `entities`: its facts, by id, each forgotten or unchanged."""

    tag = 613
    existed: bool
    entities: tuple[Stored, ...] = ()


Repeatable = Remembered | Forgotten | Keyed  # the replies of requests that have a request key


def as_repeated(value: object) -> Repeatable:
    """Return the value of the first request with this request key, marked as repeated."""
    assert isinstance(value, Repeatable), value
    # The receipt holds the first reply without its texts, so a repeated one lacks reasons of a model.
    return structs.replace(value, repeated=True)


class Memorized(Data):
    """The result of a memorize.

    `change` is that of the resource; `entities` are in the order in which they were found. `pending`: memory
    types for which some part of the text could not be read; before them `describe` if no model could describe
    an image, an audio or a video; after them `embed` if the text or a part of it has no vector.
    `uncovered_count`: sentences of people, in the parts that were read, that no fact covers, so that only the
    text itself holds them. The rest is as in Remembered."""

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
    """The current summary, the entities and versions from which it was made, and whether these have changed
    since (`is_dirty`)."""

    tag = 105
    summary: str
    sources: tuple[tuple[str, int], ...] = ()
    is_dirty: bool = False


class Group(Data):
    """A subcategory and the number of its members."""

    tag = 162
    id: str
    name: str
    keywords: tuple[str, ...]
    member_count: Count


class Evolved(Data):
    """The result of a division: the groups, the largest first, and the number of facts in no group.

    `change`: `updated` or `unchanged`.
    """

    tag = 163
    change: GroupsChange
    groups: tuple[Group, ...] = ()
    unassigned_count: Count = 0


class Reflected(Data):
    """The current reflection of a session; its id is None if the session has no texts.

    `change` is created, updated, unchanged or removed. `sources`: the resources from which it was made, with
    the versions of their rows. `is_degraded`: no model answered, so the reflection is the beginning of these.
    """

    tag = 182
    reflection_id: str | None
    change: ReflectionChange
    text: str = ""
    sources: tuple[tuple[str, int], ...] = ()
    is_degraded: bool = False


ListedRow = Entity | Ended | Resource | Category | Membership | Subcategory | Reflection


class Listed(Data):
    """A page of rows. `cursor`: the start of the next page; None after the last one.

    `damaged`: ids of rows that cannot be read.
    """

    tag = 103
    rows: tuple[ListedRow, ...]
    cursor: str | None = None
    damaged: tuple[str, ...] = ()


class BlockSet(Data):
    """The result of writing a block. `evicted`: facts that left core to make room for the text."""

    tag = 79
    evicted: tuple[str, ...] = ()


class BlockRemoved(Data):
    """The text of the removed block, and the facts that left core with it."""

    tag = 80
    text: str | None
    evicted: tuple[str, ...] = ()


class SessionCreated(Data):
    """The id of a new session, and the number of keys of the previous session that were dropped."""

    tag = 81
    session_id: str
    started_ms: EventTime
    dropped_count: Count = 0


class SessionSaved(Data):
    """The session that was saved, with the version of its row.

    `left_out_count`: the number of older facts of the session that did not fit into this save.
    """

    tag = 82
    session_id: str
    version: VersionNumber
    saved_ms: EventTime
    left_out_count: Count = 0


class SessionLoaded(Data):
    """The version of the session's row, and the number of keys that expired since it was saved.

    `turns`: the last messages of the session, if it carries them, the oldest first. `facts`: the result of
    storing the facts that it carries to this agent; `left_out_count`: facts that were not stored, because
    they are no longer current in the archive they come from, damaged there, or for lack of room.
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


# The part of a reply that a receipt holds.

Reasoned = TypeVar("Reasoned", Relation, RoutingDecision)

# Texts are left out because a receipt is kept for a day: if a fact is forgotten meanwhile, it must not
# survive in a summary or the text of a block that a receipt holds.
TEXT_FIELDS: Final[Mapping[type, tuple[str, str | None]]] = {
    BlockRemoved: ("text", None), Summarised: ("summary", ""), Reflected: ("text", ""),
}  # fmt: skip
"""By class, the field with text, and the value that replaces it in a receipt."""


def without_text(value: object) -> object:
    """Return the reply without its texts, as a receipt holds it."""
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
    """Return the reply `value` of a receipt, with the texts of this plan's reply `own` restored.

    Reasons of a model are restored only if everything else in both replies is equal.
    """
    # The receipt is of this plan, or of one with an equal reply, so its texts are the same too.
    if without_text(own) == value:
        return own
    name, _ = TEXT_FIELDS.get(type(value), ("", None))
    # The reply is of an earlier plan; it gets the text of this one, since both serve the same request.
    is_known = name and type(own) is type(value)
    return replace_field(value, name, getattr(own, name)) if is_known else value

"""Requests that users send to a memory; those of an agent server are in kelpie/requests.py.

Each request is declared by one class: its fields, each with the domain of its values, its tag in the codec,
and for an operation the workflow that serves it. In addition it has a handler: in tiers/working.py for a
request of the working tier, in core_reads.py for a read of core; a workflow serves any other request. If a
handler is missing, importing the modules raises an error that names it.

Every request carries `op_id`, a label of the caller; it comes back with the reply and is never compared.
Fields hold what the caller gave, valid or not: the memory checks them against their domains, in the order of
the fields, and refuses the request with a typed error.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final, TypeGuard, get_args

from umi_core import domains
from umi_core.conditions import Filter, RowFilter
from umi_core.conversations import conversation, find_unreadable, list_positions
from umi_core.data import Data, types_of
from umi_core.declared import list_declared
from umi_core.errors import BlockTooLarge, EmptyText, Error, TooManyMembers, UnreadableMessages
from umi_core.kelpie import requests as api_requests
from umi_core.kelpie.domains import Author
from umi_core.limits import BLOCK_BYTES_MAX, SESSION_MEMBER_COUNT_MAX
from umi_core.messages.request import CoreRead as CoreRead
from umi_core.messages.request import Request as Request
from umi_core.messages.request import WorkflowRequest as WorkflowRequest
from umi_core.migration import requests as migration_requests
from umi_core.text import line_ends, size, tidy
from umi_core.values import LEVELS

FILE: Final = "umi_core/messages/requests.py"
ALL_LEVELS: Final = tuple(LEVELS)
LEVEL_COUNT: Final = len(LEVELS)


# Working tier: these requests are answered in the step that brings them.


class WorkingRequest(Request):
    """A request of the working tier, answered in the step that brings it."""


class Set(WorkingRequest):
    """Store bytes under a key for `ttl_ms`, or for the default time to live of the settings."""

    tag = 40
    stores = True
    key: domains.StoredKey
    value: domains.Value
    ttl_ms: domains.Ttl | None = None


class Get(WorkingRequest):
    """Return the value of a key; None if there is none, or if it has expired."""

    tag = 41
    shows = True
    key: domains.Key


class Exists(WorkingRequest):
    """Return whether a key has a value."""

    tag = 42
    shows = True
    key: domains.Key


class Delete(WorkingRequest):
    """Delete a key, and return whether it existed."""

    tag = 43
    key: domains.StoredKey


class Incr(WorkingRequest):
    """Add to the number under a key, 0 if there is none, and return the sum."""

    tag = 44
    stores = True
    key: domains.StoredKey
    delta: domains.Delta = 1


class Append(WorkingRequest):
    """Add bytes to the end of the value of a key."""

    tag = 45
    stores = True
    key: domains.StoredKey
    value: domains.Value


class Touch(WorkingRequest):
    """Extend the time to live of a key to the default, counted from now."""

    tag = 46
    key: domains.StoredKey


class Sweep(WorkingRequest):
    """Return how many keys have expired since the last sweep."""

    tag = 47


class Clear(WorkingRequest):
    """Delete all keys, and return how many there were."""

    tag = 48


class Len(WorkingRequest):
    """Return how many keys there are."""

    tag = 49


class Bytes(WorkingRequest):
    """Return how many bytes all keys and values take."""

    tag = 50


# Reads of the core tier: answered immediately once recovery is done.


class GetBlock(CoreRead):
    """Return a block of core, or None."""

    tag = 51
    shows = True
    kind: domains.BlockKind
    label: domains.BlockLabel = ""


class Blocks(CoreRead):
    """Return all blocks of core, in their order."""

    tag = 52
    shows = True


class CoreBytes(CoreRead):
    """Return how many bytes core takes."""

    tag = 53


class InCore(CoreRead):
    """Return whether core contains a fact."""

    tag = 54
    shows = True
    entity_id: domains.EntityId


class Render(CoreRead):
    """Return core as a text for a prompt, `xml` or `markdown`."""

    tag = 55
    shows = True
    form: domains.Form = "xml"


class LastRoutingDecisions(CoreRead):
    """Return the block chosen for each fact of the last remember, with the reason."""

    tag = 56


# Operations: each is served by the workflow that it names.


class SetBlock(WorkflowRequest):
    """Write the text of a block of core; a model may not write the system block."""

    tag = 57
    workflow = "write_block"
    stores = True
    kind: domains.BlockKind
    text: domains.BlockText
    label: domains.BlockLabel = ""
    importance_ppm: domains.Importance | None = None
    author: Author = "model"

    def contradiction(self) -> Error | None:
        """Check that text and label together fit into their block."""
        # Sizes are those in core, where "a\r\nb" has three bytes.
        size_bytes = size(tidy(self.label)) + size(line_ends(self.text))
        return BlockTooLarge(size_bytes, BLOCK_BYTES_MAX) if size_bytes > BLOCK_BYTES_MAX else None


class SetImportance(WorkflowRequest):
    """Change the importance of a block."""

    tag = 58
    workflow = "write_block"
    kind: domains.BlockKind
    importance_ppm: domains.Importance
    label: domains.BlockLabel = ""
    author: Author = "model"


class RemoveBlock(WorkflowRequest):
    """Remove a block and the entries in it; the facts themselves stay in the archive."""

    tag = 59
    workflow = "write_block"
    kind: domains.BlockKind
    label: domains.BlockLabel = ""
    author: Author = "model"


class CreateSession(WorkflowRequest):
    """Begin a session without keys; `members`: agents of the user that may load it."""

    tag = 60
    workflow = "create_session"
    stores = True
    members: domains.Members = ()


class SaveSession(WorkflowRequest):
    """Save the session; `hand_to`: further agents that may load it, `carries`: what they receive."""

    tag = 61
    workflow = "save_session"
    hand_to: domains.Members = ()
    carries: domains.Carries = ("keys",)


class LoadSession(WorkflowRequest):
    """Replace the current session by a saved one; facts that it carries are stored for this agent too."""

    tag = 62
    workflow = "load_session"
    evolve: ClassVar[bool] = True
    embed: ClassVar[bool] = True
    session_id: domains.SessionId


def too_many(agents: tuple[str, ...]) -> Error | None:
    """Return an error if a request names more agents than SESSION_MEMBER_COUNT_MAX."""
    count = len(dict.fromkeys(agents))
    return TooManyMembers(count, SESSION_MEMBER_COUNT_MAX) if count > SESSION_MEMBER_COUNT_MAX else None


class ShareArchive(WorkflowRequest):
    """Allow these agents of the user, and no others, to read this agent's archive; None changes nothing."""

    tag = 652
    workflow = "share_archive"
    is_common = False
    agents: domains.Readers | None = None

    def contradiction(self) -> Error | None:
        """Check the number of agents."""
        return too_many(self.agents or ())


class Remember(WorkflowRequest):
    """Store each statement of a text as a fact, and end the facts that these replace."""

    tag = 63
    workflow = "remember"
    stores = True
    text: domains.Text
    extract: domains.Flag = True
    evolve: domains.Flag = True
    embed: domains.Flag = True
    importance_ppm: domains.Importance | None = None
    event_time_ms: domains.EventTime | None = None
    metadata: domains.Metadata = ()
    source: domains.Source | None = None
    request_key: domains.RequestKey | None = None
    speaker: domains.Speaker | None = None


class Recall(WorkflowRequest):
    """Search the facts that match a query, the best first.

    `force`: ask a model to resolve references even if the query seems to have none. `where`: conditions that
    each hit meets. `shared`: agents of the user whose archives are searched besides this agent's own; each
    must have allowed it. `speaker`: the person who says "I" in the query.
    """

    tag = 64
    workflow = "recall"
    shows = True
    query: domains.Query
    limit: domains.Limit | None = None
    deep: domains.Deep | None = None
    time_range: domains.TimeRange | None = None
    types: domains.Types | None = None
    turns: domains.Turns = ()
    resolve: domains.Flag = True
    min_score_ppm: domains.Score | None = None
    force: domains.Wish = False
    where: RowFilter = ()
    shared: domains.SharedBy = ()
    speaker: domains.Asker | None = None

    def contradiction(self) -> Error | None:
        """Check the number of agents."""
        return too_many(self.shared)


class Forget(WorkflowRequest):
    """Remove a fact, current or ended, with everything that belongs to it."""

    tag = 65
    workflow = "forget"
    entity_id: domains.EntityId
    request_key: domains.RequestKey | None = None


class GetEntity(WorkflowRequest):
    """Return a fact, or its row if it has ended, or None."""

    tag = 66
    workflow = "get_entity"
    shows = True
    entity_id: domains.EntityId


class Count(WorkflowRequest):
    """Return the number of current facts, of all types or of the given ones."""

    tag = 67
    workflow = "count"
    shows = True
    types: domains.Types | None = None


class Rebalance(WorkflowRequest):
    """Choose again which facts are in core, and embed facts that have no vector."""

    tag = 68
    workflow = "rebalance"


class Memorize(WorkflowRequest):
    """Store a text as given, and the facts in it by category.

    `memory_types`: the types of facts to extract; by default TYPES_DEFAULT. `text`: for an image, an audio or
    a video, what the model is shown of it. `session_id`: the session to which the text belongs."""

    tag = 100
    workflow = "memorize"
    stores = True
    text: domains.Document
    modality: domains.Modality = "text"
    uri: domains.Uri | None = None
    memory_types: domains.MemoryTypes | None = None
    happened_ms: domains.EventTime | None = None
    session_id: domains.ToldIn | None = None

    def contradiction(self) -> Error | None:
        """Check that each message of a conversation has readable text."""
        if self.modality != "conversation":
            return None
        # Checked before anything is stored: leaving out a message later would lose it without an error.
        positions, total = find_unreadable(self.text)
        if positions:
            return UnreadableMessages(len(positions), total, list_positions(positions))
        # "[]" is not blank, but as a conversation without messages it has nothing to memorize.
        return None if conversation(self.text).strip() else EmptyText()


class List(WorkflowRequest):
    """Return a page of the rows of a kind, by ascending id, after the cursor of the previous page.

    `where`: conditions that each row meets; a row without such a field never meets them.
    """

    tag = 101
    workflow = "list"
    shows = True
    kind: domains.ListedKind
    limit: domains.Limit | None = None
    cursor: domains.Cursor | None = None
    where: RowFilter = ()


class Summarise(WorkflowRequest):
    """Summarise a category again, unless its summary was made from its current members."""

    tag = 104
    workflow = "summarise"
    stores = True
    category: domains.CategoryName


class EvolveCategory(WorkflowRequest):
    """Divide the members of a category into groups, unless they have not changed since the last division.

    `force`: divide them in any case, as if there were no groups yet.
    """

    tag = 161
    workflow = "evolve_category"
    stores = True
    category: domains.CategoryName
    force: domains.Wish = False


class Retrieve(WorkflowRequest):
    """Search the levels of the archive, from summaries to sources, until the hits suffice.

    `route_intention`: a model first decides whether the query needs the memory at all. `enough`: whether
    scores or a model decide that hits suffice; by scores, `min_results` hits of `min_avg_ppm` on average do.
    `levels` are searched in a fixed order, at most `levels_max` of them; a limit of 0 searches nothing.
    `rank`: whether scores or a model order the hits of a level. `where`: conditions that each hit meets; a
    level whose rows lack one of these fields is skipped. `force`: as in `Recall`.
    """

    tag = 106
    workflow = "retrieve"
    shows = True
    query: domains.Query
    turns: domains.Turns = ()
    route_intention: domains.Flag = True
    resolve: domains.Flag = True
    enough: domains.Sufficiency = "model"
    rank: domains.Ranker = "vector"
    levels: domains.Levels = ALL_LEVELS
    levels_max: domains.LevelCount = LEVEL_COUNT
    limit_per_level: domains.HitCount = 5
    total_limit: domains.HitCount = 20
    min_score_ppm: domains.LevelScore = 600_000
    min_results: domains.Least = 3
    min_avg_ppm: domains.LevelScore = 800_000
    where: Filter = ()
    force: domains.Wish = False


class Search(WorkflowRequest):
    """Search the levels until the scores suffice; by default a model only resolves references.

    Its fields are those of `Retrieve`; saved memories and recordings rely on their order here.
    """

    tag = 107
    workflow = "retrieve"
    shows = True
    query: domains.Query
    turns: domains.Turns = ()
    resolve: domains.Flag = True
    rank: domains.Ranker = "vector"
    levels: domains.Levels = ALL_LEVELS
    levels_max: domains.LevelCount = LEVEL_COUNT
    total_limit: domains.HitCount = 20
    min_score_ppm: domains.LevelScore = 600_000
    min_results: domains.Least = 3
    min_avg_ppm: domains.LevelScore = 800_000
    where: Filter = ()
    force: domains.Wish = False
    route_intention: domains.Flag = False
    enough: domains.Sufficiency = "score"
    limit_per_level: domains.HitCount = 10


Descent = Retrieve | Search


# Single facts as given by the caller: no model is asked.


class CreateEntity(WorkflowRequest):
    """Store a fact without a name in the given categories, or in the category of its memory type."""

    tag = 200
    workflow = "create_entity"
    stores = True
    content: domains.FactText
    memory_type: domains.MemoryType
    categories: domains.CategoryNames | None = None


class UpdateEntity(WorkflowRequest):
    """Change the content or the categories of an entity; None leaves a field unchanged."""

    tag = 631
    workflow = "update_entity"
    stores = True
    entity_id: domains.EntityId
    content: domains.NewFactText | None = None
    categories: domains.NewCategories | None = None


# The end of a session, and of a text.


ResourceId = Annotated[str, domains.Domain("resource_id", domains.bad_row_id)]


class EndSession(WorkflowRequest):
    """End a session and make a reflection from its texts. The session can be loaded and ended again."""

    tag = 183
    workflow = "reflect"
    stores = True
    session_id: domains.EndedSession


class ForgetResource(WorkflowRequest):
    """Remove a memorized text, with its segments and the facts that no other text states."""

    tag = 612
    workflow = "forget_resource"
    is_common = False
    resource_id: ResourceId


# Tables derived from the classes.


def request_name(request_type: type) -> str:
    """Return the name used in scenarios, seed files and reports: `set_block` for `SetBlock`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", request_type.__name__).lower()


ALL: Final = list_declared(globals() | vars(api_requests) | vars(migration_requests), Request)
REQUESTS: Final[dict[str, type[Request]]] = {request_name(cls): cls for cls in ALL}
COMMON: Final = {name: cls for name, cls in REQUESTS.items() if cls.is_common}
OF_MEMORY: Final = {name: cls for name, cls in REQUESTS.items() if cls.served_by == "memory"}
WORKING: Final = frozenset(cls for cls in ALL if issubclass(cls, WorkingRequest))


def is_working(value: object) -> TypeGuard[WorkingRequest]:
    """Check the class with a single lookup, since callers check at every step."""
    return value.__class__ in WORKING


def bad_request(request: Request) -> Error | None:
    """Return the first error of a request: of each field, in order, then of the fields together."""
    # Fields are checked first, since `contradiction` assumes that each of them is valid.
    return domains.bad_fields(request, CHECKS[request.__class__]) or request.contradiction()


# Built once, because reading the types of the fields for each request would cost more than the checks.
CHECKS: Final[dict[type, domains.Checks]] = {cls: domains.checks_of(cls) for cls in ALL}


# Arguments: the fields that a caller fills in, for programs that generate and parse requests.


class Argument(Data):
    """A field of a request other than `op_id`."""

    name: str
    domain: str
    type: Any  # the plain type without the domain; for an optional field a union with None
    is_required: bool

    @property
    def may_be_none(self) -> bool:
        return type(None) in get_args(self.type)


def list_arguments(cls: type[Request]) -> Iterator[Argument]:
    required_count = len(cls.__struct_fields__) - len(cls.__struct_defaults__)
    for at, (name, kind) in enumerate(types_of(cls).items()):
        if name != "op_id":
            yield Argument(name, domains.domain_of(kind).name, domains.plain_type(kind), at < required_count)


ARGUMENTS: Final = {cls: tuple(list_arguments(cls)) for cls in ALL}


def arguments_of(cls: type[Request]) -> tuple[Argument, ...]:
    """Return the fields that a caller fills in, in order."""
    return ARGUMENTS[cls]

"""Effects: all that a memory can ask for, in four kinds of questions, and the reply to its caller.

Law 1. The set is closed. Law 2. Each effect except Reply takes exactly one answer, matched by `request_id`;
every further answer is late and changes nothing. Law 3. `request_id` grows and is never reused.
"""

from typing import ClassVar, Final, Literal, get_args

from msgspec import structs

from umi_core.conditions import Where
from umi_core.data import Data
from umi_core.errors import Error
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.rows import Address, Body
from umi_core.values import Scope

FailureKind = Literal[
    "timeout",  # no answer came in time
    "unavailable",  # no valid answer to this question; also any failure kind that the question cannot have
    "rate_limited",  # may be retried after `retry_after_ms`
    "refused",  # the service or an interceptor refuses it
    "too_long",  # the input is longer than the model or embedder accepts
    "full",  # storage has no room
    "conflict",  # an expected row has another version: `changed` names such rows
    "unknown",  # a batch may be durable, or become so
    "unusable",  # an answer came, but the step cannot use it
    "damaged",  # a row that was read is damaged, and the step does not accept damaged rows of its kind
]


MAIN: Final = "main"  # the store of a question that names no other


# Queries.


class ByIds(Data):
    """Rows of these addresses, in this order, without absent ones."""

    tag = 20
    addresses: tuple[Address, ...]


class ByFilter(Data):
    """Rows by ascending (kind, id) after `cursor`: at most `limit` of them, and a cursor if there are more.

    With limit None the engine reads all pages, and the step that asked gets all rows as one answer.
    """

    tag = 22
    scope: Scope
    kinds: tuple[str, ...]
    where: Where = ()
    limit: int | None = None
    cursor: str | None = None


class CountRows(Data):
    """The number of rows that meet all conditions."""

    tag = 23
    scope: Scope
    kinds: tuple[str, ...]
    where: Where = ()


class ByVector(Data):
    """Rows of one kind by vector relevance, ordered by (score descending, id)."""

    tag = 24
    scope: Scope
    vector: tuple[int, ...]
    where: Where
    limit: int
    min_score_ppm: int
    kind: str = "entity"


class ByWords(Data):
    """Rows of one kind by word relevance, ordered by (score descending, id)."""

    tag = 25
    scope: Scope
    text: str
    where: Where
    limit: int
    min_score_ppm: int
    kind: str = "entity"


Query = ByIds | ByFilter | CountRows | ByVector | ByWords


# Writes of a commit.


class Write(Data):
    """Put a row, or delete it (body None). Deleting an absent row changes nothing."""

    tag = 26
    address: Address
    body: Body | None


class Expect(Data):
    """The row version from which a commit was planned; 0 means absent."""

    tag = 27
    address: Address
    version: int


# Effects. Steps build them with request_id 0 and timeout_ms 0; the engine fills both in.


COMMON_FAILURES: Final = ("timeout", "unavailable", "rate_limited", "refused")


class Question(Data):
    """A question from a memory to a service. Each kind is declared by one class and nothing else.

    `word`: its name in hooks, tables and traces. `service`: the service that answers it. `verb`: the name of
    the call there. `failures`: its possible failures; any other counts as `unavailable`, or of a commit as
    `unknown`.
    """

    tag: ClassVar[int]
    word: ClassVar[str]
    service: ClassVar[str]
    verb: ClassVar[str]
    failures: ClassVar[tuple[str, ...]]


class AskModel(Question):
    """Ask a model; answered by `ModelReplied`. `task` names the purpose of the prompt."""

    tag = 28
    word, service, verb = "model", "model", "ask"
    failures = (*COMMON_FAILURES, "too_long")
    task: str
    prompt: str
    profile: str = "default"
    request_id: int = 0
    timeout_ms: int = 0


class Embed(Question):
    """Ask for a vector of each text; answered by `Embedded`."""

    tag = 29
    word, service, verb = "embed", "embedder", "embed"
    failures = (*COMMON_FAILURES, "too_long")
    texts: tuple[str, ...]
    profile: str = "default"
    request_id: int = 0
    timeout_ms: int = 0


class Read(Question):
    """Ask storage for rows; answered by `ReadDone`."""

    tag = 30
    word, service, verb = "read", "storage", "read"
    failures = COMMON_FAILURES
    query: Query
    store: str = MAIN
    request_id: int = 0
    timeout_ms: int = 0


class Commit(Question):
    """One atomic batch: all expects hold and all writes happen at one instant, or nothing changes.

    `key` makes it idempotent: a commit with a known key changes nothing and gets the answer of the first one.
    An empty key is never known. If a step gives no key, the engine adds one for all attempts and plans.
    """

    tag = 31
    word, service, verb = "commit", "storage", "commit"
    failures = (*COMMON_FAILURES, "full", "conflict", "unknown")
    writes: tuple[Write, ...]
    expects: tuple[Expect, ...] = ()
    key: str = ""
    store: str = MAIN
    request_id: int = 0
    timeout_ms: int = 0


Asked = AskModel | Embed | Read | Commit


def filled_in(asked: Asked, request_id: int, timeout_ms: int, profile: str, key: str) -> Asked:
    """Fill in the parts that steps leave open: request_id, timeout, profile, key, size of a page."""
    if isinstance(asked, AskModel | Embed):
        return structs.replace(asked, request_id=request_id, timeout_ms=timeout_ms, profile=profile)
    if isinstance(asked, Commit):
        return structs.replace(asked, request_id=request_id, timeout_ms=timeout_ms, key=asked.key or key)
    query = asked.query
    if isinstance(query, ByFilter) and query.limit is None:
        # A read of all rows is sent page by page; the question kept in the operation still has limit None, by
        # which `following_page` recognises such a read.
        query = structs.replace(query, limit=PAGE_ROW_COUNT_MAX)
    return Read(query, asked.store, request_id, timeout_ms)


# Outcomes and the reply.


class Degraded(Data):
    """One degradation of an operation: `step:substitute`, its reason, and how often it happened."""

    tag = 32
    name: str
    reason: str
    count: int = 1


class Done(Data):
    """The request is done, and its changes are durable; `degraded` lists what was done with substitutes."""

    tag = 33
    value: object = None
    degraded: tuple[Degraded, ...] = ()


class Refused(Data):
    """The request was refused by the caller's fault; nothing changed."""

    tag = 34
    error: Error


class Failed(Data):
    """The request failed without fault of the caller; nothing changed."""

    tag = 35
    error: Error


class Unknown(Data):
    """The outcome of a commit is unknown: it may or may not have happened."""

    tag = 36


Outcome = Done | Refused | Failed | Unknown
OpId = int | str


class ModelCall(Data):
    """One attempt of AskModel or Embed. Times are the memory's; answered_ms is None if no answer came."""

    tag = 37
    workflow: str
    revision: int
    step: str
    unit: int
    attempt: int
    request_id: int
    operation: str
    profile: str
    asked_ms: int
    answered_ms: int | None
    outcome: str
    # A hash and sizes identify equal prompts without revealing any text of a user.
    prompt_hash: str
    prompt_bytes: int
    reply_bytes: int
    texts_count: int


class HookNote(Data):
    """An act of an interceptor other than passing: it `refused`, `substituted` or failed.

    For a failed hook, `what` is the class of the exception, or `bad_result`. A failure at `after` implies
    that the step or effect had succeeded.
    """

    tag = 38
    name: str
    hook: str
    what: str
    step: str


class Reply(Data):
    """The outcome of a request for its caller, with the calls of models and the acts of interceptors."""

    tag = 39
    op_id: OpId
    outcome: Outcome
    calls: tuple[ModelCall, ...] = ()
    hooks: tuple[HookNote, ...] = ()


Effect = AskModel | Embed | Read | Commit | Reply
EFFECT_NAMES: Final[dict[type[Asked], str]] = {cls: cls.word for cls in get_args(Asked)}

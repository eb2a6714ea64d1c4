"""All a memory can ask: four effects with their queries, and the reply to its caller.

Law 1. The set is closed. Law 2. Each effect but Reply gets exactly one answer that counts, matched by
`request_id`; every further one is late and changes nothing. Law 3. `request_id` grows, and is never reused.
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
    "unavailable",  # no answer, or none to this question; also every failure that a question may not have
    "rate_limited",  # later, perhaps: `retry_after_ms` says when
    "refused",  # the service, or an interceptor, will not do it
    "too_long",  # more than the model or embedder takes
    "full",  # storage has no room
    "conflict",  # a row is not as it was expected: `changed` says which
    "unknown",  # a batch may be durable, or become so
    "unusable",  # an answer came, and its row can make nothing of it
    "damaged",  # a row that was read is damaged, and the step does not spare its kind
]


MAIN: Final = "main"  # the store of a question that names none


# Queries. Rows of by_ids come in the order of the addresses, absent ones are missing.


class ByIds(Data):
    """Rows of these addresses, in this order; those that are absent are missing."""

    tag = 20
    addresses: tuple[Address, ...]


class ByFilter(Data):
    """Rows by ascending (kind, id) after `cursor`; at most `limit` of them and a cursor if there are more.

    None asks for all: the engine follows the cursor in pages, and the row that asked gets one answer.
    """

    tag = 22
    scope: Scope
    kinds: tuple[str, ...]
    where: Where = ()
    limit: int | None = None
    cursor: str | None = None


class CountRows(Data):
    """How many rows hold all conditions."""

    tag = 23
    scope: Scope
    kinds: tuple[str, ...]
    where: Where = ()


class ByVector(Data):
    """Rows of one kind by the relevance of their vectors, (score descending, id)."""

    tag = 24
    scope: Scope
    vector: tuple[int, ...]
    where: Where
    limit: int
    min_score_ppm: int
    kind: str = "entity"


class ByWords(Data):
    """Rows of one kind by the relevance of their words, (score descending, id)."""

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
    """Put a row, or delete it (body None). Deleting what is absent changes nothing."""

    tag = 26
    address: Address
    body: Body | None


class Expect(Data):
    """The row version this commit was planned from; 0 means absent."""

    tag = 27
    address: Address
    version: int


# Effects. Workflow rows build them with request_id 0 and timeout_ms 0; the engine fills both in.


COMMON_FAILURES: Final = ("timeout", "unavailable", "rate_limited", "refused")


class Question(Data):
    """A question of a memory to the world. Each kind is one class, and this is all of its declaration.

    `word`: its name in hooks, tables and traces. `service` answers it, under the name `verb`. `failures`: how
    it may fail; any other failure counts as `unavailable`.
    """

    tag: ClassVar[int]
    word: ClassVar[str]
    service: ClassVar[str]
    verb: ClassVar[str]
    failures: ClassVar[tuple[str, ...]]


class AskModel(Question):
    """Ask a model; answered by `ModelReplied`. `task` says what the prompt asks for."""

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
    """Ask a storage for rows; answered by `ReadDone`."""

    tag = 30
    word, service, verb = "read", "storage", "read"
    failures = COMMON_FAILURES
    query: Query
    store: str = MAIN
    request_id: int = 0
    timeout_ms: int = 0


class Commit(Question):
    """One atomic batch: all expects hold and all writes happen at one instant, or nothing does.

    A `key` that storage knows changes nothing and is answered as the first batch was; an empty key is never
    known. A row that gives none gets one from the engine, the same for all its attempts and plans.
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
    """Return the question with the parts that rows leave open: profile, key, size of a page, timeout."""
    if isinstance(asked, AskModel | Embed):
        return structs.replace(asked, request_id=request_id, timeout_ms=timeout_ms, profile=profile)
    if isinstance(asked, Commit):
        return structs.replace(asked, request_id=request_id, timeout_ms=timeout_ms, key=asked.key or key)
    query = asked.query
    if isinstance(query, ByFilter) and query.limit is None:
        # A read of all rows is sent page by page; the question as the row asked it keeps None, which tells
        # the two apart (`following_page`).
        query = structs.replace(query, limit=PAGE_ROW_COUNT_MAX)
    return Read(query, asked.store, request_id, timeout_ms)


# Outcomes and the reply.


class Degraded(Data):
    """One named way in which an operation finished with less: `step:substitute`, why, how often."""

    tag = 32
    name: str
    reason: str
    count: int = 1


class Done(Data):
    """The request is done, and what it changed is durable; `degraded` names what was done with less."""

    tag = 33
    value: object = None
    degraded: tuple[Degraded, ...] = ()


class Refused(Data):
    """The caller's fault; nothing changed."""

    tag = 34
    error: Error


class Failed(Data):
    """The world's fault; nothing changed."""

    tag = 35
    error: Error


class Unknown(Data):
    """The last commit was never answered for certain: it may or may not have happened."""

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
    # Sizes and a hash show which prompts were equal, and no text of a user.
    prompt_hash: str
    prompt_bytes: int
    reply_bytes: int
    texts_count: int


class HookNote(Data):
    """An act of an interceptor besides passing: it `refused` or `substituted`, or it failed.

    After a failure `what` is the class of the exception, or `bad_result`. A failure at `after` implies that
    the step or effect had succeeded.
    """

    tag = 38
    name: str
    hook: str
    what: str
    step: str


class Reply(Data):
    """The outcome of a request, for its caller, and the calls of models that it took."""

    tag = 39
    op_id: OpId
    outcome: Outcome
    calls: tuple[ModelCall, ...] = ()
    hooks: tuple[HookNote, ...] = ()


Effect = AskModel | Embed | Read | Commit | Reply
EFFECT_NAMES: Final[dict[type[Asked], str]] = {cls: cls.word for cls in get_args(Asked)}

"""What can go wrong, by blame.

    Error                   a frozen value; `str(error)` is one sentence with the value and the limit
    |-- caller's fault      in `Refused`: BadText, TextTooLong, KeyTooLong, WorkingFull, SessionConflict, ...
    |-- world's fault       in `Failed`: ModelFailed, EmbedFailed, StorageFailed, Conflict, Deposed, ...
    `-- our fault           an AssertionError; `WorkflowBroken` for somebody else's workflow

`Rejected` is the only exception: it carries error values out of a constructor or a registry call, where there
is no reply to put them in. Nothing was made and nothing changed.
"""

from typing import ClassVar

import attrs

from umi_core.data import Data
from umi_core.limits import PPM, RECALL_LIMIT_MAX, TTL_MS_MAX, TTL_MS_MIN

SHOWN_CHARS_MAX = 72


def shown(value: object) -> str:
    """A value as a message may show it: short, one line, no surprises for a terminal."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."


@attrs.frozen
class Error(Data):
    """Base of all error values; `sentence` is filled in with the fields.

    A class without fields of its own needs no decorator: it is frozen as its base is, and equal to its like.
    """

    sentence: ClassVar[str] = ""

    def __str__(self) -> str:
        fields = attrs.fields(type(self))
        return self.sentence.format_map({field.name: shown(getattr(self, field.name)) for field in fields})


class Rejected(Exception):
    """A constructor or registry call refused its input; `errors` says what and why."""

    def __init__(self, *errors: Error) -> None:
        assert errors
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = errors


# Options and values.


@attrs.frozen
class BadOption(Error):
    """A value of the wrong type or outside its range."""

    sentence: ClassVar[str] = "{option}: {value} is not allowed, expected {allowed}"
    option: str
    value: str
    allowed: str


class BadText(BadOption):
    """Not a text: no `str`, lone surrogates, or characters that this place forbids."""


class BadScope(BadOption):
    """A part of a scope that is empty, too long, has control characters or is no text."""


class BadConfig(BadOption):
    """A setting outside its range, or stored data that the setting leaves no room for."""


class BadTime(BadOption): ...


class BadMetadata(BadOption): ...


class BadKey(BadOption): ...


class BadId(BadOption): ...


class BadVersion(BadOption): ...


class BadType(BadOption): ...


class BadTurn(BadOption): ...


class BadScore(BadOption): ...


class BadDelta(BadOption): ...


@attrs.frozen
class BadLimit(Error):
    sentence: ClassVar[str] = f"limit out of range: {{limit}}, allowed 1 to {RECALL_LIMIT_MAX}"
    limit: str


@attrs.frozen
class BadTimeRange(Error):
    sentence: ClassVar[str] = "time range: start {start_ms} after end {end_ms}"
    start_ms: int
    end_ms: int


@attrs.frozen
class BadImportance(Error):
    sentence: ClassVar[str] = f"importance out of range: {{importance_ppm}} ppm, allowed 0 to {PPM}"
    importance_ppm: str


class EmptyText(Error):
    sentence: ClassVar[str] = "text is empty"


class EmptyQuery(Error):
    sentence: ClassVar[str] = "query is empty"


@attrs.frozen
class TooLong(Error):
    """Something is longer than its limit; the subclass says what."""

    size_bytes: int
    limit_bytes: int


class TextTooLong(TooLong):
    sentence: ClassVar[str] = "text too long: {size_bytes} bytes exceeds max {limit_bytes}"


class QueryTooLong(TooLong):
    sentence: ClassVar[str] = "query too long: {size_bytes} bytes exceeds max {limit_bytes}"


@attrs.frozen
class Full(Error):
    """No room for something; the subclass says where."""

    used_bytes: int
    limit_bytes: int
    need_bytes: int


@attrs.frozen
class Damaged(Error):
    """Stored bytes that cannot be used; nothing was loaded, and the subclass says of what."""

    reason: str


@attrs.frozen
class KeyReused(Error):
    """The same request_key came with another request."""

    sentence: ClassVar[str] = "request key reused with another request: {request_key}"
    request_key: str


# Working tier.


class KeyTooLong(TooLong):
    sentence: ClassVar[str] = "key too long: {size_bytes} bytes exceeds max {limit_bytes}"


class EntryTooLarge(TooLong):
    sentence: ClassVar[str] = "entry too large: {size_bytes} bytes exceeds max {limit_bytes}"


class WorkingFull(Full):
    sentence: ClassVar[str] = "working memory full: {used_bytes}/{limit_bytes} bytes, need {need_bytes}"


@attrs.frozen
class TooManyEntries(Error):
    sentence: ClassVar[str] = "too many entries: {entry_count} exceeds max {entry_count_max}"
    entry_count: int
    entry_count_max: int


@attrs.frozen
class KeyNotFound(Error):
    sentence: ClassVar[str] = "key not found: {key}"
    key: str


@attrs.frozen
class ReservedKey(Error):
    sentence: ClassVar[str] = "reserved key: {key}"
    key: str


@attrs.frozen
class TypeMismatch(Error):
    """The value is no counter; `got` is `string: ...` (cut to 64) or `non-UTF8 bytes`."""

    sentence: ClassVar[str] = "type mismatch: expected i64, got {got}"
    got: str


@attrs.frozen
class Overflow(Error):
    sentence: ClassVar[str] = "overflow: {value} + {delta} would overflow"
    value: int
    delta: int


@attrs.frozen
class BadTtl(Error):
    sentence: ClassVar[str] = f"ttl out of range: {{ttl_ms}} ms, allowed {TTL_MS_MIN} to {TTL_MS_MAX}"
    ttl_ms: str


# Core tier.


@attrs.frozen
class BadKind(Error):
    sentence: ClassVar[str] = "unknown block kind: {kind}"
    kind: str


class LabelTooLong(TooLong):
    sentence: ClassVar[str] = "label too long: {size_bytes} bytes exceeds max {limit_bytes}"


class BlockTooLarge(TooLong):
    sentence: ClassVar[str] = "block too large: {size_bytes} bytes exceeds max {limit_bytes}"


@attrs.frozen
class TooManyBlocks(Error):
    sentence: ClassVar[str] = "too many blocks: {block_count} exceeds max {block_count_max}"
    block_count: int
    block_count_max: int


class CoreFull(Full):
    sentence: ClassVar[str] = "core memory full: {used_bytes}/{limit_bytes} bytes, need {need_bytes}"


@attrs.frozen
class BlockNotFound(Error):
    """`block` is the kind, or kind/label."""

    sentence: ClassVar[str] = "block not found: {block}"
    block: str


# Snapshots and sessions.


class SnapshotTooBig(TooLong):
    sentence: ClassVar[str] = "snapshot too big: {size_bytes} bytes exceeds max {limit_bytes}"


class SnapshotDamaged(Damaged):
    sentence: ClassVar[str] = "snapshot damaged: {reason}"


@attrs.frozen
class SnapshotVersion(Error):
    sentence: ClassVar[str] = "snapshot version not known: {found}"
    found: int


@attrs.frozen
class SnapshotDoesNotFit(Error):
    sentence: ClassVar[str] = "snapshot does not fit: {entry_count} entries, {used_bytes} bytes"
    entry_count: int
    used_bytes: int


class NoSession(Error):
    sentence: ClassVar[str] = "no session: create or load one first"


@attrs.frozen
class SessionNotFound(Error):
    sentence: ClassVar[str] = "session not found: {session_id}"
    session_id: str


@attrs.frozen
class SessionConflict(Error):
    sentence: ClassVar[str] = "session changed: expected version {expected}, found {found}; load it again"
    expected: int
    found: int


@attrs.frozen
class TooManyMembers(Error):
    sentence: ClassVar[str] = "too many members: {member_count} exceeds max {member_count_max}"
    member_count: int
    member_count_max: int


# The world's faults, and the engine's.


@attrs.frozen
class TooBusy(Error):
    sentence: ClassVar[str] = "too busy: {op_count} operations in flight, max {op_count_max}"
    op_count: int
    op_count_max: int


@attrs.frozen
class StepFailed(Error):
    """A step gave up; which one, why, and after how many attempts. What its hooks did stands beside it."""

    sentence: ClassVar[str] = "step {step} failed: {kind} after {attempts} attempts"
    step: str
    kind: str
    attempts: int


class ModelFailed(StepFailed): ...


class EmbedFailed(StepFailed): ...


class StorageFailed(StepFailed): ...


class StorageRefused(StepFailed): ...


class StorageFull(StepFailed): ...


class Conflict(StepFailed): ...


@attrs.frozen
class Deposed(Error):
    """A newer life of this memory has claimed the rows; only the working tier still answers here."""

    sentence: ClassVar[str] = "deposed: a newer epoch than {epoch} was claimed"
    epoch: int


@attrs.frozen
class WorkflowBroken(Error):
    """A workflow broke its own table; no built-in one ever does."""

    sentence: ClassVar[str] = "workflow {workflow}@{revision} broken at {step}: {kind} {names}"
    workflow: str
    revision: int
    step: str
    kind: str
    names: tuple[str, ...]


# Registry calls.


@attrs.frozen
class BadWorkflow(Error):
    """One finding about a workflow: `problem` is a fixed name such as MissingFact."""

    sentence: ClassVar[str] = "{problem}({step}, {names})"
    problem: str
    step: str
    names: tuple[str, ...] = ()


@attrs.frozen
class UnknownRevision(Error):
    sentence: ClassVar[str] = "unknown revision: {workflow}@{revision}"
    workflow: str
    revision: int


class StateDamaged(Damaged):
    sentence: ClassVar[str] = "state damaged: {reason}"


# Every class of error value, for the codec: only ever added at the end.
ERRORS = (
    BadOption, BadText, BadScope, BadConfig, BadTime, BadMetadata, BadKey, BadId, BadVersion, BadType,
    BadTurn, BadScore, BadDelta, BadLimit, BadTimeRange, BadImportance, EmptyText, EmptyQuery, TooLong,
    TextTooLong, QueryTooLong, KeyReused, KeyTooLong, EntryTooLarge, WorkingFull, TooManyEntries, KeyNotFound,
    ReservedKey, TypeMismatch, Overflow, BadTtl, BadKind, LabelTooLong, BlockTooLarge, TooManyBlocks,
    CoreFull, BlockNotFound, SnapshotTooBig, SnapshotDamaged, SnapshotVersion, SnapshotDoesNotFit, NoSession,
    SessionNotFound, SessionConflict, TooManyMembers, TooBusy, StepFailed, ModelFailed, EmbedFailed,
    StorageFailed, StorageRefused, StorageFull, Conflict, Deposed, WorkflowBroken, BadWorkflow,
    UnknownRevision, StateDamaged, Full, Damaged,
)  # fmt: skip

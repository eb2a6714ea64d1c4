"""Errors, by cause: a fault of the caller, of the world, or of the code itself.

    Error                   a frozen value; `str(error)` is one sentence with the value and the limit
    |-- caller's fault      in `Refused`: BadText, TextTooLong, KeyTooLong, WorkingFull, SessionConflict, ...
    |-- world's fault       in `Failed`: ModelFailed, EmbedFailed, StorageFailed, Conflict, Fenced, ...
    `-- our fault           an AssertionError; `WorkflowBroken` for a custom workflow that breaks its table

`Rejected` is the only exception: a constructor or a registry call has no reply, so it raises error values.
Nothing was created or changed then.
"""

from typing import ClassVar, Final

from umi_core.data import Data, list_compared
from umi_core.limits import PPM, RECALL_LIMIT_MAX, TTL_MS_MAX, TTL_MS_MIN
from umi_core.text import SHOWN_CHARS_MAX, show_value

CHARS_MAX: Final = {"allowed": 2_000}  # the list of allowed values is shown in full


class Error(Data):
    """Base of all error values; `sentence` is a template for the fields."""

    tag: ClassVar[int]
    sentence: ClassVar[str] = ""

    def __str__(self) -> str:
        # Escaped, because errors go to terminals and logs, and their values may come from an attacker.
        return self.sentence.format_map({
            name: show_value(getattr(self, name), CHARS_MAX.get(name, SHOWN_CHARS_MAX))
            for name in list_compared(type(self))
        })  # fmt: skip


class Rejected(Exception):
    """A constructor or registry call refused its input, for the reasons in `errors`."""

    def __init__(self, *errors: Error) -> None:
        assert errors
        super().__init__("; ".join(str(error) for error in errors))
        self.errors = errors


# Options and values.


class BadOption(Error):
    """A value of the wrong type or outside its range."""

    tag = 500
    sentence: ClassVar[str] = "{option}: {value} is not allowed, expected {allowed}"
    option: str
    value: str
    allowed: str


class BadText(BadOption):
    """Not a valid text: not a `str`, or with lone surrogates or characters that this option forbids."""

    tag = 501


class BadScope(BadOption):
    """A part of a scope that is empty, is too long, has control characters or is not a text."""

    tag = 502


class BadConfig(BadOption):
    """A setting outside its range, or too small for the stored data."""

    tag = 503


class BadTime(BadOption):
    tag = 504


class BadMetadata(BadOption):
    tag = 505


class BadKey(BadOption):
    tag = 506


class BadId(BadOption):
    tag = 507


class BadVersion(BadOption):
    tag = 508


class BadType(BadOption):
    tag = 509


class BadTurn(BadOption):
    tag = 510


class BadScore(BadOption):
    tag = 511


class BadDelta(BadOption):
    tag = 512


class UnsupportedModality(BadOption):
    """The modality is not one that can be memorized."""

    tag = 560


class UnreadableMessages(Error):
    """Unreadable messages in a conversation; `positions`: the first few, counted from 0."""

    tag = 563
    sentence: ClassVar[str] = (
        "{count} of {total} messages cannot be read, at positions {positions} counted from 0: "
        "each must be an object with a text, or with parts, of a known form"
    )
    count: int
    total: int
    positions: str


class BadLimit(Error):
    tag = 513
    sentence: ClassVar[str] = f"limit out of range: {{limit}}, allowed 1 to {RECALL_LIMIT_MAX}"
    limit: str


class BadTimeRange(Error):
    tag = 514
    sentence: ClassVar[str] = "time range: start {start_ms} after end {end_ms}"
    start_ms: int
    end_ms: int


class BadImportance(Error):
    tag = 515
    sentence: ClassVar[str] = f"importance out of range: {{importance_ppm}} ppm, allowed 0 to {PPM}"
    importance_ppm: str


class EmptyText(Error):
    tag = 516
    sentence: ClassVar[str] = "text is empty"


class EmptyQuery(Error):
    tag = 517
    sentence: ClassVar[str] = "query is empty"


class TooLong(Error):
    """Base of errors for a value that is longer than its limit."""

    tag = 518
    size_bytes: int
    limit_bytes: int


class TextTooLong(TooLong):
    tag = 519
    sentence: ClassVar[str] = "text too long: {size_bytes} bytes exceeds max {limit_bytes}"


class QueryTooLong(TooLong):
    tag = 520
    sentence: ClassVar[str] = "query too long: {size_bytes} bytes exceeds max {limit_bytes}"


class Full(Error):
    """Base of errors for a tier without room for a value."""

    tag = 558
    used_bytes: int
    limit_bytes: int
    need_bytes: int


class Damaged(Error):
    """Base of errors for stored bytes that cannot be read; nothing was loaded."""

    tag = 559
    reason: str


class KeyReused(Error):
    """The same request_key came with another request."""

    tag = 521
    sentence: ClassVar[str] = "request key reused with another request: {request_key}"
    request_key: str


# Working tier.


class KeyTooLong(TooLong):
    tag = 522
    sentence: ClassVar[str] = "key too long: {size_bytes} bytes exceeds max {limit_bytes}"


class EntryTooLarge(TooLong):
    tag = 523
    sentence: ClassVar[str] = "entry too large: {size_bytes} bytes exceeds max {limit_bytes}"


class WorkingFull(Full):
    tag = 524
    sentence: ClassVar[str] = "working memory full: {used_bytes}/{limit_bytes} bytes, need {need_bytes}"


class TooManyEntries(Error):
    tag = 525
    sentence: ClassVar[str] = "too many entries: {entry_count} exceeds max {entry_count_max}"
    entry_count: int
    entry_count_max: int


class KeyNotFound(Error):
    tag = 526
    sentence: ClassVar[str] = "key not found: {key}"
    key: str


class ReservedKey(Error):
    tag = 527
    sentence: ClassVar[str] = "reserved key: {key}"
    key: str


class TypeMismatch(Error):
    """The value is not a counter; `got` is `string: ...` (cut to 64) or `non-UTF8 bytes`."""

    tag = 528
    sentence: ClassVar[str] = "type mismatch: expected i64, got {got}"
    got: str


class Overflow(Error):
    tag = 529
    sentence: ClassVar[str] = "overflow: {value} + {delta} would overflow"
    value: int
    delta: int


class BadTtl(Error):
    tag = 530
    sentence: ClassVar[str] = f"ttl out of range: {{ttl_ms}} ms, allowed {TTL_MS_MIN} to {TTL_MS_MAX}"
    ttl_ms: str


# Core tier.


class BadKind(Error):
    tag = 531
    sentence: ClassVar[str] = "unknown block kind: {kind}"
    kind: str


class LabelTooLong(TooLong):
    tag = 532
    sentence: ClassVar[str] = "label too long: {size_bytes} bytes exceeds max {limit_bytes}"


class BlockTooLarge(TooLong):
    tag = 533
    sentence: ClassVar[str] = "block too large: {size_bytes} bytes exceeds max {limit_bytes}"


class TooManyBlocks(Error):
    tag = 534
    sentence: ClassVar[str] = "too many blocks: {block_count} exceeds max {block_count_max}"
    block_count: int
    block_count_max: int


class CoreFull(Full):
    tag = 535
    sentence: ClassVar[str] = "core memory full: {used_bytes}/{limit_bytes} bytes, need {need_bytes}"


class BlockNotFound(Error):
    """There is no such block; `block` is its kind, or kind/label."""

    tag = 536
    sentence: ClassVar[str] = "block not found: {block}"
    block: str


# Snapshots and sessions.


class SnapshotTooBig(TooLong):
    tag = 537
    sentence: ClassVar[str] = "snapshot too big: {size_bytes} bytes exceeds max {limit_bytes}"


class SnapshotDamaged(Damaged):
    tag = 538
    sentence: ClassVar[str] = "snapshot damaged: {reason}"


class SnapshotVersion(Error):
    tag = 539
    sentence: ClassVar[str] = "snapshot version not known: {found}"
    found: int


class SnapshotDoesNotFit(Error):
    tag = 540
    sentence: ClassVar[str] = "snapshot does not fit: {entry_count} entries, {used_bytes} bytes"
    entry_count: int
    used_bytes: int


class NoSession(Error):
    tag = 541
    sentence: ClassVar[str] = "no session: create or load one first"


class SessionNotFound(Error):
    tag = 542
    sentence: ClassVar[str] = "session not found: {session_id}"
    session_id: str


class SessionConflict(Error):
    tag = 543
    sentence: ClassVar[str] = "session changed: expected version {expected}, found {found}; load it again"
    expected: int
    found: int


class TooManyMembers(Error):
    tag = 544
    sentence: ClassVar[str] = "too many members: {member_count} exceeds max {member_count_max}"
    member_count: int
    member_count_max: int


class NotShared(Error):
    """The owner does not share its archive with this agent, or does not exist; the error is the same."""

    tag = 651
    sentence: ClassVar[str] = "no archive of agent {agent} is shared with this one"
    agent: str


# Faults of the world and of the engine.


class TooBusy(Error):
    tag = 545
    sentence: ClassVar[str] = "too busy: {op_count} operations in flight, max {op_count_max}"
    op_count: int
    op_count_max: int


class StepFailed(Error):
    """A step gave up after some attempts. Acts of its interceptors are in the notes of the reply."""

    tag = 546
    sentence: ClassVar[str] = "step {step} failed: {kind} after {attempts} attempts"
    step: str
    kind: str
    attempts: int


class ModelFailed(StepFailed):
    tag = 547


class EmbedFailed(StepFailed):
    tag = 548


class StorageFailed(StepFailed):
    tag = 549


class StorageRefused(StepFailed):
    tag = 550


class StorageFull(StepFailed):
    tag = 551


class Conflict(StepFailed):
    tag = 552


class Fenced(Error):
    """A newer incarnation of this memory has claimed an epoch; only the working tier still answers here."""

    tag = 553
    sentence: ClassVar[str] = "fenced: a newer epoch than {epoch} was claimed"
    epoch: int


class WorkflowBroken(Error):
    """A custom workflow broke its own table; a built-in one never does."""

    tag = 554
    sentence: ClassVar[str] = "workflow {workflow}@{revision} broken at {step}: {kind} {names}"
    workflow: str
    revision: int
    step: str
    kind: str
    names: tuple[str, ...]


# Registry calls.


class BadWorkflow(Error):
    """One problem of a workflow; `problem` is a fixed name such as MissingFact."""

    tag = 555
    sentence: ClassVar[str] = "{problem}({step}, {names})"
    problem: str
    step: str
    names: tuple[str, ...] = ()


class UnknownRevision(Error):
    tag = 556
    sentence: ClassVar[str] = "unknown revision: {workflow}@{revision}"
    workflow: str
    revision: int


class StateDamaged(Damaged):
    tag = 557
    sentence: ClassVar[str] = "state damaged: {reason}"


# Filters.


class UnknownField(BadOption):
    """A filter names a field that no row of the archive has."""

    tag = 595


class UnknownOperator(BadOption):
    """A filter uses an operator that does not exist."""

    tag = 596


class BadFilterValue(BadOption):
    """A filter has a value that its operator cannot compare with."""

    tag = 597

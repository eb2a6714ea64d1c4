"""The values a memory is made of: scope, ids, entities, blocks, rows. Frozen, integers and text only.

Law 1. Ids are derived from scope, kind and normalised name or content; nothing here is random or timed.
Law 2. A value never changes; a changed row is a new value.
Law 3. Sizes are UTF-8 bytes; texts are cut between code points.
"""

import re
import unicodedata
from hashlib import blake2b, sha256
from typing import Final

import attrs
import msgpack

from umi_core.data import Data

__all__ = [
    "BLOCK_KINDS",
    "ENTITY_TYPES",
    "EVOLUTION_KINDS",
    "LINK_KINDS",
    "AccessRecord",
    "Address",
    "Block",
    "Body",
    "Core",
    "Entity",
    "Entry",
    "Epoch",
    "Head",
    "Receipt",
    "Relation",
    "RoutingDecision",
    "Row",
    "Scope",
    "SessionRow",
    "Tombstone",
    "Turn",
    "Vector",
    "Version",
    "block_id",
    "commit_key",
    "content_hash",
    "cut",
    "entity_id",
    "has_control",
    "is_text",
    "norm",
    "note_id",
    "pack",
    "relation_id",
    "session_id",
    "size",
    "tidy",
]

BLOCK_KINDS: Final = ("system", "persona", "human", "facts", "goals", "scratch")
ENTITY_TYPES: Final = (
    "self", "person", "organization", "project", "topic", "location", "event", "task", "preference", "note",
)  # fmt: skip
EVOLUTION_KINDS: Final = ("update", "extend", "derive", "contradict")
LINK_KINDS: Final = ("works_at", "knows", "manages", "relates_to", "prefers", "part_of", "located_in")

Pairs = tuple[tuple[str, str], ...]


# Text.


def size(text: str) -> int:
    """Bytes of the UTF-8 encoding."""
    return len(text) if text.isascii() else len(text.encode())


def cut(text: str, limit_bytes: int) -> str:
    """The longest prefix of whole code points with at most `limit_bytes` bytes."""
    return text.encode()[:limit_bytes].decode(errors="ignore")


def tidy(text: str) -> str:
    """NFC, white-space runs become one space, trimmed: how names and labels are kept."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def norm(text: str) -> str:
    """The key of a name: composed, case-folded, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


SURROGATE: Final = re.compile("[\ud800-\udfff]")
CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")  # category Cc


def is_text(value: object) -> bool:
    """True for a `str`, and nothing derived from it, without lone surrogates."""
    return type(value) is str and (value.isascii() or SURROGATE.search(value) is None)


def has_control(text: str) -> bool:
    return CONTROL.search(text) is not None


# Scope and ids.


@attrs.frozen
class Scope:
    """Whose rows these are: user and agent, compared byte for byte."""

    user: str
    agent: str


def pack(value: object) -> bytes:
    """Canonical msgpack: shortest forms, strict types, lists for tuples, no maps."""
    packed = msgpack.packb(value, use_bin_type=True)
    assert isinstance(packed, bytes)
    return packed


def derived_id(prefix: str, kind: str, scope: Scope, *parts: str | int) -> str:
    digest = blake2b(pack([kind, scope.user, scope.agent, *parts]), digest_size=12)
    return f"{prefix}_{digest.hexdigest()}"


def entity_id(scope: Scope, entity_type: str, name: str) -> str:
    return derived_id("ent", "entity", scope, entity_type, "name", norm(name))


def content_hash(content: str, memory_type: str = "knowledge") -> str:
    """16 hex digits of SHA-256 over memory type and normalised content."""
    return sha256(f"{memory_type}:{norm(content)}".encode()).hexdigest()[:16]


def note_id(scope: Scope, content: str) -> str:
    """The id of an entity without a name."""
    return derived_id("ent", "entity", scope, "content", "knowledge", content_hash(content))


def relation_id(scope: Scope, source: tuple[str, int], target: tuple[str, int], kind: str) -> str:
    return derived_id("rel", "relation", scope, *source, *target, kind)


def block_id(scope: Scope, kind: str, label: str) -> str:
    return derived_id("blk", "block", scope, kind, label)


def session_id(scope: Scope, created_ms: int, n: int) -> str:
    return derived_id("ses", "session", scope, created_ms, n)


def commit_key(scope: Scope, *parts: str | int) -> str:
    """Idempotency key: from `"key", request_key`, or from epoch, operation number and step."""
    return derived_id("idm", "commit", scope, *parts)


# Rows: what storage holds. A body is one of the frozen values below.


@attrs.frozen
class Address:
    """Where a row lies. Every row carries its whole scope."""

    scope: Scope
    kind: str
    id: str


@attrs.frozen
class Row(Data):
    """A row as storage answers it; version counts its writes, score_ppm is set by searches only.

    `body` is None for a row that storage reports as damaged.
    """

    address: Address
    version: int
    body: "Body | None"
    score_ppm: int | None = None


@attrs.frozen
class Entity(Data):
    """The current version of one named fact (or of a note, which has no name of its own)."""

    id: str
    type: str
    name: str
    content: str
    version: int
    importance_ppm: int
    confidence_ppm: int
    block: str
    created_ms: int
    updated_ms: int
    event_time_ms: int | None = None
    metadata: Pairs = ()
    source: str | None = None
    vector_missing: bool = False
    relation_count: int = 0
    contradicts: tuple[str, ...] = ()  # refs of statements, as of the current version

    @property
    def time_ms(self) -> int:
        return self.updated_ms if self.event_time_ms is None else self.event_time_ms


@attrs.frozen
class Version:
    """One version of an entity: what was told and what it came to. `kind` is None for the first."""

    entity_id: str
    version: int
    mention: str
    kind: str | None
    content: str
    event_time_ms: int | None
    metadata: Pairs
    source: str | None
    at_ms: int


@attrs.frozen
class Relation(Data):
    """A directed relation between two (entity id, version); links have version 0 on both ends."""

    id: str
    kind: str
    source: tuple[str, int]
    target: tuple[str, int]
    confidence_ppm: int
    reason: str
    by: str
    at_ms: int


@attrs.frozen
class Vector(Data):
    """The embedding of one version of an entity: whole numbers in -127..127."""

    entity_id: str
    version: int
    components: tuple[int, ...]


@attrs.frozen
class AccessRecord:
    """How often and when an entity was accessed, with what its score needs besides."""

    entity_id: str
    type: str
    importance_ppm: int
    count: int
    first_ms: int
    last_ms: int


@attrs.frozen
class Entry:
    """A promoted entity as its block shows it. It is a self entry iff its block is persona."""

    entity_id: str
    version: int
    name: str
    text: str
    promoted_ms: int

    @property
    def size_bytes(self) -> int:
        return size(self.name) + size(self.text)


@attrs.frozen
class Block:
    """A core block: authored text (or None) plus promoted entries in order (promoted_ms, entity_id)."""

    kind: str
    label: str = ""
    text: str | None = None
    importance_ppm: int = 500_000
    entries: tuple[Entry, ...] = ()

    @property
    def size_bytes(self) -> int:
        return size(self.label) + size(self.text or "") + sum(entry.size_bytes for entry in self.entries)

    @property
    def order(self) -> tuple[int, bytes]:
        return BLOCK_KINDS.index(self.kind), self.label.encode()


@attrs.frozen
class Epoch(Data):
    """One life of a memory; the version of its row is the epoch."""

    claimed_ms: int


@attrs.frozen
class Head(Data):
    """Where the fair scan of the access records stands."""

    cursor: str


@attrs.frozen
class Core(Data):
    """The core tier as one row: limits over all blocks hold because every write expects its version."""

    blocks: tuple[Block, ...]


@attrs.frozen
class Tombstone(Data):
    """What is left of a forgotten entity: the number its next version continues from."""

    version: int


@attrs.frozen
class Receipt(Data):
    """What a commit did, so that asking again can be answered without doing it again.

    `value` is the value of the reply, one of umi_core.results; `by` the operation: epoch and number.
    """

    key: str
    request_digest: bytes
    plan_digest: bytes
    value: object
    at_ms: int
    by: tuple[int, int] = (0, 0)


@attrs.frozen
class SessionRow(Data):
    """A saved session: who may load it, and its snapshot."""

    id: str
    user: str
    creator: str
    members: tuple[str, ...]
    saved_ms: int
    saved_by: str
    snapshot: bytes


Body = (
    Entity
    | Version
    | Relation
    | Vector
    | AccessRecord
    | Core
    | Epoch
    | Head
    | Tombstone
    | Receipt
    | SessionRow
)


@attrs.frozen
class RoutingDecision(Data):
    """Where one entity was routed, by whom and why. `outcome` is known after the plan."""

    entity_id: str
    block: str
    promote: bool
    confidence_ppm: int | None
    reason: str
    routed_by: str
    cause: str | None
    outcome: str = "not_asked"


@attrs.frozen
class Turn(Data):
    role: str
    text: str

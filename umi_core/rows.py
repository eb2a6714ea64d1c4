"""Rows: what storage holds. A body is one of the frozen values below, under the address of its row.

Law 1. Every row carries its whole scope. Law 2. A changed row is a new value, under the next version.
"""

import attrs

from umi_core.data import Data
from umi_core.values import Block, Pairs, Scope


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

    `value` is the value of the reply, one of umi_core.messages.results; `by` the operation: epoch and number.
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

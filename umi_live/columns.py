"""Rows as SQLite keeps them: their bytes, and beside them in columns what conditions ask for."""

from array import array
from functools import lru_cache
from typing import Any, Final

import attrs
import msgpack

from umi_core.errors import Rejected
from umi_core.kelpie.rows import BlockChange
from umi_core.migration.rows import Moved
from umi_core.policies.term_scores import count_terms
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Address, Body, Category, Core, Entity, Reflection, Relation, Row, Vector, Version
from umi_core.values import Scope

KEPT_COUNT_MAX: Final = 4_096  # bodies of rows
KEPT_BYTES_MAX: Final = 2_000  # longer ones are not kept
COUNTED_COUNT_MAX: Final = 256  # rows of which the terms are kept

Found = tuple[str | int, int, bytes | None, bytes | None]  # id or number, version, body, components
Versions = tuple[tuple[Address, int], ...]


def bytes_of(body: Body | None) -> bytes | None:
    """The components of a vector stand in a column of their own, as one byte each."""
    if isinstance(body, Vector):
        return encode_row(attrs.evolve(body, components=()))
    return None if body is None else encode_row(body)


def body_of(data: bytes, components: bytes | None) -> Body | None:
    """None if the bytes are damaged, or of a newer release. Bodies are shared: they never change."""
    return kept_body(data, components) if len(data) <= KEPT_BYTES_MAX else read_body(data, components)


def read_body(data: bytes, components: bytes | None) -> Body | None:
    try:
        body = decode_row(data)
    except Rejected:
        return None
    if isinstance(body, Vector):
        return attrs.evolve(body, components=tuple(array("b", components or b"")))
    return body


kept_body: Final = lru_cache(maxsize=KEPT_COUNT_MAX)(read_body)  # the same rows are found again and again
counted_terms: Final = lru_cache(maxsize=COUNTED_COUNT_MAX)(
    count_terms
)  # a row that is written needs them twice


def row_at(address: Address, found: Found, score_ppm: int | None = None) -> Row:
    _, version, data, components = found
    assert data is not None
    return Row(address, version, body_of(data, components), score_ppm)


def columns(body: Body | None) -> tuple[Any, ...]:
    """type, time_ms, vector_missing, term_count, touches, touches_too, components."""
    match body:
        case Entity():
            term_count = sum(counted_terms(*body.told()).values())
            return body.type, body.time_ms, int(body.vector_missing), term_count, None, None, None
        case Version():
            return None, None, None, None, body.entity_id, None, None
        case Relation():
            return None, None, None, None, *body.touches, None
        case Vector():
            return None, None, None, None, None, None, array("b", body.components).tobytes()
    return (None,) * 7


def texts_of(body: Body | None) -> frozenset[str]:
    """Return the texts of a row that are gone when a newer body of it does not hold them."""
    match body:
        case Core():
            return frozenset(block.text for block in body.blocks if block.text)
        case Category():
            return frozenset((body.summary,))
        case BlockChange() | Reflection():
            return frozenset((body.text,))
        case Moved():
            return frozenset((body.content or "",))
    return frozenset()


def written_versions(versions: Versions) -> bytes:
    rows = [(it.scope.user, it.scope.agent, it.kind, it.id, version) for it, version in versions]
    data: bytes = msgpack.packb(rows)
    return data


def read_versions(data: bytes) -> Versions:
    rows = msgpack.unpackb(data)
    return tuple((Address(Scope(user, agent), kind, row_id), n) for user, agent, kind, row_id, n in rows)

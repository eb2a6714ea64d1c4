"""Functions of single rows: conditions, scores, order, size and damage.

Law 1. All functions are pure.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeGuard

from msgspec import structs

from umi_core.codec import encode
from umi_core.conditions import Where, admits
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.effects import ByVector, ByWords, Commit, Query
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.policies.term_scores import TermStatistics, count_terms
from umi_core.rows import Address, Body, Entity, Row, SessionRow, Vector
from umi_sim.services.wrong_fields import set_wrong_field

Position = tuple[str, str]  # (kind, id) of the last row of a page
Rot = tuple[int, int] | int | None
"""How a damaged row is read: with one bit flipped, with an invalid field, or without its body."""

counted_terms: Final = lru_cache(maxsize=8_192)(count_terms)  # cached: searches are more frequent than writes

BLOCK_BYTES: Final = 64  # sizes are rounded up to blocks, so that one more digit rarely changes them


def matches(where: Where, body: Body | None) -> bool:
    """Return True if all conditions hold; for a damaged body none does."""
    return not where or (body is not None and admits(where, body))


def receipt_of(commit: Commit) -> Body | None:
    return next((write.body for write in commit.writes if write.address.kind == "receipt"), None)


def is_version_of(row: Row | None, body: Entity) -> bool:
    """Check whether a row has this version of an entity already, as after a write that adds a relation."""
    return row is not None and isinstance(row.body, Entity) and row.body.version == body.version


# Scores.


def terms_of(body: Body | None) -> Mapping[str, int]:
    """Return how often a row has each term. The result is cached: do not change it."""
    return {} if body is None else counted_terms(*body.name_and_text())


def words_score(query: ByWords, rows: Iterable[Row]) -> Callable[[Row], int]:
    """Return a function that scores a row relative to all these rows."""
    statistics = TermStatistics()
    for row in rows:
        statistics.add(terms_of(row.body))
    weights = statistics.weigh_query(query.text)
    return lambda row: statistics.score_row(weights, terms_of(row.body))


def vector_score(query: tuple[int, ...], body: Body | None) -> int:
    """Return the relevance of a vector row; 0 for a vector with another dimension."""
    return vector_relevance_ppm(query, body.components) if isinstance(body, Vector) else 0


# Damage.


def place_read(query: Query, address: Address) -> Address:
    """Return the address that a query reads for this hit: for a search by vector that of the vector."""
    return structs.replace(address, kind="vector") if isinstance(query, ByVector) else address


def flip_bit(body: Body | None, byte: int, bit: int) -> Body | None:
    """Return a session with one bit of its snapshot flipped; any other body unchanged."""
    if not has_snapshot(body):
        return body
    data = bytearray(body.snapshot)
    data[byte % len(data)] ^= 1 << bit % 8
    return structs.replace(body, snapshot=bytes(data))


def has_snapshot(body: Body | None) -> TypeGuard[SessionRow]:
    """Check whether a body is a session with a snapshot that no other fault has replaced."""
    return isinstance(body, SessionRow) and type(body.snapshot) is bytes and bool(body.snapshot)


def rotten(body: Body | None, rot: Rot) -> Body | None:
    if rot is None:
        return None
    return set_wrong_field(body, rot) if isinstance(rot, int) else flip_bit(body, *rot)


# Order, cursors, bytes.


def bytes_of(address: Address, body: Body | None) -> int:
    """Return the size of a row in bytes, rounded up to whole blocks; 0 without a body."""
    # 1 and 64 bytes take 64, 65 bytes take 128.
    return 0 if body is None else -(-len(encode((address, body))) // BLOCK_BYTES) * BLOCK_BYTES


def address_order(address: Address) -> tuple[str, str, str, str]:
    return address.scope.user, address.scope.agent, address.kind, address.id


def hit_order(hit: tuple[int, Row]) -> tuple[int, str]:
    return -hit[0], hit[1].address.id


def rows_at_most(limit: int | None) -> int:
    """Return how many rows a page may have, at most 1000; its cursor leads to the others."""
    return PAGE_ROW_COUNT_MAX if limit is None else min(max(0, limit), PAGE_ROW_COUNT_MAX)


def cursor_at(row: Row) -> str:
    """Return "kind/id" of the last row of a page. Kinds contain no slash, so the first one separates."""
    assert "/" not in row.address.kind
    return f"{row.address.kind}/{row.address.id}"


def position(cursor: str) -> Position:
    """Return the position of a cursor. Any text is valid and has a place in the order."""
    kind, _, row_id = cursor.partition("/")
    return kind, row_id

"""One row as storage sees it: its conditions, scores, order and size, and how it is damaged.

Law 1. Pure: rows and addresses in, answers out.
"""

from collections.abc import Callable, Iterable
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

Position = tuple[str, str]  # (kind, id): the last row of a scan
Rot = tuple[int, int] | int | None
"""How a damaged row is read: with one bit flipped, with an invalid field, or without its body."""

counted_terms: Final = lru_cache(maxsize=8_192)(count_terms)  # rows are searched more often than changed

BLOCK_BYTES: Final = 64  # rows are kept in whole blocks, so a number that gains a digit costs nothing


def matches(where: Where, body: Body | None) -> bool:
    """Return True if all conditions hold; a body that is damaged holds none."""
    return not where or (body is not None and admits(where, body))


def receipt_of(commit: Commit) -> Body | None:
    return next((write.body for write in commit.writes if write.address.kind == "receipt"), None)


def is_version_of(row: Row | None, body: Entity) -> bool:
    """Check whether a row has the version of this body already, as when a new relation writes it again."""
    return row is not None and isinstance(row.body, Entity) and row.body.version == body.version


# Scores.


def terms_of(body: Body | None) -> dict[str, int]:
    """Return how often a row has each term; the result is shared, so do not change it."""
    return {} if body is None else counted_terms(*body.name_and_text())


def words_score(query: ByWords, rows: Iterable[Row]) -> Callable[[Row], int]:
    """Return the function that scores a row among these rows."""
    statistics = TermStatistics()
    for row in rows:
        statistics.add(terms_of(row.body))
    weights = statistics.weigh_query(query.text)
    return lambda row: statistics.score_row(weights, terms_of(row.body))


def vector_score(query: tuple[int, ...], body: Body | None) -> int:
    """Return the relevance of a vector row; one of another dimension scores 0."""
    return vector_relevance_ppm(query, body.components) if isinstance(body, Vector) else 0


# Damage.


def place_read(query: Query, address: Address) -> Address:
    """Return the address that a read of this hit has used: a search by vector reads the vector."""
    return structs.replace(address, kind="vector") if isinstance(query, ByVector) else address


def flip_bit(body: Body | None, byte: int, bit: int) -> Body | None:
    """Return a session with one bit of its snapshot flipped; any other body as it is."""
    if not has_snapshot(body):
        return body
    data = bytearray(body.snapshot)
    data[byte % len(data)] ^= 1 << bit % 8
    return structs.replace(body, snapshot=bytes(data))


def has_snapshot(body: Body | None) -> TypeGuard[SessionRow]:
    """Check whether it is a session whose snapshot no other fault has replaced."""
    return isinstance(body, SessionRow) and type(body.snapshot) is bytes and bool(body.snapshot)


def rotten(body: Body | None, rot: Rot) -> Body | None:
    if rot is None:
        return None
    return set_wrong_field(body, rot) if isinstance(rot, int) else flip_bit(body, *rot)


# Order, cursors, bytes.


def bytes_of(address: Address, body: Body | None) -> int:
    """Return the size of a row, in whole blocks; 0 if there is none."""
    # rounded up: 1 and 64 bytes take 64, 65 take 128
    return 0 if body is None else -(-len(encode((address, body))) // BLOCK_BYTES) * BLOCK_BYTES


def address_order(address: Address) -> tuple[str, str, str, str]:
    return address.scope.user, address.scope.agent, address.kind, address.id


def hit_order(hit: tuple[int, Row]) -> tuple[int, str]:
    return -hit[0], hit[1].address.id


def rows_at_most(limit: int | None) -> int:
    """Return how many rows a page may have: 1000 at most, further ones come by its cursor."""
    return PAGE_ROW_COUNT_MAX if limit is None else min(max(0, limit), PAGE_ROW_COUNT_MAX)


def cursor_at(row: Row) -> str:
    """Return the last key of a page. Kinds are plain words, so the first slash is the border."""
    assert "/" not in row.address.kind
    return f"{row.address.kind}/{row.address.id}"


def position(cursor: str) -> Position:
    """Return where a cursor points; total, so any text is a place in the order."""
    kind, _, row_id = cursor.partition("/")
    return kind, row_id

"""Write rows into tables: their bytes, and separately the values that conditions and searches need.

columns   single values of a row: type, time, whether the vector is missing
ties      ids in a row, such as the entities and texts of a fact or the ends of a relation; hashes of tags
terms     the terms of a fact, for searches
"""

from array import array
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import apsw
import msgpack
from msgspec import structs

from umi_core.errors import Rejected
from umi_core.ids import text_hash
from umi_core.kelpie.rows import Archival, BlockChange
from umi_core.migration.rows import Moved
from umi_core.policies.term_scores import OCCURRENCE_COUNT_MAX, count_terms
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Address, Body, Category, Core, Entity, Reflection, Row, Vector
from umi_core.values import Scope

CACHED_COUNT_MAX: Final = 4_096  # cached bodies of rows
CACHED_BYTES_MAX: Final = 2_000  # longer ones are not cached

PUT: Final = """
insert into row (number, scope, kind, id, version, body, changed, type, time_ms, vector_missing, term_count,
    components) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (scope, id, kind) do update set version = excluded.version, body = excluded.body,
    changed = excluded.changed, type = excluded.type, time_ms = excluded.time_ms,
    vector_missing = excluded.vector_missing, term_count = excluded.term_count,
    components = excluded.components
"""
TIE: Final = "insert into tie (scope, kind, field, value, number) values (?, ?, ?, ?, ?)"
UNTIE: Final = "delete from tie where number = ?"
TIED: Final = ("about", "touches", "follows")  # the fields with ids that conditions can name

Found = tuple[str | int, int, bytes | None, bytes | None, None]  # id or number, version, body, components
RowKey = tuple[int, str, str]  # number of a scope, kind, id
Versions = tuple[tuple[Address, int], ...]


class SqlConnection(Protocol):
    """A connection to a database; `?` stands for each value in a statement."""

    def execute(self, statements: str, bindings: Any = None, /) -> Any: ...
    def data_version(self) -> int: ...  # changes whenever there may have been a commit


def put_row(
    connection: apsw.Connection, key: RowKey, version: int, body: Body | None, changed: int, row: int
) -> int:
    """Write a row with its ties and terms; return its number. `row`: that number, or 0 for a new row."""
    # Inserted without a number: SQLite chooses one for a new row, and finds a known row by its key.
    connection.execute(PUT, (None, *key, version, bytes_of(body), changed, *columns(body)))
    if row:
        connection.execute(UNTIE, (row,))
    number = row or connection.last_insert_rowid()
    scope, kind, _ = key
    if ties := ties_of(body):
        connection.executemany(TIE, [(scope, kind, *tie, number) for tie in ties])
    if kind == Entity.row_kind:
        put_terms(connection, scope, number, None if body is None else count_terms(*body.name_and_text()))
    return number


def bytes_of(body: Body | None) -> bytes | None:
    """Return the bytes of a body; those of a vector without its components, which have their own column."""
    if isinstance(body, Vector):
        return encode_row(structs.replace(body, components=()))
    return None if body is None else encode_row(body)


def body_of(data: bytes, components: bytes | None) -> Body | None:
    """Return the body decoded from these bytes; None if they are damaged, or of a newer release."""
    return cached_body(data, components) if len(data) <= CACHED_BYTES_MAX else read_body(data, components)


def read_body(data: bytes, components: bytes | None) -> Body | None:
    try:
        body = decode_row(data)
    except Rejected:
        return None
    if isinstance(body, Vector):
        return structs.replace(body, components=tuple(array("b", components or b"")))
    return body


cached_body: Final = lru_cache(maxsize=CACHED_COUNT_MAX)(read_body)  # searches often find the same rows


def row_at(address: Address, found: Found, score_ppm: int | None = None) -> Row:
    _, version, data, components, _ = found
    assert data is not None
    return Row(address, version, body_of(data, components), score_ppm)


def columns(body: Body | None) -> tuple[Any, ...]:
    """Return type, time_ms, vector_missing, term_count and components of the row of this body."""
    match body:
        case Entity():
            term_count = sum(count_terms(*body.name_and_text()).values())
            return body.type, body.time_ms, int(body.vector_missing), term_count, None
        case Vector():
            return None, None, None, None, array("b", body.components).tobytes()
    return (None,) * 5


def ties_of(body: Body | None) -> list[tuple[str, str]]:
    """Return the ids in a row and the hashes of its tags, each with the name of its field."""
    if isinstance(body, Archival):
        # Hashed, since pages of an index are not searched for remains of deleted texts.
        return [("tags", text_hash(tag)) for tag in body.tags]
    found = ((field, getattr(body, field, None) or ()) for field in TIED)
    named = ((field, (ids,) if isinstance(ids, str) else ids) for field, ids in found)
    return [(field, value) for field, values in named for value in dict.fromkeys(values)]


def put_terms(connection: apsw.Connection, scope: int, row: int, counts: Mapping[str, int] | None) -> None:
    """Index the terms of a row by their `counts`; None if the row was deleted."""
    if counts is None:
        connection.execute("delete from word where rowid = ?", (row,))
        return
    tokens = " ".join(list_tokens(scope, counts))
    connection.execute("insert or replace into word (rowid, words) values (?, ?)", (row, tokens))


def list_tokens(scope: int, counts: Mapping[str, int]) -> list[str]:
    """Return the tokens of the word index for a row with these terms."""
    return [token(scope, term, n) for term, count in counts.items() for n in sorted({1, cap_count(count)})]


def token(scope: int, term: str, count: int) -> str:
    """Return the token of a term in the word index: scope, term in hex, and the count if it is over 1."""
    return f"{scope}x{term.encode().hex()}" + (f"n{count}" if count > 1 else "")


def cap_count(count: int) -> int:
    return min(count, OCCURRENCE_COUNT_MAX)


def texts_of(body: Body | None) -> frozenset[str]:
    """Return the texts of a body that must be erased if a newer body of the row lacks them."""
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

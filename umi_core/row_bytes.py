"""Rows as bytes, with the version of their kind, so that later releases can read them.

    data = encode_row(row.body)          when a batch is written
    body = decode_row(data)              when a row is read

Law 1. A row of an older version is read with defaults for the fields that were added later.
Law 2. A row of a newer version is refused with an error: unknown fields are never dropped.
Law 3. Any bytes give a body whose fields are in their domains, or a typed error.
"""

from typing import Any, Final

import msgpack

from umi_core.codec import STRICT, UNREADABLE, encode, revive_value
from umi_core.errors import BadVersion, Rejected, StateDamaged
from umi_core.ids import pack
from umi_core.rows import BODIES, Body, field_count, row_version
from umi_core.shapes import shape_of
from umi_core.text import show_value

NEWER: Final = "a newer release wrote this row, and can read it"


def encode_row(body: Body) -> bytes:
    """Return canonical bytes; equal bodies give equal bytes."""
    return pack([body.row_kind, row_version(body.__class__), encode(body)])


def decode_row(data: bytes) -> Body:
    """Return the body that this or an older release encoded. Raises Rejected(BadVersion, StateDamaged)."""
    try:
        return body_of(*msgpack.unpackb(data, **STRICT))
    except UNREADABLE as error:
        reason = str(error) or type(error).__name__
        raise Rejected(StateDamaged(f"not a stored row: {reason}")) from None


def body_of(kind: str, version: int, tree: bytes) -> Body:
    """Return the body; fields that its version lacks get their defaults. All others must be present."""
    cls: Any = BODIES.get(kind)
    if cls is None or type(version) is not int or version < cls.oldest:
        raise ValueError(f"no kind of row is {show_value(kind)}, version {show_value(version)}")
    if version > row_version(cls):
        raise Rejected(BadVersion(kind, str(version), f"at most {row_version(cls)}: {NEWER}"))
    # Count the fields before the body is built: its constructor would silently replace lost fields of a
    # damaged row by defaults.
    if len(msgpack.unpackb(tree, **STRICT)) - 1 != field_count(cls, version):  # the first item is the tag
        raise ValueError(f"{kind} has {field_count(cls, version)} fields in version {version}")
    body = msgpack.unpackb(tree, list_hook=revive_value, **STRICT)
    if problem := shape_of(cls)(body):
        raise ValueError(f"{kind}{problem}")
    # Only for the current version: a body of an older one now has more fields than its bytes.
    if version == row_version(cls) and encode(body) != tree:
        raise ValueError("not in canonical form")
    checked: Body = body
    return checked

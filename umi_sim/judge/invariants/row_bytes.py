"""Rows as bytes: rows that a storage writes as bytes are read as they were, and other bytes are refused.

Law 1. The first rows of each kind are looked at in each run, and some of those that come later.
Law 2. A row of an older version has the defaults of what came later; one of a newer version is refused.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgpack
import msgspec

from umi_core.errors import BadVersion, Error, Rejected, StateDamaged
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Address, Body, Row
from umi_sim.judge.observer import Observer
from umi_sim.record import rules
from umi_sim.record.broken import demand

# Encoding is the same for all rows of a kind: a few prove as much as all, at a fraction of the time.
OF_A_KIND_MAX: Final = 6
OF_A_LOOK_MAX: Final = 2


class RowBytes(Observer):
    """`seen`: the versions of the rows that were looked at; `counts`: how many, by kind."""

    seen: dict[Address, int] = {}
    counts: Counter[str] = msgspec.field(default_factory=Counter)

    def observe_rows(self, rows: Iterable[Row]) -> None:
        now: Counter[str] = Counter()
        for row in rows:
            kind = row.address.kind
            is_over = now[kind] == OF_A_LOOK_MAX or self.counts[kind] == OF_A_KIND_MAX
            if is_over or row.body is None or self.seen.get(row.address) == row.version:
                continue
            self.seen[row.address] = row.version
            now[kind] += 1
            self.counts[kind] += 1
            check_row_bytes(row.body)


def check_row_bytes(body: Body) -> None:
    data = encode_row(body)
    read = read_row(data)
    demand(read == body, rules.ROWS_AS_BYTES, f"a row of the kind {body.row_kind} as bytes", body, read)
    kind, version, tree = msgpack.unpackb(data)
    demand(kind == body.row_kind, rules.ROWS_AS_BYTES, "the kind of a row", body.row_kind, kind)
    check_refused(msgpack.packb([kind, version + 1, tree]), BadVersion)
    # version 0, a version that is a text, no kind, and a body that lacks its last byte
    unread = ([kind, 0, tree], [kind, str(version), tree], ["", version, tree], [kind, version, tree[:-1]])
    for spoiled in (*map(msgpack.packb, unread), data[:-1], data + b"\0", b""):
        check_refused(spoiled, StateDamaged)
    # Only if the last version added fields: else its bytes are those of the version before.
    if version > body.oldest and body.added[-1]:
        check_older(body, version - 1, msgpack.unpackb(tree))


def check_refused(data: bytes, error: type[Error]) -> None:
    read = read_row(data)
    demand(type(read) is error, rules.ROWS_AS_BYTES, f"bytes that are no row, {data!r}", error.__name__, read)


def check_older(body: Body, version: int, tree: list[Any]) -> None:
    """Check a row as the release before wrote it, and one that only claims to be of that version."""
    # version 3 has one field more than 2: bytes of version 2 lack it, and it gets its default
    count = body.added[version - 1]
    fields = [getattr(body, name) for name in body.__struct_fields__[:-count]]
    read, wanted = (
        read_row(msgpack.packb([body.row_kind, version, msgpack.packb(tree[:-count])])),
        type(body)(*fields),
    )
    demand(read == wanted, rules.ROWS_AS_BYTES, f"{body.row_kind} of version {version}", wanted, read)
    check_refused(msgpack.packb([body.row_kind, version, msgpack.packb(tree)]), StateDamaged)


def read_row(data: bytes) -> Body | Error:
    try:
        return decode_row(data)
    except Rejected as refused:
        return refused.errors[0]

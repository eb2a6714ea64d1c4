"""A scope as a file of lines, and back.

    {"umi": "export", "version": 1, "user": "ann", "agent": "helper"}
    {"kind": "entity", "id": "ent_...", "name": "Ann", "content": "likes tea", "row": "..."}
    {"row_count": 1}

Law 1. What counts is `row`, the bytes of umi_core.row_bytes; the rest is for the eye.
Law 2. A file is taken whole, into a scope that is empty, or not at all.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final

from umi_core.errors import Rejected
from umi_core.messages.effects import ByFilter, Commit, CountRows, Expect, Write
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import BODIES, Address, Entity, Row
from umi_core.values import Scope
from umi_live.errors import LiveError
from umi_live.sqlite import SqliteStorage

KINDS: Final = tuple(kind for kind in BODIES if kind not in ("epoch", "receipt"))  # those are of a life
FORM: Final = {"umi": "export", "version": 1}


def export_lines(storage: SqliteStorage, scope: Scope) -> Iterator[str]:
    """One line for each row. Raises LiveError for a row that is damaged."""
    yield json.dumps({**FORM, "user": scope.user, "agent": scope.agent}, ensure_ascii=False)
    count, cursor, is_left = 0, None, True
    while is_left:
        page = storage.read(0, ByFilter(scope, KINDS, cursor=cursor))
        for row in page.rows:
            yield json.dumps(line_of(row), ensure_ascii=False)
        count, cursor = count + len(page.rows), page.cursor
        is_left = cursor is not None
    yield json.dumps({"row_count": count})


def line_of(row: Row) -> dict[str, str]:
    body = row.body
    if body is None:
        raise LiveError(f"{row.address.kind} {row.address.id} is damaged; forget it, then export again")
    told = {"name": body.name, "content": body.content} if isinstance(body, Entity) else {}
    data = b64encode(encode_row(body)).decode()
    return {"kind": row.address.kind, "id": row.address.id, **told, "row": data}


def scope_of(line: str) -> Scope:
    """Of whom an export is. Raises LiveError."""
    head = read(line)
    if not isinstance(head, dict) or {key: head.get(key) for key in FORM} != FORM:
        raise LiveError("the file is no export of Umi; make one with `umi-live export`")
    return Scope(str(head.get("user")), str(head.get("agent")))


def import_rows(storage: SqliteStorage, scope: Scope, lines: Iterable[str], now_ms: int) -> int:
    """How many rows were taken: all that stand behind the first line. Raises LiveError."""
    rows = [read(line) for line in lines]
    if not rows or rows.pop() != {"row_count": len(rows)}:
        raise LiveError("the export is cut off; make it again")
    writes = tuple(write_of(scope, it) for it in rows)
    if storage.read(0, CountRows(scope, KINDS)).count:
        who = f"user {scope.user!r} and agent {scope.agent!r}"
        raise LiveError(f"{who} have a memory in this file already; nothing was taken")
    storage.commit(Commit(writes, tuple(Expect(it.address, 0) for it in writes)), now_ms)
    return len(writes)


def read(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise LiveError("the file is no export of Umi: a line is no JSON") from None


def write_of(scope: Scope, it: Any) -> Write:
    try:
        address, body = Address(scope, it["kind"], it["id"]), decode_row(b64decode(it["row"]))
    except (KeyError, TypeError, ValueError):
        raise LiveError("the file is no export of Umi: a line is no row") from None
    except Rejected as rejected:
        raise LiveError(f"a row cannot be read: {rejected}") from None
    if address.kind != body.row_kind or body.own_id() not in (None, address.id):
        told = f"{address.kind} {address.id} holds {body.row_kind} {body.own_id() or ''}".rstrip()
        raise LiveError(f"the export was changed: the line of {told}")
    return Write(address, body)

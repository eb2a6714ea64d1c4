"""Export a scope as a file of JSON lines, and import it.

    {"umi": "export", "version": 2, "user": "ann", "agent": "helper", "embedder": "hash-256:256"}
    {"kind": "entity", "id": "fct_...", "name": "Ann", "content": "Ann likes tea.", "row": "..."}
    {"row_count": 1}

Law 1. An import reads `kind`, `id` and `row`, the bytes of umi_core.row_bytes; the rest is for people.
Law 2. An import writes all rows of a file, into an empty scope, or none of them.
Law 3. The name of the embedder is exported with the vectors: a memory with another embedder embeds again.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final

from umi_core.data import Data
from umi_core.domains import bad_row_id, bad_scope
from umi_core.errors import Rejected
from umi_core.messages.effects import Commit, CountRows, Write
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import BODIES, Address, Row, fact_of
from umi_core.values import Scope
from umi_live.errors import LiveError
from umi_live.storage import SqlStorage, reporting_doubt

KINDS: Final = tuple(it for it in BODIES if it not in ("epoch", "receipt"))  # those belong to one incarnation
FORM: Final = {"umi": "export", "version": 2}  # in version 1 a row had all statements about an entity
OLDER: Final = "an older release wrote the export: import it there, then open that file with this release"


def export_lines(storage: SqlStorage, scope: Scope) -> Iterator[str]:
    """Yield the lines of an export with all rows of a scope. Raises LiveError for a damaged row."""
    owner = {"user": scope.user, "agent": scope.agent, "embedder": storage.embedder_of(scope)}
    yield json.dumps({**FORM, **owner}, ensure_ascii=False)
    count = 0
    for row in storage.read_all(scope, KINDS):
        yield json.dumps(line_of(row), ensure_ascii=False)
        count += 1
    yield json.dumps({"row_count": count})


def line_of(row: Row) -> dict[str, str]:
    body = row.body
    if body is None:
        raise LiveError(f"{row.address.kind} {row.address.id} is damaged; forget it, then export again")
    fact = fact_of(body)
    fields = {} if fact is None else {"name": fact.name, "content": fact.content}
    data = b64encode(encode_row(body)).decode()
    return {"kind": row.address.kind, "id": row.address.id, **fields, "row": data}


class Export(Data):
    """The rows of an export as writes; `embedder` is None if the file does not name one."""

    scope: Scope
    embedder: str | None
    writes: tuple[Write, ...]


def split_lines(text: str) -> list[str]:
    """Return the JSON lines of a text; `str.splitlines` would also split at U+2028 and U+0085 in strings."""
    return text.strip().split("\n")


def find_head(text: str) -> dict[str, Any] | None:
    """Return the first line of an export of any version as an object; None for any other text."""
    head = read_object(text.lstrip().partition("\n")[0])
    return head if head.get("umi") == FORM["umi"] else None


def read_object(line: str) -> dict[str, Any]:
    """Return the JSON object in a line; an empty one if the line has none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_export(lines: Sequence[str]) -> Export:
    """Parse the lines of an export. Raises LiveError for lines that `export_lines` cannot have written."""
    head = read_object(lines[0]) if lines else {}
    form = {key: head.get(key) for key in FORM}
    if form == {**FORM, "version": 1}:
        raise LiveError(OLDER)
    if form != FORM:
        raise LiveError("the file is no export of Umi; make one with `umi-live export`")
    scope, embedder = Scope(head.get("user", ""), head.get("agent", "")), head.get("embedder")
    error = bad_scope(scope) or (embedder is not None and bad_row_id("embedder", embedder))
    if error:
        raise LiveError(f"the first line of the export is wrong: {error}")
    try:
        rows = list(map(json.loads, lines[1:]))
    except (ValueError, RecursionError):
        raise LiveError("the file is no export of Umi: a line is no JSON") from None
    if not rows or rows.pop() != {"row_count": len(rows)}:
        raise LiveError("the export is cut off; make it again")
    writes = {it.address: it for it in (write_of(scope, row) for row in rows)}
    if len(writes) < len(rows):
        raise LiveError("the export was changed: it has a row twice")
    return Export(scope, embedder, tuple(writes.values()))


def import_rows(storage: SqlStorage, export: Export) -> int:
    """Write the rows of an export and return their number. Raises LiveError if the scope has rows."""
    scope, writes = export.scope, export.writes
    if storage.read(0, CountRows(scope, KINDS)).count:
        owner = f"user {scope.user!r} and agent {scope.agent!r}"
        raise LiveError(f"{owner} have a memory in this file already; nothing was imported")
    with reporting_doubt(storage):
        if export.embedder is not None:
            storage.adopt(scope, export.embedder)
        # No versions are expected: this process has the claim on the scope, so no other one writes to it.
        storage.commit(Commit(writes, ()), storage.clock_ms())
    return len(writes)


def write_of(scope: Scope, it: Any) -> Write:
    """Return the write for the row in a line. Raises LiveError."""
    try:
        address, body = Address(scope, it["kind"], it["id"]), decode_row(b64decode(it["row"], validate=True))
    except (KeyError, TypeError, ValueError):
        raise LiveError("the file is no export of Umi: a line is no row") from None
    except Rejected as rejected:
        raise LiveError(f"a row cannot be read: {rejected}") from None
    if error := bad_row_id("id", address.id):
        raise LiveError(f"the export was changed: {error}")
    if address.kind not in KINDS or address.kind != body.row_kind or body.own_id() not in (None, address.id):
        line = f"{address.kind} {address.id} holds {body.row_kind} {body.own_id() or ''}".rstrip()
        raise LiveError(f"the export was changed: the line of {line}")
    return Write(address, body)

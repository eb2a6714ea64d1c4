"""Rows that a memory writes: ranges of fields, vectors of texts, and rows as bytes.

Law 1. A written row has no field out of range, since it would count as damaged when read, and be lost.
Law 2. A commit that changes the text of a summary or a reflection stores the vector of the new text, or
deletes the old vector; a commit with the same text does not write its vector.
Law 3. A row stored as bytes is read back unchanged. Bytes of an older version give later fields their
defaults; bytes of a newer version, and invalid bytes, are refused. Each run checks a few rows of each kind.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgpack
import msgspec

from umi_core.errors import BadVersion, Error, Rejected, StateDamaged
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import Commit, Effect, Write
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Address, Body, Category, Reflection, Row
from umi_core.shapes import anything
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.plain.requests import is_damaged
from umi_sim.machines.protocol import Machine
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call


class WrittenRows(Observer):
    """Checks every row that a commit writes."""

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Commit):
                for write in effect.writes:
                    check_row(write)


def check_row(write: Write) -> None:
    body, address = write.body, write.address
    if body is None:
        return
    message = f"the kind of the row that is written as {address.id}"
    demand(body.row_kind == address.kind, rules.WHOLE_VALUES, message, address.kind, body.row_kind)
    wrong = anything(body)
    message = f"a field out of its range in the {address.kind} that is written as {address.id}"
    demand(not wrong, rules.WHOLE_VALUES, message, "", wrong)


# Texts that a model makes from others.


# By workflow, the step that reads the row with the text.
FIRST_READS: Final = {"summarise": "category", "reflect": "session"}


def text_of(body: object) -> str | None:
    if isinstance(body, Category):
        return body.summary
    return body.text if isinstance(body, Reflection) else None


class StatedTexts(Observer):
    """Checks law 2. `before`: by operation and id of a row, the text that the operation has read."""

    is_hooked: bool
    before: dict[str, dict[str, str]] = {}

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        if self.is_hooked or call.workflow not in FIRST_READS:
            return
        if isinstance(answer, ReadDone) and call.step == FIRST_READS[call.workflow]:
            rows = [row for row in answer.rows if not is_damaged(row)]
            texts = {row.address.id: text_of(row.body) for row in rows}
            self.before[call.op_id] = {key: text for key, text in texts.items() if text is not None}
        if isinstance(call.effect, Commit):
            self.check_writes(call.op_id, call.effect.writes)

    def check_writes(self, op_id: str, writes: tuple[Write, ...]) -> None:
        before = self.before.get(op_id, {})
        found_by = [it.address.id for it in writes if it.address.kind == "vector"]
        for key, text in ((it.address.id, text_of(it.body)) for it in writes):
            if text is None:
                continue
            is_new, is_written = before.get(key) != text, key in found_by
            message = f"whether {op_id} writes or deletes the vector of {key}"
            demand(is_new == is_written, rules.INDEX_FOLLOWS_ROW, message, is_new, is_written)


# Rows as bytes.

# All rows of a kind are encoded in the same way, so checking a few is enough and takes less time.
OF_A_KIND_MAX: Final = 6
OF_A_LOOK_MAX: Final = 2


class RowBytes(Observer):
    """Checks law 3. `seen`: the versions of the rows that were checked; `counts`: their number by kind."""

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
    demand(read == body, rules.ROWS_AS_BYTES, f"a {body.row_kind} row read back from its bytes", body, read)
    kind, version, tree = msgpack.unpackb(data)
    demand(kind == body.row_kind, rules.ROWS_AS_BYTES, "the kind in the bytes of a row", body.row_kind, kind)
    check_refused(msgpack.packb([kind, version + 1, tree]), BadVersion)
    # Version 0, a version that is a text, no kind, and a body without its last byte.
    unread = ([kind, 0, tree], [kind, str(version), tree], ["", version, tree], [kind, version, tree[:-1]])
    for spoiled in (*map(msgpack.packb, unread), data[:-1], data + b"\0", b""):
        check_refused(spoiled, StateDamaged)
    # Only if the last version added fields; otherwise its bytes equal those of the version before.
    if version > body.oldest and body.added[-1]:
        check_older(body, version - 1, msgpack.unpackb(tree))


def check_refused(data: bytes, error: type[Error]) -> None:
    read, message = read_row(data), f"what reading the invalid bytes {data!r} gives"
    demand(type(read) is error, rules.ROWS_AS_BYTES, message, error.__name__, read)


def check_older(body: Body, version: int, tree: list[Any]) -> None:
    """Check a row of the version before, and one with today's fields that claims to be of that version."""
    # If version 3 has one more field than version 2, that field gets its default from bytes of version 2.
    count = body.added[version - body.oldest]
    fields = [getattr(body, name) for name in body.__struct_fields__[:-count]]
    read = read_row(msgpack.packb([body.row_kind, version, msgpack.packb(tree[:-count])]))
    wanted = type(body)(*fields)
    message = f"a {body.row_kind} row read from bytes of version {version}"
    demand(read == wanted, rules.ROWS_AS_BYTES, message, wanted, read)
    check_refused(msgpack.packb([body.row_kind, version, msgpack.packb(tree)]), StateDamaged)


def read_row(data: bytes) -> Body | Error:
    try:
        return decode_row(data)
    except Rejected as refused:
        return refused.errors[0]

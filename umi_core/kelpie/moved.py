"""Conversion of an old server's rows into the memory's own: blocks, messages, and records with their notes.

    blocks      the id is the label, the content is the text
    messages    the content is a message as JSON in the wire format, or else the text of a user's message
    archival    the content is a record as JSON in the wire format, or else the text of a record

Law 1. Each message and each record becomes a row. JSON with a field that is neither in the wire format nor
       `at` is treated as plain text and kept byte for byte.
Law 2. Blocks that do not fit into core are named, and then nothing is planned.
Law 3. Rows are ordered by the times in them, then by id. A row without a time gets the current time.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.engine.facts import View
from umi_core.errors import Error
from umi_core.ids import block_id, log_id
from umi_core.json_text import whole_json
from umi_core.kelpie.domains import FIELDS, bad_api_label, has_text, is_message
from umi_core.kelpie.errors import LabelTaken
from umi_core.kelpie.rows import Archival, Log, Message
from umi_core.language import times
from umi_core.language.extraction import notes_of_text
from umi_core.limits import NOW_MS_MAX, UNREADABLE_SHOWN_MAX
from umi_core.messages.effects import Expect, Write
from umi_core.policies.routing import table_decision
from umi_core.rows import Address, Body, Core, Epoch, Row, body_as
from umi_core.text import tidy
from umi_core.tiers.core import CoreTier, CoreWrite, set_block
from umi_core.tiers.rendering import find_authored, slot_of
from umi_core.values import USER, Pairs, Scope
from umi_core.workflows.commits import Plan, address, core_of
from umi_core.workflows.drafting import PLACES, SharedOptions, add_source, chain_drafts, id_of, look_up_fact

LOG_OF: Final[Mapping[str, str]] = {"messages": "message", "archival": "archival"}
Rows = dict[Address, Row]


def list_own(kind: str, texts: Pairs, scope: Scope) -> tuple[Address, ...]:
    """List the addresses of the memory's rows that the conversion of these (id, content) pairs depends on."""
    guard = address(scope, "log", LOG_OF[kind]) if kind in LOG_OF else address(scope, "core")
    records = [text for _, text in texts] if kind == "archival" else []
    notes = (note for text in records for note in notes_of_text(read_record(text, 0).content))
    facts = (address(scope, place, id_of(note, scope)) for note in notes for place in PLACES)
    return tuple(dict.fromkeys((address(scope, "epoch"), guard, *facts)))


def place_row(kind: str, own_id: str, text: str) -> tuple[int, str]:
    """Return the sort key of a row; a row without a time comes after all others."""
    return READ[kind](text, NOW_MS_MAX).at_ms if kind in READ else 0, own_id


def plan_arrival(kind: str, texts: Pairs, own: tuple[Row, ...], view: View) -> Plan | str:
    """Return the plan that converts these rows into the memory's own, or a text saying what prevents it.

    `own`: the existing rows among those of `list_own`.
    """
    before = {row.address: row for row in own}
    epoch = body_as(before.get(address(view.scope, "epoch")), Epoch)
    if epoch is not None and epoch.is_closed:
        return "an open agent: this one was deleted"
    after = before.copy()
    if kind in LOG_OF:
        add_to_log(kind, texts, after, view)
    elif missing := add_blocks(texts, after, view):
        return missing
    versions = {row.address: row.version for row in own}
    expects = (Expect(it, versions.get(it, 0)) for it in list_own(kind, texts, view.scope))
    changed = (Write(it, row.body) for it, row in after.items() if before.get(it) is not row)
    removed = (Write(it, None) for it in before if it not in after)
    return Plan(view.now_ms, (*changed, *removed), tuple(expects))


def put_row(rows: Rows, where: Address, body: Body) -> None:
    rows[where] = Row(where, 0, body)  # storage assigns the version


# Blocks.


def add_blocks(texts: Pairs, rows: Rows, view: View) -> str:
    """Add blocks to core; return a text that names the blocks that do not fit, empty if all fit."""
    core, too_large = core_of(rows, view.scope), list[str]()
    for label, text in texts:
        done = add_block(core, label, text, view)
        if isinstance(done, CoreWrite):
            core = done.core
        else:
            too_large.append(f"{label} ({done})")
    if texts and not too_large:
        put_row(rows, address(view.scope, "core"), Core(core.blocks))
    shown = ", ".join(too_large[:UNREADABLE_SHOWN_MAX])
    return f"a place in core for {len(too_large)} of {len(texts)}: {shown}" if too_large else ""


def add_block(core: CoreTier, label: str, text: str, view: View) -> CoreWrite | Error:
    """Add a block without a sheet, as `set_block` does; its first edit will record the text as imported."""
    if (error := bad_api_label("label", label)) is not None:
        return error
    if (found := find_authored(core, label, view.scope)) is not None:
        shown, there = found
        return LabelTaken(shown, block_id(view.scope, there.kind, there.label))
    kind, own_label = slot_of(tidy(label), None)
    return set_block(core, kind, text, own_label, None, {}, view.config, USER)


# Messages and records.


def add_to_log(kind: str, texts: Pairs, rows: Rows, view: View) -> None:
    """Add rows under the next numbers of their log; add the sentences of records as notes."""
    where = address(view.scope, "log", LOG_OF[kind])
    log = body_as(rows.get(where), Log) or Log(LOG_OF[kind], 1)
    for seq, (_, text) in enumerate(texts, log.next_seq):
        body = READ[kind](text, view.now_ms, seq)
        put_row(rows, address(view.scope, log.name, body.id), body)
        if isinstance(body, Archival):
            add_notes(body, rows, view)
    put_row(rows, where, structs.replace(log, next_seq=log.next_seq + len(texts)))


def add_notes(record: Archival, rows: Rows, view: View) -> None:
    """Add each sentence of a record as a fact with the record as its source, as done without a model."""
    options = SharedOptions(record.at_ms if record.at_ms < view.now_ms else None)
    known = (look_up_fact(note, options, rows, view) for note in notes_of_text(record.content))
    notes = [add_source(record.id, draft, view.now_ms) for draft in known]
    for draft in chain_drafts(notes, record.content, None):
        fact = draft.entity
        if draft.is_changed:  # a later scan of the memory adds its vector
            fact = structs.replace(fact, block=table_decision(fact).block, vector_missing=True)
        put_row(rows, address(view.scope, "entity", fact.id), fact)
        rows.pop(address(view.scope, "ended", fact.id), None)


def read_message(text: str, now_ms: int, seq: int = 1) -> Message:
    fields, at_ms = read_fields(text, FIELDS, now_ms)
    parts = tuple((name, fields[name]) for name in FIELDS if name in fields)
    if not (has_text(parts) and is_message(parts)):
        parts, at_ms = (("role", "user"), ("content", text)), now_ms
    (_, role), (_, content), *details = parts
    return Message(log_id("message", seq), seq, role, content, tuple(details), at_ms)


def read_record(text: str, now_ms: int, seq: int = 1) -> Archival:
    fields, at_ms = read_fields(text, ("content", "tags", "metadata"), now_ms)
    content, tags, metadata = fields.get("content"), fields.get("tags", []), fields.get("metadata", {})
    plain = Archival(log_id("archival", seq), seq, text, (), (), now_ms)
    if not (content and isinstance(tags, list) and isinstance(metadata, dict)):
        return plain
    pairs = tuple(metadata.items())
    record = structs.replace(plain, content=content, tags=tuple(tags), metadata=pairs, at_ms=at_ms)
    return record if record.is_sound else plain


def read_fields(text: str, names: tuple[str, ...], now_ms: int) -> tuple[dict[str, Any], int]:
    """Return the fields of a JSON object and its time (now if it has none).

    Return no fields if the text is no object, has a field other than `names` and `at`, or an invalid time.
    """
    found = whole_json(text)
    if not isinstance(found, dict) or not found.keys() <= {*names, "at"}:
        return {}, now_ms
    at = found.pop("at", None)
    if at is None:
        return found, now_ms
    at_ms = times.instant(at, is_end=False) if isinstance(at, str) else None
    return (found, at_ms) if at_ms is not None and 0 <= at_ms <= NOW_MS_MAX else ({}, now_ms)


READ: Final[Mapping[str, Callable[..., Message | Archival]]] = {
    "messages": read_message, "archival": read_record,
}  # fmt: skip

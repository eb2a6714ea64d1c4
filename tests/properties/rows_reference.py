"""Read rows and saved states field by field without the domains of the memory: which values a field may hold.

Written a second time, from docs/spec.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.properties.requests_reference import are_tags, is_message
from tests.properties.text_reference import CONTROLS, UNWRITABLE, byte_count, has_any, is_text, tidy
from umi_core import limits
from umi_core.declared import Incomplete
from umi_core.rows import BODIES, Entity
from umi_core.values import (
    BLOCK_KINDS,
    ENTITY_TYPES,
    EVOLUTION_KINDS,
    MEMORY_TYPES,
    MODALITIES,
    Block,
    Entry,
    Period,
    RoutingDecision,
)

# Bodies of rows that a memory may believe: each field in its range, as docs/spec/memory.md gives them.
#
# Written a second time, field by field and without the domains of the memory. Other rows are damaged.


Fits = Callable[[Any], bool]


def number(low: int, high: int = limits.I64_MAX) -> Fits:
    return lambda value: type(value) is int and low <= value <= high


def text(bytes_max: int) -> Fits:
    return lambda value: is_text(value) and byte_count(value) <= bytes_max


def word(*known: str) -> Fits:
    return lambda value: isinstance(value, str) and value in known


def or_none(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def each(fits: Fits) -> Fits:
    return lambda value: type(value) is tuple and all(map(fits, value))


def are_fact_texts(value: object) -> bool:
    return each(is_text)(value) and len(value) <= 100  # type: ignore[arg-type]  # it is a tuple


def are_carried(value: object) -> bool:
    return type(value) is tuple and value != () and all(it in CARRIED for it in value)


def pair(first: Fits, second: Fits) -> Fits:
    return lambda value: type(value) is tuple and len(value) == 2 and first(value[0]) and second(value[1])


def of_type(cls: type) -> Fits:
    return lambda value: type(value) is cls


def is_id(value: object) -> bool:
    return isinstance(value, str) and is_text(value) and 1 <= len(value) <= limits.SCOPE_PART_BYTES_MAX


def is_member(value: object) -> bool:
    good = isinstance(value, str) and is_text(value) and not has_any(value, CONTROLS)
    return good and 1 <= byte_count(str(value)) <= limits.SCOPE_PART_BYTES_MAX


def is_metadata(value: Any) -> bool:
    if not METADATA_PAIRS(value):
        return False
    return len({key: None for key, _ in value}) == len(value) <= limits.METADATA_COUNT_MAX


def is_label(value: Any) -> bool:
    if not is_text(value):
        return False
    kept = tidy(value)
    is_short = byte_count(kept) <= limits.BLOCK_LABEL_BYTES_MAX
    return is_short and not has_any(kept, CONTROLS) and not has_any(kept, UNWRITABLE)


def are_blocks(value: Any) -> bool:
    """Return True for blocks in order, none twice, none empty; each entry is in one, and under no label."""
    if not each(lambda it: type(it) is Block and has_all(it, BLOCK) and is_filled(it))(value):
        return False
    places = [(BLOCK_KINDS.index(it.kind), it.label.encode()) for it in value]
    ids = [entry.entity_id for it in value for entry in it.entries]
    # `sorted(set(...))` demands both at once: in order, and none twice.
    return places == sorted(set(places)) and len(ids) == len(dict.fromkeys(ids))


def is_filled(block: Block) -> bool:
    times = [(entry.promoted_ms, entry.entity_id) for entry in block.entries]
    if times and (block.label or block.kind == "system"):
        return False
    return bool(times or block.text is not None) and times == sorted(set(times))


SHARE: Final = number(0, limits.PPM)
TIME: Final = number(0)
COUNT: Final = number(0)
VERSION: Final = number(1)
METADATA_TEXT: Final = text(limits.METADATA_BYTES_MAX)
METADATA_PAIRS: Final = each(pair(METADATA_TEXT, METADATA_TEXT))
NAME: Final = text(limits.ENTITY_NAME_BYTES_MAX)
CONTENT: Final = text(limits.ENTITY_CONTENT_BYTES_MAX)
WORD: Final = text(limits.REPLY_BYTES_MAX)
END: Final = pair(is_id, number(0))
BYTES: Final = of_type(bytes)
CARRIED: Final = ("keys", "messages", "facts")
CHANGES: Final = (
    "created", "set", "appended", "replaced", "described", "imported", "deleted", "unchanged",
)  # fmt: skip
NOTHING_SAID: Final = (("role", "user"), ("content", ""))

ENTRY: Final[Mapping[str, Fits]] = {
    "entity_id": is_id, "version": VERSION, "name": NAME, "text": text(limits.ENTRY_TEXT_BYTES_MAX),
    "promoted_ms": COUNT,
}  # fmt: skip
PERIOD: Final[Mapping[str, Fits]] = {
    "since_ms": TIME, "until_ms": TIME, "by": is_id, "how": word("update", "contradict"),
}  # fmt: skip
BLOCK: Final[Mapping[str, Fits]] = {
    "kind": word(*BLOCK_KINDS), "label": is_label, "text": or_none(text(limits.BLOCK_BYTES_MAX)),
    "importance_ppm": SHARE, "entries": each(lambda it: type(it) is Entry and has_all(it, ENTRY)),
}  # fmt: skip
MOVED: Final = word("blocks", "messages", "archival")
FIELDS: Final[Mapping[str, Mapping[str, Fits]]] = {
    "entity": {
        "id": is_id, "type": word(*ENTITY_TYPES), "name": NAME, "content": CONTENT, "version": VERSION,
        "importance_ppm": SHARE, "confidence_ppm": SHARE, "block": word(*BLOCK_KINDS[1:]),
        "created_ms": TIME, "updated_ms": TIME, "event_time_ms": or_none(TIME), "metadata": is_metadata,
        "source": or_none(is_id), "vector_missing": of_type(bool), "relation_count": COUNT,
        "contradicts": each(is_text), "memory_type": or_none(word(*MEMORY_TYPES)), "sources": each(is_text),
        "reinforced_count": COUNT, "last_reinforced_ms": or_none(TIME), "about": each(is_text),
        "is_direct": of_type(bool), "others": each(is_text), "follows": or_none(is_id),
        "periods": each(lambda it: type(it) is Period and has_all(it, PERIOD)),
    },
    "resource": {
        "id": is_id, "modality": word(*MODALITIES), "text": CONTENT, "text_hash": WORD, "caption": WORD,
        "first_line": COUNT, "last_line": COUNT, "created_ms": TIME, "updated_ms": TIME,
        "uri": or_none(is_id), "parent_id": or_none(is_id), "position": COUNT,
        "extracted_types": each(is_text), "pending": each(is_text), "happened_ms": or_none(TIME),
        "description": CONTENT,
        "session_id": or_none(is_id),
    },
    "reflection": {
        "id": is_id, "session_id": is_id, "text": CONTENT, "sources": each(END), "started_ms": TIME,
        "ended_ms": TIME, "created_ms": TIME, "updated_ms": TIME, "degraded": of_type(bool),
        "pending": of_type(bool),
    },
    "category": {
        "id": is_id, "name": NAME, "description": WORD, "member_count": COUNT, "created_ms": TIME,
        "updated_ms": TIME, "summary": CONTENT, "summary_sources": each(END),
        "summary_dirty": of_type(bool), "subcategory_ids": each(is_text), "evolved_digest": WORD,
        "evolved_ms": or_none(TIME),
    },
    "membership": {
        "id": is_id, "entity_id": is_id, "entity_version": VERSION, "category_id": is_id,
        "assigned_by": word("model", "default", "user"), "created_ms": TIME,
        "subcategory_id": or_none(is_id),
        "confidence_ppm": or_none(SHARE), "keywords_matched": each(is_text),
    },
    "subcategory": {
        "id": is_id, "category_id": is_id, "founder_id": is_id, "name": NAME,
        "named_by": word("model", "keywords"), "keywords": each(is_text), "created_ms": TIME,
        "updated_ms": TIME,
    },
    "ended": {
        "id": is_id, "fact": lambda value: type(value) is Entity and has_all(value, FIELDS["entity"]),
        "by": is_id, "how": word("update", "contradict"), "at_ms": TIME,
    },
    "relation": {
        "id": is_id, "kind": word(*EVOLUTION_KINDS), "source": END, "target": END,
        "confidence_ppm": SHARE, "reason": text(limits.RELATION_REASON_BYTES_MAX), "by": WORD, "at_ms": TIME,
    },
    "vector": {"entity_id": is_id, "version": VERSION, "components": each(number(-127, 127))},
    "access": {
        "entity_id": is_id, "type": word(*ENTITY_TYPES), "importance_ppm": SHARE, "count": COUNT,
        "first_ms": TIME, "last_ms": TIME,
    },
    "epoch": {"claimed_ms": TIME, "is_closed": of_type(bool), "held_by": COUNT},
    "head": {"cursor": WORD},
    "core": {"blocks": are_blocks},
    "receipt": {
        "key": WORD, "request_digest": BYTES, "plan_digest": BYTES, "at_ms": TIME, "by": pair(COUNT, COUNT),
    },
    "session": {
        "id": is_id, "user": WORD, "creator": WORD, "members": each(is_member), "saved_ms": TIME,
        "saved_by": WORD, "snapshot": BYTES, "carries": are_carried, "fact_ids": each(is_text),
        "left_out_count": COUNT,
    },
    "grant": {"readers": each(is_member)},
    "sheet": {
        "id": is_id, "kind": word(*BLOCK_KINDS), "label": is_label, "version": VERSION, "text_hash": WORD,
        "description": text(4_096), "limit_bytes": COUNT, "read_only": of_type(bool), "created_ms": TIME,
        "updated_ms": TIME,
    },
    "change": {
        "block_id": is_id, "version": VERSION, "change": word(*CHANGES), "author": word("user", "model"),
        "at_ms": TIME, "size_bytes": COUNT, "text": CONTENT, "is_erased": of_type(bool),
    },
    "message": {
        "id": is_id, "seq": VERSION, "role": word("user", "assistant", "system", "tool"), "content": CONTENT,
        "details": lambda value: type(value) is tuple and is_message((*NOTHING_SAID, *value)), "at_ms": TIME,
    },
    "archival": {
        "id": is_id, "seq": VERSION, "content": CONTENT, "tags": are_tags, "metadata": is_metadata,
        "at_ms": TIME,
    },
    "log": {"name": word("message", "archival"), "next_seq": VERSION, "first_seq": VERSION},
    "moved": {"id": WORD, "kind": MOVED, "content": or_none(CONTENT)},
    "moved_key": {"id": WORD, "kind": MOVED, "row_id": WORD, "content": or_none(CONTENT)},
    "moved_begun": {
        "id": WORD, "kind": MOVED, "row_id": WORD, "before": or_none(CONTENT), "content": or_none(CONTENT),
    },
    "outbox": {"id": WORD, "kind": MOVED},
    "phase": {
        "kind": MOVED,
        "phase": word("legacy", "dual_write", "dual_read", "umi_primary", "cleanup", "done", "rolling_back",
                      "handing_over"),
    },
}  # fmt: skip
ANYTHING: Final = (("receipt", "value"),)
"""Fields that are judged where they are read, or may be anything."""


def check_kinds(bodies: Mapping[str, Any]) -> None:
    """Raise Incomplete if rows of one of these kinds, or one of their fields, have no check."""
    for kind, cls in bodies.items():
        known = [*FIELDS.get(kind, ()), *(name for of, name in ANYTHING if of == kind)]
        if unread := [name for name in cls.__struct_fields__ if name not in known]:
            message = f"rows of kind {kind} are unknown to the judge in {', '.join(unread)}"
            raise Incomplete(f"{message}: add them to FIELDS in tests/properties/rows_reference.py")


# At import, so that a new field of a row cannot stay unjudged.
check_kinds(BODIES)


def has_all(value: object, fields: Mapping[str, Fits]) -> bool:
    return all(fits(getattr(value, name)) for name, fits in fields.items())


def is_fit(body: Any) -> bool:
    """Return True if each field holds what it may; rows of other kinds may hold anything."""
    return has_all(body, FIELDS.get(body.row_kind, {}))


def list_unfit(body: Any) -> list[str]:
    """List the fields with values that they may not have."""
    return [name for name, fits in FIELDS.get(body.row_kind, {}).items() if not fits(getattr(body, name))]


# Saved states that a memory may go on with, by their fields, as docs/spec gives them.
#
# Law 1. The memory has nothing in flight; what holds between its parts is not for this table.


NOW_MS_MAX: Final = 2**53 - 1
SHORT_BYTES_MAX: Final = 200
NAMES_BYTES_MAX: Final = 4_096
REQUEST_COUNT_MAX: Final = 2**52 - 1


def table(fits: Fits) -> Fits:
    return lambda value: (
        isinstance(value, Mapping) and all(map(is_text, value)) and all(map(fits, value.values()))
    )


def is_short_text(value: Any) -> bool:
    return is_text(value) and byte_count(value) <= SHORT_BYTES_MAX


def is_ascii_id(value: Any) -> bool:
    is_plain = is_text(value) and all(char < "\x80" for char in value)
    return is_plain and 1 <= len(value) <= limits.SCOPE_PART_BYTES_MAX


def are_names(value: Any) -> bool:
    """Return True for as many names as a reserved key can show as a list in JSON."""
    if not each(is_text)(value):
        return False
    return byte_count(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) <= NAMES_BYTES_MAX


def is_decision(value: Any) -> bool:
    return type(value) is RoutingDecision and all(fits(getattr(value, it)) for it, fits in DECISION.items())


I64: Final = number(limits.I64_MIN)
MOMENT: Final = number(0, NOW_MS_MAX)
DECISION: Final[Mapping[str, Fits]] = {
    "entity_id": is_text, "block": word(*BLOCK_KINDS[1:]), "promote": of_type(bool),
    "confidence_ppm": or_none(I64), "reason": is_text, "routed_by": is_text, "cause": or_none(is_text),
    "outcome": is_text,
}  # fmt: skip
STATE_FIELDS: Final[Mapping[str, Fits]] = {
    "seen_ms": MOMENT, "phase": word("ready", "over_limit", "closed", "fenced"), "epoch": number(1),
    "operation_count": COUNT, "request_count": number(0, REQUEST_COUNT_MAX), "turn_count": COUNT,
    "committed_count": COUNT, "counters": table(I64),
    "tiers.decisions": each(is_decision), "tiers.divisions": table(MOMENT), "tiers.upkeep": table(MOMENT),
    "tiers.core.blocks": are_blocks, "tiers.core.guard_version": COUNT,
    "tiers.working.used_bytes": number(0, 0), "tiers.working.expired_count": COUNT,
    "tiers.session.session_id": or_none(is_ascii_id), "tiers.session.started_ms": or_none(I64),
    "tiers.session.interaction_count": COUNT, "tiers.session.last_input": or_none(is_short_text),
    "tiers.session.last_query": or_none(is_short_text), "tiers.session.names": are_names,
    "tiers.session.version": COUNT, "tiers.session.creator": is_text,
    "tiers.session.members": each(is_member), "tiers.session.load_count": COUNT,
    "tiers.session.fact_ids": are_fact_texts, "tiers.session.left_out_count": COUNT,
    "tiers.access.unsaved": table(lambda value: value is None), "tiers.access.cursor": is_text,
    "tiers.access.head_version": COUNT, "tiers.access.is_due": of_type(bool), "tiers.access.ran_ms": MOMENT,
    "tiers.access.touch_count": COUNT, "tiers.access.forgotten": each(is_text),
    "tiers.access.versions": table(pair(COUNT, I64)), "tiers.access.repair_cursor": is_text,
}  # fmt: skip
"""By the path from the state."""

"""Read requests field by field without the domains of the memory; name the error of the first wrong field.

Written a second time, from docs/spec.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.properties.hierarchy_reference import lines_of, mute_messages, places
from tests.properties.text_reference import (
    CONTROLS,
    UNWRITABLE,
    byte_count,
    has_any,
    is_text,
    line_ends,
    show_value,
    tidy,
)
from umi_core import errors, limits
from umi_core.declared import Incomplete
from umi_core.errors import BadFilterValue, BadOption, Error, UnknownField, UnknownOperator
from umi_core.kelpie.errors import BadCursor, BadLabel, BadMessages
from umi_core.kelpie.requests import SearchMessages
from umi_core.messages.requests import (
    ALL,
    Memorize,
    Recall,
    Request,
    SetBlock,
    ShareArchive,
    arguments_of,
)
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, MEMORY_TYPES, MODALITIES, Turn
from umi_sim.judge.plain.requests import HOLDS, KINDS_OF, OF_SCOPE

# Errors in the fields of a request of an agent server, whatever the memory holds.


Wrong = Callable[[str, Any], Error | None]
ROLES: Final = ("user", "assistant", "system", "tool")
MESSAGE_FIELDS: Final = ("role", "content", "tool_call_id", "tool_name", "arguments", "tool_return", "status")


def valid_option(good: Callable[[Any], bool]) -> Wrong:
    return lambda name, value: None if good(value) else errors.BadOption(name, show_value(value), "")


def of_bytes(limit_bytes: int) -> Wrong:
    def wrong(name: str, value: object) -> Error | None:
        good = is_text(value) and byte_count(str(value)) <= limit_bytes
        return None if good else errors.BadText(name, show_value(value), "")

    return wrong


def one_word(*known: str) -> Wrong:
    return valid_option(lambda value: value in known)


def label(name: str, value: object) -> Error | None:
    text = tidy(value) if isinstance(value, str) and is_text(value) else None
    if text is None or has_any(text, CONTROLS) or has_any(text, UNWRITABLE):
        return errors.BadText(name, show_value(value), "")
    if byte_count(text) > limits.BLOCK_LABEL_BYTES_MAX:
        return errors.LabelTooLong(byte_count(text), limits.BLOCK_LABEL_BYTES_MAX)
    is_id = text.startswith("blk_") or "/" in text or text == ""
    return BadLabel(show_value(value)) if is_id else None


def messages(name: str, value: object) -> Error | None:
    if isinstance(value, tuple) and len(value) <= 100:
        mute = [n for n, it in enumerate(value) if not has_text(it)]
        if mute:
            return errors.UnreadableMessages(len(mute), len(value), places(mute))
    good = isinstance(value, tuple) and 0 < len(value) <= 100 and all(is_message(it) for it in value)
    return None if good else BadMessages(name, show_value(value), "")


def has_text(value: Any) -> bool:
    """Return True if a message has a role, a content, and in one of its parts a text that is not blank."""
    if not isinstance(value, tuple) or any(not isinstance(it, tuple) or len(it) != 2 for it in value):
        return False
    parts = [(name, text) for name, text in value if isinstance(name, str)]
    last = dict(parts)
    if not is_text(last.get("role")) or not is_text(last.get("content")):
        return False
    return any(is_text(text) and text.strip() != "" for name, text in last.items() if name != "role")


def is_message(value: Any) -> bool:
    if not isinstance(value, tuple) or not all(isinstance(it, tuple) and len(it) == 2 for it in value):
        return False
    if not all(is_text(text) and byte_count(text) <= 100_000 for part in value for text in part[1:]):
        return False
    # Each field once and in this order, beginning with role and content: a message has one spelling.
    names = [part[0] for part in value]
    places = [MESSAGE_FIELDS.index(it) for it in names if it in MESSAGE_FIELDS]
    return len(places) == len(names) and places == sorted(set(places)) and places[:2] == [0, 1] and (
        value[0][1] in ROLES
    )  # fmt: skip


def are_tags(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) > 100:
        return False
    are_texts = all(is_text(it) and 0 < byte_count(it) <= 256 for it in value)
    return are_texts and len(set(value)) == len(value)


def record_cursor(name: str, value: object) -> Error | None:
    digits = value[4:] if isinstance(value, str) and value[:4] == "arc_" else ""
    good = len(digits) == 12 and all(char in "0123456789" for char in digits)
    return None if good else BadCursor(show_value(value))


def moved_id(name: str, value: object) -> Error | None:
    return NAME(name, value) or (errors.BadOption(name, show_value(value), "") if value == "" else None)


FLAG: Final = valid_option(lambda value: type(value) is bool)
NUMBER: Final = valid_option(lambda value: type(value) is int and 1 <= value <= limits.I64_MAX)
NAME: Final = of_bytes(limits.SCOPE_PART_BYTES_MAX)

API_WRONG: Final[Mapping[str, Wrong]] = {
    "api_label": label,
    **dict.fromkeys(("block_name", "block_key", "record_id"), NAME),
    "author": one_word("user", "model"),
    "piece": of_bytes(limits.TEXT_BYTES_MAX),
    "description": of_bytes(4_096),
    **dict.fromkeys(("block_limit", "seq"), NUMBER),
    "skip": valid_option(lambda value: type(value) is int and 0 <= value <= 1_000),
    "messages": messages,
    "tags": valid_option(are_tags),
    "record_cursor": record_cursor,
    "system_text": of_bytes(100_000),
    "prompt_form": one_word("xml", "markdown", "tagged"),
    "switch": FLAG,
    "kind_of_block": one_word(*BLOCK_KINDS),
    "moved_kind": one_word("blocks", "messages", "archival"),
    "moved_table": one_word("blocks", "archival"),
    "moved_log": one_word("messages"),
    "moved_id": moved_id,
    "phase": one_word("legacy", "dual_write", "dual_read", "umi_primary", "cleanup", "done", "rolling_back"),
}  # fmt: skip
"""By domain."""


def wrong_filter(name: str, given: object) -> Error | None:
    """Return the first error of a filter."""
    if type(given) is not tuple or len(given) > 20:
        return BadFilterValue(name, show_value(given), "")
    for each in given:
        if type(each) is not tuple or len(each) != 3:
            return BadFilterValue(name, show_value(each), "")
        field, how, value = each
        if type(field) is not str or field not in (*KINDS_OF, *OF_SCOPE):
            return UnknownField(name, show_value(field), "")
        if type(how) is not str or how not in HOLDS:
            return UnknownOperator(name, show_value(how), "")
        if not is_comparable(field, how, value):
            return BadFilterValue(name, show_value(value), "")
    return None


def is_comparable(field: str, how: str, value: object) -> bool:
    if how in ("lt", "lte", "gt", "gte"):
        return is_count(value)
    if how in ("contains", "has_key"):
        is_pair = field == "metadata" and how == "contains" and type(value) is tuple and len(value) == 2
        return all(map(is_short, value)) if is_pair and type(value) is tuple else is_short(value)
    if how in ("in", "not_in"):
        return type(value) is tuple and len(value) <= 100 and all(map(is_single, value))
    return is_single(value)


def is_single(value: object) -> bool:
    return value is None or type(value) is bool or is_count(value) or is_short(value)


def is_count(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def is_short(value: object) -> bool:
    return is_text(value) and byte_count(str(value)) <= limits.QUERY_BYTES_MAX


# Errors of a request, whatever the memory holds: read from its fields, in their order.
#
# A domain that is unknown here says so when this module is imported; a request of known domains
# needs no row.


I64: Final = (-(2**63), 2**63 - 1)
RESERVED: Final = "__"
ALL_LEVELS: Final = ("categories", "entities", "reflections", "resources")


def is_number(value: object, low: int = I64[0], high: int = I64[1]) -> bool:
    return type(value) is int and low <= value <= high


def number(error: Callable[[str, str], Error], low: int = I64[0], high: int = I64[1]) -> Wrong:
    """Return a check for a whole number in this range, and no flag."""
    return lambda name, value: None if is_number(value, low, high) else error(name, show_value(value))


def option(kind: type[errors.BadOption]) -> Callable[[str, str], Error]:
    return lambda name, value: kind(name, value, "")


def key(name: str, value: object) -> Error | None:
    if not is_text(value) or not isinstance(value, str):
        return errors.BadText(name, show_value(value), "")
    is_long = byte_count(value) > limits.WORKING_KEY_BYTES_MAX
    return errors.KeyTooLong(byte_count(value), limits.WORKING_KEY_BYTES_MAX) if is_long else None


def stored_key(name: str, value: object) -> Error | None:
    is_reserved = is_text(value) and str(value).startswith(RESERVED)
    return errors.ReservedKey(str(value)) if is_reserved else key(name, value)


def raw(name: str, value: object) -> Error | None:
    return None if type(value) is bytes else errors.BadOption(name, show_value(value), "")


def body(limit_bytes: int, empty: type[Error], too_long: type[errors.TooLong]) -> Wrong:
    """Return a check for a text that is not blank, of at most so many bytes."""

    def wrong(name: str, value: object) -> Error | None:
        if not is_text(value) or not isinstance(value, str):
            return errors.BadText(name, show_value(value), "")
        if value.strip() == "":
            return empty()
        return too_long(byte_count(value), limit_bytes) if byte_count(value) > limit_bytes else None

    return wrong


def block_kind(name: str, value: object) -> Error | None:
    return None if type(value) is str and value in BLOCK_KINDS else errors.BadKind(show_value(value))


def block_label(name: str, value: object) -> Error | None:
    text = tidy(value) if is_text(value) and isinstance(value, str) else None
    if text is None or has_any(text, CONTROLS) or has_any(text, UNWRITABLE):
        return errors.BadText(name, show_value(value), "")
    is_long = byte_count(text) > limits.BLOCK_LABEL_BYTES_MAX
    return errors.LabelTooLong(byte_count(text), limits.BLOCK_LABEL_BYTES_MAX) if is_long else None


def block_text(name: str, value: object) -> Error | None:
    good = is_text(value) and isinstance(value, str) and not has_any(value, UNWRITABLE)
    return None if good else errors.BadText(name, show_value(value), "")


def short_text(kind: type[errors.BadOption], limit: int, count: Callable[[str], int]) -> Wrong:
    def wrong(name: str, value: object) -> Error | None:
        good = is_text(value) and isinstance(value, str) and 0 < count(value) <= limit
        return None if good else kind(name, show_value(value), "")

    return wrong


def scope_part(name: str, value: object) -> Error | None:
    good = is_text(value) and isinstance(value, str) and not has_any(value, CONTROLS)
    is_short = good and 0 < byte_count(str(value)) <= limits.SCOPE_PART_BYTES_MAX
    return None if is_short else errors.BadScope(name, show_value(value), "")


def members(name: str, value: object) -> Error | None:
    if not isinstance(value, tuple):
        return errors.BadScope(name, show_value(value), "")
    found = [error for each in value if (error := scope_part("member", each))]
    return found[0] if found else None


def metadata(name: str, value: object) -> Error | None:
    pairs = value if isinstance(value, tuple) else (None,)
    are_pairs = all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
    texts = [text for pair in pairs for text in pair] if are_pairs else [None]
    are_texts = all(is_text(it) and byte_count(str(it)) <= limits.METADATA_BYTES_MAX for it in texts)
    good = are_texts and len({pair[0]: None for pair in pairs}) == len(pairs) <= limits.METADATA_COUNT_MAX
    return None if good else errors.BadMetadata(name, show_value(value), "")


def time_range(name: str, value: object) -> Error | None:
    if not isinstance(value, tuple) or len(value) != 2:
        return errors.BadTime(name, show_value(value), "")
    for part, at_ms in (("start_ms", value[0]), ("end_ms", value[1])):
        if at_ms is not None and not is_number(at_ms, 0):
            return errors.BadTime(part, show_value(at_ms), "")
    start_ms, end_ms = value
    is_backwards = start_ms is not None and end_ms is not None and end_ms < start_ms
    return errors.BadTimeRange(start_ms, end_ms) if is_backwards else None


def turns(name: str, value: object) -> Error | None:
    given = value if isinstance(value, tuple) else (None,)
    good = all(isinstance(it, Turn) and it.role in ROLES and is_text(it.text) for it in given)
    return None if good else errors.BadTurn(name, show_value(value), "")


def speaker(name: str, value: object) -> Error | None:
    called = tidy(str(value)) if is_text(value) else ""
    is_writable = 0 < byte_count(called) <= limits.ENTITY_NAME_BYTES_MAX and not has_any(called, CONTROLS)
    return None if is_writable else errors.BadOption(name, show_value(value), "")


def some_words(*known: str) -> Wrong:
    """Return a check for a list of such words, with at least one."""

    def wrong(name: str, value: object) -> Error | None:
        good = isinstance(value, tuple) and len(value) > 0 and all(each in known for each in value)
        return None if good else errors.BadType(name, show_value(value), "")

    return wrong


def carries(name: str, value: object) -> Error | None:
    known = ("keys", "messages", "facts")
    good = isinstance(value, tuple) and value != () and all(each in known for each in value)
    return None if good else errors.BadOption(name, show_value(value), "")


def is_category(value: object) -> bool:
    return is_text(value) and 0 < byte_count(str(value)) <= limits.CATEGORY_NAME_BYTES_MAX


def category_name(name: str, value: object) -> Error | None:
    return None if is_category(value) else errors.BadOption(name, show_value(value), "")


def category_names(name: str, value: object) -> Error | None:
    good = isinstance(value, tuple) and 0 < len(value) <= limits.CATEGORY_COUNT_MAX
    is_right = good and isinstance(value, tuple) and all(map(is_category, value))
    return None if is_right else errors.BadType(name, show_value(value), "")


def new_categories(name: str, value: object) -> Error | None:
    return None if value == () else category_names(name, value)


def modality(name: str, value: object) -> Error | None:
    good = type(value) is str and value in MODALITIES
    return None if good else errors.UnsupportedModality(name, show_value(value), "")


def levels(name: str, value: object) -> Error | None:
    given = value if isinstance(value, tuple) else (None,)
    good = all(it in ALL_LEVELS and given.count(it) == 1 for it in given)
    return None if good else errors.BadOption(name, show_value(value), "")


def cursor(name: str, value: object) -> Error | None:
    good = is_text(value) and byte_count(str(value)) <= limits.CURSOR_BYTES_MAX
    return None if good else errors.BadText(name, show_value(value), "")


def op_id(value: object) -> Error | None:
    good = is_number(value) or (is_text(value) and byte_count(str(value)) <= limits.OP_ID_BYTES_MAX)
    return None if good else errors.BadOption("op_id", show_value(value), "")


PARTS: Final = limits.SCOPE_PART_BYTES_MAX
IDS: Final = ("entity_id", "resource_id", "session_id", "ended_session", "told_in", "source", "uri")
WRONG: Final[Mapping[str, Wrong]] = {
    "key": key,
    "stored_key": stored_key,
    "value": raw,
    "ttl": number(lambda name, value: errors.BadTtl(value), 1, 7 * 24 * 60 * 60 * 1000),
    "delta": number(option(errors.BadDelta)),
    "block_kind": block_kind,
    "block_label": block_label,
    "block_text": block_text,
    "importance": number(lambda name, value: errors.BadImportance(value), 0, 1_000_000),
    "form": one_word("xml", "markdown"),
    **dict.fromkeys(IDS, short_text(errors.BadId, PARTS, len)),
    **dict.fromkeys(("members", "readers", "shared_by"), members),
    "carries": carries,
    **dict.fromkeys(("text", "document"), body(limits.TEXT_BYTES_MAX, errors.EmptyText, errors.TextTooLong)),
    **dict.fromkeys(
        ("fact", "new_fact"), body(limits.EXTRACT_CONTENT_BYTES_MAX, errors.EmptyText, errors.TextTooLong)
    ),
    "memory_type": one_word(*MEMORY_TYPES),
    "category_names": category_names,
    "new_categories": new_categories,
    "modality": modality,
    "memory_types": some_words(*MEMORY_TYPES),
    "listed_kind": one_word(
        "entity", "ended", "resource", "category", "membership", "subcategory", "reflection"
    ),
    "category_name": category_name,
    "levels": levels,
    "level_count": number(option(errors.BadOption), 1, 4),
    "hit_count": number(option(errors.BadOption), 0, limits.RECALL_LIMIT_MAX),
    "least": number(option(errors.BadOption), 1, limits.RECALL_LIMIT_MAX),
    "sufficiency": one_word("score", "model", "score_then_model", "never"),
    **dict.fromkeys(("filter", "row_filter"), wrong_filter),
    "ranker": one_word("vector", "model"),
    "cursor": cursor,
    **dict.fromkeys(("flag", "deep", "wish"), FLAG),
    "time": number(option(errors.BadTime), 0),
    "metadata": metadata,
    "request_key": short_text(errors.BadKey, limits.REQUEST_KEY_BYTES_MAX, byte_count),
    **dict.fromkeys(("speaker", "asker"), speaker),
    "query": body(limits.QUERY_BYTES_MAX, errors.EmptyQuery, errors.QueryTooLong),
    "limit": number(lambda name, value: errors.BadLimit(value), 1, limits.RECALL_LIMIT_MAX),
    "time_range": time_range,
    "types": some_words(*ENTITY_TYPES),
    "turns": turns,
    **dict.fromkeys(("score", "level_score"), number(option(errors.BadScore), 0, 1_000_000)),
    "version": number(option(errors.BadVersion), 1),
    "content": of_bytes(limits.ENTITY_CONTENT_BYTES_MAX),
    **API_WRONG,
}


def wrong_of(cls: type[Request], name: str, domain: str) -> Wrong:
    """Return the check of a field. Raises Incomplete if its domain is unknown."""
    if domain not in WRONG:
        message = f"the domain {domain} of {cls.__name__}.{name} is unknown to the judge"
        raise Incomplete(f"{message}: add it to WRONG in tests/properties/requests_reference.py")
    return WRONG[domain]


FIELDS: Final = {
    cls: [(it.name, it.may_be_none, wrong_of(cls, it.name, it.domain)) for it in arguments_of(cls)]
    for cls in ALL
}


def wrong(request: Request) -> Error | None:
    """Return the error that this request must be refused with; its list of allowed values is left open."""
    if error := op_id(request.op_id):
        return error
    for name, may_be_none, wrong_with in FIELDS[type(request)]:
        value = getattr(request, name)
        if value is None and may_be_none:
            continue
        if error := wrong_with(name, value):
            return error
    return wrong_together(request)


def wrong_together(request: Request) -> Error | None:
    """Return the error of fields that are wrong together.

    Label and text share the space of a block; a search is for something; each message has a text.
    """
    if isinstance(request, SearchMessages):
        is_empty = request.query is None and request.from_ms is None and request.until_ms is None
        return BadOption("query", "None", "") if is_empty else None
    if isinstance(request, Memorize) and request.modality == "conversation":
        mute, total = mute_messages(request.text)
        if mute:
            return errors.UnreadableMessages(len(mute), total, places(mute))
        return None if "".join(lines_of(request.text, "conversation")).strip() else errors.EmptyText()
    if isinstance(request, ShareArchive | Recall):
        count = len({*((request.shared if isinstance(request, Recall) else request.agents) or ())})
        return errors.TooManyMembers(count, 16) if count > 16 else None
    if not isinstance(request, SetBlock):
        return None
    size_bytes = byte_count(tidy(request.label)) + byte_count(line_ends(request.text))
    limit_bytes = limits.BLOCK_BYTES_MAX
    return errors.BlockTooLarge(size_bytes, limit_bytes) if size_bytes > limit_bytes else None

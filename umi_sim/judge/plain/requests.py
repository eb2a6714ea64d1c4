"""What is wrong with a request, whatever the memory holds: read from its fields, in their order.

A domain that is unknown here says so when this module is imported; a request of known domains needs no row.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from umi_core import errors
from umi_core.declared import Incomplete
from umi_core.errors import BadOption, Error
from umi_core.invariants import limits
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import SearchMessages
from umi_core.messages.effects import Outcome, Refused
from umi_core.messages.requests import ALL, Memorize, Request, SetBlock, arguments_of
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, MEMORY_TYPES, MODALITIES, Turn
from umi_sim.judge.plain import api_requests
from umi_sim.judge.plain.filters import wrong_filter
from umi_sim.judge.plain.parts import lines_of, mute_messages, places
from umi_sim.judge.plain.text import (
    CONTROLS,
    UNWRITABLE,
    byte_count,
    has_any,
    is_text,
    line_ends,
    shown,
    tidy,
)

Wrong = Callable[[str, Any], Error | None]
I64: Final = (-(2**63), 2**63 - 1)
RESERVED: Final = "__"
ALL_LEVELS: Final = ("categories", "entities", "reflections", "resources")
ROLES: Final = ("user", "assistant", "system", "tool")


def is_number(value: object, low: int = I64[0], high: int = I64[1]) -> bool:
    return type(value) is int and low <= value <= high


def number(error: Callable[[str, str], Error], low: int = I64[0], high: int = I64[1]) -> Wrong:
    """A whole number in this range, and no flag."""
    return lambda name, value: None if is_number(value, low, high) else error(name, shown(value))


def option(kind: type[errors.BadOption]) -> Callable[[str, str], Error]:
    return lambda name, value: kind(name, value, "")


def flag(name: str, value: object) -> Error | None:
    return None if type(value) is bool else errors.BadOption(name, shown(value), "")


def key(name: str, value: object) -> Error | None:
    if not is_text(value) or not isinstance(value, str):
        return errors.BadText(name, shown(value), "")
    is_long = byte_count(value) > limits.WORKING_KEY_BYTES_MAX
    return errors.KeyTooLong(byte_count(value), limits.WORKING_KEY_BYTES_MAX) if is_long else None


def stored_key(name: str, value: object) -> Error | None:
    is_reserved = is_text(value) and str(value).startswith(RESERVED)
    return errors.ReservedKey(str(value)) if is_reserved else key(name, value)


def raw(name: str, value: object) -> Error | None:
    return None if type(value) is bytes else errors.BadOption(name, shown(value), "")


def body(limit_bytes: int, empty: type[Error], too_long: type[errors.TooLong]) -> Wrong:
    """A text with something in it, of at most so many bytes."""

    def wrong(name: str, value: object) -> Error | None:
        if not is_text(value) or not isinstance(value, str):
            return errors.BadText(name, shown(value), "")
        if value.strip() == "":
            return empty()
        return too_long(byte_count(value), limit_bytes) if byte_count(value) > limit_bytes else None

    return wrong


def block_kind(name: str, value: object) -> Error | None:
    return None if type(value) is str and value in BLOCK_KINDS else errors.BadKind(shown(value))


def block_label(name: str, value: object) -> Error | None:
    text = tidy(value) if is_text(value) and isinstance(value, str) else None
    if text is None or has_any(text, CONTROLS) or has_any(text, UNWRITABLE):
        return errors.BadText(name, shown(value), "")
    is_long = byte_count(text) > limits.BLOCK_LABEL_BYTES_MAX
    return errors.LabelTooLong(byte_count(text), limits.BLOCK_LABEL_BYTES_MAX) if is_long else None


def block_text(name: str, value: object) -> Error | None:
    good = is_text(value) and isinstance(value, str) and not has_any(value, UNWRITABLE)
    return None if good else errors.BadText(name, shown(value), "")


def short_text(kind: type[errors.BadOption], limit: int, count: Callable[[str], int]) -> Wrong:
    def wrong(name: str, value: object) -> Error | None:
        good = is_text(value) and isinstance(value, str) and 0 < count(value) <= limit
        return None if good else kind(name, shown(value), "")

    return wrong


def scope_part(name: str, value: object) -> Error | None:
    good = is_text(value) and isinstance(value, str) and not has_any(value, CONTROLS)
    is_short = good and 0 < byte_count(str(value)) <= limits.SCOPE_PART_BYTES_MAX
    return None if is_short else errors.BadScope(name, shown(value), "")


def members(name: str, value: object) -> Error | None:
    if not isinstance(value, tuple):
        return errors.BadScope(name, shown(value), "")
    found = [error for each in value if (error := scope_part("member", each))]
    return found[0] if found else None


def metadata(name: str, value: object) -> Error | None:
    pairs = value if isinstance(value, tuple) else (None,)
    are_pairs = all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
    texts = [text for pair in pairs for text in pair] if are_pairs else [None]
    are_texts = all(is_text(it) and byte_count(str(it)) <= limits.METADATA_BYTES_MAX for it in texts)
    good = are_texts and len({pair[0]: None for pair in pairs}) == len(pairs) <= limits.METADATA_COUNT_MAX
    return None if good else errors.BadMetadata(name, shown(value), "")


def types(name: str, value: object) -> Error | None:
    good = isinstance(value, tuple) and len(value) > 0 and all(each in ENTITY_TYPES for each in value)
    return None if good else errors.BadType(name, shown(value), "")


def time_range(name: str, value: object) -> Error | None:
    if not isinstance(value, tuple) or len(value) != 2:
        return errors.BadTime(name, shown(value), "")
    for part, at_ms in (("start_ms", value[0]), ("end_ms", value[1])):
        if at_ms is not None and not is_number(at_ms, 0):
            return errors.BadTime(part, shown(at_ms), "")
    start_ms, end_ms = value
    is_backwards = start_ms is not None and end_ms is not None and end_ms < start_ms
    return errors.BadTimeRange(start_ms, end_ms) if is_backwards else None


def turns(name: str, value: object) -> Error | None:
    given = value if isinstance(value, tuple) else (None,)
    good = all(isinstance(it, Turn) and it.role in ROLES and is_text(it.text) for it in given)
    return None if good else errors.BadTurn(name, shown(value), "")


def speaker(name: str, value: object) -> Error | None:
    called = tidy(str(value)) if is_text(value) else ""
    is_writable = 0 < byte_count(called) <= limits.ENTITY_NAME_BYTES_MAX and not has_any(called, CONTROLS)
    return None if is_writable else errors.BadOption(name, shown(value), "")


def memory_types(name: str, value: object) -> Error | None:
    good = isinstance(value, tuple) and len(value) > 0 and all(each in MEMORY_TYPES for each in value)
    return None if good else errors.BadType(name, shown(value), "")


def category_names(name: str, value: object) -> Error | None:
    good = (
        isinstance(value, tuple) and len(value) > 0 and all(category_name(name, it) is None for it in value)
    )
    return None if good else errors.BadType(name, shown(value), "")


def new_categories(name: str, value: object) -> Error | None:
    return None if value == () else category_names(name, value)


def modality(name: str, value: object) -> Error | None:
    good = type(value) is str and value in MODALITIES
    return None if good else errors.UnsupportedModality(name, shown(value), "")


def listed_kind(name: str, value: object) -> Error | None:
    good = value in ("entity", "resource", "category", "membership", "subcategory", "reflection")
    return None if good else errors.BadOption(name, shown(value), "")


def one_word(*known: str) -> Wrong:
    return lambda name, value: None if value in known else errors.BadOption(name, shown(value), "")


def levels(name: str, value: object) -> Error | None:
    given = value if isinstance(value, tuple) else (None,)
    good = all(it in ALL_LEVELS and given.count(it) == 1 for it in given)
    return None if good else errors.BadOption(name, shown(value), "")


def category_name(name: str, value: object) -> Error | None:
    good = value in ("facts", "preferences", "skills", "rules", "context")
    return None if good else errors.BadOption(name, shown(value), "")


def cursor(name: str, value: object) -> Error | None:
    good = is_text(value) and byte_count(str(value)) <= limits.CURSOR_BYTES_MAX
    return None if good else errors.BadText(name, shown(value), "")


def form(name: str, value: object) -> Error | None:
    return None if value in ("xml", "markdown") else errors.BadOption(name, shown(value), "")


def op_id(value: object) -> Error | None:
    good = is_number(value) or (is_text(value) and byte_count(str(value)) <= limits.OP_ID_BYTES_MAX)
    return None if good else errors.BadOption("op_id", shown(value), "")


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
    "form": form,
    **dict.fromkeys(IDS, short_text(errors.BadId, PARTS, len)),
    "members": members,
    **dict.fromkeys(("text", "document"), body(limits.TEXT_BYTES_MAX, errors.EmptyText, errors.TextTooLong)),
    **dict.fromkeys(
        ("fact", "new_fact"), body(limits.EXTRACT_CONTENT_BYTES_MAX, errors.EmptyText, errors.TextTooLong)
    ),
    "memory_type": one_word(*MEMORY_TYPES),
    "category_names": category_names,
    "new_categories": new_categories,
    "modality": modality,
    "memory_types": memory_types,
    "listed_kind": listed_kind,
    "category_name": category_name,
    "levels": levels,
    "level_count": number(option(errors.BadOption), 1, 4),
    "hit_count": number(option(errors.BadOption), 0, limits.RECALL_LIMIT_MAX),
    "least": number(option(errors.BadOption), 1, limits.RECALL_LIMIT_MAX),
    "sufficiency": one_word("score", "model", "score_then_model", "never"),
    **dict.fromkeys(("filter", "row_filter"), wrong_filter),
    "ranker": one_word("vector", "model"),
    "cursor": cursor,
    **dict.fromkeys(("flag", "deep", "wish"), flag),
    "time": number(option(errors.BadTime), 0),
    "metadata": metadata,
    "request_key": short_text(errors.BadKey, limits.REQUEST_KEY_BYTES_MAX, byte_count),
    "speaker": speaker,
    "query": body(limits.QUERY_BYTES_MAX, errors.EmptyQuery, errors.QueryTooLong),
    "limit": number(lambda name, value: errors.BadLimit(value), 1, limits.RECALL_LIMIT_MAX),
    "time_range": time_range,
    "types": types,
    "turns": turns,
    **dict.fromkeys(("score", "level_score"), number(option(errors.BadScore), 0, 1_000_000)),
    "version": number(option(errors.BadVersion), 1),
    "content": api_requests.of_bytes(limits.ENTITY_CONTENT_BYTES_MAX),
    **api_requests.WRONG,
}


def wrong_of(cls: type[Request], name: str, domain: str) -> Wrong:
    """What is wrong with a field. Raises Incomplete."""
    if domain not in WRONG:
        told = f"the domain {domain} of {cls.__name__}.{name} is unknown to the judge"
        raise Incomplete(f"{told}: add it to WRONG in umi_sim/judge/plain/requests.py")
    return WRONG[domain]


FIELDS: Final = {
    cls: [(it.name, it.may_be_none, wrong_of(cls, it.name, it.domain)) for it in arguments_of(cls)]
    for cls in ALL
}


def wrong(request: Request) -> Error | None:
    """The error that this request must be refused with; what it says is allowed is left open."""
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
    """Label and text share the space of a block; a search is for something; each message has a text."""
    if isinstance(request, SearchMessages):
        is_empty = request.query is None and request.from_ms is None and request.until_ms is None
        return BadOption("query", "None", "") if is_empty else None
    if isinstance(request, Memorize) and request.modality == "conversation":
        mute, total = mute_messages(request.text)
        if mute:
            return errors.UnreadableMessages(len(mute), total, places(mute))
        return None if "".join(lines_of(request.text, "conversation")).strip() else errors.EmptyText()
    if not isinstance(request, SetBlock):
        return None
    size_bytes = byte_count(tidy(request.label)) + byte_count(line_ends(request.text))
    limit_bytes = limits.BLOCK_BYTES_MAX
    return errors.BlockTooLarge(size_bytes, limit_bytes) if size_bytes > limit_bytes else None


def is_gone(outcome: Outcome) -> bool:
    """Whether it says that there is no such agent."""
    error = outcome.error if isinstance(outcome, Refused) else None
    return isinstance(error, NotFound) and error.kind == "agent"


def is_same(wanted: Error | None, got: Error | None) -> bool:
    """Equal but for what an error says is allowed: that sentence is the memory's own."""
    if type(wanted) is type(got) and isinstance(wanted, BadOption) and isinstance(got, BadOption):
        return (wanted.option, wanted.value) == (got.option, got.value)
    return wanted == got

"""Domains: the values that a field may have, and the typed error for any other. A field's type names its
domain.

    key: StoredKey                              a text of at most 256 bytes that does not begin with `__`
    ttl_ms: Ttl | None = None                   1 ms to 7 days, or None

The domain gives the check of a request when it arrives, and in umi_sim the valid and invalid values that
simulated users send.

Law 1. Pure: a name and a value in, an error value or None out.
Law 2. A bool is not a number, a number is not a bool, and a text has no lone surrogates. Values of derived
classes are invalid, so every valid value can be encoded.
"""

from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from umi_core import errors, limits
from umi_core.data import Data, types_of
from umi_core.declared import Incomplete
from umi_core.errors import Error
from umi_core.text import has_control, has_unwritable, is_text, show_value, size, tidy
from umi_core.values import (
    BLOCK_KINDS,
    CARRIED,
    ENDING_KINDS,
    ENTITY_TYPES,
    EVOLUTION_KINDS,
    LEVELS,
    MEMORY_TYPES,
    MODALITIES,
    Block,
    Entry,
    Pairs,
    Period,
    Scope,
    Turn,
)

ROLES: Final = ("user", "assistant", "system", "tool")
FORMS: Final = ("xml", "markdown")
LISTED: Final = (  # kinds of rows
    "entity", "ended", "resource", "category", "membership", "subcategory", "reflection",
)  # fmt: skip


Wrong = Callable[[str, Any], Error | None]


class Domain(Data):
    """`wrong(name of the field, value)` returns the error or None. `name`: the name of the domain."""

    name: str
    wrong: Wrong


@cache
def domain_of(annotation: Any) -> Domain:
    """Return the domain of a field's type. Raises Incomplete if it has none."""
    # A union such as `Ttl | None` has no metadata, so look at its parts, too.
    for part in (annotation, *get_args(annotation)):
        for each in getattr(part, "__metadata__", ()):
            if isinstance(each, Domain):
                return each
    raise Incomplete(f"a field of type {annotation} has no domain: give it one in umi_core/domains.py")


def plain_type(annotation: Any) -> Any:
    """Return the type without its domain, such as `int` or `int | None`."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    return (
        reduce(or_, (plain_type(part) for part in get_args(annotation)))
        if is_union(annotation)
        else annotation
    )


def is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


# Makers of checks. `wanted`: the valid values, in words; `error`: the class of the error.

OptionError = type[errors.BadOption]


def is_int(value: object, low: int = limits.I64_MIN, high: int = limits.I64_MAX) -> bool:
    return type(value) is int and low <= value <= high  # not a bool; 64 bits by default, to be encodable


def unless(good: Callable[[Any], bool], wanted: str, error: OptionError = errors.BadOption) -> Wrong:
    """Return a check that refuses values for which `good` is false."""
    return lambda name, value: None if good(value) else error(name, show_value(value), wanted)


def from_to(
    low: int, high: int = limits.I64_MAX, wanted: str = "", error: OptionError = errors.BadOption
) -> Wrong:
    """Return a check for a whole number in this range."""
    allowed = wanted or f"a whole number from {low} to {high}"
    return lambda name, value: None if is_int(value, low, high) else error(name, show_value(value), allowed)


def one_of(*words: str | None, wanted: str = "", error: OptionError = errors.BadOption) -> Wrong:
    """Return a check for one of these words."""
    allowed = wanted or " ".join(str(word) for word in words)
    return lambda name, value: (
        None
        if (value is None or type(value) is str) and value in words
        else error(name, show_value(value), allowed)
    )


def text_of(bytes_max: int, least: int = 0, wanted: str = "", error: OptionError = errors.BadText) -> Wrong:
    """Return a check for a text of `least` to `bytes_max` bytes."""
    allowed = wanted or f"text of at most {bytes_max} bytes"
    return lambda name, value: (
        None
        if is_text(value) and least <= size(value) <= bytes_max
        else error(name, show_value(value), allowed)
    )


# Numbers and flags.

bad_delta: Final = from_to(limits.I64_MIN, error=errors.BadDelta)
bad_score: Final = from_to(0, limits.PPM, f"0 to {limits.PPM}", errors.BadScore)
bad_version: Final = from_to(1, wanted="a whole number from 1, or none", error=errors.BadVersion)
bad_time: Final = from_to(0, wanted="a whole number from 0 or none", error=errors.BadTime)
bad_count: Final = from_to(0, wanted="a whole number from 0")
bad_moment: Final = from_to(0, limits.NOW_MS_MAX, f"0 to {limits.NOW_MS_MAX}", errors.BadTime)


def bad_op_id(name: str, value: object) -> Error | None:
    size_max = limits.OP_ID_BYTES_MAX
    if is_int(value) or (is_text(value) and size(value) <= size_max):
        return None
    return errors.BadOption(name, show_value(value), f"a whole number, or text of at most {size_max} bytes")


def bad_flag(name: str, value: object) -> Error | None:
    return None if isinstance(value, bool) else errors.BadOption(name, show_value(value), "true or false")


def bad_ttl(name: str, value: object) -> Error | None:
    return None if is_int(value, limits.TTL_MS_MIN, limits.TTL_MS_MAX) else errors.BadTtl(show_value(value))


def bad_importance(name: str, value: object) -> Error | None:
    return None if is_int(value, 0, limits.PPM) else errors.BadImportance(show_value(value))


def bad_limit(name: str, value: object) -> Error | None:
    return None if is_int(value, 1, limits.RECALL_LIMIT_MAX) else errors.BadLimit(show_value(value))


def bad_range(name: str, value: object) -> Error | None:
    """Check a pair of times, either of which may be None."""
    if type(value) is not tuple or len(value) != 2:
        return errors.BadTime(name, show_value(value), "a pair (start_ms, end_ms)")
    for part, time_ms in zip(("start_ms", "end_ms"), value, strict=True):
        if time_ms is not None and (error := bad_time(part, time_ms)) is not None:
            return error
    start_ms, end_ms = value
    is_reversed = start_ms is not None and end_ms is not None and start_ms > end_ms
    return errors.BadTimeRange(start_ms, end_ms) if is_reversed else None


# Names and ids.


def bad_scope_part(name: str, value: object) -> Error | None:
    good = is_text(value) and not has_control(value)
    if good and 0 < size(str(value)) <= limits.SCOPE_PART_BYTES_MAX:
        return None
    wanted = f"1 to {limits.SCOPE_PART_BYTES_MAX} bytes without control characters"
    return errors.BadScope(name, show_value(value), wanted)


def bad_scope(scope: Scope) -> Error | None:
    return bad_scope_part("user", scope.user) or bad_scope_part("agent", scope.agent)


def bad_members(name: str, value: object) -> Error | None:
    if type(value) is not tuple:
        return errors.BadScope(name, show_value(value), "a tuple of agents")
    return next((error for member in value if (error := bad_scope_part("member", member))), None)


bad_carries: Final = unless(
    lambda it: type(it) is tuple and bool(it) and all(type(part) is str and part in CARRIED for part in it),
    f"some of {' '.join(CARRIED)}",
)


def bad_row_id(name: str, value: object) -> Error | None:
    count_max = limits.SCOPE_PART_BYTES_MAX
    good = is_text(value) and 0 < len(value) <= count_max
    return None if good else errors.BadId(name, show_value(value), f"text of 1 to {count_max} characters")


def bad_speaker(name: str, value: object) -> Error | None:
    called = tidy(value) if is_text(value) else ""
    # Tidied first, because names are stored tidy: "  Ann " has three bytes.
    good = 1 <= size(called) <= limits.ENTITY_NAME_BYTES_MAX and not has_control(called)
    wanted = f"a name of at most {limits.ENTITY_NAME_BYTES_MAX} bytes, without control characters"
    return None if good else errors.BadOption(name, show_value(value), wanted)


def bad_key(name: str, value: object) -> Error | None:
    if not is_text(value):
        return errors.BadText(name, show_value(value), "a text without lone surrogates")
    size_bytes = size(value)
    is_long = size_bytes > limits.WORKING_KEY_BYTES_MAX
    return errors.KeyTooLong(size_bytes, limits.WORKING_KEY_BYTES_MAX) if is_long else None


def bad_stored_key(name: str, value: object) -> Error | None:
    """Check a key for writing; keys that begin with `__` are reserved for the session."""
    # A reserved key with lone surrogates is reported as bad text, because errors must be encodable.
    if isinstance(value, str) and value.startswith("__") and is_text(value):
        return errors.ReservedKey(value)
    return bad_key(name, value)


def some_of(what: str, types: Sequence[str], least: int = 1) -> Wrong:
    """Return a check for a tuple of at least `least` of these types."""
    wanted = f"none, or {what}: {' '.join(types)}"

    def bad_types(name: str, value: object) -> Error | None:
        good = (
            type(value) is tuple
            and len(value) >= least
            and all(type(kind) is str and kind in types for kind in value)
        )
        return None if good else errors.BadType(name, show_value(value), wanted)

    return bad_types


KEY_BYTES_MAX: Final = limits.REQUEST_KEY_BYTES_MAX
bad_request_key: Final = text_of(KEY_BYTES_MAX, 1, f"1 to {KEY_BYTES_MAX} bytes of text", errors.BadKey)
bad_modality: Final = one_of(*MODALITIES, error=errors.UnsupportedModality)
bad_form: Final = one_of(*FORMS, wanted=" or ".join(FORMS))


# Texts and values.


def bad_body(
    name: str, value: object, empty: Error, limit_bytes: int, too_long: Callable[[int, int], Error]
) -> Error | None:
    if not is_text(value):
        return errors.BadText(name, show_value(value), "text without lone surrogates")
    if not value.strip():
        return empty
    return too_long(size(value), limit_bytes) if size(value) > limit_bytes else None


def bad_text(name: str, value: object) -> Error | None:
    return bad_body(name, value, errors.EmptyText(), limits.TEXT_BYTES_MAX, errors.TextTooLong)


def bad_query(name: str, value: object) -> Error | None:
    return bad_body(name, value, errors.EmptyQuery(), limits.QUERY_BYTES_MAX, errors.QueryTooLong)


def bad_metadata(name: str, value: object) -> Error | None:
    count, size_bytes = limits.METADATA_COUNT_MAX, limits.METADATA_BYTES_MAX
    if type(value) is tuple and all(map(is_pair, value)) and len(dict(value)) == len(value) <= count:
        return None
    wanted = f"at most {count} pairs of texts of at most {size_bytes} bytes, keys unique"
    return errors.BadMetadata(name, show_value(value), wanted)


def is_pair(pair: object) -> bool:
    if type(pair) is not tuple or len(pair) != 2:
        return False
    return all(is_text(part) and size(part) <= limits.METADATA_BYTES_MAX for part in pair)


def is_turn(value: object) -> bool:
    return type(value) is Turn and is_text(value.role) and value.role in ROLES and is_text(value.text)


bad_turns: Final = unless(
    lambda it: type(it) is tuple and all(map(is_turn, it)),
    f"turns with role {', '.join(ROLES)} and text",
    errors.BadTurn,
)


# Blocks of core.


def bad_block_kind(name: str, value: object) -> Error | None:
    return None if type(value) is str and value in BLOCK_KINDS else errors.BadKind(show_value(value))


def bad_block_label(name: str, value: object) -> Error | None:
    if not is_text(value) or has_control(tidy(value)) or has_unwritable(tidy(value)):
        return errors.BadText(name, show_value(value), "one line of text without control characters")
    size_bytes = size(tidy(value))
    is_long = size_bytes > limits.BLOCK_LABEL_BYTES_MAX
    return errors.LabelTooLong(size_bytes, limits.BLOCK_LABEL_BYTES_MAX) if is_long else None


bad_bytes: Final = unless(lambda it: type(it) is bytes, "bytes")
bad_block_text: Final = unless(
    lambda it: is_text(it) and not has_unwritable(it), "text without control characters", errors.BadText
)


# Fields of rows, as storage returns them.


# Only the length is checked here: which categories exist depends on the settings of a memory.
bad_category: Final = text_of(
    limits.CATEGORY_NAME_BYTES_MAX,
    1,
    f"the name of a category: text of 1 to {limits.CATEGORY_NAME_BYTES_MAX} bytes",
    errors.BadOption,
)


def bad_texts(name: str, value: object) -> Error | None:
    good = type(value) is tuple and all(map(is_text, value))
    return None if good else errors.BadText(name, show_value(value), "a tuple of texts")


def is_end(value: object) -> bool:
    is_pair = type(value) is tuple and len(value) == 2
    return type(value) is tuple and is_pair and not bad_row_id("", value[0]) and is_int(value[1], 0)


bad_end: Final = unless(is_end, "an id and a version", errors.BadId)
bad_ends: Final = unless(
    lambda it: type(it) is tuple and all(map(is_end, it)), "ids, each with a version", errors.BadId
)


def bad_components(name: str, value: object) -> Error | None:
    good = (
        type(value) is tuple
        # One set of types, instead of a call for each of up to 4,096 components; a bool is not an int.
        and {*map(type, value)} <= {int}
        and max(map(abs, value), default=0) <= limits.COMPONENT_MAX
    )
    return None if good else errors.BadOption(name, show_value(value), "whole numbers from -127 to 127")


bad_maker: Final = unless(
    lambda it: type(it) is tuple and len(it) == 2 and all(is_int(part, 0) for part in it),
    "an epoch and the number of an operation",
)


def anything(name: str, value: object) -> Error | None:
    return None


# Objects whose fields have domains.

Checks = tuple[tuple[str, bool, Wrong], ...]


def checks_of(cls: type) -> Checks:
    """Return the name of each field, whether it may be None, and the check of its other values."""
    return tuple(
        (name, type(None) in get_args(kind), domain_of(kind).wrong) for name, kind in types_of(cls).items()
    )


def bad_fields(value: object, checks: Checks) -> Error | None:
    """Return the error of the first field out of its domain, or None."""
    for name, is_optional, wrong in checks:
        part = getattr(value, name)
        if part is None and is_optional:
            continue
        if (error := wrong(name, part)) is not None:
            return error
    return None


# The types of fields.

OpLabel = Annotated[int | str, Domain("op_id", bad_op_id)]
Key = Annotated[str, Domain("key", bad_key)]
StoredKey = Annotated[str, Domain("stored_key", bad_stored_key)]
Value = Annotated[bytes, Domain("value", bad_bytes)]
Ttl = Annotated[int, Domain("ttl", bad_ttl)]
Delta = Annotated[int, Domain("delta", bad_delta)]
BlockKind = Annotated[str, Domain("block_kind", bad_block_kind)]
BlockLabel = Annotated[str, Domain("block_label", bad_block_label)]
BlockText = Annotated[str, Domain("block_text", bad_block_text)]
Importance = Annotated[int, Domain("importance", bad_importance)]
Form = Annotated[str, Domain("form", bad_form)]
EntityId = Annotated[str, Domain("entity_id", bad_row_id)]
SessionId = Annotated[str, Domain("session_id", bad_row_id)]
EndedSession = Annotated[str, Domain("ended_session", bad_row_id)]
ToldIn = Annotated[str, Domain("told_in", bad_row_id)]  # the session in which a text is memorized
Source = Annotated[str, Domain("source", bad_row_id)]
Members = Annotated[tuple[str, ...], Domain("members", bad_members)]
Readers = Annotated[tuple[str, ...], Domain("readers", bad_members)]
SharedBy = Annotated[tuple[str, ...], Domain("shared_by", bad_members)]
Carries = Annotated[tuple[str, ...], Domain("carries", bad_carries)]
Text = Annotated[str, Domain("text", bad_text)]
Query = Annotated[str, Domain("query", bad_query)]
Flag = Annotated[bool, Domain("flag", bad_flag)]
Deep = Annotated[bool, Domain("deep", bad_flag)]
Wish = Annotated[bool, Domain("wish", bad_flag)]  # a flag that is off by default
EventTime = Annotated[int, Domain("time", bad_time)]
Metadata = Annotated[Pairs, Domain("metadata", bad_metadata)]
RequestKey = Annotated[str, Domain("request_key", bad_request_key)]
Speaker = Annotated[str, Domain("speaker", bad_speaker)]
Asker = Annotated[str, Domain("asker", bad_speaker)]
Limit = Annotated[int, Domain("limit", bad_limit)]
TimeRange = Annotated[tuple[int | None, int | None], Domain("time_range", bad_range)]
Uri = Annotated[str, Domain("uri", bad_row_id)]
Document = Annotated[str, Domain("document", bad_text)]
Modality = Annotated[str, Domain("modality", bad_modality)]
MemoryTypes = Annotated[tuple[str, ...], Domain("memory_types", some_of("memory types", MEMORY_TYPES))]
Types = Annotated[tuple[str, ...], Domain("types", some_of("entity types", ENTITY_TYPES))]
Turns = Annotated[tuple[Turn, ...], Domain("turns", bad_turns)]
Score = Annotated[int, Domain("score", bad_score)]
VersionNumber = Annotated[int, Domain("version", bad_version)]
Moment = Annotated[int, Domain("moment", bad_moment)]
Count = Annotated[int, Domain("count", bad_count)]
EntityType = Annotated[str, Domain("entity_type", one_of(*ENTITY_TYPES))]
EntityName = Annotated[str, Domain("entity_name", text_of(limits.ENTITY_NAME_BYTES_MAX))]
CategoryName = Annotated[str, Domain("category_name", bad_category)]
ListedKind = Annotated[str, Domain("listed_kind", one_of(*LISTED))]
Cursor = Annotated[str, Domain("cursor", text_of(limits.CURSOR_BYTES_MAX))]
Content = Annotated[str, Domain("content", text_of(limits.ENTITY_CONTENT_BYTES_MAX))]
EntityBlock = Annotated[str, Domain("entity_block", one_of(*BLOCK_KINDS[1:]))]
MemoryType = Annotated[str, Domain("memory_type", one_of(*MEMORY_TYPES))]
NameMaker = Annotated[str, Domain("name_maker", one_of("model", "keywords"))]
LinkMaker = Annotated[str, Domain("link_maker", one_of("model", "default", "user"))]
Change = Annotated[str, Domain("change", one_of(*EVOLUTION_KINDS))]
EndingKind = Annotated[str, Domain("ending_kind", one_of(*ENDING_KINDS))]
RelationKind = Annotated[str, Domain("relation_kind", one_of(*EVOLUTION_KINDS))]
Reason = Annotated[str, Domain("reason", text_of(limits.RELATION_REASON_BYTES_MAX))]
Word = Annotated[str, Domain("word", text_of(limits.REPLY_BYTES_MAX))]
End = Annotated[tuple[str, int], Domain("end", bad_end)]
Ends = Annotated[tuple[tuple[str, int], ...], Domain("ends", bad_ends)]
Texts = Annotated[tuple[str, ...], Domain("texts", bad_texts)]
Components = Annotated[tuple[int, ...], Domain("components", bad_components)]
Digest = Annotated[bytes, Domain("digest", bad_bytes)]
Maker = Annotated[tuple[int, int], Domain("maker", bad_maker)]
Anything = Annotated[object, Domain("anything", anything)]


# The blocks of core as a domain: each is sound, no two have the same kind and label, and no entity
# is in two of them.


def bad_blocks(name: str, value: object) -> Error | None:
    good = type(value) is tuple and all(
        isinstance(it, Block) and not bad_fields(it, BLOCK) and is_filled(it) for it in value
    )
    return (
        None if good and is_one_tier(value) else errors.BadOption(name, show_value(value), "blocks of core")
    )


def is_filled(block: Block) -> bool:
    """Check that a block is not empty, that its entries are in order, and that it may have entries."""
    times = [(entry.promoted_ms, entry.entity_id) for entry in block.entries]
    # Routing chooses a kind but no label, so only blocks without a label have entries.
    may_have = not times or (block.kind != "system" and not block.label)
    return may_have and bool(times or block.text is not None) and is_ascending(times)


def is_one_tier(blocks: Any) -> bool:
    """Check that blocks are in order, each kind and label once, and that no entity is in two blocks."""
    ids = [entry.entity_id for block in blocks for entry in block.entries]
    # Strictly ascending, so there are no duplicates.
    return is_ascending([block.order for block in blocks]) and len(dict.fromkeys(ids)) == len(ids)


def is_ascending(keys: Sequence[tuple[int, Any]]) -> bool:
    return all(one < other for one, other in pairwise(keys))


def bad_entries(name: str, value: object) -> Error | None:
    good = type(value) is tuple and all(isinstance(it, Entry) and not bad_fields(it, ENTRY) for it in value)
    return None if good else errors.BadOption(name, show_value(value), "entries of core")


def bad_periods(name: str, value: object) -> Error | None:
    good = type(value) is tuple and all(isinstance(it, Period) and not bad_fields(it, PERIOD) for it in value)
    return None if good else errors.BadOption(name, show_value(value), "periods of a fact")


Periods = Annotated[tuple[Period, ...], Domain("periods", bad_periods)]
Blocks = Annotated[tuple[Block, ...], Domain("blocks", bad_blocks)]

PERIOD: Final[Checks] = (
    ("since_ms", False, bad_time),
    ("until_ms", False, bad_time),
    ("by", False, bad_row_id),
    ("how", False, one_of(*ENDING_KINDS)),
)
BLOCK: Final[Checks] = (
    ("kind", False, bad_block_kind),
    ("label", False, bad_block_label),
    ("text", True, text_of(limits.BLOCK_BYTES_MAX)),
    ("importance_ppm", False, bad_importance),
    ("entries", False, bad_entries),
)
ENTRY: Final[Checks] = (
    ("entity_id", False, bad_row_id),
    ("version", False, bad_version),
    ("name", False, text_of(limits.ENTITY_NAME_BYTES_MAX)),
    ("text", False, text_of(limits.ENTRY_TEXT_BYTES_MAX)),
    ("promoted_ms", False, bad_count),
)


# The options of a retrieve as domains: levels, limits, and whether a model decides and orders.


JUDGES: Final = ("score", "model", "score_then_model", "never")  # what decides that the results are enough
RANKERS: Final = ("vector", "model")


def bad_levels(name: str, value: object) -> Error | None:
    """Check a tuple of levels of the archive, without duplicates."""
    good = type(value) is tuple and all(type(it) is str and it in LEVELS for it in value)
    if good and type(value) is tuple and len(dict.fromkeys(value)) == len(value):
        return None
    return errors.BadOption(name, show_value(value), f"some of {' '.join(LEVELS)}, each once")


Levels = Annotated[tuple[str, ...], Domain("levels", bad_levels)]
LevelCount = Annotated[int, Domain("level_count", from_to(1, len(LEVELS)))]
HitCount = Annotated[int, Domain("hit_count", from_to(0, limits.RECALL_LIMIT_MAX))]
Least = Annotated[int, Domain("least", from_to(1, limits.RECALL_LIMIT_MAX))]
Sufficiency = Annotated[str, Domain("sufficiency", one_of(*JUDGES))]
Ranker = Annotated[str, Domain("ranker", one_of(*RANKERS))]
LevelScore = Annotated[int, Domain("level_score", bad_score)]  # of a level of the archive


# Contents and categories of create_entity and update_entity as domains.


def bad_fact(name: str, value: object) -> Error | None:
    limit_bytes = limits.EXTRACT_CONTENT_BYTES_MAX
    return bad_body(name, value, errors.EmptyText(), limit_bytes, errors.TextTooLong)


FactText = Annotated[str, Domain("fact", bad_fact)]
NewFactText = Annotated[str, Domain("new_fact", bad_fact)]  # the new content of a stored fact


def some_categories(least: int) -> Wrong:
    """Return a check for at least `least` possible names of categories; the memory checks that they exist."""
    wanted = f"at least {least} and at most {limits.CATEGORY_COUNT_MAX} names of categories"

    def bad_categories(name: str, value: object) -> Error | None:
        good = type(value) is tuple and least <= len(value) <= limits.CATEGORY_COUNT_MAX
        if good and type(value) is tuple and not any(bad_category(name, it) for it in value):
            return None
        return errors.BadType(name, show_value(value), wanted)

    return bad_categories


CategoryNames = Annotated[tuple[str, ...], Domain("category_names", some_categories(1))]
NewCategories = Annotated[tuple[str, ...], Domain("new_categories", some_categories(0))]

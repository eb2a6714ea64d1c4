"""Items as JSON and back: what a request or a fault was given, right or wrong, survives the way.

Law 1. A value of the type that its field declares is written plainly; bytes that are UTF-8 as their text.
Law 2. Any other says what it is, in an object: {"hex"} bytes, {"text"} a text, {"turn"} [role, text], {"int"}
       a number of more than 19 digits, {"odd"} null, true, 7 or a list where something else is due.
Law 3. So a plain value of the wrong type is a mistake, and refused; as are unknown kinds, fields and names.
Law 4. Long runs of the same few characters are {"runs": ["abc", ["x", 5000]]}; what unpacks is bounded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Final, get_args, get_origin

import attrs

from umi_core.limits import DAY_MS
from umi_core.messages.requests import REQUESTS
from umi_core.values import Turn
from umi_sim.faults.content import KINDS as CONTENT_KINDS
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.strict_json import (
    DIGITS_MAX,
    BadValue,
    Described,
    Reader,
    Schema,
    as_object,
    check_size,
    fail,
    flag,
    listed,
    object_schema,
    one_of,
    schema_of,
    table,
    text,
    unknown,
    whole,
)
from umi_sim.kernel.clock import RATE_FACTOR_MAX
from umi_sim.kernel.prng import DENOMINATOR_MAX
from umi_sim.record.items import ITEM_KINDS, Args, ClockMove, Fault, Item, Op

Json = Any

AT_MS_MAX: Final = 2**53 - 1
EVENT_CHARS_MAX: Final = 256
ITEM_COUNT_MAX: Final = 100_000
RUN_MIN: Final = 32  # shorter runs are written as they are
RUNS_CHARS_MAX: Final = 256 * 1024
UNPACKED_CHARS_MAX: Final = 16 * 1024 * 1024
INTEGER_DIGITS_MAX: Final = 40

RUN: Final = re.compile(rf"(.{{1,4}}?)\1{{{RUN_MIN - 1},}}", re.DOTALL)
KIND_OF: Final = {cls: kind for kind, cls in ITEM_KINDS.items()}


def to_json(item: Item) -> Json:
    """One item as an object: id, kind, then its own fields."""
    fields = {field.name: getattr(item, field.name) for field in attrs.fields(type(item))}
    if isinstance(item, Op):
        fields["args"] = args_to_json(types_of(item.name), item.args)
    elif isinstance(item, Fault | ClockMove):
        fields["args"] = args_to_json({}, item.args)
    return {"id": fields.pop("id"), "kind": KIND_OF[type(item)], **fields}


def from_json(value: Json, path: str) -> Item:
    """The item in an object. Raises BadValue with the path below `path`."""
    kind = one_of(tuple(ITEM_KINDS), "kind")(as_object(value, path).get("kind"), f"{path}.kind")
    fields = READERS[kind](value, path)
    del fields["kind"]
    if kind in ARGS_OF:
        fields["args"] = ARGS_OF[kind](fields, f"{path}.args")
    item: Item = ITEM_KINDS[kind](**fields)
    return item


def all_from_json(value: Json, path: str) -> tuple[Item, ...]:
    """The items of a record, ids unique; what they unpack to is bounded before it is unpacked."""
    if unpacked_chars(value) > UNPACKED_CHARS_MAX:
        raise BadValue(f"{path}: more than {UNPACKED_CHARS_MAX} characters when unpacked")
    items: tuple[Item, ...] = ITEMS(value, path)
    places: dict[str, int] = {}
    for at, item in enumerate(items):
        if places.setdefault(item.id, at) != at:
            raise BadValue(f"{path}[{at}].id: {item.id} is the id of {path}[{places[item.id]}] too")
    return items


def unpacked_chars(value: Json) -> int:
    """How many characters all runs below this value come to."""
    match value:
        case [str() as piece, int() as count]:
            return len(piece) * max(0, count)
        case list():
            return sum(map(unpacked_chars, value))
        case dict():
            return sum(map(unpacked_chars, value.values()))
    return 0


# Writing.


def args_to_json(types: Mapping[str, object], args: Args) -> Json:
    return {name: written(value, types.get(name, object)) for name, value in args.items()}


def written(value: object, due: object) -> Json:
    """A value where a field declares the type `due`."""
    fitting = fit(value, due)
    match value:
        case bytes():
            return runs(value.decode()) if fitting is bytes and is_utf8(value) else {"hex": runs(value.hex())}
        case str():
            return runs(value) if fitting is not None else {"text": runs(value)}
        case Turn(role=role, text=words):
            pair = [written(role, str), written(words, str)]
            return pair if fitting is Turn else {"turn": pair}
        case int() if len(str(abs(value))) > DIGITS_MAX:
            return {"int": str(value)}
        case tuple() if fitting is not None:
            return [written(each, part) for each, part in zip(value, parts(fitting, len(value)), strict=True)]
        case tuple():
            return {"odd": [written(each, object) for each in value]}
    assert value is None or isinstance(value, int), value
    return value if fitting is not None else {"odd": value}


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def runs(value: str) -> Json:
    """The text, or its pieces and runs if there is a long one."""
    pieces: list[Json] = []
    at = 0
    for found in RUN.finditer(value) if len(value) >= RUN_MIN else ():
        pieces += [value[at : found.start()], [found[1], len(found[0]) // len(found[1])]]
        at = found.end()
    return {"runs": [piece for piece in (*pieces, value[at:]) if piece]} if pieces else value


# Types: what a field declares, and which part of it a value fits.


@cache
def types_of(name: str) -> Mapping[str, object]:
    """The declared type of each argument of a request."""
    return {field.name: field.type for field in attrs.fields(REQUESTS[name])[1:]}


@cache
def alternatives(due: object) -> tuple[object, ...]:
    return get_args(due) if isinstance(due, UnionType) else (due,)


def fit(value: object, due: object) -> object:
    """The alternative of the declared type that a value has; None if it has none of them."""
    return next((each for each in alternatives(due) if is_fitting(value, each)), None)


def is_fitting(value: object, due: object) -> bool:
    if due is object:
        return not isinstance(value, bytes | Turn)
    if get_origin(due) is tuple:
        return isinstance(value, tuple)
    return type(value) is due


def parts(due: object, count: int) -> Sequence[object]:
    """The types of the members of a tuple with so many members."""
    inner = get_args(due)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return (inner[0],) * count
    return (*inner, *(object,) * count)[:count]


# Reading.


def op_args(name: str, args: Json, path: str) -> Args:
    """The arguments of a request as the memory gets them."""
    read: Args = request_table(name)(args, path)
    return read


@cache
def request_table(name: str) -> Reader:
    fields = attrs.fields(REQUESTS[name])[1:]
    needs = [field.name for field in fields if field.default is attrs.NOTHING]
    return table({field.name: of_type(field.type) for field in fields}, *needs)


def fault_args(kind: str, args: Json, path: str) -> Args:
    """The arguments of a fault; what strikes without drawing has none."""
    given: dict[str, Json] = fault_table(kind)(args, path)
    readers = FAULT_ARGS.get(kind, {})
    plain = {name: value for name, value in PLAIN_ARGS.items() if name in readers}
    return given | {name: value for name, value in plain.items() if name not in given}


@cache
def fault_table(kind: str) -> Reader:
    if kind in CONTENT_KINDS:
        return table(CONTENT_ARGS)
    readers = FAULT_ARGS.get(kind, {})
    return table(readers, *(key for key in readers if key not in PLAIN_ARGS))


def of_type(due: object) -> Reader:
    return Described(lambda value, path: revived(value, due, path), lambda: type_schema(due))


def type_schema(due: object) -> Schema:
    from umi_sim.seedfile.item_schema import of_type  # nobody reads with it

    return of_type(due)


def revived(value: Json, due: object, path: str) -> object:
    """What `written` wrote."""
    choices = alternatives(due)
    if isinstance(value, str) or is_in_runs(value):
        return revived_text(value, choices, path)
    if isinstance(value, dict):
        return tagged(value, path)
    if isinstance(value, list):
        return revived_list(value, choices, path)
    return value if due is object or type(value) in choices else fail(path, noun(choices), value)


def revived_text(value: Json, choices: tuple[object, ...], path: str) -> object:
    if str in choices or object in choices:
        return unpacked(value, path)
    return encoded(unpacked(value, path), path) if bytes in choices else fail(path, noun(choices), value)


def revived_list(value: list[Json], choices: tuple[object, ...], path: str) -> object:
    if Turn in choices:
        return turn(value, path)
    fitting = [each for each in choices if each is object or get_origin(each) is tuple]
    due = parts(fitting[0], len(value)) if fitting else fail(path, noun(choices), value)
    return tuple(revived(each, due[at], f"{path}[{at}]") for at, each in enumerate(value))


def tagged(value: dict[str, Json], path: str) -> object:
    """A value that says what it is."""
    if len(value) != 1:
        raise BadValue(f"{path}: expected one of {', '.join(TAGS)} in an object, got {len(value)} fields")
    ((tag, inner),) = value.items()
    if tag not in TAGS:
        unknown(path, "field", tag, TAGS)
    below = f"{path}.{tag}"
    if tag == "odd":
        return revived(inner, object, below)
    if tag == "turn":
        return turn(inner, below)
    if tag == "int":
        return int(DIGITS(inner, below))
    return unpacked(inner, below) if tag == "text" else unhexed(unpacked(inner, below), below)


TAGS: Final = ("hex", "text", "turn", "int", "odd")
DIGITS: Final = text(rf"-?[0-9]{{1,{INTEGER_DIGITS_MAX}}}", f"1 to {INTEGER_DIGITS_MAX} digits")


def turn(value: Json, path: str) -> Turn:
    if not isinstance(value, list) or len(value) != 2:
        fail(path, "[role, text]", value)
    role, words = (revived(each, str, f"{path}[{at}]") for at, each in enumerate(value))
    return Turn(role, words)  # type: ignore[arg-type]  # a wrong type survives too


def unhexed(digits: str, path: str) -> bytes:
    if not re.fullmatch("([0-9a-f]{2})*", digits):
        fail(path, "pairs of hex digits", digits)
    return bytes.fromhex(digits)


def encoded(value: str, path: str) -> bytes:
    check_size(value, path)
    try:
        return value.encode()
    except UnicodeEncodeError:
        return fail(path, "text without lone surrogates, or hex", value)


def is_in_runs(value: Json) -> bool:
    return isinstance(value, dict) and list(value) == ["runs"]


def unpacked(value: Json, path: str) -> str:
    """A text, from its pieces and runs if it is written so."""
    if not is_in_runs(value):
        return WORDS(value, path)  # type: ignore[no-any-return]
    below = f"{path}.runs"
    given = value["runs"] if isinstance(value["runs"], list) else fail(below, "a list", value["runs"])
    pieces = [piece_of(each, f"{below}[{at}]") for at, each in enumerate(given)]
    if sum(len(piece) * count for piece, count in pieces) > RUNS_CHARS_MAX:
        raise BadValue(f"{below}: more than {RUNS_CHARS_MAX} characters when unpacked")
    return "".join(piece * count for piece, count in pieces)


def piece_of(value: Json, path: str) -> tuple[str, int]:
    match value:
        case str():
            return value, 1
        case [str() as piece, int() as count] if count is not True and 0 <= count <= RUNS_CHARS_MAX:
            return piece, count
    return fail(path, "text, or [text, count]", value)


def noun(choices: tuple[object, ...]) -> str:
    """What a message calls a declared type; that none is allowed besides goes without saying."""
    wanted = [each for each in choices if each is not type(None)]
    return " or ".join(
        NOUNS[each] if isinstance(each, type) and each in NOUNS else "a list" for each in wanted
    )


WORDS: Final = text()
NOUNS: Final[dict[type, str]] = {
    str: "text", bytes: "text or hex", int: "an integer", bool: "true or false", Turn: "[role, text]",
    type(None): "",
}  # fmt: skip

# What each kind of item, fault and move has.

ID: Final = text("[a-z][0-9]{1,6}", "a letter and at most 6 digits")
AT_MS: Final = whole(0, AT_MS_MAX)
EVENT: Final = text(rf"(?s).{{1,{EVENT_CHARS_MAX}}}", f"1 to {EVENT_CHARS_MAX} characters")
ARGS: Final = Described(as_object, object_schema)
AGENT: Final = text("[a-z][a-z0-9_]{0,15}", "the name of an agent")


RATE: Final = table(dict.fromkeys(("num", "den"), whole(1, DENOMINATOR_MAX)), "num", "den")


def drift_args(value: Json, path: str) -> Json:
    args = RATE(value, path)
    is_near = args["num"] <= RATE_FACTOR_MAX * args["den"] and args["den"] <= RATE_FACTOR_MAX * args["num"]
    return args if is_near else fail(path, "a rate between 1/2 and 2/1", f"{args['num']}/{args['den']}")


MOVES: Final[dict[str, Reader]] = {
    "jump": table({"by_ms": whole(-AT_MS_MAX, AT_MS_MAX)}, "by_ms"),
    "drift": Described(drift_args, lambda: schema_of(RATE)),
    "freeze": table({}),
    "thaw": table({"catch_up": flag}, "catch_up"),
    "land": table({"to_ms": AT_MS}, "to_ms"),
}
FIELDS: Final[dict[str, dict[str, Reader]]] = {
    "op": {"at_ms": AT_MS, "agent": AGENT, "name": one_of(tuple(REQUESTS), "request"), "args": ARGS},
    "fault": {"fault": one_of(tuple(KINDS), "fault"), "at": EVENT, "args": ARGS},
    "schedule": {"take": EVENT, "over": EVENT},
    "clock": {"at_ms": AT_MS, "agent": AGENT, "move": one_of(tuple(MOVES), "move"), "args": ARGS},
}
READERS: Final[dict[str, Reader]] = {
    kind: table({"id": ID, "kind": WORDS, **fields}, "id", *fields) for kind, fields in FIELDS.items()
}
ARGS_OF: Final[dict[str, Callable[[dict[str, Json], str], Args]]] = {
    "op": lambda fields, path: op_args(fields["name"], fields["args"], path),
    "fault": lambda fields, path: fault_args(fields["fault"], fields["args"], path),
    "clock": lambda fields, path: MOVES[fields["move"]](fields["args"], path),
}

COUNT: Final = whole(0, 2**53 - 1)
DAY: Final = whole(0, DAY_MS)  # the world goes on while a link holds something, so it must end
AFTER: Final = {"after_ms": COUNT}
FOR: Final = {"for_ms": COUNT}
TOLD: Final = {"told": one_of(("nothing", "unknown", "timeout"), "value")}
PLAIN_ARGS: Final = {"told": "nothing", "latent": False, "masked": False}  # what a file need not say
VECTOR: Final = {"index": COUNT, "choice": COUNT}
ROW: Final = {"index": COUNT, "other": COUNT}
DOWN: Final = {"down_ms": COUNT}
FAULT_ARGS: Final[dict[str, dict[str, Reader]]] = {
    "model_timeout": AFTER, "embed_timeout": AFTER, "model_slow": AFTER, "storage_slow": AFTER,
    "model_rate_limited": {"retry_after_ms": COUNT}, "embed_rate_limited": {"retry_after_ms": COUNT},
    "model_misdirected": {"text": of_type(str)},
    "model_unavailable": FOR, "embed_unavailable": FOR, "storage_unavailable": FOR, "storage_crash": FOR,
    "storage_torn": {"count": COUNT, **FOR}, "storage_lost": TOLD, "storage_reply_lost": TOLD,
    "embed_zero": VECTOR, "embed_wrong_dims": VECTOR, "embed_short": VECTOR, "embed_not_finite": VECTOR,
    "embed_out_of_range": VECTOR, "embed_collision": ROW, "embed_permuted": {"turn": COUNT},
    "storage_full": {"spare_bytes": COUNT, **FOR}, "storage_index_lag": {"lag_ms": COUNT, **FOR},
    "storage_damaged": {"index": COUNT, "latent": flag}, "storage_ack_early": FOR, "storage_wiped": FOR,
    "storage_misdirected": {**ROW, "masked": flag}, "storage_repeat_row": ROW,
    "storage_bit_flip": {"byte": COUNT, "bit": COUNT, "latent": flag},
    "storage_short_page": {"count": COUNT},
    "storage_shuffled": {"turn": COUNT}, "agent_crash": DOWN, "agent_crash_again": DOWN,
    "agent_lower_limit": {"core_entry_count_max": COUNT, **DOWN},
    "link_delay": {"delay_ms": DAY}, "link_reorder": {"wait_ms": DAY}, "link_duplicate": {"after_ms": DAY},
    "link_clog": {"for_ms": DAY}, "link_partition": {"for_ms": DAY},
    "agent_pause": {"clock": one_of(("runs", "stands"), "value"), "for_ms": DAY},
}  # fmt: skip
CONTENT_ARGS: Final[dict[str, Reader]] = {
    **dict.fromkeys(("text", "before", "after", "json", "key", "members", "path", "other"), of_type(str)),
    **dict.fromkeys(("keep", "at", "times"), COUNT),
}


def items_schema() -> Schema:
    from umi_sim.seedfile.item_schema import of_items

    return {"type": "array", "items": of_items(), "maxItems": ITEM_COUNT_MAX}


ITEMS: Final = listed(from_json, ITEM_COUNT_MAX)
RECORD: Final = Described(all_from_json, items_schema)

"""Values of requests and faults as JSON and back: each value, valid or not, is read back unchanged.

Law 1. A value of the type that its field declares is written plainly; bytes in UTF-8 as their text.
Law 2. Any other value is written as an object that names its type: {"hex"} bytes, {"text"} a text, {"turn"}
       [role, text], {"int"} a number of more than 19 digits, {"odd"} null, true, 7 or a list.
Law 3. A plain value of the wrong type is therefore a mistake in the file, and refused; so are unknown names.
Law 4. Long runs of the same few characters are {"runs": ["abc", ["x", 5000]]}; the unpacked size is bounded.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Final, get_args, get_origin

from umi_core.messages.requests import REQUESTS, arguments_of
from umi_core.values import Turn
from umi_sim.formats.schema import (
    TEXT,
    Json,
    Rule,
    Schema,
    at,
    fail,
    is_large,
    list_of,
    quote_text,
    several,
    table,
    text,
    wrong,
)
from umi_sim.formats.strict_json import DIGITS_MAX
from umi_sim.kernel.wording import split_runs, suggest_names

Args = Mapping[str, object]

RUNS_CHARS_MAX: Final = 256 * 1024
INTEGER_DIGITS_MAX: Final = 40


def args_to_json(types: Mapping[str, object], args: Args) -> Json:
    return {name: write_value(value, types.get(name, object)) for name, value in args.items()}


def write_value(value: object, declared: object) -> Json:
    """Write the value of a field with the type `declared`."""
    fitting = fit(value, declared)
    match value:
        case bytes():
            # b"abc" in a field of bytes is written "abc"; in any other field it is {"hex": "616263"}.
            return (
                split_runs(value.decode())
                if fitting is bytes and is_utf8(value)
                else {"hex": split_runs(value.hex())}
            )
        case str():
            return split_runs(value) if fitting is not None else {"text": split_runs(value)}
        case Turn(role=role, text=words):
            pair = [write_value(role, str), write_value(words, str)]
            return pair if fitting is Turn else {"turn": pair}
        # Readers accept at most 19 digits in a number, so longer ones are written as text.
        case int() if len(str(abs(value))) > DIGITS_MAX:
            return {"int": str(value)}
        case tuple() if fitting is not None:
            return [
                write_value(each, part) for each, part in zip(value, parts(fitting, len(value)), strict=True)
            ]
        case tuple():
            return {"odd": [write_value(each, object) for each in value]}
    assert value is None or isinstance(value, int), value
    return value if fitting is not None else {"odd": value}


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


# Declared types, and the alternative in them that a value has.


@cache
def types_of(name: str) -> Mapping[str, object]:
    """Return the declared type of each argument of a request."""
    return {argument.name: argument.type for argument in arguments_of(REQUESTS[name])}


@cache
def alternatives(declared: object) -> tuple[object, ...]:
    return get_args(declared) if isinstance(declared, UnionType) else (declared,)


def fit(value: object, declared: object) -> object:
    """Return the alternative of the declared type that a value has; None if no alternative fits."""
    return next((each for each in alternatives(declared) if is_fitting(value, each)), None)


def is_fitting(value: object, declared: object) -> bool:
    if declared is object:
        return not isinstance(value, bytes | Turn)
    if get_origin(declared) is tuple:
        return isinstance(value, tuple)
    return type(value) is declared


def parts(declared: object, count: int) -> Sequence[object]:
    """Return the types of the members of a tuple with `count` members."""
    inner = get_args(declared)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return (inner[0],) * count
    # A tuple of the wrong length is written as well; members beyond the declared ones count as `object`.
    return (*inner, *(object,) * count)[:count]


# Reading.


def op_args(name: str, args: Json) -> Args:
    """Read the arguments of a request, and return them as the memory gets them. Raises Wrong."""
    read: Args = request_table(name).read(args)
    return read


@cache
def request_table(name: str) -> Schema:
    arguments = arguments_of(REQUESTS[name])
    needs = [argument.name for argument in arguments if argument.is_required]
    return table({argument.name: of_type(argument.type) for argument in arguments}, *needs)


@cache
def of_type(declared: object) -> Schema:
    """Return the schema of a value of this declared type."""
    return Schema(
        lambda value: read_value(value, declared),
        lambda: rule_of(declared),
        lambda value: write_value(value, declared),
    )


def read_value(value: Json, declared: object) -> object:
    """Read a value that `write_value` wrote."""
    choices = alternatives(declared)
    if isinstance(value, str) or is_in_runs(value):
        return revived_text(value, choices)
    if isinstance(value, dict):
        return read_tagged(value)
    if isinstance(value, list):
        return revived_list(value, choices)
    is_fit = type(value) in (RULE_TYPES if declared is object else choices)
    is_small = type(value) is not int or len(str(abs(value))) <= DIGITS_MAX
    return value if is_fit and is_small else fail(noun(choices), value)


def revived_text(value: Json, choices: tuple[object, ...]) -> object:
    if str in choices or object in choices:
        return read_text(value)
    return encode_text(read_text(value)) if bytes in choices else fail(noun(choices), value)


def revived_list(value: list[Json], choices: tuple[object, ...]) -> object:
    if Turn in choices:
        return turn(value)
    fitting = [each for each in choices if each is object or get_origin(each) is tuple]
    declared = parts(fitting[0], len(value)) if fitting else fail(noun(choices), value)
    return several([of_type(each) for each in declared]).read(value)


def read_tagged(value: dict[str, Json]) -> object:
    """Read a value that names its own type."""
    if len(value) != 1:
        wrong(f"expected one of {', '.join(TAGS)} in an object, got {len(value)} fields")
    ((tag, inner),) = value.items()
    if tag not in TAGS:
        wrong(f"unknown tag {quote_text(tag)}{suggest_names(tag, TAGS)}")
    return at(tag, TAGS[tag], inner)


def turn(value: Json) -> Turn:
    return Turn(*ROLE_AND_TEXT.read(value))


def read_hex(value: Json) -> bytes:
    digits = read_text(value)
    if not re.fullmatch("([0-9a-f]{2})*", digits):
        fail("pairs of hex digits", digits)
    return bytes.fromhex(digits)


def encode_text(value: str) -> bytes:
    is_large(value)
    try:
        return value.encode()
    except UnicodeEncodeError:
        return fail("text without lone surrogates, or hex", value)


def is_in_runs(value: Json) -> bool:
    return isinstance(value, dict) and list(value) == ["runs"]


def read_text(value: Json) -> str:
    """Read a text, written plainly or as runs."""
    text: str = at("runs", joined_runs, value["runs"]) if is_in_runs(value) else TEXT.read(value)
    return text


def joined_runs(value: Json) -> str:
    pieces = PIECES.read(value)
    # The sizes are added up before joining, because the short ["x", 10**9] would fill the memory.
    if sum(len(piece) * count for piece, count in pieces) > RUNS_CHARS_MAX:
        wrong(f"more than {RUNS_CHARS_MAX} characters when unpacked")
    return "".join(piece * count for piece, count in pieces)


def piece_of(value: Json) -> tuple[str, int]:
    match value:
        case str():
            return value, 1
        # int() matches True as well, which is no count.
        case [str() as piece, int() as count] if count is not True and 0 <= count <= RUNS_CHARS_MAX:
            return piece, count
    return fail("text, or [text, count]", value)


def piece_rule() -> Rule:
    count = {"type": "integer", "minimum": 0, "maximum": RUNS_CHARS_MAX}
    piece = {"type": "array", "prefixItems": [{"type": "string"}, count], "minItems": 2, "maxItems": 2}
    return {"anyOf": [{"type": "string"}, piece]}


def noun(choices: tuple[object, ...]) -> str:
    """Return the noun that messages use for a declared type; the alternative None is left out."""
    wanted = [each for each in choices if each is not type(None)]
    return " or ".join(
        NOUNS[each] if isinstance(each, type) and each in NOUNS else "a list" for each in wanted
    )


NOUNS: Final[dict[type, str]] = {
    str: "text", bytes: "text or hex", int: "a whole number", bool: "true or false", Turn: "[role, text]",
    object: "a value",
    type(None): "",
}  # fmt: skip
ROLE_AND_TEXT: Final = several((of_type(str), of_type(str)), "[role, text]")
PIECES: Final = list_of(Schema(piece_of, piece_rule), RUNS_CHARS_MAX)
DIGITS: Final = text(rf"-?[0-9]{{1,{INTEGER_DIGITS_MAX}}}", f"1 to {INTEGER_DIGITS_MAX} digits")
TAGS: Final[dict[str, Callable[[Json], object]]] = {
    "hex": read_hex, "text": read_text, "turn": turn, "int": lambda value: int(DIGITS.read(value)),
    "odd": lambda value: read_value(value, object),
}  # fmt: skip


# As JSON Schema.


def rule_of(declared: object) -> Rule:
    """Return the JSON Schema of what `read_value` reads for a declared type."""
    if declared is object:
        return {"$ref": "#/$defs/any"}
    choices = alternatives(declared)
    found: list[Rule] = [{"$ref": "#/$defs/tagged"}]
    if str in choices or bytes in choices:
        found.append({"$ref": "#/$defs/text"})
    found += [{"type": name} for cls, name in RULE_TYPES.items() if cls in choices]
    found += [list_rule(each) for each in choices if each is Turn or get_origin(each) is tuple]
    return {"anyOf": found}


RULE_TYPES: Final[dict[type, str]] = {bool: "boolean", int: "integer", type(None): "null"}


def list_rule(declared: object) -> Rule:
    if declared is Turn:
        return {"$ref": "#/$defs/turn"}
    inner = get_args(declared)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return {"type": "array", "items": rule_of(inner[0])}
    return {"type": "array", "prefixItems": [rule_of(each) for each in inner]}


def definitions() -> Rule:
    """Return the definitions that the rules of values refer to."""
    inner: dict[str, Rule] = {
        "hex": {"$ref": "#/$defs/text"}, "text": {"$ref": "#/$defs/text"}, "turn": {"$ref": "#/$defs/turn"},
        "int": DIGITS.rule(), "odd": {"$ref": "#/$defs/any"},
    }  # fmt: skip
    runs = {"type": "array", "items": piece_rule()}
    return {
        "text": {"anyOf": [{"type": "string"}, only("runs", runs)]},
        "turn": ROLE_AND_TEXT.rule(),
        "tagged": {"anyOf": [only(tag, inner[tag]) for tag in TAGS]},
        "any": {
            "anyOf": [
                {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/tagged"},
                *({"type": name} for name in RULE_TYPES.values()),
                {"type": "array", "items": {"$ref": "#/$defs/any"}},
            ]
        },
    }  # fmt: skip


def only(field: str, rule: Rule) -> Rule:
    return {
        "type": "object", "properties": {field: rule}, "required": [field], "additionalProperties": False,
    }  # fmt: skip

"""Values of requests and faults as JSON and back: what was given, right or wrong, survives the way.

Law 1. A value of the type that its field declares is written plainly; bytes that are UTF-8 as their text.
Law 2. Any other says what it is, in an object: {"hex"} bytes, {"text"} a text, {"turn"} [role, text], {"int"}
       a number of more than 19 digits, {"odd"} null, true, 7 or a list where something else is due.
Law 3. So a plain value of the wrong type is a mistake, and refused; as are unknown names.
Law 4. Long runs of the same few characters are {"runs": ["abc", ["x", 5000]]}; what unpacks is bounded.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Final, get_args, get_origin

from umi_core.messages.requests import REQUESTS, arguments_of
from umi_core.values import Turn
from umi_sim.formats.strict_json import (
    DIGITS_MAX,
    BadValue,
    Described,
    Reader,
    Schema,
    check_size,
    fail,
    table,
    text,
    unknown,
)
from umi_sim.kernel.long_runs import runs
from umi_sim.record.items import Args

Json = Any

RUNS_CHARS_MAX: Final = 256 * 1024
INTEGER_DIGITS_MAX: Final = 40


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


# Types: what a field declares, and which part of it a value fits.


@cache
def types_of(name: str) -> Mapping[str, object]:
    """The declared type of each argument of a request."""
    return {argument.name: argument.type for argument in arguments_of(REQUESTS[name])}


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
    arguments = arguments_of(REQUESTS[name])
    needs = [argument.name for argument in arguments if argument.is_required]
    return table({argument.name: of_type(argument.type) for argument in arguments}, *needs)


def of_type(due: object) -> Reader:
    return Described(lambda value, path: revived(value, due, path), lambda: type_schema(due))


def type_schema(due: object) -> Schema:
    from umi_sim.formats.value_schema import of_type  # nobody reads with it

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

"""Values that a store is given: plain ones, odd ones, and all of them as JSON and back.

Law 1. Whatever is given to a store can be written into a seed file, and comes back as it was.
Law 2. Two values are the same only if their types are: 1, True and 1.0 are three values.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from umi_sim.formats.schema import Json, as_list, as_object, at, fail, wrong
from umi_sim.formats.strict_json import DIGITS_MAX

PLAIN_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,19}")
PLAIN_TEXT: Final = re.compile(r"[!-~](?:[ -~]{0,60}[!-~])?")
PLAIN_INT_MAX: Final = 2**31
SHOWN_CHARS_MAX: Final = 120
FLOAT_CHARS_MAX: Final = 40

ODD_NAMES: Final = (
    "A", "a ", " a", "", " ", "a:b", "a/b", "a.b", "a*", "*", "a%", "%", "a_", "_", "a-b", "a,b", "a\nb",
    "a\x00b", "..", "a'b", 'a"b', "é", "e\u0301", "ß", "ss", "0", "00", "None", "a" * 300, "a\\b", "#a",
   "a|b",     "\U0001f600", "[a]", "a?", "$a", "a=b", "a::b",
)  # fmt: skip
"""Each is near to another one: by case, blank, separator, wildcard or form of writing."""
ODD_TEXTS: Final = (
    "", " ", "a\x00b", "\u200b", "e\u0301", "\u202eabc", "line\nline\r\nline", "x" * 5_000,
    "\U0001f468\u200d\U0001f469",    "null", "{}", "'; --", "%s {0}", "\ufeffbom", " padded ",
)  # fmt: skip
ODD_JSON: Final[tuple[object, ...]] = (
    False, True, 0, -1, 2**53 + 1, 2**63, 0.5, -0.0, 1e300, [], {}, [None], {"": None},
    {"a": {"b": [1, "2"]}},    [[], [[]]], {"1": 1}, [True, 1, 1.0],
)  # fmt: skip


class Missing:
    """What a store answers that has nothing there, where None is a value like others."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


def is_plain_name(value: object) -> bool:
    return isinstance(value, str) and PLAIN_NAME.fullmatch(value) is not None


def is_plain(value: object) -> bool:
    """A value that every store takes."""
    match value:
        case str():
            return PLAIN_TEXT.fullmatch(value) is not None
        case bool():
            return True
        case int():
            return abs(value) < PLAIN_INT_MAX
        case list():
            return bool(value) and all(map(is_plain, value))
        case dict():
            return bool(value) and all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return False


def same(one: object, other: object) -> bool:
    """Equal, and of the same type at every place."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)
    return bool(one == other)


def shown(value: object) -> str:
    """A value for people: short, and without addresses of this process."""
    text = repr(value)
    if " at 0x" in text:
        text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}... ({len(text)} characters)"


# As JSON.


def to_json(value: object) -> Json:
    match value:
        case None | bool():
            return value
        case int():
            return value if len(str(abs(value))) < DIGITS_MAX else {"int": str(value)}
        case str():
            return value
        case float():
            return {"float": repr(value)}
        case bytes():
            return {"bytes": value.hex()}
        case list() | tuple():
            return [to_json(each) for each in value]
        case dict():
            return {"dict": [[to_json(key), to_json(each)] for key, each in value.items()]}
    return {"other": f"{type(value).__name__} {shown(value)}"}


def from_json(value: Json) -> object:
    """What `to_json` wrote. Raises Wrong."""
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if isinstance(value, dict):
        if len(value) != 1:
            wrong(f"expected one of {', '.join(READERS)} in an object, got {len(value)} fields")
        ((tag, inner),) = value.items()
        return at(tag, READERS[tag], inner) if tag in READERS else fail(f"one of {', '.join(READERS)}", tag)
    return value


def read_int(value: Json) -> int:
    is_good = isinstance(value, str) and re.fullmatch("-?[0-9]{1,40}", value)
    return int(value) if is_good else fail("1 to 40 digits", value)


def read_float(value: Json) -> float:
    try:
        return (
            float(value) if isinstance(value, str) and len(value) < FLOAT_CHARS_MAX else fail("text", value)
        )
    except ValueError:
        return fail("a number as text", value)


def read_bytes(value: Json) -> bytes:
    is_good = isinstance(value, str) and re.fullmatch("([0-9a-f]{2})*", value)
    return bytes.fromhex(value) if is_good else fail("pairs of hex digits", value)


def read_dict(value: Json) -> dict[object, object]:
    found: dict[object, object] = {}
    for pair in as_list(value):
        key, inner = pair if isinstance(pair, list) and len(pair) == 2 else fail("[key, value]", pair)
        found[key if isinstance(key, str | int) else fail("a text as key", key)] = from_json(inner)
    return found


READERS: Final[Mapping[str, Callable[[Json], object]]] = {
    "int": read_int, "float": read_float, "bytes": read_bytes, "dict": read_dict,
    "other": lambda value: wrong("is not a value that can be given to a store"),
}  # fmt: skip


def read_args(value: Json) -> dict[str, object]:
    """The arguments of an operation."""
    return {name: at(name, from_json, each) for name, each in as_object(value).items()}

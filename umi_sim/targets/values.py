"""Values that runs give to stores: plain ones, odd ones, and their conversion to JSON and back.

Law 1. Each value that is given to a store can be written to a seed file and read back unchanged.
Law 2. Two values are the same only if their types are: 1, True and 1.0 are three values.
"""

import json
import re
from typing import Final

from umi_core.data import Data, list_compared
from umi_sim.formats.schema import TEXT, Json, at, wrong

PLAIN_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,19}")
PLAIN_TEXT: Final = re.compile(r"[!-~](?:[ -~]{0,60}[!-~])?")
PLAIN_INT_MAX: Final = 2**31
INT_MAX: Final = 10**18

ODD_NAMES: Final = (
    "A", "a ", " a", "", " ", "a:b", "a/b", "a.b", "a*", "*", "a%", "%", "a_", "_", "a-b", "a,b", "a\nb",
    "a\x00b", "..", "a'b", 'a"b', "é", "e\u0301", "ß", "ss", "0", "00", "None", "a" * 300, "a\\b", "#a",
   "a|b",     "\U0001f600", "[a]", "a?", "$a", "a=b", "a::b",
)  # fmt: skip
"""Names that are easily confused: by case, blanks, separators, wildcards or Unicode normalization."""
CONFUSED_NAMES: Final = (
    ("a", "A"), ("a", "a "), ("a", " a"), ("", " "), ("", "None"), ("é", "e\u0301"), ("ß", "ss"), ("é", "e"),
    ("0", "00"), ("1", "01"), ("1", "1.0"), ("0", ""), ("ab", "a_"), ("ab", "a%"), ("ab", "a*"), ("ab", "a?"),
    ("a", "_"), ("a", "%"), ("ab", "[a]b"), ("a/b", "a_b"), ("a:b", "a_b"), ("a.b", "a_b"), ("a b", "a_b"),
    ("a-b", "a_b"), ("a/b", "ab"), ("a:b", "ab"), ("a b", "ab"), ("a/b", "b"), ("a\\b", "a/b"), ("a", "a/"),
    ("a", "./a"), ("a", "a\x00b"), ("a%2Fb", "a/b"), ("a+b", "a b"), ("a" * 300, "a" * 299 + "b"),
)  # fmt: skip
"""Pairs of names that a store may take for one: it folds, cleans, shortens, quotes or matches them."""
ODD_TEXTS: Final = (
    "", " ", "a\x00b", "\u200b", "e\u0301", "\u202eabc", "line\nline\r\nline", "x" * 5_000,
    "\U0001f468\u200d\U0001f469",    "null", "{}", "'; --", "%s {0}", "\ufeffbom", " padded ",
)  # fmt: skip
ODD_JSON: Final[tuple[object, ...]] = (
    False, True, 0, -1, 2**53 + 1, 2**63, 0.5, -0.0, 1e300, [], {}, [None], {"": None},
    {"a": {"b": [1, "2"]}},    [[], [[]]], {"1": 1}, [True, 1, 1.0],
)  # fmt: skip


def number_like(value: object) -> object:
    """Return the number that is equal to a value but has another type, or MISSING: 1 for True, 7.0 for 7."""
    match value:
        case bool():
            return int(value)
        case 0 | 1 if isinstance(value, int):
            return bool(value)
        case int() if abs(value) < PLAIN_INT_MAX:
            return float(value)
    return MISSING


class Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()
"""The answer of an operation that finds nothing, for stores in which None is a value (`keeps_none`)."""


def is_plain_name(value: object) -> bool:
    return isinstance(value, str) and PLAIN_NAME.fullmatch(value) is not None


def is_plain(value: object) -> bool:
    """Return whether a value is one that every store must accept."""
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
    """Return whether two values are equal and have the same types at all levels."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)
    if isinstance(one, Data):
        return all(same(getattr(one, name), getattr(other, name)) for name in list_compared(type(one)))
    return bool(one == other)


def key_of(value: object) -> object:
    """Return a hashable key, equal for two values that are the same; the order of dict keys is ignored."""
    kind = type(value)
    if kind is str:
        return value
    if kind is int or kind is bool or value is None:
        return kind, value
    if isinstance(value, dict):
        return frozenset([(name, key_of(each)) for name, each in value.items()])
    if isinstance(value, (list, tuple)):
        return kind, *[key_of(each) for each in value]
    if isinstance(value, Data):
        return kind, *[key_of(getattr(value, name)) for name in list_compared(kind)]
    return value if isinstance(value, str) else (kind, repr(value))


# As JSON.


def to_json(value: object) -> Json:
    """Return the value, or {"json": text} if a strict JSON reader would not accept it."""
    return value if is_strict(value) else {"json": json.dumps(value)}


def is_strict(value: object) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return abs(value) < INT_MAX
        case list():
            return all(map(is_strict, value))
        case dict():
            return all(map(is_strict, value.values())) and set(value) != {"json"}
    return False


def from_json(value: Json) -> object:
    """Read what `to_json` wrote. Raises Wrong."""
    if not isinstance(value, dict) or set(value) != {"json"}:
        return value
    text: str = at("json", TEXT.read, value["json"])
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong(f"json: {error}")
    return found

"""Replies: the JSON that a model was asked for, found in whatever it said.

Law 1. Total: any string gives a payload or an `UnusableReply`, in time linear in its size per start.
Law 2. What is read, and how deep, json_text.py says; here the number of starts is bounded.
"""

import re
from collections.abc import Callable
from itertools import chain
from typing import ClassVar, Final, Literal, get_args, overload

from umi_core.data import Data
from umi_core.json_text import Json, JsonNumber, clean_value, decode_at, loose_at, value_end, whole
from umi_core.limits import (
    JSON_NUMBER_CHARS_MAX,
    JSON_START_COUNT_MAX,
    LOOSE_START_COUNT_MAX,
    PPM,
    REPLY_BYTES_MAX,
)
from umi_core.text import cut, size

Unread = Literal["empty", "too_long", "no_json"]
UNREAD: Final[tuple[str, ...]] = get_args(Unread)


class UnusableReply(Data):
    """A reply without payload."""

    reason: Unread


class ObjectWith(Data):
    """Wanted: an object that has a list under `key`."""

    opening: ClassVar[str] = "{"
    key: str

    def suits(self, value: Json) -> bool:
        return isinstance(value, dict) and isinstance(value.get(self.key), list)


class ArrayOf(Data):
    """Wanted: an array that is empty, or holds at least one element of the kind."""

    opening: ClassVar[str] = "["
    kind: type[dict[str, Json]] | type[str]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and (not value or any(isinstance(part, self.kind) for part in value))


class ArrayWith(Data):
    """Wanted: an array that holds an object with all these keys."""

    opening: ClassVar[str] = "["
    keys: tuple[str, ...]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and any(has_keys(part, self.keys) for part in value)


def has_keys(value: Json, keys: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and all(key in value for key in keys)


@overload
def find_json(reply: str, wanted: ObjectWith) -> dict[str, Json] | UnusableReply: ...
@overload
def find_json(reply: str, wanted: ArrayOf | ArrayWith) -> list[Json] | UnusableReply: ...
def find_json(reply: str, wanted: ObjectWith | ArrayOf | ArrayWith) -> Json | UnusableReply:
    """Return the first value of the wanted shape; the text around it is ignored.

    If there is none in strict JSON, one that is written less strictly; then one inside a text of the JSON.
    """
    text = whole(reply)
    if not text.strip():
        return UnusableReply("empty")
    if size(text) > REPLY_BYTES_MAX:
        return UnusableReply("too_long")
    inside = (decode_text(match[0]) for match in STRING.finditer(text))
    for each in chain((text,), (it for it in inside if wanted.opening in it)):
        value = search_text(each, wanted)
        if value is not None:
            return clean_value(value)
    return UnusableReply("no_json")


STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # an open one runs to the end


def decode_text(quoted: str) -> str:
    """Return the text of a JSON string; empty if it is none."""
    value = loose_at(quoted, 0)
    return value if isinstance(value, str) else ""


Decode = Callable[[str, int], Json]


def search_text(text: str, wanted: ObjectWith | ArrayOf | ArrayWith) -> Json:
    """Return the first value of the wanted shape in strict JSON, else in loose JSON; else None."""
    strict = first_suitable(text, wanted, decode_at, JSON_START_COUNT_MAX)
    return first_suitable(text, wanted, loose_at, LOOSE_START_COUNT_MAX) if strict is None else strict


def first_suitable(
    text: str, wanted: ObjectWith | ArrayOf | ArrayWith, decode: Decode, count_max: int
) -> Json:
    """Return the first value of the wanted shape, at the first so many places where one may begin."""
    start = -1
    for _ in range(count_max):
        start = text.find(wanted.opening, start + 1)
        if start < 0:
            return None
        value = decode(text, start)
        if wanted.suits(value):
            return value
    return None


def find_objects(reply: str, keys: tuple[str, ...]) -> list[Json]:
    """Return all objects with these keys, each searched for behind the one before."""
    text, start, found = whole(reply), -1, list[Json]()
    for _ in range(JSON_START_COUNT_MAX):
        start = text.find("{", start + 1)
        if start < 0:
            break
        value = decode_at(text, start)
        if has_keys(value, keys):
            found.append(clean_value(value))
            start = (value_end(text, start) or start + 1) - 1
    return found


# Confidence.


DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?")


def confidence_ppm(value: Json) -> int | None:
    """Return a number in [0, 1] times 10^6, floored in exact decimal; None for anything else."""
    parts = DECIMAL.fullmatch(value.text) if isinstance(value, JsonNumber) else None
    if parts is None:
        return None
    sign, ones, fraction, exponent = (part or "" for part in parts.groups())
    digits = int(ones + fraction)
    if sign and digits:
        return None
    # The value is digits * 10**scale. The scale is cut to a range beyond which it is over 1, or under 1 ppm.
    scale = max(-2 * JSON_NUMBER_CHARS_MAX, min(1, int(exponent or 0) - len(fraction)))
    above, below = digits * 10 ** max(scale, 0), 10 ** max(-scale, 0)
    return above * PPM // below if above <= below else None


# Reasons.


def reason_of(row: dict[str, Json], bytes_max: int) -> str:
    """Return the reason that a row gives, cut to `bytes_max`; empty if it is no text."""
    reason = row.get("reason")
    return cut(reason, bytes_max) if isinstance(reason, str) else ""


def reason_mend(row: dict[str, Json], bytes_max: int) -> str:
    """Return the name of what became of the reason of a row; empty if it stands as it is."""
    reason = row.get("reason")
    if not isinstance(reason, str):
        return "reason missing"
    return "reason cut" if size(reason) > bytes_max else ""

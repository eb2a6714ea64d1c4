"""Replies: the JSON that a model was asked for, found in whatever it said.

Law 1. Total: any string gives a payload or an `Unusable`, in time linear in its size per start.
Law 2. Strict JSON, bounded before it is decoded: depth, length of numbers, number of starts.
Law 3. Numbers stay the text they were: no float is made, and nothing is rounded unasked.
"""

import json
import re
from typing import Final, Literal, NoReturn, get_args, overload

import attrs

from umi_core.data import Data
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX, JSON_START_COUNT_MAX, PPM, REPLY_BYTES_MAX
from umi_core.text import SURROGATE, cut, size


@attrs.frozen
class Number(Data):
    """A JSON number as it was written."""

    text: str


Json = None | bool | str | Number | list["Json"] | dict[str, "Json"]


Unread = Literal["empty", "too_long", "no_json"]
UNREAD: Final[tuple[str, ...]] = get_args(Unread)


@attrs.frozen
class Unusable(Data):
    """A reply without payload."""

    reason: Unread


@attrs.frozen
class ObjectWith(Data):
    """Wanted: an object that has a list under `key`."""

    key: str

    def suits(self, value: Json) -> bool:
        return isinstance(value, dict) and isinstance(value.get(self.key), list)


@attrs.frozen
class ArrayOf(Data):
    """Wanted: an array that is empty, or holds at least one element of the kind."""

    kind: type[dict[str, Json]] | type[str]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and (not value or any(isinstance(part, self.kind) for part in value))


@attrs.frozen
class ArrayWith(Data):
    """Wanted: an array that holds an object with all these keys."""

    keys: tuple[str, ...]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and any(has_keys(part, self.keys) for part in value)


def has_keys(value: Json, keys: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and all(key in value for key in keys)


@overload
def find_json(reply: str, wanted: ObjectWith) -> dict[str, Json] | Unusable: ...
@overload
def find_json(reply: str, wanted: ArrayOf | ArrayWith) -> list[Json] | Unusable: ...
def find_json(reply: str, wanted: ObjectWith | ArrayOf | ArrayWith) -> Json | Unusable:
    """The first value of the wanted shape; what stands before and after it is ignored."""
    text = whole(reply)
    if not text.strip():
        return Unusable("empty")
    if size(text) > REPLY_BYTES_MAX:
        return Unusable("too_long")
    start = -1
    for _ in range(JSON_START_COUNT_MAX):
        start = text.find("{" if isinstance(wanted, ObjectWith) else "[", start + 1)
        if start < 0:
            break
        value = decoded(text, start)
        if wanted.suits(value):
            return cleaned(value)
    return Unusable("no_json")


def find_objects(reply: str, keys: tuple[str, ...]) -> list[Json]:
    """All objects with these keys, each searched for behind the one before."""
    text, start, found = whole(reply), -1, list[Json]()
    for _ in range(JSON_START_COUNT_MAX):
        start = text.find("{", start + 1)
        if start < 0:
            break
        value = decoded(text, start)
        if has_keys(value, keys):
            found.append(cleaned(value))
            start = DECODER.raw_decode(text, start)[1] - 1
    return found


def whole_json(text: str) -> Json:
    """The JSON value that a text is, with blanks around it; None if it is none, or one beyond the limits."""
    bare = text.strip(" \t\r\n")
    value = decoded(bare, 0)
    return value if value is not None and DECODER.raw_decode(bare, 0)[1] == len(bare) else None


def written(value: Json) -> str:
    """A value as JSON."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{written(key)}:{written(part)}" for key, part in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def whole(text: str) -> str:
    """Lone surrogates become U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def decoded(text: str, start: int) -> Json:
    """The JSON value that begins at `start`; None if there is none, or one beyond the limits."""
    if not is_bounded(text, start):
        return None
    try:
        value: Json = DECODER.raw_decode(text, start)[0]
    except ValueError:
        return None
    return value


def value_end(text: str, start: int) -> int | None:
    """Return where the JSON value that begins at `start` ends; None if there is none."""
    return None if decoded(text, start) is None else DECODER.raw_decode(text, start)[1]


TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)  # an open string runs to the end


def is_bounded(text: str, start: int) -> bool:
    """Whether the brackets close without nesting too deep: counted first, as decoding recurses."""
    depth = 0
    for match in TOKEN.finditer(text, start):
        token = match[0]
        depth += 1 if token in "[{" else -1 if token in "]}" else 0
        if depth in (0, JSON_DEPTH_MAX + 1):
            break
    return depth == 0


def number(text: str) -> Number:
    if len(text) > JSON_NUMBER_CHARS_MAX:
        raise ValueError("number too long")
    return Number(text)


def refuse(constant: str) -> NoReturn:
    """NaN and Infinity are Python's idea of JSON."""
    raise ValueError(constant)


DECODER: Final = json.JSONDecoder(parse_float=number, parse_int=number, parse_constant=refuse)


def cleaned(value: Json) -> Json:
    """The value without the lone surrogates that escapes can write."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [cleaned(element) for element in value]
    if isinstance(value, dict):
        return {whole(key): cleaned(element) for key, element in value.items()}
    return value


# Confidence.


DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?")


def confidence_ppm(value: Json) -> int | None:
    """A number in [0, 1] times 10^6, floored in exact decimal; None for anything else."""
    parts = DECIMAL.fullmatch(value.text) if isinstance(value, Number) else None
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
    """What a row gives as its reason, cut to so many bytes; empty if it is no text."""
    reason = row.get("reason")
    return cut(reason, bytes_max) if isinstance(reason, str) else ""


def reason_mend(row: dict[str, Json], bytes_max: int) -> str:
    """The name of what became of the reason of a row; empty if it stands as it is."""
    reason = row.get("reason")
    if not isinstance(reason, str):
        return "reason missing"
    return "reason cut" if size(reason) > bytes_max else ""

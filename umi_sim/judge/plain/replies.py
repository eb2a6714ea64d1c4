"""The JSON in whatever a model said, as M10.2 to M10.6 find it, and confidences in it.

A value is tried wherever one may begin, and the first of the wanted form is the payload:

    Sure! Use {} so: {"entities": []} ok?      the second object, if one with a list of entities is wanted
    {"queries": ["a"]}                         the array in it, if an array of texts is wanted
    {"entities": NaN}                          nothing
"""

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, Final, NoReturn

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import (
    JSON_DEPTH_MAX,
    JSON_NUMBER_CHARS_MAX,
    JSON_START_COUNT_MAX,
    PPM,
    REPLY_BYTES_MAX,
)
from umi_sim.judge.plain.text import byte_count, made_whole

Form = Callable[[Any], bool]
KEPT: Final = 64  # of one reply several are judged: the parser, the operation, and each of its rows

FAR: Final = (
    10 * JSON_NUMBER_CHARS_MAX
)  # an exponent of this size decides alone: 1e-400 is 0, whatever its digits


@attrs.frozen
class Number(Data):
    """A number as it was written, because rounding it would decide something."""

    written: str


@lru_cache(maxsize=KEPT)
def payload_of(reply: str, opening: str, is_wanted: Form) -> Any:
    """The first value of the wanted form that begins with `{` or `[`; None if none. Not to be changed."""
    text = made_whole(reply)
    if byte_count(text) > REPLY_BYTES_MAX:
        return None
    starts = [match.start() for match in re.finditer(re.escape(opening), text)]
    values = (value_at(text, start) for start in starts[:JSON_START_COUNT_MAX])
    return next((value for value in values if is_wanted(value)), None)


def why_unusable(reply: str) -> str:
    """What is wrong with a reply that has no payload."""
    if made_whole(reply).strip() == "":
        return "empty"
    return "too_long" if byte_count(reply) > REPLY_BYTES_MAX else "no_json"


@cache
def has_list(name: str) -> Form:
    return lambda value: isinstance(value, dict) and isinstance(value.get(name), list)


@cache
def array_of(kind: type) -> Form:
    """An array of which at least one element is of this kind, or an empty one."""
    return lambda value: isinstance(value, list) and (not value or any(type(it) is kind for it in value))


def value_at(text: str, start: int) -> Any:
    """The JSON value that begins here; None if none does, or if it is nested too deep."""
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return whole(value) if depth_of(text[start:end]) <= JSON_DEPTH_MAX else None


def depth_of(json_text: str) -> int:
    """How many brackets are open at once, those in texts left out."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", json_text)
    steps = (1 if char in "[{" else -1 for char in bare if char in "[]{}")
    return max(accumulate(steps), default=0)


def whole(value: Any) -> Any:
    """The value without half surrogate pairs, which `\\ud800` can still write."""
    if isinstance(value, dict):
        return {made_whole(key): whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [whole(each) for each in value]
    return made_whole(value) if isinstance(value, str) else value


def number(written: str) -> Number:
    if len(written) > JSON_NUMBER_CHARS_MAX:
        raise ValueError(written)
    return Number(written)


def no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are no JSON


DECODER: Final = json.JSONDecoder(parse_float=number, parse_int=number, parse_constant=no_constant)


# Confidences.


def confidence_ppm(value: object) -> int | None:
    """A number from 0 to 1 in parts per million, rounded down; None if it is none."""
    if not isinstance(value, Number):
        return None
    digits, _, exponent = value.written.lower().partition("e")
    before, _, after = digits.partition(".")
    zeros = min(max(int(exponent or 0), -FAR), FAR) - len(after)  # 25e-3 and 0.025 are 25 by 10**3
    above, below = int(before + after) * 10 ** max(zeros, 0), 10 ** max(-zeros, 0)
    return above * PPM // below if 0 <= above <= below else None

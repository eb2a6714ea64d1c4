"""JSON in texts of people and models: strict reading and writing.

Law 1. Only strict JSON is decoded, with limits on its depth and on the length of numbers.
Law 2. Numbers keep their text: they are never converted to floats or rounded.
"""

import json
import re
from typing import Final, NoReturn

from umi_core.data import Data
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from umi_core.text import SURROGATE


class JsonNumber(Data):
    """A JSON number as it was written."""

    text: str


Json = None | bool | str | JsonNumber | list["Json"] | dict[str, "Json"]


def whole_json(text: str) -> Json:
    """Return the JSON value that the whole text is, except for blanks around it; None if it is not JSON
    within the limits.
    """
    bare = text.strip(" \t\r\n")
    found = decode_value(bare, 0)
    return found[0] if found is not None and found[1] == len(bare) else None


def write_json(value: Json) -> str:
    """Return the value as JSON."""
    if isinstance(value, JsonNumber):
        return value.text
    if isinstance(value, list):
        return f"[{','.join(map(write_json, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{write_json(key)}:{write_json(part)}" for key, part in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def whole(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def decode_at(text: str, start: int) -> Json:
    """Return the JSON value that begins at `start`; None if there is none within the limits."""
    found = decode_value(text, start)
    return None if found is None else found[0]


def value_end(text: str, start: int) -> int | None:
    """Return where the JSON value that begins at `start` ends; None if there is none."""
    found = decode_value(text, start)
    return None if found is None or found[0] is None else found[1]


def decode_value(text: str, start: int) -> tuple[Json, int] | None:
    """Return the JSON value that begins at `start`, and where it ends; None if there is none."""
    if not is_bounded(text, start):
        return None
    try:
        found: tuple[Json, int] = DECODER.raw_decode(text, start)
    except ValueError:
        return None
    return found


TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)  # an unclosed string runs to the end


def is_bounded(text: str, start: int) -> bool:
    """Check that brackets close and are not nested too deeply; decoding would recurse without a limit."""
    depth = 0
    for match in TOKEN.finditer(text, start):
        token = match[0]
        depth += 1 if token in "[{" else -1 if token in "]}" else 0
        if depth in (0, JSON_DEPTH_MAX + 1):
            break
    return depth == 0


def number(text: str) -> JsonNumber:
    if len(text) > JSON_NUMBER_CHARS_MAX:
        raise ValueError("number too long")
    return JsonNumber(text)


def refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's decoder accepts. Raises ValueError."""
    raise ValueError(constant)


DECODER: Final = json.JSONDecoder(parse_float=number, parse_int=number, parse_constant=refuse)


def clean_value(value: Json) -> Json:
    """Return the value with lone surrogates, which escapes can produce, replaced by U+FFFD."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [clean_value(element) for element in value]
    if isinstance(value, dict):
        return {whole(key): clean_value(element) for key, element in value.items()}
    return value

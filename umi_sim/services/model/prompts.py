"""Reads prompts, by the inverse of the quoting rule, and writes answers as JSON of a limited size."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from umi_core.json_text import decode_at

Inputs = Mapping[str, object]

INPUT_LINE: Final = re.compile(r"INPUT ([A-Za-z_][A-Za-z0-9_]*) = (.*)")


def inputs(prompt: str) -> Inputs:
    """Return the inputs of a prompt by name, the first of each; one without inputs is the input `text`."""
    found: dict[str, object] = {}
    for line in prompt.split("\n"):
        if match := INPUT_LINE.fullmatch(line):
            found.setdefault(match[1], decode_at(match[2], 0))
    return found or {"text": prompt}


def fitting(rows: Iterable[str], bytes_max: int) -> list[str]:
    """Return the first rows that fit into `bytes_max`, counting a comma for each."""
    retained: list[str] = []
    left = bytes_max
    for row in rows:
        left -= len(row.encode()) + 1
        if left < 0:
            break
        retained.append(row)
    return retained


SURROGATE: Final = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Return the text with U+FFFD in place of lone surrogates."""
    return SURROGATE.sub("\ufffd", text)


ENCODER: Final = json.JSONEncoder(ensure_ascii=False)


def quote_json(text: str) -> str:
    """Write a text as a JSON string."""
    return ENCODER.encode(text)

"""The format of seed files as a JSON Schema, generated from the tables of the reader.

Law 1. The schema accepts whatever the reader accepts. It accepts more where one value depends on another: ids
       that must be unique, agents that must exist, sizes when unpacked, a contradictory configuration.
"""

import json
from typing import Final

from umi_sim.formats.schema import Rule
from umi_sim.formats.values import definitions
from umi_sim.seedfile.fields import DOCUMENT, NEEDED
from umi_sim.seedfile.text import FORMAT

WIDTH: Final = 100
DEPTH: Final = 7


def schema() -> Rule:
    """Return the schema of a whole file. Unknown top-level keys are allowed."""
    properties = {key: each.rule() for key, each in DOCUMENT.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A seed file of umi-sim",
        "type": "object",
        "properties": {**properties, "format": {"const": FORMAT}},
        "required": ["format", *NEEDED],
        "$defs": definitions(),
    }


def text() -> str:
    """Return the schema as text: one line for each key, kind of item, request, fault and move."""
    return laid_out(schema(), 0) + "\n"


def laid_out(value: object, depth: int) -> str:
    # By depth and width: with json.dumps(indent=...) a file of one word per line could not be reviewed.
    if isinstance(value, dict) and depth < DEPTH and len(one_line(value)) > WIDTH:
        parts = [f"{json.dumps(key)}: {laid_out(inner, depth + 1)}" for key, inner in value.items()]
        return block("{", parts, "}", depth)
    if isinstance(value, list) and depth < DEPTH and len(one_line(value)) > WIDTH:
        return block("[", [laid_out(inner, depth + 1) for inner in value], "]", depth)
    return one_line(value)


def block(start: str, parts: list[str], end: str, depth: int) -> str:
    lines = ",\n".join(f"{' ' * (depth + 1)}{part}" for part in parts)
    return f"{start}\n{lines}\n{' ' * depth}{end}"


def one_line(value: object) -> str:
    return json.dumps(value)

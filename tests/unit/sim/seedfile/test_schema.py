"""Goal: the schema in docs/ and the reader take the same files: both are made of the same tables."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tools.fuzz_seed_files import containers, originals, with_structure
from umi_sim.kernel.prng import Stream
from umi_sim.seedfile.files import BadSeedFile, loads
from umi_sim.seedfile.schema import schema

Json = Any

SCHEMA = schema()
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip


# As much of JSON Schema as our schema uses.


def takes(rule: Json, value: Json) -> bool:
    """Whether the schema takes the value. A word of the schema that is not known here is an error."""
    return all(WORDS[word](rule[word], value, rule) for word in rule)


def has_type(name: str, value: Json, rule: Json) -> bool:
    is_number = name == "integer" and isinstance(value, bool)
    return isinstance(value, TYPES[name]) and not is_number


def takes_fields(properties: Json, value: Json, rule: Json) -> bool:
    if not isinstance(value, dict):
        return True
    has_more = rule.get("additionalProperties") is False and not value.keys() <= properties.keys()
    return not has_more and all(
        takes(properties[key], value[key]) for key in value.keys() & properties.keys()
    )


def takes_entries(entries: Json, value: Json, rule: Json) -> bool:
    return not isinstance(value, list) or all(takes(entries, each) for each in value)


def takes_first(entries: Json, value: Json, rule: Json) -> bool:
    return not isinstance(value, list) or all(map(takes, entries, value))


def takes_if(condition: Json, value: Json, rule: Json) -> bool:
    return not takes(condition, value) or takes(rule["then"], value)


def is_same(expected: Json, value: Json) -> bool:
    return type(expected) is type(value) and bool(expected == value)


WORDS: dict[str, Any] = {
    "$schema": lambda *_: True, "title": lambda *_: True, "$defs": lambda *_: True,
    "contentEncoding": lambda *_: True, "then": lambda *_: True, "additionalProperties": lambda *_: True,
    "type": has_type, "properties": takes_fields, "items": takes_entries, "prefixItems": takes_first,
    "$ref": lambda name, value, _: takes(SCHEMA["$defs"][name.split("/")[-1]], value),
    "if": takes_if, "const": lambda expected, value, _: is_same(expected, value),
    "enum": lambda known, value, _: any(is_same(each, value) for each in known),
    "required": lambda keys, value, _: not isinstance(value, dict) or value.keys() >= set(keys),
    "allOf": lambda rules, value, _: all(takes(each, value) for each in rules),
    "anyOf": lambda rules, value, _: any(takes(each, value) for each in rules),
    "oneOf": lambda rules, value, _: sum(takes(each, value) for each in rules) == 1,
    "pattern": lambda text, value, _: not isinstance(value, str) or bool(re.search(text, value)),
    "minimum": lambda low, value, _: not isinstance(value, int) or value >= low,
    "maximum": lambda high, value, _: not isinstance(value, int) or value <= high,
    "minLength": lambda low, value, _: not isinstance(value, str) or len(value) >= low,
    "maxLength": lambda high, value, _: not isinstance(value, str) or len(value) <= high,
    "minItems": lambda low, value, _: not isinstance(value, list) or len(value) >= low,
    "maxItems": lambda high, value, _: not isinstance(value, list) or len(value) <= high,
    "maxProperties": lambda high, value, _: not isinstance(value, dict) or len(value) <= high,
}  # fmt: skip


def refusal(data: bytes) -> str:
    """Why the reader refuses a file; empty if it reads it."""
    try:
        loads(data, "x")
    except BadSeedFile as error:
        return str(error)
    return ""


# What a schema cannot say, because one value depends on another, or on what is there.
DEPENDENT = re.compile(
    r"is the id of entry|unknown agent|expected different names|unknown scenario|a ratio \"n/d\" with"
    r"|a rate between|when unpacked|a seed up to|lone surrogates|pairs of hex digits|written for a newer"
    r"|config\.memory: |has more than 19 digits|of at most 262144 bytes|packed with zlib"
    r"|bytes without control characters"
)


@pytest.mark.parametrize("data", originals(), ids=range(len(originals())))
def test_the_schema_takes_the_files_of_the_corpus(data: bytes) -> None:
    assert takes(SCHEMA, json.loads(data))


def test_what_one_takes_the_other_takes() -> None:
    stream, files = Stream(42, "schema"), originals()[:4]
    counts = {"both take": 0, "both refuse": 0, "depends": 0}
    for _ in range(1_500):
        data = with_structure(stream.pick(files), stream)
        why, is_taken = refusal(data), takes(SCHEMA, json.loads(data))
        if is_taken and why:
            assert DEPENDENT.search(why), why
        else:
            assert is_taken == (not why), why or "the schema refuses what is read"
        counts["depends" if is_taken and why else "both take" if is_taken else "both refuse"] += 1
    assert min(counts.values()) >= 10, counts


def test_the_schema_knows_every_place_of_the_corpus() -> None:
    """A value of another type anywhere is refused by both, but in what is kept without being read."""
    document = json.loads(originals()[0])
    document.pop("made_by")
    for place in containers(document):
        for key in list(place) if isinstance(place, dict) else range(len(place)):
            kept, place[key] = place[key], {"": 0}
            assert bool(refusal(json.dumps(document).encode())) != takes(SCHEMA, document), (key, kept)
            place[key] = kept


def test_the_schema_in_the_docs_is_this_one() -> None:
    path = Path(__file__).resolve().parents[4] / "docs" / "seed-file.schema.json"
    assert json.loads(path.read_text()) == json.loads(json.dumps(SCHEMA))

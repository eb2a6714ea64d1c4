"""What values of requests may be, as JSON Schema: made of the types that values.py reads by."""

from typing import Any, Final, get_args, get_origin

from umi_core.values import Turn
from umi_sim.formats import values
from umi_sim.formats.strict_json import Schema, schema_of
from umi_sim.formats.values import TAGS, alternatives

ROLE_AND_TEXT: Final = 2

# Values of arguments. Law 2 and 3 of values.py: what is not of the declared type says what it is.


def of_type(due: object) -> Schema:
    """A value where a field declares this type."""
    if due is object:
        return {"$ref": "#/$defs/any"}
    choices = alternatives(due)
    found: list[Schema] = [{"$ref": "#/$defs/tagged"}]
    if str in choices or bytes in choices:
        found.append({"$ref": "#/$defs/text"})
    found += [{"type": name} for cls, name in PLAIN.items() if cls in choices]
    found += [of_list(each) for each in choices if each is Turn or get_origin(each) is tuple]
    return {"anyOf": found}


PLAIN: Final[dict[type, str]] = {bool: "boolean", int: "integer", type(None): "null"}


def of_list(due: object) -> Schema:
    if due is Turn:
        return {"$ref": "#/$defs/turn"}
    inner = get_args(due)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return {"type": "array", "items": of_type(inner[0])}
    return {"type": "array", "prefixItems": [of_type(each) for each in inner]}


def definitions() -> Schema:
    """What the schemas of values refer to."""
    inner: dict[str, Any] = {
        "hex": {"$ref": "#/$defs/text"}, "text": {"$ref": "#/$defs/text"}, "turn": {"$ref": "#/$defs/turn"},
        "int": schema_of(values.DIGITS), "odd": {"$ref": "#/$defs/any"},
    }  # fmt: skip
    count = {"type": "integer", "minimum": 0, "maximum": values.RUNS_CHARS_MAX}
    piece = {"type": "array", "prefixItems": [{"type": "string"}, count], "minItems": 2, "maxItems": 2}
    runs = {"type": "array", "items": {"anyOf": [{"type": "string"}, piece]}}
    return {
        "text": {"anyOf": [{"type": "string"}, of_fields({"runs": runs})]},
        "turn": {
            "type": "array", "prefixItems": [of_type(str)] * ROLE_AND_TEXT,
            "minItems": ROLE_AND_TEXT, "maxItems": ROLE_AND_TEXT,
        },
        "tagged": {"anyOf": [of_fields({tag: inner[tag]}) for tag in TAGS]},
        "any": {
            "anyOf": [
                {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/tagged"},
                *({"type": name} for name in PLAIN.values()),
                {"type": "array", "items": {"$ref": "#/$defs/any"}},
            ]
        },
    }  # fmt: skip


def of_fields(fields: dict[str, Schema]) -> Schema:
    return {
        "type": "object", "properties": fields, "required": list(fields), "additionalProperties": False,
    }  # fmt: skip

"""What items may hold, as JSON Schema: made of the tables and types that item_json reads by."""

from typing import Any, Final, get_args, get_origin

from umi_core.messages.requests import REQUESTS
from umi_core.values import Turn
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.strict_json import Reader, Schema, schema_of
from umi_sim.seedfile import item_json
from umi_sim.seedfile.item_json import MOVES, READERS, TAGS, alternatives, fault_table, request_table

ROLE_AND_TEXT: Final = 2


def of_items() -> Schema:
    """Any item: what its kind has, and the arguments of its request, fault or move."""
    return {"oneOf": [of_kind(kind) for kind in READERS]}


def of_kind(kind: str) -> Schema:
    fields = schema_of(READERS[kind])
    fields["properties"]["kind"] = {"const": kind}
    fields["required"].append("kind")
    tables: dict[str, tuple[str, dict[str, Reader]]] = {
        "op": ("name", {name: request_table(name) for name in REQUESTS}),
        "fault": ("fault", {name: fault_table(name) for name in KINDS}),
        "clock": ("move", MOVES),
    }
    if kind in tables:
        field, readers = tables[kind]
        fields["allOf"] = [args_if(field, name, schema_of(reader)) for name, reader in readers.items()]
    return fields


def args_if(field: str, name: str, args: Schema) -> Schema:
    return {"if": {"properties": {field: {"const": name}}}, "then": {"properties": {"args": args}}}


# Values of arguments. Law 2 and 3 of item_json: what is not of the declared type says what it is.


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
        "int": schema_of(item_json.DIGITS), "odd": {"$ref": "#/$defs/any"},
    }  # fmt: skip
    count = {"type": "integer", "minimum": 0, "maximum": item_json.RUNS_CHARS_MAX}
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

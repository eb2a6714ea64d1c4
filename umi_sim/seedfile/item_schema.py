"""What items may hold, as JSON Schema: made of the tables and types that item_json reads by."""

from typing import Final

from umi_core.messages.requests import REQUESTS
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.strict_json import Reader, Schema, schema_of
from umi_sim.formats.values import request_table
from umi_sim.seedfile.item_json import MOVES, READERS, fault_table

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

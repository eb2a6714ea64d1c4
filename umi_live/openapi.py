"""Describe a server in OpenAPI 3.1, from the table of routes by which it reads requests.

Law 1. This file lists no path, field or reply: all come from `umi_core.kelpie.wire.Route`.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin

from umi_core.data import list_fields
from umi_core.domains import plain_type
from umi_core.kelpie.results import ApiBlock, Appended, BlocksShown
from umi_core.kelpie.wire import WIRE_NAMES, Json, Route, Table
from umi_core.messages.requests import arguments_of
from umi_core.messages.results import RecordAdded, Remembered, Stored
from umi_core.values import Pairs, Turn
from umi_live.errors import own_version

TEXT: Final[Json] = {"type": "string"}
TIME: Final[Json] = {"type": ["string", "null"], "format": "date-time"}
PLAIN: Final = {str: TEXT, int: {"type": "integer"}, bool: {"type": "boolean"}, type(None): {"type": "null"}}
ERROR: Final[Json] = {
    "type": "object",
    "required": ["error", "detail"],
    "properties": {"error": TEXT, "detail": TEXT},
}
AGENT: Final[Json] = {"name": "agent", "in": "path", "required": True, "schema": TEXT}
NAME: Final[Json] = {"name": "name", "in": "path", "required": True, "schema": TEXT}
KEY: Final[Json] = {
    "name": "idempotency-key", "in": "header", "schema": TEXT,
    "description": "A request is done once under its key, however often it is sent within 24 hours.",
}  # fmt: skip


def describe_api(routes: Table, statuses: Mapping[int, str]) -> Json:
    """Return the description of these routes. `statuses`: the meaning of each error status."""
    paths: dict[str, Json] = {}
    for (method, at, named), route in routes.items():
        has_name = named and not at.startswith("tools/")  # the route of a tool has its name already
        path = "/".join(("/v1/agents/{agent}", *filter(None, [at, "{name}" if has_name else ""])))
        paths.setdefault(path, {})[method.lower()] = describe_route(route, has_name, statuses)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Umi, the memory of an agent", "version": own_version()},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                str(status): {"description": meaning, "content": as_content(ERROR)}
                for status, meaning in statuses.items()
            },
        },
        "security": [{"token": []}],
    }


def describe_route(route: Route, named: bool, statuses: Mapping[int, str]) -> Json:
    fields = {it.name: it.type for cls in route.requests for it in arguments_of(cls)}
    parameters = [AGENT, *([NAME] if named else []), *([KEY] if "request_key" in fields else [])]
    parameters += [
        {"name": wire, "in": "query", "schema": schema_of_field(wire, field, fields)}
        for wire, field in route.query.items()
    ]
    found: Json = {
        "summary": route.tells,
        "parameters": parameters,
        "responses": {
            "200": {"description": "Done.", "content": as_content(schema_of(route.reply))},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses},
        },
    }
    if route.needed or route.body:
        named_fields = {**route.needed, **route.body}.items()
        properties = {wire: schema_of_field(wire, field, fields) for wire, field in named_fields}
        body = {
            "type": "object", "required": list(route.needed), "properties": properties,
            "additionalProperties": False,
        }  # fmt: skip
        found["requestBody"] = {"required": bool(route.needed), "content": as_content(body)}
    return found


def as_content(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def schema_of_field(wire: str, field: str, fields: Mapping[str, Any]) -> Json:
    """Return the schema of a field that a client sends. Times are sent as RFC 3339."""
    is_time = field.endswith("_ms") and not wire.endswith("_ms")
    if field == "time_range":
        return describe_tuple([TIME, TIME])
    return TEXT if is_time else schema_of(fields[field])


def schema_of(kind: Any) -> Json:
    """Return the schema for the values of a type, as `wire.fields` writes and `wire.frozen` reads them."""
    if isinstance(kind, UnionType):
        return {"anyOf": [schema_of(part) for part in get_args(kind)]}
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == Pairs:
        return {"type": "object", "additionalProperties": TEXT}
    if get_origin(kind) is tuple:
        first, *rest = get_args(kind)
        if rest != [...]:
            return describe_tuple([schema_of(part) for part in (first, *rest)])
        return {"type": "array", "items": schema_of(first)}
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if kind is Turn:  # sent in the form of a message
        return {
            "type": "object",
            "required": ["role", "content"],
            "properties": {"role": TEXT, "content": TEXT},
            "additionalProperties": False,
        }
    return schema_of(tuple[ApiBlock, ...]) if kind is BlocksShown else schema_of_class(kind)


def describe_tuple(parts: list[Json]) -> Json:
    return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}


def schema_of_class(kind: Any) -> Json:
    """Return the schema for the class of a reply. A reply has the fields of `details` among its own."""
    properties = {
        WIRE_NAMES.get(it.name, it.name): TIME if it.name.endswith("_ms") else schema_of(plain_type(it.type))
        for it in list_fields(kind)
        if not (it.name == "details" or it.type is Remembered)
    }
    properties |= {"ids": schema_of(tuple[str, ...])} if issubclass(kind, Appended) else {}
    properties |= {"entities": schema_of(tuple[Stored, ...])} if issubclass(kind, RecordAdded) else {}
    return {"type": "object", "required": list(properties), "properties": properties}

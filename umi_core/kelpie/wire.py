"""The wire format of an agent server: HTTP requests become requests to the memory, replies become responses.

    PATCH /v1/agents/a1/blocks/human {"value": "likes tea"}     UpdateBlock(op_id, "human", "likes tea")

Law 1. Parsing is pure and total: any method, path, headers and body give a request, or `Malformed` with a
reason. Law 2. This file validates no blocks or messages; the memory does. Law 3. The agent comes from the
path and the author from the server, never from a body. Law 4. A field has a meaning only if its route in
`ROUTES` names it, so a description generated from the table is complete.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from msgspec import structs

from umi_core import errors
from umi_core.data import Data
from umi_core.kelpie import errors as api_errors
from umi_core.kelpie import requests as api
from umi_core.kelpie import results
from umi_core.kelpie.domains import FIELDS
from umi_core.language import times
from umi_core.messages.effects import Done, Failed, OpId, Outcome, Refused, Unknown
from umi_core.messages.request import Request
from umi_core.messages.results import RecordAdded, RecordForgotten
from umi_core.values import MODEL

ROOT: Final = ("v1", "agents")
PAGE_MAX: Final = 100
DIGITS_MAX: Final = 19  # of the largest integer that a memory accepts
LEVELS_MAX: Final = 8  # nesting of a body; messages need three levels
Json = dict[str, Any]
Made = Callable[[OpId, "HttpRequest"], Request]


class Malformed(Data):
    """An HTTP request that is not a valid request of the API; `status` is the HTTP status."""

    reason: str
    status: int = 400
    allowed: tuple[str, ...] = ()  # the methods that the path supports, if the one used is not among them


class AgentCall(Data):
    """A request to the memory of one agent, and the unknown fields of the body."""

    agent: str
    request: Request
    ignored: tuple[str, ...] = ()


class Response(Data):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


class HttpRequest(Data):
    """The parts of an HTTP request: the rest of the path, query, body, idempotency key, and author."""

    name: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    key: str | None
    author: str

    def pick_fields(self, *names: str) -> Json:
        """Return those of the named fields that are in the body and not null."""
        return {name: frozen(self.body[name]) for name in names if self.body.get(name) is not None}


class Route(Data):
    """A method of a path. `query`: its fields in the query. `needed`, `body`: required and optional fields.

    `tells`: a description for people. `requests`: the classes that `make` returns. `reply`: the class of the
    reply's value. `older`: former names of fields.
    """

    tells: str
    make: Made
    requests: tuple[type[Request], ...]
    reply: Any
    query: Mapping[str, str]
    needed: Mapping[str, str]
    body: Mapping[str, str]
    older: Mapping[str, str]

    def pick_known(self, given: Mapping[str, Any], *known: Mapping[str, str]) -> Json:
        """Return the given fields that are known; one under its older name counts if the new is absent."""
        renamed = {self.older.get(name, name): value for name, value in given.items() if name in self.older}
        return {
            name: value for name, value in (renamed | dict(given)).items() if any(name in it for it in known)
        }

    def list_ignored(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(sorted(set(given) - {*self.needed, *self.body, *self.older}))


def read_names(text: str) -> Mapping[str, str]:
    """Parse `limit=limit_bytes label`: names on the wire, each with the name of the request's field."""
    return {wire: field or wire for wire, _, field in (name.partition("=") for name in text.split())}


def route(
    tells: str, make: Made, requests: tuple[type[Request], ...], reply: Any,
    query: str = "", needed: str = "", body: str = "", older: str = "",
) -> Route:  # fmt: skip
    """Return a route, with its fields written as for `read_names`."""
    return Route(tells, make, requests, reply, *map(read_names, (query, needed, body, older)))


Table = Mapping[tuple[str, str, bool], Route]


def frozen(value: Any) -> Any:
    """Convert lists to tuples and objects to tuples of pairs, as requests hold them."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return tuple((name, frozen(part)) for name, part in value.items()) if isinstance(value, dict) else value


# From HTTP.


def parse(
    op_id: OpId,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: str,
    author: str = MODEL,
    routes: Table | None = None,
) -> AgentCall | Malformed:
    """Return the request, or why it is malformed. Header names are case-insensitive; a body may be empty.

    `author`: the authenticated author, `user` or `model`; the request itself cannot set it, and tools always
    act as a model. `routes`: an extended table instead of `ROUTES`.
    """
    where, _, query = path.partition("?")
    found = locate(where)
    if found is None:
        return Malformed("no such path", 404)
    agent, at, name = found
    table = ROUTES if routes is None else routes
    route = table.get((method.upper(), at, bool(name)))
    if route is None:
        if not any(at == place for _, place, _ in table):
            return Malformed("no such path", 404)
        allowed = tuple(sorted(it for it, *place in table if place == [at, bool(name)]))
        return Malformed("no such method here", 405, allowed)
    given = json_object(body)
    if given is None:
        return Malformed("the body is no JSON object, has a name twice, or is nested too deeply")
    fields = route.pick_known(given, route.needed, route.body)
    missing = [it for it in route.needed if it not in fields]
    if missing:
        return Malformed(f"missing, or not of its form: {missing[0]}")
    key = next((text for each, text in headers.items() if each.lower() in KEY_HEADERS), None)
    asked = route.pick_known(dict(parse_qsl(query, keep_blank_values=True)), route.query)
    try:
        request = route.make(op_id, HttpRequest(name, asked, fields, key, author))
    except ValueError as wrong:  # its argument is the name of the field
        return Malformed(f"missing, or not of its form: {wrong.args[0]}")
    return AgentCall(agent, request, route.list_ignored(given))


def locate(path: str) -> tuple[str, str, str] | None:
    """Return agent, route, and the name after it, of a path without query; None if it is no API path."""
    # The path is split before decoding, so that a label with %2F in it stays one part.
    parts = tuple(unquote(part) for part in path.strip("/").split("/"))
    if parts[:2] != ROOT or len(parts) < 3:
        return None
    agent, route, name = parts[2], "".join(parts[3:4]), "/".join(parts[4:])
    # Older clients use /v1/agents/a1/core-memory/blocks/human.
    if (route, parts[4:5]) == ("core-memory", ("blocks",)):
        route, name = "blocks", "/".join(parts[5:])
    return agent, f"{route}/{name}" if route == "tools" else route, name


KEY_HEADERS: Final = ("idempotency-key", "x-idempotency-key")


def json_object(body: str, levels: int = LEVELS_MAX) -> Json | None:
    """Parse a body as an object, an empty body as an empty one; None if invalid or nested too deeply."""
    if not body.strip():
        return {}
    try:
        value = json.loads(body, parse_constant=no_json, object_pairs_hook=read_object)
    except (ValueError, RecursionError):
        return None
    # The depth is bounded here because all later functions recurse over the body.
    return value if isinstance(value, dict) and is_flat(value, levels) else None


def is_flat(value: Any, levels: int) -> bool:
    """Check whether the value is nested in at most `levels` levels."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(is_flat(part, levels - 1) for part in parts)


def read_object(pairs: list[tuple[str, Any]]) -> Json:
    """Return an object; a repeated name raises ValueError."""
    if len(found := dict(pairs)) < len(pairs):  # JSON readers disagree about which value counts
        raise ValueError("a name twice")
    return found


def no_json(word: str) -> None:
    """Refuse Infinity and NaN. Raises ValueError."""
    raise ValueError(word)


def number(asked: HttpRequest, name: str) -> int | None:
    """Return a whole number of the query, or None without one. Raises ValueError."""
    text = asked.query.get(name)
    if text is None:
        return None
    # `int` alone would accept "٣", " 3" and "1_000", and ten thousand digits.
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX):
        raise ValueError(name)
    return int(text)


def instant(text: str | None, name: str, *, is_end: bool = False) -> int | None:
    """Return the milliseconds of an RFC 3339 time or a date. Raises ValueError."""
    at_ms = times.instant(text, is_end=is_end) if isinstance(text, str) else None
    if at_ms is None and text is not None:
        raise ValueError(name)
    return at_ms


def page(asked: HttpRequest) -> int | None:
    """Return the size of the page, at most PAGE_MAX."""
    limit = number(asked, "limit")
    # A larger size is reduced, not refused: clients ask for a thousand and continue with what they get.
    return None if limit is None else min(limit, PAGE_MAX)


def seq(asked: HttpRequest, name: str) -> int | None:
    """Return the number of a message, given as a number or as the message's id."""
    numbers = {key: text.removeprefix("msg_") for key, text in asked.query.items()}
    return number(structs.replace(asked, query=numbers), name)


def create(op_id: OpId, it: HttpRequest) -> Request:
    options = it.pick_fields("kind", "description", "read_only")
    value, limit_bytes = it.body.get("value", ""), it.body.get("limit")
    return api.CreateBlock(
        op_id,
        it.body["label"],
        value,
        limit_bytes=limit_bytes,
        author=it.author,
        request_key=it.key,
        **options,
    )


def update(op_id: OpId, it: HttpRequest) -> Request:
    # Null leaves a part unchanged, except the description, which it removes.
    options = it.pick_fields("value", "read_only", "expected_version")
    if "description" in it.body:
        options["description"] = it.body["description"] or ""
    limit_bytes = it.body.get("limit")
    return api.UpdateBlock(
        op_id, it.name, limit_bytes=limit_bytes, author=it.author, request_key=it.key, **options
    )


def add_archival(op_id: OpId, it: HttpRequest) -> Request:
    return api.AddArchival(
        op_id,
        it.body["content"],
        request_key=it.key,
        **it.pick_fields("tags", "metadata", "extract", "speaker"),
    )


def find_archival(op_id: OpId, it: HttpRequest) -> Request:
    """Return a search if the query has a `q`, else a list request."""
    if question := it.query.get("q"):
        return api.SearchArchival(op_id, question, page(it), skip=number(it, "skip") or 0)
    return api.ListArchival(op_id, page(it), it.query.get("cursor"))


def find_messages(op_id: OpId, it: HttpRequest) -> Request:
    """Return a search if the query has a `q` or a time, else a list request."""
    from_ms = instant(it.query.get("from"), "from")
    until_ms = instant(it.query.get("until"), "until", is_end=True)
    question = it.query.get("q") or None
    if question or from_ms is not None or until_ms is not None:
        below, skip = seq(it, "before"), number(it, "skip") or 0
        return api.SearchMessages(op_id, question, from_ms, until_ms, below, page(it), skip)
    return api.ListMessages(op_id, seq(it, "before"), seq(it, "after"), page(it))


def add_messages(op_id: OpId, it: HttpRequest) -> Request:
    messages = it.body["messages"]
    # Names in JSON have no order, but a request needs one (`is_message`).
    parts = [order_fields(each) for each in messages] if isinstance(messages, list) else messages
    return api.AddMessages(op_id, frozen(parts), it.key)


def order_fields(message: Any) -> Any:
    """Return the message with its fields in the order of FIELDS, and unknown fields after them."""
    if not isinstance(message, dict):
        return message
    return {name: message[name] for name in sorted(message, key=lambda it: PLACES.get(it, len(PLACES)))}


PLACES: Final = {name: at for at, name in enumerate(FIELDS)}


def tool_replace(op_id: OpId, it: HttpRequest) -> Request:
    old, new, every = it.body["old_content"], it.body["new_content"], it.body.get("all", False)
    return api.ReplaceInBlock(op_id, it.body["label"], old, new, every, MODEL, it.key)


def tool_search_dates(op_id: OpId, it: HttpRequest) -> Request:
    """Return a search in a range of days that includes the whole last day."""
    from_ms = instant(it.body["start_date"], "start_date")
    until_ms = instant(it.body["end_date"], "end_date", is_end=True)
    return api.SearchMessages(op_id, None, from_ms, until_ms, limit=PAGE_OF_TOOLS, skip=count_skipped(it))


def count_skipped(asked: HttpRequest) -> Any:
    """Return the number of rows on earlier pages; a tool counts pages from 0. Raises ValueError."""
    page_number = asked.body.get("page", 0)
    # `isinstance` would accept `true`, since a bool is an int in Python.
    if type(page_number) is not int:
        raise ValueError("page")
    return PAGE_OF_TOOLS * page_number


PAGE_OF_TOOLS: Final = 10

ROUTES: Final[Table] = {
    ("DELETE", "", False): route(
        "Delete the agent and all that it has.",
        lambda op_id, it: api.DeleteAgent(op_id, it.key), (api.DeleteAgent,), results.AgentSwitched,
    ),
    ("POST", "", False): route(
        "Let a deleted agent begin anew.",
        lambda op_id, it: api.OpenAgent(op_id, it.key), (api.OpenAgent,), results.AgentSwitched,
    ),
    ("GET", "blocks", False): route(
        "List all blocks.", lambda op_id, it: api.ListBlocks(op_id), (api.ListBlocks,), results.BlocksShown
    ),
    ("POST", "blocks", False): route(
        "Create a block.", create, (api.CreateBlock,), results.BlockWritten,
        needed="label", body="value kind description limit=limit_bytes read_only",
    ),
    ("GET", "blocks", True): route(
        "Read a block by its label or id.",
        lambda op_id, it: api.FindBlock(op_id, it.name), (api.FindBlock,), results.ApiBlock,
    ),
    ("PATCH", "blocks", True): route(
        "Change a block; what is left out stays as it is.", update, (api.UpdateBlock,), results.BlockWritten,
        body="value description limit=limit_bytes read_only expected_version",
    ),
    ("DELETE", "blocks", True): route(
        "Delete a block and the texts of its history.",
        lambda op_id, it: api.DeleteBlock(op_id, it.name, author=it.author, request_key=it.key),
        (api.DeleteBlock,), results.BlockWritten,
    ),
    ("GET", "history", True): route(
        "List the changes of a block, by its id.",
        lambda op_id, it: api.BlockHistory(op_id, it.name, number(it, "after"), page(it)),
        (api.BlockHistory,), results.ChangesShown, query="after limit",
    ),
    ("GET", "messages", False): route(
        "List messages, or search them by words and time.", find_messages,
        (api.ListMessages, api.SearchMessages), results.MessagesShown | results.MessagesFound,
        query="before after limit q=query from=from_ms until=until_ms skip",
    ),
    ("POST", "messages", False): route(
        "Add the messages of one turn.", add_messages, (api.AddMessages,), results.Appended, needed="messages"
    ),
    ("GET", "archival", False): route(
        "List records, or search them by words.", find_archival,
        (api.ListArchival, api.SearchArchival), results.RecordsShown,
        query="q=query limit skip cursor", older="after=cursor",
    ),
    ("POST", "archival", False): route(
        "Add a record; with extract its facts, too.", add_archival,
        (api.AddArchival,), results.Appended | RecordAdded,
        needed="content", body="tags metadata extract speaker", older="text=content",
    ),
    ("GET", "archival", True): route(
        "Read a record.",
        lambda op_id, it: api.GetArchival(op_id, it.name), (api.GetArchival,), results.RecordsShown,
    ),
    ("DELETE", "archival", True): route(
        "Delete a record, and the facts that only it told.",
        lambda op_id, it: api.DeleteArchival(op_id, it.name, it.key),
        (api.DeleteArchival,), results.RecordDeleted | RecordForgotten,
    ),
    ("GET", "prompt", False): route(
        "Write the blocks as a system prompt.",
        lambda op_id, it: api.BuildSystemPrompt(
            op_id, it.query.get("system", ""), it.query.get("format", "xml")
        ),
        (api.BuildSystemPrompt,), results.Prompt, query="system format=form",
    ),
    ("POST", "tools/core_memory_append", True): route(
        "Append to a block, as a model.",
        lambda op_id, it: api.AppendToBlock(op_id, it.body["label"], it.body["content"], MODEL, it.key),
        (api.AppendToBlock,), results.BlockWritten,
        needed="label=block content=text",
    ),
    ("POST", "tools/core_memory_replace", True): route(
        "Replace a text in a block, as a model.", tool_replace, (api.ReplaceInBlock,), results.BlockWritten,
        needed="label=block old_content=old new_content=new", body="all=every",
    ),
    ("POST", "tools/archival_memory_insert", True): route(
        "Add a record, as a model.", add_archival, (api.AddArchival,), results.Appended, needed="content"
    ),
    ("POST", "tools/archival_memory_search", True): route(
        "Search records by words, ten on a page.",
        lambda op_id, it: api.SearchArchival(op_id, it.body["query"], PAGE_OF_TOOLS, skip=count_skipped(it)),
        (api.SearchArchival,), results.RecordsShown, needed="query", body="page=skip",
    ),
    ("POST", "tools/conversation_search", True): route(
        "Search messages by words, ten on a page.",
        lambda op_id, it: api.SearchMessages(
            op_id, it.body["query"], limit=PAGE_OF_TOOLS, skip=count_skipped(it)
        ),
        (api.SearchMessages,), results.MessagesFound, needed="query", body="page=skip",
    ),
    ("POST", "tools/conversation_search_date", True): route(
        "Search messages of a range of days, ten on a page.", tool_search_dates,
        (api.SearchMessages,), results.MessagesFound,
        needed="start_date=from_ms end_date=until_ms", body="page=skip",
    ),
}  # fmt: skip
"""Routes by (method, route, whether a name follows)."""


# To HTTP.

STATUS: Final[Mapping[type, int]] = {
    api_errors.ReadOnly: 403, errors.NotShared: 403, api_errors.NotFound: 404,
    **dict.fromkeys((api_errors.LabelTaken, api_errors.VersionConflict, errors.TooBusy), 409),
    **dict.fromkeys(
        (api_errors.BadLabel, api_errors.AboveLimit, api_errors.TextNotFound, api_errors.TextAmbiguous,
         errors.BlockTooLarge, errors.CoreFull, errors.TooManyBlocks, errors.TextTooLong, errors.KeyReused),
        422,
    ),
}  # fmt: skip
"""HTTP status by class of a caller's error; 400 for all others."""


def respond(outcome: Outcome, show: Callable[[Any], object] | None = None) -> Response:
    """Return the response for this outcome. `show`: converts the value instead of `as_json`."""
    if isinstance(outcome, Done):
        repeated = getattr(outcome.value, "repeated", False)
        headers = (JSON_TYPE, ("x-idempotency-replayed", "true")) if repeated else (JSON_TYPE,)
        return Response(200, headers, json.dumps((show or as_json)(outcome.value), ensure_ascii=False))
    if isinstance(outcome, Refused):
        return build_error(
            STATUS.get(type(outcome.error), 400), type(outcome.error).__name__, str(outcome.error)
        )
    if isinstance(outcome, Failed):
        return build_error(503, "Failed", str(outcome.error))
    assert isinstance(outcome, Unknown)
    return build_error(504, "Unknown", "it may have happened: ask again with the same key")


JSON_TYPE: Final = ("content-type", "application/json")


def build_error(status: int, name: str, sentence: str) -> Response:
    return Response(status, (JSON_TYPE,), json.dumps({"error": name, "detail": sentence}, ensure_ascii=False))


def malformed(found: Malformed) -> Response:
    response = build_error(found.status, "Malformed", found.reason)
    allow = (("allow", ", ".join(found.allowed)),) if found.allowed else ()
    return structs.replace(response, headers=(*response.headers, *allow))


def as_json(value: object) -> object:
    """Return the value of a reply in the wire format."""
    match value:
        case results.BlocksShown(blocks):
            return [as_json(block) for block in blocks]
        case results.MessagesShown() | results.MessagesFound():
            return {**fields(value), "messages": [row_json(it) for it in value.messages]}
        case results.RecordsShown():
            return {**fields(value), "records": [row_json(it) for it in value.records]}
        case results.ChangesShown():
            return {**fields(value), "changes": [fields(it) for it in value.changes]}
        case RecordAdded():
            return {**show_appended(value), "entities": [fields(it) for it in value.facts.entities]}
        case RecordForgotten():
            return {**fields(value), "entities": [fields(it) for it in value.entities]}
        case results.Appended():
            return show_appended(value)
        case results.ApiBlock() | results.BlockWritten() | results.RecordDeleted() | results.Prompt():
            return fields(value)
        case results.AgentSwitched():
            return fields(value)
    raise TypeError(f"no reply of the API: {type(value).__name__}")


def show_appended(value: results.Appended) -> Json:
    told_parts = {name: part for name, part in fields(value).items() if name != "facts"}
    return {**told_parts, "ids": value.ids}


def row_json(row: Any) -> Json:
    """Return a message or a record; metadata becomes an object, details become fields of the message."""
    told_parts = fields(row)
    if "metadata" in told_parts:
        return {**told_parts, "metadata": dict(row.metadata)}
    return {**{name: part for name, part in told_parts.items() if name != "details"}, **dict(row.details)}


def fields(value: Any) -> Json:
    """Return the fields under their wire names, with times as RFC 3339."""
    parts = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return {
        WIRE_NAMES.get(name, name): times.format_time(part) if name.endswith("_ms") else part
        for name, part in parts
    }


WIRE_NAMES: Final = {
    "limit_bytes": "limit", "at_ms": "at", "created_ms": "created_at", "updated_ms": "updated_at",
    "time_ms": "time",
}  # fmt: skip

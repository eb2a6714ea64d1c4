"""The wire of an agent server: a request over HTTP as a request to the memory, and its reply as a response.

    PATCH /v1/agents/a1/blocks/human {"value": "likes tea"}     UpdateBlock(op_id, "human", "likes tea")

Law 1. Pure and total: any method, path, headers and body give a request, or `Malformed` with what is wrong.
Law 2. Nothing is decided here: what a block or a message may be, the memory says. Law 3. The agent comes from
the path and the author from the server, neither ever from a body.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import attrs

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
DIGITS_MAX: Final = 19  # of the largest number that a memory knows
LEVELS_MAX: Final = 8  # of a body; messages have three
Json = dict[str, Any]
Made = Callable[[OpId, "HttpRequest"], Request]


@attrs.frozen
class Malformed(Data):
    """A request that cannot be read as one of the API; `status` is that of HTTP."""

    reason: str
    status: int = 400


@attrs.frozen
class AgentCall(Data):
    """A request to the memory of one agent, and the fields of its body that were not understood."""

    agent: str
    request: Request
    ignored: tuple[str, ...] = ()


@attrs.frozen
class Response(Data):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


@attrs.frozen
class HttpRequest(Data):
    """One request over HTTP: the rest of its path, its query, its body, its key, and its author."""

    name: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    key: str | None
    author: str

    def pick_fields(self, *names: str) -> Json:
        """Return those of these fields of the body that are there and not null."""
        return {name: frozen(self.body[name]) for name in names if self.body.get(name) is not None}


def frozen(value: Any) -> Any:
    """Return lists as tuples and objects as pairs, as requests hold them."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return tuple((name, frozen(part)) for name, part in value.items()) if isinstance(value, dict) else value


# From HTTP.


def parse(
    op_id: OpId, method: str, path: str, headers: Mapping[str, str], body: str, author: str = MODEL
) -> AgentCall | Malformed:
    """Return the request, or why it is malformed. Header names may be in any case; an empty body is none.

    `author`: the authenticated author, `user` or `model`; nothing in the request can say it. Tools are a
    model's.
    """
    where, _, query = path.partition("?")
    # Split first, then decoded: a label with %2F in it is one part of the path.
    parts = tuple(unquote(part) for part in where.strip("/").split("/"))
    if parts[:2] != ROOT or len(parts) < 3:
        return Malformed("no such path", 404)
    agent, route, name = parts[2], "".join(parts[3:4]), "/".join(parts[4:])
    # The path of older clients: /v1/agents/a1/core-memory/blocks/human.
    if (route, parts[4:5]) == ("core-memory", ("blocks",)):
        route, name = "blocks", "/".join(parts[5:])
    if route == "tools":
        route = f"{route}/{name}"
    shape = (method.upper(), route, bool(name))
    made = ROUTES.get(shape)
    if made is None:
        return Malformed("no such method here", 405 if route in KNOWN else 404)
    fields = json_object(body)
    if fields is None:
        return Malformed("the body is no JSON object, or nested too deeply")
    key = next((text for each, text in headers.items() if each.lower() in KEY_HEADERS), None)
    try:
        request = made(
            op_id, HttpRequest(name, dict(parse_qsl(query, keep_blank_values=True)), fields, key, author)
        )
    # A KeyError is a field that is not there; a ValueError names one that has another form.
    except (KeyError, ValueError) as missing:
        return Malformed(f"missing, or not of its form: {missing.args[0]}")
    return AgentCall(agent, request, tuple(sorted(it for it in fields if it not in BODIES.get(made, ()))))


KEY_HEADERS: Final = ("idempotency-key", "x-idempotency-key")


def json_object(body: str) -> Json | None:
    if not body.strip():
        return {}
    try:
        value = json.loads(body, parse_constant=no_json)
    except (ValueError, RecursionError):
        return None
    # Bounded here, since everything that reads the body later recurses.
    return value if isinstance(value, dict) and is_flat(value, LEVELS_MAX) else None


def is_flat(value: Any, levels: int) -> bool:
    """Check whether the value is nested in at most so many levels."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(is_flat(part, levels - 1) for part in parts)


def no_json(word: str) -> None:
    """Refuse Infinity and its like. Raises ValueError."""
    raise ValueError(word)


def number(asked: HttpRequest, name: str) -> int | None:
    """Return a whole number of the query, or None without one. Raises ValueError."""
    text = asked.query.get(name)
    if text is None:
        return None
    # `int` would take "٣", " 3" and "1_000", and ten thousand digits.
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX):
        raise ValueError(name)
    return int(text)


def instant(text: str | None, name: str, *, is_end: bool = False) -> int | None:
    """Return the time of RFC 3339, or of a date, in milliseconds. Raises ValueError."""
    at_ms = times.instant(text, is_end=is_end) if isinstance(text, str) else None
    if at_ms is None and text is not None:
        raise ValueError(name)
    return at_ms


def page(asked: HttpRequest) -> int | None:
    """Return the size of the page; one above the most is cut."""
    limit = number(asked, "limit")
    # Cut, not refused: clients ask for a thousand and page on with what they get.
    return None if limit is None else min(limit, PAGE_MAX)


def seq(asked: HttpRequest, name: str) -> int | None:
    """Return the number, given as such or as the id of a message."""
    told = {key: text.removeprefix("msg_") for key, text in asked.query.items()}
    return number(attrs.evolve(asked, query=told), name)


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
    # Null leaves a part as it is, but for a description, where null means none.
    options = it.pick_fields("value", "read_only", "expected_version")
    if "description" in it.body:
        options["description"] = it.body["description"] or ""  # null takes it away
    limit_bytes = it.body.get("limit")
    return api.UpdateBlock(
        op_id, it.name, limit_bytes=limit_bytes, author=it.author, request_key=it.key, **options
    )


def add_archival(op_id: OpId, it: HttpRequest) -> Request:
    content = it.body["content"] if "content" in it.body else it.body["text"]
    return api.AddArchival(
        op_id, content, request_key=it.key, **it.pick_fields("tags", "metadata", "extract", "speaker")
    )


def find_archival(op_id: OpId, it: HttpRequest) -> Request:
    """Return a list request without a question, and a search with one."""
    if question := it.query.get("q"):
        return api.SearchArchival(op_id, question, page(it), skip=number(it, "skip") or 0)
    return api.ListArchival(op_id, page(it), it.query.get("cursor", it.query.get("after")))


def find_messages(op_id: OpId, it: HttpRequest) -> Request:
    """Return a list request without a question, and a search with one."""
    from_ms = instant(it.query.get("from"), "from")
    until_ms = instant(it.query.get("until"), "until", is_end=True)
    question = it.query.get("q") or None
    if question or from_ms is not None or until_ms is not None:
        below, skip = seq(it, "before"), number(it, "skip") or 0
        return api.SearchMessages(op_id, question, from_ms, until_ms, below, page(it), skip)
    return api.ListMessages(op_id, seq(it, "before"), seq(it, "after"), page(it))


def add_messages(op_id: OpId, it: HttpRequest) -> Request:
    messages = it.body["messages"]
    # JSON has no order of names, and a request has one (`is_message`).
    parts = [order_fields(each) for each in messages] if isinstance(messages, list) else messages
    return api.AddMessages(op_id, frozen(parts), it.key)


def order_fields(message: Any) -> Any:
    """Return the message with role and content first, as the memory stores them; the rest as it came."""
    if not isinstance(message, dict):
        return message
    return {name: message[name] for name in sorted(message, key=lambda it: PLACES.get(it, len(PLACES)))}


PLACES: Final = {name: at for at, name in enumerate(FIELDS)}


def tool_append(op_id: OpId, it: HttpRequest) -> Request:
    return api.AppendToBlock(op_id, it.body["label"], it.body["content"], MODEL, it.key)


def tool_replace(op_id: OpId, it: HttpRequest) -> Request:
    old, new, every = it.body["old_content"], it.body["new_content"], it.body.get("all", False)
    return api.ReplaceInBlock(op_id, it.body["label"], old, new, every, MODEL, it.key)


def tool_insert(op_id: OpId, it: HttpRequest) -> Request:
    return api.AddArchival(op_id, it.body["content"], request_key=it.key)


def tool_search_archival(op_id: OpId, it: HttpRequest) -> Request:
    return api.SearchArchival(op_id, it.body["query"], PAGE_OF_TOOLS, skip=count_skipped(it))


def tool_search_messages(op_id: OpId, it: HttpRequest) -> Request:
    return api.SearchMessages(op_id, it.body["query"], limit=PAGE_OF_TOOLS, skip=count_skipped(it))


def tool_search_dates(op_id: OpId, it: HttpRequest) -> Request:
    """Return a search in a range of days, the last one with all its hours."""
    from_ms = instant(it.body["start_date"], "start_date")
    until_ms = instant(it.body["end_date"], "end_date", is_end=True)
    return api.SearchMessages(op_id, None, from_ms, until_ms, limit=PAGE_OF_TOOLS, skip=count_skipped(it))


def count_skipped(asked: HttpRequest) -> Any:
    """Return how many rows are on the pages before; a tool counts pages from 0. Raises ValueError."""
    page_number = asked.body.get("page", 0)
    # No isinstance: a bool is an int to Python, and `true` is no page.
    if type(page_number) is not int:
        raise ValueError("page")
    return PAGE_OF_TOOLS * page_number


PAGE_OF_TOOLS: Final = 10

ROUTES: Final[Mapping[tuple[str, str, bool], Made]] = {
    ("DELETE", "", False): lambda op_id, it: api.DeleteAgent(op_id, it.key),
    ("POST", "", False): lambda op_id, it: api.OpenAgent(op_id, it.key),
    ("GET", "blocks", False): lambda op_id, it: api.ListBlocks(op_id),
    ("POST", "blocks", False): create,
    ("GET", "blocks", True): lambda op_id, it: api.FindBlock(op_id, it.name),
    ("PATCH", "blocks", True): update,
    ("DELETE", "blocks", True): lambda op_id, it: api.DeleteBlock(
        op_id, it.name, author=it.author, request_key=it.key
    ),
    ("GET", "history", True): lambda op_id, it: api.BlockHistory(
        op_id, it.name, number(it, "after"), page(it)
    ),
    ("GET", "messages", False): find_messages,
    ("POST", "messages", False): add_messages,
    ("GET", "archival", False): find_archival,
    ("POST", "archival", False): add_archival,
    ("GET", "archival", True): lambda op_id, it: api.GetArchival(op_id, it.name),
    ("DELETE", "archival", True): lambda op_id, it: api.DeleteArchival(op_id, it.name, it.key),
    ("GET", "prompt", False): lambda op_id, it: api.BuildSystemPrompt(
        op_id, it.query.get("system", ""), it.query.get("format", "xml")
    ),
    ("POST", "tools/core_memory_append", True): tool_append,
    ("POST", "tools/core_memory_replace", True): tool_replace,
    ("POST", "tools/archival_memory_insert", True): tool_insert,
    ("POST", "tools/archival_memory_search", True): tool_search_archival,
    ("POST", "tools/conversation_search", True): tool_search_messages,
    ("POST", "tools/conversation_search_date", True): tool_search_dates,
}
"""By method, route, and whether a name follows."""
BODIES: Final[Mapping[Made, tuple[str, ...]]] = {
    create: ("label", "value", "kind", "description", "limit", "read_only"),
    update: ("value", "description", "limit", "read_only", "expected_version"),
    add_messages: ("messages",),
    add_archival: ("content", "text", "tags", "metadata", "extract", "speaker"),
    tool_append: ("label", "content"),
    tool_replace: ("label", "old_content", "new_content", "all"),
    tool_insert: ("content",),
    tool_search_archival: ("query", "page"),
    tool_search_messages: ("query", "page"),
    tool_search_dates: ("start_date", "end_date", "page"),
}
"""The fields of a body that mean something; the others are ignored, and listed."""
KNOWN: Final = frozenset(route for _, route, _ in ROUTES)


# To HTTP.

STATUS: Final[Mapping[type, int]] = {
    api_errors.ReadOnly: 403, api_errors.NotFound: 404,
    **dict.fromkeys((api_errors.LabelTaken, api_errors.VersionConflict, errors.TooBusy), 409),
    **dict.fromkeys(
        (api_errors.BadLabel, api_errors.AboveLimit, api_errors.TextNotFound, api_errors.TextAmbiguous,
         errors.BlockTooLarge, errors.CoreFull, errors.TooManyBlocks, errors.TextTooLong, errors.KeyReused),
        422,
    ),
}  # fmt: skip
"""Status by error of the caller; 400 for all others."""


def respond(outcome: Outcome) -> Response:
    """Return the response for this outcome."""
    if isinstance(outcome, Done):
        repeated = getattr(outcome.value, "repeated", False)
        headers = (JSON_TYPE, ("x-idempotency-replayed", "true")) if repeated else (JSON_TYPE,)
        return Response(200, headers, json.dumps(as_json(outcome.value), ensure_ascii=False))
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
    return build_error(found.status, "Malformed", found.reason)


def as_json(value: object) -> object:
    """Return the value of a reply in the words of the wire."""
    match value:
        case results.BlocksShown(blocks):
            return [as_json(block) for block in blocks]
        case results.MessagesShown():
            return {**fields(value), "messages": [row_json(it) for it in value.messages]}
        case results.MessagesFound():
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
    """Return a message or a record, with pairs as objects; other fields of a message stand beside them."""
    told_parts = fields(row)
    if "metadata" in told_parts:
        return {**told_parts, "metadata": dict(row.metadata)}
    return {**{name: part for name, part in told_parts.items() if name != "details"}, **dict(row.details)}


def fields(value: Any) -> Json:
    """Return the fields under the names of the wire; times are RFC 3339."""
    parts = ((field.name, getattr(value, field.name)) for field in attrs.fields(type(value)))
    return {
        WIRE_NAMES.get(name, name): times.format_time(part) if name.endswith("_ms") else part
        for name, part in parts
    }


WIRE_NAMES: Final = {
    "limit_bytes": "limit", "at_ms": "at", "created_ms": "created_at", "updated_ms": "updated_at",
}  # fmt: skip

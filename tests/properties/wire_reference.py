"""Write requests of an agent server as HTTP and as method calls, and check what comes of them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import structs

from tests.properties.text_reference import DAY_MS, LAST_MS, clock_of, date_of, format_time
from umi_core.data import Data, is_struct, list_fields
from umi_core.kelpie import requests as api
from umi_core.kelpie.delegate import OP, Delegate, DelegateError
from umi_core.kelpie.results import Appended, BlocksShown, Prompt, RecordsShown
from umi_core.kelpie.wire import AgentCall, Malformed, Response, malformed, parse, respond
from umi_core.messages.effects import Done, Failed, Outcome, Refused
from umi_core.messages.request import Request
from umi_core.messages.requests import bad_request
from umi_core.messages.results import Listed

# The wire of an agent server, plainly: its requests over HTTP, and its responses.
#
#     UpdateBlock("human", value="likes tea")     PATCH /v1/agents/a1/blocks/human {"value": "likes tea"}
#
# Law 1. Written down from docs/spec/kelpie.md, §4 and §9; nothing of the memory's own reader is used.
# Law 2. Each spelling of a request is used; now and then a request is spoiled, for the status of that.


PAGE_MAX: Final = 100
NUMBER_MAX: Final = 2**63 - 1
DEEP: Final[object] = [[[[[[1]]]]]]  # with the body around it, as many levels as a body may have
Json = dict[str, Any]
T = TypeVar("T")


class Draw(Protocol):
    """Chance, which the caller provides."""

    def pick(self, items: Sequence[T]) -> T: ...


class HttpCase(Data):
    """A request in the words of HTTP. `meant`: the request to the memory, or the expected status.

    `names`: the error of the response names one of these.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    meant: Request | int
    ignored: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class RequestLine(Data):
    """Method, path, query and body. `path`: what comes behind the agent. None in `query` is left out."""

    method: str
    path: tuple[str, ...]
    query: Json = {}
    body: Json = {}


def write_request(request: Request, agent: str, draw: Draw) -> HttpCase | None:
    """Return a valid request as a client sends it; None if no route has it, as a block made by a model.

    Now and then the times of a search are taken for those of whole days.
    """
    request = draw.pick((request, in_days(request)))
    line = line_of(request, draw)
    if line is None or not all(map(is_sayable, (*line.path, *line.query.values()))):
        return None
    query = {name: value for name, value in line.query.items() if value is not None}
    if query.get("limit") == PAGE_MAX:
        # A client may ask for a longer page than there is; the server takes the longest for it.
        query["limit"] += draw.pick((0, 1, 99))
    ignored = draw.pick(((), (), (), ("colour",)))
    body = line.body | dict.fromkeys(ignored, DEEP)
    path = ("v1", "agents", quote(agent, safe=""), *(quote_part(part, draw) for part in line.path))
    where = "/".join(path) + draw.pick(("", "", "/"))
    key, method = getattr(request, "request_key", None), line.method
    whole = HttpCase(
        draw.pick((method, method.lower())),
        f"/{where}?{urlencode(query)}" if query else f"/{where}",
        {} if key is None else {draw.pick(KEY_HEADERS): key},
        json.dumps(body) if body else draw.pick(("", " ", "{}")),
        request,
        ignored,
    )
    is_sound = draw.pick((True, True, False))
    return whole if is_sound else draw.pick(list_spoiled(whole) or (whole,))


def list_spoiled(whole: HttpCase) -> tuple[HttpCase, ...]:
    """List every malformed variant of this request, with its expected status."""
    ways = ((spoil(whole), status, names) for spoil, status, names in WRONG)
    # A way to spoil what this request does not have leaves it as it is: such variants are dropped.
    return tuple(structs.replace(it, meant=status, names=names) for it, status, names in ways if it != whole)


KEY_HEADERS: Final = ("Idempotency-Key", "x-idempotency-key", "X-IDEMPOTENCY-KEY")


def quote_part(part: str, draw: Draw) -> str:
    """Quote a part of a path; a slash in it may stand as it is, but at its end."""
    return quote(part, safe="" if part.endswith("/") else draw.pick(("", "/")))


def is_sayable(value: object) -> bool:
    """Return True if a path or a query can hold a value without changing it."""
    if isinstance(value, str):
        return value != "" and value.isprintable()
    is_number = type(value) is int and 0 <= value <= NUMBER_MAX
    return value is None or is_number


# Malformed variants.


def body_with(field: str) -> Callable[[HttpCase], HttpCase]:
    """Return a variant with one more field, where there are others."""
    return lambda it: structs.replace(it, body=it.body[:-1] + f", {field}}}") if len(it.body) > 2 else it


def path_with(old: str, new: str) -> Callable[[HttpCase], HttpCase]:
    return lambda it: structs.replace(it, path=it.path.replace(old, new, 1))


def dated_with(day: str, year: str = r"\2") -> Callable[[HttpCase], HttpCase]:
    """Return a variant from or until a day that no year has, or not this one."""
    put = rf"\1={year}-{day}"
    return lambda it: structs.replace(
        it, path=re.sub("(from|until)=([0-9]{4})-[0-9]{2}-[0-9]{2}", put, it.path)
    )


def odd_in_body(name: str) -> Callable[[HttpCase], HttpCase]:
    """Return a variant whose field is no date, and no number of a page either."""
    return lambda it: structs.replace(
        it, body=re.sub(rf'"{name}": ("[^"]*"|[0-9]+)', f'"{name}": "x"', it.body)
    )


def blank_limit(it: HttpCase) -> HttpCase:
    return structs.replace(it, path=re.sub("limit=[0-9]+", "limit=", it.path))


def without_its_first(it: HttpCase) -> HttpCase:
    """Leave out the first field of a body that makes something, which needs it."""
    given = list(json.loads(it.body.strip() or "{}").items())
    if it.method.upper() != "POST" or [name for name, _ in given[:1]] in ([], ["colour"]):
        return it
    return structs.replace(it, body=json.dumps(dict(given[1:])))


WRONG: Final[tuple[tuple[Callable[[HttpCase], HttpCase], int, tuple[str, ...]], ...]] = (
    (lambda it: structs.replace(it, body=it.body[: len(it.body) // 2]) if len(it.body) > 2 else it, 400, ()),
    (lambda it: structs.replace(it, body=f"[{it.body}]"), 400, ()),
    (body_with('"colour": NaN'), 400, ()),
    (body_with(f'"colour": [{DEEP}]'), 400, ()),
    (without_its_first, 400, ()),
    (blank_limit, 400, ("limit",)),
    (path_with("limit=", "limit=x"), 400, ("limit",)),
    (path_with("limit=", "limit=" + quote("\N{DEVANAGARI DIGIT ONE}")), 400, ("limit",)),
    (path_with("limit=", "limit=" + "1" * 19), 400, ("limit",)),
    (path_with("after=msg_", "after=msg_-"), 400, ("after",)),
    (path_with("from=", "from=x"), 400, ("from",)),
    (path_with("until=", "until=1"), 400, ("until",)),
    (dated_with("02-30"), 400, ("from", "until")),
    (dated_with("04-31"), 400, ("from", "until")),
    (dated_with("11-31"), 400, ("from", "until")),
    (dated_with("13-01"), 400, ("from", "until")),
    (dated_with("00-10"), 400, ("from", "until")),
    (dated_with("10-00"), 400, ("from", "until")),
    (dated_with("02-29", "2100"), 400, ("from", "until")),
    (lambda it: structs.replace(it, path=re.sub("T[0-9]{2}", "T24", it.path)), 400, ("from", "until")),
    *((odd_in_body(name), 400, (name,)) for name in ("start_date", "end_date", "page")),
    (path_with("skip=", "skip=-"), 400, ("skip",)),
    (lambda it: structs.replace(it, method="PUT"), 405, ()),
    (path_with("/v1/", "/v2/"), 404, ()),
    (path_with("/agents/", "/agents/nothing/"), 404, ()),
)
"""Ways to spoil a request that has such a part; the status of each; and the names in the response."""


def line_of(request: Request, draw: Draw) -> RequestLine | None:
    match request:
        case api.ListBlocks():
            return RequestLine("GET", blocks(draw))
        case api.CreateBlock():
            given = fields(request, "label value kind description limit_bytes read_only")
            given = shorter(given, draw, value="", description="", read_only=False)
            return RequestLine("POST", blocks(draw), body=given)
        case api.FindBlock(block=name):
            return RequestLine("GET", (*blocks(draw), name))
        case api.UpdateBlock(block=name):
            given = shorter(fields(request, "value limit_bytes read_only expected_version"), draw)
            return RequestLine("PATCH", (*blocks(draw), name), body=given | description_of(request, draw))
        case api.DeleteBlock(block=name, expected_version=None):
            return RequestLine("DELETE", (*blocks(draw), name))
        case api.BlockHistory(block_id=name):
            return RequestLine("GET", ("history", name), fields(request, "after limit"))
        case api.AppendToBlock(block=name, text=text, author="model"):
            return RequestLine("POST", ("tools", "core_memory_append"), body={"label": name, "content": text})
        case api.ReplaceInBlock(block=name, old=old, new=new, every=every, author="model"):
            given = {"label": name, "old_content": old, "new_content": new, "all": every}
            return RequestLine("POST", ("tools", "core_memory_replace"), body=shorter(given, draw, all=False))
        case api.AddMessages(messages=messages):
            reordered = [dict(draw.pick((parts, parts[::-1]))) for parts in messages]  # in any order
            return RequestLine("POST", ("messages",), body={"messages": reordered})
        case api.ListMessages():
            given = fields(request, "before after limit")
            return RequestLine("GET", ("messages",), draw.pick((given, with_ids(given))))
        case api.SearchMessages() | api.SearchArchival(tags=()):
            return write_search(request, draw)
        case api.AddArchival(content=content, tags=(), metadata=(), extract=False, speaker=None) if draw.pick(
            (True, False)
        ):
            return RequestLine("POST", ("tools", "archival_memory_insert"), body={"content": content})
        case api.AddArchival(content=content, tags=tags, metadata=metadata):
            name = draw.pick(("content", "text"))
            given = {name: content, "tags": tags, "metadata": dict(metadata)}
            given |= fields(request, "extract speaker")
            return RequestLine(
                "POST", ("archival",), body=shorter(given, draw, tags=(), metadata={}, extract=False)
            )
        case api.GetArchival(record_id=name):
            return RequestLine("GET", ("archival", name))
        case api.ListArchival(limit=limit, cursor=cursor, tags=()):
            name = draw.pick(("cursor", "after"))
            return RequestLine("GET", ("archival",), {"limit": limit, name: cursor})
        case api.DeleteArchival(record_id=name):
            return RequestLine("DELETE", ("archival", name))
        case api.DeleteAgent():
            return RequestLine("DELETE", ())
        case api.OpenAgent():
            return RequestLine("POST", ())
        case api.BuildSystemPrompt(system=system, form=form):
            given = {"system": system or None, "format": form}
            return RequestLine("GET", ("prompt",), shorter(given, draw, format="xml"))
    return None


def write_search(request: api.SearchMessages | api.SearchArchival, draw: Draw) -> RequestLine | None:
    """Return a search over HTTP; None if RFC 3339 does not have its times."""
    if isinstance(request, api.SearchArchival):
        return draw.pick((search_of(request, {}), tool_of(request, draw) or search_of(request, {})))
    span = {"from": request.from_ms, "until": request.until_ms}
    if any(ms is not None and ms > LAST_MS for ms in span.values()):
        return None
    dates = {name: None if ms is None else write_time(ms, name, draw) for name, ms in span.items()}
    return draw.pick((search_of(request, dates), tool_of(request, draw, dates) or search_of(request, dates)))


def search_of(request: api.SearchMessages | api.SearchArchival, dates: Json) -> RequestLine:
    """Return a search as a person makes it."""
    given = {"q": request.query, "limit": request.limit, "skip": request.skip or None, **dates}
    if isinstance(request, api.SearchArchival):
        return RequestLine("GET", ("archival",), given)
    return RequestLine("GET", ("messages",), given | {"before": request.before})


def tool_of(
    request: api.SearchMessages | api.SearchArchival, draw: Draw, dates: Json | None = None
) -> RequestLine | None:
    """Return a search as a model makes it, with ten rows a page; None if no tool has it."""
    number, rest = divmod(request.skip, 10)
    if request.limit != 10 or rest:
        return None
    page = shorter({"page": number}, draw, page=0)
    match request:
        case api.SearchArchival(query=query):
            return RequestLine("POST", ("tools", "archival_memory_search"), body={"query": query, **page})
        case api.SearchMessages(query=str() as query, from_ms=None, until_ms=None, before=None):
            return RequestLine("POST", ("tools", "conversation_search"), body={"query": query, **page})
        case api.SearchMessages(query=None, from_ms=int(), until_ms=int(), before=None):
            assert dates is not None
            span = {"start_date": dates["from"], "end_date": dates["until"]}
            return RequestLine("POST", ("tools", "conversation_search_date"), body={**span, **page})
    return None


def in_days(request: Request) -> Request:
    if not isinstance(request, api.SearchMessages):
        return request
    return structs.replace(request, from_ms=day_of(request.from_ms), until_ms=day_of(request.until_ms))


def day_of(ms: int | None) -> int | None:
    return None if ms is None else ms - ms % DAY_MS


def write_time(ms: int, name: str, draw: Draw) -> str:
    """Return a time in one of its forms; a whole day also as its date, as an end the day before."""
    day, rest = divmod(ms, DAY_MS)
    # `until=2024-05-01` includes that day, so it is midnight of the next one.
    is_date = rest == 0 and (name == "from" or day > 0)
    # Near both ends of time another zone would need a year that the format does not have.
    ahead = draw.pick((0, 0, 90, -330)) if DAY_MS < ms < LAST_MS - DAY_MS else 0  # minutes
    zone = draw.pick("Zz") if ahead == 0 else write_offset(ahead)
    whole = clock_of(ms + ahead * 60_000) + zone
    return draw.pick((date_of(day - (name == "until")), whole)) if is_date else whole


def write_offset(minutes: int) -> str:
    return f"{'+' if minutes > 0 else '-'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def blocks(draw: Draw) -> tuple[str, ...]:
    return draw.pick((("blocks",), ("core-memory", "blocks")))


def fields(request: Request, names: str) -> Json:
    """Return the fields of these names, as the wire names them."""
    return rename_fields({name: getattr(request, name) for name in names.split()})


def shorter(given: Json, draw: Draw, **defaults: object) -> Json:
    """Return the fields, or leave out defaults, which otherwise are null if they are None."""
    changed = {name: value for name, value in given.items() if value not in (None, defaults.get(name))}
    return draw.pick((given, changed))


def description_of(request: api.UpdateBlock, draw: Draw) -> Json:
    """Return the description; null takes it away, as an empty one does."""
    given = request.description
    if given is None:
        return {}
    return {"description": draw.pick((given, given or None))}


def with_ids(given: Json) -> Json:
    """Return places in the log of messages as the ids of messages."""
    return {
        name: f"msg_{at:012}" if name in ("before", "after") and type(at) is int else at
        for name, at in given.items()
    }


# Replies.

STATUS: Final[Mapping[str, int]] = {
    "ReadOnly": 403, "NotFound": 404,
    **dict.fromkeys(("LabelTaken", "VersionConflict", "TooBusy"), 409),
    **dict.fromkeys(
        ("BadLabel", "BlockTooLarge", "CoreFull", "TooManyBlocks", "TextTooLong", "AboveLimit",
         "TextNotFound", "TextAmbiguous", "KeyReused"),
        422,
    ),
}  # fmt: skip
"""By name of the error; every other refusal is 400."""


def status_of(outcome: Outcome) -> int:
    if isinstance(outcome, Done):
        return 200
    if isinstance(outcome, Refused):
        return STATUS.get(type(outcome.error).__name__, 400)
    return 503 if isinstance(outcome, Failed) else 504


def body_of(outcome: Outcome) -> object:
    """Return the expected body of a response."""
    if isinstance(outcome, Done):
        return json.loads(json.dumps(write_value(outcome.value)))
    if isinstance(outcome, Refused):
        return {"error": type(outcome.error).__name__, "detail": str(outcome.error)}
    if isinstance(outcome, Failed):
        return {"error": "Failed", "detail": str(outcome.error)}
    return {"error": "Unknown", "detail": "it may have happened: ask again with the same key"}


def write_value(value: Any) -> object:
    if isinstance(value, BlocksShown):
        return [write_dates(msgspec.to_builtins(block)) for block in value.blocks]
    body = write_dates(msgspec.to_builtins(value))
    if "facts" in body:
        body["entities"] = body.pop("facts")["entities"]
    for name in ("messages", "records", "changes"):
        if name in body:
            body[name] = [write_dates(row) for row in body[name]]
    for message in body.get("messages", ()):
        message |= dict(message.pop("details"))
    for record in body.get("records", ()):
        record["metadata"] = dict(record["metadata"])
    if isinstance(value, Appended):
        prefix = "msg" if value.log == "message" else "arc"
        body["ids"] = [f"{prefix}_{value.first_seq + at:012}" for at in range(value.count)]
    return body


NAMES: Final = {"limit_bytes": "limit", "at_ms": "at", "created_ms": "created_at", "updated_ms": "updated_at"}


def rename_fields(row: Json) -> Json:
    """Return a row with the names that the wire has for its fields."""
    return {NAMES.get(name, name): part for name, part in row.items()}


def write_dates(row: Json) -> Json:
    """Return a row with its times as dates."""
    return rename_fields(
        {name: format_time(part) if name.endswith("_ms") else part for name, part in row.items()}
    )


# The object of an agent server, plainly: the method for each request, and what it returns.
#
#     AppendToBlock("human", "tea")     agent.append_to_block("human", "tea")
#
# Law 1. Nothing of the object itself is used. Requests that it has no method for, as a label to page by, are
# left out.


class Method(Data):
    """A method, the fields that it takes by place, and those that it takes by name."""

    name: str
    places: str = ""
    names: str = ""


METHODS: Final[Mapping[type, Method]] = {
    api.ListBlocks: Method("list_blocks"),
    api.FindBlock: Method("get_block", "block"),
    api.CreateBlock: Method("create_block", "label value"),
    api.UpdateBlock: Method("update_block", "block value", "description limit_bytes expected_version"),
    api.AppendToBlock: Method("append_to_block", "block text"),
    api.ReplaceInBlock: Method("replace_in_block", "block old new"),
    api.DeleteBlock: Method("delete_block", "block"),
    api.AddMessages: Method("add_messages", "messages"),
    api.ListMessages: Method("list_messages", "limit", "before after"),
    api.SearchMessages: Method("search_messages", "query limit", "from_ms until_ms before skip"),
    api.AddArchival: Method("add_archival", "content", "tags metadata extract speaker"),
    api.ListArchival: Method("list_archival", "limit cursor"),
    api.SearchArchival: Method("search_archival", "query limit tags", "skip"),
    api.GetArchival: Method("get_archival", "record_id"),
    api.DeleteArchival: Method("delete_archival", "record_id"),
    api.DeleteAgent: Method("delete_agent"),
    api.OpenAgent: Method("open_agent"),
    api.RecentEntities: Method("recent_entities", "types limit", "skip"),
    api.BuildSystemPrompt: Method("build_system_prompt", "system form"),
}


OWN: Final[Mapping[type, Mapping[str, object]]] = {api.CreateBlock: {"value": ""}}
"""Fields that a method may leave out though its request may not."""
PLAIN: Final = ("role", "content")  # of a plain message


class Called(Data):
    method: str
    places: tuple[Any, ...]
    names: Mapping[str, Any]


def write_call(request: Request) -> Called | None:
    """Return the call for a valid request, without defaults; None if no method has all of it."""
    method = METHODS.get(type(request))
    if method is None:
        return None
    fields = {it.name: getattr(request, it.name) for it in list_fields(type(request)) if it.name != "op_id"}
    defaults = {it.name: it.default for it in list_fields(type(request))}
    defaults.update(OWN.get(type(request), {}))
    key = fields.pop("request_key", None)
    fields.pop("author", None)  # the object has one, for all that it asks
    if isinstance(request, api.AddMessages) and [tuple(dict(it)) for it in request.messages] == [PLAIN]:
        return Called("add_message", tuple(dict(request.messages[0]).values()), {"key": key})
    arguments = {
        name: write_argument(name, fields.pop(name)) for name in f"{method.places} {method.names}".split()
    }
    if any(value != defaults[name] for name, value in fields.items()):
        return None
    places = [arguments[name] for name in method.places.split()]
    # Trailing defaults may be left out by place; one before a given value may not.
    while places and places[-1] == defaults[method.places.split()[len(places) - 1]]:
        places.pop()
    names = {name: arguments[name] for name in method.names.split() if arguments[name] != defaults[name]}
    return Called(method.name, tuple(places), names if key is None else {**names, "key": key})


def write_argument(name: str, value: Any) -> object:
    """Return messages and metadata as dictionaries."""
    if name == "messages":
        return [dict(parts) for parts in value]
    return dict(value) if name == "metadata" and value else value


def expect_result(request: Request, outcome: Outcome) -> object:
    """Return what a method returns, or the outcome and the text of what it raises."""
    if not isinstance(outcome, Done):
        return outcome, str(outcome.error if isinstance(outcome, Refused | Failed) else outcome)
    value = outcome.value
    if isinstance(request, api.GetArchival) and isinstance(value, RecordsShown):
        return value.records[0]
    if isinstance(value, BlocksShown):
        return value.blocks
    if isinstance(value, Listed):
        return value.rows
    return value.text if isinstance(value, Prompt) else value


# The comparison.

AGENT: Final = "a/1 %"  # whose name a path must spell
OF_TOOLS: Final = (api.AppendToBlock, api.ReplaceInBlock)  # the author may be a model
HEADERS: Final = {"content-type": "application/json"}
REPLAYED: Final = {"x-idempotency-replayed": "true"}


def check_request(request: Request, draw: Draw) -> None:
    """Check that the reader gives the request that was meant, or the status of what is wrong."""
    line = None if bad_request(request) else write_request(request, AGENT, draw)
    if line is None:
        return
    author = "user" if isinstance(request, OF_TOOLS) else getattr(request, "author", "user")
    # a spoiled request must be refused with a status; any other one must be the request that was meant
    got = parse(request.op_id, line.method, line.path, line.headers, line.body, author)
    what = f"over HTTP, {line.method} {line.path} {line.body}"
    if isinstance(got, Malformed) and isinstance(line.meant, int):
        allow = {"allow": ", ".join(got.allowed)} if got.allowed else {}
        assert not allow or line.meant == 405, what
        wanted = line.meant, HEADERS | allow, {"error": "Malformed", "detail": str(got.reason)}
        response = unpack_response(malformed(got))
        assert response == wanted, what
        assert not line.names or str(got.reason).endswith(line.names), what
    else:
        meant = line.meant if isinstance(line.meant, int) else AgentCall(AGENT, line.meant, line.ignored)
        assert got == meant, what


def check_response(outcome: Outcome) -> None:
    """Check that a response has the status of its outcome, and holds all that the reply holds."""
    if isinstance(outcome, Done):
        assert is_struct(type(outcome.value)), outcome
    is_again = isinstance(outcome, Done) and getattr(outcome.value, "repeated", False)
    wanted = status_of(outcome), HEADERS | REPLAYED if is_again else HEADERS, body_of(outcome)
    got = unpack_response(respond(outcome))
    assert got == wanted, outcome


def check_delegate(request: Request, outcome: Outcome) -> None:
    """Check that the delegate asks this request, and returns or raises this outcome."""
    call = None if bad_request(request) else write_call(request)
    if call is None:
        return
    asked: list[Request] = []

    def drive(given: Request) -> Outcome:
        asked.append(given)
        return outcome

    wanted = expect_result(request, outcome)
    try:
        got = getattr(Delegate(drive, getattr(request, "author", "user")), call.method)(
            *call.places, **call.names
        )
    except DelegateError as ended:
        got = ended.outcome, str(ended)
    assert got == wanted, call
    assert asked == [structs.replace(request, op_id=OP)], call


def unpack_response(response: Response) -> tuple[int, dict[str, str], object]:
    return response.status, dict(response.headers), json.loads(response.body)

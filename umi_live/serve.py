"""A server for the memories of a file: HTTP and the Model Context Protocol, for many users by their tokens.

    POST /v1/agents/helper/remember {"text": "Ann likes tea."}
    POST /v1/agents/helper/mcp      the tools of umi_live/mcp.py

Law 1. A request acts for the user of its token; no other part of it can name a user. Law 2. Every reply is
JSON, errors included, and contains no file path, no traceback and no text of another user. Law 3. Size, time
and number of requests are limited; a request that hits a limit takes effect completely or not at all. Law 4.
The author of a request by MCP is always a model, even if the token allows more. Law 5. A request with an
unknown field is refused.

Needs the extra `serve`: `pip install 'umi-sim[serve]'`.
"""

import asyncio
import ipaddress
import json
import logging
import math
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Self
from urllib.parse import parse_qsl, unquote_to_bytes

import uvicorn
from msgspec import structs
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from umi_core.data import Data, Owner, is_struct
from umi_core.kelpie import wire
from umi_core.kelpie.wire import HttpRequest, Malformed, route
from umi_core.messages.effects import Degraded, Done, Failed, OpId, Outcome, Refused, Unknown
from umi_core.messages.requests import Forget, Recall, Remember, ShareArchive
from umi_core.messages.results import ArchiveShared, Forgotten, Hit, Recalled, Remembered
from umi_core.text import SURROGATE, show_value
from umi_core.values import Turn
from umi_live.access import Caller, ServeLimits, TokenFile, TokenTable
from umi_live.arguments import check_request
from umi_live.deadlines import limit_time
from umi_live.errors import InDoubt, LiveError, NotDone, RequestFailed, StoreError, TimedOut
from umi_live.mcp import make_server
from umi_live.memory import LiveMemory, read_changes
from umi_live.openapi import describe_api

LOG: Final = logging.getLogger("umi_live.serve")
DESCRIPTION: Final = "/openapi.json"
MCP: Final = "mcp"
MCP_LEVELS_MAX: Final = 32  # nesting levels of a message: clients may nest their capabilities
ONCE: Final = ("authorization", "host", "idempotency-key", "origin", "x-idempotency-key")  # never repeated
MCP_GRACE_S: Final = 1
UNKNOWN_COUNT_MAX: Final = 10
STATUSES: Final[Mapping[int, str]] = {
    400: "The request is malformed, or a value in it cannot be meant.",
    401: "No token, or an unknown one.",
    403: "The token is not for this agent or user, an archive is not shared, or a block is the user's.",
    404: "No such path, block, record or agent.",
    405: "The path has other methods; Allow lists them.",
    408: "The body came too slowly.",
    409: "Something is in the way: a label is taken, or a block has another version.",
    413: "The body is too large.",
    415: "The body is compressed.",
    421: "Without tokens, the host must be a name of this machine.",
    422: "Well formed, and cannot be done.",
    429: "Too many requests in a second; Retry-After says when to come back.",
    500: "A bug; the log of the server has it.",
    503: "Busy, closing, out of time, or the file or a model failed: nothing was changed.",
    504: "It may have been done or not: ask again with the same idempotency-key.",
}  # fmt: skip


# Routes for facts, in addition to the routes of an agent server (umi_core/kelpie/wire.py).


class FactWritten(Data):
    """A fact in a reply to `remember`; `change` is created, unchanged or ended.

    `name` and `content` are empty if the fact was forgotten meanwhile.
    """

    id: str
    change: str
    name: str
    content: str


class FactsWritten(Data):
    facts: tuple[FactWritten, ...]
    degraded: tuple[Degraded, ...]
    repeated: bool


class FactsFound(Data):
    hits: tuple[Hit, ...]
    query: str
    degraded: tuple[Degraded, ...]


def remember(op_id: OpId, it: HttpRequest) -> Remember:
    event_ms = wire.instant(it.body.get("event_time"), "event_time")
    options = it.pick_fields("speaker", "importance_ppm", "metadata", "source")
    return Remember(op_id, it.body["text"], event_time_ms=event_ms, request_key=it.key, **options)


def recall(op_id: OpId, it: HttpRequest) -> Recall:
    options = it.pick_fields("limit", "deep", "types", "min_score_ppm", "where", "shared", "speaker")
    turns, time_range = read_turns(it.body.get("turns")), read_time_range(it.body.get("time_range"))
    return Recall(op_id, it.body["query"], turns=turns, time_range=time_range, **options)


def share(op_id: OpId, it: HttpRequest) -> ShareArchive:
    return ShareArchive(op_id, **it.pick_fields("agents"))


def read_turns(given: Any) -> tuple[Turn, ...]:
    """Return the turns of a conversation; an empty tuple for None. Raises ValueError."""
    turns = [] if given is None else given
    if not isinstance(turns, list) or not all(isinstance(it, dict) and set(it) == TURN for it in turns):
        raise ValueError('turns; it is a list of {"role": ..., "content": ...}, with nothing else in each')
    return tuple(Turn(it["role"], it["content"]) for it in turns)


def read_time_range(given: Any) -> tuple[int | None, int | None] | None:
    """Return the first and the last millisecond of a range. Raises ValueError."""
    if given is None:
        return None
    message = f"time_range; it is [start, end], each a time of RFC 3339 or null, not {show_value(given)}"
    is_pair = isinstance(given, list) and len(given) == 2
    if not is_pair or any(it is not None and not isinstance(it, str) for it in given):
        raise ValueError(message)
    start_ms, end_ms = wire.instant(given[0], message), wire.instant(given[1], message)
    after_ms = wire.instant(given[1], message, is_end=True)
    # A range includes both ends, and an end that is a date includes its day.
    return start_ms, end_ms if after_ms == end_ms or after_ms is None else after_ms - 1


TURN: Final = {"role", "content"}  # the fields of a turn


ROUTES: Final[wire.Table] = {
    ("POST", "remember", False): route(
        "Keep what a text says, each statement as a fact.", remember, (Remember,), FactsWritten,
        needed="text", body="speaker importance_ppm event_time=event_time_ms metadata source",
    ),
    ("POST", "recall", False): route(
        "Find facts, the best first.", recall, (Recall,), FactsFound,
        needed="query", body="limit deep types turns min_score_ppm where time_range shared speaker",
    ),
    ("POST", "share", False): route(
        "Say which agents may recall from this archive.", share, (ShareArchive,), ArchiveShared,
        body="agents",
    ),
    ("DELETE", "facts", True): route(
        "Forget a fact.", lambda op_id, it: Forget(op_id, it.name, it.key), (Forget,), Forgotten
    ),
    **wire.ROUTES,
}  # fmt: skip


async def respond(memory: LiveMemory, outcome: Outcome) -> wire.Response:
    """Return the response for this outcome; reads the texts of the facts in it."""
    match outcome:
        case Done(value=Remembered() as value, degraded=degraded):
            found = await read_changes(memory, value)
            rows = tuple(
                FactWritten(key, change, it.name if it else "", it.content if it else "")
                for key, change, it in found
            )
            return wire.respond(Done(FactsWritten(rows, degraded, value.repeated)), as_json)
        case Done(value=Recalled() as value, degraded=degraded):
            return wire.respond(Done(FactsFound(value.hits, value.resolution.query, degraded)), as_json)
        case Done(value=Forgotten() | ArchiveShared()):
            return wire.respond(outcome, as_json)
    return wire.respond(outcome)


def as_json(value: Any) -> object:
    """Return a value as JSON with the field names of the wire format; pairs become objects."""
    if isinstance(value, tuple):
        return list(map(as_json, value))
    if not is_struct(type(value)):
        return value
    pairs = {"replaced": dict(value.replaced)} if isinstance(value, Hit) else {}
    return {name: as_json(part) for name, part in wire.fields(value).items()} | pairs


# The pool of memories: the most recently used ones stay open.


class PooledMemory:
    """A memory of the pool, open or not. `count`: the number of requests that use it or wait for it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.memory: LiveMemory | None = None
        self.count = 0

    async def close(self) -> None:
        """Close the memory if it is open. Exceptions are only logged."""
        memory, self.memory = self.memory, None
        if memory is not None:
            try:
                await memory.__aexit__(None, None, None)
            except Exception:
                LOG.exception("a memory did not close")


def is_broken(memory: LiveMemory) -> bool:
    """Check whether a memory refuses requests, after a bug or after another program changed a sealed file."""
    return memory.host is None or memory.host.is_closed


class MemoryPool:
    """Opens memories for requests. If more than `size` are open, closes the least recently used idle ones."""

    def __init__(self, make: Callable[[str, str], LiveMemory], size: int) -> None:
        self.make, self.size = make, size
        self.memories: dict[tuple[str, str], PooledMemory] = {}  # the most recently used one last
        self.closing: dict[asyncio.Task[None], None] = {}

    @asynccontextmanager
    async def use(self, user: str, agent: str) -> AsyncIterator[LiveMemory]:
        """Keep the memory of this user and agent open inside. Raises LiveError if it cannot be opened."""
        key = user, agent
        pooled = self.memories[key] = self.memories.pop(key) if key in self.memories else PooledMemory()
        pooled.count += 1
        try:
            async with pooled.lock:
                if pooled.memory is None or is_broken(pooled.memory):
                    await asyncio.shield(asyncio.ensure_future(pooled.close()))
                    pooled.memory = await self.make(user, agent).__aenter__()
                memory = pooled.memory
            yield memory
        finally:
            pooled.count -= 1
            idle = [it for it, found in self.memories.items() if not found.count]
            surplus = max(0, len(self.memories) - self.size)
            for it in idle[:surplus]:
                self.start_closing(it)
            if pooled.memory is None:
                self.start_closing(key)

    def start_closing(self, key: tuple[str, str], force: bool = False) -> None:
        # In a separate task, so that cancelling the request does not cancel the closing.
        task = asyncio.create_task(self.close_memory(key, force))
        self.closing[task] = None
        task.add_done_callback(self.closing.pop)

    async def close_memory(self, key: tuple[str, str], force: bool) -> None:
        """Close a memory, unless a request uses it by now and `force` is False."""
        pooled = self.memories.get(key)
        if pooled is None:
            return
        async with pooled.lock:
            if not pooled.count or force:
                await pooled.close()
        if not pooled.count and self.memories.get(key) is pooled:
            del self.memories[key]

    async def close(self, seconds: float) -> None:
        """Close all memories, each after its requests have ended. Gives up after `seconds`."""
        for key in list(self.memories):
            self.start_closing(key, force=True)
        while self.closing:
            _, left = await asyncio.wait(list(self.closing), timeout=seconds)
            for task in left:  # for example because another program has locked the file
                task.cancel()


# Requests.


class Denied(Exception):
    """An error reply to a request that is not passed on to a memory."""

    def __init__(self, status: int, name: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        error = wire.build_error(status, name, detail)
        extra = tuple((key.replace("_", "-"), value) for key, value in headers.items())
        self.response = structs.replace(error, headers=(*error.headers, *extra))


class Allowance(Owner):
    """The token bucket of a user: `left` requests at the time `at`, in seconds."""

    left: float
    at: float

    def take(self, rate: float, now: float) -> float:
        """Take one request and return 0, or return the seconds to wait for one. `rate`: requests a second."""
        self.left, self.at = min(self.left + (now - self.at) * rate, max(1.0, 2 * rate)), now
        if self.left < 1:
            return (1 - self.left) / rate
        self.left -= 1
        return 0.0


CURRENT: ContextVar[LiveMemory] = ContextVar("memory of the request")


class MemoryServer:
    """An ASGI application. Open it inside `async with`; closing waits for running requests.

    `tokens`: None for a server that only this machine can reach; all requests then act for `user`.
    """

    def __init__(
        self,
        make: Callable[[str, str], LiveMemory],
        tokens: TokenFile | TokenTable | None,
        user: str,
        limits: ServeLimits,
    ) -> None:
        self.tokens, self.own, self.limits = tokens, Caller(user), limits
        self.pool = MemoryPool(make, limits.memories)
        self.allowances: dict[str, Allowance] = {}
        self.running = Counter[str]()
        self.description = json.dumps(describe_api(ROUTES, STATUSES)).encode()
        self.tools = make_server(CURRENT.get, describe_error, limits.seconds)
        self.tools.streamable_http_app(
            json_response=True, stateless_http=True, host="", max_request_body_size=limits.body_bytes
        )
        self.ending = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.ending.push_async_callback(self.pool.close, self.limits.seconds)
        await self.ending.enter_async_context(self.tools.session_manager.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.ending.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']}: this application speaks HTTP alone")
        request, began = IncomingRequest(Request(scope, receive)), time.monotonic()
        try:
            response = await self.answer(request)
        except Denied as denied:
            response = write_response(denied.response)
        except ClientDisconnect:
            LOG.info("%s %s - gone", request.user, request.shown)
            return
        except Exception:
            LOG.exception("%s %s: a bug", request.user, request.shown)
            response = write_response(wire.build_error(500, "Bug", "a bug; the log of the server has it"))
        spent_ms = (time.monotonic() - began) * 1_000
        LOG.info("%s %s %d %.0f ms", request.user, request.shown, response.status_code, spent_ms)
        await response(scope, receive, send)

    async def answer(self, request: "IncomingRequest") -> Response:
        """Return the response to a request. Raises Denied, ClientDisconnect."""
        self.check_headers(request.headers)
        path, query = request.read_target()
        if path == DESCRIPTION and request.method == "GET":
            return Response(self.description, media_type="application/json")
        caller = self.find_caller(request.headers)
        request.user = caller.user
        self.take_turn(caller.user)
        place = wire.locate(path)
        if place is None:
            raise Denied(404, "Malformed", "no such path")
        agent, at, name = place
        request.show(at, bool(name))
        if not caller.may_use(agent):
            raise Denied(403, "Forbidden", "this token is not for that agent")
        body = await request.read_body(self.limits)
        if "user" in dict(parse_qsl(query)):
            raise Denied(403, "Forbidden", NO_USER)
        is_mcp, seconds = (at, name) == (MCP, ""), self.limits.seconds
        with self.count_running(caller.user):
            try:
                # Each MCP tool has a limit that ends sooner, so that its client gets the error from the tool.
                async with limit_time(at or request.method, seconds + is_mcp * MCP_GRACE_S):
                    if is_mcp:
                        return await self.answer_mcp(request, caller.user, agent, body)
                    return await self.answer_route(request, caller, f"{path}?{query}", body)
            except LiveError as error:
                return write_response(respond_error(error))

    async def answer_route(
        self, request: "IncomingRequest", caller: Caller, path: str, body: str
    ) -> Response:
        call = wire.parse(0, request.method, path, request.headers, body, caller.author, ROUTES)
        if isinstance(call, Malformed):
            return write_response(wire.malformed(call))
        if "user" in call.ignored:
            raise Denied(403, "Forbidden", NO_USER)
        self.check_known(request.method, path, call.ignored)
        check_request(call.request)  # before the memory is opened, which writes
        async with self.pool.use(caller.user, call.agent) as memory:
            found = await respond(memory, await memory.drive(call.request))
        return write_response(found)

    async def answer_mcp(self, request: "IncomingRequest", user: str, agent: str, body: str) -> Response:
        if request.method != "POST":
            raise Denied(405, "Malformed", "no such method here", allow="POST")
        message = wire.json_object(body, MCP_LEVELS_MAX)
        if message is None or SURROGATE.search(json.dumps(message, ensure_ascii=False)):
            raise Denied(400, "Malformed", "the body is no JSON object, has a name twice, or no Unicode")
        async with self.pool.use(user, agent) as memory:
            CURRENT.set(memory)
            return await collect_response(self.tools.session_manager.handle_request, request, body)

    def check_known(self, method: str, path: str, ignored: tuple[str, ...]) -> None:
        """Raise Denied for unknown fields: a search that ignored a misspelt filter would find everything."""
        where, _, query = path.partition("?")
        _, at, name = wire.locate(where) or ("", "", "")
        route = ROUTES[method.upper(), at, bool(name)]
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        unknown = sorted(set(parameters) - {*route.query, *route.older})
        for what, given, known in (
            ("field of the body", ignored, (*route.needed, *route.body)),
            ("parameter of the query", unknown, tuple(route.query)),
        ):
            if given:
                names = ", ".join(map(show_value, given[:UNKNOWN_COUNT_MAX]))
                message = f"known are {', '.join(known)}" if known else "none is known here"
                raise Denied(400, "Malformed", f"no such {what}: {names}; {message}")

    def check_headers(self, headers: Headers) -> None:
        """Refuse web pages of other origins and, without tokens, other host names. Raises Denied."""
        if twice := [name for name in ONCE if len(headers.getlist(name)) > 1]:
            raise Denied(400, "Malformed", f"the header {twice[0]} was sent twice; send it once")
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.tokens is None and not is_local_name(host):
            raise Denied(421, "Misdirected", "without tokens the host must be localhost, 127.0.0.1 or [::1]")
        is_foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if is_foreign or (origin is not None and origin.partition("://")[2] != host):
            message = "a page of another origin sent this; ask from a page of this host, or from a program"
            raise Denied(403, "Forbidden", message)
        if headers.get("content-encoding", "identity") != "identity":
            raise Denied(415, "Malformed", "send the body as it is, not compressed")

    def find_caller(self, headers: Headers) -> Caller:
        if self.tokens is None:
            return self.own
        scheme, _, token = headers.get("authorization", "").partition(" ")
        caller = self.tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            message = "send a token that the server knows: authorization: Bearer TOKEN"
            raise Denied(401, "Unauthorized", message, www_authenticate="Bearer")
        return caller

    def take_turn(self, user: str) -> None:
        rate, now = self.limits.rate, time.monotonic()
        wait = self.allowances.setdefault(user, Allowance(math.inf, now)).take(rate, now)
        if wait:
            message = f"more than {rate:g} requests in a second"
            raise Denied(429, "TooMany", message, retry_after=str(math.ceil(wait)))

    @contextmanager
    def count_running(self, user: str) -> Iterator[None]:
        if self.running[user] >= self.limits.concurrent:
            message = f"{self.limits.concurrent} requests of this user are running"
            raise Denied(503, "TooMany", message, retry_after="1")
        self.running[user] += 1
        try:
            yield
        finally:
            self.running[user] -= 1


NO_USER: Final = "the user comes from the token; leave the field user out"


class IncomingRequest:
    """A request over HTTP. `shown`: method and path for the log, without anything private."""

    def __init__(self, request: Request) -> None:
        self.raw, self.headers, self.method = request, request.headers, request.method
        self.user, self.shown = "-", "-"
        self.show("-", False)

    def show(self, at: str, named: bool) -> None:
        known = at == MCP or any(at == place for _, place, _ in ROUTES)
        method = self.method if self.method in METHODS else "-"
        self.shown = f"{method} {at if known else '-'}{'/*' if named else ''}"

    def read_target(self) -> tuple[str, str]:
        """Return path and query as sent, still percent-encoded. Raises Denied if they are not UTF-8."""
        scope = self.raw.scope
        path, query = scope["raw_path"].partition(b"?")[0], scope["query_string"]
        try:
            unquote_to_bytes(path).decode(), unquote_to_bytes(query).decode()
        except UnicodeDecodeError:
            raise Denied(400, "Malformed", "path and query must be UTF-8, written with %") from None
        return path.decode("latin-1"), query.decode("latin-1")

    async def read_body(self, limits: ServeLimits) -> str:
        """Return the body. Raises Denied if it is too large, too slow or not UTF-8, ClientDisconnect."""
        body, message = bytearray(), f"the body has more than {limits.body_bytes} bytes"
        length = self.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > limits.body_bytes:
            raise Denied(413, "TooLarge", message)
        try:
            async with asyncio.timeout(limits.slow_seconds):
                async for part in self.raw.stream():
                    body += part
                    if len(body) > limits.body_bytes:
                        raise Denied(413, "TooLarge", message)
        except TimeoutError:
            message = f"the body did not come within {limits.slow_seconds:g} seconds"
            raise Denied(408, "TooSlow", message) from None
        try:
            return body.decode()
        except UnicodeDecodeError:
            raise Denied(400, "Malformed", "the body is not UTF-8") from None


METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


def is_local_name(host: str) -> bool:
    """Check whether a Host header names this machine. A page that rebinds its DNS name has another Host."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
    return name.lower() in ("localhost", "127.0.0.1", "[::1]")


def respond_error(error: LiveError) -> wire.Response:
    """Return the response for an exception of a memory."""
    match error:
        case TimedOut():
            message = error.describe("ask again with the same idempotency-key")
            return wire.build_error(504 if error.may_be_done else 503, "TimedOut", message)
        case RequestFailed(error=failed) if failed is not None:
            return wire.respond(Failed(failed))
        case InDoubt():
            return wire.respond(Unknown())
        case NotDone(error=refused) if refused is not None:
            return wire.respond(Refused(refused))
    return wire.build_error(503, type(error).__name__, describe_error(error))


def describe_error(error: LiveError) -> str:
    """Return the text of an error for a client, without the path of the file, which is logged instead."""
    if isinstance(error, StoreError):
        LOG.error("%s", error)
        return "the file of the memory cannot be used; the log of the server says why"
    return str(error)


def write_response(found: wire.Response) -> Response:
    # An error may quote a value with a lone surrogate, which is replaced by `?`.
    return Response(found.body.encode(errors="replace"), found.status, dict(found.headers))


async def collect_response(app: Callable[..., Any], request: IncomingRequest, body: str) -> Response:
    """Return the complete response of an ASGI application, so that a client never gets a partial one."""
    parts = [{"type": "http.request", "body": body.encode(), "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return parts.pop() if parts else await request.raw.receive()

    async def send(message: Message) -> None:
        sent.append(message)

    await app(request.raw.scope, receive, send)
    if not sent:
        raise ClientDisconnect
    response = Response(b"".join(it.get("body", b"") for it in sent), sent[0]["status"])
    response.raw_headers = [it for it in sent[0]["headers"] if it[0].lower() != b"connection"]
    return response


# Connections, and running a server.


FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class BoundedProtocol(H11Protocol):
    """HTTP with limits on the number of connections and on how long one waits for its client."""

    limits: ClassVar[ServeLimits]
    waiting: asyncio.TimerHandle | None = None
    has_begun = False  # whether a part of the next request has arrived

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn
        super().connection_made(transport)
        self.wait_for_client()
        if len(self.connections) > self.limits.connections:
            transport.write(FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.stop_waiting()
        elif not self.has_begun:  # only the first bytes of a request restart the timer
            self.wait_for_client()
            self.has_begun = True

    def on_response_complete(self) -> None:
        self.has_begun = False
        super().on_response_complete()
        if self.cycle.response_complete:
            self.wait_for_client()

    def wait_for_client(self) -> None:
        self.stop_waiting()
        self.waiting = self.loop.call_later(self.limits.slow_seconds, self.transport.abort)

    def stop_waiting(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None


def listen(host: str, port: int, has_tokens: bool) -> socket.socket:
    """Return a listening socket. Raises LiveError, also if other machines could reach it without tokens."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not has_tokens and not ipaddress.ip_address(address[0]).is_loopback:
            raise LiveError(
                f"{host}: is not this machine alone; without --tokens only localhost is listened on"
            )
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise LiveError(f"{host}:{port}: {error.strerror}") from None


async def run_server(server: MemoryServer, listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then wait for the running requests."""
    protocol = type("LimitedProtocol", (BoundedProtocol,), {"limits": server.limits})
    config = uvicorn.Config(
        server, http=protocol, ws="none", lifespan="off", log_config=None, access_log=False,
        proxy_headers=False, server_header=False, h11_max_incomplete_event_size=server.limits.header_bytes,
        timeout_keep_alive=math.ceil(server.limits.slow_seconds) + 1,  # later than BoundedProtocol's timer
        timeout_graceful_shutdown=math.ceil(server.limits.seconds + server.limits.slow_seconds),
    )  # fmt: skip
    async with server:
        await uvicorn.Server(config).serve(sockets=[listening])

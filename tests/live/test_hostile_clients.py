"""Goal: no client, however hostile, gets more than an error: nothing leaks, is lost, or breaks."""

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any, Final
from urllib.parse import unquote

import anyio.from_thread
import pytest
from msgspec import structs

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

import httpx

from tests.live.served import AGENT, ANN, BOB, QUICK, TOKENS, count_rows, listening, make_server
from umi_core.data import Data
from umi_live.serve import ROUTES, MemoryServer

Headers = list[tuple[bytes, bytes]]
MCP_HEADERS: Final[Headers] = [(b"content-type", b"application/json"), (b"accept", b"application/json")]
SECRET: Final = "marzipan"
MODERN: Final = "2026-07-28"  # of the protocol, whose messages are read in another way
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
}  # fmt: skip


class HostileInput(Data):
    """One request, and the status that it must have. `token`: None for none."""

    method: str
    path: str
    status: int
    body: bytes = b""
    headers: Headers = []
    token: str | None = ANN

    def __str__(self) -> str:
        text = f"{self.method} {self.path} {self.headers} {self.body!r}"
        return text if len(text) < 80 else f"{text[:60]}... {len(text)}"


# Tables, whose products are the inputs.

BODIES: Final = (
    b"{", b"[]", b"null", b"1", b'"x"', b"{} {}", b"{'F': 'x'}", b"NaN", b'{"F": NaN}', b'{"F": -Infinity}',
    b'{"F": "x", "F": "y"}', b'{"F": "x", "a": {"b": 1, "b": 2}}', b"\xff\xfe", b'{"F": "\xc3\x28"}',
    '{"F": "x"}'.encode("utf-16"), b'\xef\xbb\xbf{"F": "x"}', b"\x00", b"[" * 100_000,
    b'{"F": ' + b'{"a":' * 40 + b"1" + b"}" * 41, b'{"F": "\\ud800"}', b'{"F": "x',
    b'{"F": ' + b"9" * 5_000 + b"}",
    b'{"F": 1e400}', b'{"F": "x"} trailing', b'{"F": "\x00"}', b"<F>x</F>", b"F=x", b'{"F": undefined}',
)  # fmt: skip
TARGETS: Final = (  # with a field that each needs
    ("POST", "/remember", "text"), ("POST", "/recall", "query"), ("POST", "/blocks", "label"),
    ("POST", "/messages", "messages"), ("POST", "/archival", "content"),
    ("POST", "/tools/core_memory_append", "label"), ("POST", "/tools/conversation_search", "query"),
    ("POST", "/mcp", "params"),
)  # fmt: skip
LARGE: Final = b'{"text": "' + b"x" * QUICK.body_bytes + b'"}'
AUTHORIZATIONS: Final = (
    None, b"", b"Bearer", b"Bearer ", b"Bearer  ", b"Basic eDp5", b"Bearer x", ANN.encode(),
    b"Token " + ANN.encode(), b"Bearer" + ANN.encode(), f"Bearer {ANN}x".encode(),
    f"Bearer {ANN[:-1]}".encode(),
    f"Bearer {ANN.upper()}".encode(), f"Bearer {ANN} {ANN}".encode(), f"Bearer {TOKENS.rows[0][0]}".encode(),
    "Bearer ünïcode".encode(), b"Bearer \xff\xfe", b"Bearer " + b"x" * 100_000, b"Bearer null",
    b"Bearer undefined",
    b"Bearer ' OR 1=1 --", b"Bearer *", f"Bearer {ANN}\x00".encode(), f"Bearer,{ANN}".encode(),
)  # fmt: skip
PATHS: Final = (
    ("/", 404), ("/v1", 404), ("/v1/agents", 404), ("/v1/agents/", 404), ("/openapi.json/", 404),
    ("/v1/users/bob/agents/helper/blocks", 404), ("/v2/agents/helper/blocks", 404), ("/mcp", 404),
    ("//", 404),
    ("/V1/agents/helper/blocks", 404), ("/etc/passwd", 404), ("/v1/agents/helper", 405), ("/.env", 404),
    ("/v1/agents/helper/", 405),
    ("/v1/agents//blocks", 403), ("/v1/agents/bob/blocks", 403), ("/v1/agents/..%2Fhelper/blocks", 403),
    ("/v1/agents/%2e%2e/blocks", 403), ("/v1/agents/helper%00/blocks", 403),
    ("/v1/agents/HELPER/blocks", 403),
    ("/v1/agents/" + "a" * 5_000 + "/blocks", 403), ("/v1/agents/helper%20/blocks", 403),
    (f"{AGENT}/../other/blocks", 404), (f"{AGENT}/nothing", 404), (f"{AGENT}/" + "x/" * 1_000, 404),
    (f"{AGENT}/blocks/..%2f..%2fetc%2fpasswd", 404), (f"{AGENT}/blocks/%00", 404), (f"{AGENT}/%FF", 400),
    (f"{AGENT}/blocks/%FF%FE", 400), (f"{AGENT}/blocks/%ED%A0%80", 400), (f"{AGENT}/blocks/%C0%AF", 400),
    (f"{AGENT}/blocks/{'a' * 10_000}", 400), (f"{AGENT}/blocks/' OR 1=1 --", 404), (f"{AGENT}/tools", 404),
    (f"{AGENT}/tools/rm", 404), (f"{AGENT}/tools/core_memory_append", 405), (f"{AGENT}/remember", 405),
    (f"{AGENT}/mcp", 405), (f"{AGENT}/mcp/x", 404), (f"{AGENT}/facts", 405), (f"{AGENT}/history", 405),
    (f"{AGENT}/history/%00", 404), (f"{AGENT}/archival/arc_999999999999", 404), (f"{AGENT}/archival/-1", 404),
    (f"{AGENT}/blocks?user=bob", 403), (f"{AGENT}/blocks?user=ann", 403), (f"{AGENT}/blocks?%FF", 400),
    (f"{AGENT}/messages?limit=-1", 400), (f"{AGENT}/messages?limit=0", 400),
    (f"{AGENT}/messages?limit=1e9", 400),
    (f"{AGENT}/messages?limit=" + "9" * 30, 400), (f"{AGENT}/messages?limit=%D9%A3", 400),
    (f"{AGENT}/messages?before=0", 400), (f"{AGENT}/messages?before=-1", 400),
    (f"{AGENT}/messages?skip=x&q=a", 400),
    (f"{AGENT}/messages?skip=100000&q=a", 400), (f"{AGENT}/messages?from=yesterday", 400),
    (f"{AGENT}/messages?q={'a' * 20_000}", 400), (f"{AGENT}/messages?q=%ED%A0%80", 400),
    (f"{AGENT}/archival?cursor=arc_x", 400), (f"{AGENT}/archival?cursor=", 400),
    (f"{AGENT}/prompt?format=php", 400),
)  # fmt: skip
METHODS: Final = ("PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT", "XYZZY", "get ", "PROPFIND")
HEADERS: Final[tuple[tuple[Headers, int], ...]] = (
    ([(b"content-encoding", b"gzip")], 415), ([(b"content-encoding", b"")], 415),
    ([(b"authorization", f"Bearer {BOB}".encode())], 400), ([(b"host", b"a"), (b"host", b"b")], 400),
    ([(b"idempotency-key", b"a"), (b"idempotency-key", b"b")], 400), ([(b"idempotency-key", b"")], 400),
    ([(b"idempotency-key", b"k" * 300)], 400), ([(b"origin", b"https://evil.example")], 403),
    ([(b"origin", b"null")], 403), ([(b"origin", b"")], 403), ([(b"sec-fetch-site", b"cross-site")], 403),
    ([(b"content-length", b"9999999")], 413),
    ([(b"content-length", b"9" * 5_000)], 413),
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, True, -1, 10**30, 1.5, "", "\x00", "\u202e", "a" * 150_000, [], [[]], {}, {"a": {"b": 1}},
    [None] * 1_000,
)  # fmt: skip


def list_inputs() -> Iterator[HostileInput]:
    """Yield every input whose status is known."""
    for method, path, field in TARGETS:
        for body in BODIES:
            made = body.replace(b"F", field.encode()) if body.count(b"F") else body
            headers = MCP_HEADERS if path == "/mcp" else []
            yield HostileInput(method, AGENT + path, 400, made, headers)
        yield HostileInput(method, AGENT + path, 413, LARGE, MCP_HEADERS)
    params = {"name": "facts", "arguments": {"name": "\ud800"}, "_meta": META}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    modern = [
        (b"mcp-protocol-version", MODERN.encode()),
        (b"mcp-method", b"tools/call"),
        (b"mcp-name", b"facts"),
    ]
    yield HostileInput("POST", f"{AGENT}/mcp", 400, message, MCP_HEADERS + modern)
    for authorization in AUTHORIZATIONS:
        headers = [] if authorization is None else [(b"authorization", authorization)]
        yield HostileInput("GET", f"{AGENT}/blocks", 401, b"", headers, None)
        yield HostileInput("POST", f"{AGENT}/mcp", 401, b"{}", headers + MCP_HEADERS, None)
    for path, status in PATHS:
        yield HostileInput("GET", path, status)
    for name in ("%00", "%0A", "%7F", "", "a" * 200):
        yield HostileInput("GET", f"/v1/agents/{name}/blocks", 400, token=BOB)
    for method in METHODS:
        for path in ("/blocks", "/remember", "/mcp"):
            yield HostileInput(method, AGENT + path, 405)
    for extra, status in HEADERS:
        yield HostileInput("POST", f"{AGENT}/remember", status, b'{"text": "Tom likes jam."}', extra)


INPUTS: Final = tuple(list_inputs())


class Attacked:
    """A server in a loop of its own, and what it has stored before."""

    def __init__(self, portal: anyio.from_thread.BlockingPortal, server: MemoryServer, path: Path) -> None:
        self.portal, self.server, self.path = portal, server, path
        self.rows = count_rows(path)

    def ask(self, it: HostileInput) -> httpx.Response:
        return self.portal.call(self.send, it)

    async def send(self, it: HostileInput) -> httpx.Response:
        """Call the application as uvicorn does; a client library would make the request a decent one."""
        headers = list(it.headers)
        if it.token is not None:
            headers.append((b"authorization", f"Bearer {it.token}".encode()))
        if not any(name == b"host" for name, _ in headers):
            headers.append((b"host", b"localhost"))
        path, _, query = it.path.encode().partition(b"?")
        scope = {
            "type": "http", "http_version": "1.1", "method": it.method, "scheme": "http", "headers": headers,
            "path": unquote(path.decode()), "raw_path": path, "query_string": query, "root_path": "",
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": it.body, "more_body": False}

        async def keep(message: Any) -> None:
            sent.append(message)

        await self.server(scope, receive, keep)
        return httpx.Response(sent[0]["status"], headers=sent[0]["headers"], content=sent[1]["body"])


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    path = tmp_path_factory.mktemp("attacked") / "a.db"
    server = make_server(path)
    with anyio.from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(server):

        async def fill() -> None:
            async with server.pool.use("bob", "helper") as memory:
                await memory.remember(f"Tom likes {SECRET}.")
                await memory.set_block("human", SECRET)

        portal.call(fill)
        yield Attacked(portal, server, path)


def check_reply(response: httpx.Response, caplog: pytest.LogCaptureFixture) -> None:
    """Check that a reply is one of JSON, tells nothing that it should not, and was no bug of the server."""
    text = response.text
    assert response.headers["content-type"] == "application/json"
    assert isinstance(response.json(), dict | list)
    assert not [word for word in ("Traceback", '.py"', "a.db", SECRET, ANN, BOB) if word in text]
    assert [it.getMessage() for it in caplog.records if it.levelno >= logging.ERROR] == []


def test_there_are_more_than_200_hostile_inputs() -> None:
    assert len(dict.fromkeys(map(repr, INPUTS))) == len(INPUTS) > 200


@pytest.mark.parametrize("it", INPUTS, ids=str)
def test_a_hostile_input_gets_its_status_and_changes_nothing(
    it: HostileInput, attacked: Attacked, caplog: pytest.LogCaptureFixture
) -> None:
    response = attacked.ask(it)
    assert response.status_code == it.status, response.text
    if it.method != "HEAD":
        check_reply(response, caplog)
    if it.status >= 400 and isinstance(response.json(), dict):
        assert "error" in response.json()
    assert count_rows(attacked.path) == attacked.rows


FIELDS: Final = tuple(
    (method, f"/{at}/x" if named and not at.startswith("tools/") else f"/{at}", field)
    for (method, at, named), route in ROUTES.items()
    for field in {**route.needed, **route.body}
)


@pytest.mark.parametrize(("method", "path", "field"), FIELDS)
def test_a_field_may_hold_anything(
    method: str, path: str, field: str, attacked: Attacked, caplog: pytest.LogCaptureFixture
) -> None:
    """A value is taken or refused; none is a bug of the server. Every field of every route has each."""
    route = next(it for (verb, at, _), it in ROUTES.items() if verb == method and path.startswith(f"/{at}"))
    sound = {name: [] if name == "messages" else "x" for name in route.needed}
    for value in VALUES:
        body = json.dumps({**sound, field: value}).encode()
        headers = [(b"idempotency-key", b"k")]
        response = attacked.ask(HostileInput(method, AGENT + path, 0, body, headers))
        assert response.status_code in (200, 400, 404, 409, 422), response.text
        check_reply(response, caplog)
    attacked.rows = count_rows(attacked.path)


# What only a socket can send.

HEAD: Final = (
    b"POST "
    + AGENT.encode()
    + b"/remember HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer "
    + ANN.encode()
)
LEAVE: Final = b"\r\nconnection: close"
RAW: Final = (
    b"\r\n\r\n\r\n\r\n", b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    b"GET  / HTTP/1.1\r\nhost: a\r\n\r\n", b"GET /\x80 HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"A" * 100_000,
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", HEAD + b"\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
    HEAD + b"\r\nx" * 30_000 + b"\r\n\r\n", HEAD + b"\r\nx: a\x00b\r\n\r\n", HEAD + b"\r\nx : a\r\n\r\n",
    HEAD + b"\r\n\xff: a\r\n\r\n", HEAD + b"\r\nhost: b\r\n\r\n", HEAD + b"\r\ncontent-length: -1\r\n\r\n",
    HEAD + b"\r\ncontent-length: x\r\n\r\n", HEAD + b"\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    HEAD + b"\r\ncontent-length: +5\r\n\r\n", HEAD + b"\r\ntransfer-encoding: gzip\r\n\r\n",
    HEAD + b"\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    HEAD + b"\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
    HEAD + b"\r\ntransfer-encoding: chunked\r\n\r\n" + b"f" * 100 + b"\r\n",
    HEAD + b"\r\ntransfer-encoding: chunked, chunked\r\n\r\n",
    HEAD + b"\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
)  # fmt: skip
SLOW: Final = (
    b"", b"P", HEAD, HEAD + b"\r\n", HEAD + b"\r\ncontent-length: 100\r\n\r\n{",
    HEAD + b"\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{", HEAD + b"\r\ncontent-length: 0\r\n\r\nPOST",
    HEAD + b"\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n",
)  # fmt: skip


def read_to_end(port: int, sent: bytes) -> bytes:
    """Return what a server answers until it closes the connection; never, if it does not close it."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        got = b""
        try:
            client.sendall(sent)
            while part := client.recv(65_536):
                got += part
        except ConnectionResetError:
            pass  # it was closed while more was on its way
        return got


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    limits = structs.replace(QUICK, slow_seconds=0.2)
    with listening(make_server(tmp_path_factory.mktemp("port") / "a.db", limits=limits)) as port:
        yield port


@pytest.mark.parametrize("sent", [*RAW, *SLOW], ids=lambda it: repr(it[-40:]))
def test_what_is_no_request_ends_the_connection(
    sent: bytes, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Also of a client that is silent, or stops halfway."""
    got = read_to_end(port, sent)
    assert not got or got[:9] == b"HTTP/1.1 ", got
    assert not [status for status in (b" 200 ", b" 500 ") if status in got[:40]], got
    assert [it.getMessage() for it in caplog.records if it.levelno >= logging.ERROR] == []


def test_a_client_that_trickles_gains_no_time(port: int) -> None:
    """Bytes that come again and again do not keep a connection open before a request, or within one."""
    for head, end in ((b"", b""), (HEAD + b"\r\ncontent-length: 100000\r\n\r\n", b" 408 ")):
        got, is_over = trickle(port, head)
        assert is_over
        assert end in got


def trickle(port: int, head: bytes) -> tuple[bytes, bool]:
    """Send a byte now and then, and return what comes, and whether the connection was closed."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(head)
        client.settimeout(0.02)
        for _ in range(1_000):
            try:
                client.sendall(b"x")
                part = client.recv(65_536)
            except TimeoutError:
                continue
            except ConnectionError:
                return got, True
            if not part:
                return got, True
            got += part
    return got, False


def test_a_client_that_reads_nothing_is_let_go(tmp_path: Path) -> None:
    """A reply that is not read keeps neither its connection nor what it holds in memory."""
    add = HEAD.replace(b"remember", b"messages")
    ask = add.replace(b"POST", b"GET")
    texts = {"messages": [{"role": "user", "content": "x" * 15_000}] * 10}
    limits = structs.replace(QUICK, slow_seconds=0.2, connections=1)
    with listening(make_server(tmp_path / "a.db", limits=limits), send_bytes=4_096) as port:
        body = json.dumps(texts).encode()
        for _ in range(5):
            sent = add + LEAVE + b"\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            assert b" 200 " in read_until(port, sent, (b" 200 ", b" 400 "))
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.settimeout(60)
            client.connect(("127.0.0.1", port))
            client.sendall(ask + b"\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"
            wrong = b"GET / HTTP/1.1\r\nhost: a" + LEAVE + b"\r\n\r\n"
            assert b" 401 " in read_until(port, wrong, (b" 401 ",))


def read_until(port: int, sent: bytes, wanted: tuple[bytes, ...]) -> bytes:
    """Ask until the reply has one of these, or for ten seconds and more: while there is no room it is 503."""
    for _ in range(200):
        got = read_to_end(port, sent)
        if any(it in got[:20] for it in wanted):
            return got
        sleep(0.05)
    return got


def test_surplus_connections_are_refused(tmp_path: Path) -> None:
    limits = structs.replace(QUICK, connections=2)
    with listening(make_server(tmp_path / "a.db", limits=limits)) as port:
        first = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(2)]
        assert b" 503 " in read_to_end(port, b"")
        for client in first:
            client.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"
            client.close()

"""A server in this process for tests: one of two users, asked through its application or through a socket."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import anyio.from_thread
import apsw
import httpx

from umi_core.data import Data
from umi_live import LiveMemory, Model, deadlines, open_memory
from umi_live.access import Caller, ServeLimits, TokenTable, hash_token
from umi_live.local import RuleModel
from umi_live.serve import MemoryServer, listen, run_server
from umi_live.store import Store

ANN, BOB, MODEL_OF_ANN = "umi_token-of-ann", "umi_token-of-bob", "umi_token-of-a-model-of-ann"
TOKENS: Final = TokenTable(
    (
        (hash_token(ANN), Caller("ann", ("helper",), "user")),
        (hash_token(MODEL_OF_ANN), Caller("ann", ("helper", "other"))),
        (hash_token(BOB), Caller("bob")),
    )
)
AGENT: Final = "/v1/agents/helper"
QUICK: Final = ServeLimits(rate=1e9, body_bytes=200_000, slow_seconds=60.0)


class HeldModel:
    """Answers by rules once it is let go, and counts the questions that wait."""

    name = "held"

    def __init__(self) -> None:
        self.let_go, self.asked = asyncio.Event(), asyncio.Event()

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        self.asked.set()
        await self.let_go.wait()
        return await RuleModel().ask(task, prompt, timeout_ms)

    async def close(self) -> None: ...


@contextmanager
def holding_commits(store: Store) -> Iterator[threading.Event]:
    """Let commits of this store begin, and wait until this ends. The event: one has begun."""
    began, let_go, commit_all = threading.Event(), threading.Event(), store.storage.commit_all

    def commit_late(commits: Any, now_ms: int) -> Any:
        began.set()
        let_go.wait()
        return commit_all(commits, now_ms)

    with patch.object(store.storage, "commit_all", commit_late):
        try:
            yield began
        finally:
            let_go.set()


@contextmanager
def ending_limits(seconds: float, wait: Callable[[], Awaitable[object]]) -> Iterator[None]:
    """Let time limits of so many seconds end as soon as `wait` returns, on a slow machine too."""
    ends: list[asyncio.Task[None]] = []

    async def end(timer: asyncio.Timeout) -> None:
        await wait()
        timer.reschedule(asyncio.get_running_loop().time())

    def limit(given: float | None) -> asyncio.Timeout:
        timer = asyncio.timeout(given)
        if given == seconds:
            ends.append(asyncio.create_task(end(timer)))
        return timer

    with patch.object(deadlines, "asyncio", SimpleNamespace(timeout=limit)):
        yield
    assert all(it.done() for it in ends)


def make_server(
    path: Path,
    tokens: TokenTable | None = TOKENS,
    limits: ServeLimits = QUICK,
    model: Model | None = None,
) -> MemoryServer:
    def make(user: str, agent: str) -> LiveMemory:
        return open_memory(path, user=user, agent=agent, model=model)

    return MemoryServer(make, tokens, "me", limits)


class AskingClient(Data):
    """Asks as one user. `base`: the path of an agent, or nothing."""

    server: MemoryServer
    http: httpx.AsyncClient
    token: str | None = ANN
    base: str = AGENT

    async def __call__(self, method: str, path: str = "", body: Any = None, **more: Any) -> httpx.Response:
        headers = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        headers |= more.pop("headers", {})
        if body is not None:
            more["content"] = json.dumps(body)
        return await self.http.request(method, self.base + path, headers=headers, **more)


@asynccontextmanager
async def asking(path: Path, **options: Any) -> AsyncIterator[AskingClient]:
    """A client of a new server, in the same loop."""
    async with AsyncExitStack() as ending:
        server = await ending.enter_async_context(make_server(path, **options))
        transport = httpx.ASGITransport(app=server)
        http = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        yield AskingClient(server, await ending.enter_async_context(http))


@contextmanager
def listening(server: MemoryServer, send_bytes: int | None = None) -> Iterator[int]:
    """The port of a server that runs in another thread. `send_bytes`: what the system takes of a reply."""
    with ExitStack() as ending:
        portal = ending.enter_context(anyio.from_thread.start_blocking_portal())
        sock = ending.enter_context(listen("127.0.0.1", 0, True))
        if send_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
        running = portal.start_task_soon(run_server, server, sock)
        ending.callback(running.cancel)
        yield sock.getsockname()[1]


def count_rows(path: Path) -> Mapping[str, int]:
    """Return how many rows of each kind the file has, but for those that each opening writes."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("select kind, count(*) from row where kind != 'epoch' group by kind").fetchall()
    connection.close()
    return {str(kind): int(str(count)) for kind, count in rows}

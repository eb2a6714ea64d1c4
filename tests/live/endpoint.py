"""A local endpoint that speaks as OpenAI does, answers by rules, and fails on request."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from umi_core.language.prompts import FIXED
from umi_live.local import DIMS, RuleModel, hash_text

Failing = Callable[[], str]  # a key of FAILURES, or nothing
Waiting = Callable[[], Awaitable[None]]
PROBE: Final = "Reply with the word yes."  # of a command, before it begins

MODEL, EMBEDDER = "#rules", f"#hash:{DIMS}"
NO_HEADERS: Final[dict[str, str]] = {}


def chat(**message: Any) -> bytes:
    choice = {"finish_reason": message.pop("reason", "stop"), "message": message}
    return json.dumps({"choices": [choice]}).encode()


def vectors(*embeddings: Any) -> bytes:
    return json.dumps({"data": [{"index": at, "embedding": it} for at, it in enumerate(embeddings)]}).encode()


# By name: status, headers, body. Of no status: the connection hangs, or breaks off.
Wire = tuple[int | str, dict[str, str], bytes]
FAILURES: Final[dict[str, Wire]] = {
    "hangs": ("hang", {}, b""),
    "breaks off": ("reset", {}, b""),
    "408": (408, {}, b""),
    "504": (504, {}, b"<html>"),
    "429": (429, {}, b"{}"),
    "429 with seconds": (429, {"Retry-After": "0.05"}, b"{}"),
    "500": (500, {}, b"oops"),
    "503 with seconds": (503, {"Retry-After": "0.05"}, b""),
    "400 too long": (400, {}, b'{"error": {"code": "context_length_exceeded"}}'),
    "413": (413, {}, b""),
    "400": (400, {}, b"{}"),
    "401": (401, {}, b'{"error": {"message": "wrong key"}}'),
    "404": (404, {}, b""),
    "301": (301, {"Location": "/"}, b""),
    "empty": (200, {}, b""),
    "cut off JSON": (200, {}, b'{"choices": [{"mess'),
    "deep": (200, {}, b"[" * 100_000),
    "large": (200, {}, b" " * 2_000_000),
    "no choices": (200, {}, b'{"choices": []}'),
    "no object": (200, {}, b"[7]"),
    "no text": (200, {}, chat(content=None)),
    "blank text": (200, {}, chat(content=" ")),
    "stopped": (200, {}, chat(content="[", reason="length")),
    "refusal": (200, {}, chat(content=None, refusal="I cannot.")),
    "filtered": (200, {}, chat(content="", reason="content_filter")),
    "too few vectors": (200, {}, vectors()),
    "short vectors": (200, {}, vectors([1.0])),
    "no numbers": (200, {}, vectors(["a"] * DIMS)),
    "not finite": (200, {}, vectors([float("nan")] * DIMS)),
    "zeros": (200, {}, vectors([0.0] * DIMS)),
}
OF_MODEL: Final = tuple(name for name in FAILURES if b'"data"' not in FAILURES[name][2])
OF_EMBEDDER: Final = tuple(name for name in FAILURES if b'"finish_reason"' not in FAILURES[name][2])


@asynccontextmanager
async def serving(fails: Failing, hold: Waiting | None = None) -> AsyncIterator[str]:
    """The address of an endpoint. At every request `fails` is asked, and `hold` is waited for."""
    server = await asyncio.start_server(lambda *ends: serve(fails, hold, *ends), "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def serve(
    fails: Failing, hold: Waiting | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        while await serve_one(fails, hold, reader, writer):
            pass
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


async def serve_one(
    fails: Failing, hold: Waiting | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    path, body = head.split()[1], json.loads(await reader.readexactly(length))
    failure = fails()
    if hold is not None and PROBE not in str(body):
        await hold()
    status, headers, data = FAILURES[failure] if failure else (200, NO_HEADERS, await truth(path, body))
    if status == "hang":
        await reader.read()
    if not isinstance(status, int):
        return False
    all_headers = {**headers, "Content-Length": str(len(data))}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in all_headers.items())]
    writer.write("\r\n".join((*lines, "", "")).encode() + data)
    await writer.drain()
    return True


async def truth(path: str, body: Any) -> bytes:
    if path.endswith("/embeddings"):
        return vectors(*([it / 200 for it in hash_text(text)] for text in body["input"]))
    prompt = body["messages"][0]["content"]
    if isinstance(prompt, list):
        return chat(content=f"<content>{json.dumps(prompt[1])}</content>")
    if prompt == PROBE:
        return chat(content="yes")
    task = next(task for task, blocks in FIXED.items() if prompt.startswith(blocks[0]))
    return chat(content=await RuleModel().ask(task, prompt, 0))

"""Asks `umi-live serve` by many clients for some time, and checks every answer and, at the end, the file.

    python -m tools.measured.serve_load 64 600

Eight users share the clients. Each client remembers, recalls, forgets, repeats requests, adds messages, calls
tools over MCP, and sends what is no request. Each text has a word of its own with the name of its user.
Mistakes are: a reply with the word of another user, an acknowledged fact that is not in the file or there
twice, a forgotten one that is there, a status that a request should not have, and a warning in the log of the
server. The status is 1 if there are any.
"""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import httpx

from umi_core.rows import fact_of
from umi_live import open_memory
from umi_live.access import Caller, append_token, make_token

USER_COUNT: Final = 8
WORD: Final = re.compile(r"zq(\d\d)x\d+x\d+")
HOSTILE: Final = (
    ("POST", "/remember", b"{", 400), ("POST", "/remember", b'{"text": NaN}', 400),
    ("POST", "/remember", b"[" * 50_000, 400), ("GET", "/blocks/%FF", b"", 400), ("GET", "/no", b"", 404),
    ("POST", "/mcp", b'{"jsonrpc": "2.0"}', 400), ("GET", "/blocks?user=u01", b"", 403),
    ("PUT", "/remember", b"{}", 405), ("GET", "/messages?limit=-1", b"", 400),
    ("POST", "/remember", b'{"text": "' + b"x" * 2_000_000 + b'"}', 413),
)  # fmt: skip


class LoadReport:
    """Totals of all clients."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.times_ms: list[float] = []
        self.mistakes: list[str] = []

    def expect(self, is_right: bool, mistake: str) -> None:
        if not is_right:
            self.mistakes.append(mistake)


class LoadClient:
    """One client, and the words of the facts that were acknowledged to it, with their ids."""

    def __init__(self, number: int, http: httpx.AsyncClient, token: str, report: LoadReport) -> None:
        self.number, self.user, self.http, self.report = number, number % USER_COUNT, http, report
        self.headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        self.facts: dict[str, str] = {}
        self.forgotten: list[str] = []
        self.made = 0

    async def ask(
        self, kind: str, method: str, path: str, body: Any = None, status: int = 200, key: str = ""
    ) -> Any:
        """Return the value of the reply, and report what is wrong with it."""
        headers = {**self.headers, "content-type": "application/json"}
        headers |= {"idempotency-key": key} if key else {}
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        began = time.monotonic()
        response = await self.http.request(
            method, f"/v1/agents/helper{path}", content=content, headers=headers
        )
        self.report.times_ms.append((time.monotonic() - began) * 1_000)
        self.report.counts[f"{kind} {response.status_code}"] += 1
        self.report.expect(
            response.status_code == status, f"{kind}: {response.status_code} {response.text[:200]}"
        )
        foreign = [it for it in WORD.findall(response.text) if int(it) != self.user]
        self.report.expect(not foreign, f"{kind}: a text of another user: {response.text[:200]}")
        return response.json() if response.status_code == 200 else {}

    def new_word(self) -> str:
        self.made += 1
        return f"zq{self.user:02}x{self.number}x{self.made}"

    async def remember(self) -> None:
        word = self.new_word()
        body, key = {"text": f"The code of today is {word}."}, f"k{self.number}-{self.made}"
        reply = await self.ask("remember", "POST", "/remember", body, key=key)
        if not reply:
            return
        self.facts[word] = reply["facts"][0]["id"]
        if self.made % 5 == 0:
            again = await self.ask("repeat", "POST", "/remember", body, key=key)
            self.report.expect(again.get("repeated") is True, f"repeat: {again}")

    async def recall(self) -> None:
        word = list(self.facts)[-1]
        found = await self.ask("recall", "POST", "/recall", {"query": f"code {word}", "limit": 5})
        self.report.expect(word in str(found.get("hits")), f"recall: {word} was not found")

    async def forget(self) -> None:
        word, key = self.facts.popitem()
        reply = await self.ask("forget", "DELETE", f"/facts/{key}")
        self.report.expect(reply.get("existed") is True, f"forget: {reply}")
        self.forgotten.append(word)

    async def call_tool(self) -> None:
        word = self.new_word()
        params = {"name": "remember", "arguments": {"text": f"The code of today is {word}."}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        reply = await self.ask("mcp", "POST", "/mcp", message)
        if reply:
            self.report.expect(reply["result"].get("isError") is not True, f"mcp: {reply}")
            self.facts[word] = reply["result"]["structuredContent"]["result"][0]["id"]

    async def add_message(self) -> None:
        message = {"role": "user", "content": self.new_word()}
        await self.ask("message", "POST", "/messages", {"messages": [message]})
        await self.ask("messages", "GET", "/messages?limit=3")

    async def attack(self) -> None:
        method, path, body, status = HOSTILE[self.made % len(HOSTILE)]
        try:
            await self.ask("hostile", method, path, body, status)
        except httpx.TransportError:
            # A client that still sends a body long after it was refused is cut off.
            self.report.counts["hostile cut off"] += 1
            self.report.expect(status == 413, f"hostile: {method} {path} was cut off")

    async def run(self, until: float) -> None:
        """Ask until then, each in its turn."""
        await self.remember()
        turns = (
            self.remember, self.recall, self.remember, self.add_message, self.call_tool, self.recall,
            self.attack, self.remember, self.forget,
        )  # fmt: skip
        at = self.number
        while time.monotonic() < until and not self.report.mistakes:
            await turns[at % len(turns)]()
            at += 1


async def check_file(path: Path, user: int, clients: list[LoadClient], report: LoadReport) -> int:
    """Compare the facts of a user in the file with those that were acknowledged, and count them."""
    async with open_memory(path, user=f"u{user:02}", agent="helper", read_only=True) as memory:
        rows = [row.body async for row in memory.rows(("entity", "ended"))]
    texts = [fact.content for row in rows if (fact := fact_of(row)) is not None]
    words = Counter(match[0] for text in texts for match in WORD.finditer(text))
    for client in clients:
        report.expect(
            not set(client.facts) - set(words), f"{len(set(client.facts) - set(words))} facts are lost"
        )
        report.expect(not set(client.forgotten) & set(words), "forgotten facts are there")
    report.expect(not [it for it in words if int(it[2:4]) != user], "a fact of another user")
    report.expect(not [it for it, count in words.items() if count > 1], "a fact is there twice")
    return len(words)


def use_of(pid: int) -> str:
    """Return what a process uses: memory, and open files."""
    status = Path(f"/proc/{pid}/status").read_text()
    kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return f"{kib / 1024:.0f} MiB, {len(os.listdir(f'/proc/{pid}/fd'))} open files"


async def run_load(client_count: int, seconds: float, folder: Path) -> LoadReport:
    report, path, tokens = LoadReport(), folder / "load.db", [make_token() for _ in range(USER_COUNT)]
    for number, token in enumerate(tokens):
        append_token(str(folder / "tokens.toml"), Caller(f"u{number:02}").write_line(token))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "umi_live", "serve", "--db", str(path), "--port", "0", "--rate", "10000",
        "--tokens", str(folder / "tokens.toml"), stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    url = (await process.stderr.readline()).decode().split("served at ")[1].split(";")[0]
    errors: list[str] = []

    async def read_log() -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            if b" INFO " not in line:
                errors.append(line.decode().strip())

    reading, began = asyncio.create_task(read_log()), time.monotonic()
    # Idle connections are left long before the server closes them, or a request could cross the end of one.
    limits = httpx.Limits(max_connections=client_count, keepalive_expiry=2.0)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as http:
        clients = [LoadClient(it, http, tokens[it % USER_COUNT], report) for it in range(client_count)]

        async def watch() -> None:
            while True:
                asked = sum(report.counts.values())
                print(
                    f"{time.monotonic() - began:5.0f} s  {asked:>7} requests  {use_of(process.pid)}",
                    flush=True,
                )
                await asyncio.sleep(max(1.0, seconds / 10))

        watching = asyncio.create_task(watch())
        await asyncio.gather(*(client.run(began + seconds) for client in clients))
        watching.cancel()
    spent = time.monotonic() - began
    print(f"{spent:5.0f} s  all clients are gone    {use_of(process.pid)}")
    process.send_signal(signal.SIGTERM)
    await reading
    report.expect(await process.wait() == 0, f"the server ended with {process.returncode}")
    report.expect(not errors, f"the log has {len(errors)} lines of warnings: {errors[:3]}")
    facts = [
        await check_file(path, user, [it for it in clients if it.user == user], report)
        for user in range(USER_COUNT)
    ]
    asked, parts = sum(report.counts.values()), quantiles(report.times_ms, n=100)
    print(f"{asked} requests, {asked / spent:.0f} a second, {sum(facts)} facts in the file")
    middle, most = parts[49], max(report.times_ms)
    print(f"half in {middle:.0f} ms, 99 of 100 in {parts[98]:.0f} ms, all in {most:.0f} ms")
    print(", ".join(f"{name}: {count}" for name, count in sorted(report.counts.items())))
    return report


def main() -> int:
    client_count, seconds = int(sys.argv[1]), float(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(run_load(client_count, seconds, Path(folder)))
    for mistake in report.mistakes[:20]:
        print("MISTAKE", mistake)
    print(f"{len(report.mistakes)} mistakes")
    return 1 if report.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())

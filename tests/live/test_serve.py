"""Goal: several users remember over HTTP and MCP, each sees only what is theirs, and limits hold."""

import asyncio
import json
import logging
import os
import re
import secrets
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import structs

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

import httpx
import httpx2
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.live.endpoint import serving
from tests.live.served import (
    AGENT,
    ANN,
    BOB,
    MODEL_OF_ANN,
    QUICK,
    HeldModel,
    asking,
    count_rows,
    ending_limits,
    holding_commits,
    make_server,
)
from umi_core.data import list_fields
from umi_live import LiveError, StoreError, open_memory
from umi_live.access import Caller, ServeLimits, TokenFile, append_token, make_token, read_tokens
from umi_live.command import main
from umi_live.serve import ROUTES, STATUSES, listen

MCP: Final = {"accept": "application/json", "content-type": "application/json"}
TEA: Final = {"text": "Ann likes green tea."}
ROOT: Final = Path(__file__).resolve().parents[2]


def run(live: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(live())


async def value_of(answering: Coroutine[Any, Any, httpx.Response], status: int = 200) -> Any:
    response = await answering
    assert response.status_code == status, response.text
    return response.json()


# What is asked and answered.


def test_a_user_remembers_recalls_and_forgets(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            reply = await value_of(ask("POST", "/remember", TEA, headers={"idempotency-key": "k"}))
            (fact,) = reply["facts"]
            assert (fact["change"], fact["name"], fact["content"]) == ("created", "Ann", TEA["text"])
            again = await ask("POST", "/remember", TEA, headers={"idempotency-key": "k"})
            assert (again.json()["repeated"], again.headers["x-idempotency-replayed"]) == (True, "true")
            (hit,) = (await value_of(ask("POST", "/recall", {"query": "What does Ann like?"})))["hits"]
            assert (hit["id"], hit["content"]) == (fact["id"], TEA["text"])
            moved = await value_of(ask("POST", "/remember", {"text": "I live in Rome.", "speaker": "Ann"}))
            moved = await value_of(ask("POST", "/remember", {"text": "I live in Oslo.", "speaker": "Ann"}))
            assert [it["change"] for it in moved["facts"]] == ["created", "ended"]
            assert moved["facts"][1]["content"] == "I live in Rome."
            assert await value_of(ask("DELETE", f"/facts/{fact['id']}")) == {
                "existed": True,
                "repeated": False,
            }
            assert await value_of(ask("DELETE", f"/facts/{fact['id']}")) == {
                "existed": False,
                "repeated": False,
            }
            assert (await value_of(ask("POST", "/recall", {"query": "tea"})))["hits"] == []

    run(live)


def test_a_request_that_is_refused_begins_no_memory(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            await value_of(ask("POST", "/remember", {"text": ""}), 400)
            assert list(tmp_path.iterdir()) == []

    run(live)


def test_turns_and_times_reach_the_memory(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            body = {**TEA, "event_time": "2024-05-01", "metadata": {"lang": "en"}}
            await value_of(ask("POST", "/remember", body))
            turns = [{"role": "user", "content": "Tell me about Ann."}]
            found = await value_of(ask("POST", "/recall", {"query": "tea", "turns": turns, "limit": 1}))
            assert [it["time"] for it in found["hits"]] == ["2024-05-01T00:00:00.000Z"]
            assert (
                await ask("POST", "/recall", {"query": "x", "turns": [{"role": "user"}]})
            ).status_code == 400
            assert (await ask("POST", "/remember", {**TEA, "event_time": "soon"})).status_code == 400

    run(live)


def test_a_filter_over_http_filters(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            for day, text in (("2024-05-01", "Ann likes gin."), ("2024-06-30", "Bob likes gin.")):
                await value_of(ask("POST", "/remember", {"text": text, "event_time": f"{day}T18:00:00Z"}))
            for more, expected in (
                ({}, ["Ann", "Bob"]),
                ({"where": [["name", "eq", "Bob"]]}, ["Bob"]),
                ({"where": [["type", "in", ["topic"]]]}, []),
                ({"time_range": ["2024-05-01", "2024-05-01"]}, ["Ann"]),
                ({"time_range": ["2024-05-02T00:00:00Z", None]}, ["Bob"]),
            ):
                reply = await value_of(ask("POST", "/recall", {"query": "gin", **more}))
                assert sorted(it["name"] for it in reply["hits"]) == expected, more
            for wrong in ([0, 1], ["2024-05-01"], {"start": None}, ["soon", None], [None, True]):
                reply = await value_of(ask("POST", "/recall", {"query": "gin", "time_range": wrong}), 400)
                assert "[start, end], each a time of RFC 3339 or null" in reply["detail"]
            reply = await value_of(ask("POST", "/recall", {"query": "gin", "turns": [{"role": "user"}]}), 400)
            assert '{"role": ..., "content": ...}' in reply["detail"]

    run(live)


def test_a_field_without_a_meaning_is_refused_on_every_route(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            for method, path, body in CALLS:
                reply = await value_of(ask(method, f"/{path}".rstrip("/"), {**(body or {}), "whre": 1}), 400)
                assert reply["detail"].startswith("no such field of the body: whre; "), path
                for name in body or ():
                    assert name in reply["detail"]
                query = f"{'&' if '?' in path else '?'}nonsense=1"
                reply = await value_of(ask(method, f"/{path}".rstrip("/") + query, body), 400)
                assert reply["detail"].startswith("no such parameter of the query: nonsense; "), path
            late = await value_of(ask("POST", "/remember", {**TEA, "event_time_ms": 1_700_000_000_000}), 400)
            assert "event_time_ms; known are text, speaker, importance_ppm, event_time, " in late["detail"]
            typo = await value_of(ask("POST", "/remember", {**TEA, "\x7f\u20ac": 2}), 400)
            assert "\\x7f" in typo["detail"]
        assert not (tmp_path / "a.db").exists()

    run(live)


CALLS: Final = (
    ("POST", "remember", TEA),
    ("POST", "share", {"agents": ["writer"]}),
    ("POST", "recall", {"query": "tea", "turns": [{"role": "user", "content": "x"}]}),
    ("DELETE", "facts/fct_1", None),
    ("POST", "blocks", {"label": "human", "value": "x"}), ("GET", "blocks", None),
    ("GET", "blocks/human", None), ("PATCH", "blocks/human", {"value": "y"}),
    ("GET", "history/BLOCK", None),
    ("POST", "messages", {"messages": [{"role": "user", "content": "hello", "tool_name": "t"}]}),
    ("GET", "messages", None), ("GET", "messages?q=hello", None),
    ("POST", "archival", {"content": "Tom likes tea.", "tags": ["t"], "metadata": {"a": "b"}}),
    ("POST", "archival", {"content": "Tom likes jam.", "extract": True}), ("GET", "archival", None),
    ("GET", "archival?q=tea", None), ("GET", "archival/arc_000000000001", None), ("GET", "prompt", None),
    ("DELETE", "archival/arc_000000000001", None), ("DELETE", "archival/arc_000000000002", None),
    ("POST", "tools/core_memory_append", {"label": "human", "content": "z"}),
    ("POST", "tools/core_memory_replace", {"label": "human", "old_content": "z", "new_content": "q"}),
    ("POST", "tools/archival_memory_insert", {"content": "x"}),
    ("POST", "tools/archival_memory_search", {"query": "x"}),
    ("POST", "tools/conversation_search", {"query": "hello"}),
    ("POST", "tools/conversation_search_date", {"start_date": "2024-01-01", "end_date": "2999-01-01"}),
    ("DELETE", "blocks/human", None), ("DELETE", "", None), ("POST", "", None),
)  # fmt: skip


def described(description: Any, method: str, path: str) -> Any:
    """Return what the description says of a request."""
    base, where = "/v1/agents/{agent}", path.partition("?")[0]
    whole = f"{base}/{where}".rstrip("/")
    found = whole if whole in description["paths"] else f"{base}/{where.partition('/')[0]}/{{name}}"
    return found, description["paths"][found][method.lower()]


def test_every_route_replies_as_the_description_says(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            description = await value_of(structs.replace(ask, base="", token=None)("GET", "/openapi.json"))
            met, block = set(), ""
            for method, path, body in CALLS:
                value = await value_of(ask(method, f"/{path}".rstrip("/").replace("BLOCK", block), body))
                block = block or (value["id"] if path == "blocks" else "")
                where, operation = described(description, method, path)
                met.add((where, method.lower()))
                schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
                Draft202012Validator.check_schema(schema)
                Draft202012Validator(schema).validate(value)
                if body is not None:
                    sent = operation["requestBody"]["content"]["application/json"]["schema"]
                    Draft202012Validator(sent).validate(body)
            shown = [operation for it in description["paths"].values() for operation in it.values()]
            for route in ROUTES.values():
                (operation,) = [it for it in shown if it["summary"] == route.tells]
                sent = operation.get("requestBody", {"content": {"application/json": {"schema": {}}}})
                fields = sent["content"]["application/json"]["schema"].get("properties", {})
                assert set(fields) == {*route.needed, *route.body}
                queries = {it["name"] for it in operation["parameters"] if it["in"] == "query"}
                assert queries == set(route.query)
            assert met == {(path, method) for path, it in description["paths"].items() for method in it}
            assert set(description["components"]["responses"]) == {str(it) for it in STATUSES}

    run(live)


def test_every_field_of_the_description_has_a_meaning(tmp_path: Path) -> None:
    """Check that a wrong value is refused under the name of its field, and a needed field asked for."""

    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            sound = {(method, path): body for method, path, body in reversed(CALLS) if body}
            count = 0
            for (method, path), body in sound.items():
                route = next(
                    it for (verb, at, named), it in ROUTES.items()
                    if verb == method and (at == path or (named and path.startswith(f"{at}/")))
                )  # fmt: skip
                for field in {**route.needed, **route.body}:
                    wrong = await ask(method, f"/{path}", {**body, field: [[7]]})
                    assert (wrong.status_code, "no such" in wrong.text) == (400, False), field
                    count += 1
                for field in route.needed:
                    remaining = {name: value for name, value in body.items() if name != field}
                    reply = await value_of(ask(method, f"/{path}", remaining), 400)
                    assert reply["detail"] == f"missing, or not of its form: {field}"
            assert count == sum(len(it.needed) + len(it.body) for it in ROUTES.values())

    run(live)


def test_the_docs_have_each_limit_and_each_status() -> None:
    page = (ROOT / "docs" / "hosting.md").read_text().split("## A server")[1].split("\n## ")[0]
    statuses = dict(re.findall(r"^\| (\d{3}) \| (.*) \|$", page, re.MULTILINE))
    assert statuses == {str(status): meaning for status, meaning in STATUSES.items()}
    limits = re.findall(r"^\| `--([a-z-]+)`.*? \| (\d+) \|", page, re.MULTILINE)
    wanted = [(it.name.replace("_", "-"), f"{it.default:g}") for it in list_fields(ServeLimits)]
    assert [(name, f"{float(value):g}") for name, value in limits] == wanted


# Users.


def test_no_user_meets_what_another_one_has(tmp_path: Path) -> None:
    """Two users with an agent of one name, one secret each: no reply to one has the secret of the other."""

    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            other = structs.replace(ask, token=BOB)
            ids = {}
            for client, secret in ((ask, "marzipan"), (other, "bergamot")):
                reply = await value_of(client("POST", "/remember", {"text": f"Tom likes {secret}."}))
                await value_of(client("POST", "/blocks", {"label": "human", "value": secret}))
                await value_of(
                    client("POST", "/messages", {"messages": [{"role": "user", "content": secret}]})
                )
                await value_of(
                    client("POST", "/archival", {"content": f"Tom has {secret}.", "extract": True})
                )
                ids[secret] = reply["facts"][0]["id"]
            assert (await value_of(other("DELETE", f"/facts/{ids['marzipan']}")))["existed"] is (
                ids["marzipan"] == ids["bergamot"]
            )
            for method, path, body in CALLS:
                for client, foreign in ((ask, "bergamot"), (other, "marzipan")):
                    if method == "GET" or "search" in path or "recall" in path:
                        question = {"query": f"Tom {foreign}"} if body and "query" in body else body
                        value = (await client(method, f"/{path}", question)).json()
                        if path == "recall":
                            assert value.pop("query") == f"Tom {foreign}"
                        assert foreign not in str(value), path
            for secret, client in (("marzipan", ask), ("bergamot", other)):
                assert secret in (await client("GET", "/messages")).text
                assert secret in (await client("GET", "/blocks")).text
            await value_of(other("DELETE"))
            assert "marzipan" in (await ask("GET", "/prompt")).text

    run(live)


def test_a_foreign_agent_is_refused_whether_it_exists_or_not(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            model = structs.replace(ask, token=MODEL_OF_ANN, base="/v1/agents/other")
            await value_of(model("POST", "/remember", TEA))
            replies = [
                (await structs.replace(ask, base=f"/v1/agents/{agent}")(method, path, body)).content
                for agent in ("other", "none")
                for method, path, body in (("GET", "/blocks", None), ("POST", "/remember", TEA),
                                           ("POST", "/mcp", {}), ("GET", "/no", None))
            ]  # fmt: skip
            assert dict.fromkeys(replies) == {replies[0]: None}
            assert json.loads(replies[0])["error"] == "Forbidden"
            for body in ({**TEA, "user": "bob"}, {**TEA, "user": "zoe"}, {**TEA, "user": "ann"}):
                assert (await value_of(ask("POST", "/remember", body), 403))["error"] == "Forbidden"
            assert (await ask("GET", "/blocks?user=bob")).status_code == 403
            assert count_rows(tmp_path / "a.db")["entity"] == 1

    run(live)


SYSTEM: Final = ("system", "System", " SYSTEM", "ｓｙｓｔｅｍ", "sys\u200btem", "s-y-s-t-e-m")


def test_no_model_writes_the_system_block_by_any_door(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            await value_of(ask("POST", "/blocks", {"label": "System", "value": "You are Umi."}))
            before = (await ask("GET", "/blocks")).content
            model = structs.replace(ask, token=MODEL_OF_ANN)
            for name in SYSTEM:
                for client, method, path, body in (
                    (model, "PATCH", f"/blocks/{name}", {"value": "evil"}),
                    (model, "DELETE", f"/blocks/{name}", None),
                    (model, "POST", "/blocks", {"label": name, "value": "evil", "kind": "system"}),
                    (model, "PATCH", f"/blocks/{name}", {"value": "evil", "author": "user"}),
                    (ask, "POST", "/tools/core_memory_append", {"label": name, "content": "evil"}),
                    (ask, "POST", "/tools/core_memory_replace",
                     {"label": name, "old_content": "Umi", "new_content": "evil"}),
                ):  # fmt: skip
                    response = await client(method, path, body, headers={"x-author": "user"})
                    assert response.status_code in (400, 403, 404, 409, 422), response.text
            for name in SYSTEM:
                arguments = {"kind": name, "text": "evil", "label": "System", "author": "user"}
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": "set_block", "arguments": arguments}}  # fmt: skip
                reply = await value_of(ask("POST", "/mcp", message, headers=MCP))
                assert reply["result"]["isError"] is True
            assert (await ask("GET", "/blocks")).content == before

    run(live)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_speaks_mcp_over_http_for_the_user_of_its_token(mode: str, tmp_path: Path) -> None:
    async def live() -> None:
        async with make_server(tmp_path / "a.db") as server:

            def connect(token: str) -> Client:
                http = httpx2.AsyncClient(
                    transport=httpx2.ASGITransport(app=server), headers={"authorization": f"Bearer {token}"}
                )
                return Client(streamable_http_client(f"http://x{AGENT}/mcp", http_client=http), mode=mode)

            async with connect(ANN) as ann, connect(BOB) as bob:
                results = await asyncio.gather(
                    ann.call_tool("remember", {"text": "Tom likes marzipan."}),
                    bob.call_tool("remember", {"text": "Tom likes bergamot."}),
                )
                assert not any(it.is_error for it in results)
                for client, own, foreign in ((ann, "marzipan", "bergamot"), (bob, "bergamot", "marzipan")):
                    found = str((await client.call_tool("recall", {"query": "Tom"})).structured_content)
                    assert (own in found, foreign in found) == (True, False)
                refused = await ann.call_tool("remember", {"text": " "})
                assert (refused.is_error, "text is empty" in str(refused.content)) == (True, True)

    run(live)


def test_the_path_of_the_file_is_not_shown_to_a_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither over HTTP nor by a tool; the log has it, and the file is used again once it can be."""

    async def live() -> None:
        path = tmp_path / "a.db"
        async with asking(path) as ask:
            path.write_text("no database" * 99)
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "blocks", "arguments": {}},
            }
            for where, body in (("/remember", TEA), ("/mcp", call)):
                reply = await value_of(ask("POST", where, body), 503)
                assert reply["error"] == "StoreError"
                assert "a.db" not in str(reply)
            assert str(path) in caplog.text
            path.unlink()
            await value_of(ask("POST", "/remember", TEA))

    run(live)


# Limits.


def test_a_request_that_is_out_of_time_ends_without_a_change(tmp_path: Path) -> None:
    async def live() -> None:
        model = HeldModel()
        async with asking(tmp_path / "a.db", model=model) as ask:
            key = {"idempotency-key": "k"}
            with ending_limits(QUICK.seconds, model.asked.wait):
                reply = await value_of(ask("POST", "/remember", TEA, headers=key), 503)
                sentence = "not done within 30 seconds; nothing was changed"
                assert reply == {"error": "TimedOut", "detail": f"remember: {sentence}"}
                model.asked.clear()
                tool = await value_of(ask("POST", "/mcp", call_remember("Tom likes jam."), headers=MCP))
            assert (tool["result"]["isError"], sentence in str(tool["result"]["content"])) == (True, True)
            model.let_go.set()
            again = await value_of(ask("POST", "/remember", TEA, headers=key))
            assert (again["repeated"], len(again["facts"])) == (False, 1)
            assert count_rows(tmp_path / "a.db").get("entity") == 1

    run(live)


def in_thread(wait: Callable[[], object]) -> Callable[[], Awaitable[object]]:
    return lambda: asyncio.to_thread(wait)


def call_remember(text: str) -> dict[str, Any]:
    params = {"name": "remember", "arguments": {"text": text}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_a_request_whose_commit_takes_too_long_may_be_done_and_is_once(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            async with ask.server.pool.use("ann", "helper") as memory:
                await memory.count()
            assert memory.store is not None
            key = {"idempotency-key": "k"}
            with holding_commits(memory.store) as began, ending_limits(QUICK.seconds, in_thread(began.wait)):
                reply = await value_of(ask("POST", "/remember", TEA, headers=key), 504)
                assert "it may be done yet: ask again with the same idempotency-key" in reply["detail"]
            with holding_commits(memory.store) as began, ending_limits(QUICK.seconds, in_thread(began.wait)):
                tool = await value_of(ask("POST", "/mcp", call_remember("Tom likes jam."), headers=MCP))
                assert "it may be done yet: look for it before you ask again" in str(tool["result"])
            again = await value_of(ask("POST", "/remember", TEA, headers=key))
            assert (again["repeated"], len(again["facts"])) == (True, 1)
            assert count_rows(tmp_path / "a.db").get("entity") == 2

    run(live)


def test_a_user_who_asks_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db", limits=structs.replace(QUICK, rate=0.001)) as ask:
            await value_of(ask("GET", "/blocks"))
            refused = await ask("GET", "/blocks")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1000")
            assert (await structs.replace(ask, token=MODEL_OF_ANN)("GET", "/blocks")).status_code == 429
            await value_of(structs.replace(ask, token=BOB)("GET", "/blocks"))

    run(live)


def test_a_user_has_only_so_many_requests_at_a_time(tmp_path: Path) -> None:
    async def live() -> None:
        model = HeldModel()
        limits = structs.replace(QUICK, concurrent=1)
        async with asking(tmp_path / "a.db", model=model, limits=limits) as ask:
            first = asyncio.create_task(ask("POST", "/remember", TEA))
            await model.asked.wait()
            refused = await ask("GET", "/blocks")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            await value_of(structs.replace(ask, token=BOB)("GET", "/blocks"))
            model.let_go.set()
            assert (await first).status_code == 200
            await value_of(ask("GET", "/blocks"))

    run(live)


def test_memories_that_were_asked_long_ago_are_closed(tmp_path: Path) -> None:
    async def live() -> None:
        async with make_server(tmp_path / "a.db", limits=structs.replace(QUICK, memories=2)) as server:
            pool = server.pool
            for agent in "abca":
                async with pool.use("bob", agent) as memory:
                    await memory.remember(f"Tom likes {agent}.")
            while pool.closing:
                await asyncio.wait(list(pool.closing))
            assert [agent for _, agent in pool.memories] == ["c", "a"]

            async def ask(number: int) -> int:
                async with pool.use("bob", "abc"[number % 3]) as memory:
                    return await memory.count()

            # More memories than stay open, each opened and closed again and again while others wait for it.
            assert set(await asyncio.gather(*map(ask, range(60)))) <= {1, 2}

    run(live)


def test_a_memory_that_broke_is_opened_anew(tmp_path: Path) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            await value_of(ask("POST", "/remember", TEA))
            memory = ask.server.pool.memories["ann", "helper"].memory
            assert memory is not None
            assert memory.host is not None
            memory.host.break_off(StoreError("changed"))
            assert (await value_of(ask("POST", "/recall", {"query": "tea"})))["hits"]

    run(live)


def test_a_bug_is_logged_and_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:

            async def fail(*_: object) -> None:
                raise ZeroDivisionError("secret")

            monkeypatch.setattr("umi_live.memory.LiveMemory.drive", fail)
            reply = await value_of(ask("POST", "/remember", TEA), 500)
            assert reply == {"error": "Bug", "detail": "a bug; the log of the server has it"}
            assert "ZeroDivisionError: secret" in caplog.text

    run(live)


def test_the_log_has_no_token_and_no_contents(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def live() -> None:
        async with asking(tmp_path / "a.db") as ask:
            await ask("POST", "/remember", {"text": "Ann likes marzipan."})
            await ask("GET", "/archival?q=marzipan")
            await ask("GET", "/blocks/marzipan")
            await ask("MARZIPAN", "/blocks")
            await ask("GET", "/marzipan")

    caplog.set_level(logging.INFO, logger="umi_live.serve")
    run(live)
    lines = [record.getMessage() for record in caplog.records if record.name == "umi_live.serve"]
    assert [line.rsplit(" ", 2)[0] for line in lines] == [
        "ann POST remember 200", "ann GET archival 200", "ann GET blocks/* 404", "ann - blocks 405",
        "ann GET - 404",
    ]  # fmt: skip


# Who may ask.


def test_without_tokens_only_this_machine_is_served(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::"):
        with pytest.raises(LiveError, match="without --tokens only localhost"):
            listen(host, 0, False)
    with listen("0.0.0.0", 0, True), listen("127.0.0.1", 0, False):
        pass

    async def live() -> None:
        async with asking(tmp_path / "a.db", tokens=None) as ask:
            ask = structs.replace(ask, token=None)
            for host in ("localhost", "localhost:8765", "127.0.0.1:1", "[::1]:8765", "LOCALHOST"):
                await value_of(ask("GET", "/blocks", headers={"host": host}))
            for host in (
                "evil.example",
                "localhost.evil.example",
                "127.0.0.1.evil.example:80",
                "",
                "10.0.0.1",
            ):
                assert (await ask("GET", "/blocks", headers={"host": host})).status_code == 421
            await value_of(ask("GET", "/blocks", headers={"origin": "http://localhost"}))
            for headers in (
                {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://localhost:1"},
                {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
            ):  # fmt: skip
                assert (await ask("POST", "/remember", TEA, headers=headers)).status_code == 403

    run(live)
    assert "entity" not in count_rows(tmp_path / "a.db")


def test_a_token_is_found_by_its_hash_among_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokens.toml"
    callers = [Caller("ann", ("helper", 'a"b\\'), "user"), Caller("bob"), Caller("zoë 😀")]
    tokens = [make_token() for _ in callers]
    for caller, token in zip(callers, tokens, strict=True):
        append_token(str(path), caller.write_line(token))
    assert path.stat().st_mode & 0o777 == 0o600
    table = read_tokens(str(path))
    compared: list[str] = []

    def compare(given: str, known: str) -> bool:
        compared.append(known)
        return secrets.compare_digest(given, known)

    monkeypatch.setattr("umi_live.access.hmac.compare_digest", compare)
    assert [table.find(token) for token in tokens] == callers
    assert len(compared) == len(tokens) ** 2
    assert not any(token in path.read_text() for token in tokens)
    assert table.find("x") is None


HASH: Final = "0" * 64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no token"), ("[", "is no TOML"), ("\x00", "is no TOML"),
        ('x = { user = "ann" }', "is no SHA-256"),
        (f'"{HASH}" = 1', "needs user"), (f'"{HASH}" = {{ }}', "needs user"),
        (f'"{HASH}" = {{ user = "a", admin = true }}', "nothing else"),
        (f'"{HASH}" = {{ user = "" }}', "expected 1 to 128 bytes"),
        (f'"{HASH}" = {{ user = 1 }}', "expected 1 to 128 bytes"),
        (f'"{HASH}" = {{ user = "a", agents = "b" }}', "no list"),
        (f'"{HASH}" = {{ user = "a", agents = [1] }}', "expected 1 to 128 bytes"),
        (f'"{HASH}" = {{ user = "a", author = "root" }}', "expected user or model"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_tokens_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(LiveError, match=message):
        TokenFile(str(path))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_file_of_tokens_that_others_may_use_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    append_token(str(path), Caller("ann").write_line(make_token()))
    path.chmod(mode)
    for use in (lambda: read_tokens(str(path)), lambda: append_token(str(path), "")):
        with pytest.raises(LiveError, match=f"run `chmod 600 {path}`"):
            use()


def test_a_file_of_tokens_that_changes_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, ann, bob = tmp_path / "tokens.toml", make_token(), make_token()
    now_s = 100.0
    monkeypatch.setattr("umi_live.access.time.monotonic", lambda: now_s)
    append_token(str(path), Caller("ann").write_line(ann))
    of_ann = path.read_text()
    tokens = TokenFile(str(path))
    append_token(str(path), Caller("bob").write_line(bob))
    of_both = path.read_text()

    def find() -> list[bool]:
        return [tokens.find(token) is not None for token in (ann, bob)]

    assert find() == [True, False]  # it was looked at just now
    now_s += 1
    assert find() == [True, True]
    for wrong, message in (("[", "is no TOML"), (None, "No such file"), ("mode", "run `chmod 600")):
        caplog.clear()
        path.unlink(missing_ok=True)
        if wrong is not None:
            path.write_text(wrong if wrong == "[" else of_ann)
            path.chmod(0o600 if wrong == "[" else 0o640)
        for _ in range(3):
            now_s += 1
            assert find() == [True, True]
        [line] = caplog.messages
        assert line.startswith("the tokens were not read again, and the earlier ones stay valid: ")
        assert (str(path) in line, message in line, line.count("\n")) == (True, True, 0)
    path.write_text(of_both.replace(of_ann, ""))
    path.chmod(0o600)
    tokens.refresh()  # at once
    assert find() == [False, True]
    path.write_text("")
    now_s += 1
    assert find() == [False, False]


# The command.


def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["umi-live", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    return int(ended.value.code or 0), output.out, output.err


def test_what_cannot_be_served_is_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    serve = ("serve", "--db", "a.db", "--port", "0")
    for words, message in (
        ((*serve, "--host", "0.0.0.0"), "is not this machine alone"),
        ((*serve, "--tokens", "none"), "none: No such"),
        ((*serve, "--user", ""), "expected 1 to 128 bytes"), ((*serve, "--rate", "0"), "--rate"),
        ((*serve, "--host", "no such host"), "no such host:0: "), (("token", ""), "expected 1 to 128 bytes"),
    ):  # fmt: skip
        status, out, err = command(monkeypatch, capsys, *words)
        assert (status, out, err.count("\n"), message in err) == (2, "", 1, True), err
    status, out, err = command(monkeypatch, capsys, "token", "ann", "--agent", "a", "--author", "user")
    assert (status, len(out.splitlines()), 'author = "user"' in out, err) == (0, 2, True, "")
    status, out, err = command(monkeypatch, capsys, "token", "ann", "--tokens", "t.toml")
    found = read_tokens("t.toml").find(out.strip())
    assert (status, found, err) == (0, Caller("ann"), "")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "umi_live.serve")
    status, out, err = command(monkeypatch, capsys, *serve)
    assert (status, err) == (2, "umi-live: uvicorn is not installed: pip install 'umi-sim[serve]'\n")


async def is_open(url: str) -> bool:
    """Check whether a new connection is taken."""
    host, _, port = url.removeprefix("http://").partition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except ConnectionError:
        return False
    writer.close()
    return True


@pytest.mark.slow
def test_a_token_that_is_revoked_is_soon_accepted_no_more(tmp_path: Path) -> None:
    path, ann, bob = tmp_path / "tokens.toml", make_token(), make_token()
    for user, token in (("ann", ann), ("bob", bob)):
        append_token(str(path), Caller(user).write_line(token))
    words = [sys.executable, "-m", "umi_live", "serve", "--db", str(tmp_path / "a.db"), "--port", "0"]

    async def live() -> None:
        process = await asyncio.create_subprocess_exec(
            *words, "--tokens", str(path), "--rate", "1000", stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            await use(process)
        finally:
            if process.returncode is None:
                process.kill()

    async def use(process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        url = line.split("served at ")[1].split(";")[0]
        async with httpx.AsyncClient(base_url=url + AGENT, timeout=60) as http:

            async def ask(token: str) -> int:
                headers = {"authorization": f"Bearer {token}"}
                return (await http.get("/blocks", headers=headers)).status_code

            assert [await ask(ann), await ask(bob)] == [200, 200]
            lines = path.read_text().splitlines(keepends=True)
            path.write_text(lines[1])
            changed_s = time.monotonic()
            while await ask(ann) == 200:
                assert time.monotonic() - changed_s < 2  # one, and a busy machine
            assert await ask(bob) == 200
            path.write_text("[")
            process.send_signal(signal.SIGHUP)
            while "not read again" not in (log := (await process.stderr.readline()).decode()):
                assert log  # empty at its end
            assert ("ERROR" in log, str(path) in log, await ask(bob)) == (True, True, 200)
        process.send_signal(signal.SIGTERM)
        rest = (await process.stderr.read()).decode()
        assert (await process.wait(), "Traceback" in rest) == (0, False), rest

    run(live)


@pytest.mark.slow
def test_a_server_that_is_asked_to_end_finishes_what_it_has_begun(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "umi_live", "serve", "--db", str(tmp_path / "a.db"), "--port", "0"]

    async def live() -> None:
        asked, let_go = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            asked.set()
            await let_go.wait()

        async with serving(lambda: "", hold) as model:
            process = await asyncio.create_subprocess_exec(
                *words, "--model", f"{model}#rules", stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            assert process.stderr is not None
            line = (await process.stderr.readline()).decode()
            url = line.split("served at ")[1].split(";")[0]
            async with httpx.AsyncClient(base_url=url + AGENT, timeout=60) as http:
                first = asyncio.create_task(http.post("/remember", json=TEA))
                await asked.wait()
                process.send_signal(signal.SIGTERM)
                while await is_open(url):
                    await asyncio.sleep(0.01)
                let_go.set()
                assert (await first).status_code == 200
            rest = (await process.stderr.read()).decode()
            assert (await process.wait(), "Traceback" in rest) == (0, False), rest
        async with open_memory(tmp_path / "a.db", user="me", agent="helper") as memory:
            assert await memory.count() == 1

    run(live)

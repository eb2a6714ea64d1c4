"""Goal: what models took is in each result, in the sum and in a span; Anthropic's API is spoken."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("httpx", reason="the extra `live` is not installed")

from umi_live import LiveError, ServiceFailed, Usage, open_memory, report_usage
from umi_live.anthropic import AnthropicModel, as_block, text_of_blocks
from umi_live.command import MemoryOptions
from umi_live.local import RuleModel
from umi_live.openai import ChatModel
from umi_live.usage import NO_USAGE

TOLD = "Ann is allergic to peanuts. Ben lives in Rome."


class CountingModel(RuleModel):
    """A model of the user's own, which reports what it used."""

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        report_usage(len(prompt.split()), 5, 0.25)
        return await super().ask(task, prompt, timeout_ms)


@asynccontextmanager
async def endpoint(*answers: Any) -> AsyncIterator[tuple[str, list[Any]]]:
    """Serve these answers, one after the other, and give the address and what was asked."""
    asked, pending = list[Any](), list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        asked.append((head, json.loads(await reader.readexactly(length))))
        status, answer = answer if isinstance(answer := pending.pop(0), tuple) else (200, answer)
        body = json.dumps(answer).encode()
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        )
        writer.write(body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1#m", asked


def chat(text: str, **usage: Any) -> Any:
    return {"choices": [{"finish_reason": "stop", "message": {"content": text}}], "usage": usage}


def blocks(*content: Any, stop: str = "end_turn", **usage: Any) -> Any:
    return {"type": "message", "content": [*content], "stop_reason": stop, "usage": usage}


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def test_a_result_has_what_its_request_used_and_the_memory_has_the_sum(tmp_path: Path) -> None:
    async def use() -> None:
        memory = open_memory(tmp_path / "a.db", user="ann", agent="bot", model=CountingModel())
        assert memory.usage == NO_USAGE
        async with memory:
            usage = (await memory.remember(TOLD)).usage
            asked = (await memory.recall("What is Ann allergic to?")).usage
            block = (await memory.set_block("scratch", "x")).usage
            assert usage.call_count >= 1
            assert usage.output_tokens == 5 * usage.call_count
            assert usage.cost_usd == 0.25 * usage.call_count
            assert block == NO_USAGE
            assert memory.usage == usage + asked
        async with memory:
            await memory.remember("Cy likes tea.")
        assert memory.usage.call_count > (usage + asked).call_count

    asyncio.run(use())


def test_two_requests_at_a_time_have_what_each_of_them_used(tmp_path: Path) -> None:
    async def use() -> None:
        memory = open_memory(tmp_path / "a.db", user="ann", agent="bot", model=CountingModel())
        async with memory:
            long, short = await asyncio.gather(memory.remember(TOLD * 9), memory.remember("Cy likes tea."))
            assert long.usage.input_tokens > short.usage.input_tokens > 0
            assert memory.usage == long.usage + short.usage
            assert memory.host is not None
            assert not memory.host.used

    asyncio.run(use())


def test_a_command_tells_what_it_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.db")

    def make_memory(*given: Any) -> Any:
        return open_memory(path, user="ann", agent="bot", model=CountingModel())

    async def remember(memory: Any) -> None:
        await memory.remember("Ann likes tea.")

    monkeypatch.setattr(MemoryOptions, "make_memory", make_memory)
    asyncio.run(MemoryOptions(path, "ann", "bot").work(remember))
    assert capsys.readouterr().err.startswith("umi-live: models: 1 call, ")


def test_outside_of_a_call_nothing_is_reported() -> None:
    report_usage(1, 2)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 1_000, "completion_tokens": 200}, (1_000, 200)),
        ({"prompt_tokens": "many", "completion_tokens": True}, (0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": 1}, (0, 1)),
        ({}, (0, 0)),
    ],
)
def test_an_endpoint_tells_its_tokens_and_prices_make_a_cost(
    usage: dict[str, Any], counts: tuple[int, int], tmp_path: Path
) -> None:
    async def use() -> Usage:
        async with endpoint(chat("<content>A dog.</content>", **usage)) as (url, _):
            model = ChatModel(url, prices=(2.0, 10.0))
            async with open_memory(tmp_path / "a.db", user="ann", agent="bot", model=model) as memory:
                with_usage = await memory.memorize("data:image/png;base64,AAAA", modality="image")
                return with_usage.usage

    used = asyncio.run(use())
    assert (used.input_tokens, used.output_tokens) == counts
    assert used.cost_usd == pytest.approx((2 * counts[0] + 10 * counts[1]) / 1_000_000)


def test_parameters_go_into_each_request_and_none_leaves_one_out() -> None:
    async def use() -> Any:
        async with endpoint(chat("yes"), chat("yes")) as (url, asked):
            for parameters in ({"temperature": None, "reasoning_effort": "low"}, {}):
                model = ChatModel(url, "key", parameters=parameters)
                assert await model.ask("own", "p", 2_000) == "yes"
                await model.close()
            return [body for _, body in asked]

    messages = [{"role": "user", "content": "p"}]
    assert asyncio.run(use()) == [
        {"reasoning_effort": "low", "model": "m", "messages": messages},
        {"temperature": 0, "model": "m", "messages": messages},
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stream": True}, "stream is the memory's own"),
        ({"seed": {1}}, "no JSON"),
        ({"top_p": float("nan")}, "no JSON"),
    ],
)
def test_wrong_parameters_are_refused(parameters: Any, message: str) -> None:
    with pytest.raises(LiveError, match=message):
        ChatModel("http://h/v1#m", parameters=parameters)


def test_anthropic_is_asked_as_its_api_wants(tmp_path: Path) -> None:
    async def use() -> None:
        answer = blocks({"type": "thinking", "thinking": "Hm."}, text("ye"), text("s"), input_tokens=7,
                      cache_read_input_tokens=100, output_tokens=3)  # fmt: skip
        async with endpoint(answer) as (url, asked):
            memory = open_memory(
                tmp_path / "a.db", user="ann", agent="bot", model=f"anthropic+{url}", key="secret"
            )
            assert isinstance(memory.model, AnthropicModel)
            assert await memory.model.ask("own", "p", 2_000) == "yes"
            await memory.model.close()
            ((head, body),) = asked
            assert head.startswith("POST /v1/messages ")
            assert "x-api-key: secret" in head.lower()
            assert "anthropic-version: 2023-06-01" in head.lower()
            assert "authorization" not in head.lower()
            assert body == {"max_tokens": 16_000, "temperature": 0, "model": "m",
                            "messages": [{"role": "user", "content": "p"}]}  # fmt: skip

    asyncio.run(use())


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (blocks(text("half"), stop="max_tokens"), "too_long"),
        (blocks(text(""), stop="refusal"), "refused"),
        (blocks(), "unavailable"),
        (blocks(text(" ")), "unavailable"),
        (blocks({"type": "text"}), "unavailable"),
        ({"content": "yes"}, "unavailable"),
        ([], "unavailable"),
        ((400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}), "too_long"),
        ((529, {"error": {"type": "overloaded_error"}}), "unavailable"),
        ((401, {}), "refused"),
    ],
)
def test_what_anthropic_answers_otherwise_is_a_failure(answer: Any, kind: str) -> None:
    async def use() -> None:
        async with endpoint(answer) as (url, _):
            model = AnthropicModel(url)
            with pytest.raises(ServiceFailed) as failed:
                await model.ask("own", "p", 2_000)
            assert failed.value.kind == kind
            await model.close()

    asyncio.run(use())


def test_an_image_is_a_block_of_its_kind_and_a_sound_is_not_sent() -> None:
    embedded: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/PNG;base64,AAAA"}}
    fetched: dict[str, Any] = {"type": "image_url", "image_url": {"url": "https://h/a.png"}}
    assert as_block(embedded)["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert as_block(fetched)["source"] == {"type": "url", "url": "https://h/a.png"}
    with pytest.raises(ServiceFailed):
        as_block({"type": "input_audio", "input_audio": {}})
    assert text_of_blocks(blocks(text("a"), text("b"))) == "ab"


def test_each_call_is_a_span_where_opentelemetry_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans: list[dict[str, Any]] = []

    class Span(dict[str, Any]):
        set_attribute = dict.__setitem__

    class Tracer:
        @contextmanager
        def start_as_current_span(self, name: str, attributes: dict[str, Any]) -> Iterator[Span]:
            span = Span(name=name, **attributes)
            spans.append(span)
            yield span

    package, trace = ModuleType("opentelemetry"), ModuleType("opentelemetry.trace")
    trace.get_tracer = lambda name: Tracer()  # type: ignore[attr-defined]
    package.trace = trace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "opentelemetry", package)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", trace)
    monkeypatch.setattr("umi_live.usage.find_spec", lambda name: package)

    async def use() -> None:
        async with endpoint(blocks(text("no"), stop="refusal", input_tokens=4)) as (url, _):
            model = AnthropicModel(url)
            async with open_memory(tmp_path / "a.db", user="ann", agent="bot", model=model) as memory:
                found = await memory.memorize("data:image/png;base64,AAAA", modality="image")
                assert found.degraded

    asyncio.run(use())
    assert spans[0] == {
        "name": "chat m", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 4, "gen_ai.usage.output_tokens": 0, "error.type": "refused",
    }  # fmt: skip

"""Goal: a session of the OpenAI Agents SDK is what its protocol says, on disk."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("agents", reason="the extra `openai-agents` is not installed")

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.memory import Session, SessionSettings
from openai.types.responses import ResponseOutputMessage

from umi_live import open_blocking, open_memory
from umi_live.integrations.openai_agents import UmiSession


def make_item(text: str) -> Any:
    return {"role": "user", "content": text}


def test_items_come_back_in_order_and_the_last_one_can_be_taken_out(tmp_path: Path) -> None:
    async def work() -> None:
        async with open_memory(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            session, other = UmiSession("1", memory), UmiSession("2", memory)
            assert isinstance(session, Session)
            assert await session.pop_item() is None
            await session.add_items([])
            await session.add_items([make_item("a"), make_item("b")])
            await other.add_items([make_item("other")])
            await UmiSession("1", memory).add_items([make_item("c")])
            assert await session.get_items() == [make_item(it) for it in "abc"]
            assert await session.get_items(2) == [make_item("b"), make_item("c")]
            assert await session.get_items(0) == []
            limited = UmiSession("1", memory, SessionSettings(limit=1))
            assert await limited.get_items() == [make_item("c")]
            assert [await session.pop_item(), await session.pop_item()] == [make_item("c"), make_item("b")]
            assert await session.get_items() == [make_item("a")]
            await session.clear_session()
            assert (await session.get_items(), await other.get_items()) == ([], [make_item("other")])

    asyncio.run(work())


SEEN = list[Any]()


class Hello(Model):  # type: ignore[misc]  # it is not looked at
    """Says hello, and notes what it was shown."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        SEEN.append([it["content"] for it in input])
        part = {"type": "output_text", "text": "Hello.", "annotations": []}
        message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
        reply = ResponseOutputMessage.model_validate(message | {"content": [part]})
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def make_agent() -> Any:
    set_tracing_disabled(True)
    return Agent(name="helper", model=Hello())


def test_a_run_of_an_agent_knows_the_turns_of_an_earlier_process(tmp_path: Path) -> None:
    SEEN.clear()
    for text in ("Hi, I am Ann.", "Who am I?"):
        with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            asyncio.run(Runner.run(make_agent(), text, session=UmiSession("1", memory)))
    assert SEEN[0] == ["Hi, I am Ann."]
    assert (SEEN[1][0], SEEN[1][1][0]["text"], SEEN[1][2]) == ("Hi, I am Ann.", "Hello.", "Who am I?")

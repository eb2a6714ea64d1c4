"""Goal: a conversation of Pydantic AI goes on in the next process, also if its run was cancelled."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from umi_live import open_blocking, open_memory
from umi_live.integrations import records
from umi_live.integrations.pydantic_ai import UmiHistory


def answer(messages: Any, info: Any) -> Any:
    if "weather" in str(messages[-1].parts[-1].content) and not isinstance(
        messages[-1].parts[-1], ToolReturnPart
    ):
        return ModelResponse(parts=[ToolCallPart("weather", {"city": "Bern"})])
    return ModelResponse(parts=[TextPart(f"message {len(messages)}")])


async def talk(path: Path, prompt: str, seconds: float = 60.0) -> list[Any]:
    """Return the messages that are kept after a run, which is cancelled after so many seconds in its tool."""
    agent = Agent(FunctionModel(answer))
    in_tool = asyncio.Event()

    @agent.tool_plain  # type: ignore[untyped-decorator]  # it is not looked at
    async def weather(city: str) -> str:
        in_tool.set()
        await asyncio.sleep(seconds)
        return "sunny"

    async with open_memory(path / "agent.db", user="ann", agent="helper") as memory:
        history = UmiHistory("1", memory)

        async def run() -> None:
            with capture_run_messages() as messages:
                try:
                    await agent.run(prompt, message_history=await history.load())
                finally:
                    await history.save(messages)

        task = asyncio.ensure_future(run())
        await asyncio.wait([task, asyncio.ensure_future(in_tool.wait())], return_when=asyncio.FIRST_COMPLETED)
        if seconds:
            task.cancel()
        await asyncio.wait([task])
        for other in asyncio.all_tasks() - {asyncio.current_task()}:
            other.cancel()
        return await history.load()


def test_a_cancelled_run_is_continued_in_the_next_process(tmp_path: Path) -> None:
    first = asyncio.run(talk(tmp_path, "How is the weather?"))
    kinds = [type(part).__name__ for message in first for part in message.parts]
    assert kinds == ["UserPromptPart", "ToolCallPart", "ToolReturnPart"]  # the last one says that none came
    second = asyncio.run(talk(tmp_path, "Hello.", seconds=0))
    assert second[-1].parts[0].content == "message 3"
    assert second[0] == first[0]


def test_a_run_that_goes_on_adds_what_is_new_and_another_history_takes_its_place(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        history, agent = UmiHistory("1", memory), Agent(FunctionModel(answer))
        for prompt in ("Hello.", "And now?"):
            result = asyncio.run(agent.run(prompt, message_history=history.load_sync()))
            history.save_sync(result.all_messages())
        assert history.load_sync() == result.all_messages()
        stored = memory.run(records.read_logs(memory.memory, history.tags[0]))[history.tags[0]]
        assert [len(it.value) for it in stored] == [2, 2]
        history.save_sync(result.new_messages())
        assert history.load_sync() == result.new_messages()
        history.clear_sync()
        assert history.load_sync() == []

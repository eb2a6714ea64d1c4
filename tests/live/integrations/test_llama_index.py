"""Goal: a memory of LlamaIndex has each message of its chat, in the next process too."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("llama_index.core", reason="the extra `llama-index` is not installed")

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM

from umi_live import open_blocking, open_memory
from umi_live.integrations.llama_index import UmiMemory

HELLO, BYE = ChatMessage(role="user", content="Hello."), ChatMessage(role="assistant", content="Bye.")


def test_a_chat_goes_on_in_the_next_process(tmp_path: Path) -> None:
    for text in ("Hello.", "Bye."):
        with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            kept = UmiMemory.from_defaults(memory=memory, session_id="1")
            SimpleChatEngine.from_defaults(llm=MockLLM(), memory=kept).chat(text)
            contents = [it.content for it in kept.get_all() if it.role == "user"]
    assert contents == ["Hello.", "Bye."]


def test_messages_are_added_replaced_and_removed(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        kept, other = UmiMemory(memory=memory, session_id="1"), UmiMemory(memory=memory, session_id="2")
        kept.put(HELLO)
        kept.put_messages([])
        kept.put_messages([BYE, HELLO])
        other.put(BYE)
        assert kept.get("any question") == [HELLO, BYE, HELLO]
        kept.set([BYE])
        assert (kept.get_all(), other.get_all()) == ([BYE], [BYE])
        kept.reset()
        assert (kept.get_all(), other.get_all()) == ([], [BYE])
        assert kept.model_dump() == {"class_name": "UmiMemory", "session_id": "1"}


def test_the_asynchronous_methods_do_the_same(tmp_path: Path) -> None:
    async def work() -> None:
        async with open_memory(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            kept = UmiMemory(memory=memory, session_id="1")
            await kept.aput(HELLO)
            await kept.aput_messages([BYE])
            assert await kept.aget() == await kept.aget_all() == [HELLO, BYE]
            await kept.aset([BYE])
            assert await kept.aget() == [BYE]
            await kept.areset()
            assert await kept.aget() == []

    asyncio.run(work())

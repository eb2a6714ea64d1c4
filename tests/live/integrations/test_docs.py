"""Goal: the snippets of docs/hosting.md for frameworks run as they are."""

import ast
import asyncio
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import open_blocking, open_memory

PAGE = (Path(__file__).parents[3] / "docs" / "hosting.md").read_text()
SECTION = PAGE.partition("## In your framework\n")[2].partition("\n## ")[0]
SNIPPETS = re.findall(r"^```python\n(.*?)^```", SECTION, re.M | re.S)


def prepare_langgraph() -> dict[str, Any]:
    graphs = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
    builder = graphs.StateGraph(dict)
    builder.add_node("answer", lambda state: {"text": "Hi."})
    builder.set_entry_point("answer")
    return {"builder": builder}


def prepare_openai_agents() -> dict[str, Any]:
    agents = pytest.importorskip("agents", reason="the extra `openai-agents` is not installed")
    from tests.live.integrations.test_openai_agents import make_agent

    return {"Runner": agents.Runner, "agent": make_agent()}


def prepare_pydantic_ai() -> dict[str, Any]:
    ai = pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")
    models = importlib.import_module("pydantic_ai.models.test")
    return {"agent": ai.Agent(models.TestModel()), "capture_run_messages": ai.capture_run_messages}


def prepare_llama_index() -> dict[str, Any]:
    engines = pytest.importorskip(
        "llama_index.core.chat_engine", reason="the extra `llama-index` is not installed"
    )
    llms = importlib.import_module("llama_index.core.llms")
    return {"SimpleChatEngine": engines.SimpleChatEngine, "llm": llms.MockLLM()}


PREPARE = {
    "langgraph_store": prepare_langgraph,
    "openai_agents": prepare_openai_agents,
    "pydantic_ai": prepare_pydantic_ai,
    "llama_index": prepare_llama_index,
}


def test_each_framework_has_a_snippet() -> None:
    assert [name for name in PREPARE if sum(f"integrations.{name} " in it for it in SNIPPETS) != 1] == []
    assert len(SNIPPETS) == len(PREPARE)


@pytest.mark.parametrize("name", PREPARE)
def test_a_snippet_runs_twice_and_keeps_its_turns(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = PREPARE[name]() | {"open_memory": open_memory, "open_blocking": open_blocking}
    monkeypatch.chdir(tmp_path)
    [snippet] = [it for it in SNIPPETS if f"integrations.{name} " in it]
    code = compile(snippet, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    counts = list[int]()
    for _ in range(2):
        work = eval(code, own)
        if work is not None:
            asyncio.run(work)
        with open_blocking("agent.db", user="ann", agent="helper") as memory:
            counts.append(len(memory.run(list_all(memory.memory))))
    assert 0 < counts[0] < counts[1]


async def list_all(memory: Any) -> list[Any]:
    from umi_core.kelpie.requests import ListArchival

    return list((await memory.ask(ListArchival(0, 100), object)).value.records)

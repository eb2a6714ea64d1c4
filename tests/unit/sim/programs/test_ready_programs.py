"""Goal: the ready adapters run, where their packages are installed, and are as short as documented."""

import sys
from pathlib import Path

import pytest

from umi_sim.cli.program import load_program
from umi_sim.kernel.folders import PROJECT
from umi_sim.programs.search import explore

FOLDER = PROJECT / "examples" / "programs"
LINES_MAX = 40
READY = {
    "httpx_client:main": ("httpx", {"continues"}),
    "mcp_streams:main": ("mcp", set[str]()),
    "pydantic_ai_agent:main": ("pydantic_ai", {"continues", "leaks_no_task"}),
    "pydantic_ai_agent:repaired": ("pydantic_ai", set()),
    "langgraph_agent:main": ("langgraph", {"continues"}),
    "openai_agents_session:main": ("agents", set()),
    "aioitertools_streams:main": ("aioitertools", {"ends_when_cancelled"}),
    "async_lru_cache:main": ("async_lru", {"continues"}),
    "fsspec_removal:main": ("fsspec", {"leaks_no_task"}),
    "langchain_parallel:main": ("langchain_core", {"leaks_no_task"}),
    "langchain_parallel:batch": ("langchain_core", {"leaks_no_task"}),
    "tenacity_retry:main": ("tenacity", {"ends_when_cancelled"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_an_adapter_finds_what_the_docs_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, rules = READY[name]
    pytest.importorskip(package)
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = explore(load_program(name), drawn=0)
    assert {each.broken.rule for each in found.findings} == rules
    assert found.is_complete


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[!s]*.py")), ids=lambda path: path.name)
def test_an_adapter_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES_MAX


def test_each_adapter_is_run() -> None:
    adapters = {path.stem for path in FOLDER.glob("[!s]*.py")}
    assert adapters == {name.partition(":")[0] for name in READY}

"""Goal: what integrations keep survives concurrent requests, cancellations and crashes."""

import runpy
from pathlib import Path

import pytest

from umi_sim.targets.hunt import hunt

pytest.importorskip("apsw", reason="the extra `live` is not installed")

TARGETS = Path(__file__).parents[3] / "examples/targets"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "adapter", "package"),
    [
        ("umi_langgraph_saver", "Saver", "langgraph.checkpoint.base"),
        ("umi_langgraph_store", "Store", "langgraph.store.base"),
        ("umi_llama_index", "Chat", "llama_index.core"),
        ("umi_openai_agents", "Session", "agents"),
        ("umi_pydantic_ai", "History", "pydantic_ai"),
    ],
)
def test_it_keeps_its_promises(name: str, adapter: str, package: str) -> None:
    """More of it: umi-sim target umi_openai_agents:Session --seconds 60, in examples/targets."""
    pytest.importorskip(package, reason=f"{package} is not installed")
    assert hunt(runpy.run_path(str(TARGETS / f"{name}.py"))[adapter], range(4)).first is None

"""Goal: two processes share one file: all their requests are answered, and none is lost."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import open_memory

ROOT = Path(__file__).resolve().parents[2]
COUNT = 60
PROGRAM = """
import asyncio, sys
from umi_live import open_memory

async def live(path, agent, count):
    async with open_memory(path, user="ann", agent=agent) as memory:
        requests = [memory.remember(f"Fact {n} is told.", extract=False) for n in range(count)]
        degraded = [it for result in await asyncio.gather(*requests) for it in result.degraded]
        conflicts = {name: n for name, n in memory.host.memory.state.counters.items() if "conflict" in name}
        print(len(requests), degraded, conflicts)

asyncio.run(live(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@pytest.mark.slow
def test_two_processes_on_one_file_answer_everything(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), agent, str(COUNT)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for agent in ("one", "two")
    ]
    outputs = [child.communicate()[0] for child in children]
    assert outputs == [f"{COUNT} [] {{}}\n"] * 2
    for agent in ("one", "two"):
        assert asyncio.run(counted(path, agent)) == COUNT


async def counted(path: Path, agent: str) -> int:
    async with open_memory(path, user="ann", agent=agent) as memory:
        hits = await memory.recall(f"fact {COUNT - 1}")
        assert hits[0].content == f"Fact {COUNT - 1} is told."
        return await memory.count()

"""Kills a process that remembers, with SIGKILL at any moment, and counts what is lost or there twice.

`python tools/kill_live.py [KILLS]` begins a process again and again on one file; each goes on where the last
one was killed, and repeats the request that had no answer under its `request_key`. Status 1 if anything that
was acknowledged is lost, or anything happened twice. Needs the extra `live`.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from umi_core.rows import Receipt
from umi_live import open_memory

ROOT: Final = Path(__file__).resolve().parent.parent
ALIVE_MS_MAX: Final = 120  # after its first answer; a process takes longer to start


async def remember_on(path: str, number: int) -> None:
    """Until killed: one request after the other, each number printed when its request is done."""
    async with open_memory(path, user="ann", agent="helper") as memory:
        while True:
            await memory.remember(f"Fact {number} is told.", extract=False, request_key=f"fact {number}")
            print(number, flush=True)
            number += 1


def killed(path: str, number: int, chance: random.Random) -> int:
    """The first number that has no answer yet, after one process more."""
    command = [sys.executable, str(Path(__file__).resolve()), "--remember", path, str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(chance.randrange(ALIVE_MS_MAX) / 1_000)
        child.kill()
        told = [line for line in (first, *child.stdout) if line.endswith("\n")]  # the last may be cut off
    return int(told[-1]) + 1 if told else number


async def counted(path: str, acknowledged: int) -> tuple[int, int]:
    """How many facts are lost, and how many commits happened twice."""
    async with open_memory(path, user="ann", agent="helper") as memory:
        facts = {entity.content: entity.version async for entity in memory.entities()}
        receipts = [row async for row in memory.rows(("receipt",)) if isinstance(row.body, Receipt)]
    lost = [n for n in range(acknowledged) if f"Fact {n} is told." not in facts]
    twice = [row for row in receipts if row.version > 1]
    return len(lost), len(twice) + sum(version > 1 for version in facts.values())


def main(kills: int) -> int:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path, number = str(Path(folder) / "agent.db"), 0
        for _ in range(kills):
            number = killed(path, number, chance)
        lost, twice = asyncio.run(counted(path, number))
    print(f"{kills} kills, {number} facts acknowledged: {lost} lost, {twice} doubled")
    return int(lost + twice > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--remember"]:
        asyncio.run(remember_on(sys.argv[2], int(sys.argv[3])))
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 20))

"""Kills processes of a memory, or its database server, at random times, and counts lost and duplicate facts.

    python tools/kill_live.py [KILLS]               kills a process with a database file
    python tools/kill_live.py [KILLS] --postgres    kills two hosts that share a PostgreSQL server
    python tools/kill_live.py [KILLS] --server      kills that server; the host survives
    python tools/kill_live.py [CUTS] --cuts         kills nothing; cuts the connection at each message in turn

The next process continues where the last one was killed, and repeats requests without an answer under their
`request_key`. Status 1 if an acknowledged fact is lost, or a request was executed twice. Needs the extra
`live`; with a server, `postgres` and the programs of PostgreSQL, with which it starts a private server.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import random
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.postgres_server import CuttingProxy, PrivateServer, private_server
from umi_core.rows import Receipt
from umi_live import LiveMemory, NotDone, StoreError, open_memory

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ALIVE_MS_MAX: Final = 120  # from the first answer of a process on, since its start takes longer
AGENTS: Final = ("one", "two")  # each on its own host
AGAIN_S: Final = 0.02
FACT_COUNT: Final = 4  # facts of a memory whose connection is cut
PROCESSES: Final = multiprocessing.get_context("forkserver")  # each starts with all modules imported
Counts = tuple[int, int, int]  # acknowledged, lost, doubled


async def remember_on(path: str, agent: str, number: int, answers: "Connection[int, int]") -> None:
    """Make one request after the other until killed, and send the number of each request that is done."""
    async with open_memory(path, user="ann", agent=agent) as memory:
        while True:
            try:
                await remember(memory, number)
            except (StoreError, NotDone):
                await asyncio.sleep(AGAIN_S)
            else:
                answers.send(number)
                number += 1


async def remember(memory: LiveMemory, number: int) -> None:
    await memory.remember(f"Fact {number} is told.", extract=False, request_key=f"fact {number}")


class Child:
    """A process that remembers until it is killed."""

    def __init__(self, path: str, agent: str, number: int) -> None:
        self.next = number  # the first number without an answer
        self.answers, sent = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=live, args=(path, agent, number, sent))
        self.process.start()
        sent.close()

    def wait(self) -> None:
        """Wait for the next answer."""
        self.next = self.answers.recv() + 1

    def kill(self) -> int:
        """Kill the process, and return the first number without an answer."""
        self.process.kill()
        self.process.join()
        with suppress(EOFError):  # the last number may be incomplete
            while True:
                self.wait()
        self.answers.close()
        return self.next


def live(path: str, agent: str, number: int, answers: "Connection[int, int]") -> None:
    asyncio.run(remember_on(path, agent, number, answers))


def killed(path: str, agent: str, number: int, chance: random.Random) -> int:
    """Start a process and kill it; return the first number without an answer."""
    child = Child(path, agent, number)
    child.wait()
    time.sleep(chance.randrange(ALIVE_MS_MAX) / 1_000)
    return child.kill()


def kill_hosts(path: str, agent: str, kills: int) -> Counts:
    chance, number = random.Random(agent), 0
    for _ in range(kills):
        number = killed(path, agent, number, chance)
    return number, *asyncio.run(counted(path, agent, number))


def kill_server(server: PrivateServer, kills: int) -> Counts:
    """Kill the server repeatedly; the host continues when the server runs again. Return the counts."""
    chance, path = random.Random(1), server.clear_database()
    child = Child(path, AGENTS[0], 0)
    for _ in range(kills):
        child.wait()
        time.sleep(chance.randrange(ALIVE_MS_MAX) / 1_000)
        server.stop(signal.SIGQUIT)
        server.start()
    number = child.kill()
    return number, *asyncio.run(counted(path, AGENTS[0], number))


def cut_connections(server: PrivateServer, cuts: int) -> Counts:
    """Cut the connection of one memory after the other: at the first message, the second, up to the last."""
    counts = [0, 0, 0]
    for at in range(1, cuts + 1):
        found, is_cut = asyncio.run(live_with_cut(server.clear_database(), at))
        if not is_cut:  # there are no more messages
            break
        counts = [it + more for it, more in zip(counts, found, strict=True)]
    return counts[0], counts[1], counts[2]


async def live_with_cut(address: str, at: int) -> tuple[Counts, bool]:
    """Return the counts with the connection cut at this message, and whether there was such a message."""
    with CuttingProxy(address, at) as proxy:
        remembered = itertools.count()
        for last in (FACT_COUNT // 2, FACT_COUNT):  # two incarnations
            number = next(remembered)
            while number < last:
                # If opening fails, or a request has no answer, it is tried again.
                with suppress(StoreError, NotDone):
                    async with open_memory(proxy.address, user="ann", agent="one") as memory:
                        while number < last:
                            with suppress(StoreError, NotDone):
                                await remember(memory, number)
                                number = next(remembered)
            remembered = itertools.count(last)
        is_cut = proxy.is_cut
    return (last, *await counted(address, "one", last)), is_cut


async def counted(path: str, agent: str, acknowledged: int) -> tuple[int, int]:
    """Return the number of lost facts, and of commits that happened twice."""
    async with open_memory(path, user="ann", agent=agent) as memory:
        facts = {entity.content: entity.version async for entity in memory.entities()}
        receipts = [row async for row in memory.rows(("receipt",)) if isinstance(row.body, Receipt)]
    lost = [n for n in range(acknowledged) if f"Fact {n} is told." not in facts]
    twice = [row for row in receipts if row.version > 1]
    return len(lost), len(twice) + sum(version > 1 for version in facts.values())


def main(kills: int, how: str = "file") -> int:
    PROCESSES.set_forkserver_preload(["umi_live.memory", *([] if how == "file" else ["umi_live.postgres"])])
    if how == "file":
        with tempfile.TemporaryDirectory() as folder:
            counts = kill_hosts(str(Path(folder) / "agent.db"), AGENTS[0], kills)
    else:
        with private_server() as server:
            if how == "postgres":
                path = server.clear_database()
                with ThreadPoolExecutor(len(AGENTS)) as threads:
                    each = [threads.submit(kill_hosts, path, it, kills // len(AGENTS)) for it in AGENTS]
                    found = [it.result() for it in each]
                counts = (sum(it[0] for it in found), sum(it[1] for it in found), sum(it[2] for it in found))
            else:
                counts = (kill_server if how == "server" else cut_connections)(server, kills)
    number, lost, twice = counts
    what = f"{number // FACT_COUNT} cuts" if how == "cuts" else f"{kills} kills"
    print(f"{what}, {number} facts acknowledged: {lost} lost, {twice} doubled")
    return int(lost + twice > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=20)
    for name in ("postgres", "server", "cuts"):
        parser.add_argument(f"--{name}", dest="how", action="store_const", const=name, default="file")
    given = parser.parse_args()
    sys.exit(main(given.kills, given.how))

"""Kills what a memory needs, at any moment, and counts what is lost or there twice.

    python tools/kill_live.py [KILLS]               SIGKILL to a process that remembers on a file
    python tools/kill_live.py [KILLS] --postgres    to two hosts that share a server of PostgreSQL
    python tools/kill_live.py [KILLS] --server      to that server, under a host that lives on
    python tools/kill_live.py [CUTS] --cuts         no process: the connection is cut at each message in turn

The next process goes on where the last one was killed, and whatever had no answer is asked again under its
`request_key`. Status 1 if anything that was acknowledged is lost, or anything happened twice. Needs the extra
`live`; with a server, `postgres` and the programs of PostgreSQL, of which a private server is started.
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

ALIVE_MS_MAX: Final = 120  # after its first answer; a process takes longer to start
AGENTS: Final = ("one", "two")  # each on a host of its own
AGAIN_S: Final = 0.02
FACT_COUNT: Final = 4  # of a memory whose connection is cut
PROCESSES: Final = multiprocessing.get_context("forkserver")  # each begins with what is imported already
Counts = tuple[int, int, int]  # acknowledged, lost, doubled


async def remember_on(path: str, agent: str, number: int, answers: "Connection[int, int]") -> None:
    """Until killed: one request after the other, each number sent when its request is done."""
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
        """Wait for one answer more."""
        self.next = self.answers.recv() + 1

    def kill(self) -> int:
        """Kill it, and return the first number without an answer."""
        self.process.kill()
        self.process.join()
        with suppress(EOFError):  # the last number may be cut off
            while True:
                self.wait()
        self.answers.close()
        return self.next


def live(path: str, agent: str, number: int, answers: "Connection[int, int]") -> None:
    asyncio.run(remember_on(path, agent, number, answers))


def killed(path: str, agent: str, number: int, chance: random.Random) -> int:
    """The first number that has no answer yet, after one process more."""
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
    """The host gets no notice, and goes on when the server is there again."""
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
    """One memory after the other, of which the first is cut at the first message, and so on to the last."""
    counts = [0, 0, 0]
    for at in range(1, cuts + 1):
        found, is_cut = asyncio.run(live_with_cut(server.clear_database(), at))
        if not is_cut:  # there are no more messages
            break
        counts = [it + more for it, more in zip(counts, found, strict=True)]
    return counts[0], counts[1], counts[2]


async def live_with_cut(address: str, at: int) -> tuple[Counts, bool]:
    """Return what is lost if the connection is cut at this message, and whether there was such a message."""
    with CuttingProxy(address, at) as proxy:
        remembered = itertools.count()
        for last in (FACT_COUNT // 2, FACT_COUNT):  # two lives
            number = next(remembered)
            while number < last:
                # An opening that fails, or a request without an answer, is done again.
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
    """How many facts are lost, and how many commits happened twice."""
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

"""umi_live on a file: remembers beside bare commits of SQLite, recalls beside numpy, seals, memory over time.

    .venv/bin/python tools/bench/live.py                everything: some minutes
    .venv/bin/python tools/bench/live.py --quick        less of each
    .venv/bin/python tools/bench/live.py --sync-ms 3    remembers alone, on a disk that takes so long to sync

A bare commit writes as many bytes as the rows of a remember have, in one insert, with the same way of
syncing: the wait for the disk, and nothing else. They take turns, so that a busy disk disturbs both. A recall
is everything from the request to the reply, vectors of 384 components; numpy alone is `matrix @ query` and
the best twenty of it. The figures are times of the wall where a disk is waited for, else of the processor.

How long a disk takes to sync decides the share of bare commits, and no two disks agree. So `--sync-ms`
waits instead of syncing; the folder should then be in memory (UMI_BENCH_FOLDER=/dev/shm).
"""

import argparse
import asyncio
import os
import resource
import sys
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from hashlib import blake2b
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Final
from unittest.mock import patch

import apsw
import numpy as np

from tools.bench.measure import Table, short
from umi_core.messages.effects import ByWords, Commit, Write
from umi_core.rows import AccessRecord, Address, Body, Entity, Receipt, Vector
from umi_core.values import Scope
from umi_live import LiveMemory, open_memory
from umi_live.anchor import SealOptions
from umi_live.local import DIMS, HashEmbedder
from umi_live.schema import OpenOptions
from umi_live.sqlite import SqliteStorage
from umi_live.store import Store

TURNS: Final = 20
TOGETHER: Final = 30
BEST: Final = 20
PAGE: Final = 1_000
WORDS: Final = (
    "green black tea coffee likes hates works lives Acme Globex Paris Rome old new red blue".split()
)


class WaitingFile(apsw.VFSFile):
    """One whose sync takes as long as `wait` says, and does nothing else."""

    wait_ms: float = 0

    def xSync(self, flags: int) -> None:
        sleep(self.wait_ms / 1_000)


class WaitingDisk(apsw.VFS):
    name = "waiting"

    def __init__(self) -> None:
        super().__init__(self.name, base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return WaitingFile("", name, flags)


class Wide(HashEmbedder):
    """As long as vectors of small real embedders."""

    name, dims = "wide", 384

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        return tuple((*vector, *vector[: 384 - DIMS]) for vector in await super().embed(texts, timeout_ms))


def opened(path: Path, seal: SealOptions | None = None) -> LiveMemory:
    given = {} if seal is None else {"seal": seal.key, "seal_anchor": seal.anchor}
    return open_memory(path, user="ann", agent="helper", embedder=Wide(), **given)  # type: ignore[arg-type]  # its own


async def seconds(count: int, act: Callable[[int], Awaitable[object]]) -> float:
    start = perf_counter()
    for number in range(count):
        await act(number)
    return perf_counter() - start


# Remembers.


async def remembers(folder: Path, count: int, vfs: str | None = None) -> Table:
    """In turns: so many remembers alone, as many together, as many bare commits."""
    bare = apsw.Connection(str(folder / "bare.db"), vfs=vfs)
    if vfs is not None:
        bare.pragma("locking_mode", "exclusive")
    bare.pragma("journal_mode", "wal")
    bare.pragma("synchronous", "full")
    bare.execute("create table t (x blob)")
    took: dict[str, list[float]] = {"alone": [], "together": [], "bare": []}
    async with opened(folder / "agent.db") as memory:
        await memory.remember("Nobody likes tea.", extract=False)
        assert memory.store is not None
        size = memory.store.storage.connection.execute("select sum(length(body)) from row").fetchone()
        data = os.urandom(int(size[0]))

        async def commit(number: int) -> None:
            bare.execute("begin immediate")
            bare.execute("insert into t values (?)", (data,))
            bare.execute("commit")

        async def alone(turn: int, number: int) -> None:
            await memory.remember(f"Fact {turn} {number} is told.", extract=False)

        async def together(turn: int, _: int) -> None:
            texts = [f"Fact {turn} {number} is told together." for number in range(TOGETHER)]
            await asyncio.gather(*(memory.remember(text, extract=False) for text in texts))

        for turn in range(TURNS):
            took["alone"].append(await seconds(count, partial(alone, turn)) / count)
            took["together"].append(await seconds(1, partial(together, turn)) / TOGETHER)
            took["bare"].append(await seconds(count, commit) / count)
    rates = {name: 1 / median(each) for name, each in took.items()}
    rows = [
        (what, short(rates[name]), short(rates[name] / rates["bare"]))
        for name, what in (
            ("alone", "remember, one after the other"),
            ("together", f"remember, {TOGETHER} in flight"),
            ("bare", f"bare commit of {len(data)} bytes"),
        )
    ]
    note = "Without extraction: a text becomes a note with its vector, version, access record and receipt."
    return Table("Remembers a second, on a file", ("what", "a second", "share of bare"), rows, note)


# Remembers beside many access records.


def fill_accesses(path: Path, count: int) -> None:
    """Put so many access records into the file directly."""
    store, scope = Store.open_now(path), Scope("ann", "helper")
    for start in range(0, count, PAGE):
        ids = [f"fct_{at:024x}" for at in range(start, min(count, start + PAGE))]
        bodies = [AccessRecord(it, "note", 500_000, 1, at, at) for at, it in enumerate(ids, start + 1)]
        writes = tuple(Write(Address(scope, "access", it.entity_id), it) for it in bodies)
        store.storage.commit(Commit(writes, ()), 1)
    store.close()


async def accesses(folder: Path, counts: Sequence[int], turns: int) -> Table:
    """Remembers by turns in files that differ by their access records alone."""
    paths = [folder / f"accesses{count}.db" for count in counts]
    for path, count in zip(paths, counts, strict=True):
        fill_accesses(path, count)
    async with AsyncExitStack() as stack:
        memories = [await stack.enter_async_context(opened(path)) for path in paths]
        took: list[list[float]] = [[] for _ in paths]
        for turn in range(turns + 1):
            for memory, each in zip(memories, took, strict=True):
                each.append(await timed(partial(memory.remember, f"Fact {turn} is told.", extract=False)))
    middles = [median(each[1:]) * 1_000 for each in took]  # the first one waits until the file is read
    rows = [
        (f"{count:,}", short(ms), f"{ms / middles[0]:.2f}") for count, ms in zip(counts, middles, strict=True)
    ]
    note = "10,000 records are kept: beyond that each remember evicts one."
    return Table("Remembers beside access records", ("records", "ms of CPU", "ratio"), rows, note)


# Recalls.


def fill(path: Path, count: int, seal: SealOptions | None = None) -> None:
    """Entities with vectors, put into the file directly."""
    chance = np.random.default_rng(1)
    store, scope = Store.open_now(path, seal=seal), Scope("ann", "helper")
    for start in range(0, count, PAGE):
        vectors = chance.integers(-127, 128, (PAGE, Wide.dims))
        picked = chance.integers(0, len(WORDS), (PAGE, 8))
        writes: list[Write] = []
        for at in range(PAGE):
            row_id = f"ent_{blake2b(b'%d' % (start + at), digest_size=12).hexdigest()}"
            text = " ".join(WORDS[it] for it in picked[at])
            body = Entity(row_id, "note", f"thing{start + at}", text, 1, 500_000, 500_000, "scratch", 1, 1)
            components = tuple(vectors[at].tolist())
            writes.append(Write(Address(scope, "entity", row_id), body))
            writes.append(Write(Address(scope, "vector", row_id), Vector(row_id, 1, components)))
        store.storage.commit(Commit(tuple(writes), ()), 1)
    store.close()


async def recalls(folder: Path, count: int, turns: int) -> tuple[str, ...]:
    path = folder / f"{count}.db"
    fill(path, count)
    matrix = np.random.default_rng(1).integers(-127, 128, (count, Wide.dims)).astype(np.float32)
    query = matrix[0].copy()
    ours, alone = list[float](), list[float]()
    async with opened(path) as memory:
        assert memory.repairing is not None
        memory.repairing.cancel()
        first = await timed(partial(memory.recall, "green tea in Paris"))
        for turn in range(turns):
            question = f"old {WORDS[turn % 9]} of thing{turn}"
            ours.append(await timed(partial(memory.recall, question)))
            start = process_time()
            scores = matrix @ query
            best = np.argpartition(-scores, BEST)[:BEST]
            best[np.argsort(-scores[best])]
            alone.append(process_time() - start)
    mine, bare = median(ours) * 1_000, median(alone) * 1_000
    return f"{count:,}", short(mine), short(bare), short(mine / bare), short(first * 1_000)


# Seals.


async def seals(folder: Path, count: int, turns: int) -> Table:
    """The storage by turns, in files that differ by their seals alone, as remember and recall use it."""
    key, scope = b"k" * 32, Scope("ann", "helper")
    kinds = {
        "no seal": None,
        "seal": SealOptions(key),
        "anchor": SealOptions(key, str(folder / "anchor.txt")),
    }
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    stores = dict[str, SqliteStorage]()
    for kind, seal in kinds.items():
        fill(folder / f"{kind}.db", count, seal)
    for _ in range(5):
        for kind, seal in kinds.items():
            if kind in stores:
                stores[kind].close()
            start = process_time()
            stores[kind] = SqliteStorage(str(folder / f"{kind}.db"), OpenOptions(seal=seal))
            took["opening", kind].append(process_time() - start)
    for kind, storage in stores.items():
        start = process_time()
        storage.read(0, ByWords(scope, "green tea", (), BEST, 1))
        took["first search of a process", kind].append(process_time() - start)
    for turn in range(turns):
        writes = tuple(Write(Address(scope, body.row_kind, f"fct_{turn}"), body) for body in rows_of(turn))
        for kind, storage in stores.items():
            for name, act in (
                ("commit of a remember", partial(storage.commit, Commit(writes, (), f"k{turn}"), 1)),
                (
                    f"search for {BEST} facts",
                    partial(storage.read, 0, ByWords(scope, f"{WORDS[turn % 9]} {turn}", (), BEST, 1)),
                ),
            ):
                start = process_time()
                act()
                took[name, kind].append(process_time() - start)
    rows = list[tuple[str, ...]]()
    for name in dict.fromkeys(name for name, _ in took):
        # Quick ones: what else the machine does makes others slow, and the differences are small.
        bare, *others = (sorted(took[name, kind])[len(took[name, kind]) // 10] for kind in kinds)
        rows.append((name, *(f"{it / bare:.2f}" for it in others)))
    head = ("what", "with a seal", "with an anchor, too")
    note = "An opening compares all rows with the seal. An anchor is synced at every commit, which is no CPU."
    return Table(f"{count:,} facts, CPU as a multiple of that without a seal", head, rows, note)


def rows_of(turn: int) -> tuple[Body, ...]:
    """Return the rows of one remember: a fact, its vector, its access record and its receipt."""
    key, text = f"fct_{turn}", f"Fact {turn} is told."
    fact = Entity(key, "note", text, text, 1, 500_000, 500_000, "scratch", 1, 1)
    access = AccessRecord(key, "note", 500_000, 1, 1, 1)
    return fact, Vector(key, 1, (1,) * Wide.dims), access, Receipt(key, bytes(200), b"", 1, 1)


async def timed(act: Callable[[], Awaitable[object]]) -> float:
    start = process_time()
    await act()
    return process_time() - start


# Memory of the process.


async def sizes(folder: Path, count: int) -> Table:
    """The same seven entities stated again and again, so that the file grows and what is known does not."""
    rows = list[tuple[str, ...]]()
    async with opened(folder / "long.db") as memory:
        for number in range(1, count + 1):
            await memory.remember(f"Ann{number % 7} likes thing{number % 11}.")
            if number * 5 % count == 0:
                rows.append((f"{number:,}", short(used_bytes() / 2**20), short(path_bytes(folder) / 2**20)))
    return Table("Memory over many remembers, in MiB", ("remembers", "process", "files"), rows)


def used_bytes() -> int:
    """Of the process as it is now; where the system does not tell, the most that it ever was."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024


def path_bytes(folder: Path) -> int:
    return sum(it.stat().st_size for it in folder.glob("long.db*"))


async def run(is_quick: bool, sync_ms: float | None) -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("UMI_BENCH_FOLDER")) as name:
        folder = Path(name)
        if sync_ms is not None:
            disk, WaitingFile.wait_ms = WaitingDisk(), sync_ms
            way = OpenOptions(disk.name, is_alone=True)
            with patch("umi_live.store.SqliteStorage", partial(SqliteStorage, options=way)):
                (await remembers(folder, 5 if is_quick else 30, disk.name)).show()
            return
        (await remembers(folder, 5 if is_quick else 30)).show()
        counts = (100, 9_000, 20_000)
        (await accesses(folder, counts, 100 if is_quick else 500)).show()
        rows = [await recalls(folder, count, 20) for count in ((10_000,) if is_quick else (10_000, 100_000))]
        head = ("entities", "recall, ms", "numpy alone, ms", "ratio", "first recall, ms")
        note = "The first recall of a process reads the vectors from the file."
        Table("Recalls beside numpy", head, rows, note).show()
        (await seals(folder, 10_000, 50 if is_quick else 300)).show()
        (await sizes(folder, 500 if is_quick else 100_000)).show()


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of each")
    parser.add_argument("--sync-ms", type=float, help="how long a disk takes that is waited for")
    options = parser.parse_args(args)
    asyncio.run(run(options.quick, options.sync_ms))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))

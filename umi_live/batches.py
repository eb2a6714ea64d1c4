"""Batches: many statements, remembered side by side, each conversation in its order.

Law 1. Of one conversation a statement begins when the one before it has ended, so the later one holds. Of two
       conversations the statement that a model reads first goes first.
Law 2. The same batch again does nothing twice: the request key of a statement is a digest of its fields, its
       conversation and its place there.
Law 3. A statement that fails is named, and the others go on; a database that fails ends the batch.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Final, TypeVar

import msgspec
from msgspec import structs

from umi_core.data import Data, Owner
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.effects import Degraded
from umi_core.messages.results import Remembered
from umi_live.errors import NotDone
from umi_live.usage import NO_USAGE, Usage

NO_METADATA: Final[Mapping[str, str]] = {}


class BatchStatement(Data):
    """A statement with the options of `remember`. `conversation`: those of one are in order."""

    text: str
    conversation: str = ""
    speaker: str | None = None
    event_time_ms: int | None = None
    metadata: Mapping[str, str] = NO_METADATA
    source: str | None = None


class BatchResult(Owner):
    """The result of a batch: counts of statements and facts, and by the place of each failure its error."""

    remembered_count: int = 0
    repeated_count: int = 0  # of those: done by an earlier call within 24 hours
    new_fact_count: int = 0
    ended_fact_count: int = 0
    failed: dict[int, NotDone] = {}
    degraded: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)  # by name and reason
    usage: Usage = NO_USAGE

    def add(self, value: Remembered, degraded: Iterable[Degraded], usage: Usage) -> None:
        self.remembered_count += 1
        self.usage += usage
        if value.repeated:
            self.repeated_count += 1
            return
        self.new_fact_count += sum(stored.change == "created" for stored in value.entities)
        self.ended_fact_count += len(value.ended)
        self.degraded.update((it.name, it.reason) for it in degraded)


Item = tuple[int, BatchStatement, str]  # its place in the batch, and its request key
Task = TypeVar("Task")


async def run_lanes(
    lanes: Iterable[Iterable[Task]], work: Callable[[Task], Awaitable[None]], count_max: int = OP_COUNT_MAX
) -> None:
    """Do what each lane holds in its order, and so many lanes at a time; an exception ends all of them."""
    left = iter(lanes)

    async def run() -> None:
        for lane in left:
            for it in lane:
                await work(it)

    tasks = [asyncio.create_task(run()) for _ in range(count_max)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def list_items(statements: Iterable[str | BatchStatement]) -> Iterator[Item]:
    """Yield the statements with their places and request keys."""
    counts = Counter[str]()
    for place, given in enumerate(statements):
        it = BatchStatement(given) if isinstance(given, str) else given
        counts[it.conversation] += 1
        fields = [counts[it.conversation], *structs.astuple(structs.replace(it, metadata=dict(it.metadata)))]
        data = json.dumps(fields).encode()
        yield place, it, f"batch {blake2b(data, digest_size=16).hexdigest()}"


async def remember_batch(
    remember: Callable[[BatchStatement, str], Awaitable[None]],
    items: Iterable[Item],
    report: Callable[[int], None],
) -> dict[int, NotDone]:
    """Remember the items, as many at a time as a memory works on, and return what failed, by place.

    `report`: is told each time how many have ended.
    """
    failed, ended_count = dict[int, NotDone](), 0
    lanes: dict[str, list[Item]] = {}
    for item in items:
        lanes.setdefault(item[1].conversation, []).append(item)

    async def work(item: Item) -> None:
        nonlocal ended_count
        place, statement, key = item
        try:
            await remember(statement, key)
        except NotDone as error:
            failed[place] = error
        ended_count += 1
        report(ended_count)

    await run_lanes(lanes.values(), work)
    return dict(sorted(failed.items()))

"""Batches: many statements, conversations in parallel, the statements of each conversation in order.

Law 1. A statement starts after the one before it in its conversation is done, so that a later one can end
       facts of an earlier one. Statements of two conversations have no order.
Law 2. Repeating a batch changes nothing: the request key of a statement is a digest of its fields, its
       conversation and its position there.
Law 3. If a statement fails, the result names it and the others continue. A database failure ends the batch.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Final, TypeVar

import msgspec
from msgspec import structs

from umi_core.data import Data, Owner, types_of
from umi_core.errors import Error
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.effects import Degraded
from umi_core.messages.results import Remembered
from umi_live.arguments import find_misfit, first_of, misfit, refuse
from umi_live.errors import NotDone, RequestRefused
from umi_live.usage import NO_USAGE, Usage

NO_METADATA: Final[Mapping[str, str]] = {}


class BatchStatement(Data):
    """A statement with the options of `remember`. Statements of one `conversation` are stored in order."""

    text: str
    conversation: str = ""
    speaker: str | None = None
    event_time_ms: int | None = None
    metadata: Mapping[str, str] = NO_METADATA
    source: str | None = None


class BatchResult(Owner):
    """The result of a batch: counts of statements and facts, and the error of each failure by position."""

    remembered_count: int = 0
    repeated_count: int = 0  # those of them that an earlier call within 24 hours had stored
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


Item = tuple[int, BatchStatement, str]  # position in the batch, statement, request key
Task = TypeVar("Task")


async def run_lanes(
    lanes: Iterable[Iterable[Task]], work: Callable[[Task], Awaitable[None]], count_max: int = OP_COUNT_MAX
) -> None:
    """Do the tasks of each lane in order, at most `count_max` lanes at a time; an exception ends all."""
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


def list_items(statements: Iterable[str | BatchStatement], failed: dict[int, NotDone]) -> Iterator[Item]:
    """Yield the statements with positions and request keys; those of a wrong type are added to `failed`."""
    counts = Counter[str]()
    for place, given in enumerate(statements):
        if (error := find_wrong_part(given)) is not None:
            failed[place] = RequestRefused(error, str(error))
            continue
        it = BatchStatement(given) if isinstance(given, str) else given
        counts[it.conversation] += 1
        fields = [counts[it.conversation], *structs.astuple(structs.replace(it, metadata=dict(it.metadata)))]
        data = json.dumps(fields).encode()
        yield place, it, f"batch {blake2b(data, digest_size=16).hexdigest()}"


def find_wrong_part(given: object) -> Error | None:
    """Return the error of a value that is neither a text nor a BatchStatement with fields of their types."""
    if not isinstance(given, BatchStatement):
        return find_misfit("statement", given, str | BatchStatement)
    kinds = types_of(BatchStatement).items()
    return first_of(find_misfit(name, getattr(given, name), kind) for name, kind in kinds)


async def remember_batch(
    remember: Callable[[BatchStatement, str], Awaitable[None]],
    statements: Iterable[str | BatchStatement],
    report: Callable[[int], None],
) -> dict[int, NotDone]:
    """Remember the statements, OP_COUNT_MAX conversations at a time, and return the failures by position.

    After each statement `report` is called with the number of processed ones. Raises RequestRefused if
    `statements` is a single text, or not iterable.
    """
    if isinstance(statements, str | bytes) or not isinstance(statements, Iterable):
        refuse(misfit("statements", statements, Iterable[str | BatchStatement]))
    failed = dict[int, NotDone]()
    lanes: dict[str, list[Item]] = {}
    for item in list_items(statements, failed):
        lanes.setdefault(item[1].conversation, []).append(item)
    ended_count = len(failed)
    if failed:
        report(ended_count)

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

"""Reads of a scope that may take several pages."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, TypeVar

from umi_core.conditions import Where
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Query
from umi_core.rows import Address, Body, Ended, Entity, Row, fact_of
from umi_core.values import Scope

FOLLOWED_MAX: Final = 64  # how many facts back in its text a chain of `follows` is read

FACTS: Final[tuple[type[Entity | Ended], ...]] = (Entity, Ended)  # the classes of rows with a fact

Reader = Callable[[Query], Awaitable[ReadDone]]
B = TypeVar("B", bound=Body)


async def read_rows(
    read: Reader, scope: Scope, kinds: tuple[str, ...], where: Where = ()
) -> AsyncIterator[Row]:
    """Yield the rows of these kinds that meet the conditions `where`, by kind and id."""
    cursor: str | None = None
    while True:
        page = await read(ByFilter(scope, kinds, where, PAGE_ROW_COUNT_MAX, cursor))
        for row in page.rows:
            yield row
        if (cursor := page.cursor) is None:
            return


async def read_bodies(
    read: Reader, scope: Scope, classes: tuple[type[B], ...], where: Where = ()
) -> AsyncIterator[B]:
    """Yield the bodies of the rows of these classes that meet the conditions; skips damaged rows."""
    async for row in read_rows(read, scope, tuple(it.row_kind for it in classes), where):
        if isinstance(row.body, classes):
            yield row.body


async def read_by_ids(read: Reader, addresses: Sequence[Address]) -> list[Row]:
    """Return the rows at these addresses, in the same order; skips absent rows."""
    found = list[Row]()
    for at in range(0, len(addresses), PAGE_ROW_COUNT_MAX):
        found += (await read(ByIds(tuple(addresses[at : at + PAGE_ROW_COUNT_MAX])))).rows
    return found


async def read_followed(read: Reader, scope: Scope, rows: Sequence[Entity | Ended]) -> list[Entity]:
    """Return the facts that precede those of `rows` with equal times in their texts, and are not in `rows`.

    They are needed to order facts of the same time (fact_order.py).
    """
    facts = [fact_of(row) for row in rows]
    times = Counter(it.time_ms for it in facts)
    known, found = {it.id for it in facts}, list[Entity]()
    last = [it for it in facts if times[it.time_ms] > 1]
    for _ in range(FOLLOWED_MAX):
        wanted = sorted({it.follows for it in last if it.follows is not None} - known)
        if not wanted:
            break
        known |= set(wanted)
        places = [Address(scope, it.row_kind, key) for key in wanted for it in FACTS]
        read_now = await read_by_ids(read, places)
        last = [fact for row in read_now if (fact := fact_of(row.body)) is not None]
        found += last
    return found

"""The order of facts: when each happened, or was told, and when each ended."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Query
from umi_core.rows import Address, Ended, Entity, fact_of
from umi_core.values import Scope

FOLLOWED_MAX: Final = 64  # how far back the order of facts that were told together is looked for


async def read_followed(
    read: Callable[[Query], Awaitable[ReadDone]], scope: Scope, rows: Sequence[Entity | Ended]
) -> list[Entity]:
    """Return the facts that those of one time follow, one after the other, as far as they are needed."""
    facts = [fact for row in rows if (fact := fact_of(row)) is not None]
    times = Counter(it.time_ms for it in facts)
    known, found = {it.id for it in facts}, list[Entity]()
    last = [it for it in facts if times[it.time_ms] > 1]
    for _ in range(FOLLOWED_MAX):
        wanted = sorted({it.follows for it in last if it.follows is not None} - known)
        if not wanted:
            break
        known |= set(wanted)
        places = [Address(scope, kind, key) for key in wanted for kind in ("entity", "ended")]
        parts = [places[at : at + PAGE_ROW_COUNT_MAX] for at in range(0, len(places), PAGE_ROW_COUNT_MAX)]
        answers = [await read(ByIds(tuple(part))) for part in parts]
        last = [fact for it in answers for row in it.rows if (fact := fact_of(row.body)) is not None]
        found += last
    return found


def order_by_time(rows: Collection[Entity | Ended], before: Iterable[Entity] = ()) -> list[Entity | Ended]:
    """Return rows by when they happened, or were told; those of one time as their text tells them.

    `before`: facts that some of these follow in their text, if they are not among them.
    """
    facts = {row.id: fact for row in rows if (fact := fact_of(row)) is not None}
    places = count_followed({it.id: it for it in before} | facts)
    # What has ended comes before what is current, if both are told by different texts at the same time.
    return sorted(rows, key=lambda it: (facts[it.id].time_ms, places[it.id], isinstance(it, Entity), it.id))


def count_followed(facts: Mapping[str, Entity]) -> Mapping[str, int]:
    """Return by id how many of these facts with the same time come before each, one following the other."""
    places = dict[str, int]()
    for key in facts:
        path = list[str]()
        at: str | None = key
        # Up to the first fact of the text, or one whose place is known; a cycle ends where it began.
        while at is not None and at not in places:
            path.append(at)
            places[at] = 0
            before = facts.get(facts[at].follows or "")
            at = before.id if before is not None and before.time_ms == facts[at].time_ms else None
        place = -1 if at is None else places[at]
        for each in reversed(path):
            place += 1
            places[each] = place
    return places


def list_end_times(rows: Iterable[Entity | Ended]) -> Mapping[str, int]:
    """Return by the id of each ended fact when it was true no more, in milliseconds since 1970.

    That is when the fact that ended it happened; when it was learnt, if that one is not among these rows.
    """
    facts = [(row, fact_of(row)) for row in rows]
    times = {fact.id: fact.time_ms for _, fact in facts if fact is not None}
    return {row.id: times.get(row.by, row.at_ms) for row, _ in facts if isinstance(row, Ended)}

"""The order of facts: when each happened, or was stated, and when each ended."""

from collections.abc import Collection, Iterable, Mapping

from umi_core.rows import Ended, Entity, fact_of


def order_by_time(rows: Collection[Entity | Ended], before: Iterable[Entity] = ()) -> list[Entity | Ended]:
    """Return rows by when they happened, or were stated; those of one time in the order of their text.

    `before`: facts that some of `rows` follow in their text, and that are not in `rows`.
    """
    facts = {row.id: fact_of(row) for row in rows}
    places = count_followed({it.id: it for it in before} | facts)
    # What has ended comes before what is current, if two texts state them at the same time.
    return sorted(rows, key=lambda it: (facts[it.id].time_ms, places[it.id], isinstance(it, Entity), it.id))


def count_followed(facts: Mapping[str, Entity]) -> Mapping[str, int]:
    """Return by the id of each fact how many facts of its time come before it, each following the next."""
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
    """Return by the id of each ended fact since when it is no longer true, in milliseconds since 1970.

    That is when the fact that ended it happened; when that was stored, if that fact is not in `rows`.
    """
    known = tuple(rows)
    times = {row.id: fact_of(row).time_ms for row in known}
    return {row.id: times.get(row.by, row.at_ms) for row in known if isinstance(row, Ended)}

"""The order of facts: when each happened, or was told, and when each ended."""

from collections.abc import Collection, Iterable, Mapping

from umi_core.rows import Ended, Entity, fact_of


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

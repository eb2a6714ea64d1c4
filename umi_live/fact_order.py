"""The order of facts by the time when each happened or was stated, and the times when they ended."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import structs

from umi_core.rows import Ended, Entity, fact_of


def order_by_time(rows: Collection[Entity | Ended], before: Iterable[Entity] = ()) -> list[Entity | Ended]:
    """Return rows ordered by the time when they happened or were stated; at equal times as in their text.

    `before`: facts that are not in `rows`, but that come before some of `rows` in the same text.
    """
    places = count_followed({it.id: it for it in before} | {row.id: fact_of(row) for row in rows})

    def key(row: Entity | Ended) -> tuple[int, int, bool, str]:
        # If two texts state facts at the same time, ended facts come before current ones.
        return fact_of(row).time_ms, places[row.id], isinstance(row, Entity), row.id

    return sorted(rows, key=key)


def add_periods(rows: Iterable[Entity | Ended]) -> list[Entity | Ended]:
    """Return the rows, each preceded by an ended row for every earlier period of its fact.

    "Ann lives in Porto.", true until 2021 and again since 2024, has two rows in a history.
    """
    return [it for row in rows for it in (*list_past(fact_of(row)), row)]


def list_past(fact: Entity) -> Iterator[Ended]:
    """Yield the fact as it was at the end of each earlier period, the earliest first."""
    for at, it in enumerate(fact.periods):
        version = fact.version - len(fact.periods) + at
        then = structs.replace(
            fact, version=version, updated_ms=it.since_ms, event_time_ms=it.since_ms,
            periods=fact.periods[:at],
        )  # fmt: skip
        yield Ended(fact.id, then, it.by, it.how, it.until_ms)


def count_followed(facts: Mapping[str, Entity]) -> Mapping[str, int]:
    """Return, by fact id, how many facts of the same time precede it in the chain of the field `follows`."""
    places = dict[str, int]()
    for key in facts:
        path = list[str]()
        at: str | None = key
        # Back to the first fact of the chain, or to one whose place is known; a cycle ends where it began.
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


def list_end_times(rows: Iterable[Entity | Ended]) -> Mapping[tuple[str, int], int]:
    """Return, by id and version of each ended fact, the time when it ceased to be true, in ms since 1970.

    That is the time of the fact that ended it or, if that fact is not in `rows`, the time of storing it.
    """
    known = tuple(rows)
    starts = dict[str, list[int]]()
    for row in known:
        starts.setdefault(row.id, []).append(fact_of(row).time_ms)
    return {
        (row.id, row.fact.version): min(
            # A fact that was current twice began twice: the first beginning after the ended fact counts.
            (it for it in starts.get(row.by, ()) if it >= row.fact.time_ms),
            default=row.at_ms,
        )
        for row in known
        if isinstance(row, Ended)
    }

"""The order of facts: when each happened, or was stated, and when each ended."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import structs

from umi_core.rows import Ended, Entity, fact_of


def order_by_time(rows: Collection[Entity | Ended], before: Iterable[Entity] = ()) -> list[Entity | Ended]:
    """Return rows by when they happened, or were stated; those of one time in the order of their text.

    `before`: facts that some of `rows` follow in their text, and that are not in `rows`.
    """
    places = count_followed({it.id: it for it in before} | {row.id: fact_of(row) for row in rows})

    def key(row: Entity | Ended) -> tuple[int, int, bool, str]:
        # What has ended comes before what is current, if two texts state them at the same time.
        return fact_of(row).time_ms, places[row.id], isinstance(row, Entity), row.id

    return sorted(rows, key=key)


def add_periods(rows: Iterable[Entity | Ended]) -> list[Entity | Ended]:
    """Return the rows, before each an ended one for each earlier period of its fact.

    "Ann lives in Porto." that was true until 2021 and is true again since 2024 has two lines of a history.
    """
    return [it for row in rows for it in (*list_past(fact_of(row)), row)]


def list_past(fact: Entity) -> Iterator[Ended]:
    """Yield the fact as it was at the end of each earlier period, the first one first."""
    for at, it in enumerate(fact.periods):
        version = fact.version - len(fact.periods) + at
        then = structs.replace(
            fact, version=version, updated_ms=it.since_ms, event_time_ms=it.since_ms,
            periods=fact.periods[:at],
        )  # fmt: skip
        yield Ended(fact.id, then, it.by, it.how, it.until_ms)


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


def list_end_times(rows: Iterable[Entity | Ended]) -> Mapping[tuple[str, int], int]:
    """Return by id and version of each ended fact since when it is no longer true, in ms since 1970.

    That is when the fact that ended it happened; when that was stored, if that fact is not in `rows`.
    """
    known = tuple(rows)
    starts = dict[str, list[int]]()
    for row in known:
        starts.setdefault(row.id, []).append(fact_of(row).time_ms)
    return {
        (row.id, row.fact.version): min(
            # A fact that was current twice began twice: this is the first time behind the one that it ended.
            (it for it in starts.get(row.by, ()) if it >= row.fact.time_ms),
            default=row.at_ms,
        )
        for row in known
        if isinstance(row, Ended)
    }

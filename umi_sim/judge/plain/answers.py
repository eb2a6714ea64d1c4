"""What of an answer to a read counts: rows that were asked for, whole, in the promised order (EN5.12)."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

import attrs

from umi_core.data import Data, Owner
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords
from umi_core.rows import Row
from umi_sim.judge.plain.filters import fields_of, meets

ONE: Final = 1_000_000
PAGES: Final = 1_000  # of one read
Reads = ByIds | ByFilter | ByVector | ByWords


@attrs.frozen
class Counted(Data):
    """The rows that count, how many are left out and why; why the read has failed, if it has."""

    rows: tuple[Row, ...]
    left_out: tuple[tuple[str, int], ...]
    failure: str | None


def counted(
    query: Reads, rows: Sequence[Row], spares: Collection[str], is_right: Callable[[Row], bool]
) -> Counted:
    """`is_right`: whether the body of a row is one that may lie there; kinds in `spares` may lack it."""
    bodies = [attrs.evolve(row, body=row.body if is_right(row) else None) for row in rows]
    mine = [row for row in bodies if is_meant(query, row)]
    kept = [row for row in mine if row.body is not None or row.address.kind in spares]
    damaged = sum(row.body is None for row in mine)
    left_out = [("foreign", len(rows) - len(mine)), ("damaged", damaged)]
    told = tuple(it for it in left_out if it[1])
    if isinstance(query, ByVector | ByWords) or len(kept) == len(rows):
        return Counted(tuple(kept), told, None)
    return Counted((), told, "unavailable" if len(mine) < len(rows) else "damaged")


@attrs.define
class Reading(Owner):
    """A read of all rows that is under way: what it has, out of how many pages."""

    rows: list[Row]
    page_count: int

    def turn(self, query: ByFilter, page: Counted, *, is_last: bool) -> str | None:
        """What comes of one page more: `done`, why it failed, or None if the next one is to be asked for."""
        if page.failure is not None:
            return page.failure
        known, self.rows = len(self.rows), in_order(query, [*self.rows, *page.rows])
        if is_last:
            return "done"
        has_brought, is_allowed = len(self.rows) > known, self.page_count < PAGES
        self.page_count = min(self.page_count + 1, PAGES)
        return None if has_brought and is_allowed else "unavailable"


def is_meant(query: Reads, row: Row) -> bool:
    """Whether this row was asked for; of a score that nobody asked for it counts alone that it is one."""
    if isinstance(query, ByVector | ByWords):
        has_score = row.score_ppm is not None and query.min_score_ppm <= row.score_ppm <= ONE
    else:
        has_score = row.score_ppm is None or 0 <= row.score_ppm <= ONE
    if isinstance(query, ByIds):
        return has_score and row.address in query.addresses
    kinds = query.kinds if isinstance(query, ByFilter) else [query.kind]
    if row.address.kind not in kinds or row.address.scope != query.scope or not has_score:
        return False
    where = tuple((it.field, it.operator, it.value) for it in query.where)
    return row.body is None or meets(where, fields_of(row.body)) is True


def in_order(query: Reads, rows: Sequence[Row]) -> list[Row]:
    """Each row once, the last of equal ones: as asked for by id, else the best first, then by kind and id."""
    last = {row.address: row for row in rows}
    if isinstance(query, ByIds):
        return [last[it] for it in dict.fromkeys(query.addresses) if it in last]
    return sorted(last.values(), key=lambda row: (-(row.score_ppm or 0), row.address.kind, row.address.id))

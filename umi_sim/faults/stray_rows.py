"""Stray rows: what storage may give by mistake in the place of a row, or under its address."""

from collections.abc import Sequence

import attrs

from umi_core.answer_checks import asked_for, is_body_of
from umi_core.messages.effects import Query, Read
from umi_core.rows import Row
from umi_sim.kernel.prng import Keyed
from umi_sim.services.storage import SimStorage
from umi_sim.services.stored_rows import address_order


def strays(storage: SimStorage, query: Query, row: Row) -> list[Row]:
    """Rows a misdirected read may return: only those the reader can detect as wrong.

    Storage promises no more: a row that fits the question but is not the answer has nothing to betray it.
    """
    scored = (attrs.evolve(other, score_ppm=row.score_ppm) for other in known_rows(storage))
    return [other for other in scored if not asked_for(Read(query), (other,))]


def masks(storage: SimStorage, row: Row) -> list[Row]:
    """Rows whose body may stand under the address of this one by mistake, in order."""
    return [other for other in known_rows(storage) if not is_body_of(row.address, other.body)]


def known_rows(storage: SimStorage) -> list[Row]:
    return [storage.rows[address] for address in sorted(storage.rows, key=address_order)]


def numbered(rows: Sequence[Row], number: int) -> Row:
    """The row of this number: the same one whatever other rows come and go, so that a record can be cut."""
    keyed = Keyed(number.to_bytes(8, "big"))
    return min(rows, key=lambda row: keyed.draw("\0".join(address_order(row.address))))

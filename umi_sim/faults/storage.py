"""Faults of storage: calls refused, lost, torn or slow; answers that are short, damaged or misdirected."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Self

from msgspec import structs

from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Commit, Query, Read
from umi_core.rows import Address, Row
from umi_sim.faults.arguments import among, below, flag, one_of, span_ms, whole
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.draws import Draws, log_uniform, pick
from umi_sim.faults.service import AroundTimeout, Arrival, Fails, GoesAway, NoAnswer
from umi_sim.faults.window import WINDOW_MS_MAX
from umi_sim.kernel.prng import Keyed
from umi_sim.services.calls import DOUBTS, Handled, Later
from umi_sim.services.storage import SimStorage
from umi_sim.services.stored_rows import Rot, address_order, flip_bit, has_snapshot, matches, place_read
from umi_sim.services.stores import Lag, Tight
from umi_sim.services.wrong_fields import can_have_wrong_field, set_wrong_field

TOLD: Final = ("nothing", *map(str, DOUBTS))

# Calls that fail, and storage that dies.


class StorageUnavailable(GoesAway, at="storage.any", is_a="window", guards=("STO-2", "RET-4"), explored=True):
    """Commits and reads fail for a while, definitely."""


class StorageRefusedFault(Fails, at="storage.commit", is_a="before", guards=("STO-2", "RET-4")):
    """One commit is refused."""

    failure = "refused"


class Doubtful(FaultKind):
    """Family of faults: the outcome of a batch is not reported, or reported as unknown."""

    told: str = one_of(*TOLD, default="nothing")


class StorageLost(Doubtful, at="storage.commit", is_a="lost", guards=("IDEM-1", "STO-1", "STO-2")):
    """The batch never happens; no answer says so."""

    def apply(self, call: Arrival[Commit]) -> Handled:
        doubt = DOUBTS.get(self.told)
        return call.fails(doubt) if doubt else None


class StorageReplyLost(Doubtful, at="storage.commit", is_a="after", guards=("IDEM-1", "STO-1", "STO-2")):
    """The batch is durable; no answer says so."""

    def apply(self, call: Arrival[Commit]) -> Handled:
        return call.begin_commit(self.told)


class Torn(FaultKind, at="storage.commit", is_a="torn", guards=("STO-2",)):
    """Storage dies in the middle of a batch and undoes it."""

    # Storage dies after `count` writes, which is at least one and not all of them, or nothing would be torn.
    count: int = among(lambda call: range(1, len(call.effect.writes)))
    for_ms: int = span_ms(1, WINDOW_MS_MAX)

    def apply(self, call: Arrival[Commit]) -> Handled:
        ticket = call.begin_commit("nothing").ticket
        call.store.storage.tear_batch(ticket, min(self.count, len(call.effect.writes)))
        return dies(call, self.for_ms)


class StorageCrash(FaultKind, at="storage.any", is_a="window", guards=("STO-1", "STO-7"), explored=True):
    """Everything that was not durable vanishes; no answers until storage is back."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX)

    def apply(self, call: Arrival[Any]) -> Handled:
        return dies(call, self.for_ms)


def dies(call: Arrival[Any], for_ms: int) -> Handled:
    call.store.crash(call.now_ms, for_ms)
    return None


class StorageConflict(Fails, at="storage.commit", is_a="before", guards=("STO-5", "STO-7")):
    """A conflict although the versions agree."""

    failure = "conflict"


def too_little(call: Arrival[Commit]) -> tuple[int, ...]:
    """Return possible rooms in bytes: none, and one less than this batch needs; empty if it fails anyway."""
    commit, storage = call.effect, call.store.storage
    growth_bytes = storage.growth_bytes(commit)
    fits = growth_bytes > 0 and storage.would_commit(commit) and storage.has_room(commit)
    return (0, growth_bytes - 1) if fits else ()


class StorageFullFault(FaultKind, at="storage.commit", is_a="window", guards=("CAP-3", "STO-2")):
    """For a while there is no more room, or one byte less than a batch needs."""

    spare_bytes: int = among(too_little)
    for_ms: int = span_ms(1, WINDOW_MS_MAX)

    def apply(self, call: Arrival[Commit]) -> Handled:
        """Limit the store to its present size plus `spare_bytes`, which is too little for this batch."""
        storage, now_ms = call.store.storage, call.now_ms
        call.store.tight = Tight(now_ms + self.for_ms, storage.used_bytes() + self.spare_bytes)
        # The new limit already applies to this batch.
        call.store.turn_to(now_ms)
        is_refused = storage.would_commit(call.effect) and not storage.has_room(call.effect)
        return call.fails("full") if is_refused else call.handle_unharmed()


class StorageSlow(AroundTimeout, at="storage.any", is_a="quirk", guards=("DET-4", "IDEM-1")):
    """The answer just before, at or just after the time-out."""


class ReadFailed(Fails, at="storage.read", is_a="before", guards=("RET-4",)):
    """One read fails."""

    failure = "unavailable"


class StorageNonsense(
    NoAnswer, at="storage.any", is_a="shape", guards=("STO-2", "RET-4", "IDEM-1"), explored=False
):
    """The answer is malformed: rows or versions of no such type; a batch is durable all the same."""


# Rows that are damaged or exchanged.


def true_rows(call: Arrival[Read]) -> tuple[Row, ...]:
    return call.store.storage.read(call.effect.request_id, call.effect.query).rows


def row_count(call: Arrival[Read]) -> int:
    return len(true_rows(call))


def with_rows(call: Arrival[Read], rows: Iterable[Row]) -> Later:
    answer = call.answer()
    assert isinstance(answer, ReadDone)
    return Later(structs.replace(answer, rows=tuple(rows)), call.now_ms)


def place_of(call: Arrival[Read], row: Row) -> Address:
    return place_read(call.effect.query, row.address)


class OfRow(FaultKind):
    """Family of faults that change one row of the answer."""

    index: int = below(row_count)

    def apply(self, call: Arrival[Read]) -> Handled:
        rows = list(true_rows(call))
        if rows:
            at = self.index % len(rows)
            # Recorded for the judge: this workflow has read a wrong row, so its results may be wrong.
            misread = call.store.storage.misread.setdefault(place_of(call, rows[at]), {})
            misread[call.call.workflow] = None
            self.change(call, rows, at)
        return with_rows(call, rows)

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        raise NotImplementedError


class MayStay(FaultKind):
    """Family of damages to one answer or, if `latent`, to every answer until the row is written again."""

    latent: bool = flag(default=False)

    def rot(self, call: Arrival[Read], row: Row, rot: Rot = None) -> None:
        """Damage the stored row, if the fault is latent and the atlas allows the loss."""
        where, storage, atlas = place_of(call, row), call.store.storage, call.services.atlas
        if not self.latent or where not in storage.rows or not atlas.may_rot(where):
            return
        storage.rot(where, rot)
        atlas.lose(self.name, call.call.event, call.now_ms, where, store=call.effect.store)


def draw_valid_row(call: Arrival[Read], draws: Draws) -> tuple[int, bool] | None:
    """Draw the index of an undamaged row, and whether it is damaged for good, if the atlas allows that."""
    whole = [(n, row) for n, row in enumerate(true_rows(call)) if row.body is not None]
    fragile = [(n, row) for n, row in whole if call.services.atlas.may_rot(place_of(call, row))]
    is_latent = bool(fragile) and draws("latent", 2) == 1
    found = fragile if is_latent else whole
    return (pick(draws, "index", found)[0], is_latent) if found else None


class StorageDamaged(MayStay, OfRow, at="storage.read", is_a="before", guards=("STO-6", "RET-4")):
    """One row comes back as damaged: once, or for good if the atlas allows it."""

    @classmethod
    def draw(cls, call: Arrival[Read], draws: Draws) -> Self | None:
        found = draw_valid_row(call, draws)
        return cls(index=found[0], latent=found[1]) if found else None

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        self.rot(call, rows[at])
        # Read again, since latent damage has just changed the store.
        rows[:] = true_rows(call)
        rows[at] = structs.replace(rows[at], body=None)


class Unfit(MayStay, OfRow, at="storage.read", is_a="shape", guards=("STO-6", "RET-4"), explored=False):
    """One field of a row is what no write could hold: once, or for good if the atlas allows it."""

    choice: int = below(2**32)

    @classmethod
    def draw(cls, call: Arrival[Read], draws: Draws) -> Self | None:
        found = draw_valid_row(call, draws)
        if not found or not can_have_wrong_field(true_rows(call)[found[0]].body):
            return None
        return cls(index=found[0], latent=found[1], choice=draws("choice", 2**32))

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        self.rot(call, rows[at], self.choice)
        whole = rows[at].body
        rows[:] = true_rows(call)
        rows[at] = structs.replace(rows[at], body=set_wrong_field(whole, self.choice))


class BitFlip(MayStay, at="storage.read", is_a="shape", guards=("SER-4", "SER-2")):
    """One bit of a saved session is another one: in this answer, or for good under loss."""

    byte: int = whole()
    bit: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Read], draws: Draws) -> Self | None:
        sessions = [(row, row.body) for row in true_rows(call) if has_snapshot(row.body)]
        if not sessions:
            return None
        row, body = sessions[0]
        is_latent = call.services.atlas.may_rot(row.address) and draws("latent", 2) == 1
        return cls(byte=draws("byte", len(body.snapshot)), bit=draws("bit", 8), latent=is_latent)

    def apply(self, call: Arrival[Read]) -> Handled:
        rows, bit = true_rows(call), (self.byte, self.bit)
        for row in [row for row in rows if has_snapshot(row.body)][:1]:
            self.rot(call, row, bit)
        return with_rows(call, [structs.replace(row, body=flip_bit(row.body, *bit)) for row in rows])


class StorageMisdirected(OfRow, at="storage.read", is_a="meaning", guards=("ISO-1", "WF-1")):
    """One row of the answer is another row of the store, or has the body of another."""

    other: int = below(2**32)
    masked: bool = flag(one_in=4, default=False)

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        """Replace a row by another one; if `masked`, the address stays and only the body is another one."""
        storage, row = call.store.storage, rows[at]
        others = masks(storage, row) if self.masked else strays(storage, call.effect.query, row)
        if others:
            stray = pick_row(others, self.other)
            address = row.address if self.masked else stray.address
            rows[at] = structs.replace(stray, address=address, score_ppm=row.score_ppm)


def strays(storage: SimStorage, query: Query, row: Row) -> list[Row]:
    """List the rows that a misdirected read may return.

    Only rows that do not fit the query: a memory could not detect a wrong row that fits.
    """
    scored = (structs.replace(other, score_ppm=row.score_ppm) for other in known_rows(storage))
    return [other for other in scored if not fits(query, other)]


def fits(query: Query, row: Row) -> bool:
    """Return whether a row may be in an answer to this query."""
    if isinstance(query, ByIds):
        return row.address in query.addresses
    kinds = (query.kind,) if isinstance(query, ByVector | ByWords) else query.kinds
    is_near = row.address.scope == query.scope and row.address.kind in kinds
    return is_near and matches(query.where, row.body)


def masks(storage: SimStorage, row: Row) -> list[Row]:
    """List rows whose body cannot belong to the address of `row`: of another kind, or with another id."""
    kind, own_ids = row.address.kind, (None, row.address.id)
    return [
        other for other in known_rows(storage)
        if other.address.kind != kind or (other.body is not None and other.body.own_id() not in own_ids)
    ]  # fmt: skip


def known_rows(storage: SimStorage) -> list[Row]:
    return [storage.rows[address] for address in sorted(storage.rows, key=address_order)]


def pick_row(rows: Sequence[Row], number: int) -> Row:
    """Return a row drawn by this number; removing another row does not change it, so records can shrink."""
    # With rows[number % len(rows)] one row more or less would change the choice.
    keyed = Keyed(number.to_bytes(8, "big"))
    return min(rows, key=lambda row: keyed.draw("\0".join(address_order(row.address))))


# Answers with fewer rows, with more rows, or in another order.


class IndexLag(FaultKind, at="storage.read", is_a="window", guards=("RET-1", "STO-4")):
    """For a while searches do not see the newest rows."""

    lag_ms: int = whole()
    for_ms: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Read], draws: Draws) -> Self | None:
        """Draw the lag of searches: just enough for this search to miss a hit, or more."""
        is_search, fresh_ms = isinstance(call.effect.query, ByVector | ByWords), call.store.storage.fresh_ms
        rows = true_rows(call) if is_search else ()
        ages = [call.now_ms - fresh_ms[row.address] for row in rows if row.address in fresh_ms]
        # A lag of more than a minute is not realistic.
        young = [age_ms for age_ms in ages if age_ms < WINDOW_MS_MAX]
        if not young:
            return None
        # A row of age 40 is hidden by a lag of 41.
        lag_ms = 1 + pick(draws, "row", young)
        further_ms = log_uniform(draws, "lag_ms", WINDOW_MS_MAX) if draws("further", 2) else 0
        return cls(for_ms=log_uniform(draws, "for_ms", WINDOW_MS_MAX), lag_ms=max(lag_ms, further_ms))

    def apply(self, call: Arrival[Read]) -> Handled:
        call.store.lags.append(Lag(call.now_ms + self.for_ms, self.lag_ms))
        call.store.turn_to(call.now_ms)
        return call.handle_unharmed()


class ShortPage(FaultKind, at="storage.read", is_a="quirk", guards=("RET-1", "RET-2", "PRO-2")):
    """A page shorter than asked for, with a cursor."""

    count: int = below(lambda call: row_count(call) if isinstance(call.effect.query, ByFilter) else 0)

    def apply(self, call: Arrival[Read]) -> Handled:
        """Return fewer rows than there are, and a cursor to the rest. Only reads by filter have pages."""
        query = call.effect.query
        if not isinstance(query, ByFilter):
            return call.handle_unharmed()
        limit = min(query.limit or 1_000, max(1, self.count))
        page = call.store.storage.read(call.effect.request_id, structs.replace(query, limit=limit))
        return Later(page, call.now_ms)


class RepeatRow(OfRow, at="storage.read", is_a="quirk", guards=("RET-1", "RET-2", "PRO-2")):
    """A row twice."""

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        rows.append(rows[at])


class Shuffled(FaultKind, at="storage.read", is_a="quirk", guards=("RET-1", "RET-2", "PRO-2")):
    """Rows in another order."""

    turn: int = among(lambda call: range(1, 9) if row_count(call) > 1 else ())

    def apply(self, call: Arrival[Read]) -> Handled:
        rows = true_rows(call)
        by = self.turn % max(1, len(rows))
        # Rotated and reversed: for three rows or more no rotation of the reverse is the original order.
        return with_rows(call, [*rows[by:], *rows[:by]][::-1])


# Loss of stored rows.


def promised_keys(commit: Commit) -> tuple[Address, ...]:
    """Return the addresses of facts and sessions in this batch, which the sender will take for stored."""
    return tuple(it.address for it in commit.writes if it.address.kind in ("entity", "session"))


def may_ack_early(call: Arrival[Commit]) -> bool:
    """Return whether a batch of new facts or sessions may be lost; core must not show any of them."""
    keys, storage = promised_keys(call.effect), call.store.storage
    is_losable = call.call.workflow in ("remember", "save_session", "create_session")
    is_plain = all(write.address.kind != "core" for write in call.effect.writes)
    can_happen = is_losable and is_plain and storage.predict_commit(call.effect) is not None
    return can_happen and keys != () and call.services.atlas.can_lose(keys)


class AckEarly(FaultKind, at="storage.commit", is_a="destroys", guards=("STO-6", "RET-4")):
    """Only with loss: storage says that a batch is durable, and dies before it is."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX, possible=may_ack_early)

    def apply(self, call: Arrival[Commit]) -> Handled:
        # The answer that the batch would get if it became durable.
        answer = call.store.storage.predict_commit(call.effect)
        if answer is None or not may_ack_early(call):
            return call.handle_unharmed()
        keys, store = promised_keys(call.effect), call.effect.store
        call.services.atlas.lose(self.name, call.call.event, call.now_ms, *keys, store=store)
        dies(call, self.for_ms)
        return Later(answer, call.now_ms)


class Wiped(FaultKind, at="storage.any", is_a="destroys", guards=("STO-6", "RET-4")):
    """Only with loss: storage restarts empty, and every memory with it."""

    for_ms: int = span_ms(
        1, WINDOW_MS_MAX, possible=lambda call: call.services.atlas.may_wipe() and call.store.storage.rows
    )

    def apply(self, call: Arrival[Any]) -> Handled:
        """Empty the store and drop the batches under way to it, if the atlas allows that."""
        if not call.services.atlas.may_wipe():
            return call.handle_unharmed()
        call.services.atlas.lose(self.name, call.call.event, call.now_ms, store=call.effect.store)
        call.services.wipe(call.store, self.for_ms)
        return None

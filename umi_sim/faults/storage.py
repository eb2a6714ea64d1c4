"""Faults of storage: calls refused, lost, torn or slow; answers that are short, damaged or misdirected."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final, Self

import attrs

from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByVector, ByWords, Commit, Read
from umi_core.rows import Address, Row, SessionRow
from umi_sim.faults.declaration import family, fault, flag, one_of, whole
from umi_sim.faults.luck import Luck, log_uniform, pick
from umi_sim.faults.service import AroundTimeout, Arrival, Fails, GoesAway, Lasting
from umi_sim.faults.stray_rows import masks, numbered, strays
from umi_sim.faults.window import WINDOW_MS_MAX, window_ms
from umi_sim.services.calls import DOUBTS, Flush, Handled, Lag, Later, Tight
from umi_sim.services.stored_rows import flipped, place_read

TOLD: Final = ("nothing", *map(str, DOUBTS))

# Calls that fail, and storage that dies.


@fault("storage.any", "window", guards=("STO-2", "RET-4"), explored=True)
class Unavailable(GoesAway):
    """Commits and reads fail for a while, definitely."""


@fault("storage.commit", "before", guards=("STO-2", "RET-4"))
class Refused(Fails):
    """One commit is refused."""

    failure = "refused"


@family
class Doubtful:
    """What becomes of a batch nobody says, or only that it is not known."""

    told: str = one_of(*TOLD, default="nothing")

    @classmethod
    def draw(cls, call: Arrival[Commit], luck: Luck) -> Self:
        return cls(told=pick(luck, "told", TOLD))


@fault("storage.commit", "lost", guards=("IDEM-1", "STO-1", "STO-2"))
class Lost(Doubtful):
    """The batch never happens; nobody says so."""

    def strike(self, call: Arrival[Commit]) -> Handled:
        doubt = DOUBTS.get(self.told)
        return call.fails(doubt) if doubt else None


@fault("storage.commit", "after", guards=("IDEM-1", "STO-1", "STO-2"))
class ReplyLost(Doubtful):
    """The batch is durable; nobody says so."""

    def strike(self, call: Arrival[Commit]) -> Handled:
        return Flush(call.services.storage.arrive(call.effect, call.call.agent), self.told)


@fault("storage.commit", "torn", guards=("STO-2",))
class Torn:
    """Storage dies in the middle of a batch and undoes it."""

    count: int = whole()
    for_ms: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Commit], luck: Luck) -> Self | None:
        count = len(call.effect.writes)
        return cls(count=1 + luck("count", count - 1), for_ms=window_ms(luck)) if count > 1 else None

    def strike(self, call: Arrival[Commit]) -> Handled:
        storage = call.services.storage
        ticket = storage.arrive(call.effect, call.call.agent)
        storage.torn(ticket, min(self.count, len(call.effect.writes)))
        dies(call, self.for_ms)
        return None


@fault("storage.any", "window", guards=("STO-1", "STO-7"), explored=True)
class Crash(Lasting):
    """What was not durable vanishes; no answers until it is back."""

    def strike(self, call: Arrival[Any]) -> Handled:
        dies(call, self.for_ms)
        return None


def dies(call: Arrival[Any], for_ms: int) -> None:
    services = call.services
    services.storage.crash()
    assert not services.storage.pending
    services.dead_until_ms = call.now_ms + for_ms


@fault("storage.commit", "before", guards=("STO-5", "STO-7"))
class Conflict(Fails):
    """A conflict although the versions agree."""

    failure = "conflict"


@fault("storage.commit", "window", guards=("CAP-3", "STO-2"))
class Full:
    """For a while there is room for no more than there is, or for one byte less than a batch needs."""

    spare_bytes: int = whole()
    for_ms: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Commit], luck: Luck) -> Self | None:
        commit, storage = call.effect, call.services.storage
        growth_bytes = storage.growth_bytes(commit)
        if growth_bytes <= 0 or not storage.is_due(commit, call.now_ms) or not storage.has_room(commit):
            return None
        return cls(for_ms=window_ms(luck), spare_bytes=pick(luck, "spare_bytes", (0, growth_bytes - 1)))

    def strike(self, call: Arrival[Commit]) -> Handled:
        """No more than is used now, and a little: for this batch too little."""
        services, storage, now_ms = call.services, call.services.storage, call.now_ms
        services.tight = Tight(now_ms + self.for_ms, storage.used_bytes() + self.spare_bytes)
        services.turn_to(now_ms)
        is_refused = storage.is_due(call.effect, now_ms) and not storage.has_room(call.effect)
        return call.fails("full") if is_refused else call.unharmed()


@fault("storage.any", "quirk", guards=("DET-4", "IDEM-1"))
class Slow(AroundTimeout):
    """The answer just before, at or just after the time-out."""


@fault("storage.read", "before", guards=("RET-4",))
class ReadFailed(Fails):
    """One read fails."""

    failure = "unavailable"


# Rows that are damaged, or are others.


def true_rows(call: Arrival[Read]) -> tuple[Row, ...]:
    return call.services.storage.read(call.effect.request_id, call.effect.query).rows


def with_rows(call: Arrival[Read], rows: Iterable[Row]) -> Later:
    answer = call.answer()
    assert isinstance(answer, ReadDone)
    return Later(attrs.evolve(answer, rows=tuple(rows)), call.now_ms)


def place_of(call: Arrival[Read], row: Row) -> Address:
    return place_read(call.effect.query, row.address)


@family
class OfRow:
    """Something about one row of the answer."""

    index: int = whole()

    def strike(self, call: Arrival[Read]) -> Handled:
        rows = list(true_rows(call))
        if rows:
            self.change(call, rows, self.index % len(rows))
        return with_rows(call, rows)

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        raise NotImplementedError


@family
class MayStay:
    """Damage that is in one answer, or latent: in every answer until the row is written again."""

    kind: ClassVar[str]
    latent: bool = flag(default=False)

    def rot(self, call: Arrival[Read], row: Row, bit: tuple[int, int] | None = None) -> None:
        """Damage that stays, if it is meant to, and the atlas still allows it."""
        where, services = place_of(call, row), call.services
        if not self.latent or where not in services.storage.rows or not services.atlas.may_rot(where):
            return
        services.storage.rot(where, bit)
        services.atlas.lose(self.kind, call.call.event, call.now_ms, where)


@fault("storage.read", "before", guards=("STO-6", "RET-4"))
class Damaged(MayStay, OfRow):
    """One row comes back as damaged: once, or for good if the atlas allows it."""

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        """A row that is whole; for good only what the atlas allows."""
        whole = [(n, row) for n, row in enumerate(true_rows(call)) if row.body is not None]
        fragile = [(n, row) for n, row in whole if call.services.atlas.may_rot(place_of(call, row))]
        is_latent = bool(fragile) and luck("latent", 2) == 1
        found = fragile if is_latent else whole
        return cls(index=pick(luck, "index", found)[0], latent=is_latent) if found else None

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        self.rot(call, rows[at])
        rows[:] = true_rows(call)
        rows[at] = attrs.evolve(rows[at], body=None)


@fault("storage.read", "shape", guards=("SER-4", "SER-2"))
class BitFlip(MayStay):
    """One bit of a saved session is another one: in this answer, or for good under loss."""

    byte: int = whole()
    bit: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        sessions = [(row, row.body) for row in true_rows(call) if isinstance(row.body, SessionRow)]
        if not sessions:
            return None
        row, body = sessions[0]
        is_latent = call.services.atlas.may_rot(row.address) and luck("latent", 2) == 1
        return cls(byte=luck("byte", len(body.snapshot)), bit=luck("bit", 8), latent=is_latent)

    def strike(self, call: Arrival[Read]) -> Handled:
        rows, bit = true_rows(call), (self.byte, self.bit)
        for row in [row for row in rows if isinstance(row.body, SessionRow)][:1]:
            self.rot(call, row, bit)
        return with_rows(call, [attrs.evolve(row, body=flipped(row.body, *bit)) for row in rows])


@fault("storage.read", "meaning", guards=("ISO-1", "WF-1"))
class Misdirected(OfRow):
    """One row of the answer is another row of the store, or has the body of another."""

    other: int = whole()
    masked: bool = flag(default=False)

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        """Another row in the place of one; or only its body, under the address that was asked for."""
        count = len(true_rows(call))
        if not count:
            return None
        index, other = luck("index", count), luck("other", 2**32)
        return cls(index=index, other=other, masked=luck("masked", 4) == 1)

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        storage, row = call.services.storage, rows[at]
        others = masks(storage, row) if self.masked else strays(storage, call.effect.query, row)
        if others:
            stray = numbered(others, self.other)
            address = row.address if self.masked else stray.address
            rows[at] = attrs.evolve(stray, address=address, score_ppm=row.score_ppm)


# Answers with fewer rows, more, or in another order.


@fault("storage.read", "window", guards=("RET-1", "STO-4"))
class IndexLag:
    """For a while searches do not know what was told lately."""

    lag_ms: int = whole()
    for_ms: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        """How far searches lie behind: just so far that this one misses a hit, or further."""
        services, is_search = call.services, isinstance(call.effect.query, ByVector | ByWords)
        rows = true_rows(call) if is_search else ()
        ages = [call.now_ms - services.storage.fresh_ms[row.address] for row in rows]
        young = [age_ms for age_ms in ages if age_ms < WINDOW_MS_MAX]
        if not young:
            return None
        lag_ms = 1 + pick(luck, "row", young)
        further_ms = log_uniform(luck, "lag_ms", WINDOW_MS_MAX) if luck("further", 2) else 0
        return cls(for_ms=window_ms(luck), lag_ms=max(lag_ms, further_ms))

    def strike(self, call: Arrival[Read]) -> Handled:
        call.services.lags.append(Lag(call.now_ms + self.for_ms, self.lag_ms))
        call.services.turn_to(call.now_ms)
        return call.unharmed()


@fault("storage.read", "quirk", guards=("RET-1", "RET-2", "PRO-2"))
class ShortPage:
    """A page shorter than asked for, with a cursor."""

    count: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        count = len(true_rows(call)) if isinstance(call.effect.query, ByFilter) else 0
        return cls(count=luck("count", count)) if count else None

    def strike(self, call: Arrival[Read]) -> Handled:
        """Fewer rows than there are, and a cursor to the rest. Only a scan has pages."""
        query = call.effect.query
        if not isinstance(query, ByFilter):
            return call.unharmed()
        limit = min(query.limit or 1_000, max(1, self.count))
        page = call.services.storage.read(call.effect.request_id, attrs.evolve(query, limit=limit))
        return Later(page, call.now_ms)


@fault("storage.read", "quirk", guards=("RET-1", "RET-2", "PRO-2"))
class RepeatRow(OfRow):
    """A row twice."""

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        count = len(true_rows(call))
        return cls(index=luck("index", count)) if count else None

    def change(self, call: Arrival[Read], rows: list[Row], at: int) -> None:
        rows.append(rows[at])


@fault("storage.read", "quirk", guards=("RET-1", "RET-2", "PRO-2"))
class Shuffled:
    """Rows in another order."""

    turn: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Read], luck: Luck) -> Self | None:
        return cls(turn=1 + luck("turn", 8)) if len(true_rows(call)) > 1 else None

    def strike(self, call: Arrival[Read]) -> Handled:
        rows = true_rows(call)
        by = self.turn % max(1, len(rows))
        return with_rows(call, [*rows[by:], *rows[:by]][::-1])


# What is destroyed.


@fault("storage.commit", "destroys", guards=("STO-6", "RET-4"))
class AckEarly(Lasting):
    """Only with loss: storage says that a batch is durable, and dies before it is."""

    kind: ClassVar[str]

    @classmethod
    def draw(cls, call: Arrival[Commit], luck: Luck) -> Self | None:
        keys, services = promised(call.effect), call.services
        is_due = is_losable(call) and services.storage.foretold(call.effect, call.now_ms) is not None
        return super().draw(call, luck) if is_due and keys and services.atlas.has_left(keys) else None

    def strike(self, call: Arrival[Commit]) -> Handled:
        services, keys = call.services, promised(call.effect)
        answer = services.storage.foretold(call.effect, call.now_ms)
        if answer is None or not keys or not is_losable(call) or not services.atlas.has_left(keys):
            return call.unharmed()
        services.atlas.lose(self.kind, call.call.event, call.now_ms, *keys)
        dies(call, self.for_ms)
        return Later(answer, call.now_ms)


def is_losable(call: Arrival[Commit]) -> bool:
    """New facts, and sessions: what may be absent afterwards without contradicting what core shows."""
    is_plain = all(write.address.kind != "core" for write in call.effect.writes)
    return call.call.workflow in ("remember", "save_session", "create_session") and is_plain


def promised(commit: Commit) -> tuple[Address, ...]:
    """The keys that the sender will take for stored."""
    return tuple(it.address for it in commit.writes if it.address.kind in ("entity", "session"))


@fault("storage.any", "destroys", guards=("STO-6", "RET-4"))
class Wiped(Lasting):
    """Only with loss: storage restarts empty, and every memory with it."""

    kind: ClassVar[str]

    @classmethod
    def draw(cls, call: Arrival[Any], luck: Luck) -> Self | None:
        services = call.services
        return super().draw(call, luck) if services.atlas.may_wipe() and services.storage.rows else None

    def strike(self, call: Arrival[Any]) -> Handled:
        """What was on its way to storage is on its way to nobody."""
        services = call.services
        if not services.atlas.may_wipe():
            return call.unharmed()
        services.atlas.lose(self.kind, call.call.event, call.now_ms)
        services.wipe(call.now_ms, self.for_ms)
        return None

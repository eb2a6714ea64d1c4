"""Faults of storage: calls refused, lost, torn or slow; answers that are short, damaged or misdirected."""

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from umi_core.answer_checks import asked_for, is_body_of
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByVector, ByWords, Commit, Query, Read
from umi_core.rows import Address, Row, SessionRow
from umi_sim.faults.kinds import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.faults.strikes.service import (
    MakeArgs,
    Strike,
    around_timeout,
    fails,
    goes_away,
    slow,
    whole,
    window,
)
from umi_sim.kernel.prng import Keyed
from umi_sim.record.items import Args
from umi_sim.services.calls import DOUBTS, Call, Flush, Handled, Lag, Later, Services, Tight, failed
from umi_sim.services.storage import SimStorage
from umi_sim.services.stored_rows import address_order, flipped, place_read

TOLD: Final = ("nothing", *map(str, DOUBTS))

# Args: drawn once, when a fault is about to strike.


def told(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"told": TOLD[draw("told", len(TOLD))]}


def room_left(services: Services, call: Call, draw: Draw) -> Args | None:
    """No room at all, or one byte less than this batch needs."""
    commit, storage = call.effect, services.storage
    assert isinstance(commit, Commit)
    growth_bytes = storage.growth_bytes(commit)
    if growth_bytes <= 0 or not storage.is_due(commit, services.now_ms) or not storage.has_room(commit):
        return None
    return {**window(services, call, draw), "spare_bytes": (0, growth_bytes - 1)[draw("spare_bytes", 2)]}


def lag_args(services: Services, call: Call, draw: Draw) -> Args | None:
    """For how long, and how far searches lie behind: just so far that this one misses a hit, or further."""
    assert isinstance(call.effect, Read)
    rows = true_rows(services, call) if isinstance(call.effect.query, ByVector | ByWords) else ()
    ages = [services.now_ms - services.storage.fresh_ms[row.address] for row in rows]
    young = [age_ms for age_ms in ages if age_ms < WINDOW_MS_MAX]
    if not young:
        return None
    lag_ms = 1 + young[draw("row", len(young))]
    further_ms = log_uniform(draw, "lag_ms", WINDOW_MS_MAX) if draw("further", 2) else 0
    return {**window(services, call, draw), "lag_ms": max(lag_ms, further_ms)}


def torn_at(services: Services, call: Call, draw: Draw) -> Args | None:
    assert isinstance(call.effect, Commit)
    count = len(call.effect.writes)
    if count < 2:
        return None
    return {"count": 1 + draw("count", count - 1), "for_ms": log_uniform(draw, "for_ms", WINDOW_MS_MAX)}


def one_row(services: Services, call: Call, draw: Draw) -> Args | None:
    rows = true_rows(services, call)
    return {"index": draw("index", len(rows)), "other": draw("other", 2**32)} if rows else None


def stray_row(services: Services, call: Call, draw: Draw) -> Args | None:
    """Another row in the place of one; or only its body, under the address that was asked for."""
    args = one_row(services, call, draw)
    return args and {**args, "masked": draw("masked", 4) == 1}


def damaged_row(services: Services, call: Call, draw: Draw) -> Args | None:
    """A row that is whole, for this answer alone or for good; for good only what the atlas allows."""
    rows = [(n, row) for n, row in enumerate(true_rows(services, call)) if row.body is not None]
    fragile = [(n, row) for n, row in rows if services.atlas.may_rot(place_of(call, row))]
    is_latent = bool(fragile) and draw("latent", 2) == 1
    found = fragile if is_latent else rows
    return {"index": found[draw("index", len(found))][0], "latent": is_latent} if found else None


def place_of(call: Call, row: Row) -> Address:
    assert isinstance(call.effect, Read)
    return place_read(call.effect.query, row.address)


def one_byte(services: Services, call: Call, draw: Draw) -> Args | None:
    rows = true_rows(services, call)
    sessions = [(row, row.body) for row in rows if isinstance(row.body, SessionRow)]
    if not sessions:
        return None
    row, body = sessions[0]
    is_latent = services.atlas.may_rot(row.address) and draw("latent", 2) == 1
    return {"byte": draw("byte", len(body.snapshot)), "bit": draw("bit", 8), "latent": is_latent}


def page_count(services: Services, call: Call, draw: Draw) -> Args | None:
    rows = true_rows(services, call)
    assert isinstance(call.effect, Read)
    is_paged = isinstance(call.effect.query, ByFilter)
    return {"count": draw("count", len(rows))} if is_paged and rows else None


def order_args(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"turn": 1 + draw("turn", 8)} if len(true_rows(services, call)) > 1 else None


def true_rows(services: Services, call: Call) -> tuple[Row, ...]:
    assert isinstance(call.effect, Read)
    return services.storage.read(call.effect.request_id, call.effect.query).rows


# Effects: what the fault does, from its args alone.


def dies(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    services.storage.crash()
    assert not services.storage.pending
    services.dead_until_ms = now_ms + whole(args, "for_ms")
    return None


def is_torn(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    assert isinstance(call.effect, Commit)
    ticket = services.storage.arrive(call.effect, call.agent)
    services.storage.torn(ticket, min(whole(args, "count"), len(call.effect.writes)))
    return dies(services, call, now_ms, args)


def is_lost(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    doubt = DOUBTS.get(str(args["told"]))
    return failed(call, doubt, now_ms) if doubt else None


def is_full(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """No more than is used now, and a little: for this batch too little."""
    assert isinstance(call.effect, Commit)
    capacity_bytes = services.storage.used_bytes() + whole(args, "spare_bytes")
    services.tight = Tight(now_ms + whole(args, "for_ms"), capacity_bytes)
    services.turn_to(now_ms)
    is_refused = services.storage.is_due(call.effect, now_ms) and not services.storage.has_room(call.effect)
    return failed(call, "full", now_ms) if is_refused else services.handle(call, now_ms)


def lags(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    services.lags.append(Lag(now_ms + whole(args, "for_ms"), whole(args, "lag_ms")))
    services.turn_to(now_ms)
    return services.handle(call, now_ms)


def reply_lost(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    assert isinstance(call.effect, Commit)
    return Flush(services.storage.arrive(call.effect, call.agent), str(args["told"]))


def strays(storage: SimStorage, query: Query, row: Row) -> list[Row]:
    """Rows that may stand in the place of this one by mistake, in order: only what a reader can tell from it.

    Storage promises no more: a row that fits the question but is not the answer has nothing to betray it.
    """
    scored = (attrs.evolve(other, score_ppm=row.score_ppm) for other in known_rows(storage))
    return [other for other in scored if not asked_for(Read(query), (other,))]


def masks(storage: SimStorage, row: Row) -> list[Row]:
    """Rows whose body may stand under the address of this one by mistake, in order."""
    return [other for other in known_rows(storage) if not is_body_of(row.address, other.body)]


def known_rows(storage: SimStorage) -> list[Row]:
    return [storage.rows[address] for address in sorted(storage.rows, key=address_order)]


def one_of(rows: Sequence[Row], number: int) -> Row:
    """The row of this number: the same one whatever other rows come and go, so that a record can be cut."""
    keyed = Keyed(number.to_bytes(8, "big"))
    return min(rows, key=lambda row: keyed.draw("\0".join(address_order(row.address))))


def with_rows(change: Callable[[Services, list[Row], Args], None]) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        answer = services.answer(call)
        assert isinstance(answer, ReadDone)
        rows = list(answer.rows)
        if rows:
            change(services, rows, args)
        return Later(attrs.evolve(answer, rows=tuple(rows)), now_ms)

    return strike


def damaged(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """One row of this answer; if it is latent, of every answer until the row is written again."""
    rows = true_rows(services, call)
    if not rows:
        return services.handle(call, now_ms)
    index = whole(args, "index") % len(rows)
    rots(services, call, rows[index], now_ms, args)
    after = services.answer(call)
    assert isinstance(after, ReadDone)
    rows = (*after.rows[:index], attrs.evolve(after.rows[index], body=None), *after.rows[index + 1 :])
    return Later(attrs.evolve(after, rows=rows), now_ms)


def rots(services: Services, call: Call, row: Row, now_ms: int, args: Args) -> None:
    """Damage that stays, if it is meant to, and the atlas still allows it."""
    where = place_of(call, row)
    if not args["latent"] or where not in services.storage.rows or not services.atlas.may_rot(where):
        return
    bit = (whole(args, "byte"), whole(args, "bit")) if "byte" in args else None
    services.storage.rot(where, bit)
    services.atlas.lose("storage_damaged" if bit is None else "storage_bit_flip", call.event, now_ms, where)


def flips(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """One bit of a saved session; if it is latent, in every answer until the session is saved again."""
    answer = services.answer(call)
    assert isinstance(answer, ReadDone)
    bit = whole(args, "byte"), whole(args, "bit")
    rows = tuple(attrs.evolve(row, body=flipped(row.body, *bit)) for row in answer.rows)
    for row in [row for row in answer.rows if isinstance(row.body, SessionRow)][:1]:
        rots(services, call, row, now_ms, args)
    return Later(attrs.evolve(answer, rows=rows), now_ms)


def acks_early(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """Storage says that it is done while it is only pending, and dies."""
    assert isinstance(call.effect, Commit)
    answer, keys = services.storage.foretold(call.effect, now_ms), promised(call.effect)
    if answer is None or not keys or not is_losable(call) or not services.atlas.has_left(keys):
        return services.handle(call, now_ms)
    services.atlas.lose("storage_ack_early", call.event, now_ms, *keys)
    dies(services, call, now_ms, args)
    return Later(answer, now_ms)


def is_losable(call: Call) -> bool:
    """New facts, and sessions: what may be absent afterwards without contradicting what core shows."""
    assert isinstance(call.effect, Commit)
    is_plain = all(write.address.kind != "core" for write in call.effect.writes)
    return call.workflow in ("remember", "save_session", "create_session") and is_plain


def promised(commit: Commit) -> tuple[Address, ...]:
    """The keys that the sender will take for stored."""
    return tuple(it.address for it in commit.writes if it.address.kind in ("entity", "session"))


def early_args(services: Services, call: Call, draw: Draw) -> Args | None:
    assert isinstance(call.effect, Commit)
    keys, storage = promised(call.effect), services.storage
    is_due = is_losable(call) and storage.foretold(call.effect, services.now_ms) is not None
    return window(services, call, draw) if is_due and keys and services.atlas.has_left(keys) else None


def wipe_args(services: Services, call: Call, draw: Draw) -> Args | None:
    return window(services, call, draw) if services.atlas.may_wipe() and services.storage.rows else None


def is_wiped(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """Storage restarts empty, and everybody with it: what was on its way to it is on its way to nobody."""
    if not services.atlas.may_wipe():
        return services.handle(call, now_ms)
    services.atlas.lose("storage_wiped", call.event, now_ms)
    services.wipe(now_ms, whole(args, "for_ms"))
    return None


def misdirected_row(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    answer = services.answer(call)
    assert isinstance(answer, ReadDone)
    assert isinstance(call.effect, Read)
    rows = list(answer.rows)
    if not rows:
        return Later(answer, now_ms)
    index, storage = whole(args, "index") % len(rows), services.storage
    others = (
        masks(storage, rows[index]) if args["masked"] else strays(storage, call.effect.query, rows[index])
    )
    if others:
        stray = one_of(others, whole(args, "other"))
        address = rows[index].address if args["masked"] else stray.address
        rows[index] = attrs.evolve(stray, address=address, score_ppm=rows[index].score_ppm)
    return Later(attrs.evolve(answer, rows=tuple(rows)), now_ms)


def repeated(services: Services, rows: list[Row], args: Args) -> None:
    rows.append(rows[whole(args, "index") % len(rows)])


def turned(services: Services, rows: list[Row], args: Args) -> None:
    by = whole(args, "turn") % len(rows)
    rows[:] = [*rows[by:], *rows[:by]][::-1]


def short_page(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """Fewer rows than there are, and a cursor to the rest. Only a scan has pages."""
    assert isinstance(call.effect, Read)
    query = call.effect.query
    if not isinstance(query, ByFilter):
        return services.handle(call, now_ms)
    limit = min(query.limit or 1_000, max(1, whole(args, "count")))
    return Later(services.storage.read(call.effect.request_id, attrs.evolve(query, limit=limit)), now_ms)


ARGS: Final[dict[str, MakeArgs]] = {
    "storage_slow": around_timeout, "storage_unavailable": window, "storage_crash": window,
    "storage_torn": torn_at, "storage_lost": told, "storage_reply_lost": told,
    "storage_ack_early": early_args, "storage_wiped": wipe_args,
    "storage_full": room_left, "storage_index_lag": lag_args,
    "storage_damaged": damaged_row, "storage_misdirected": stray_row, "storage_repeat_row": one_row,
    "storage_bit_flip": one_byte, "storage_short_page": page_count, "storage_shuffled": order_args,
}  # fmt: skip

EFFECTS: Final[dict[str, Strike]] = {
    "storage_slow": slow, "storage_unavailable": goes_away, "storage_crash": dies, "storage_torn": is_torn,
    "storage_lost": is_lost, "storage_reply_lost": reply_lost, "storage_refused": fails("refused"),
    "storage_conflict": fails("conflict"), "storage_full": is_full, "storage_index_lag": lags,
    "storage_read_failed": fails("unavailable"), "storage_damaged": damaged,
    "storage_misdirected": misdirected_row, "storage_repeat_row": with_rows(repeated),
    "storage_shuffled": with_rows(turned), "storage_bit_flip": flips,
    "storage_ack_early": acks_early, "storage_wiped": is_wiped,
    "storage_short_page": short_page,
}  # fmt: skip

"""Faults of storage: calls refused, lost, torn or slow; answers that are short, damaged or misdirected."""

from collections.abc import Callable
from typing import Final

import attrs

from umi_core.effects import ByFilter, ByVector, ByWords, Commit, Read
from umi_core.inputs import ReadDone
from umi_core.values import Row, SessionRow
from umi_sim.faults import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.items import Args
from umi_sim.services import Call, Flush, Handled, Lag, Later, Services, Tight, failed
from umi_sim.storage import strays
from umi_sim.strikes.service import (
    MakeArgs,
    Strike,
    around_timeout,
    fails,
    goes_away,
    slow,
    whole,
    window,
)

# Args: drawn once, when a fault is about to strike.


def told(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"told": ("nothing", "unknown")[draw("told", 2)]}


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


def one_byte(services: Services, call: Call, draw: Draw) -> Args | None:
    rows = true_rows(services, call)
    bodies = [row.body for row in rows if isinstance(row.body, SessionRow)]
    return {"byte": draw("byte", len(bodies[0].snapshot)), "bit": draw("bit", 8)} if bodies else None


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
    return failed(call, "unknown", now_ms) if args["told"] == "unknown" else None


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


def with_rows(change: Callable[[Services, list[Row], Args], None]) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        answer = services.answer(call)
        assert isinstance(answer, ReadDone)
        rows = list(answer.rows)
        if rows:
            change(services, rows, args)
        return Later(attrs.evolve(answer, rows=tuple(rows)), now_ms)

    return strike


def damaged(services: Services, rows: list[Row], args: Args) -> None:
    index = whole(args, "index") % len(rows)
    rows[index] = attrs.evolve(rows[index], body=None)


def misdirected_row(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    answer = services.answer(call)
    assert isinstance(answer, ReadDone)
    assert isinstance(call.effect, Read)
    rows = list(answer.rows)
    index = whole(args, "index") % len(rows) if rows else 0
    others = strays(services.storage, call.effect.query, rows[index]) if rows else []
    if others:
        stray = others[whole(args, "other") % len(others)]
        rows[index] = attrs.evolve(stray, score_ppm=rows[index].score_ppm)
    return Later(attrs.evolve(answer, rows=tuple(rows)), now_ms)


def repeated(services: Services, rows: list[Row], args: Args) -> None:
    rows.append(rows[whole(args, "index") % len(rows)])


def turned(services: Services, rows: list[Row], args: Args) -> None:
    by = whole(args, "turn") % len(rows)
    rows[:] = [*rows[by:], *rows[:by]][::-1]


def flipped(services: Services, rows: list[Row], args: Args) -> None:
    for index, row in enumerate(rows):
        if isinstance(row.body, SessionRow):
            data = bytearray(row.body.snapshot)
            data[whole(args, "byte") % len(data)] ^= 1 << whole(args, "bit") % 8
            rows[index] = attrs.evolve(row, body=attrs.evolve(row.body, snapshot=bytes(data)))


def short_page(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """Fewer rows than there are, and a cursor to the rest."""
    assert isinstance(call.effect, Read)
    query = call.effect.query
    assert isinstance(query, ByFilter)
    limit = min(query.limit or 1_000, max(1, whole(args, "count")))
    return Later(services.storage.read(call.effect.request_id, attrs.evolve(query, limit=limit)), now_ms)


ARGS: Final[dict[str, MakeArgs]] = {
    "storage_slow": around_timeout, "storage_unavailable": window, "storage_crash": window,
    "storage_torn": torn_at, "storage_lost": told, "storage_reply_lost": told,
    "storage_full": room_left, "storage_index_lag": lag_args,
    "storage_damaged": one_row, "storage_misdirected": one_row, "storage_repeat_row": one_row,
    "storage_bit_flip": one_byte, "storage_short_page": page_count, "storage_shuffled": order_args,
}  # fmt: skip

EFFECTS: Final[dict[str, Strike]] = {
    "storage_slow": slow, "storage_unavailable": goes_away, "storage_crash": dies, "storage_torn": is_torn,
    "storage_lost": is_lost, "storage_reply_lost": reply_lost, "storage_refused": fails("refused"),
    "storage_conflict": fails("conflict"), "storage_full": is_full, "storage_index_lag": lags,
    "storage_read_failed": fails("unavailable"), "storage_damaged": with_rows(damaged),
    "storage_misdirected": misdirected_row, "storage_repeat_row": with_rows(repeated),
    "storage_shuffled": with_rows(turned), "storage_bit_flip": with_rows(flipped),
    "storage_short_page": short_page,
}  # fmt: skip

"""Strikes: what each fault kind does to one call of a service.

Law 1. `ARGS` draws everything a fault needs, or None if it would change nothing. Law 2. `EFFECTS` does it,
from the args alone: that is all that a replay needs.
"""

from collections.abc import Callable
from typing import Final

import attrs

from umi_core.effects import AskModel, ByFilter, Commit, Embed, FailureKind, Read
from umi_core.inputs import Embedded, ModelReplied, ReadDone
from umi_core.values import Row, SessionRow
from umi_sim import content_faults
from umi_sim.faults import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.items import Args
from umi_sim.model import truth
from umi_sim.services import SERVICE_OF, Call, Flush, Handled, Later, Services, failed
from umi_sim.source import ArgsMaker
from umi_sim.storage import strays


def args_for(services: Services, call: Call) -> ArgsMaker:
    """Draws the args of a fault about to strike this call; None if it would change nothing."""
    return lambda kind, draw: ARGS.get(kind, no_args)(services, call, draw)


def strike(services: Services, call: Call, now_ms: int, fault: str, args: Args) -> Handled:
    """What comes of a call that arrives now and that this fault strikes."""
    if services.is_away(call, now_ms):
        return services.handle(call, now_ms)
    return EFFECTS[fault](services, call, now_ms, args)


# Args: drawn once, when a fault is about to strike.

MakeArgs = Callable[[Services, Call, Draw], Args | None]


def no_args(services: Services, call: Call, draw: Draw) -> Args | None:
    return {}


def before_timeout(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"after_ms": draw("after_ms", call.effect.timeout_ms)}


def around_timeout(services: Services, call: Call, draw: Draw) -> Args | None:
    timeout_ms = call.effect.timeout_ms
    return {"after_ms": (timeout_ms - 1, timeout_ms, timeout_ms + 1, 10 * timeout_ms)[draw("after_ms", 4)]}


def window(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"for_ms": log_uniform(draw, "for_ms", WINDOW_MS_MAX)}


def retry_after(services: Services, call: Call, draw: Draw) -> Args | None:
    choices = (0, 1, 999, 1_000, 60_000, call.effect.timeout_ms + 1)
    return {"retry_after_ms": choices[draw("retry_after_ms", len(choices))]}


def told(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"told": ("nothing", "unknown")[draw("told", 2)]}


def torn_at(services: Services, call: Call, draw: Draw) -> Args | None:
    assert isinstance(call.effect, Commit)
    count = len(call.effect.writes)
    if count < 2:
        return None
    return {"count": 1 + draw("count", count - 1), "for_ms": log_uniform(draw, "for_ms", WINDOW_MS_MAX)}


def edit_args(kind: str) -> MakeArgs:
    return lambda services, call, draw: sharp(
        kind, true_text(call), content_faults.draw_args(kind, true_text(call), wide(draw))
    )


def wide(draw: Draw) -> content_faults.Draw:
    return lambda label: draw(label, 2**64)


def sharp(kind: str, reply: str, args: Args) -> Args | None:
    return args if content_faults.edit(kind, reply, args) != reply else None


def stale_args(services: Services, call: Call, draw: Draw) -> Args | None:
    graves = sorted({address.id: None for address in services.storage.graves if address.kind == "entity"})
    reply = true_text(call)
    return sharp(
        "model_stale_id", reply, content_faults.places(content_faults.stale(graves))(reply, wide(draw))
    )


def varied_args(services: Services, call: Call, draw: Draw) -> Args | None:
    """Only an answer to a question that was asked before can vary."""
    return edit_args("model_varies")(services, call, draw) if services.attempt(call) > 1 else None


def other_text(services: Services, call: Call, draw: Draw) -> Args | None:
    text = services.last_text
    return {"text": text} if text and text != true_text(call) else None


def true_text(call: Call) -> str:
    assert isinstance(call.effect, AskModel)
    return truth(call.effect.task, call.effect.prompt)


def one_vector(services: Services, call: Call, draw: Draw) -> Args | None:
    assert isinstance(call.effect, Embed)
    return {"index": draw("index", len(call.effect.texts)), "choice": draw("choice", 3)}


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

Strike = Callable[[Services, Call, int, Args], Handled]


def whole(args: Args, name: str) -> int:
    value = args[name]
    assert isinstance(value, int)
    return value


def fails(kind: FailureKind) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        return failed(call, kind, now_ms, int(str(args.get("retry_after_ms", 0))))

    return strike


def fails_later(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    return failed(call, "timeout", call.sent_ms + whole(args, "after_ms"))


def says_nothing(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    services.answer(call)
    return None


def slow(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    at_ms = max(now_ms, call.sent_ms + whole(args, "after_ms"))
    if isinstance(call.effect, Commit):
        return Flush(services.storage.arrive(call.effect, call.agent), at_ms)
    return Later(services.answer(call), at_ms)


def goes_away(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    services.away_until_ms[SERVICE_OF[type(call.effect)]] = now_ms + whole(args, "for_ms")
    return failed(call, "unavailable", now_ms)


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


def reply_lost(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    assert isinstance(call.effect, Commit)
    return Flush(services.storage.arrive(call.effect, call.agent), str(args["told"]))


def edited(kind: str) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        answer = services.answer(call)
        assert isinstance(answer, ModelReplied)
        return Later(attrs.evolve(answer, text=content_faults.edit(kind, answer.text, args)), now_ms)

    return strike


def cut_short(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """The stream was slow: what had come just before the time-out."""
    answer = services.answer(call)
    assert isinstance(answer, ModelReplied)
    at_ms = max(now_ms, call.sent_ms + call.effect.timeout_ms - 1)
    return Later(attrs.evolve(answer, text=content_faults.edit("model_cut", answer.text, args)), at_ms)


def misdirected(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    return Later(ModelReplied(call.effect.request_id, str(args["text"])), now_ms)


def with_vectors(change: Callable[[list[tuple[object, ...]], int, int], None]) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        answer = services.answer(call)
        assert isinstance(answer, Embedded)
        vectors = list(answer.vectors)
        if vectors:
            change(vectors, whole(args, "index") % len(vectors), whole(args, "choice"))
        return Later(attrs.evolve(answer, vectors=tuple(vectors)), now_ms)

    return strike


def zeroed(vectors: list[tuple[object, ...]], index: int, choice: int) -> None:
    vectors[index] = (0,) * len(vectors[index])


def resized(vectors: list[tuple[object, ...]], index: int, choice: int) -> None:
    vectors[index] = (vectors[index][:-1], (*vectors[index], 1), ())[choice % 3]


def recounted(vectors: list[tuple[object, ...]], index: int, choice: int) -> None:
    vectors[:] = vectors[:-1] if choice % 2 else [*vectors, vectors[index]]


def not_whole(vectors: list[tuple[object, ...]], index: int, choice: int) -> None:
    vectors[index] = (("nan", 128, True)[choice % 3], *vectors[index][1:])


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
    "model_timeout": before_timeout, "embed_timeout": before_timeout, "model_rate_limited": retry_after,
    "model_slow": around_timeout, "storage_slow": around_timeout, "model_unavailable": window,
    "embed_unavailable": window, "storage_unavailable": window, "storage_crash": window,
    "storage_torn": torn_at, "storage_lost": told, "storage_reply_lost": told,
    "model_misdirected": other_text, "embed_zero": one_vector, "embed_wrong_dims": one_vector,
    "embed_short": one_vector, "embed_not_finite": one_vector,
    "storage_damaged": one_row, "storage_misdirected": one_row, "storage_repeat_row": one_row,
    "storage_bit_flip": one_byte, "storage_short_page": page_count, "storage_shuffled": order_args,
    **{kind: edit_args(kind) for kind in content_faults.KINDS},
    "model_stale_id": stale_args, "model_varies": varied_args,
}  # fmt: skip

EFFECTS: Final[dict[str, Strike]] = {
    "model_timeout": fails_later, "embed_timeout": fails_later, "model_rate_limited": fails("rate_limited"),
    "model_overflow": fails("too_long"), "model_reply_lost": says_nothing, "embed_reply_lost": says_nothing,
    "model_slow": slow, "storage_slow": slow, "model_unavailable": goes_away, "embed_unavailable": goes_away,
    "storage_unavailable": goes_away, "storage_crash": dies, "storage_torn": is_torn, "storage_lost": is_lost,
    "storage_reply_lost": reply_lost, "storage_refused": fails("refused"),
    "storage_conflict": fails("conflict"), "storage_full": fails("full"),
    "storage_read_failed": fails("unavailable"), "model_misdirected": misdirected,
    "embed_zero": with_vectors(zeroed), "embed_wrong_dims": with_vectors(resized),
    "embed_short": with_vectors(recounted), "embed_not_finite": with_vectors(not_whole),
    "storage_damaged": with_rows(damaged), "storage_misdirected": misdirected_row,
    "storage_repeat_row": with_rows(repeated), "storage_shuffled": with_rows(turned),
    "storage_bit_flip": with_rows(flipped), "storage_short_page": short_page,
    **{kind: edited(kind) for kind in content_faults.KINDS},
    "model_cut": cut_short,
}  # fmt: skip

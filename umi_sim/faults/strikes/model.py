"""Faults of the model: its answer late, cut, edited, or somebody else's."""

from typing import Final

import attrs

from umi_core.messages.answers import ModelReplied
from umi_core.messages.effects import AskModel
from umi_sim.faults import content as content_faults
from umi_sim.faults.kinds import Draw
from umi_sim.faults.strikes.service import (
    MakeArgs,
    Strike,
    around_timeout,
    before_timeout,
    fails,
    fails_later,
    goes_away,
    retry_after,
    says_nothing,
    slow,
    window,
)
from umi_sim.record.items import Args
from umi_sim.services.calls import Call, Handled, Later, Services
from umi_sim.services.model import truth


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


ARGS: Final[dict[str, MakeArgs]] = {
    "model_timeout": before_timeout, "model_rate_limited": retry_after, "model_slow": around_timeout,
    "model_unavailable": window, "model_misdirected": other_text,
    **{kind: edit_args(kind) for kind in content_faults.KINDS},
    "model_stale_id": stale_args, "model_varies": varied_args,
}  # fmt: skip

EFFECTS: Final[dict[str, Strike]] = {
    "model_timeout": fails_later, "model_rate_limited": fails("rate_limited"),
    "model_overflow": fails("too_long"), "model_reply_lost": says_nothing, "model_slow": slow,
    "model_unavailable": goes_away, "model_misdirected": misdirected,
    **{kind: edited(kind) for kind in content_faults.KINDS},
    "model_cut": cut_short,
}  # fmt: skip

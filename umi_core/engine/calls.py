"""Calls: the record of each attempt to ask a model or an embedder: sizes and a hash, no text of a user."""

from hashlib import blake2b
from typing import Final

import attrs

from umi_core.messages.answers import Answer, EffectFailed, ModelReplied
from umi_core.messages.effects import Asked, AskModel, Embed, ModelCall
from umi_core.state import Operation

EMBED_TASK: Final = "embed"


def opened_calls(operation: Operation, step: str, request: Asked, now_ms: int) -> tuple[ModelCall, ...]:
    if not isinstance(request, AskModel | Embed):
        return operation.calls
    texts = (request.prompt,) if isinstance(request, AskModel) else request.texts
    data = "\n".join(texts).encode(errors="surrogatepass")
    texts_count = len(texts) if isinstance(request, Embed) else 0
    call = ModelCall(
        operation.workflow, operation.revision, step, operation.unit, operation.attempt, request.request_id,
        task_of(request), request.profile, now_ms, None, "open", blake2b(data, digest_size=8).hexdigest(),
        len(data), 0, texts_count,
    )  # fmt: skip
    return (*operation.calls, call)


def task_of(asked: Asked | None) -> str:
    """What a model is asked to do; an embedder has one task, and storage none."""
    return asked.task if isinstance(asked, AskModel) else EMBED_TASK if isinstance(asked, Embed) else ""


def closed_calls(
    calls: tuple[ModelCall, ...], answer: Answer, answered_ms: int | None
) -> tuple[ModelCall, ...]:
    """With what came of the attempt; `answered_ms` is None if nobody answered."""
    if not calls or calls[-1].request_id != answer.request_id:
        return calls
    outcome = answer.kind if isinstance(answer, EffectFailed) else "ok"
    size = len(answer.text.encode(errors="surrogatepass")) if isinstance(answer, ModelReplied) else 0
    return (*calls[:-1], attrs.evolve(calls[-1], answered_ms=answered_ms, outcome=outcome, reply_bytes=size))

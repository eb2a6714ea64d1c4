"""Calls: the record of each question to a model or an embedder tells what was asked, and what came of it.

Law 1. Sizes and hash are those of what was sent, as interceptors left it. Law 2. What came late did not come.
"""

from collections.abc import Iterable
from hashlib import blake2b

from umi_core.messages.answers import EffectFailed, Embedded, ModelReplied, Value
from umi_core.messages.effects import AskModel, Embed, ModelCall
from umi_core.state import Operation
from umi_sim.record import rules
from umi_sim.record.broken import demand


def check_opened(operation: Operation, now_ms: int) -> None:
    """Check the record of the question that this operation has just sent to a model or an embedder."""
    sent = operation.sent
    if not isinstance(sent, AskModel | Embed):
        return
    last = operation.calls[-1] if operation.calls else None
    got = (last.operation, *outline(last)) if last is not None else ()
    due = (sent.task if isinstance(sent, AskModel) else "embed", *expect_outline(sent, operation, now_ms))
    demand(got == due, rules.WORKFLOW_CONTRACT, "the record of a call", due, got)


def outline(call: ModelCall) -> tuple[object, ...]:
    """Return all that is known of a call when it is sent."""
    at = (call.workflow, call.revision, call.unit, call.attempt, call.request_id, call.profile, call.asked_ms)
    return *at, call.outcome, call.prompt_hash, call.prompt_bytes, call.texts_count


def expect_outline(sent: AskModel | Embed, operation: Operation, now_ms: int) -> tuple[object, ...]:
    texts = sent.texts if isinstance(sent, Embed) else (sent.prompt,)
    whole = b"\n".join(text.encode(errors="surrogatepass") for text in texts)
    digest, count = blake2b(whole, digest_size=8).hexdigest(), len(texts) if isinstance(sent, Embed) else 0
    it = operation
    at = (it.workflow, it.revision, it.unit, it.attempt, sent.request_id, sent.profile, now_ms)
    return *at, "open", digest, len(whole), count


def check_reported_calls(was: Iterable[ModelCall], now: Iterable[ModelCall]) -> None:
    """Demand that each of the earlier calls is still listed, at its place."""
    due, got = [call.request_id for call in was], [call.request_id for call in now]
    # before the step [q1, q2]; after it [q1, q2, q3] is sound, [q1, q3] is not
    demand(got[: len(due)] == due, rules.WORKFLOW_CONTRACT, "the calls so far", due, got)


def check_closed(value: Value, calls: Iterable[ModelCall]) -> None:
    """Demand that a call is recorded as it was answered; `calls` of the operation that waited for `value`."""
    if not isinstance(value, ModelReplied | Embedded | EffectFailed):
        return
    outcome = value.kind if isinstance(value, EffectFailed) else "ok"
    size = len(value.text.encode(errors="surrogatepass")) if isinstance(value, ModelReplied) else 0
    for call in calls:
        if call.request_id == value.request_id:
            recorded, due = (call.outcome, call.reply_bytes), (outcome, size)
            demand(recorded == due, rules.WORKFLOW_CONTRACT, "what came of a call", due, recorded)

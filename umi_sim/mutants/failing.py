"""Mutants that one kind of failing service reveals: a failure that is taken for another thing than it is."""

from collections.abc import Callable
from typing import Any, Final

from umi_core.engine import attempts, lifecycle, steps
from umi_core.engine.engine import Engine
from umi_core.engine.workflow import Step, abort_error
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone
from umi_core.messages.effects import Asked, AskModel, Commit, Embed, Read
from umi_core.rows import Receipt
from umi_core.state import Operation
from umi_core.workflows.commits import Plan
from umi_sim.mutants import SMALL, Mutant, Original, Patch

# Where the engine does what; a place that has gone is told when this file is read.
PLACES: Final = {
    "give_up": steps, "send": attempts, "answered": attempts, "timed_out": attempts, "settle": attempts,
    "failed": attempts, "sleep": attempts, "resume": lifecycle,
}  # fmt: skip


def in_engine(place: str, wrong: Callable[[Original], Original]) -> tuple[Patch, ...]:
    """A function of the engine, replaced."""
    return (Patch(PLACES[place], place, wrong),)


# Model and embedder.


def aborts(effect: type[Asked], kind: str) -> Callable[[Original], Original]:
    """Where a row would go on with less, it ends the operation."""

    def wrong(original: Original) -> Original:
        def give_up(engine: Engine, operation: Operation, row: Step, what: str, reason: str) -> object:
            if row.effect is effect and what == kind and operation.workflow in ("remember", "recall"):
                return steps.abort(operation, abort_error(row, what, operation.attempt))
            return original(engine, operation, row, what, reason)

        return give_up

    return wrong


def again_at_once(effect: type[Asked]) -> Callable[[Original], Original]:
    """A time-out that the service tells itself has cost time enough."""

    def wrong(original: Original) -> Original:
        def answered(engine: Engine, operation: Operation, answer: Answer) -> object:
            ending = original(engine, operation, answer)
            is_told = isinstance(answer, EffectFailed) and answer.kind == "timeout"
            if is_told and isinstance(operation.asked, effect) and operation.waiting is None:
                operation.due_ms = operation.due_ms and engine.state.seen_ms + 1
            return ending

        return answered

    return wrong


def waits_from_the_question(original: Original) -> Original:
    def sleep(engine: Engine, operation: Operation, row: Step, failure: Any) -> None:
        original(engine, operation, row, failure)
        if isinstance(operation.asked, AskModel) and failure.retry_after_ms and operation.due_ms:
            operation.due_ms -= engine.state.seen_ms - operation.calls[-1].asked_ms

    return sleep


def whole_seconds(original: Original) -> Original:
    def sleep(engine: Engine, operation: Operation, row: Step, failure: Any) -> None:
        original(engine, operation, row, failure)
        waits_ms = (operation.due_ms or 0) - engine.state.seen_ms
        if isinstance(operation.asked, Embed) and waits_ms == failure.retry_after_ms:
            operation.due_ms = engine.state.seen_ms + max(1, waits_ms // 1_000 * 1_000)

    return sleep


# Commits and reads.


def told_as_done(kind: str) -> Callable[[Original], Original]:
    """A commit that failed so, with a plan that leaves core alone, is told as done."""

    def wrong(original: Original) -> Original:
        def failed(engine: Engine, operation: Operation, row: Step, failure: EffectFailed) -> object:
            plan, asked = operation.facts.get("plan"), operation.asked
            is_plain = isinstance(plan, Plan) and plan.core is None and operation.workflow == "remember"
            if is_plain and isinstance(asked, Commit) and is_so(failure, kind):
                return steps.take(engine, operation, row, Committed(failure.request_id))
            return original(engine, operation, row, failure)

        return failed

    return wrong


def is_so(failure: EffectFailed, kind: str) -> bool:
    return failure.kind == kind and not failure.changed


def not_in_doubt(original: Original) -> Original:
    """An outcome that storage calls unknown is taken for a refusal."""

    def answered(engine: Engine, operation: Operation, answer: Answer) -> object:
        if isinstance(answer, EffectFailed) and answer.kind == "unknown" and operation.op_id is not None:
            answer = EffectFailed(answer.request_id, "refused")
        return original(engine, operation, answer)

    return answered


def timed_out(original: Original) -> Original:
    """A commit that storage says has timed out is taken for one that never happened."""

    def answered(engine: Engine, operation: Operation, answer: Answer) -> object:
        is_so = isinstance(answer, EffectFailed) and answer.kind == "timeout"
        if is_so and isinstance(operation.asked, Commit):
            answer = EffectFailed(answer.request_id, "unavailable")
        return original(engine, operation, answer)

    return answered


def believed(original: Original) -> Original:
    """An outcome that storage calls unknown is taken for success."""

    def answered(engine: Engine, operation: Operation, answer: Answer) -> object:
        plan = operation.facts.get("plan")
        is_plain = isinstance(plan, Plan) and plan.core is None and operation.workflow == "remember"
        if isinstance(answer, EffectFailed) and answer.kind == "unknown" and is_plain:
            answer = as_if_done(operation.sent, answer.request_id)
        return original(engine, operation, answer)

    return answered


def as_if_done(sent: Asked | None, request_id: int) -> Committed:
    assert isinstance(sent, Commit)
    receipt = next(write.body for write in sent.writes if isinstance(write.body, Receipt))
    return Committed(request_id, tuple((write.address, 1) for write in sent.writes), receipt)


def nothing_there(original: Original) -> Original:
    def failed(engine: Engine, operation: Operation, row: Step, failure: EffectFailed) -> object:
        is_lookup = operation.workflow == "get_entity" and isinstance(operation.asked, Read)
        if is_lookup and failure.kind == "unavailable":
            return steps.take(engine, operation, row, ReadDone(failure.request_id))
        return original(engine, operation, row, failure)

    return failed


def of_service(
    kind: str, name: str, behaviour: str, rules: tuple[str, ...], place: str, wrong: Any, **more: Any
) -> Mutant:
    area = "storage" if kind.startswith("storage") else "workflow engine"
    return Mutant(name, area, behaviour, rules, "all_faults", in_engine(place, wrong), kind=kind, **more)


LOST: Final = ("text-never-lost", "degradation-named")
WAITS: Final = ("backoff",)
DURABLE: Final = (
    "acknowledged-is-durable", "reference-agrees", "no-lost-update", "once-only", "filter-before-cut",
    "hits-ordered", "version-chain", "access-truth",
)  # fmt: skip

UNHEARD: Final = {  # nearly always, so that all attempts of one commit meet it
    **SMALL, "scenario.swarm.mode": "one_kind", "scenario.swarm.pin.kind": "storage_reply_lost",
    "faults.storage_reply_lost": "7/8", "workload.weights": "{ remember = 2, get_entity = 1, forget = 1 }",
}  # fmt: skip

ROWS: Final = (
    of_service("model_unavailable", "absent-model-loses-text", "while the model is away nothing is stored",
               LOST, "give_up", aborts(AskModel, "unavailable")),
    of_service("model_overflow", "long-prompt-loses-text", "a text whose prompt is too long is not stored",
               LOST, "give_up", aborts(AskModel, "too_long")),
    of_service("embed_unavailable", "absent-embedder-loses-text",
               "while the embedder is away nothing is stored",
               LOST, "give_up", aborts(Embed, "unavailable")),
    of_service("model_timeout", "told-timeout-asks-at-once",
               "a model that says itself that it took too long is asked again at once",
               WAITS, "answered", again_at_once(AskModel)),
    of_service("embed_timeout", "told-timeout-embeds-at-once",
               "an embedder that says itself that it took too long is asked again at once",
               WAITS, "answered", again_at_once(Embed)),
    of_service("model_rate_limited", "wait-counts-from-question",
               "the time that a model asks to wait is counted from the question",
               WAITS, "sleep", waits_from_the_question),
    of_service("embed_rate_limited", "wait-in-whole-seconds",
               "the time that an embedder asks to wait is rounded down to seconds",
               WAITS, "sleep", whole_seconds),
    of_service("storage_unavailable", "away-is-done", "a commit while storage is away is told as done",
               DURABLE, "failed", told_as_done("unavailable")),
    of_service("storage_refused", "refused-is-done", "a commit that is refused is told as done",
               DURABLE, "failed", told_as_done("refused")),
    of_service("storage_full", "full-is-done", "a commit that finds no room is told as done",
               DURABLE, "failed", told_as_done("full")),
    of_service("storage_conflict", "conflict-with-nobody-is-done",
               "a commit in conflict with no row at all is told as done",
               DURABLE, "failed", told_as_done("conflict")),
    of_service("storage_lost", "unknown-is-done", "a commit of which storage says nothing certain is done",
               DURABLE, "answered", believed),
    of_service("storage_reply_lost", "unknown-is-refused",
               "a commit whose outcome storage does not know is told as refused",
               ("refused-means-unchanged", *DURABLE), "answered", not_in_doubt),
    Mutant("timed-out-is-failed", "storage", "a commit that storage says has timed out is told as failed",
           DURABLE, "all_faults", in_engine("answered", timed_out), settings=UNHEARD),
    of_service("storage_read_failed", "unread-is-absent", "an entity that cannot be read once is not there",
               ("error-is-not-empty", "acknowledged-is-durable", "reference-agrees"), "failed", nothing_there,
               alike=("storage_unavailable", "storage_misdirected")),
)  # fmt: skip

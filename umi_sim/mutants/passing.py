"""Mutants that messages, lives and clocks reveal: what comes late, twice, in another order, or never."""

from collections.abc import Callable
from typing import Any, Final

import attrs

from umi_core.engine import attempts
from umi_core.engine.engine import Engine
from umi_core.engine.facts import Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import EPOCH, Learned, Step, Taken
from umi_core.errors import SnapshotDamaged
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, AskModel, Commit, Embed, Read
from umi_core.state import Operation
from umi_core.tiers.core import CoreTier
from umi_core.tiers.session import Loaded, unpacked
from umi_core.values import Scope
from umi_core.workflows import sessions
from umi_core.workflows.commits import CORE, Plan
from umi_core.workflows.recover import BEFORE
from umi_sim.mutants import Mutant, Original, Patch, row_of
from umi_sim.mutants.failing import aborts, in_engine
from umi_sim.mutants.stores import FORGETTING

ANSWER_OF: Final[dict[type[Asked], type]] = {
    AskModel: ModelReplied, Embed: Embedded, Read: ReadDone, Commit: Committed,
}  # fmt: skip

# What never comes.


def unanswered(effect: type[Asked], answer: Any) -> Callable[[Original], Original]:
    """At the time-out of such a question this counts as its answer."""

    def wrong(original: Original) -> Original:
        def timed_out(engine: Engine, operation: Operation) -> object:
            if isinstance(operation.asked, effect) and is_plain(operation):
                return attempts.settle(engine, operation, answer(operation.waiting))
            return original(engine, operation)

        return timed_out

    return wrong


def is_plain(operation: Operation) -> bool:
    """A read of one entity, or a remember that leaves core alone."""
    plan = operation.facts.get("plan")
    is_left = isinstance(plan, Plan) and plan.core is None and operation.workflow == "remember"
    return is_left or operation.workflow == "get_entity"


def forget_is_done(original: Original) -> Original:
    """A forget that is not answered in time is told as done."""

    def timed_out(engine: Engine, operation: Operation) -> object:
        plan = operation.facts.get("plan")
        is_plain = operation.workflow == "forget" and isinstance(plan, Plan) and plan.core is None
        if is_plain and isinstance(operation.asked, Commit) and operation.waiting is not None:
            return attempts.settle(engine, operation, Committed(operation.waiting))
        return original(engine, operation)

    return timed_out


def refused(request_id: int) -> EffectFailed:
    return EffectFailed(request_id, "refused")


# What comes late, twice or out of order.


def late_is_welcome(effect: type[Asked]) -> Callable[[Original], Original]:
    def wrong(original: Original) -> Original:
        def resume(engine: Engine, answer: Any) -> None:
            is_late = answer.request_id not in engine.state.waiting and isinstance(answer, ANSWER_OF[effect])
            again = [
                op for op in engine.state.operations.values() if op.waiting is not None and op.attempt > 1
            ]
            fitting = [op for op in again if isinstance(op.asked, effect)]
            if is_late and fitting:
                answer = attrs.evolve(answer, request_id=fitting[0].waiting)
            original(engine, answer)

        return resume

    return wrong


def taken_twice(original: Original) -> Original:
    """An answer that was taken before is the answer to the next question of its kind."""
    heard: dict[Scope, dict[int, None]] = {}

    def resume(engine: Engine, answer: Any) -> None:
        state = engine.state
        known = heard.setdefault(state.scope, {})
        if answer.request_id in state.waiting:
            if state.phase == "recovering":
                known.clear()
            known[answer.request_id] = None
        elif answer.request_id in known:
            asking = [op for op in state.operations.values() if op.waiting is not None]
            fitting = [op for op in asking if isinstance(answer, ANSWER_OF[type(op.asked)])]  # type: ignore[index]
            answer = attrs.evolve(answer, request_id=fitting[0].waiting) if fitting else answer
        original(engine, answer)

    return resume


def first_come_first_served(original: Original) -> Original:
    """An answer belongs to the question of its kind that has waited longest."""

    def resume(engine: Engine, answer: Any) -> None:
        state = engine.state
        number = state.waiting.get(answer.request_id)
        if number is not None and not isinstance(answer, EffectFailed):
            effect = type(state.operations[number].asked)
            same = [it for it, op in state.waiting.items() if is_asking(state.operations[op], effect)]
            answer = attrs.evolve(answer, request_id=min(same))
        original(engine, answer)

    return resume


def is_asking(operation: Operation, effect: type) -> bool:
    return type(operation.asked) is effect


# Lives.


def epoch_as_it_was(registry: Registry) -> Registry:
    """A life after the first claims no epoch of its own."""
    row = row_of(registry, "recover", "claim")

    def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
        return row.take(facts, answer, view) if answer is not None else Learned(EPOCH(facts[BEFORE]))

    def ask(facts: Facts, view: View) -> Any:
        assert row.ask is not None
        return None if facts[BEFORE] else row.ask(facts, view)

    return registry.replace("recover", "claim", attrs.evolve(row, ask=ask, take=take))


SAFE: Final = 1_000_000  # recoveries begun: no more of them are needed


def safe_mode(registry: Registry) -> Registry:
    """After a recovery that did not come to its end no later one loads core."""
    head, load = row_of(registry, "recover", "head"), row_of(registry, "recover", "load")
    done = row_of(registry, "recover", "done")
    begun: dict[Scope, int] = {}

    def take_head(facts: Facts, answer: Answer | None, view: View) -> Taken:
        begun[view.scope] = begun.get(view.scope, 0) + (view.plan_count == 1)
        return head.take(facts, answer, view)

    def take_load(facts: Facts, answer: Answer | None, view: View) -> Taken:
        return Learned(CORE(CoreTier())) if begun[view.scope] > 1 else load.take(facts, answer, view)

    def take_done(facts: Facts, answer: Answer | None, view: View) -> Taken:
        begun[view.scope] = 0 if begun[view.scope] == 1 else SAFE
        return done.take(facts, answer, view)

    for row, take in ((head, take_head), (load, take_load), (done, take_done)):
        registry = registry.replace("recover", row.id, attrs.evolve(row, take=take))
    return registry


# Clocks.

TEN_MINUTES_MS: Final = 600_000
QUESTIONS_AT_ONCE: Final = 4


def no_leaps(original: Original) -> Original:
    """A clock that is ten minutes further on than the step before is not believed."""

    def step(self: Memory, now_ms: int, value: Any) -> object:
        is_leap = 0 < self.state.seen_ms < now_ms - TEN_MINUTES_MS
        return original(self, self.state.seen_ms if is_leap else now_ms, value)

    return step


def on_time(original: Original) -> Original:
    """Whoever is woken later than he asked for takes it to be the time that he asked for."""

    def step(self: Memory, now_ms: int, value: Any) -> object:
        wanted_ms = self.deadline_ms() if self.state.seen_ms else None
        is_late = wanted_ms is not None and wanted_ms + 1_000 < now_ms
        return original(self, max(wanted_ms or 0, self.state.seen_ms) if is_late else now_ms, value)

    return step


def impatient(original: Original) -> Original:
    """When five questions of remembers are asked at one reading of the clock, a model is not waited for."""
    asked: dict[Scope, list[int]] = {}

    def send(engine: Engine, operation: Operation, row: Step) -> object:
        ending = original(engine, operation, row)
        if operation.workflow != "remember":
            return ending
        now_ms, before = engine.state.seen_ms, asked.setdefault(engine.state.scope, [])
        before[:] = [*(at_ms for at_ms in before if at_ms == now_ms), now_ms]
        if len(before) > QUESTIONS_AT_ONCE and isinstance(operation.asked, AskModel) and operation.waiting:
            engine.effects.pop()
            return attempts.settle(engine, operation, EffectFailed(operation.waiting, "too_long"))
        return ending

    return send


def from_the_future(original: Original) -> Original:
    """A session that was saved later than it is now is taken for damaged."""

    def decode(data: bytes, now_ms: int, config: Any) -> object:
        loaded = original(data, now_ms, config)
        if not isinstance(loaded, Loaded):
            return loaded
        saved_ms = unpacked(unpacked(data)[2])[0]
        return loaded if saved_ms <= now_ms else SnapshotDamaged("from the future")

    return decode


TIME: Final = (  # what makes a memory give up waiting though an answer is on its way
    "model_slow", "storage_slow", "link_delay", "link_reorder", "link_clog", "link_duplicate", "agent_pause",
    "clock_jump_forward", "clock_freeze", "clock_drift",
)  # fmt: skip
SILENCE: Final = (  # what leaves a question to storage without any answer
    "storage_lost", "storage_reply_lost", "storage_torn", "storage_crash", "storage_ack_early",
    "storage_wiped", "link_loss", "link_partition",
)  # fmt: skip
DURABLE: Final = (
    "acknowledged-is-durable", "reference-agrees", "no-lost-update", "once-only", "filter-before-cut",
    "hits-ordered", "access-truth", "error-is-not-empty", "refused-means-unchanged", "deleted-stays-deleted",
)  # fmt: skip
LOST: Final = ("text-never-lost", "degradation-named")
INERT: Final = ("late-is-inert", "workflow-contract", *DURABLE)
SPREAD: Final = {"services.latency": '["spread"]'}
LOOKING: Final = {"workload.weights.get_entity": "20", "faults.link_loss": "1/8"}
IN_TURN: Final = {"services.latency": '["instant"]', "run.policy": '["fifo"]', "agents.in_flight": "4"}


def of_passing(
    kind: str, alike: tuple[str, ...], name: str, behaviour: str, rules: tuple[str, ...], place: str,
    wrong: Any, **settings: str,
) -> Mutant:  # fmt: skip
    others = tuple(it for it in alike if it != kind)
    patches = in_engine(place, wrong)
    return Mutant(
        name, "workflow engine", behaviour, rules, "all_faults", patches, kind=kind, alike=others,
        settings=settings,
    )  # fmt: skip


MESSAGES: Final = (
    of_passing("model_reply_lost", (*TIME, "model_timeout", "link_loss", "link_partition", "model_cut"),
               "silent-model-loses-text", "when a model does not answer the text is not stored",
               LOST, "give_up", aborts(AskModel, "timeout")),
    of_passing("embed_reply_lost", (*TIME, "embed_timeout", "link_loss", "link_partition"),
               "silent-embedder-loses-text", "when an embedder does not answer the text is not stored",
               LOST, "give_up", aborts(Embed, "timeout")),
    of_passing("link_loss", (*TIME, *SILENCE), "unanswered-read-is-empty",
               "an entity that nobody tells of in time is not there",
               DURABLE, "timed_out", unanswered(Read, ReadDone), **LOOKING),
    of_passing("link_partition", (*TIME, *SILENCE), "unanswered-commit-is-refused",
               "a commit that is not answered in time is told as refused",
               DURABLE, "timed_out", unanswered(Commit, refused)),
    of_passing("storage_crash", (*TIME, *SILENCE), "unanswered-commit-is-done",
               "a commit that is not answered in time is told as done",
               DURABLE, "timed_out", unanswered(Commit, Committed)),
    of_passing("storage_torn", (*TIME, *SILENCE), "unanswered-forget-is-done",
               "a forget that is not answered in time is told as done",
               ("deleted-stays-deleted", *DURABLE), "timed_out", forget_is_done, **FORGETTING),
    of_passing("model_slow", (*TIME, "model_cut"), "late-reply-taken",
               "a late answer of a model is taken for the answer to the next attempt",
               INERT, "resume", late_is_welcome(AskModel)),
    of_passing("storage_slow", TIME, "late-commit-taken",
               "a late answer to a commit is taken for the answer to the next attempt",
               INERT, "resume", late_is_welcome(Commit)),
    of_passing("link_delay", TIME, "late-rows-taken",
               "late rows are taken for the answer to the next attempt",
               INERT, "resume", late_is_welcome(Read), **SPREAD),
    of_passing("link_clog", TIME, "late-vectors-taken",
               "late vectors are taken for the answer to the next attempt",
               INERT, "resume", late_is_welcome(Embed)),
    of_passing("link_duplicate", (), "answer-taken-twice",
               "an answer that comes twice is taken for the answer to another question, too",
               INERT, "resume", taken_twice),
    of_passing("link_reorder", (*TIME, *SILENCE, "model_reply_lost", "embed_reply_lost", "model_timeout",
                                "embed_timeout", "model_cut", "agent_crash", "agent_crash_again",
                                "agent_lower_limit"),
               "answers-in-turn", "an answer is taken for that to the question that has waited longest",
               INERT, "resume", first_come_first_served, **IN_TURN),
)  # fmt: skip

STORED: Final = ("core-current", "version-chain", "relation-ends", "restart-invisible", *DURABLE)

LIVES: Final = (
    Mutant("epoch-as-it-was", "storage", "a new life goes on under the epoch of the last one",
           STORED, "all_faults", tables=epoch_as_it_was, kind="agent_crash",
           alike=("agent_lower_limit", "agent_crash_again", "storage_wiped"),
           settings={**SPREAD, "faults.agent_crash": "1/12", "workload.operations": "32"}),
    Mutant("safe-mode-without-core", "storage", "after a recovery that was cut short core is never loaded",
           ("no-defaults-over-data",), "all_faults", tables=safe_mode, kind="agent_crash_again",
           alike=("storage_wiped",)),
    Mutant("leap-not-believed", "working", "a clock that leaps ahead is not believed",
           ("ttl-boundary", "ttl-contract", "reference-agrees", "progress", "rest-time"), "all_faults",
           (Patch(Memory, "step", no_leaps),), kind="clock_jump_forward", settings={"clock.land": "0/1"}),
    Mutant("future-session-refused", "session",
           "a session that was saved later than it is now is taken for damaged",
           ("snapshot-guarded",), "handoff", (Patch(sessions, "decode", from_the_future),),
           kind="clock_drift", alike=("clock_jump_forward", "clock_jump_back", "clock_freeze", "agent_pause"),
           settings={"agents.count": "2", "clock.land": "0/1", "workload.operations": "40",
                     "workload.weights.create_session": "4"}),
    Mutant("overslept-is-on-time", "working", "who is woken late takes it to be the time he asked for",
           ("ttl-contract", "ttl-boundary", "reference-agrees", "rest-time"), "all_faults",
           (Patch(Memory, "step", on_time),), kind="agent_pause",
           alike=("clock_jump_forward", "clock_freeze"),
           settings={"workload.weights.set": "40", "workload.operations": "32"}),
    Mutant("standing-clock-not-waited-for", "workflow engine",
           "while the clock stands a model is not waited for", LOST, "all_faults",
           in_engine("send", impatient), kind="clock_freeze", alike=("clock_jump_back",),
           settings={**SPREAD, "agents.in_flight": "1", "workload.weights.remember": "30"}),
)  # fmt: skip

ROWS: Final = (*MESSAGES, *LIVES)

"""Goal: interceptors around steps are called once per run of a step, and may do there what 1.6 says."""

from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import pytest
from msgspec import structs

from tests.unit.core.engine.tables import X, Y, learns, row
from tests.unit.core.engine.trial import (
    CHANGED,
    COMMIT,
    COUNT,
    END,
    MODEL,
    READ,
    UNITS,
    Trial,
    asking,
    begun,
    planned_steps,
)
from tests.worlds import ALICE, Pair
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.engine.engine import fence
from umi_core.engine.facts import Fact, Facts
from umi_core.engine.middleware import (
    Attempt,
    HookContext,
    Interceptor,
    Interceptors,
    Pass,
    Refuse,
    Rewrite,
    Substitute,
    run_after,
    run_before,
)
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import OUTCOME, Learned, Rejection, Step, Unusable, Workflow, degrade, retry
from umi_core.errors import (
    Conflict,
    EmptyText,
    Fenced,
    ModelFailed,
    Rejected,
    StepFailed,
    StorageRefused,
    WorkflowBroken,
)
from umi_core.memory import Memory
from umi_core.messages.answers import Committed, EffectFailed, ModelReplied, ReadDone, Wake
from umi_core.messages.effects import AskModel, Degraded, Done, Failed, HookNote, Refused, Unknown
from umi_core.messages.requests import Count, GetEntity, Remember
from umi_core.values import RoutingDecision
from umi_core.workflows import BUILT_IN


class Looking(Owner):
    """Interceptors of any name that note their calls, and return what a script says, `pass` elsewhere."""

    says: dict[str, Any] = {}
    calls: list[str] = []
    seen: dict[str, Any] = {}

    def called(self, site: Literal["effect", "step"], name: str, **more: Any) -> Interceptor:
        def hook(kind: str) -> Callable[..., Any]:
            def observe(context: HookContext, *seen: Any) -> Any:
                attempt = f"#{context.attempt}" if context.attempt else ""
                self.calls.append(f"{name}.{kind} {context.step}{attempt}")
                self.seen[f"{name}.{kind}"] = seen
                decision = self.says.get(f"{name}.{kind}", Pass())
                return decision() if callable(decision) else decision

            return observe

        return Interceptor(name, site, hook("before"), hook("after"), hook("on_error"), **more)


def raises(*_: object) -> Any:
    raise ValueError("ours")


def hooked(looking: Looking, *steps: Step, op_id: int | None = 1, **given: object) -> Trial:
    """One operation with an interceptor `s` around its steps and `e` around its effects."""
    facts = tuple(Fact[Any](name, object) for name in given)
    registry = Registry().register(Workflow("w", facts, steps))
    for interceptor in (looking.called("step", "s", steps=("a",)), looking.called("effect", "e")):
        registry = registry.with_interceptor(interceptor)
    return begun(registry, op_id, **given)


A = asking("a", MODEL, retry(2), take=learns(x=1), produces=(X,))
TELLS = Step("b", lambda facts, *_: Learned(OUTCOME(Done(facts[X]))), (X,), (OUTCOME,))


# Which hooks are called.


def test_o18_attempts_are_inside_the_middleware_of_their_step() -> None:
    looking = Looking()
    run = hooked(looking, A, TELLS)
    run.fail("unavailable")
    run.at(100)
    run.answer(ModelReplied(0, "x"))
    assert run.outcome == Done(1)
    assert looking.calls == [
        "s.before a", "e.before a#1", "e.on_error a#1", "e.before a#2", "e.after a#2", "s.after a",
    ]  # fmt: skip


def test_all_units_of_a_step_are_one_run_of_it() -> None:
    looking = Looking()
    each = asking("a", READ, retry(1), take=learns(n=2), each=UNITS, produces=(Fact("n", tuple[int, ...]),))
    run = hooked(looking, each, END, units=(1, 2))
    run.answer(ReadDone(0))
    run.answer(ReadDone(0))
    assert (looking.calls[0], looking.calls[-1], len(looking.calls)) == ("s.before a", "s.after a", 6)
    assert looking.seen["s.after"][1][Fact("n", tuple[int, ...])] == (2, 2)
    none = Looking()
    assert hooked(none, each, END, units=()).outcome == Done("fine")
    assert none.calls == ["s.before a", "s.after a"]


def test_a_skipped_step_makes_no_call() -> None:
    looking = Looking()
    skipped = structs.replace(A, when=lambda facts: False, otherwise={"x": 5})
    assert hooked(looking, skipped, TELLS).outcome == Done(5)
    assert looking.calls == []


def test_what_a_policy_mends_is_no_failure_of_the_step() -> None:
    looking = Looking()
    run = hooked(looking, structs.replace(A, on_failure=retry(1, then=degrade("none", X(7)))), TELLS)
    run.fail("unavailable")
    assert run.outcome == Done(7, (Degraded("a:none", "unavailable"),))
    assert (looking.calls[-1], looking.seen["s.after"][1][X]) == ("s.after a", 7)


def test_the_end_of_a_policy_is_reported_with_its_error() -> None:
    looking = Looking()
    run = hooked(looking, structs.replace(A, on_failure=retry(1)), TELLS)
    run.fail("unavailable")
    assert run.outcome == Failed(ModelFailed("a", "unavailable", 1))
    assert (looking.calls[-1], looking.seen["s.on_error"][1]) == (
        "s.on_error a", ModelFailed("a", "unavailable", 1),
    )  # fmt: skip


FINAL: dict[str, tuple[Step, Any]] = {
    "the fault of the caller": (
        Step("a", lambda *_: Rejection(EmptyText()), (), (X,)),
        Refused(EmptyText()),
    ),
    "a broken table": (
        Step("a", learns(z=1), (), (X,)),
        Failed(WorkflowBroken("w", 1, "a", "undeclared", ("z",))),
    ),
}


@pytest.mark.parametrize(("step", "outcome"), FINAL.values(), ids=FINAL)
def test_what_is_no_fault_of_the_world_is_reported_and_not_repaired(step: Step, outcome: Any) -> None:
    looking = Looking({"s.on_error": Substitute({"x": 1})})
    registry = Registry({"w": (Workflow("w", (), (step, END)),)})
    run = begun(registry.with_interceptor(looking.called("step", "s")), 1)
    assert run.outcome == outcome
    assert looking.calls == ["s.before a", "s.on_error a"]
    assert looking.seen["s.on_error"][1] == outcome.error
    assert run.replies[0].hooks == (HookNote("s", "on_error", "bad_result", "a"),)


def test_a_step_that_is_planned_again_is_reported_and_begins_anew() -> None:
    looking = Looking()
    registry = Registry().register(Workflow("w", (), planned_steps()))
    run = begun(registry.with_interceptor(looking.called("step", "s")), 1)
    run.answer(ReadDone(0))
    run.fail("conflict", changed=CHANGED)
    run.answer(ReadDone(0))
    run.answer(Committed(0))
    assert isinstance(run.outcome, Done)
    once = ["s.before look", "s.after look", "s.before plan", "s.after plan", "s.before commit"]
    assert looking.calls == [
        *once, "s.on_error commit", *once, "s.after commit", "s.before end", "s.after end",
    ]  # fmt: skip
    assert looking.seen["s.on_error"][1] == Conflict("commit", "conflict", 1)


def test_a_conflict_that_is_the_fault_of_the_caller_is_reported() -> None:
    looking = Looking()
    steps = planned_steps(conflict_error=lambda *_: EmptyText())
    registry = Registry().register(Workflow("w", (), steps))
    run = begun(registry.with_interceptor(looking.called("step", "s", steps=("commit",))), 1)
    run.answer(ReadDone(0))
    run.fail("conflict", changed=CHANGED)
    assert run.outcome == Refused(EmptyText())
    assert looking.calls == ["s.before commit", "s.on_error commit"]


def test_the_end_of_a_run_calls_no_operation() -> None:
    looking = Looking()
    run = hooked(looking, A, TELLS)
    run.engine(lambda engine: fence(engine, 3))
    assert run.outcome == Failed(Fenced(3))
    assert looking.calls == ["s.before a", "e.before a#1"]


# What they may do.


def test_a_refused_step_asks_nothing_and_ends_as_its_effect_would() -> None:
    looking = Looking({"s.before": Refuse("no")})
    run = hooked(looking, A, TELLS)
    assert (run.sent, run.outcome) == ([], Failed(ModelFailed("a", "refused", 0)))
    assert looking.calls == ["s.before a"]
    assert run.replies[0].hooks == (HookNote("s", "before", "refused", "a"),)
    assert hooked(looking, row("a", x=1), TELLS).outcome == Failed(StepFailed("a", "refused", 0))


def test_facts_in_place_of_a_step_are_those_that_it_would_have_learnt() -> None:
    run = hooked(Looking({"s.before": Substitute(X(8))}), A, TELLS)
    assert (run.sent, run.outcome) == ([], Done(8))
    assert run.replies[0].hooks == (HookNote("s", "before", "substituted", "a"),)
    wrong = hooked(Looking({"s.before": Substitute(Y(8))}), row("a", x=1), TELLS)
    assert wrong.outcome == Done(1)
    assert wrong.replies[0].hooks == (HookNote("s", "before", "bad_result", "a"),)


DECISION = RoutingDecision("ent", "human", True, 0, "", "model", None)


def moving(facts: Any, answer: Any, view: Any) -> Learned:
    """Learns a fact, changes a tier, goes without something, and jumps."""
    view.tiers.decisions = (DECISION,)
    return Learned(X(1), "b", (("part", "bad", 1),))


MOVES = Step("a", moving, (), (X,), skips_to=("b",))
SKIPPED = Step("no", raises, (), (COUNT,), otherwise={"n": 0})


def test_what_is_refused_afterwards_was_never_learnt() -> None:
    run = hooked(Looking({"s.after": Refuse("no")}), MOVES, SKIPPED, TELLS)
    assert run.outcome == Failed(StepFailed("a", "refused", 0))
    assert (run.state.tiers.decisions, run.state.counters) == ((), {"hook refused": 1, "w failed": 1})


def test_other_facts_afterwards_leave_tiers_and_jump_as_they_are() -> None:
    run = hooked(Looking({"s.after": Substitute(X(9))}), MOVES, SKIPPED, TELLS)
    assert run.outcome == Done(9, (Degraded("a:part", "bad"),))
    assert run.state.tiers.decisions == (DECISION,)


def test_a_fallback_is_a_degradation_and_the_step_goes_on() -> None:
    looking = Looking({"s.on_error": Substitute(X(3))})
    run = hooked(looking, structs.replace(A, on_failure=retry(1)), TELLS)
    run.fail("too_long")
    assert run.outcome == Done(3, (Degraded("a:hook:s", "too_long"),))
    assert run.replies[0].hooks == (HookNote("s", "on_error", "substituted", "a"),)


def test_a_fallback_for_what_an_inner_one_refused_brings_no_tier_with_it() -> None:
    looking = Looking({"inner.after": Refuse("no"), "outer.on_error": Substitute(X(4))})
    registry = Registry().register(
        Workflow("w", (), (MOVES, structs.replace(SKIPPED, take=learns(n=1)), TELLS))
    )
    for name in ("outer", "inner"):
        registry = registry.with_interceptor(looking.called("step", name, steps=("a",)))
    run = begun(registry, 1)
    assert run.outcome == Done(4, (Degraded("a:hook:outer", "refused"),))
    assert run.state.tiers.decisions == ()


def test_a_commit_may_be_refused_before_and_only_looked_on_afterwards() -> None:
    commit = asking("a", COMMIT, retry(1), take=learns(x=1), produces=(X,))
    assert hooked(Looking({"s.before": Refuse("no")}), commit, TELLS).outcome == Failed(
        StorageRefused("a", "refused", 0)
    )
    for verdict in (Refuse("no"), Substitute(X(2))):
        run = hooked(Looking({"s.after": verdict}), commit, TELLS)
        run.answer(Committed(0))
        assert run.outcome == Done(1)
        assert run.replies[0].hooks == (HookNote("s", "after", "bad_result", "a"),)
    failed = hooked(Looking({"s.on_error": Substitute(X(2))}), commit, TELLS)
    failed.fail("refused")
    assert failed.outcome == Failed(StorageRefused("a", "refused", 1))
    assert failed.replies[0].hooks == (HookNote("s", "on_error", "bad_result", "a"),)


def test_a_refusal_after_a_durable_commit_does_not_say_that_nothing_happened() -> None:
    commit = asking("c", COMMIT, retry(1))
    run = hooked(Looking({"s.before": Refuse("no")}), commit, row("a", x=1), TELLS)
    run.answer(Committed(0))
    assert run.outcome == Unknown()


# Hook failures stand beside the cause.


def test_o16_the_cause_of_a_failure_stays_and_what_hooks_did_stands_beside_it() -> None:
    looking = Looking({"s.on_error": raises, "e.on_error": raises})
    run = hooked(looking, structs.replace(A, on_failure=retry(1)), TELLS)
    run.fail("unavailable")
    assert run.outcome == Failed(ModelFailed("a", "unavailable", 1))
    assert run.replies[0].hooks == (
        HookNote("e", "on_error", "ValueError", "a"),
        HookNote("s", "on_error", "ValueError", "a"),
    )


@pytest.mark.parametrize("site", ["effect", "step"])
def test_o15_a_hook_that_has_to_fail_afterwards_names_the_success(site: Literal["effect", "step"]) -> None:
    looking = Looking({"h.after": raises})
    registry = Registry().register(Workflow("w", (), (A, TELLS)))
    run = begun(registry.with_interceptor(looking.called(site, "h", steps=("a",), on_raise="fail")), 1)
    run.answer(ModelReplied(0, "x"))
    assert run.outcome == Failed(ModelFailed("a", "refused", 1))
    assert run.replies[0].hooks == (HookNote("h", "after", "ValueError", "a"),)
    (call,) = run.replies[0].calls
    assert call.outcome == "ok"


def test_unusable_answers_are_reported_as_every_failure() -> None:
    looking = Looking()
    last = structs.replace(A, take=lambda *_: Unusable("no_json"), on_failure=retry(1))
    run = hooked(looking, last, TELLS)
    run.answer(ModelReplied(0, "x"))
    assert looking.calls[-2:] == ["e.after a#1", "s.on_error a"]
    assert run.outcome == Failed(ModelFailed("a", "unusable", 1))


# Any mix of them.

WORDS: dict[str, Any] = {"pass": Pass(), "refuse": Refuse("no"), "raise": raises}


@pytest.mark.uncounted
@pytest.mark.parametrize("on_raise", ["ignore", "fail"])
def test_a_hook_that_passed_is_called_exactly_once_more(on_raise: Literal["ignore", "fail"]) -> None:
    """Over every mix of what two of them say before and afterwards, and of what becomes of the effect."""
    context, failure = HookContext("w", "a", 1, "extract", 1), EffectFailed(0, "unavailable")
    words: dict[str, Any] = {**WORDS, "substitute": Substitute(ModelReplied(0, "h"))}
    for *says, answer in product(words, words, words, words, (failure, ModelReplied(0, "E"))):
        script = dict(zip(("a.before", "a.back", "b.before", "b.back"), says, strict=True))
        looking = Looking({name: words[word] for name, word in script.items() if "before" in name})
        for name, kind in product("ab", ("after", "on_error")):
            looking.says[f"{name}.{kind}"] = words[script[f"{name}.back"]]
        hooks = Interceptors(tuple(looking.called("effect", name, on_raise=on_raise) for name in "ab"))
        entered = run_before(hooks.ordered, Attempt(context, MODEL))
        run_after(hooks, entered.names, entered.wrapped, entered.result or answer)
        names = [call.split()[0] for call in looking.calls]
        out = [name[0] for name in names if name.endswith("before")]
        back = [name[0] for name in names if not name.endswith("before")]
        passed = [name for name in out if script[f"{name}.before"] == "pass"]
        assert (out, back) == (sorted(out), passed[::-1]), script
        assert names == [f"{name}.before" for name in out] + names[len(out) :], script


# In a memory.


def watched(looking: Looking, **more: Any) -> Pair:
    pair = Pair().run()
    pair.memory.intercept(looking.called("step", "s", **more))
    return pair


def test_o19_late_answers_call_no_operation() -> None:
    looking = Looking()
    pair = watched(looking)
    (read_one,) = pair.step(Count(1))
    pair.pending.clear()
    pair.wake()
    pair.step(pair.world(read_one))
    assert (looking.calls, pair.memory.marks) == (["s.before read"], ("late answer",))


def test_o19_an_operation_keeps_the_set_it_began_with() -> None:
    looking, pair = Looking(), Pair().run()
    pair.step(Count(1))
    pair.memory.intercept(looking.called("step", "s"))
    pair.run()
    assert looking.calls == []
    pair.step(Count(2))
    assert (pair.memory.dispose("s"), pair.memory.dispose("s"), pair.memory.dispose("other")) == (
        True, False, False,
    )  # fmt: skip
    pair.run()
    assert looking.calls == ["s.before read", "s.after read"]
    pair.ask(Count(3))
    assert len(looking.calls) == 2
    pair.memory.intercept(Interceptor("s", "step"))
    with pytest.raises(Rejected):
        pair.memory.intercept(Interceptor("s"))


def test_a_restored_memory_goes_on_inside_the_middleware() -> None:
    looking = Looking()
    pair = watched(looking)
    pair.step(Count(1))
    copy = Memory.restore(pair.memory.snapshot(), pair.memory.registry, life=0)
    copy.step(0, pair.world(pair.pending[0]))
    assert looking.calls == ["s.before read", "s.after read"]


def test_recovery_is_only_looked_on() -> None:
    looking = Looking({"s.before": Refuse("no"), "s.after": Substitute({})})
    pair = Pair(registry=BUILT_IN.with_interceptor(looking.called("step", "s"))).run()
    assert pair.memory.state.phase == "ready"
    assert pair.memory.state.counters["hook failed"] == 9
    assert "s.after head" not in looking.calls  # out, since its earlier result was no verdict


def test_a_refused_scan_is_not_begun_again_at_once() -> None:
    pair = Pair(config=Config()).run()
    pair.memory.intercept(Looking({"s.before": Refuse("no")}).called("step", "s", workflows=("rebalance",)))
    pair.ask(Remember(1, "Alice likes tea"))
    due_ms = pair.memory.deadline_ms()
    assert due_ms is not None
    pair.wake(due_ms)
    assert pair.memory.state.counters["rebalance failed"] == 1
    later_ms = pair.memory.deadline_ms()
    assert later_ms == due_ms + pair.memory.state.config.rebalance_interval_ms


def test_rewrites_are_for_effects() -> None:
    looking = Looking({"s.before": Rewrite(AskModel("extract", "p"))})
    pair = watched(looking)
    assert pair.ask(GetEntity(1, ALICE)) == Done()
    assert pair.replies[1].hooks == (HookNote("s", "before", "bad_result", "read"),)
    assert looking.calls == ["s.before read"]
    assert pair.step(Wake()) == []


def test_hooks_keep_what_they_have_seen() -> None:
    looking = Looking()
    pair = watched(looking, workflows=("remember",), steps=("extract",))
    pair.ask(Remember(1, "Alice likes tea"))
    (known,) = looking.seen["s.before"]
    assert isinstance(known, Facts)
    assert sorted(known.known) == ["receipt", "request", "request_key", "stated", "stated_on"]

"""Goal: sets of interceptors, and what becomes of a memory that they are around (EN6)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import structs

from tests.worlds import ALICE, Pair
from umi_core.engine.middleware import (
    HookContext,
    Interceptor,
    Interceptors,
    Pass,
    Refuse,
    Rewrite,
    Site,
    Substitute,
)
from umi_core.errors import Rejected, StorageRefused
from umi_core.limits import INTERCEPTOR_COUNT_MAX
from umi_core.messages.answers import Answer, Committed, Embedded, ReadDone, Wake
from umi_core.messages.effects import Asked, AskModel, Degraded, Done, Failed, HookNote
from umi_core.messages.requests import Count, Forget, GetEntity, Recall, Remember
from umi_core.messages.results import Recalled, Resolution
from umi_core.rows import Address, Entity, Row
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN

CONTEXT = HookContext("w", "s", 1, "extract", 5)

# Sets of interceptors.


def names(*known: Interceptor) -> list[str]:
    set_of = Interceptors()
    for interceptor in known:
        set_of = set_of.add(interceptor)
    return [interceptor.name for interceptor in set_of.ordered]


def test_the_order_is_priority_then_registration() -> None:
    late, early = Interceptor("a", priority=1), Interceptor("b", priority=-1)
    assert names(Interceptor("c"), late, early, Interceptor("d")) == ["b", "c", "d", "a"]


def refusal(known: Sequence[Interceptor]) -> str:
    try:
        names(*known)
    except Rejected as rejected:
        return str(rejected)
    return ""


def test_a_name_is_taken_once() -> None:
    assert refusal((Interceptor("a"), Interceptor("a", priority=1))) == "InterceptorExists(a, ())"


def test_a_set_is_bounded() -> None:
    hooks = [Interceptor(f"h{n}") for n in range(INTERCEPTOR_COUNT_MAX + 1)]
    assert (refusal(hooks[:-1]), refusal(hooks)) == ("", "TooManyInterceptors(h32, ())")


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        ({"effects": ("model", "reply", "ask")}, "('reply', 'ask')"),
        ({"tasks": ("extract", "embed", "Extract")}, "('Extract',)"),
        ({"site": "step", "tasks": ("extract",)}, "('extract',)"),
        ({"site": "row", "on_raise": "retry"}, "('row', 'retry')"),
    ],
)
def test_a_filter_names_what_exists(given: dict[str, Any], unknown: str) -> None:
    with pytest.raises(Rejected) as caught:
        Interceptor("h", **given)
    assert str(caught.value) == f"BadFilter(h, {unknown})"


def test_an_interceptor_that_names_a_step_is_at_no_other() -> None:
    assert [Interceptor("h", steps=(name,)).applies(CONTEXT, "model") for name in ("s", "s2")] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("filters", "applies"),
    [
        ({}, True),
        ({"workflows": ("w",), "steps": ("s",), "effects": ("model",), "tasks": ("extract",)}, True),
        ({"workflows": ("v",)}, False),
        ({"effects": ("embed",)}, False),
        ({"tasks": ("route",)}, False),
    ],
)
def test_filters_are_exact_names_and_empty_means_all(filters: dict[str, Any], applies: bool) -> None:
    assert Interceptor("h", **filters).applies(CONTEXT, "model") == applies


def test_a_set_is_known_by_its_names_in_order_and_what_they_are_around() -> None:
    one, other = Interceptors((Interceptor("a"),)), Interceptors((Interceptor("b"),))
    both = [Interceptors((*one.ordered, *other.ordered)), Interceptors((*other.ordered, *one.ordered))]
    around = Interceptors((Interceptor("a", "step"),))
    assert len({it.fingerprint for it in (one, other, around, *both)}) == 5
    assert (both[0].around_effects, around.around_effects) == (both[0].ordered, ())
    assert (both[0].around_steps, around.around_steps) == ((), around.ordered)
    assert one.remove("a").fingerprint == Interceptors().fingerprint


# In a memory.


def pair_with(*interceptors: Interceptor) -> Pair:
    """Recovered before the interceptors come."""
    pair = Pair().run()
    for interceptor in interceptors:
        pair.memory.intercept(interceptor)
    return pair


def counted(calls: list[str], site: Site = "effect", **more: Any) -> Interceptor:
    def noting(kind: str) -> Callable[..., Pass]:
        def note(context: HookContext, *_: object) -> Pass:
            calls.append(f"{kind} {context.step}#{context.attempt}")
            return Pass()

        return note

    return Interceptor("h", site, noting("before"), noting("after"), noting("on_error"), **more)


def test_o18_each_attempt_is_an_middleware_of_its_own() -> None:
    calls: list[str] = []
    pair = pair_with(counted(calls))
    pair.step(Count(1))
    pair.fail("unavailable")
    pair.run()
    assert calls == ["before read#1", "on_error read#1", "before read#2", "after read#2"]


def test_o19_late_answers_call_no_hook() -> None:
    calls: list[str] = []
    pair = pair_with(counted(calls))
    (read_one,) = pair.step(Count(1))
    pair.pending.clear()
    pair.wake()
    assert calls == ["before read#1", "on_error read#1"]
    pair.step(pair.world(read_one))
    assert (calls[2:], pair.memory.marks) == ([], ("late answer",))


def test_o19_an_operation_keeps_the_set_it_began_with() -> None:
    calls: list[str] = []
    pair = Pair().run()
    pair.step(Count(1))
    pair.memory.intercept(counted(calls))
    pair.run()
    assert calls == []
    pair.step(Count(2))
    pair.memory.use(pair.memory.registry.without_interceptor("h"))
    pair.run()
    assert calls == ["before read#1", "after read#1"]


def test_what_on_error_gives_instead_counts_as_degraded_and_is_no_failure() -> None:
    pair = pair_with(Interceptor("h", on_error=lambda *_: Substitute(ReadDone(0, count=9))))
    pair.step(Count(1))
    pair.fail("unavailable")
    reply = pair.replies[1]
    assert reply.outcome == Done(9, (Degraded("read:hook:h", "unavailable"),))
    assert reply.hooks == (HookNote("h", "on_error", "substituted", "read"),)
    assert pair.memory.state.counters["degraded read:hook:h"] == 1


def test_after_hooks_see_the_request_that_was_sent() -> None:
    seen: list[Asked] = []

    def shorten(context: HookContext, request: Asked) -> Rewrite:
        assert isinstance(request, AskModel)
        return Rewrite(structs.replace(request, prompt='INPUT text = "Bob snores"', timeout_ms=5))

    def look(context: HookContext, request: Asked, answer: Answer) -> Pass:
        seen.append(request)
        return Pass()

    pair = pair_with(Interceptor("h", "effect", shorten, look, tasks=("extract",)))
    (sent,) = pair.step(Remember(1, "Alice likes tea"))
    assert (pair.memory.deadline_ms(), pair.memory.state.operations[2].calls[0].prompt_bytes) == (5, 25)
    pair.run()
    assert seen == [sent]
    assert [row.address.id for row in pair.rows("entity")] != [ALICE]


def test_a_refused_commit_changes_nothing_and_is_not_asked_again() -> None:
    pair = pair_with(Interceptor("h", "effect", lambda *_: Refuse("not now"), effects=("commit",)))
    assert pair.ask(Remember(1, "Alice likes tea")) == Failed(StorageRefused("commit", "refused", 1))
    assert pair.rows("entity") == []
    assert pair.replies[1].hooks == (HookNote("h", "before", "refused", "commit"),)


def test_a_durable_commit_cannot_be_refused_or_replaced_afterwards() -> None:
    refuse = Interceptor("refuse", after=lambda *_: Refuse("too late"), effects=("commit",))
    replace = Interceptor("replace", after=lambda *_: Substitute(Committed(0)), effects=("commit",))
    pair = pair_with(refuse, replace)
    assert isinstance(pair.ask(Remember(1, "Alice likes tea")), Done)
    assert [note.what for note in pair.replies[1].hooks] == ["bad_result", "bad_result"]


def test_a_substituted_question_reaches_no_service_and_is_no_model_call() -> None:
    def answered(context: HookContext, request: Asked) -> Substitute:
        if context.task == "embed":
            return Substitute(Embedded(0, ((1,) * 64,)))
        return Substitute(ReadDone(0))

    pair = pair_with(Interceptor("h", "effect", answered))
    (reply,) = pair.memory.step(0, Recall(1, "tea"))
    assert getattr(reply, "outcome", None) == Done(Recalled((), Resolution("clear", "tea"), ("tea",)))
    assert getattr(reply, "calls", None) == ()
    assert pair.memory.in_flight == {}


def test_foreign_rows_of_a_substitute_are_no_answer() -> None:
    entity = Entity("e", "person", "Eve", "x", 1, 0, 0, "human", 0, 0)
    row = Row(Address(Scope("u2", "a1"), "entity", "e"), 1, entity, 500_000)
    pair = pair_with(
        Interceptor("h", "effect", lambda *_: Substitute(ReadDone(0, (row,))), workflows=("get_entity",))
    )
    assert pair.ask(GetEntity(1, ALICE)) == Done()
    assert pair.replies[1].hooks == (HookNote("h", "before", "bad_result", "read"),)


def test_a_hook_that_refuses_recovery_only_delays_it() -> None:
    refusals = [Refuse("not yet"), Refuse("not yet")]
    interceptor = Interceptor("h", "effect", lambda *_: refusals.pop() if refusals else Pass())
    pair = Pair(registry=BUILT_IN.with_interceptor(interceptor)).run()
    assert (pair.memory.state.phase, pair.now_ms) == ("ready", 300)
    assert isinstance(pair.ask(Forget(1, ALICE)), Done)
    assert pair.step(Wake()) == []

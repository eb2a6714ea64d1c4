"""Goal: what an operation in flight owes to interceptors, time-outs and other plans is demanded by name."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest
from msgspec import structs

from tests.worlds import Pair, check_step, put_sent
from umi_core.engine.middleware import Interceptor, Substitute
from umi_core.messages.answers import Wake
from umi_core.messages.effects import Degraded, Done, HookNote, Reply, Unknown
from umi_core.messages.requests import Remember
from umi_core.state import Operation
from umi_core.values import Entry, RoutingDecision
from umi_sim.judge.state import before_step, check_tables
from umi_sim.judge.state.steps import check_fallbacks
from umi_sim.record.broken import Broken

DECISION = RoutingDecision("ent_a", "human", True, 900_000, "", "model", None)
ENTRY = Entry("ent_a", 1, "Ann", "likes tea", 5)


def asking(*interceptors: Interceptor) -> tuple[Pair, Operation]:
    """A remember that waits for its model, with these interceptors around it."""
    pair = Pair(now_ms=5).run()
    for interceptor in interceptors:
        pair.memory.intercept(interceptor)
    pair.step(Remember(1, "Ann likes tea."))
    (operation,) = pair.memory.state.operations.values()
    check_tables(pair.memory.state, pair.memory.registry)
    return pair, operation


def broken(check: Callable[[], None]) -> str:
    with pytest.raises(Broken) as caught:
        check()
    return caught.value.rule


def tables_broken(pair: Pair) -> str:
    return broken(lambda: check_tables(pair.memory.state, pair.memory.registry))


@pytest.mark.parametrize("site", ["step", "effect"])
@pytest.mark.parametrize(
    ("filters", "is_there"),
    [
        ({}, True),
        ({"workflows": ("remember",)}, True),
        ({"workflows": ("recall",)}, False),
        ({"steps": ("extract", "route")}, True),
        ({"steps": ("route",)}, False),
        ({"effects": ("model",)}, True),
        ({"effects": ("embed",)}, False),
        ({"workflows": ("remember",), "effects": ("read",)}, False),
    ],
)
def test_an_interceptor_is_where_its_filters_name(
    site: str, filters: dict[str, tuple[str, ...]], is_there: bool
) -> None:
    pair, operation = asking(Interceptor("h", site, **filters))  # type: ignore[arg-type]  # of a table
    assert operation.entered == (("h",) if is_there else ())
    operation.entered = () if is_there else ("h",)
    assert tables_broken(pair) == "hook-order"


def test_of_tasks_an_effect_knows_its_own() -> None:
    pair, operation = asking(Interceptor("h", tasks=("extract",)), Interceptor("g", tasks=("route",)))
    assert operation.entered == ("h",)
    operation.entered = ("h", "g")
    assert tables_broken(pair) == "hook-order"


def test_a_hook_that_failed_before_the_effect_is_noted_and_not_called_after_it() -> None:
    pair, operation = asking(Interceptor("h", before=lambda *_: Substitute(7)))
    assert (operation.entered, [note.what for note in operation.notes]) == ((), ["bad_result"])
    operation.notes = ()
    assert tables_broken(pair) == "hook-order"
    operation.op_id = None  # no caller waits for a reply that could tell
    check_tables(pair.memory.state, pair.memory.registry)


def test_a_question_waits_as_long_as_is_configured() -> None:
    pair, operation = asking()
    sent = operation.sent
    assert sent is not None
    for change in (-1, 1):
        put_sent(operation, structs.replace(sent, timeout_ms=sent.timeout_ms + change))
        assert tables_broken(pair) == "backoff"


def test_interceptors_shorten_a_time_out_and_never_lengthen_it() -> None:
    pair, operation = asking(Interceptor("h"))
    sent = operation.sent
    assert sent is not None
    put_sent(operation, structs.replace(sent, timeout_ms=1))
    check_tables(pair.memory.state, pair.memory.registry)
    put_sent(operation, structs.replace(sent, timeout_ms=sent.timeout_ms + 1))
    assert tables_broken(pair) == "backoff"


def test_a_plan_gives_way_to_what_has_landed_since_it_began() -> None:
    pair, operation = asking()
    state, before = pair.memory.state, before_step(pair.memory.state)
    operation.yield_count += 1
    assert broken(lambda: check_step(before, Wake(), state)) == "backoff"
    state.committed_count += 1
    check_step(before, Wake(), state)


HERE = {"ent_a": ("human", ENTRY)}


FALLBACK = HookNote("usher", "on_error", "substituted", "extract")
LACK = Degraded("extract:hook:usher", "timeout", 1)


@pytest.mark.parametrize(
    ("notes", "lacks", "plan_number", "holds"),
    [
        ((FALLBACK,), (LACK,), 1, True),
        ((FALLBACK,), (), 1, False),
        ((FALLBACK,), (), 2, True),  # the first plan went without, and is forgotten
        ((), (LACK,), 1, False),
        ((), (LACK,), 2, False),
        ((structs.replace(FALLBACK, hook="after"),), (), 1, True),
    ],
)
def test_a_fallback_is_reported_as_less_than_was_asked_for(
    notes: tuple[HookNote, ...], lacks: tuple[Degraded, ...], plan_number: int, *, holds: bool
) -> None:
    with nullcontext() if holds else pytest.raises(Broken, match="fallbacks of interceptors"):
        check_fallbacks(Reply("o1", Done(None, lacks), hooks=notes), plan_number)
    check_fallbacks(Reply("o1", Unknown(), hooks=notes), plan_number)

"""Goal: one door. What is due comes before the value, recovery before all, and time only moves on."""

import pytest
from msgspec import structs

from tests.worlds import ALICE, QUIET, SCOPE, Pair
from umi_core.config import Config
from umi_core.engine.middleware import Interceptor
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import OUTCOME, Learned, Step, Workflow
from umi_core.errors import BadConfig, StorageFailed
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Wake
from umi_core.messages.effects import Asked, Commit, Done, Embed, Failed, Read
from umi_core.messages.requests import (
    Blocks,
    Bytes,
    CoreBytes,
    Count,
    Get,
    GetBlock,
    InCore,
    LastRoutingDecisions,
    Rebalance,
    Recall,
    Remember,
    Render,
    Request,
    Set,
    SetBlock,
)
from umi_core.messages.results import Remembered
from umi_core.values import Block
from umi_core.workflows import BUILT_IN
from umi_core.workflows.commits import REQUEST

# The first step.


def test_the_first_step_begins_recovery_whatever_its_value() -> None:
    for value in (
        Wake(),
        Set(1, "k", b"v"),
        Count(1),
        Blocks(1),
        ReadDone(9),
        EffectFailed(9, "unavailable"),
    ):
        pair = Pair()
        assert pair.memory.deadline_ms() == 0
        assert [type(effect) for effect in pair.step(value)] == [Read]
        assert (pair.memory.state.phase, pair.memory.deadline_ms()) == ("recovering", 10_000)


def test_the_working_tier_answers_while_recovery_takes_its_time() -> None:
    pair = Pair()
    pair.step(Wake())
    pair.fail("unavailable")
    assert pair.step(Set(1, "k", b"v")) == []
    assert pair.step(Get(2, "k")) == []
    assert [pair.replies[n].outcome for n in (1, 2)] == [Done(), Done(b"v")]
    assert pair.memory.state.phase == "recovering"


def test_a_recovered_memory_with_nothing_to_do_asks_for_no_step() -> None:
    pair = Pair().run()
    assert (pair.memory.state.phase, pair.memory.deadline_ms(), pair.step(Wake())) == ("ready", None, [])


# Time.


def test_deadline_ms_is_the_earliest_of_what_is_waited_for() -> None:
    pair = Pair(config=Config(store_timeout_ms=700, model_timeout_ms=900, rebalance_interval_ms=1_000)).run()
    assert pair.memory.deadline_ms() == 1_000
    pair.step(Remember(1, "Alice likes tea"))
    assert pair.memory.deadline_ms() == 900
    pair.now_ms = 100
    pair.step(Count(2))
    assert pair.memory.deadline_ms() == 800
    pair.fail("unavailable", at=1)
    assert pair.memory.deadline_ms() == 200


def test_what_is_due_is_handled_before_the_value_of_the_step() -> None:
    pair = Pair().run()
    (asked,) = pair.step(Count(1))
    pair.now_ms = 10_000
    assert pair.step(ReadDone(asked.request_id, count=7)) == []
    assert pair.memory.marks == ("count.read: timeout", "count.read: retried", "late answer")
    assert pair.replies == {}


def test_a_clock_that_moves_back_is_one_that_stands_still() -> None:
    pair = Pair().run()
    pair.now_ms = 5_000
    pair.step(Set(1, "k", b"v", 10))
    pair.now_ms = 5_010
    assert pair.ask(Get(2, "k")) == Done(None)
    pair.now_ms = 0
    assert pair.ask(Get(3, "k")) == Done(None)
    pair.step(Count(4))
    assert (pair.memory.state.seen_ms, pair.memory.deadline_ms()) == (5_010, 15_010)


def test_an_answer_without_a_waiting_operation_changes_nothing() -> None:
    pair = Pair().run()
    before = pair.memory.digest()
    assert pair.step(ReadDone(77)) == []
    assert (pair.memory.digest(), pair.memory.marks) == (before, ("late answer",))


def test_a_second_answer_to_one_effect_is_late() -> None:
    pair = Pair().run()
    (asked,) = pair.step(Count(1))
    pair.answer()
    assert pair.step(ReadDone(asked.request_id, count=7)) == []
    assert pair.memory.marks == ("late answer",)


# Shortcuts are not seen.


def test_a_working_request_past_the_engine_is_the_same_as_through_it() -> None:
    pair, whole = Pair().run(), Pair().run()
    for memory in (pair, whole):
        memory.ask(Rebalance(0))  # nothing is due any more
    assert not pair.memory.state.tiers.access.is_due
    for request in (Set(1, "k", b"v", 10), Get(2, "k"), Bytes(3), Get(4, "x")):
        pair.now_ms += 5
        whole.memory.state.seen_ms = pair.now_ms
        assert pair.memory.step(pair.now_ms, request) == whole.memory.full_step(request)
        assert pair.memory.digest() == whole.memory.digest()


# Reads of core.


def test_reads_of_core_answer_in_their_step_with_what_is_committed() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Umi helps"))
    pair.ask(SetBlock(2, "human", "User: A"))
    pair.ask(SetBlock(3, "human", "calls", label="work"))
    umi = pair.replies[1].outcome
    assert isinstance(umi, Done)
    assert isinstance(umi.value, Remembered)
    core = pair.memory.state.tiers.core
    expected: dict[Request, object] = {
        Blocks(11): core.blocks,
        CoreBytes(12): len("UmihelpsUser: Aworkcalls"),
        GetBlock(13, "human"): Block("human", text="User: A"),
        GetBlock(14, "goals"): None,
        GetBlock(20, "human", "work"): Block("human", "work", "calls"),
        InCore(15, umi.value.entities[0].id): True,
        InCore(16, ALICE): False,
        LastRoutingDecisions(17): umi.value.routing,
    }
    for request, value in expected.items():
        assert pair.step(request) == []
        assert pair.replies[request.op_id].outcome == Done(value)
    texts = [pair.ask(Render(18)), pair.ask(Render(19, "markdown"))]
    assert [str(text).count("User: A") for text in texts] == [1, 1]


def test_what_a_recovered_memory_does_not_know_is_empty() -> None:
    pair = Pair().run()
    assert [pair.ask(Blocks(1)), pair.ask(LastRoutingDecisions(2)), pair.ask(CoreBytes(3))] == [
        Done(()), Done(()), Done(0),
    ]  # fmt: skip


def test_a_limit_below_what_is_authored_bars_archive_and_core() -> None:
    pair = Pair().run()
    pair.ask(SetBlock(1, "human", "x" * 5_000))
    small = Pair(storage=pair.storage, config=structs.replace(QUIET, core_bytes_max=4_096)).run()
    barred = Failed(BadConfig("core_bytes_max", "4096", "room for the authored text"))
    assert [small.ask(Blocks(1)), small.ask(Count(2)), small.ask(SetBlock(3, "human", ""))] == [barred] * 3
    assert small.ask(Set(4, "k", b"v")) == Done()


# Background work.

TIMED = Config(rebalance_interval_ms=1_000)


def test_a_rebalance_runs_when_it_is_due_and_the_interval_has_passed() -> None:
    pair = Pair(config=TIMED).run()
    assert pair.memory.deadline_ms() == 1_000
    assert pair.wake(999) == []
    assert len(pair.wake(1_000)) == 1
    pair.run()
    assert (pair.memory.state.counters["rebalance done"], pair.memory.deadline_ms()) == (1, None)


def test_a_working_request_is_answered_and_what_is_due_begins_in_the_same_step() -> None:
    pair = Pair(config=TIMED).run()
    pair.now_ms = 1_000
    assert len(pair.step(Get(1, "k"))) == 1
    assert pair.replies[1].outcome == Done(None)


def test_an_access_makes_it_due_again_and_an_idle_memory_falls_silent() -> None:
    pair = Pair(config=TIMED).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.wake(1_000)
    pair.run()
    assert pair.memory.deadline_ms() is None
    pair.ask(Recall(2, "nobody at all"))
    assert pair.memory.deadline_ms() is None
    pair.ask(Recall(3, "Alice"))
    assert pair.memory.deadline_ms() == 2_000


def test_one_rebalance_runs_at_a_time_and_what_changes_meanwhile_makes_it_due_again() -> None:
    pair = Pair(config=TIMED).run()
    pair.wake(1_000)
    pair.ask(Remember(1, "Alice likes tea"))
    assert pair.memory.state.counters["rebalance done"] == 1
    assert pair.memory.deadline_ms() == 2_000


def test_a_rebalance_that_aborts_runs_again_at_its_next_time() -> None:
    pair = Pair(config=TIMED).run()
    pair.wake(1_000)
    pair.fail("refused")
    assert (pair.memory.state.counters["rebalance failed"], pair.memory.deadline_ms()) == (1, 2_000)


def test_nothing_runs_in_the_background_unless_it_is_switched_on() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    assert (pair.memory.state.tiers.access.is_due, pair.memory.deadline_ms()) == (True, None)


# Workflows of one's own.


def test_an_operation_finishes_on_the_revision_it_began_with() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    (embed,) = (step for step in BUILT_IN.at("remember").steps if step.id == "embed")
    forget_vectors = structs.replace(
        embed,
        effect=None, ask=None, on_failure=None, config=(),
        take=lambda *_: Learned({"vectors": (None,)}),
    )  # fmt: skip
    pair.memory.use(BUILT_IN.replace("remember", "embed", forget_vectors))
    assert [type(effect) for effect in asked_until_reply(pair)] == [Read, Read, Embed, Commit]
    pair.step(Remember(2, "Bob snores"))
    assert [type(effect) for effect in asked_until_reply(pair)] == [Read, Read, Commit]


def asked_until_reply(pair: Pair) -> list[Asked]:
    asked: list[Asked] = []
    while pair.pending:
        asked += pair.answer()
    return asked


def test_a_registry_that_forgets_a_revision_or_a_set_of_interceptors_is_not_taken() -> None:
    memory = Memory(SCOPE)
    with pytest.raises(AssertionError):
        memory.use(structs.replace(BUILT_IN, revisions={**BUILT_IN.revisions, "remember": ()}))
    memory.intercept(Interceptor("h"))
    with pytest.raises(AssertionError):
        memory.use(BUILT_IN)


def test_a_broken_workflow_of_a_third_party_answers_and_harms_nothing() -> None:
    broken = Workflow("count", (REQUEST,), (Step("read", lambda *_: Learned(), (), (OUTCOME,)),))
    registry = structs.replace(BUILT_IN, revisions={**BUILT_IN.revisions, "count": (broken,)})
    pair = Pair(registry=registry).run()
    assert "broken at read: produces" in str(getattr(pair.ask(Count(1)), "error", None))
    assert isinstance(pair.ask(Remember(2, "Alice likes tea")), Done)
    assert Registry().revisions == {}


def test_a_failed_read_is_an_error_and_not_zero() -> None:
    assert Pair().run().ask(Count(1), Read) == Failed(StorageFailed("read", "unavailable", 3))

"""Goal: operations of one memory that want the same rows wait for each other, and none fails of another."""

import pytest

from tests.worlds import Pair, recovered
from umi_core.errors import Conflict
from umi_core.limits import OP_COUNT_MAX, PLAN_COUNT_MAX
from umi_core.messages.effects import AskModel, Commit, Done, Failed, Outcome
from umi_core.messages.requests import Forget, GetBlock, Remember, Request, SetBlock
from umi_core.messages.results import Forgotten
from umi_core.state import Queued
from umi_core.values import Block


def at_once(pair: Pair, *requests: Request) -> list[Outcome]:
    """All are asked before anything is answered; then the answers come, the last question's first."""
    for request in requests:
        pair.step(request)
    while any(request.op_id not in pair.replies for request in requests):
        pair.step(pair.world(pair.pending.pop()))
    return [pair.replies[request.op_id].outcome for request in requests]


def test_all_writes_of_one_block_succeed_and_the_last_one_stays() -> None:
    pair = recovered(Pair())
    outcomes = at_once(pair, *(SetBlock(n, "goals", f"text {n}") for n in range(1, 31)))
    assert {type(outcome) for outcome in outcomes} == {Done}
    shown = pair.ask(GetBlock(99, "goals"))
    assert isinstance(shown, Done)
    assert isinstance(shown.value, Block)
    assert shown.value.text == "text 30"


def test_concurrent_statements_about_one_person_are_a_fact_each() -> None:
    pair = recovered(Pair())
    outcomes = at_once(pair, *(Remember(n, f"Alice likes number {n}") for n in range(1, 11)))
    assert {type(outcome) for outcome in outcomes} == {Done}
    assert len(pair.rows("entity")) == len(outcomes)


def test_a_waiting_operation_asks_nothing_and_goes_on_when_the_other_has_ended() -> None:
    pair = recovered(Pair())
    pair.step(SetBlock(1, "goals", "one"))
    assert pair.step(SetBlock(2, "human", "two")) == []
    first, second = pair.memory.state.operations.values()
    assert [isinstance(it.progress, Queued) for it in (first, second)] == [False, True]
    assert (first.claims, second.claims) == (((1, "core"),), ((2, "core"),))
    pair.run()
    assert (pair.replies[1].outcome, pair.replies[2].outcome) == (pair.replies[1].outcome,) * 2


@pytest.mark.parametrize("kind", ["unavailable", "full", "refused"])
def test_a_waiting_operation_goes_on_when_the_other_has_failed(kind: str) -> None:
    pair = recovered(Pair())
    pair.step(SetBlock(1, "goals", "one"))
    pair.step(SetBlock(2, "goals", "two"))
    while 1 not in pair.replies:
        if pair.pending:
            pair.fail(kind)  # type: ignore[arg-type]  # one of them
        else:
            pair.wake()
    pair.run()
    assert isinstance(pair.replies[2].outcome, Done)


def test_others_do_not_wait() -> None:
    pair = recovered(Pair())
    pair.step(SetBlock(1, "goals", "one"))
    pair.step(Remember(2, "Alice likes tea"))
    assert [type(effect) for effect in pair.pending[-1:]] == [AskModel]
    pair.until(AskModel)
    assert not any(
        isinstance(operation.progress, Queued) for operation in pair.memory.state.operations.values()
    )


def test_forgetting_waits_for_facts_being_remembered() -> None:
    pair = recovered(Pair())
    pair.ask(Remember(1, "Alice likes tea"))
    (entity,) = pair.rows("entity")
    pair.step(Remember(2, "Alice likes tea"))
    pair.answer()  # now it is known which fact that is
    assert pair.step(Forget(3, entity.address.id)) == []
    pair.run()
    assert pair.replies[3].outcome == Done(Forgotten(True))
    assert pair.rows("entity") == []


def test_a_queue_is_part_of_the_state() -> None:
    pair = recovered(Pair())
    pair.step(SetBlock(1, "goals", "one"))
    pair.step(SetBlock(2, "goals", "two"))
    pair.memory = pair.memory.restore(pair.memory.snapshot(), life=pair.memory.life)
    pair.run()
    assert isinstance(pair.replies[2].outcome, Done)


def test_a_request_that_conflicts_with_its_own_memory_plans_again_until_it_succeeds() -> None:
    """A statement about the assistant itself enters core, one row with all blocks: no claim says that."""
    pair = recovered(Pair())
    pair.step(Remember(1, "Umi is calm"))
    for number in range(2, 2 + 2 * PLAN_COUNT_MAX):
        own = pair.hold(Commit)
        assert isinstance(pair.ask(SetBlock(number, "goals", f"text {number}")), Done)
        pair.held.remove(own)
        pair.step(pair.world(own))
    pair.run()
    assert isinstance(pair.replies[1].outcome, Done)


def test_a_request_that_conflicts_with_another_memory_fails_after_three_plans() -> None:
    pair = recovered(Pair())
    pair.step(SetBlock(1, "goals", "text"))
    for _ in range(PLAN_COUNT_MAX):
        pair.until(Commit)
        pair.fail("conflict")
    assert pair.replies[1].outcome == Failed(Conflict("commit", "conflict", 1))


def test_as_many_as_there_may_be_wait_for_one() -> None:
    pair = recovered(Pair())
    outcomes = at_once(pair, *(SetBlock(n, "goals", f"text {n}") for n in range(1, OP_COUNT_MAX + 1)))
    assert {type(outcome) for outcome in outcomes} == {Done}

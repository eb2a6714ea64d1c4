"""Goal: a replaced process writes nothing more, and is fenced by an answer, not before."""

import pytest
from msgspec import structs

from tests.histories import broken
from umi_core.errors import Fenced, StorageRefused
from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import Commit, Done, Failed, Outcome, Refused, Reply, Unknown
from umi_core.messages.requests import Get, Remember, Set
from umi_core.messages.results import Remembered
from umi_core.rows import Address, Receipt
from umi_core.values import Scope
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.record.run_config import AgentConfig
from umi_sim.seedfile.fields import PLAIN
from umi_sim.services.calls import Call

OLD = "a~0"
TOLD = EffectFailed(0, "conflict", changed=((Address(Scope("u", "a"), "epoch", "epoch"), 8),))


def oracle(*durable_ops: str) -> Oracle:
    """Its memory is of epoch 7, has a remember in flight, and is replaced by another; then it wakes up."""
    oracle = Oracle(structs.replace(PLAIN, mode="swarm", agents=(AgentConfig("a", Scope("u", "a")),)))
    near = oracle.surroundings
    near.epoch_of, near.durable_keys = lambda scope: 7, lambda: frozenset({"before"})
    near.is_durable = durable_ops.__contains__
    oracle.observe_request("a", "o1", Remember(1, "x"), 0)
    oracle.observe_takeover("a", OLD)
    oracle.observe_successor(OLD)
    return oracle


def answered(oracle: Oracle, answer: Committed | EffectFailed, key: str = "after") -> None:
    oracle.observe_answer(
        Call("o1/commit#1", "a", 0, "o1", "remember", "commit", Commit((), (), key), 0), answer
    )


def replied(oracle: Oracle, outcome: Outcome, op_id: str = "o1") -> None:
    oracle.observe_reply(OLD, op_id, Reply(op_id, outcome), 0)


def test_it_hears_of_what_was_durable_before_and_of_what_its_successor_wrote() -> None:
    judge = oracle()
    answered(judge, Committed(0), "before")
    answered(judge, Committed(0, (), Receipt("after", b"", b"", None, 0, by=(8, 1))))
    for receipt in (None, Receipt("after", b"", b"", None, 0, by=(7, 1))):
        with broken("old-life-fenced"):
            answered(judge, Committed(0, (), receipt))


def test_a_process_is_fenced_only_by_an_answer() -> None:
    for is_fenced in (False, True):
        judge = oracle()
        if is_fenced:
            answered(judge, TOLD)
            replied(judge, Failed(Fenced(7)))
        else:
            with broken("old-life-fenced"):
                replied(judge, Failed(Fenced(7)))


@pytest.mark.parametrize(
    "outcome",
    [
        Done(Remembered(())),
        Failed(Fenced(8)),
        Failed(StorageRefused("commit", "refused", 1)),
        Refused(Fenced(7)),
    ],
)
def test_after_the_first_report_everything_fails(outcome: Outcome) -> None:
    judge = oracle()
    answered(judge, TOLD)
    with broken("old-life-fenced"):
        replied(judge, outcome)


def test_what_may_have_happened_ends_as_unknown_and_what_is_stored_never_as_failed() -> None:
    judge = oracle("o1")
    answered(judge, TOLD)
    with broken("old-life-fenced"):
        replied(judge, Failed(Fenced(7)))
    judge = oracle("o1")
    answered(judge, TOLD)
    replied(judge, Unknown())


def test_its_working_tier_and_that_of_its_successor_are_two() -> None:
    judge = oracle()
    answered(judge, TOLD)
    judge.observe_request(OLD, "o2", Set("o2", "k", b"old"), 0)
    replied(judge, Done(), "o2")
    judge.observe_request("a", "o3", Get("o3", "k"), 0)
    judge.observe_reply("a", "o3", Reply("o3", Done(None)), 0)
    judge.observe_request(OLD, "o4", Get("o4", "k"), 0)
    with broken("ttl-contract"):
        replied(judge, Done(None), "o4")


def test_the_latest_process_is_never_fenced() -> None:
    judge = oracle()
    judge.observe_request("a", "o2", Remember("o2", "y"), 0)
    with broken("failure-has-a-cause"):
        judge.observe_reply("a", "o2", Reply("o2", Failed(Fenced(8))), 0)

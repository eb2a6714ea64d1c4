"""Goal: a life that was replaced writes nothing more, is deposed when it is told so, and not before."""

import pytest
from msgspec import structs

from tests.histories import broken
from umi_core.errors import Deposed, StorageRefused
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
    heard = Oracle(structs.replace(PLAIN, mode="swarm", agents=(AgentConfig("a", Scope("u", "a")),)))
    near = heard.surroundings
    near.epoch_of, near.durable_keys = lambda scope: 7, lambda: frozenset({"before"})
    near.is_durable = durable_ops.__contains__
    heard.observe_request("a", "o1", Remember(1, "x"), 0)
    heard.observe_takeover("a", OLD)
    heard.old_life_woke(OLD)
    return heard


def answered(heard: Oracle, answer: Committed | EffectFailed, key: str = "after") -> None:
    heard.observe_answer(
        Call("o1/commit#1", "a", 0, "o1", "remember", "commit", Commit((), (), key), 0), answer
    )


def replied(heard: Oracle, outcome: Outcome, op_id: str = "o1") -> None:
    heard.observe_reply(OLD, op_id, Reply(op_id, outcome), 0)


def test_it_hears_of_what_was_durable_before_and_of_what_its_successor_wrote() -> None:
    heard = oracle()
    answered(heard, Committed(0), "before")
    answered(heard, Committed(0, (), Receipt("after", b"", b"", None, 0, by=(8, 1))))
    for receipt in (None, Receipt("after", b"", b"", None, 0, by=(7, 1))):
        with broken("old-life-fenced"):
            answered(heard, Committed(0, (), receipt))


def test_it_is_deposed_only_when_it_is_told_so() -> None:
    for is_fenced in (False, True):
        heard = oracle()
        if is_fenced:
            answered(heard, TOLD)
            replied(heard, Failed(Deposed(7)))
        else:
            with broken("old-life-fenced"):
                replied(heard, Failed(Deposed(7)))


@pytest.mark.parametrize(
    "outcome",
    [
        Done(Remembered(())),
        Failed(Deposed(8)),
        Failed(StorageRefused("commit", "refused", 1)),
        Refused(Deposed(7)),
    ],
)
def test_once_told_all_else_fails(outcome: Outcome) -> None:
    heard = oracle()
    answered(heard, TOLD)
    with broken("old-life-fenced"):
        replied(heard, outcome)


def test_what_may_have_happened_ends_as_unknown_and_what_is_stored_never_as_failed() -> None:
    heard = oracle("o1")
    answered(heard, TOLD)
    with broken("old-life-fenced"):
        replied(heard, Failed(Deposed(7)))
    heard = oracle("o1")
    answered(heard, TOLD)
    replied(heard, Unknown())


def test_its_working_tier_and_that_of_its_successor_are_two() -> None:
    heard = oracle()
    answered(heard, TOLD)
    heard.observe_request(OLD, "o2", Set("o2", "k", b"old"), 0)
    replied(heard, Done(), "o2")
    heard.observe_request("a", "o3", Get("o3", "k"), 0)
    heard.observe_reply("a", "o3", Reply("o3", Done(None)), 0)
    heard.observe_request(OLD, "o4", Get("o4", "k"), 0)
    with broken("ttl-contract"):
        replied(heard, Done(None), "o4")


def test_the_latest_life_is_never_deposed() -> None:
    heard = oracle()
    heard.observe_request("a", "o2", Remember("o2", "y"), 0)
    with broken("failure-has-a-cause"):
        heard.observe_reply("a", "o2", Reply("o2", Failed(Deposed(8))), 0)

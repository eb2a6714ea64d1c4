"""Goal: two operations never share a commit key, unless their requests share a request key."""

from contextlib import nullcontext

from msgspec import structs

from tests.histories import broken
from umi_core.kelpie.requests import AddArchival
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Commit
from umi_core.messages.requests import Forget, Remember
from umi_core.messages.results import RecordAdded, Remembered
from umi_core.rows import Relation
from umi_core.values import Scope
from umi_sim.judge.oracle.api_blocks import Keys
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.record.run_config import AgentConfig
from umi_sim.seedfile.fields import PLAIN
from umi_sim.services.calls import Call

LOST = EffectFailed(0, "timeout")


def oracle() -> Oracle:
    agents = tuple(AgentConfig(name, Scope("u", name)) for name in "ab")
    return Oracle(structs.replace(PLAIN, agents=agents))


def commit(oracle: Oracle, op_id: str, key: str, agent: str = "a", attempt: int = 1) -> None:
    event = f"{op_id}/commit#{attempt}"
    oracle.observe_answer(Call(event, agent, 0, op_id, "rebalance", "commit", Commit((), (), key), 0), LOST)


def test_an_operation_keeps_its_key_and_another_one_has_another() -> None:
    judge = oracle()
    commit(judge, "o1", "k1")
    commit(judge, "o1", "k1", attempt=2)
    commit(judge, "o2", "k2")
    commit(judge, "a:recover:1", "")
    commit(judge, "a:recover:2", "")  # a claim has no key
    with broken("keys-differ"):
        commit(judge, "o3", "k1", agent="b")  # storage knows keys of all scopes


def test_requests_with_one_request_key_share_a_commit_key_and_no_other_one_does() -> None:
    judge = oracle()
    judge.observe_request("a", "o1", Remember(1, "x", request_key="r"), 0)
    judge.observe_request("a", "o2", Forget(2, "ent_x", request_key="r"), 0)
    judge.observe_request("a", "o3", Forget(3, "ent_x"), 0)
    commit(judge, "o1", "k1")
    judge.observe_crash("a")
    commit(judge, "o2", "k1")
    judge.observe_request("b", "o4", Remember(4, "x", request_key="r"), 0)
    for agent, op_id in (("a", "o3"), ("b", "o4")):
        with broken("keys-differ"):
            commit(judge, op_id, "k1", agent)


def test_a_storage_that_was_wiped_knows_no_keys() -> None:
    judge = oracle()
    commit(judge, "o1", "k1")
    judge.observe_wipe()
    commit(judge, "o2", "k1")


# Request keys: what a repeated request may reply.


def added(reason: str, seq: int = 1) -> RecordAdded:
    """The reply of a record that ended a fact, with the reason that a model gave, or none."""
    relation = Relation("rel_1", "update", ("fct_1", 1), ("fct_2", 1), 900_000, reason, "model", 5)
    return RecordAdded("archival", seq, 1, 5, facts=Remembered((), (relation,)))


def test_a_repeated_reply_may_lack_the_reasons_that_a_model_gave() -> None:
    """`umi-sim run records_of_facts --seed 6`: the receipt of an add_archival keeps no reasons."""
    for value, is_fair in ((added(""), True), (added("so"), True), (added("", seq=2), False)):
        keys = Keys()
        for op_id in ("o1", "o2"):
            keys.begin(op_id, "k", AddArchival(1, "Ann moved", request_key="k"))
        keys.judge_done("o1", "k", added("so"), repeated=False, now_ms=9)
        with nullcontext() if is_fair else broken("key-once"):
            keys.judge_done("o2", "k", value, repeated=True, now_ms=10)

"""Goal: after tampering the judge demands what is certain, and sees each of it broken."""

import pytest
from msgspec import structs

from tests.worlds import SCOPE
from umi_core.config import Config
from umi_core.errors import BadLimit, Fenced, StorageFailed
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import ByIds, Commit, Done, Failed, Outcome, Read, Refused, Unknown
from umi_core.messages.requests import CoreBytes, Get, GetEntity, Rebalance, Recall, Request
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.rows import Address, Entity, Epoch, Row
from umi_core.values import Scope
from umi_sim.judge.oracle.agents import Tampered
from umi_sim.judge.oracle.model import Surroundings
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.services.calls import Call

OTHER = Scope("u1", "a2")
EPOCH = Address(SCOPE, "epoch", "epoch")
CONFLICT = EffectFailed(1, "conflict", changed=((EPOCH, 1),))
FENCED = Failed(Fenced(2))
LOST = Failed(StorageFailed("commit", "timeout", 3))


def judge() -> Tampered:
    lie = (Address(SCOPE, "entity", "mine"), Address(OTHER, "entity", "theirs"))
    return Tampered(Config(), Surroundings(entities=lambda: lie), {})


def reply(to: Tampered, request: Request, outcome: Outcome, op_id: str = "o1") -> None:
    to.requests[op_id] = request
    to.observe_reply("a", SCOPE, op_id, outcome)


def broken(to: Tampered, request: Request, outcome: Outcome, op_id: str = "o1") -> str:
    with pytest.raises(Broken) as caught:
        reply(to, request, outcome, op_id)
    return caught.value.rule


def tell(to: Tampered, workflow: str) -> None:
    to.observe_answer(Call("e", "a", 1, "o9", workflow, "commit", Commit((), ()), 0), CONFLICT)


def shown(*ids: str, score_ppm: int = 9) -> Done:
    hits = tuple(Hit(it, 1, "note", it, it, score_ppm, score_ppm, 0) for it in ids)
    return Done(Recalled(hits, Resolution("unchanged", "tea"), ("tea",)))


ASK = Recall("o1", "tea", limit=2)


def test_what_is_shown_is_of_this_scope() -> None:
    reply(judge(), ASK, shown("mine", "nobody's"))
    assert broken(judge(), ASK, shown("theirs")) == rules.SCOPE_APART.name
    theirs = Entity("theirs", "note", "x", "x", 1, 0, 0, "scratch", 0, 0)
    assert broken(judge(), GetEntity("o1", "theirs"), Done(theirs)) == rules.SCOPE_APART.name


def test_a_hit_of_another_archive_is_of_one_that_was_named() -> None:
    ask, [mine, theirs] = structs.replace(ASK, shared=("a2",)), shown("mine", "theirs").value.hits  # type: ignore[attr-defined]
    of_others = [structs.replace(it, agent="a2") for it in (theirs, mine)]
    fair, wrong = (Done(Recalled((it,), Resolution("unchanged", "tea"), ("tea",))) for it in of_others)
    reply(judge(), ask, fair)
    assert broken(judge(), ask, wrong) == rules.SCOPE_APART.name
    assert broken(judge(), ASK, fair) == rules.SHARED_AS_GRANTED.name


@pytest.mark.parametrize("ids", [("b", "a"), ("a", "a"), ("a", "b", "c")])
def test_hits_are_in_order_once_and_no_more_than_asked_for(ids: tuple[str, ...]) -> None:
    assert broken(judge(), ASK, shown(*ids)) == rules.HITS_ORDERED.name


def test_core_is_within_its_bytes() -> None:
    reply(judge(), CoreBytes("o1"), Done(32_768))
    assert broken(judge(), CoreBytes("o1"), Done(32_769)) == rules.CORE_LIMITS.name


def test_what_is_wrong_with_a_request_is_refused_as_ever() -> None:
    request = GetEntity("o1", "x" * 999)
    reply(judge(), Recall("o1", "tea", limit=0), Refused(BadLimit("0")))
    assert broken(judge(), CoreBytes("o1"), Refused(BadLimit("0"))) == rules.REFERENCE_AGREES.name
    reply(judge(), request, LOST)


def test_a_process_that_read_another_epoch_is_fenced_and_no_other() -> None:
    assert broken(judge(), CoreBytes("o1"), FENCED) == rules.OLD_LIFE_FENCED.name
    oracle = judge()
    tell(oracle, "remember")
    reply(oracle, CoreBytes("o1"), FENCED)
    reply(oracle, Get("o1", "k"), Done(None))
    assert broken(oracle, CoreBytes("o1"), Done(0)) == rules.OLD_LIFE_FENCED.name
    oracle.end_incarnation("a")
    reply(oracle, CoreBytes("o1"), Done(0))


def test_a_process_with_requests_during_recovery_may_have_claimed_the_next_epoch() -> None:
    oracle = judge()
    tell(oracle, "recover")
    reply(oracle, CoreBytes("o1"), Done(0))
    reply(oracle, CoreBytes("o1"), FENCED)


def test_a_life_that_reads_another_epoch_behind_a_switch_may_leave_it_alone_until_it_has_claimed_it() -> None:
    oracle, head, claim = judge(), Read(ByIds((EPOCH,))), Commit((), ())
    oracle.observe_answer(
        Call("e", "a", 1, "o9", "recover", "head", head, 0), ReadDone(1, (Row(EPOCH, 1, Epoch(0)),))
    )
    reply(oracle, CoreBytes("o1"), Done(0))
    reply(oracle, CoreBytes("o1"), FENCED)
    oracle.observe_answer(Call("e", "a", 2, "o9", "recover", "claim", claim, 0), Committed(2, ((EPOCH, 2),)))
    assert broken(oracle, CoreBytes("o1"), FENCED) == rules.OLD_LIFE_FENCED.name
    tell(oracle, "remember")
    oracle.observe_answer(Call("e", "a", 3, "o9", "recover", "claim", claim, 0), Committed(3, ((EPOCH, 3),)))
    assert broken(oracle, CoreBytes("o1"), Done(0)) == rules.OLD_LIFE_FENCED.name


def test_in_a_healed_world_all_is_answered() -> None:
    reply(judge(), ASK, LOST)
    reply(judge(), Rebalance("o1"), Unknown(), "drain:1")  # its key may be that of an earlier life
    assert broken(judge(), ASK, LOST, "audit:1") == rules.ACKNOWLEDGED_IS_DURABLE.name


def test_an_old_process_and_its_successor_are_distinguished() -> None:
    """The epoch that the old process read was taken for that of the new one."""
    to = judge()
    to.observe_takeover("a", "a~1")
    tell(to, "forget")  # asked by the first life
    assert broken(to, Rebalance("o1"), FENCED) == rules.OLD_LIFE_FENCED.name
    to.requests["o2"] = Rebalance("o2")
    to.observe_reply("a~1", SCOPE, "o2", FENCED)


def test_a_replaced_process_knows_what_it_was_sent() -> None:
    to = judge()
    tell(to, "forget")
    to.observe_takeover("a", "a~1")
    to.requests["o2"] = Rebalance("o2")
    to.observe_reply("a~1", SCOPE, "o2", FENCED)
    assert broken(to, Rebalance("o1"), FENCED) == rules.OLD_LIFE_FENCED.name

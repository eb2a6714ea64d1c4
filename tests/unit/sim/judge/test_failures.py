"""Goal: an operation may say that storage failed it only in the way in which storage did."""

import pytest

from umi_core.config import Config
from umi_core.errors import StorageFailed
from umi_core.messages.answers import Answer, EffectFailed, ReadDone
from umi_core.messages.effects import ByIds, Failed, Outcome, Read
from umi_core.messages.requests import Forget
from umi_core.rows import Address, Body, Epoch, Head, Row
from umi_core.values import Scope
from umi_sim.judge.oracle.model import Ending
from umi_sim.judge.oracle.promises import Failures, causes
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.services.calls import Call

SCOPE = Scope("u1", "a1")
ADDRESS = Address(SCOPE, "head", "ent_x")
READ = Read(ByIds((ADDRESS,)))


def make_read(body: Body | None, address: Address = ADDRESS) -> ReadDone:
    return ReadDone(1, (Row(address, 1, body),))


SOUND = make_read(Head("x"))
NOT_ASKED_FOR = make_read(Head("x"), Address(Scope("u2", "a1"), "head", "ent_x"))


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        (SOUND, []),
        (make_read(None), ["damaged"]),
        (make_read(Epoch(5)), ["damaged"]),
        (NOT_ASKED_FOR, ["unavailable"]),
        (EffectFailed(1, "timeout"), ["timeout"]),
        (EffectFailed(1, "too_long"), ["unavailable"]),
    ],
)
def test_what_an_answer_may_be_taken_for(answer: Answer, kinds: list[str]) -> None:
    assert list(causes(READ, answer)) == kinds


def judge(answer: Answer, outcome: Outcome) -> None:
    """One step, `touching`, was answered so three times, and the operation ended with this outcome."""
    request = Forget(1, "ent_x")
    failures = Failures(Config())
    failures.observe_request("o1", request, 10)
    for _ in range(3):
        failures.observe_answer(
            Call("storage.read", "a", 0, "o1", "forget", "touching", READ, 10), request, answer, 10
        )
    failures.observe_reply(Ending("o1", request, outcome, now_ms=10, reading_ms=10))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(make_read(None), "damaged"), (NOT_ASKED_FOR, "unavailable"), (make_read(Epoch(5)), "damaged")],
)
def test_a_failure_that_storage_gave_is_right(answer: Answer, kind: str) -> None:
    judge(answer, Failed(StorageFailed("touching", kind, 3)))


@pytest.mark.parametrize("kind", ["damaged", "unavailable", "timeout"])
def test_a_failure_that_storage_did_not_give_breaks_the_promise(kind: str) -> None:
    with pytest.raises(Broken) as caught:
        judge(SOUND, Failed(StorageFailed("touching", kind, 3)))
    assert caught.value.rule == rules.FAILURE_HAS_A_CAUSE.name

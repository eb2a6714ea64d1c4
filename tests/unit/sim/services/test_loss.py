"""Goal: what is lost may be absent or be called damaged, never wrong; what is not lost is there as ever."""

from contextlib import nullcontext

import pytest
from msgspec import structs

from tests.histories import ALICE, NOW_MS, History, as_stored, believing, broken, entity, fact
from umi_core.errors import SessionConflict, SessionNotFound, SnapshotDamaged, StorageFailed
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Reply
from umi_core.messages.requests import (
    Blocks,
    CreateSession,
    GetEntity,
    LoadSession,
    Rebalance,
    Request,
    SaveSession,
    SetBlock,
)
from umi_core.messages.results import BlockSet, SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.judge.oracle.model import Ending
from umi_sim.seedfile.fields import PLAIN
from umi_sim.services.calls import Services

HOME = Scope("u1", "a1")
TEA = fact(ALICE, "likes tea")
OF_ALICE = Address(HOME, "entity", TEA)
DAMAGED = Failed(StorageFailed("read", "damaged", 3))


class Judged:
    """One agent that is judged, on services that may lose two keys."""

    def __init__(self) -> None:
        config = structs.replace(PLAIN, mode="swarm", faults={"storage_bit_flip": (1, 4)})
        self.oracle, self.services = believing(Oracle(config)), Services({"a": 64}, loss_max=2)
        self.oracle.meet(lambda: 0, self.services)

    def tell(self, op_id: str, request: Request, outcome: Outcome) -> "Judged":
        request = structs.replace(request, op_id=op_id)
        self.oracle.observe_request("a", op_id, request, 0)
        self.oracle.observe_reply("a", op_id, Reply(op_id, outcome), 0)
        return self

    def lose(self, kind: str, event: str, *keys: Address) -> None:
        self.services.atlas.lose(kind, event, 0, *keys)

    def wipe(self) -> None:
        self.lose("storage_wiped", "o9/read#1")
        self.oracle.observe_crash("a")
        self.oracle.observe_wipe()


# Damage.


@pytest.mark.parametrize(
    ("is_lost", "outcome", "is_fair"),
    [
        (True, DAMAGED, True),
        (False, DAMAGED, False),
        (True, Failed(StorageFailed("read", "unavailable", 3)), False),
    ],
)
def test_in_a_healed_world_only_what_is_lost_fails_and_says_so(
    is_lost: bool, outcome: Outcome, is_fair: bool
) -> None:
    judged = Judged()
    if is_lost:
        judged.lose("storage_damaged", "o1/read#1", OF_ALICE)
    with nullcontext() if is_fair else broken("acknowledged-is-durable"):
        judged.tell("audit:1", GetEntity("", TEA), outcome)


def test_a_damaged_entity_stops_no_scan() -> None:
    judged = Judged()
    judged.lose("storage_damaged", "o1/read#1", OF_ALICE)
    with broken("acknowledged-is-durable"):
        judged.tell("drain:1", Rebalance(""), Failed(StorageFailed("rows", "damaged", 3)))


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_session_is_damaged_only_if_it_is_lost(is_lost: bool) -> None:
    judged = Judged().tell("o1", CreateSession(""), Done(SessionCreated("s", 0)))
    if is_lost:
        judged.lose("storage_bit_flip", "o1/read#1", Address(Scope("u1", "s"), "session", "s"))
    with nullcontext() if is_lost else broken("acknowledged-is-durable"):
        judged.tell("audit:1", LoadSession("", "s"), Refused(SnapshotDamaged("checksum differs")))


# Acknowledged early.


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_session_that_was_acknowledged_early_may_be_absent(is_lost: bool) -> None:
    judged = Judged()
    if is_lost:
        judged.lose("storage_ack_early", "o1/commit#1", Address(Scope("u1", "s"), "session", "s"))
    judged.tell("o1", CreateSession(""), Done(SessionCreated("s", 0)))
    with nullcontext() if is_lost else broken("acknowledged-is-durable"):
        judged.tell("o2", LoadSession("", "s"), Refused(SessionNotFound("s")))


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_save_that_was_acknowledged_early_may_show_what_was_before(is_lost: bool) -> None:
    judged = Judged().tell("o1", CreateSession(""), Done(SessionCreated("s", 0)))
    if is_lost:
        judged.lose("storage_ack_early", "o2/commit#1", Address(Scope("u1", "s"), "session", "s"))
    judged.tell("o2", SaveSession(""), Done(SessionSaved("s", 2, 0)))
    with nullcontext() if is_lost else broken("acknowledged-is-durable"):
        judged.tell("o3", LoadSession("", "s"), Done(SessionLoaded(1, 0)))


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_save_acknowledged_early_may_have_the_version_of_one_that_was_stored(
    is_lost: bool,
) -> None:
    judged = Judged().tell("o1", CreateSession(""), Done(SessionCreated("s", 0)))
    judged.oracle.observe_request("a", "o2", SaveSession("o2"), 0)
    judged.tell("o3", SaveSession(""), Done(SessionSaved("s", 2, 0)))
    if is_lost:
        judged.lose("storage_ack_early", "o2/commit#1", Address(Scope("u1", "s"), "session", "s"))
    with nullcontext() if is_lost else broken("session-versions"):
        judged.oracle.observe_reply("a", "o2", Reply("o2", Done(SessionSaved("s", 2, 0))), 0)


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_save_meets_an_older_version_only_if_the_newer_one_is_lost(is_lost: bool) -> None:
    judged = Judged().tell("o1", CreateSession(""), Done(SessionCreated("s", 0)))
    judged.tell("o2", SaveSession(""), Done(SessionSaved("s", 2, 0)))
    if is_lost:
        judged.lose("storage_wiped", "o3/read#1", Address(Scope("u1", "s"), "session", "s"))
    with nullcontext() if is_lost else broken("session-versions"):
        judged.tell("o3", SaveSession(""), Refused(SessionConflict(2, 1)))


@pytest.mark.parametrize("is_lost", [False, True])
def test_an_entity_that_was_acknowledged_early_is_absent(is_lost: bool) -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    request = history.log.flying[op_id].request
    ending = Ending(op_id, request, Done(as_stored((ALICE, "likes tea"))), NOW_MS, NOW_MS, not is_lost)
    with nullcontext() if is_lost else broken("acknowledged-is-durable"):
        history.oracle.observe_reply(ending)
    history.get(TEA, None)
    with broken("reference-agrees"):
        history.get(TEA, entity(ALICE, "likes tea"))


def test_an_id_that_was_acknowledged_early_may_be_given_again_even_before() -> None:
    created = Done(SessionCreated("s", 0))
    judged = Judged()
    judged.lose("storage_ack_early", "o1/commit#1", Address(Scope("u1", "s"), "session", "s"))
    judged.tell("o2", CreateSession(""), created).tell("o1", CreateSession(""), created)
    judged.tell("o3", LoadSession("", "s"), Done(SessionLoaded(1, 0)))
    with broken("session-versions"):
        judged.tell("o4", CreateSession(""), created)


# Wiped.


def test_after_a_wipe_nothing_is_there_and_nothing_comes_back() -> None:
    history = History()
    history.store((ALICE, "likes tea"))
    history.oracle.observe_crash()
    history.oracle.observe_wipe()
    history.get(TEA, None)
    history.count_of(0)
    assert ("get_entity", {"entity_id": TEA}) in history.oracle.audit()
    with broken("deleted-stays-deleted"):
        history.get(TEA, entity(ALICE, "likes tea"))


def test_after_a_wipe_versions_and_keys_begin_anew() -> None:
    history = History()
    history.store((ALICE, "likes tea"), request_key="k")
    history.oracle.observe_crash()
    history.oracle.observe_wipe()
    history.store((ALICE, "likes tea"), request_key="k")
    history.get(TEA, entity(ALICE, "likes tea"))


def test_a_wipe_takes_blocks_and_sessions_too() -> None:
    judged = Judged().tell("o1", CreateSession(""), Done(SessionCreated("s", 0)))
    judged.tell("o2", SetBlock("", "human", "x"), Done(BlockSet(())))
    judged.wipe()
    judged.tell("o3", LoadSession("", "s"), Refused(SessionNotFound("s")))
    judged.tell("o4", Blocks(""), Done(()))

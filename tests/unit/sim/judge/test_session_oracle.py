"""Goal: the judge holds sessions to their versions, members and lives, and names the rule a lie breaks."""

from contextlib import nullcontext
from typing import Any

import msgspec
import pytest
from msgspec import structs

from tests.histories import believing, broken
from umi_core.data import Owner
from umi_core.errors import Conflict, SessionConflict, SessionNotFound, SnapshotDamaged, StorageFailed
from umi_core.ids import fact_id, session_id
from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import (
    Asked,
    AskModel,
    Commit,
    Degraded,
    Done,
    Failed,
    Outcome,
    Refused,
    Reply,
    Unknown,
    Write,
)
from umi_core.messages.requests import (
    CreateSession,
    Get,
    LoadSession,
    Remember,
    Request,
    SaveSession,
    Set,
    SetBlock,
)
from umi_core.messages.results import Remembered, SessionCreated, SessionLoaded, SessionSaved, Stored
from umi_core.rows import Address, Receipt
from umi_core.values import RoutingDecision, Scope
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.services.atlas import Loss
from umi_sim.services.calls import Call

OWN = "ses_1"
SCOPE = Scope("u", "a")
AGENTS = (
    AgentConfig("a", SCOPE),
    AgentConfig("b", Scope("u", "b")),
    AgentConfig("x", Scope("v", "a")),
)


def config(mode: str = "swarm", **faults: Any) -> RunConfig:
    return RunConfig(
        "sessions", 1, 0, mode, AGENTS, 0, {}, {}, faults, 10, 2, 2, (0, 1), (0, 1), (0, 1), "instant", "fifo"
    )


class SessionOwner(Owner):
    """What a judge has observed: each request is begun, and answered at once or later."""

    oracle: Oracle = msgspec.field(default_factory=lambda: believing(Oracle(config(storage_conflict=(1, 8)))))
    now_ms: int = 1_000
    count: int = 0

    def begin(self, agent: str, request: Request) -> str:
        self.count += 1
        op_id = f"o{self.count}"
        self.oracle.observe_request(agent, op_id, request, self.now_ms)
        return op_id

    def hear(self, agent: str, op_id: str, outcome: Outcome) -> None:
        self.oracle.read_clock(agent, self.now_ms)
        self.oracle.observe_reply(agent, op_id, Reply(op_id, outcome), self.now_ms)

    def tell(self, agent: str, request: Request, outcome: Outcome) -> None:
        self.hear(agent, self.begin(agent, request), outcome)

    def set(self, agent: str, value: bytes, ttl_ms: int = 60_000) -> None:
        self.tell(agent, Set(0, "k", value, ttl_ms), Done(None))

    def get(self, agent: str, value: bytes | None) -> None:
        self.tell(agent, Get(0, "k"), Done(value))

    def save(self, agent: str, version: int, hand_to: tuple[str, ...] = ()) -> None:
        self.tell(agent, SaveSession(0, hand_to), saved(version))

    def load(self, agent: str, version: int, expired: int = 0) -> None:
        self.tell(agent, LoadSession(0, OWN), Done(SessionLoaded(version, expired)))


def saved(version: int, own: str = OWN) -> Done:
    return Done(SessionSaved(own, version, 1_000))


def opened(owner: SessionOwner | None = None) -> SessionOwner:
    """Agent a has a session with one entry, saved as version 2; b is a member."""
    owner = owner or SessionOwner()
    owner.tell("a", CreateSession(0, ("b",)), Done(SessionCreated(OWN, 1_000, 0)))
    owner.set("a", b"one")
    owner.save("a", 2)
    return owner


def test_what_was_saved_is_loaded_by_every_agent() -> None:
    owner = opened()
    owner.load("b", 2)
    owner.get("b", b"one")
    owner.set("b", b"two")
    owner.save("b", 3)
    owner.load("a", 3)
    owner.get("a", b"two")
    with broken("reference-agrees"):
        owner.tell("a", Get(0, "k"), Done(b"one"))


# Versions.


def test_of_two_saves_from_one_version_one_is_acknowledged() -> None:
    owner = opened()
    owner.load("b", 2)
    owner.save("a", 3)
    owner.tell("b", SaveSession(0), Refused(SessionConflict(2, 3)))
    with broken("session-versions"):
        owner.save("b", 3)


def test_a_save_has_the_version_after_the_one_that_is_here() -> None:
    for version in (2, 4):
        with broken("session-versions"):
            opened().save("a", version)


def test_a_save_that_is_answered_after_a_load_says_nothing_of_what_was_loaded() -> None:
    owner = opened()
    owner.set("a", b"two")
    late = owner.begin("a", SaveSession(0))
    owner.load("a", 2)
    owner.hear("a", late, saved(3))
    owner.get("a", b"one")
    owner.tell("a", SaveSession(0), Refused(SessionConflict(2, 3)))
    with broken("session-versions"):
        owner.save("a", 4)


def test_what_a_late_save_may_have_packed_is_what_was_there_at_its_begin() -> None:
    owner = opened()
    late = owner.begin("a", SaveSession(0))
    owner.set("a", b"two")
    owner.hear("a", late, saved(3))
    owner.load("b", 3)
    owner.get("b", b"one")


def test_a_save_without_an_answer_may_be_there_or_not() -> None:
    for version, value in ((2, b"one"), (3, b"two")):
        owner = opened()
        owner.set("a", b"two")
        owner.tell("a", SaveSession(0), Unknown())
        owner.load("b", version)
        owner.get("b", value)


def test_a_save_that_failed_is_never_loaded() -> None:
    owner = opened()
    owner.set("a", b"two")
    late = owner.begin("a", SaveSession(0))
    owner.load("b", 3)
    with broken("no-lost-update"):
        owner.hear("a", late, Failed(StorageFailed("commit", "unavailable", 3)))


def test_a_version_that_another_agent_loaded_is_not_reported_to_this_one() -> None:
    owner = opened()
    owner.load("b", 2)
    for agent, value in (("a", b"two"), ("b", b"bee")):
        owner.set(agent, value)
    first, _ = owner.begin("a", SaveSession(0)), owner.begin("b", SaveSession(0))
    owner.load("b", 3)
    owner.get("b", b"bee")
    with broken("no-lost-update"):
        owner.hear("a", first, saved(3))


@pytest.mark.parametrize("conflict", [SessionConflict(2, 2), SessionConflict(3, 4), SessionConflict(2, 1)])
def test_a_conflict_names_the_version_that_is_here_and_a_newer_one(conflict: SessionConflict) -> None:
    with broken("session-versions"):
        opened().tell("a", SaveSession(0), Refused(conflict))


def test_a_version_that_was_shown_before_a_save_began_is_not_what_it_saved() -> None:
    owner = opened()
    owner.load("b", 2)
    owner.tell("b", SaveSession(0), Unknown())
    owner.load("b", 3)
    with broken("session-versions"):
        owner.save("a", 3)


def test_no_id_is_given_twice() -> None:
    with broken("session-versions"):
        opened().tell("b", CreateSession(0), Done(SessionCreated(OWN, 1_000, 0)))


def test_a_create_whose_session_a_load_has_shown_may_be_answered_later() -> None:
    owner = SessionOwner()
    first, second = (owner.begin("a", CreateSession(0)) for _ in range(2))
    made = SessionCreated(OWN, 1_000, 0)
    owner.oracle.surroundings.atlas.losses.append(Loss("storage_ack_early", f"{first}/commit", 1_000, ()))
    owner.hear("a", first, Done(made))
    owner.load("a", 1)
    owner.hear("a", second, Done(made))
    with broken("session-versions"):
        owner.tell("a", CreateSession(0), Done(made))


def test_a_version_that_was_never_saved_is_not_loaded() -> None:
    with broken("session-versions"):
        opened().load("b", 3)


def test_an_acknowledged_version_is_not_lost() -> None:
    with broken("acknowledged-is-durable"):
        opened().load("b", 1)
    with broken("acknowledged-is-durable"):
        opened().tell("b", LoadSession(0, OWN), Refused(SessionNotFound(OWN)))


# Whose session it is.


def test_a_save_is_of_the_session_that_is_open_here() -> None:
    with broken("session-or-error"):
        opened().tell("a", SaveSession(0), saved(3, "ses_2"))
    with broken("session-or-error"):
        opened().tell("b", SaveSession(0), saved(3))  # it is there, and b has not loaded it


def test_a_session_of_another_user_is_not_there() -> None:
    owner = opened()
    owner.tell("x", LoadSession(0, OWN), Refused(SessionNotFound(OWN)))
    with broken("session-or-error"):
        owner.load("x", 2)
    with broken("session-or-error"):
        SessionOwner().load("a", 1)  # it was never created


def test_an_agent_that_is_no_member_loads_nothing_until_the_session_is_handed_over() -> None:
    def alone() -> SessionOwner:
        owner = SessionOwner()
        owner.tell("a", CreateSession(0), Done(SessionCreated(OWN, 1_000, 0)))
        return owner

    with broken("session-members-only"):
        alone().load("b", 1)
    owner = alone()
    owner.save("a", 2, ("b",))
    owner.load("b", 2)


# Lives and bytes.


def test_lives_run_on_while_a_session_rests() -> None:
    owner = opened()
    owner.now_ms += 60_000
    owner.load("b", 2, expired=1)
    owner.get("b", None)
    with broken("rest-time"):
        opened().load("b", 2, expired=1)


def test_a_new_session_tells_what_it_dropped() -> None:
    with broken("reference-agrees"):
        opened().tell("a", CreateSession(0), Done(SessionCreated("ses_2", 1_000, 0)))


def test_a_snapshot_is_only_damaged_where_bytes_are() -> None:
    damaged = Refused(SnapshotDamaged("checksum differs"))
    opened(SessionOwner(believing(Oracle(config(storage_bit_flip=(1, 8)))))).tell(
        "b", LoadSession(0, OWN), damaged
    )
    with broken("snapshot-guarded"):
        opened().tell("b", LoadSession(0, OWN), damaged)


# A world without faults.


@pytest.mark.parametrize(
    ("latency", "memory", "rule"),
    [
        ("spread", {"model_timeout_ms": 4_094}, None),
        ("spread", {"model_timeout_ms": 4_095}, "degradation-named"),
        ("spread", {}, "degradation-named"),
        ("short", {"model_timeout_ms": 1}, "degradation-named"),
    ],
)
def test_a_call_to_a_slow_store_may_be_given_up(
    latency: str, memory: dict[str, int], rule: str | None
) -> None:
    far = structs.replace(config("plain"), latency=latency, memory=memory)
    with broken(rule) if rule else nullcontext():
        SessionOwner(believing(Oracle(far))).tell("a", SetBlock("", "human", "x"), Unknown())


LESS = Done(SessionLoaded(2, 0), (Degraded("embed:none", "timeout"),))


@pytest.mark.parametrize("outcome", [Failed(StorageFailed("read", "unavailable", 3)), Unknown(), LESS])
def test_nothing_fails_without_a_fault(outcome: Outcome) -> None:
    opened().tell("b", LoadSession(0, OWN), outcome)
    with broken("degradation-named"):
        opened(SessionOwner(believing(Oracle(config("plain"))))).tell("b", LoadSession(0, OWN), outcome)


def test_a_model_may_pass_over_sentences_without_a_fault() -> None:
    owner, lack = (
        SessionOwner(believing(Oracle(config("plain")))),
        Degraded("extract:uncovered", "passed_over"),
    )
    opened(owner).tell("b", LoadSession(0, OWN), Done(SessionLoaded(2, 0), (lack,)))


# A create plans three times; then its millisecond is full.

FULL = Failed(Conflict("commit", "conflict", 1))


def created_so_often(count: int) -> SessionOwner:
    owner = SessionOwner(believing(Oracle(config("plain"))))
    for n in range(count):
        own = session_id(AGENTS[0].scope, owner.now_ms, n)
        owner.tell("a", CreateSession(0), Done(SessionCreated(own, owner.now_ms)))
    return owner


def test_a_fourth_session_of_one_millisecond_may_fail() -> None:
    created_so_often(3).tell("a", CreateSession(0), FULL)


def test_a_fourth_session_of_one_millisecond_fails_for_that_reason_alone() -> None:
    for outcome in (Failed(StorageFailed("commit", "unavailable", 3)), Unknown()):
        with broken("degradation-named"):
            created_so_often(3).tell("a", CreateSession(0), outcome)


@pytest.mark.parametrize(("others_count", "rule"), [(3, None), (2, "degradation-named")])
def test_a_request_that_loses_three_races_may_fail(others_count: int, rule: str | None) -> None:
    """Without faults, too: each of three plans was overtaken by the batch of another process."""
    owner = SessionOwner(believing(Oracle(config("plain"))))
    durable = iter((5, 5 + others_count))
    owner.oracle.surroundings.durable_count = lambda: next(durable)
    with broken(rule) if rule else nullcontext():
        owner.tell("a", SetBlock("", "human", "x"), FULL)


def test_a_third_session_of_one_millisecond_may_not_fail() -> None:
    with broken("degradation-named"):
        created_so_often(2).tell("a", CreateSession(0), FULL)


# Reserved keys.


def remembering(owner: SessionOwner, text: str) -> str:
    """A remember of which only the commit is still to be answered; extraction failed."""
    op_id = owner.begin("a", Remember("", text, embed=False, evolve=False))
    owner.oracle.observe_answer(call(op_id, "extract", AskModel("extract", "")), EffectFailed(0, "refused"))
    return op_id


def call(op_id: str, step: str, effect: Asked) -> Call:
    return Call(f"a/{op_id}", "a", 0, op_id, "remember", step, effect, 0)


def receipt(number: int) -> Receipt:
    return Receipt("r", b"", b"", None, 1_000, (1, number))


def committed(owner: SessionOwner, op_id: str, number: int, found: int | None = None) -> None:
    """The batch of this operation, and whose receipt came back."""
    effect = Commit((Write(Address(SCOPE, "receipt", "r"), receipt(number)),), ())
    batch, answer = call(op_id, "commit", effect), Committed(0, (), receipt(found or number))
    owner.oracle.observe_call(batch)
    if found is None:
        owner.oracle.observe_commit(batch)
    owner.oracle.observe_answer(batch, answer)


def noted(owner: SessionOwner, op_id: str, text: str) -> None:
    key = fact_id(SCOPE, (), text)
    decision = RoutingDecision(key, "scratch", False, None, "", "table", None)
    value = Remembered((Stored(key, 1, "created"),), routing=(decision,))
    owner.hear("a", op_id, Done(value, (Degraded("extract:notes", "refused"),)))


def test_the_last_input_is_the_one_that_was_committed_last_whatever_is_replied_last() -> None:
    owner = opened()
    first, second = remembering(owner, "one"), remembering(owner, "two")
    committed(owner, second, 2)
    owner.tell("a", Get(0, "__last_input"), Done(b"two"))
    committed(owner, first, 1)
    owner.tell("a", Get(0, "__last_input"), Done(b"one"))
    noted(owner, first, "one")
    noted(owner, second, "two")
    owner.tell("a", Get(0, "__interaction_count"), Done(b"2"))
    owner.tell("a", Get(0, "__last_input"), Done(b"one"))
    with broken("session-keys-true"):
        owner.tell("a", Get(0, "__last_input"), Done(b"two"))


def test_a_commit_that_finds_the_batch_of_another_request_is_no_interaction() -> None:
    owner = opened()
    committed(owner, remembering(owner, "one"), 1, found=7)
    owner.tell("a", Get(0, "__last_input"), Done(None))

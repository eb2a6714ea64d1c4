"""Goal: a session brings its next agent what its save declared: keys, messages, facts (M5)."""

import json
from typing import Any

import msgpack
import pytest
from msgspec import structs

from tests.unit.core.test_sessions import created, saved, session_row, two
from tests.worlds import Pair, saying, verdict
from umi_core.errors import BadOption, SessionNotFound
from umi_core.ids import pack
from umi_core.limits import SESSION_FACT_COUNT_MAX, TEXT_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX
from umi_core.messages.effects import ByIds, Commit, Done, Read, Refused, Unknown
from umi_core.messages.requests import (
    Count,
    CreateSession,
    Forget,
    ForgetResource,
    Get,
    LoadSession,
    Memorize,
    Recall,
    Remember,
    SaveSession,
    Set,
)
from umi_core.messages.results import Memorized, Recalled, Remembered, SessionLoaded, SessionSaved
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Address, Entity, SessionRow
from umi_core.state import Operation, Queued
from umi_core.values import Scope, Turn
from umi_core.workflows.sessions import last_fitting

ALL = ("keys", "messages", "facts")
CHAT = [
    {"role": "user", "content": "Where does Bob live?"},
    {"role": "assistant", "content": "In Oslo."},
]


def remember_text(pair: Pair, op: str, text: str) -> str:
    """Remember a text of one statement, and return the id of its fact."""
    outcome = pair.ask(Remember(op, text))
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value.entities[0].id


def loaded(pair: Pair, op: str, key: str) -> SessionLoaded:
    outcome = pair.ask(LoadSession(op, key))
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, SessionLoaded)
    return outcome.value


def contents(pair: Pair) -> list[str]:
    """Return the current facts of an agent."""
    return sorted(it.body.content for it in pair.rows("entity") if isinstance(it.body, Entity))


def hand_over(a: Pair, *carries: str) -> str:
    """Save the session of a for a2, and return its id."""
    outcome = a.ask(SaveSession("save", ("a2",), carries))
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, SessionSaved)
    return outcome.value.session_id


def opened() -> tuple[Pair, Pair]:
    """Two agents of one user; the first has begun a session."""
    a, b = two()
    created(a.ask(CreateSession("create")))
    return a, b


def memorize(pair: Pair, op: str, key: str, messages: object, uri: str | None = None) -> str:
    outcome = pair.ask(Memorize(op, json.dumps(messages), "conversation", uri, session_id=key))
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Memorized)
    return outcome.value.resource_id


# Facts.


def test_the_facts_of_a_session_are_reported_to_the_agent_that_loads_it() -> None:
    a, b = opened()
    remember_text(a, "r1", "Alice likes tea")
    remember_text(a, "r2", "Bob lives in Oslo")
    value = loaded(b, "l1", hand_over(a, "facts"))
    assert value.facts is not None
    assert [it.change for it in value.facts.entities] == ["created", "created"]
    assert contents(b) == contents(a) == ["likes tea", "lives in Oslo"]
    recalled = b.ask(Recall("q", "Where does Bob live?"))
    assert isinstance(recalled, Done)
    assert isinstance(recalled.value, Recalled)
    assert recalled.value.hits[0].content == "lives in Oslo"


def test_nothing_but_keys_goes_along_unless_it_is_declared() -> None:
    a, b = opened()
    remember_text(a, "r1", "Alice likes tea")
    a.ask(Set("s", "plan", b"1"))
    key = hand_over(a, "keys")
    memorize(a, "m1", key, CHAT)
    b.step(LoadSession("l1", key))
    query = b.until(Read).query
    assert isinstance(query, ByIds)
    assert {it.kind for it in query.addresses} == {"session"}
    b.run()
    assert b.replies["l1"].outcome == Done(SessionLoaded(2, 0))
    assert b.ask(Get("g", "plan")) == Done(b"1")
    assert contents(b) == []


def test_a_session_without_keys_shows_no_text_of_a_turn() -> None:
    a, b = opened()
    a.ask(Set("s", "plan", b"1"))
    remember_text(a, "r1", "Alice likes tea")
    loaded(b, "l1", hand_over(a, "facts"))
    assert [b.ask(Get(key, key)) for key in ("plan", "__last_input")] == [Done(None), Done(None)]
    assert b.ask(Get("g", "__interaction_count")) == Done(b"0")


def test_a_load_that_is_repeated_changes_nothing() -> None:
    a, b = opened()
    remember_text(a, "r1", "Alice likes tea")
    key = hand_over(a, "facts")
    loaded(b, "l1", key)
    before = [row.body for row in b.rows("entity")]
    value = loaded(b, "l2", key)
    assert value.facts is not None
    assert [it.change for it in value.facts.entities] == ["unchanged"]
    assert [row.body for row in b.rows("entity")] == before


def test_what_the_first_agent_forgot_before_the_load_is_not_carried() -> None:
    a, b = opened()
    fact = remember_text(a, "r1", "Alice likes tea")
    remember_text(a, "r2", "Bob snores")
    key = hand_over(a, "facts")
    a.ask(Forget("f", fact))
    value = loaded(b, "l1", key)
    assert contents(b) == ["snores"]
    assert value.left_out_count == 1
    assert "tea" not in repr(session_row(a, key))


def test_what_is_forgotten_while_it_is_loaded_is_not_carried() -> None:
    a, b = opened()
    fact = remember_text(a, "r1", "Alice likes tea")
    key = hand_over(a, "facts")
    b.step(LoadSession("l1", key))
    b.hold(Commit)
    a.ask(Forget("f", fact))
    b.release()
    assert b.replies["l1"].outcome == Done(SessionLoaded(2, 0, left_out_count=1))
    assert contents(b) == []


def test_a_damaged_fact_or_conversation_is_left_out_and_named() -> None:
    a, b = opened()
    fact = remember_text(a, "r1", "Alice likes tea")
    remember_text(a, "r2", "Bob snores")
    key = hand_over(a, *ALL)
    memorize(a, "m1", key, [{"role": "user", "content": "Hello Bob"}])
    a.storage.rot(Address(a.scope, "resource", memorize(a, "m2", key, CHAT)))
    a.storage.rot(Address(a.scope, "entity", fact))
    outcome = b.ask(LoadSession("l1", key))
    assert isinstance(outcome, Done)
    assert [(it.name, it.count) for it in outcome.degraded] == [("read:damaged_rows", 2)]
    assert isinstance(outcome.value, SessionLoaded)
    assert (outcome.value.left_out_count, outcome.value.turns) == (1, (Turn("user", "Hello Bob"),))
    assert contents(b) == ["snores"]


def in_flight(pair: Pair) -> Operation:
    return next(it for it in pair.memory.state.operations.values() if it.workflow == "load_session")


def test_a_load_waits_for_writes_about_the_same_person() -> None:
    a, b = opened()
    remember_text(a, "1", "Ann naps")
    key = hand_over(a, "facts")
    b.step(Remember("2", "Ann sings"))
    b.hold(Commit)
    b.step(LoadSession("3", key))
    while b.pending:
        b.answer()
    assert isinstance(in_flight(b).progress, Queued)
    b.release()
    assert isinstance(b.run().replies["3"].outcome, Done)
    assert contents(b) == ["naps", "sings"]


def test_a_new_plan_of_a_load_claims_nothing_more_though_it_carries_more() -> None:
    a, b = opened()
    first, second = remember_text(a, "1", "Ann naps"), remember_text(a, "2", "Bob snores")
    key = hand_over(a, "facts")
    a.ask(Forget("3", second))
    b.step(LoadSession("4", key))
    b.until(Commit)
    claims = in_flight(b).claims
    remember_text(a, "5", "Bob snores")
    a.ask(Forget("6", first))
    b.answer()  # the commit, a conflict
    b.until(Commit)
    assert (in_flight(b).plan_count, in_flight(b).claims) == (2, claims)
    assert isinstance(b.run().replies["4"].outcome, Done)
    assert contents(b) == ["snores"]


def test_a_load_whose_session_was_edited_in_a_saved_memory_is_in_doubt_once_its_facts_are_stored() -> None:
    a, b = opened()
    remember_text(a, "1", "Ann naps")
    b.step(LoadSession("2", hand_over(a, "facts")))
    b.until(Commit)
    operation = in_flight(b)
    row: Any = operation.facts["session"]
    operation.facts["session"] = structs.replace(row, body=structs.replace(row.body, snapshot=b"x"))
    assert b.run().replies["2"].outcome == Unknown()


def test_what_has_ended_is_not_carried() -> None:
    a, b = opened()
    remember_text(a, "r1", "Bob lives in Oslo")
    a.model = saying(evolve=verdict("update"))
    remember_text(a, "r2", "Bob lives in Rome")
    assert loaded(b, "l1", hand_over(a, "facts")).left_out_count == 1
    assert contents(b) == ["lives in Rome"]


def test_a_carried_fact_ends_an_older_one_and_no_newer_one() -> None:
    for is_newer in (False, True):
        a, b = opened()
        b.model = saying(evolve=verdict("update"))
        for pair, text in ((a, "Bob lives in Oslo"), (b, "Bob lives in Rome"))[:: -1 if is_newer else 1]:
            a.now_ms = b.now_ms = a.now_ms + 1_000
            remember_text(pair, "r1", text)
        b.now_ms = a.now_ms + 1_000
        loaded(b, "l1", hand_over(a, "facts"))
        assert contents(b) == (["lives in Oslo"] if is_newer else ["lives in Rome"])


def test_an_agent_that_loads_its_own_session_goes_on_with_its_facts() -> None:
    a, b = opened()
    remember_text(a, "r1", "Alice likes tea")
    key = hand_over(a, "keys")
    again = Pair(storage=a.storage).run()
    loaded(again, "l1", key)
    remember_text(again, "r2", "Bob snores")
    again.ask(SaveSession("s2", carries=("facts",)))
    loaded(b, "l1", key)
    assert contents(b) == ["likes tea", "snores"]


def test_a_third_agent_gets_what_the_second_one_loaded_and_remembered() -> None:
    a, b = opened()
    c = Pair(storage=a.storage, scope=Scope("u1", "a3")).run()
    remember_text(a, "r1", "Alice likes tea")
    key = hand_over(a, "facts")
    loaded(b, "l1", key)
    remember_text(b, "r1", "Bob snores")
    b.ask(SaveSession("s1", ("a3",), ("facts",)))
    loaded(c, "l1", key)
    assert contents(c) == ["likes tea", "snores"]


def test_an_agent_that_is_no_member_gets_nothing() -> None:
    a, _ = opened()
    remember_text(a, "r1", "Alice likes tea")
    key = hand_over(a, *ALL)
    for scope in (Scope("u1", "a3"), Scope("u2", "a2")):
        other = Pair(storage=a.storage, scope=scope).run()
        assert other.ask(LoadSession("l1", key)) == Refused(SessionNotFound(key))
        assert other.rows("entity") == []


def test_a_load_whose_facts_are_not_stored_changes_nothing() -> None:
    a, b = opened()
    remember_text(a, "r1", "Alice likes tea")
    b.ask(Set("s", "own", b"2"))
    before = b.memory.state.tiers.working
    assert not isinstance(b.ask(LoadSession("l1", hand_over(a, *ALL)), Commit), Done)
    assert b.memory.state.tiers.working == before
    assert b.ask(Count("c")) == Done(0)


@pytest.mark.uncounted
def test_a_save_names_how_many_facts_it_cannot_carry() -> None:
    a, b = opened()
    for n in range(SESSION_FACT_COUNT_MAX + 2):
        remember_text(a, f"r{n}", f"Alice likes tea{n}")
    outcome = a.ask(SaveSession("s", ("a2",), ("facts",)))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, SessionSaved)
    assert outcome.value.left_out_count == 2
    assert len(session_row(a, outcome.value.session_id).fact_ids) == SESSION_FACT_COUNT_MAX
    value = loaded(b, "l1", outcome.value.session_id)
    assert value.facts is not None
    assert len(value.facts.entities) == SESSION_FACT_COUNT_MAX


# Messages.


def test_the_last_messages_of_its_conversations_come_with_a_session() -> None:
    a, b = opened()
    key = hand_over(a, *ALL)
    memorize(a, "m1", key, [{"role": "user", "content": f"line {n}"} for n in range(TURN_COUNT_MAX)])
    a.now_ms += 1_000
    memorize(a, "m2", key, [*CHAT, {"role": "Ann", "content": "x" * 2 * TURN_CHARS_MAX}])
    turns = loaded(b, "l1", key).turns
    assert len(turns) == TURN_COUNT_MAX
    assert turns[-3:-1] == (Turn("user", "Where does Bob live?"), Turn("assistant", "In Oslo."))
    assert turns[-1].text == ("Ann: " + "x" * TURN_CHARS_MAX)[:TURN_CHARS_MAX]


def test_a_forgotten_conversation_is_carried_nowhere() -> None:
    a, b = opened()
    key = hand_over(a, *ALL)
    text = memorize(a, "m1", key, CHAT)
    a.ask(ForgetResource("f", text))
    assert loaded(b, "l1", key).turns == ()


# What may be declared.


@pytest.mark.parametrize("carries", [(), ("blocks",), "keys", ("keys", 1), None])
def test_what_no_session_can_carry_is_refused(carries: object) -> None:
    a, _ = opened()
    outcome = a.ask(SaveSession("s", (), carries))  # type: ignore[arg-type]
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, BadOption)


def test_a_save_that_declares_nothing_carries_keys() -> None:
    a, _ = opened()
    assert saved(a.ask(SaveSession("s"))) == 2
    assert session_row(a, hand_over(a, "facts", "keys", "facts")).carries == ("keys", "facts")


# Limits and old rows.


def test_facts_that_are_too_long_for_one_text_are_left_out_first() -> None:
    pair = Pair().run()
    remember_text(pair, "r1", "Alice likes tea")
    (row,) = pair.rows("entity")
    assert isinstance(row.body, Entity)
    long = structs.replace(row.body, content="x" * (TEXT_BYTES_MAX // 2))
    exact = structs.replace(row.body, content="x" * (TEXT_BYTES_MAX // 2 - 1))
    assert last_fitting((long, long)) == (long,)
    assert last_fitting((exact, exact)) == (exact, exact)
    assert last_fitting((row.body, exact, exact)) == (exact, exact)


def test_a_row_of_an_older_release_carries_keys_alone() -> None:
    a, b = opened()
    a.ask(Set("s", "plan", b"1"))
    remember_text(a, "r1", "Alice likes tea")
    key = hand_over(a, *ALL)
    kind, _, tree = msgpack.unpackb(encode_row(session_row(a, key)))
    old = decode_row(pack([kind, 1, pack(msgpack.unpackb(tree)[:-3])]))
    assert isinstance(old, SessionRow)
    assert (old.carries, old.fact_ids) == (("keys",), ())
    where = Address(Scope("u1", key), "session", key)
    a.storage.rows[where] = structs.replace(a.storage.rows[where], body=old)
    assert loaded(b, "l1", key) == SessionLoaded(2, 0)
    assert (b.ask(Get("g", "plan")), contents(b)) == (Done(b"1"), [])

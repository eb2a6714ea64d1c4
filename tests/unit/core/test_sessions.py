"""Goal: sessions are handed on whole, and of two saves from one version one succeeds (M5)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair
from umi_core.errors import (
    Error,
    NoSession,
    SessionConflict,
    SessionNotFound,
    SnapshotDamaged,
    SnapshotDoesNotFit,
    StorageFailed,
    TooManyMembers,
)
from umi_core.ids import session_id
from umi_core.messages.effects import Commit, Done, Failed, Outcome, Read, Refused, Unknown
from umi_core.messages.requests import CreateSession, Get, Len, LoadSession, Remember, SaveSession, Set, Sweep
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Address, SessionRow
from umi_core.values import Scope

MEMBERS_16 = tuple(f"m{n:02}" for n in range(15))


def two() -> tuple[Pair, Pair]:
    """Agents a1 and a2 of one user, on one storage."""
    one = Pair().run()
    other = Pair(storage=one.storage, scope=Scope("u1", "a2")).run()
    return one, other


def created(outcome: Outcome) -> str:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, SessionCreated)
    return outcome.value.session_id


def saved(outcome: Outcome) -> int:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, SessionSaved)
    return outcome.value.version


def session_row(pair: Pair, key: str) -> SessionRow:
    row = pair.storage.rows[Address(Scope(pair.scope.user, key), "session", key)]
    assert isinstance(row.body, SessionRow)
    return row.body


# The handoff of M5.15.


def test_a_handoff_counts_versions_and_the_later_save_from_an_old_one_is_refused() -> None:
    a, b = two()
    key = created(a.ask(CreateSession(1)))
    a.ask(Set(2, "plan", b"tea"))
    assert saved(a.ask(SaveSession(3, hand_to=("a2",)))) == 2
    assert b.ask(LoadSession(1, key)) == Done(SessionLoaded(2, 0))
    assert b.ask(Get(2, "plan")) == Done(b"tea")
    a.ask(Set(4, "plan", b"coffee"))
    assert saved(a.ask(SaveSession(5))) == 3
    before = b.memory.state.tiers
    assert b.ask(SaveSession(3)) == Refused(SessionConflict(2, 3))
    assert b.memory.state.tiers == before
    assert b.ask(LoadSession(4, key)) == Done(SessionLoaded(3, 0))
    assert b.ask(Get(5, "plan")) == Done(b"coffee")
    assert saved(b.ask(SaveSession(6))) == 4


def test_of_two_saves_from_one_version_one_succeeds_in_either_order() -> None:
    a, b = two()
    key = created(a.ask(CreateSession(1, ("a2",))))
    b.ask(LoadSession(1, key))
    a.step(SaveSession(2))
    a.hold(Commit)
    assert saved(b.ask(SaveSession(2))) == 2
    assert a.release().replies[2].outcome == Refused(SessionConflict(1, 2))
    assert session_row(a, key).saved_by == "a2"


def test_a_save_that_is_answered_after_a_later_version_was_loaded_takes_nothing_back() -> None:
    a, b = two()
    key = created(a.ask(CreateSession(1, ("a2",))))
    a.step(SaveSession(2))
    a.land(a.hold(Commit))
    b.ask(LoadSession(1, key))
    assert saved(b.ask(SaveSession(2))) == 3
    assert a.ask(LoadSession(3, key)) == Done(SessionLoaded(3, 0))
    assert saved(a.release().replies[2].outcome) == 2
    assert saved(a.ask(SaveSession(4))) == 4


# Create.


def test_a_new_session_is_empty_and_tells_what_it_dropped() -> None:
    pair = Pair(now_ms=1_000).run()
    for n, ttl_ms in enumerate((5, 5_000, 5_000)):
        pair.ask(Set(n, f"k{n}", b"v", ttl_ms))
    pair.now_ms = 1_005
    key = session_id(SCOPE, 1_005, 0)
    assert pair.ask(CreateSession(10)) == Done(SessionCreated(key, 1_005, 2))
    assert [pair.ask(Len(11)), pair.ask(Sweep(12)), pair.ask(Get(13, "__session_id"))] == [
        Done(0), Done(1), Done(key.encode()),
    ]  # fmt: skip
    assert structs.replace(session_row(pair, key), snapshot=b"") == SessionRow(
        key, "u1", "a1", ("a1",), 1_005, "a1", b""
    )


def test_an_id_that_is_taken_counts_on() -> None:
    pair = Pair().run()
    keys = [created(pair.ask(CreateSession(n))) for n in range(2)]
    assert keys == [session_id(SCOPE, 0, n) for n in range(2)]
    assert pair.memory.state.tiers.session.version == 1


def test_a_new_session_starts_its_story_anew() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(CreateSession(2))
    assert [pair.ask(Get(3, "__interaction_count")), pair.ask(Get(4, "__last_input"))] == [
        Done(b"0"),
        Done(None),
    ]


def test_a_commit_whose_outcome_is_unknown_creates_one_session_or_says_so() -> None:
    pair = Pair().run()
    pair.step(CreateSession(1))
    first = pair.until(Commit)
    pair.land(first)
    pair.fail("unknown")
    assert created(pair.run().replies[1].outcome) == session_id(SCOPE, 0, 0)
    assert pair.ask(CreateSession(2), Commit) == Failed(StorageFailed("commit", "unavailable", 3))
    assert pair.memory.state.tiers.session.session_id == session_id(SCOPE, 0, 0)


# Members.


@pytest.mark.parametrize(
    "request_", [CreateSession(2, (*MEMBERS_16, "m99")), SaveSession(2, (*MEMBERS_16, "m99"))]
)
def test_a_session_has_at_most_16_members(request_: Any) -> None:
    pair = Pair().run()
    key = created(pair.ask(CreateSession(1, MEMBERS_16)))
    assert pair.ask(request_) == Refused(TooManyMembers(17, 16))
    assert session_row(pair, key).members == ("a1", *MEMBERS_16)


def test_members_are_kept_once_and_in_order_and_only_added() -> None:
    a, b = two()
    key = created(a.ask(CreateSession(1, ("a2", "a1", "a2"))))
    b.ask(LoadSession(1, key))
    b.ask(SaveSession(2, ("a0",)))
    assert session_row(a, key).members == ("a0", "a1", "a2")
    assert session_row(a, key).creator == "a1"


@pytest.mark.parametrize("scope", [Scope("u1", "a2"), Scope("u2", "a1")])
def test_a_session_is_there_for_its_members_only(scope: Scope) -> None:
    pair = Pair().run()
    key = created(pair.ask(CreateSession(1)))
    other = Pair(storage=pair.storage, scope=scope).run()
    other.ask(Set(1, "mine", b"v"))
    before = other.memory.state.tiers
    assert other.ask(LoadSession(2, key)) == Refused(SessionNotFound(key))
    assert other.memory.state.tiers == before


# Load.


def test_a_missing_session_is_an_error_and_nothing_changes() -> None:
    pair = Pair().run()
    pair.ask(Set(1, "mine", b"v"))
    assert pair.ask(LoadSession(2, "ses_x")) == Refused(SessionNotFound("ses_x"))
    assert pair.ask(LoadSession(3, "ses_x"), Read) == Failed(StorageFailed("read", "unavailable", 3))
    assert pair.ask(Get(4, "mine")) == Done(b"v")


def test_a_load_replaces_all_and_tells_what_expired_at_rest() -> None:
    a, b = two()
    a.ask(CreateSession(1))
    a.ask(Set(2, "short", b"v", 100))
    a.ask(Set(3, "long", b"v", 200))
    a.ask(SaveSession(4, ("a2",)))
    key = a.memory.state.tiers.session.session_id
    assert key is not None
    b.ask(Set(1, "mine", b"v", 50))
    b.now_ms = 100
    assert b.ask(LoadSession(2, key)) == Done(SessionLoaded(2, 1))
    assert [b.ask(Get(n, name)) for n, name in enumerate(("mine", "short", "long"), 3)] == [
        Done(None),
        Done(None),
        Done(b"v"),
    ]
    assert b.ask(Sweep(6)) == Done(1)  # `mine` had expired; what expired at rest was never here
    b.now_ms = 200
    assert b.ask(Get(7, "long")) == Done(None)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"snapshot": b"damaged"}, SnapshotDamaged("not a session snapshot")),
        ({}, SnapshotDoesNotFit(2, 4)),
    ],
)
def test_a_snapshot_that_cannot_be_loaded_changes_nothing(change: dict[str, Any], error: Error) -> None:
    a, _ = two()
    a.ask(CreateSession(1))
    a.ask(Set(2, "k", b"v"))
    a.ask(Set(3, "l", b"v"))
    a.ask(SaveSession(4, ("a2",)))
    key = a.memory.state.tiers.session.session_id or ""
    where = Address(Scope("u1", key), "session", key)
    row = a.storage.rows[where]
    a.storage.rows[where] = structs.replace(row, body=structs.replace(session_row(a, key), **change))
    small = structs.replace(QUIET, working_entry_count_max=1)
    b = Pair(storage=a.storage, scope=Scope("u1", "a2"), config=small).run()
    b.ask(Set(1, "mine", b"v"))
    assert b.ask(LoadSession(2, key)) == Refused(error)
    assert b.ask(Get(3, "mine")) == Done(b"v")


# Save.


def test_without_a_session_there_is_nothing_to_save() -> None:
    assert Pair().run().ask(SaveSession(1)) == Refused(NoSession())


def test_a_save_tells_its_session_version_and_time() -> None:
    pair = Pair(now_ms=7).run()
    key = created(pair.ask(CreateSession(1)))
    assert pair.ask(SaveSession(2)) == Done(SessionSaved(key, 2, 7))
    assert pair.memory.state.tiers.session.version == 2


def test_what_changes_after_the_snapshot_is_not_in_that_save() -> None:
    a, b = two()
    key = created(a.ask(CreateSession(1, ("a2",))))
    a.step(SaveSession(2))
    a.hold(Commit)
    a.ask(Set(3, "late", b"v"))
    a.release()
    b.ask(LoadSession(1, key))
    assert b.ask(Get(2, "late")) == Done(None)


def test_a_conflict_that_names_no_row_is_planned_again() -> None:
    pair = Pair().run()
    pair.ask(CreateSession(1))
    pair.step(SaveSession(2))
    pair.until(Commit)
    pair.fail("conflict")
    assert saved(pair.run().replies[2].outcome) == 2


def test_a_save_that_is_planned_again_sends_what_it_packed_at_the_begin() -> None:
    a, b = two()
    key = created(a.ask(CreateSession(1, ("a2",))))
    a.ask(Set(2, "plan", b"tea"))
    a.step(SaveSession(3))
    a.until(Commit)
    a.step(Set(4, "plan", b"coffee"))
    a.fail("conflict")
    assert saved(a.run().replies[3].outcome) == 2
    b.ask(LoadSession(1, key))
    assert b.ask(Get(2, "plan")) == Done(b"tea")


def test_a_save_in_doubt_that_is_planned_again_after_a_load_says_nothing_of_what_was_loaded() -> None:
    """Storage has it from the first attempt on; the old version was read before."""
    pair = Pair().run()
    key = created(pair.ask(CreateSession(1)))
    pair.ask(Set(2, "plan", b"tea"))
    pair.step(SaveSession(3))
    first = pair.hold(Commit)
    pair.ask(LoadSession(4, key))
    pair.land(first)
    pair.pending, pair.held = pair.held, []
    pair.fail("unknown")
    pair.wake()
    pair.fail("conflict")
    assert saved(pair.run().replies[3].outcome) == 2
    assert pair.ask(Get(5, "plan")) == Done(None)
    assert pair.ask(SaveSession(6)) == Refused(SessionConflict(1, 2))


def test_a_save_that_ends_after_a_new_session_began_does_not_touch_it() -> None:
    pair = Pair().run()
    pair.ask(CreateSession(1))
    pair.ask(SaveSession(2))
    pair.step(SaveSession(3))
    pair.hold(Commit)
    pair.ask(CreateSession(4))
    assert saved(pair.release().replies[3].outcome) == 3
    assert pair.memory.state.tiers.session.version == 1


def test_a_save_that_is_never_answered_is_unknown_and_the_way_on_is_to_load() -> None:
    pair = Pair().run()
    key = created(pair.ask(CreateSession(1)))
    pair.step(SaveSession(2))
    pair.land(pair.until(Commit))
    pair.pending.clear()
    for _ in range(5):
        pair.pending.clear()
        pair.wake()
    assert pair.replies[2].outcome == Unknown()
    assert pair.ask(SaveSession(3)) == Refused(SessionConflict(1, 2))
    assert pair.ask(LoadSession(4, key)) == Done(SessionLoaded(2, 0))
    assert saved(pair.ask(SaveSession(5))) == 3

"""Goal: what cannot be an answer is a failure of the world, and no exception (EN5.13)."""

from typing import Any, Literal, get_args

import pytest
from msgspec import structs

from tests.spec_tables import read_cell as said_in
from tests.spec_tables import rows
from tests.worlds import SCOPE, Pair, id_of_fact
from umi_core.answer_checks import asked_for, check_answer, is_answer, is_body_of, is_of
from umi_core.body import Body
from umi_core.data import Data
from umi_core.errors import StorageFailed
from umi_core.messages.answers import Committed, EffectFailed, ReadDone, Wake
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    Commit,
    Done,
    Embed,
    FailureKind,
    Outcome,
    Read,
    Unknown,
    Write,
)
from umi_core.messages.requests import CreateSession, GetBlock, GetEntity, Remember, Request, SetBlock
from umi_core.messages.results import Remembered
from umi_core.rows import BODIES, Address, Core, Entity, Epoch, Receipt, Row

TEA, SNORES = id_of_fact("Alice", "likes tea"), id_of_fact("Bob", "snores")
FOUND = Read(None, request_id=7)  # type: ignore[arg-type]  # what is asked does not matter here
MODEL, EMBED = AskModel("extract", "p", request_id=7), Embed(("x",), request_id=7)
EPOCH, HEAD = Address(SCOPE, "epoch", "epoch"), Address(SCOPE, "head", "head")
CLAIM = Commit((Write(EPOCH, Epoch(0)), Write(HEAD, None)), (), request_id=7)


@pytest.mark.parametrize(
    ("asked", "kind", "meant"),
    [
        (FOUND, "conflict", "unavailable"),
        (FOUND, "unknown", "unavailable"),
        (FOUND, "full", "unavailable"),
        (FOUND, "too_long", "unavailable"),
        (MODEL, "conflict", "unavailable"),
        (EMBED, "unusable", "unavailable"),
        (CLAIM, "damaged", "unknown"),
        (FOUND, "refused", "refused"),
        (MODEL, "too_long", "too_long"),
        (CLAIM, "full", "full"),
    ],
)
def test_a_kind_that_this_effect_has_not_is_no_answer(
    asked: Asked, kind: FailureKind, meant: FailureKind
) -> None:
    assert check_answer(asked, EffectFailed(7, kind)) == EffectFailed(7, meant)


def test_each_effect_has_the_kinds_of_failure_of_the_table() -> None:
    promised = {row["effect"]: said_in(row["kinds"]) for row in rows("engine", "kinds_of_effects")}
    assert {effect.__name__: list(effect.failures) for effect in get_args(Asked)} == promised


@pytest.mark.parametrize("versions", [(), ((HEAD, 3),), ((EPOCH, 0),)])
def test_a_batch_whose_versions_are_unknown_may_have_been_committed(
    versions: tuple[tuple[Address, int], ...],
) -> None:
    assert check_answer(CLAIM, Committed(7, versions)) == EffectFailed(7, "unknown")


@pytest.mark.parametrize("number", [-1, 2**63, 2**70])
def test_a_number_that_has_no_place_in_a_row_or_in_bytes_is_no_answer(number: int) -> None:
    row = Row(EPOCH, number, Epoch(0))
    assert check_answer(FOUND, ReadDone(7, (row,))) == EffectFailed(7, "unavailable")
    assert check_answer(FOUND, EffectFailed(7, "refused", retry_after_ms=number)) == EffectFailed(
        7, "unavailable"
    )
    assert check_answer(CLAIM, Committed(7, ((EPOCH, number),))) == EffectFailed(7, "unknown")


def test_a_row_that_lies_nowhere_is_no_answer() -> None:
    row = Row("nowhere", 1, Epoch(0))  # type: ignore[arg-type]  # that is what is wrong with it
    assert check_answer(FOUND, ReadDone(7, (row,))) == EffectFailed(7, "unavailable")


@pytest.mark.parametrize("query", [ByIds((EPOCH,)), ByFilter(SCOPE, ("epoch",))])
@pytest.mark.parametrize("score_ppm", [-1, 1_000_001])
def test_a_score_that_none_can_be_makes_any_row_foreign(query: ByIds | ByFilter, score_ppm: int) -> None:
    rows = (Row(EPOCH, 1, Epoch(0), score_ppm),)
    assert asked_for(Read(query), rows) == ()
    assert asked_for(Read(query), (structs.replace(rows[0], score_ppm=0),)) != ()


def test_what_was_deleted_needs_no_version() -> None:
    assert check_answer(CLAIM, Committed(7, ((EPOCH, 1),))) == Committed(7, ((EPOCH, 1),))


def test_every_kind_of_row_knows_its_body_and_a_kind_of_ones_own_holds_anything() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.ask(Remember(2, "Alice naps"))
    rows = list(pair.storage.rows.values())
    assert all(is_body_of(row.address, row.body) for row in rows)
    others = [(row.address, other.body) for row in rows for other in rows if row is not other]
    mistaken = [(address.id, body) for address, body in others if is_body_of(address, body)]
    assert mistaken == []
    assert is_body_of(Address(SCOPE, "mine", "x"), Core(()))
    assert BODIES.keys() > {row.address.kind for row in rows}


# As a user meets it.


def remember_two_facts() -> Pair:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    return pair


def masked(pair: Pair) -> ReadDone:
    """The answer to the next read, with Bob's body under the address of Alice."""
    read, bob = pair.until(Read), pair.row("entity", SNORES)
    pair.pending.remove(read)
    assert bob is not None
    answer = pair.storage.read(read.request_id, read.query)
    rows = tuple(structs.replace(it, body=bob.body) if it.address.id == TEA else it for it in answer.rows)
    return structs.replace(answer, rows=rows)


def test_the_body_of_another_is_not_shown() -> None:
    pair = remember_two_facts()
    pair.step(GetEntity(2, TEA))
    pair.step(masked(pair))
    pair.run()
    assert getattr(done(pair.replies[2].outcome), "name", None) == "Alice"


def test_the_body_of_another_is_not_written_on() -> None:
    pair = remember_two_facts()
    pair.step(Remember(2, "Alice likes tea"))
    pair.step(masked(pair))
    value = done(pair.run().replies[2].outcome)
    assert isinstance(value, Remembered)
    assert [it.id for it in value.entities] == [TEA]
    assert {row.address.id: getattr(row.body, "name", "") for row in pair.rows("entity")} == {
        TEA: "Alice", SNORES: "Bob",
    }  # fmt: skip


def test_a_store_that_has_only_the_body_of_another_has_failed() -> None:
    pair = remember_two_facts()
    pair.step(GetEntity(2, TEA))
    while 2 not in pair.replies:
        if pair.pending:
            pair.step(masked(pair))
        else:
            pair.wake()
    assert getattr(pair.replies[2].outcome, "error", None) == StorageFailed("read", "damaged", 3)


def test_a_commit_without_versions_is_asked_for_again_and_then_unknown() -> None:
    pair = Pair().run()
    pair.step(SetBlock(1, "human", "Ann"))
    pair.land(pair.until(Commit))
    while 1 not in pair.replies:
        if pair.pending:
            pair.step(Committed(pair.pending.pop().request_id))
        else:
            pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert getattr(done(pair.ask(SetBlock(2, "goals", "rest"))), "error", None) is None
    assert getattr(done(pair.ask(GetBlock(3, "human"))), "text", None) == "Ann"


def test_a_claim_without_versions_is_made_again_until_the_epoch_is_known() -> None:
    pair = Pair()
    pair.step(Wake())
    pair.land(pair.until(Commit))
    pair.step(Committed(pair.pending.pop().request_id))
    pair.run()
    assert (pair.memory.state.phase, pair.memory.state.epoch) == ("ready", 2)


def test_a_conflict_is_no_answer_to_a_read_and_fences_no_process() -> None:
    pair = remember_two_facts()
    pair.step(GetEntity(2, TEA))
    pair.until(Read)
    pair.step(EffectFailed(pair.pending.pop().request_id, "conflict", changed=((EPOCH, 9),)))
    pair.run()
    assert getattr(done(pair.replies[2].outcome), "name", None) == "Alice"


def test_recovery_waits_before_it_plans_again() -> None:
    """A store that never says which row changed, and another life that holds them."""
    pair = Pair()
    pair.step(Wake())
    for _ in range(8):
        while pair.pending:
            it = pair.pending.pop(0)
            pair.step(EffectFailed(it.request_id, "conflict") if isinstance(it, Commit) else pair.world(it))
        pair.wake()
    assert pair.now_ms == 100 + 200 + 400 + 800 + 1_600 + 3_200 + 5_000 + 5_000
    assert pair.run().memory.state.phase == "ready"


def done(outcome: Outcome) -> object:
    assert isinstance(outcome, Done), outcome
    return outcome.value


# Receipts.


def answered_with(request: Request, **changes: Any) -> Outcome:
    """What a write comes to whose batch landed, and was answered without versions under another receipt."""
    pair = Pair().run()
    pair.step(request)
    commit = pair.until(Commit)
    pair.pending.clear()
    pair.land(commit)
    (mine,) = (write.body for write in commit.writes if isinstance(write.body, Receipt))
    pair.step(Committed(commit.request_id, (), structs.replace(mine, **changes)))
    return pair.run().replies[1].outcome


FORGED: dict[str, Any] = {"key": "idm_other", "plan_digest": b"x" * 16, "by": (9, 9)}


@pytest.mark.parametrize(
    "changes",
    [
        FORGED,
        {**FORGED, "request_digest": b"x" * 16},
        {"plan_digest": b"x" * 16, "by": (9, 9)},  # under a key that is this operation's own
        {"plan_digest": b"x" * 16, "request_digest": b"x" * 16},
        {"at_ms": 77},  # an equal plan: its versions are due
    ],
)
@pytest.mark.parametrize(
    "request_", [SetBlock(1, "human", "Ann"), CreateSession(1), Remember(1, "Alice naps")]
)
def test_a_receipt_that_cannot_be_of_this_key_is_not_believed(request_: Request, changes: Any) -> None:
    outcome = answered_with(request_, **changes)
    assert isinstance(outcome, Done)
    assert not getattr(outcome.value, "repeated", False)


def test_a_receipt_of_another_key_is_not_believed_under_a_request_key_either() -> None:
    outcome = answered_with(Remember(1, "Alice naps", request_key="r"), **FORGED)
    assert isinstance(outcome, Done)
    assert not getattr(outcome.value, "repeated", True)


# Cursors, and what hooks put into rows.


def test_a_cursor_that_cannot_be_written_down_is_not_followed() -> None:
    read = Read(ByFilter(SCOPE, ("entity",)), request_id=7)
    assert check_answer(read, ReadDone(7, cursor="\ud800")) == EffectFailed(7, "unavailable")


Drink = Literal["tea", "coffee"]


class Noted(Data):
    """`note` may be anything: a hook declares it as an object."""

    count: int
    note: object


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        (1, int, True), (True, int, False), (1.0, int, False), (None, int, False),
        (None, int | None, True), ("x", int | None, False),
        (("a", "b"), tuple[str, ...], True), (["a"], tuple[str, ...], False),
        (("a", 1), tuple[str, ...], False), ((), tuple[str, ...], True),
        (("a", 1), tuple[str, int], True), (("a",), tuple[str, int], False),
        (HEAD, Address, True), (structs.replace(HEAD, id=b"head"), Address, False),
        (5, object, True), (object(), Body | None, True),
        ("tea", Drink, True), ("cola", Drink, False), (b"tea", Drink, False), (None, Drink, False),
        (Noted(1, "any"), Noted, True), (Noted(1, 2.5), Noted, True),
        (structs.replace(Noted(1, None), count="1"), Noted, False),
    ],
)  # fmt: skip
def test_a_value_is_exactly_of_the_type_that_is_declared(value: object, kind: object, fits: bool) -> None:
    assert is_of(value, kind) == fits


@pytest.mark.parametrize("changes", [{"content": 5}, {"version": "1"}, {"importance_ppm": 1.5}])
def test_a_body_of_a_hook_holds_what_it_declares(changes: Any) -> None:
    pair = remember_two_facts()
    alice = pair.row("entity", TEA)
    assert alice is not None
    assert isinstance(alice.body, Entity)
    row = structs.replace(alice, body=structs.replace(alice.body, **changes))
    read = Read(ByIds((alice.address,)), request_id=7)
    assert is_answer(read, ReadDone(7, (alice,)))
    assert not is_answer(read, ReadDone(7, (row,)))

"""Goal: stores of one world share nothing: no row, no window, no loss."""

import pytest
from msgspec import structs

from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.answers import EffectFailed, ReadDone
from umi_core.messages.effects import ByIds, Commit, Read, Write
from umi_core.rows import Address, Head, Receipt
from umi_core.values import Scope
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.service import Arrival
from umi_sim.services.calls import Call, Flush, Later, Services

HOME = Address(Scope("u1", "a1"), "head", "head")
LEGACY = "legacy"


@pytest.fixture
def world() -> Services:
    return Services({"a": 16}, loss_max=2, stores=("main", LEGACY))


def call(effect: Read | Commit, sent_ms: int = 0) -> Call:
    return Call("o1/x#1", "a", 1, "o1", "remember", "x", effect, sent_ms)


def commit(store: str) -> Call:
    return call(Commit((Write(HOME, Head("")),), (), "k", store=store))


def read(store: str, sent_ms: int = 0) -> Call:
    return call(Read(ByIds((HOME,)), store=store), sent_ms)


def store_row(world: Services, store: str) -> None:
    sent = commit(store)
    handled = world.handle(sent, 0)
    assert isinstance(handled, Flush)
    world.flush(sent, handled, 0)


def rows_read(world: Services, store: str, now_ms: int = 0) -> int:
    handled = world.handle(read(store, now_ms), now_ms)
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, ReadDone)
    return len(handled.answer.rows)


def inject(world: Services, kind: str, sent: Call, **args: object) -> object:
    return KINDS[kind](**args).inject(Arrival(sent, sent.effect, world))


def test_a_row_is_in_the_store_that_its_commit_names(world: Services) -> None:
    store_row(world, LEGACY)
    assert [rows_read(world, store) for store in ("main", LEGACY)] == [0, 1]


def test_the_same_rows_in_another_store_are_another_state(world: Services) -> None:
    other = Services({"a": 16}, stores=("main", LEGACY))
    store_row(world, LEGACY)
    store_row(other, "main")
    assert world.digest() != other.digest()


def test_a_store_that_is_away_leaves_the_other_one_alone(world: Services) -> None:
    inject(world, "storage_unavailable", read(LEGACY), for_ms=10)
    handled = world.handle(read(LEGACY, 5), 5)
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, EffectFailed)
    assert rows_read(world, "main", 5) == 0


@pytest.mark.parametrize("kind", ["storage_crash", "storage_wiped"])
def test_a_store_that_dies_leaves_the_other_one_alone(world: Services, kind: str) -> None:
    store_row(world, "main")
    inject(world, kind, read(LEGACY), for_ms=10)
    assert world.handle(read(LEGACY, 5), 5) is None
    assert rows_read(world, "main", 5) == 1


def test_a_loss_says_of_which_store(world: Services) -> None:
    inject(world, "storage_wiped", read(LEGACY), for_ms=10)
    assert [loss.line for loss in world.atlas.losses] == [
        "everything of legacy by storage_wiped at o1/x#1, 0 ms"
    ]


def test_a_call_says_which_store_it_is_for() -> None:
    assert [read(store).service for store in ("main", LEGACY)] == ["storage", "storage.legacy"]


def test_a_full_store_leaves_room_in_the_other_one(world: Services) -> None:
    sent = commit(LEGACY)
    answered = inject(world, "storage_full", sent, spare_bytes=0, for_ms=10)
    assert isinstance(answered, Later)
    assert isinstance(answered.answer, EffectFailed)
    again = structs.replace(commit("main"), sent_ms=5)
    handled = world.handle(again, 5)
    assert isinstance(handled, Flush)
    assert not isinstance(getattr(world.flush(again, handled, 5), "answer", None), EffectFailed)


def test_old_keys_are_forgotten_when_it_is_time_and_not_when_they_are_read(world: Services) -> None:
    """A draw that asked whether a batch fits took their rows away; a replay, which draws none, did not."""
    storage = world.stores["main"].storage
    row = Write(Address(HOME.scope, "receipt", "k"), Receipt("k", b"", b"", None, 0))
    storage.flush(storage.arrive(Commit((row,), (), "k"), "a"), 0)
    storage.would_commit(Commit((), (), "another"))
    world.turn_to(RECEIPT_MS_MAX - 1)
    assert storage.rows.keys() == {row.address}
    world.turn_to(RECEIPT_MS_MAX)
    assert not storage.rows

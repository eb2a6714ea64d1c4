"""Goal: what a batch drops of an entity is worked out from the rows before it, and a reply is held to it."""

from typing import Any

import pytest

from umi_core.invariants.broken import Broken
from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import ByIds, Commit, Degraded, Done, Read, Write
from umi_core.rows import Address, Body, Entity, Given, Receipt, Row, Version
from umi_core.values import Scope
from umi_sim.judge.invariants.losses import Losses, losses_of
from umi_sim.services.calls import Call
from umi_sim.services.storage import Landed
from umi_sim.services.stores import Store

WHO = Scope("u", "a")
KEY = "k"
LINES = ("dropped_lines", "ann", 1)
HISTORY = ("dropped_history", "ann", 1)


def ann(content: str, version: int, **fields: Any) -> Entity:
    return Entity("ann", "person", "Ann", content, version, 0, 0, "human", 0, 0, **fields)


def told(version: int, content: str, kind: str | None = "extend") -> Version:
    return Version("ann", version, content, kind, content, None, (), None, 0)


def place(body: Body) -> Address:
    return Address(WHO, body.row_kind, str(body.own_id()))


def landed(before: list[Body], after: list[Body], deleted: tuple[Body, ...] = ()) -> Landed:
    writes = (*(Write(place(it), it) for it in after), *(Write(place(it), None) for it in deleted))
    return Landed(Commit(writes, (), KEY), tuple(Row(place(it), 1, it) for it in before))


def dropping() -> Landed:
    return landed([ann("a\nb", 1)], [ann("b\nc", 2), told(2, "b\nc")])


@pytest.mark.parametrize(
    ("content", "kind", "losses"),
    [
        ("b\nc", "extend", [LINES]),
        ("B\nc", "derive", [LINES]),
        ("a\nb\nc", "extend", []),
        ("c", "extend", [("dropped_lines", "ann", 2)]),
        ("c", "update", []),  # replaced by a verdict
        ("c", "contradict", []),
    ],
)
def test_a_line_that_an_appending_version_lacks_is_dropped(
    content: str, kind: str, losses: list[object]
) -> None:
    batch = landed([ann("a\nb", 1)], [ann(content, 2), told(2, content, kind)])
    assert list(losses_of(batch, "remember")) == losses


def test_what_is_forgotten_with_a_resource_is_not_dropped() -> None:
    old, given = ann("a\nb\nc", 1, given=("a",)), Given("g", "r", "ann", "a")
    batch = landed([old, given], [ann("c", 2), told(2, "c", "update")], (given,))
    assert list(losses_of(batch, "forget_resource")) == [LINES]  # b was nobody's
    assert list(losses_of(batch, "update_entity")) == []


@pytest.mark.parametrize(
    ("second", "third", "losses"), [("b", "c", [HISTORY]), ("A", "c", []), ("b", "a", [])]
)
def test_a_version_that_leaves_is_lost_if_no_other_one_says_it(
    second: str, third: str, losses: list[object]
) -> None:
    first = told(1, "a\n\n", None)
    after = [ann(third, 3), told(3, third, "update")]
    batch = landed([ann(second, 2), first, told(2, second, "update")], after, (first,))
    assert list(losses_of(batch, "remember")) == losses


def test_an_entity_that_is_forgotten_loses_nothing() -> None:
    old, version = ann("a", 1), told(1, "a", None)
    assert list(losses_of(landed([old, version], [], (old, version)), "forget")) == []


# A reply.


def observer(batch: Landed | None, *, is_sure: bool = True) -> Losses:
    store, seen = Store(), Losses(is_sure=is_sure)
    store.storage.landed |= {KEY: batch} if batch is not None else {}
    seen.meet({"main": store})
    return seen


def call(effect: Commit | Read, step: str) -> Call:
    return Call(f"o1/{step}#1", "a", 1, "o1", "remember", step, effect, 0)


def replied(seen: Losses, *names: str, count: int = 1) -> None:
    degraded = (Degraded(name, "unavailable" if name == "history:unread" else "ann", count) for name in names)
    seen.replied("a", WHO, "o1", Done(None, tuple(degraded)))


def committed(batch: Landed | None, **options: Any) -> Losses:
    seen = observer(batch, **options)
    seen.answered(call(Commit((), (), KEY), "commit"), Committed(1, (), None), WHO)
    return seen


def test_a_reply_names_what_its_batch_has_dropped() -> None:
    replied(committed(dropping()), "commit:dropped_lines", "gather:dropped_lines", "embed:no_vectors")


@pytest.mark.parametrize(
    ("names", "count"), [((), 1), (("commit:dropped_lines",), 2), (("commit:dropped_history",), 1)]
)
def test_a_reply_that_names_something_else_is_seen(names: tuple[str, ...], count: int) -> None:
    with pytest.raises(Broken, match="what limits dropped by o1"):
        replied(committed(dropping()), *names, count=count)


def test_a_reply_without_a_batch_names_nothing() -> None:
    replied(observer(None))
    with pytest.raises(Broken):
        replied(observer(None), "commit:dropped_lines")


def test_a_reply_from_the_receipt_is_that_of_its_batch() -> None:
    seen = observer(dropping())
    row = Row(Address(WHO, "receipt", KEY), 1, Receipt(KEY, b"", b"", None, 0))
    seen.answered(call(Read(ByIds(())), "seen"), ReadDone(1, (row,)), WHO)
    replied(seen, "seen:dropped_lines")


def test_of_a_history_that_was_not_read_nothing_is_demanded() -> None:
    first = told(1, "a", None)
    batch = landed([ann("b", 2), first], [ann("c", 3), told(3, "c", "update")], (first,))
    replied(committed(batch), "history:unread")
    with pytest.raises(Broken):
        replied(committed(batch))


def test_nothing_is_demanded_where_rows_may_be_others_or_storage_has_lied() -> None:
    replied(committed(dropping(), is_sure=False))
    replied(committed(None), "commit:dropped_lines")

"""Goal: a process without room for what is stored is run where possible, and does no harm (LIVE-5)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import SCOPE, Pair, saying
from umi_core.config import Config
from umi_core.limits import CORE_BYTES_MIN
from umi_core.memory import Memory
from umi_core.messages.requests import Remember, SetBlock
from umi_core.rows import Core
from umi_core.workflows import BUILT_IN
from umi_sim.judge.equivalences import room
from umi_sim.judge.equivalences.room import compare_without_room, copy_storage
from umi_sim.record.broken import Broken


def stored(text: str, *sentences: str) -> Pair:
    pair = Pair(model=saying(route="[]"))
    pair.ask(SetBlock(1, "human", text))
    for number, sentence in enumerate(sentences, 2):
        pair.ask(Remember(number, sentence))
    return pair.run()


@pytest.mark.parametrize(
    ("text", "sentences", "count"),
    [
        ("x" * 99, (), 0),
        ("x" * CORE_BYTES_MIN, (), 0),
        ("x" * (CORE_BYTES_MIN + 1), (), 1),
        ("x" * 99, ("Umi helps",), 1),
    ],
)
def test_there_is_no_room_for_more_text_than_the_least_core_or_for_a_self(
    text: str, sentences: tuple[str, ...], count: int
) -> None:
    storage = stored(text, *sentences).storage
    rows = dict(storage.rows)
    assert compare_without_room(SCOPE, {}, BUILT_IN, storage, 10) == count
    assert storage.rows == rows


def test_a_memory_that_cannot_recover_says_nothing() -> None:
    storage = stored("x" * 5_000).storage
    address = next(it for it in storage.rows if it.kind == "core")
    copy, body = copy_storage(storage, 0), storage.rows[address].body
    assert isinstance(body, Core)
    damaged = structs.replace(body, blocks=(3,))
    copy.rows[address] = structs.replace(storage.rows[address], body=damaged)
    world = room.RoomWorld(SCOPE, Config(), 0, BUILT_IN, copy)
    assert world.list_replies(room.SHOWN) is None


def test_an_answer_of_a_memory_without_room_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = stored("x" * 5_000).storage
    monkeypatch.setattr(Memory, "why_unavailable", lambda self: None)
    with pytest.raises(Broken, match="Blocks in a life without room"):
        compare_without_room(SCOPE, {}, BUILT_IN, storage, 10)


@pytest.mark.parametrize(("kind", "message"), [("core", "core after a life"), ("entity", "has changed rows")])
def test_a_memory_without_room_that_loses_something_is_found(
    kind: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = stored("x" * 5_000, "Alice likes tea").storage
    copy, check_refused = copy_storage(storage, 0), room.check_refused

    def losing(*args: Any) -> None:
        check_refused(*args)
        copy.rows.pop(next(it for it in copy.rows if it.kind == kind))

    monkeypatch.setattr(room, "copy_storage", lambda *args: copy)
    monkeypatch.setattr(room, "check_refused", losing)
    if kind == "core":  # which is a row, too
        monkeypatch.setattr(room, "list_rows", lambda storage: {})
    with pytest.raises(Broken, match=message):
        compare_without_room(SCOPE, {}, BUILT_IN, storage, 10)

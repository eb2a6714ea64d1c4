"""Goal: which changes of its rows a memory detects, and which it cannot detect (docs/storage.md)."""

from collections.abc import Mapping
from copy import deepcopy

from msgspec import structs

from tests.worlds import SCOPE, Pair, id_of_fact
from umi_core.errors import Fenced
from umi_core.messages.effects import Done, Failed
from umi_core.messages.requests import Count, GetEntity, Remember, SetBlock
from umi_core.rows import Address, Entity, Row

TEA = id_of_fact("Alice", "likes tea")


def remember_all(*texts: str) -> Pair:
    pair = Pair().run()
    for number, text in enumerate(texts):
        pair.ask(Remember(number, text))
    return pair


def entity(pair: Pair) -> Row:
    row = pair.row("entity", TEA)
    assert row is not None
    return row


def put(pair: Pair, row: Row, body: Mapping[str, object], version: int) -> None:
    """As by writing into the files of the storage."""
    assert row.body is not None
    pair.storage.rows[row.address] = structs.replace(
        row, body=structs.replace(row.body, **body), version=version
    )


def test_a_forged_row_that_is_well_formed_is_believed_and_one_under_another_id_is_not() -> None:
    pair = remember_all("Alice likes tea")
    row = entity(pair)
    put(pair, row, {"content": "likes poison"}, row.version)
    shown = pair.ask(GetEntity(8, TEA))
    assert isinstance(shown, Done)
    assert isinstance(shown.value, Entity)
    assert shown.value.content == "likes poison"
    put(pair, row, {"id": "fct_" + "0" * 24}, row.version)
    assert isinstance(pair.ask(GetEntity(9, TEA)), Failed)


def test_a_row_that_was_rolled_back_is_what_the_next_one_is_made_from() -> None:
    pair = remember_all("Alice likes tea")
    before = entity(pair)
    pair.ask(Remember(8, "Alice likes tea", importance_ppm=900_000))
    after = entity(pair)
    assert after.version > before.version
    pair.storage.rows[before.address] = before
    assert pair.ask(GetEntity(9, TEA)) == Done(before.body)
    pair.ask(Remember(10, "Alice likes tea", source="s"))
    made = entity(pair).body
    assert isinstance(made, Entity)
    assert (made.importance_ppm, made.source) == (500_000, "s")


def test_a_scope_that_was_rolled_back_with_its_epoch_deposes_the_memory_that_runs() -> None:
    first = remember_all("Alice likes tea")
    kept = deepcopy(first.storage)
    second = Pair(storage=first.storage).run()
    second.ask(Remember(1, "Bob likes tea"))
    second.storage = kept
    assert second.ask(SetBlock(2, "human", "Alice")) == Failed(Fenced(2))
    assert second.storage.rows[Address(SCOPE, "epoch", "epoch")].version == 1
    assert Pair(storage=second.storage).run().ask(Count(1)) == Done(1)

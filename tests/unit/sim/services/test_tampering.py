"""Goal: rows change at rest, well formed and in their own scope, at the same ops whatever else happens."""

from collections import Counter

import pytest
from msgspec import structs

from tests.worlds import SCOPE, Pair, id_of_fact
from umi_core.messages.effects import Done
from umi_core.messages.requests import Count, GetEntity, Remember, SetBlock
from umi_core.rows import Address, Entity, Row
from umi_core.values import Scope
from umi_sim.kernel.prng import Keyed, stream_key
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.services.storage import SimStorage
from umi_sim.services.tampering import FORGED, Tampering

ALICE = id_of_fact("Alice", "likes tea")
TEXTS = ("Alice likes tea", "Bob works at Acme", "Alice likes coffee", "Carol knows Bob", "Bob likes tea")


def tampering(every: int = 2, seed: int = 0) -> Tampering:
    return Tampering(every, Keyed(stream_key(seed, ("tampering",))))


def run_tampered(seed: int) -> tuple[SimStorage, list[str]]:
    """A memory that remembers a text between any two tamperings."""
    pair, hands, done = Pair().run(), tampering(1, seed), list[str]()
    for number, text in enumerate(TEXTS, 1):
        pair.ask(Remember(number, text))
        pair.ask(SetBlock(-number, "human", text))
        done.append(hands.tamper_before(f"o{number}", pair.storage, number))
        pair.storage.check()
        assert all(row.body and row.body.is_sound for row in pair.storage.rows.values())
        assert all(row.body and row.body.own_id() in (None, it.id) for it, row in pair.storage.rows.items())
    return pair.storage, done


def test_rows_are_changed_in_three_ways_and_stay_well_formed() -> None:
    counts = Counter(name for seed in range(30) for name in run_tampered(seed)[1])
    assert sorted(counts) == [
        "a row is forged", "a row is rolled back", "a scope is rolled back",
    ]  # fmt: skip


def test_what_is_done_follows_from_seed_and_number() -> None:
    assert run_tampered(3)[0].digest() == run_tampered(3)[0].digest()
    assert len({run_tampered(seed)[0].digest() for seed in range(5)}) > 1


def test_it_is_done_once_for_every_so_many_ops() -> None:
    storage, _ = run_tampered(1)
    hands = tampering(every=4)
    done = [bool(hands.tamper_before(f"o{number}", storage, 9)) for number in range(1, 13)]
    assert done == [number % 4 == 0 for number in range(1, 13)]
    assert hands.tamper_before("o30", storage, 9)  # the ops between were left out
    assert not tampering(every=0).tamper_before("o30", storage, 9)


def test_an_empty_storage_has_nothing_to_change() -> None:
    assert tampering().tamper_before("o2", SimStorage(), 0) == ""


def test_a_row_that_is_put_back_is_found_and_one_that_was_never_there_is_gone() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    at = Address(SCOPE, "entity", ALICE)
    row = pair.storage.rows[at]
    assert isinstance(row.body, Entity)
    other = Row(at, 7, structs.replace(row.body, content="likes poison"))
    pair.storage.put_back({at: other}, 9)
    assert pair.ask(GetEntity(2, ALICE)) == Done(other.body)
    pair.storage.put_back({at: None}, 9)
    pair.storage.check()
    assert pair.ask(Count(3)) == Done(0)
    assert [it.id for it in pair.storage.entities()] == []


@pytest.mark.parametrize("kind", sorted(FORGED))
def test_a_forged_row_is_another_one(kind: str) -> None:
    rows = [row for row in everything().rows.values() if row.address.kind == kind]
    assert all(FORGED[kind](row.body) != row.body for row in rows)


def everything() -> SimStorage:
    pair = Pair().run()
    for number, text in enumerate(TEXTS, 1):
        pair.ask(Remember(number, text))
    pair.ask(SetBlock(9, "human", "Alice"))
    return pair.storage


def test_a_scope_is_put_back_alone() -> None:
    storage = everything()
    stranger = Address(Scope("u9", "a9"), "entity", "ent_x")
    rows = dict(storage.rows)
    storage.put_back({stranger: structs.replace(rows[Address(SCOPE, "entity", ALICE)], address=stranger)}, 0)
    assert {it: row for it, row in storage.rows.items() if it != stranger} == rows


@pytest.mark.parametrize("seed", [2, 5])
def test_a_tampered_run_is_the_same_when_it_is_replayed(seed: int) -> None:
    config = draw(find("tampering"), seed)
    verdict, _ = run_once(config)
    again, _ = run_once(config, verdict.items)
    assert verdict.failure is None
    assert again.trace_hash == verdict.trace_hash
    assert [name for name in verdict.marks if name.startswith("tampering: ")]

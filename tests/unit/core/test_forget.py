"""Goal: what is forgotten is gone everywhere and stays gone, but for a number (M11)."""

from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_ending import on
from tests.worlds import QUIET, SCOPE, Pair, id_of_fact, saying, verdict
from umi_core.errors import Rejected, StorageFailed, StorageFull
from umi_core.memory import Memory
from umi_core.messages.effects import Commit, Done, Failed, Read, Write
from umi_core.messages.requests import Forget, GetEntity, InCore, Rebalance, Recall, Remember
from umi_core.messages.results import Forgotten, Recalled, Stored
from umi_core.rows import Address, Ended, Entity, Relation, Row

TEA, HELPS = id_of_fact("Alice", "likes tea"), id_of_fact("Umi", "helps")
ALICE, BOB, CAROL, DORA = (id_of_fact(name, "snores") for name in ("Alice", "Bob", "Carol", "Dora"))


def remember_two_facts() -> Pair:
    """A fact about Alice, and one about Bob."""
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    return pair


def rows_about(pair: Pair, key: str) -> list[Row]:
    """Rows that storage still has about a fact, without receipts and links of the next fact."""
    rows = [row for row in pair.storage.live_rows(SCOPE) if row.address.kind != "receipt"]
    return [row for row in rows if key in f"{row.address.id} {unchained(row.body)}"]


def unchained(body: object) -> object:
    return structs.replace(body, follows=None) if isinstance(body, Entity) else body


def test_everything_of_the_fact_leaves_in_one_commit() -> None:
    pair = remember_two_facts()
    assert [row.address.kind for row in rows_about(pair, TEA)] == ["access", "entity", "vector"]
    assert pair.ask(Forget(3, TEA)) == Done(Forgotten(True))
    assert rows_about(pair, TEA) == []
    assert len(rows_about(pair, BOB)) == 3
    assert list(pair.memory.state.tiers.access.records) == [BOB]


def test_a_forgotten_fact_is_never_found() -> None:
    pair = remember_two_facts()
    pair.ask(Remember(2, "Alice likes coffee"))
    pair.ask(Forget(3, TEA))
    assert pair.ask(GetEntity(4, TEA)) == Done(None)
    found = pair.ask(Recall(5, "Alice likes tea and coffee", min_score_ppm=0))
    assert isinstance(found, Done)
    assert isinstance(found.value, Recalled)
    assert [hit.content for hit in found.value.hits] == ["likes coffee"]


def test_an_unknown_id_is_reported_and_nothing_is_written() -> None:
    pair = remember_two_facts()
    before = pair.storage.digest()
    assert pair.ask(Forget(3, "ent_unknown")) == Done(Forgotten(False))
    assert pair.storage.digest() == before


def test_a_store_that_says_it_is_full_keeps_the_fact() -> None:
    """A world shows it only of what was not there: a forget frees more than it writes."""
    pair = remember_two_facts()
    pair.step(Forget(3, TEA))
    pair.until(Commit)
    pair.fail("full")
    assert pair.replies[3].outcome == Failed(StorageFull("commit", "full", 1))
    assert pair.ask(GetEntity(4, TEA)) != Done(None)
    assert len(rows_about(pair, TEA)) == 3


def test_the_same_statement_after_a_forget_is_a_new_fact() -> None:
    pair = remember_two_facts()
    pair.ask(Forget(3, TEA))
    other, again = pair.ask(Remember(4, "Alice naps")), pair.ask(Remember(5, "Alice likes tea"))
    stored = [it.value.entities for it in (other, again) if isinstance(it, Done)]  # type: ignore[attr-defined]
    assert stored == [
        (Stored(id_of_fact("Alice", "naps"), 1, "created"),), (Stored(TEA, 1, "created"),),
    ]  # fmt: skip


def test_a_fact_in_core_leaves_it_in_the_same_commit() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Umi helps"))
    pair.step(Forget(2, HELPS))
    commit = pair.until(Commit)
    assert [write.address.kind for write in commit.writes] == [
        "entity", "vector", "access", "core", "receipt",
    ]  # fmt: skip
    pair.run()
    assert pair.memory.state.tiers.core.blocks == ()


def test_an_entry_whose_row_storage_has_lost_leaves_core_too() -> None:
    pair = Pair(config=structs.replace(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Rebalance(2))
    pair.storage.put_back({row.address: None for row in pair.rows("entity")}, pair.now_ms)
    assert pair.ask(InCore(3, TEA)) == Done(True)
    assert pair.ask(Forget(4, TEA)) == Done(Forgotten(False))
    assert pair.ask(InCore(5, TEA)) == Done(False)
    assert pair.memory.state.tiers.core.locate(TEA) is None
    (core,) = pair.rows("core")
    assert TEA not in str(core.body)


def test_an_entry_promoted_meanwhile_leaves_core_too() -> None:
    pair = Pair(config=structs.replace(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Forget(2, TEA))
    pair.hold(Commit)
    pair.ask(Rebalance(3))
    assert pair.ask(InCore(4, TEA)) == Done(True)
    pair.release()
    assert pair.replies[2].outcome == Done(Forgotten(True))
    assert pair.ask(InCore(5, TEA)) == Done(False)
    assert rows_about(pair, TEA) == []


def test_a_recall_that_read_it_before_brings_no_access_record_back() -> None:
    pair = remember_two_facts()
    pair.step(Recall(3, "Alice Bob"))
    pair.answer()
    pair.answer()
    by_words = pair.hold(Read)
    answer = pair.world(by_words)
    pair.ask(Forget(4, TEA))
    pair.held.clear()
    pair.step(answer)
    pair.run()
    assert isinstance(pair.replies[3].outcome, Done)
    assert list(pair.memory.state.tiers.access.records) == [BOB]
    pair.ask(Remember(5, "Alice likes tea"))
    assert pair.memory.state.tiers.access.records[TEA].count == 1


def test_a_forget_in_doubt_that_finds_nothing_asks_whether_it_was_itself() -> None:
    pair = remember_two_facts()
    pair.step(Forget(3, TEA))
    pair.land(pair.until(Commit))
    pair.fail("unknown")
    pair.wake()
    pair.fail("conflict")
    assert pair.run().replies[3].outcome == Done(Forgotten(True))
    assert list(pair.memory.state.tiers.access.records) == [BOB]


def test_waiting_access_records_ride_along_but_not_its_own() -> None:
    pair = remember_two_facts()
    pair.now_ms = 5
    pair.ask(Recall(3, "Alice Bob"))
    assert sorted(pair.memory.state.tiers.access.unsaved) == sorted((TEA, BOB))
    pair.ask(Forget(4, TEA))
    assert list(pair.memory.state.tiers.access.unsaved) == [TEA]  # deleted once more, see delete_again
    assert [row.body for row in pair.rows("access")] == [pair.memory.state.tiers.access.records[BOB]]


def test_the_same_request_key_forgets_once() -> None:
    pair = remember_two_facts()
    assert pair.ask(Forget(3, TEA, "k")) == Done(Forgotten(True))
    pair.ask(Remember(4, "Alice likes tea"))
    assert pair.ask(Forget(5, TEA, "k")) == Done(Forgotten(True, repeated=True))
    assert isinstance(pair.ask(GetEntity(6, TEA)), Done)
    assert pair.row("entity", TEA) is not None


# Facts at the other ends.


def joined(kind: str = "derive") -> Pair:
    """Alice snores: so the facts about Bob and Carol are joined to this one, and not to each other."""
    pair = Pair(model=saying(evolve=on(kind, ALICE))).run()
    pair.ask(Remember(1, "Alice snores"))
    pair.ask(Remember(2, "Bob snores. Carol snores"))
    pair.model = saying(evolve=verdict(kind))
    return pair


def entity(pair: Pair, key: str) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def test_the_other_ends_are_written_without_it_in_the_same_commit() -> None:
    pair = joined()
    assert [entity(pair, key).relation_count for key in (ALICE, BOB, CAROL)] == [2, 1, 1]
    before = {row.address: row.version for row in pair.rows("entity")}
    pair.step(Forget(3, ALICE))
    commit = pair.until(Commit)
    assert {it.address.id for it in commit.expects if before.get(it.address) == it.version} == {
        ALICE, BOB, CAROL,
    }  # fmt: skip
    pair.run()
    for key in (BOB, CAROL):
        assert (entity(pair, key).relation_count, entity(pair, key).content) == (0, "snores")
    assert (pair.rows("relation"), rows_about(pair, ALICE)) == ([], [])


def test_an_end_loses_as_many_as_it_had_to_it() -> None:
    pair = joined()
    bob, (row, *_) = entity(pair, BOB), pair.rows("relation")
    assert isinstance(row.body, Relation)
    other = structs.replace(row.body, id="rel_x", kind="extend", source=(ALICE, 1), target=(BOB, 1))
    more = structs.replace(bob, relation_count=2)
    writes = (Write(Address(SCOPE, "relation", "rel_x"), other), Write(Address(SCOPE, "entity", BOB), more))
    pair.land(Commit(writes, ()))
    pair.ask(Forget(3, ALICE))
    assert (bob.relation_count, entity(pair, BOB).relation_count) == (1, 0)
    assert pair.rows("relation") == []


def test_an_end_that_storage_has_as_it_was_before_it_was_joined_is_as_sound_as_ever() -> None:
    pair = joined()
    before = structs.replace(entity(pair, BOB), relation_count=0)
    row = pair.row("entity", BOB)
    assert row is not None
    pair.storage.put_back({row.address: structs.replace(row, body=before)}, pair.now_ms)
    pair.ask(Forget(3, ALICE))
    assert pair.ask(GetEntity(4, BOB)) == Done(before)


def test_what_joins_the_others_to_another_fact_stays() -> None:
    pair = joined()
    pair.ask(Forget(3, BOB))
    assert entity(pair, ALICE).relation_count == 1
    assert len(pair.rows("relation")) == 1


def test_facts_that_contradict_one_that_has_ended_forget_it() -> None:
    """Both name the ended fact, and it names both: as an ended one it is written without them, too."""
    pair = joined("contradict")
    assert [entity(pair, key).contradicts for key in (BOB, CAROL)] == [(f"{ALICE}@1",)] * 2
    pair.ask(Forget(3, BOB))
    row = pair.row("ended", ALICE)
    assert row is not None
    assert isinstance(row.body, Ended)
    assert (row.body.fact.relation_count, row.body.fact.contradicts) == (1, (f"{CAROL}@1",))
    pair.ask(Forget(4, ALICE))
    assert (entity(pair, CAROL).relation_count, entity(pair, CAROL).contradicts) == (0, ())
    assert pair.rows("relation") == pair.rows("ended") == []


def test_without_relations_and_categories_no_other_end_is_read() -> None:
    pair = remember_two_facts()
    pair.step(Forget(3, TEA))
    kinds = []
    while pair.pending:
        kinds.append(type(pair.pending[0]).__name__)
        pair.answer()
    assert kinds == ["Read", "Read", "Commit"]


def test_an_end_that_changes_meanwhile_is_read_again() -> None:
    pair = joined()
    pair.step(Forget(3, ALICE))
    pair.hold(Commit)
    pair.ask(Remember(4, "Bob snores", importance_ppm=7))
    pair.release()
    assert pair.replies[3].outcome == Done(Forgotten(True))
    assert (entity(pair, BOB).importance_ppm, entity(pair, BOB).relation_count) == (7, 0)


def test_an_end_that_is_forgotten_meanwhile_stays_forgotten() -> None:
    pair = joined()
    pair.step(Forget(3, ALICE))
    pair.hold(Commit)
    pair.ask(Forget(4, BOB))
    pair.release()
    assert [pair.replies[n].outcome for n in (3, 4)] == [Done(Forgotten(True))] * 2
    assert [row.address.id for row in pair.rows("entity")] == [CAROL]


def test_a_relation_that_comes_meanwhile_leaves_no_count_behind() -> None:
    pair = joined()
    pair.step(Forget(3, ALICE))
    pair.hold(Commit)
    pair.ask(Remember(4, "Dora snores"))
    pair.release()
    assert pair.replies[3].outcome == Done(Forgotten(True))
    dora = entity(pair, DORA)
    assert (dora.relation_count, len(pair.rows("relation"))) == (2, 2)  # to Bob and to Carol


def test_a_forget_on_its_way_is_restored_only_with_the_ends_of_its_relations() -> None:
    pair = joined()
    pair.ask(Remember(3, "Alice likes tea", evolve=False))
    other = pair.row("entity", TEA)
    assert other is not None
    pair.step(Forget(4, ALICE))
    pair.hold(Commit)
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: Any = next(iter(pair.memory.state.operations.values())).facts
    facts["ends"] = (*facts["ends"], other)
    with pytest.raises(Rejected, match="ends of relations that go"):
        Memory.restore(pair.memory.snapshot(), life=0)


@pytest.mark.parametrize(("answered", "row"), [(0, "lookup"), (1, "touching"), (2, "ends")])
def test_a_failed_read_forgets_nothing(answered: int, row: str) -> None:
    pair = joined()
    before = pair.storage.digest()
    pair.step(Forget(3, ALICE))
    for _ in range(answered):
        pair.answer()
    assert pair.run(Read).replies[3].outcome == Failed(StorageFailed(row, "unavailable", 3))
    assert pair.storage.digest() == before

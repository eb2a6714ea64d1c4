"""Goal: what is forgotten is gone everywhere and stays gone, but for a number (M11)."""

import attrs
import pytest

from tests.worlds import ALICE, BOB, QUIET, SCOPE, Pair, plain, saying, verdict
from umi_core.errors import StorageFailed, StorageFull
from umi_core.ids import entity_id
from umi_core.messages.effects import Commit, Done, Failed, Read
from umi_core.messages.requests import Forget, GetEntity, InCore, Rebalance, Recall, Remember
from umi_core.messages.results import Forgotten, Recalled, Remembered, Stored
from umi_core.rows import Entity, Row, Tombstone

UMI = entity_id(SCOPE, "self", "Umi")
CAROL = entity_id(SCOPE, "person", "Carol")


def told() -> Pair:
    """Two versions of Alice, and Bob."""
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.ask(Remember(2, "Alice likes coffee"))
    return pair


def rows_about(pair: Pair, key: str) -> list[Row]:
    """Whatever storage still says of an entity, receipts aside."""
    rows = [row for row in pair.storage.live_rows(SCOPE) if row.address.kind != "receipt"]
    return [row for row in rows if key in f"{row.address.id} {row.body}"]


def test_everything_of_the_entity_leaves_in_one_commit_but_its_tombstone() -> None:
    pair = told()
    assert len(rows_about(pair, ALICE)) == 6  # entity, vector, access, two versions, their relation
    assert pair.ask(Forget(3, ALICE)) == Done(Forgotten(True))
    (grave,) = rows_about(pair, ALICE)
    assert (grave.address.kind, grave.body) == ("tombstone", Tombstone(2))
    assert len(rows_about(pair, BOB)) == 4
    assert list(pair.memory.state.tiers.access.records) == [BOB]


def test_what_is_forgotten_is_found_by_nobody() -> None:
    pair = told()
    pair.ask(Forget(3, ALICE))
    assert pair.ask(GetEntity(4, ALICE)) == pair.ask(GetEntity(5, ALICE, 1)) == Done(None)
    found = pair.ask(Recall(6, "Alice likes tea and coffee", min_score_ppm=0))
    assert isinstance(found, Done)
    assert isinstance(found.value, Recalled)
    assert found.value.hits == ()


def test_what_was_never_there_is_told_and_nothing_is_written() -> None:
    pair = told()
    before = pair.storage.digest()
    assert pair.ask(Forget(3, "ent_unknown")) == Done(Forgotten(False))
    assert pair.storage.digest() == before


def test_a_store_that_says_it_is_full_keeps_the_entity() -> None:
    """A world shows it only of what was not there: a forget frees more than it writes."""
    pair = told()
    pair.step(Forget(3, ALICE))
    pair.until(Commit)
    pair.fail("full")
    assert pair.replies[3].outcome == Failed(StorageFull("commit", "full", 1))
    assert pair.ask(GetEntity(4, ALICE)) != Done(None)
    assert len(rows_about(pair, ALICE)) == 6


def test_a_later_mention_continues_the_versions() -> None:
    pair = told()
    pair.ask(Forget(3, ALICE))
    again = pair.ask(Remember(4, "Alice naps"))
    assert isinstance(again, Done)
    assert isinstance(again.value, Remembered)
    assert again.value.entities == (Stored(ALICE, 3, "created"),)
    assert pair.rows("tombstone") == []
    pair.ask(Forget(5, ALICE))
    (grave,) = pair.rows("tombstone")
    assert grave.body == Tombstone(3)


def test_an_entity_in_core_leaves_it_in_the_same_commit() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Umi helps"))
    pair.step(Forget(2, UMI))
    commit = pair.until(Commit)
    assert [write.address.kind for write in commit.writes] == [
        "entity", "vector", "access", "version", "tombstone", "core", "receipt",
    ]  # fmt: skip
    pair.run()
    assert pair.memory.state.tiers.core.blocks == ()


def test_an_entry_of_whom_storage_has_lost_leaves_core_too() -> None:
    pair = Pair(config=attrs.evolve(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Rebalance(2))
    pair.storage.put_back({row.address: None for row in pair.rows("entity")}, pair.now_ms)
    assert pair.ask(InCore(3, ALICE)) == Done(True)
    assert pair.ask(Forget(4, ALICE)) == Done(Forgotten(False))
    assert pair.ask(InCore(5, ALICE)) == Done(False)
    assert pair.memory.state.tiers.core.home_of(ALICE) is None
    (core,) = pair.rows("core")
    assert ALICE not in str(core.body)


def test_who_comes_into_core_meanwhile_leaves_it_too() -> None:
    pair = Pair(config=attrs.evolve(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Forget(2, ALICE))
    pair.hold(Commit)
    pair.ask(Rebalance(3))
    assert pair.ask(InCore(4, ALICE)) == Done(True)
    pair.release()
    assert pair.replies[2].outcome == Done(Forgotten(True))
    assert pair.ask(InCore(5, ALICE)) == Done(False)
    assert [row.address.kind for row in rows_about(pair, ALICE)] == ["tombstone"]


def test_a_recall_that_read_it_before_brings_no_access_record_back() -> None:
    pair = told()
    pair.step(Recall(3, "Alice Bob"))
    pair.answer()
    pair.answer()
    by_words = pair.hold(Read)
    answer = pair.world(by_words)
    pair.ask(Forget(4, ALICE))
    pair.held.clear()
    pair.step(answer)
    assert isinstance(pair.replies[3].outcome, Done)
    assert list(pair.memory.state.tiers.access.records) == [BOB]
    pair.ask(Remember(5, "Alice naps"))
    assert pair.memory.state.tiers.access.records[ALICE].count == 1


def test_a_forget_in_doubt_that_finds_nothing_asks_whether_it_was_itself() -> None:
    pair = told()
    pair.step(Forget(3, ALICE))
    pair.land(pair.until(Commit))
    pair.fail("unknown")
    pair.wake()
    pair.fail("conflict")
    assert pair.run().replies[3].outcome == Done(Forgotten(True))
    assert list(pair.memory.state.tiers.access.records) == [BOB]


def test_waiting_access_records_ride_along_but_not_its_own() -> None:
    pair = told()
    pair.now_ms = 5
    pair.ask(Recall(3, "Alice Bob"))
    assert sorted(pair.memory.state.tiers.access.unsaved) == sorted((ALICE, BOB))
    pair.ask(Forget(4, ALICE))
    assert list(pair.memory.state.tiers.access.unsaved) == [ALICE]  # deleted once more, see gone_for_good
    assert [row.body for row in pair.rows("access")] == [pair.memory.state.tiers.access.records[BOB]]


def test_the_same_request_key_forgets_once() -> None:
    pair = told()
    assert pair.ask(Forget(3, ALICE, "k")) == Done(Forgotten(True))
    pair.ask(Remember(4, "Alice naps"))
    assert pair.ask(Forget(5, ALICE, "k")) == Done(Forgotten(True, repeated=True))
    assert isinstance(pair.ask(GetEntity(6, ALICE)), Done)
    assert pair.row("entity", ALICE) is not None


# Entities at the other ends.


def joined(kind: str = "contradict") -> Pair:
    """Alice, to whom Bob and Carol stand so; nothing is between Bob and Carol."""
    pair = Pair(model=saying(evolve=verdict(kind))).run()
    pair.ask(Remember(1, "Alice snores"))
    pair.ask(Remember(2, "Bob snores. Carol snores"))
    return pair


def entity(pair: Pair, key: str) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def test_the_other_ends_are_written_without_it_in_the_same_commit() -> None:
    pair = joined()
    assert [entity(pair, key).relation_count for key in (ALICE, BOB, CAROL)] == [2, 1, 1]
    assert entity(pair, BOB).contradicts == (f"{ALICE}@1",)
    before = {row.address: row.version for row in pair.rows("entity")}
    pair.step(Forget(3, ALICE))
    commit = pair.until(Commit)
    assert {it.address.id for it in commit.expects if before.get(it.address) == it.version} == {
        ALICE, BOB, CAROL,
    }  # fmt: skip
    pair.run()
    for key in (BOB, CAROL):
        assert (entity(pair, key).relation_count, entity(pair, key).contradicts) == (0, ())
        assert (entity(pair, key).version, entity(pair, key).content) == (1, "snores")
    assert (pair.rows("relation"), rows_about(pair, ALICE)) == ([], pair.rows("tombstone"))


def test_an_end_loses_as_many_as_it_had_to_it() -> None:
    pair = joined("derive")
    pair.ask(Remember(3, "Alice snores too"))
    before = entity(pair, BOB).relation_count
    pair.ask(Forget(4, ALICE))
    assert (before, entity(pair, BOB).relation_count) == (2, 0)


def test_an_end_that_storage_has_as_it_was_before_it_was_joined_is_as_sound_as_ever() -> None:
    pair = joined("derive")
    before = attrs.evolve(entity(pair, BOB), relation_count=0)
    row = pair.row("entity", BOB)
    assert row is not None
    pair.storage.put_back({row.address: attrs.evolve(row, body=before)}, pair.now_ms)
    pair.ask(Forget(3, ALICE))
    assert pair.ask(GetEntity(4, BOB)) == Done(before)


def test_what_joins_the_others_to_somebody_else_stays() -> None:
    pair = joined()
    pair.ask(Forget(3, BOB))
    assert entity(pair, ALICE).relation_count == 1
    assert entity(pair, ALICE).contradicts == (f"{CAROL}@1",)
    assert len(pair.rows("relation")) == 1


def test_a_version_of_its_own_is_no_other_end_and_nobody_is_read() -> None:
    pair = told()
    pair.step(Forget(3, ALICE))
    kinds = []
    while pair.pending:
        kinds.append(type(pair.pending[0]).__name__)
        pair.answer()
    assert kinds == ["Read", "Read", "Commit"]


def test_an_end_that_changes_meanwhile_is_read_again() -> None:
    pair = joined()
    pair.step(Forget(3, ALICE))
    pair.hold(Commit)
    pair.model = plain
    pair.ask(Remember(4, "Bob sings"))
    pair.release()
    assert pair.replies[3].outcome == Done(Forgotten(True))
    assert (entity(pair, BOB).content, entity(pair, BOB).relation_count) == ("snores\nsings", 0)
    assert entity(pair, BOB).contradicts == ()


def test_an_end_that_is_forgotten_meanwhile_stays_forgotten() -> None:
    pair = joined()
    pair.step(Forget(3, ALICE))
    pair.hold(Commit)
    pair.ask(Forget(4, BOB))
    pair.release()
    assert [pair.replies[n].outcome for n in (3, 4)] == [Done(Forgotten(True))] * 2
    assert [row.address.id for row in pair.rows("entity")] == [CAROL]
    assert sorted(row.address.id for row in pair.rows("tombstone")) == sorted((ALICE, BOB))


def test_a_relation_that_comes_meanwhile_leaves_no_count_behind() -> None:
    pair = joined("derive")
    pair.step(Forget(3, ALICE))
    pair.hold(Commit)
    pair.ask(Remember(4, "Dora snores"))
    pair.release()
    assert pair.replies[3].outcome == Done(Forgotten(True))
    dora = entity(pair, entity_id(SCOPE, "person", "Dora"))
    assert (dora.relation_count, len(pair.rows("relation"))) == (2, 2)  # to Bob and to Carol


@pytest.mark.parametrize(("answered", "row"), [(0, "lookup"), (1, "touching"), (2, "ends")])
def test_a_failed_read_forgets_nothing(answered: int, row: str) -> None:
    pair = joined()
    before = pair.storage.digest()
    pair.step(Forget(3, ALICE))
    for _ in range(answered):
        pair.answer()
    assert pair.run(Read).replies[3].outcome == Failed(StorageFailed(row, "unavailable", 3))
    assert pair.storage.digest() == before

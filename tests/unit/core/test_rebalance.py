"""Goal: each record is looked at in time, who deserves core gets in, vectors return (M7)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, id_of_fact
from umi_core.config import Config
from umi_core.errors import Conflict, StorageFailed
from umi_core.limits import ACCESS_PRUNE_MS, DAY_MS
from umi_core.messages.answers import Embedded, Wake
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    Commit,
    Degraded,
    Done,
    Embed,
    Failed,
    Outcome,
    Read,
    Unknown,
    Write,
)
from umi_core.messages.requests import Forget, GetEntity, InCore, Rebalance, Recall, Remember, RemoveBlock
from umi_core.messages.results import Rebalanced
from umi_core.rows import AccessRecord, Address, Core, Entity, Head, Row
from umi_core.values import Entry
from umi_core.workflows import rebalance

EASY = structs.replace(QUIET, promote_score_min_ppm=0)
TEA, NAPS, SNORES = id_of_fact("Alice", "likes tea"), id_of_fact("Alice", "naps"), id_of_fact("Bob", "snores")
HELPS = id_of_fact("Umi", "helps")


def rebalanced(outcome: Outcome) -> Rebalanced:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Rebalanced)
    return outcome.value


def entry(pair: Pair, key: str = TEA) -> Entry | None:
    home = pair.memory.state.tiers.core.locate(key)
    return home[1] if home else None


# Promotion.


def test_seven_accesses_in_a_day_promote_a_person_and_six_do_not() -> None:
    pair = Pair().run()
    for n in range(6):
        pair.ask(Remember(n, "Alice likes tea"))
    assert rebalanced(pair.ask(Rebalance(10))) == Rebalanced(scanned_count=1)
    pair.ask(Remember(7, "Alice likes tea"))
    assert rebalanced(pair.ask(Rebalance(11))).promoted == (TEA,)
    assert entry(pair) == Entry(TEA, 1, "Alice", "likes tea", 0)
    assert rebalanced(pair.ask(Rebalance(12))).promoted == ()


def test_an_access_loses_its_weight_with_time() -> None:
    pair = Pair().run()
    for n in range(7):
        pair.ask(Remember(n, "Alice likes tea"))
    pair.now_ms = 2 * DAY_MS
    assert rebalanced(pair.ask(Rebalance(10))).promoted == ()


def test_the_entry_is_built_from_the_row_as_it_is_now() -> None:
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Rebalance(2))
    pair.hold(Commit)
    pair.ask(Forget(3, TEA))
    pair.ask(Remember(4, "Alice likes tea"))
    pair.release()
    assert rebalanced(pair.replies[2].outcome).promoted == (TEA,)
    shown = entry(pair)
    assert shown is not None
    assert (shown.version, shown.text) == (1, "likes tea")


def test_a_damaged_entity_keeps_no_other_out_and_stays_known() -> None:
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.storage.rot(Address(SCOPE, "entity", TEA))
    outcome = pair.ask(Rebalance(2))
    assert isinstance(outcome, Done)
    assert [item.name for item in outcome.degraded] == ["read:damaged_rows"]
    assert (rebalanced(outcome).promoted, rebalanced(outcome).pruned) == ((SNORES,), ())
    assert pair.ask(GetEntity(3, TEA)) == Failed(StorageFailed("read", "damaged", 3))


def test_a_damaged_core_row_is_never_taken_for_an_empty_one() -> None:
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Rebalance(2))
    pair.storage.rot(Address(SCOPE, "core", "core"))
    assert pair.ask(Rebalance(3)) == Failed(StorageFailed("rows", "damaged", 3))


def test_the_higher_score_comes_first_and_a_refusal_is_no_error() -> None:
    pair = Pair(config=structs.replace(EASY, core_entry_count_max=1)).run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    pair.ask(Recall(2, "Bob"))
    assert rebalanced(pair.ask(Rebalance(3))) == Rebalanced((SNORES,), (), (), (), "", 2)
    pair.ask(Remember(4, "Alice naps", importance_ppm=1_000_000))
    assert rebalanced(pair.ask(Rebalance(5))) == Rebalanced((NAPS,), (SNORES,), (), (), "", 3)


def test_an_entry_that_came_and_left_in_one_run_is_reported_as_neither() -> None:
    pair = Pair(config=structs.replace(EASY, core_entry_count_max=1)).run()
    pair.ask(Remember(1, "Umi helps", importance_ppm=0))
    pair.ask(RemoveBlock(2, "persona"))
    pair.ask(Remember(3, "Alice likes tea", importance_ppm=1_000_000))
    assert rebalanced(pair.ask(Rebalance(4))) == Rebalanced((HELPS,), (), (), (), "", 2)


def test_a_promotion_that_conflicts_three_times_changes_nothing() -> None:
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Rebalance(2))
    for _ in range(3):
        pair.until(Commit)
        pair.fail("conflict")
    assert pair.replies[2].outcome == Failed(Conflict("commit", "conflict", 1))
    assert pair.ask(InCore(3, TEA)) == Done(False)
    assert pair.memory.state.tiers.access.is_due


# The fair scan.


def many(count: int) -> Pair:
    """A memory with so many access records, which storage holds too."""
    pair = Pair()
    for n in range(count):
        record = AccessRecord(f"e{n:03}", "person", 0, 1, 0, 0)
        entity = Entity(record.entity_id, "person", f"N{n}", "", 1, 0, 0, "human", 0, 0)
        there = Address(SCOPE, "entity", entity.id)
        pair.storage.rows[there] = Row(there, 1, entity)
        pair.storage.row_ids.setdefault(SCOPE, {}).setdefault("entity", []).append(entity.id)
        where = Address(SCOPE, "access", record.entity_id)
        pair.storage.rows[where] = Row(where, 1, record)
        pair.storage.row_ids.setdefault(SCOPE, {}).setdefault("access", []).append(record.entity_id)
    return pair.run()


def test_250_records_are_looked_at_in_three_runs_and_then_from_the_start() -> None:
    pair = many(250)
    found = [rebalanced(pair.ask(Rebalance(n))) for n in range(4)]
    assert [(one.cursor, one.scanned_count) for one in found] == [
        ("e099", 100),
        ("e199", 100),
        ("", 50),
        ("e099", 100),
    ]


def test_a_crash_does_not_starve_the_tail() -> None:
    pair = many(250)
    pair.ask(Rebalance(1))
    (head,) = pair.rows("head")
    assert head.body == Head("e099")
    later = Pair(storage=pair.storage).run()
    assert rebalanced(later.ask(Rebalance(1))).cursor == "e199"


def test_of_two_runs_from_one_place_the_late_one_does_not_take_the_cursor_back() -> None:
    pair = many(250)
    pair.step(Rebalance(1))
    pair.hold(Commit)
    assert [rebalanced(pair.ask(Rebalance(n))).cursor for n in (2, 3)] == ["e099", "e199"]
    assert rebalanced(pair.release().replies[1].outcome).scanned_count == 100
    (head,) = pair.rows("head")
    assert head.body == Head("e199")
    assert rebalanced(pair.ask(Rebalance(4))).cursor == ""


def test_a_run_without_a_report_is_known_by_its_head() -> None:
    pair = many(250)
    pair.step(Rebalance(1))
    for _ in range(3):
        pair.land(pair.until(Commit))
        pair.fail("unknown")
        _ = pair.pending or 1 in pair.replies or pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert [rebalanced(pair.ask(Rebalance(n))).cursor for n in (2, 3)] == ["e099", "e199"]


def test_while_a_round_is_not_over_it_stays_due() -> None:
    timed = many(150)
    timed.ask(Rebalance(1))
    assert timed.memory.state.tiers.access.is_due
    timed.ask(Rebalance(2))
    assert not timed.memory.state.tiers.access.is_due


def test_nothing_to_write_is_no_commit() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    before = pair.storage.digest()
    pair.step(Rebalance(2))
    pair.run(Commit)
    assert rebalanced(pair.replies[2].outcome) == Rebalanced(scanned_count=1)
    assert pair.storage.digest() == before


# Records.


def test_waiting_records_are_saved() -> None:
    pair = Pair(now_ms=3).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Recall(2, "Alice"))
    pair.ask(Rebalance(3))
    (row,) = pair.rows("access")
    assert row.body == AccessRecord(TEA, "person", 500_000, 2, 3, 3)


def test_a_record_that_is_stale_or_whose_row_is_gone_leaves() -> None:
    pair = many(1)
    pair.now_ms = ACCESS_PRUNE_MS + 1
    assert rebalanced(pair.ask(Rebalance(1))).pruned == ("e000",)
    assert (pair.rows("access"), dict(pair.memory.state.tiers.access.records)) == ([], {})
    easy = Pair(config=EASY).run()
    easy.ask(Remember(1, "Alice likes tea"))
    row = easy.storage.rows.pop(Address(SCOPE, "entity", TEA))
    easy.storage.row_ids[SCOPE]["entity"].remove(row.address.id)
    assert rebalanced(easy.ask(Rebalance(2))).pruned == (TEA,)


def test_a_record_that_an_older_commit_puts_back_leaves_again() -> None:
    pair = many(1)
    old = pair.rows("access")[0]
    pair.now_ms = ACCESS_PRUNE_MS + 1
    pair.ask(Rebalance(1))
    pair.land(Commit((Write(old.address, old.body),), (), "planned before the scan"))
    assert pair.memory.state.tiers.access.is_due
    assert rebalanced(pair.ask(Rebalance(2))) == Rebalanced()
    assert (pair.rows("access"), pair.memory.state.tiers.access.is_due) == ([], False)


def test_a_record_that_was_stored_behind_a_forget_in_doubt_leaves_with_the_next_scan() -> None:
    """`storage_storm` 440005: no entry of core is looked up, and a forget without an answer was committed."""
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Recall(2, "Alice"))
    pair.ask(Rebalance(3))
    pair.ask(Recall(4, "Alice"))
    own = [Address(SCOPE, kind, TEA) for kind in ("entity", "vector", "access")]
    core = Write(Address(SCOPE, "core", "core"), Core(()))
    pair.land(Commit((*(Write(it, None) for it in own), core), (), "a forget in doubt"))
    pair.ask(Rebalance(5))
    assert (len(pair.rows("access")), pair.memory.state.tiers.access.is_due) == (1, True)
    assert rebalanced(pair.ask(Rebalance(6))).pruned == (TEA,)
    assert pair.rows("access") == []


def test_an_entity_that_is_forgotten_during_the_scan_is_not_promoted() -> None:
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Rebalance(2))
    pair.hold(Commit)
    pair.ask(Forget(3, TEA))
    pair.release()
    assert rebalanced(pair.replies[2].outcome).promoted == ()
    assert (pair.rows("access"), pair.memory.state.tiers.core.blocks) == ([], ())


def test_a_fact_remembered_again_while_its_old_record_is_pruned_keeps_the_new_one() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.now_ms = ACCESS_PRUNE_MS + 1
    pair.step(Rebalance(2))
    pair.hold(Commit)
    pair.ask(Remember(3, "Alice likes tea"))
    (record,) = pair.memory.state.tiers.access.records.values()
    assert rebalanced(pair.release().replies[2].outcome).pruned == (TEA,)
    assert pair.memory.state.tiers.access.records == {TEA: record}
    pair.ask(Rebalance(4))
    assert [row.body for row in pair.rows("access")] == [record]


# Vectors.


def without_vectors(count: int) -> Pair:
    pair = Pair().run()
    for n in range(count):
        pair.ask(Remember(n, f"Name{n} likes tea"), Embed)
    return pair


def test_missing_vectors_return_and_the_marks_leave() -> None:
    pair = without_vectors(2)
    pair.ask(Remember(90, "Alice likes tea"))
    value = rebalanced(pair.ask(Rebalance(100)))
    assert len(value.repaired) == 2
    assert [row.body.vector_missing for row in pair.rows("entity") if isinstance(row.body, Entity)] == [
        False
    ] * 3
    assert {row.address.id for row in pair.rows("vector")} >= set(value.repaired)


def test_at_most_16_are_repaired_in_a_run_and_the_rest_keeps_it_due() -> None:
    pair = without_vectors(20)
    runs = list[int]()
    while pair.memory.state.tiers.access.is_due:
        runs.append(len(rebalanced(pair.ask(Rebalance(100 + len(runs)))).repaired))
    assert runs == [16, 4]


def test_texts_that_no_embedder_can_do_keep_no_other_from_its_vector() -> None:
    pair = without_vectors(20)
    ids = sorted(row.address.id for row in pair.rows("entity"))
    hopeless = {getattr(row.body, "name", "") for row in pair.rows("entity") if row.address.id in ids[:16]}
    repaired = list[str]()
    for n in range(4):
        pair.step(Rebalance(100 + n))
        embed = pair.until(Embed)
        pair.pending.remove(embed)
        vectors = ((int(text.split("\n")[0] not in hopeless),) * 64 for text in embed.texts)
        pair.step(Embedded(embed.request_id, tuple(vectors)))
        repaired += rebalanced(pair.run().replies[100 + n].outcome).repaired
    assert sorted(repaired) == ids[16:]
    assert pair.memory.state.tiers.access.is_due


def test_damaged_rows_keep_no_other_from_its_vector() -> None:
    pair = without_vectors(17)
    rows = sorted(pair.rows("entity"), key=lambda row: row.address.id)
    for row in rows[:16]:
        pair.storage.rot(row.address)
    repaired = [rebalanced(pair.ask(Rebalance(100 + n))).repaired for n in range(3)]
    assert repaired == [(), (rows[16].address.id,), ()]
    assert pair.memory.state.tiers.access.is_due


def test_of_two_looks_at_once_both_know_where_they_began() -> None:
    pair = without_vectors(17)
    pair.ask(Rebalance(100), Embed)
    last = max(pair.rows("entity"), key=lambda row: row.address.id)
    pair.ask(Forget(89, last.address.id))
    pair.ask(Remember(90, f"{getattr(last.body, 'name', '')} likes tea"))  # it has its vector now
    pair.step(Rebalance(101))
    pair.step(Rebalance(102))
    pair.run()
    assert pair.memory.state.tiers.access.is_due


def test_a_look_that_failed_begins_anew() -> None:
    pair = without_vectors(17)
    pair.ask(Rebalance(100), Embed)
    pair.step(Rebalance(101))
    while not isinstance(getattr(pair.pending[0], "query", None), ByFilter):
        pair.answer()
    pair.fail("refused")  # storage knows that cursor no longer
    pair.run()
    assert len(rebalanced(pair.ask(Rebalance(102))).repaired) == 16


def test_an_unsound_vector_is_named() -> None:
    pair = without_vectors(1)
    pair.step(Rebalance(100))
    embed = pair.until(Embed)
    pair.pending.remove(embed)
    pair.step(Embedded(embed.request_id, ((0,) * 64,)))
    outcome = pair.run().replies[100].outcome
    assert getattr(outcome, "degraded", None) == (Degraded("embed:none", "zero"),)


def test_an_embedder_that_is_away_keeps_it_due() -> None:
    pair = without_vectors(1)
    outcome = pair.ask(Rebalance(10), Embed)
    assert getattr(outcome, "degraded", None) == (Degraded("embed:none", "unavailable"),)
    assert pair.memory.state.tiers.access.is_due
    assert len(rebalanced(pair.ask(Rebalance(11))).repaired) == 1
    assert not pair.memory.state.tiers.access.is_due


def test_a_look_that_failed_keeps_it_due() -> None:
    pair = without_vectors(1)
    pair.step(Rebalance(10))
    pair.answer()
    pair.fail("refused")
    outcome = pair.run(AskModel).replies[10].outcome
    assert getattr(outcome, "degraded", None) == (Degraded("unembedded:none", "refused"),)
    assert pair.memory.state.tiers.access.is_due


@pytest.mark.parametrize(("vectors", "repaired"), [((), 0), (((0,) * 64, (1,) * 64), 1)])
def test_an_unsound_vector_repairs_nothing(vectors: Any, repaired: int) -> None:
    pair = without_vectors(2)
    pair.step(Rebalance(10))
    embed = pair.until(Embed)
    pair.pending.clear()
    pair.step(Embedded(embed.request_id, vectors))
    assert len(rebalanced(pair.run().replies[10].outcome).repaired) == repaired
    assert pair.memory.state.tiers.access.is_due


def test_a_required_read_that_fails_aborts_and_changes_nothing() -> None:
    pair = without_vectors(1)
    before = pair.storage.digest()
    assert pair.ask(Rebalance(10), Read) == Failed(StorageFailed("rows", "unavailable", 3))
    assert (pair.storage.digest(), pair.memory.state.tiers.access.is_due) == (before, True)


# When it runs.


def test_a_run_on_request_counts_as_the_last_one() -> None:
    pair = Pair(config=Config(rebalance_interval_ms=1_000)).run()
    pair.now_ms = 900
    pair.ask(Rebalance(1))
    pair.ask(Remember(2, "Alice likes tea"))
    assert pair.memory.deadline_ms() == 1_900


def test_what_is_touched_during_a_run_makes_it_due_again_even_if_saved() -> None:
    pair = Pair().run()
    pair.step(Rebalance(1))
    held = pair.pending.pop()
    pair.held.append(held)
    pair.ask(Remember(2, "Alice likes tea"))
    assert pair.memory.state.tiers.access.unsaved == {}
    pair.release()
    assert pair.memory.state.tiers.access.is_due
    assert pair.step(Wake()) == []


# Storage that lost what it had called durable, as one that was restored from an older copy.


def test_a_record_that_storage_has_lost_is_deleted_once_and_not_each_minute() -> None:
    pair = Pair(config=Config(rebalance_interval_ms=1_000, auto_evolution=False)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    lost = {row.address: None for kind in ("entity", "vector", "access") for row in pair.rows(kind)}
    pair.storage.put_back(lost, pair.now_ms)
    for _ in range(9):
        pair.wake()
        pair.run()
    access = pair.memory.state.tiers.access
    assert (dict(access.records), access.unsaved, access.is_due) == ({}, {}, False)


def test_a_scan_whose_head_storage_has_lost_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebalance, "SCAN_COUNT_MAX", 1)
    pair = Pair().run()
    for n, name in enumerate(("Alice", "Bob", "Carol")):
        pair.ask(Remember(n, f"{name} likes tea"))
    cursors = [rebalanced(pair.ask(Rebalance(n))).cursor for n in (10, 11, 12)]
    (head,) = pair.rows("head")
    assert (cursors[-1], head.version) == ("", 3)
    pair.storage.put_back({head.address: None}, pair.now_ms)
    assert [rebalanced(pair.ask(Rebalance(n))).cursor for n in (20, 21, 22)] == cursors


def test_a_second_run_with_the_first_one_in_flight_does_no_harm() -> None:
    pair = Pair(config=EASY).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Rebalance(2))
    pair.hold(Commit)
    assert rebalanced(pair.ask(Rebalance(3))).promoted == (TEA,)
    assert rebalanced(pair.release().replies[2].outcome).promoted == ()
    assert len(pair.memory.state.tiers.core.blocks) == 1

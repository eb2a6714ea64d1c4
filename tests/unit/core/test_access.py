"""Goal: access records hold the accesses and nothing else, bounded and scanned fairly (M6, M7)."""

import pytest
from msgspec import structs

from tests.worlds import Pair
from umi_core.limits import ACCESS_PRUNE_MS, ACCESS_RECORD_COUNT_MAX, I64_MAX, SCAN_COUNT_MAX
from umi_core.messages.effects import Write
from umi_core.messages.requests import Rebalance, Remember
from umi_core.rows import AccessRecord, Address, Entity
from umi_core.tiers import archive
from umi_core.tiers.archive import AccessRecords, AccessTable, Versions
from umi_core.values import Scope

SCOPE = Scope("u1", "a1")


def entity(key: str, importance_ppm: int = 500_000) -> Entity:
    return Entity(key, "person", key, "x", 1, importance_ppm, 500_000, "human", 0, 0)


A, B, C = (entity(key) for key in "abc")


def records(*times: tuple[str, int]) -> AccessTable:
    """One access each, at that time, all of it known to storage."""
    return AccessTable(
        AccessRecords({key: AccessRecord(key, "person", 500_000, 1, ms, ms) for key, ms in times})
    )


def test_the_first_access_makes_a_record_and_each_later_one_counts() -> None:
    table = AccessTable().record_accesses((A, B), 5, ()).record_accesses((entity("a", 9),), 8, ())
    assert table.records == {
        "a": AccessRecord("a", "person", 9, 2, 5, 8),
        "b": AccessRecord("b", "person", 500_000, 1, 5, 5),
    }
    assert (list(table.unsaved), table.is_due, table.touch_count) == (["a", "b"], True, 2)


def test_a_recall_makes_no_record_of_what_was_forgotten_and_a_remember_does() -> None:
    table = records(("a", 1), ("b", 1)).record_commit((), ("a",), 5, ())
    assert (list(table.records), list(table.forgotten), list(table.unsaved)) == (["b"], ["a"], ["a"])
    assert table.record_recall((A,), 6, ()) is table
    back = table.record_recall((A, B), 6, ()).record_commit((A,), (), 7, ())
    assert ({key: one.count for key, one in back.records.items()}, back.forgotten) == ({"b": 2, "a": 1}, ())


def test_only_the_last_thousand_are_known_to_be_forgotten() -> None:
    table = AccessTable().record_commit((), [f"e{n:04}" for n in range(1_001)], 5, ())
    assert (len(table.forgotten), next(iter(table.forgotten))) == (1_000, "e0001")


def test_no_access_is_no_change() -> None:
    table = records(("a", 5))
    assert table.record_accesses((), 8, ()) is table


def test_of_two_accesses_learnt_in_the_wrong_order_the_later_one_stays_the_last() -> None:
    table = AccessTable().record_accesses((A,), 8, ()).record_accesses((A,), 5, ())
    assert table.records["a"] == AccessRecord("a", "person", 500_000, 2, 8, 8)


def test_a_clock_that_was_never_set_does_not_move_the_first_access() -> None:
    """Else that record would count as years of being seldom used."""
    table = records(("a", 1_700_000_000_000)).record_accesses((A,), 5_000, ())
    assert (table.records["a"].first_ms, table.records["a"].last_ms) == (1_700_000_000_000,) * 2


def test_a_count_at_its_limit_stays_there_so_that_a_restart_can_read_the_record() -> None:
    """A row that was changed from outside may have the largest count that a row can hold."""
    pair = Pair().run()
    pair.ask(Remember(1, "Ann likes tea"))
    (row,) = pair.rows("access")
    assert isinstance(row.body, AccessRecord)
    forged = structs.replace(row.body, count=I64_MAX)
    pair.storage.rows[row.address] = structs.replace(row, body=forged, version=2)
    again = Pair(storage=pair.storage).run()
    again.ask(Remember(2, "Ann likes tea"))
    again.ask(Rebalance(3))
    assert [it.body for it in again.rows("access")] == [forged]
    assert Pair(storage=again.storage).run().memory.state.phase == "ready"


def rows_as(version: int, *keys: str) -> Versions:
    """The versions that a commit of these access rows is answered with."""
    return [(Address(SCOPE, "access", key), version) for key in keys]


def test_an_access_record_that_storage_has_is_saved_and_a_newer_one_is_not() -> None:
    table = AccessTable().record_accesses((A, B), 5, ())
    writes = table.writes(SCOPE)
    assert writes == tuple(Write(Address(SCOPE, "access", key), table.records[key]) for key in "ab")
    later = table.record_accesses((B, C), 6, ()).record_writes(writes, rows_as(1, "a", "b"))
    assert sorted(later.unsaved) == ["b", "c"]
    assert later.record_writes(later.writes(SCOPE), rows_as(2, "b", "c")).unsaved == {}


def test_of_two_commits_that_wrote_one_record_the_newer_row_counts_in_either_order_of_answers() -> None:
    before = AccessTable().record_accesses((A,), 5, ())
    table = before.record_accesses((A,), 6, ())
    older, newer = (before.writes(SCOPE), rows_as(2, "a")), (table.writes(SCOPE), rows_as(1, "a"))
    assert list(table.record_writes(*older).record_writes(*newer).unsaved) == ["a"]
    assert list(table.record_writes(*newer).record_writes(*older).unsaved) == ["a"]
    older, newer = (before.writes(SCOPE), rows_as(1, "a")), (table.writes(SCOPE), rows_as(2, "a"))
    assert table.record_writes(*older).record_writes(*newer).unsaved == {}
    assert table.record_writes(*newer).record_writes(*older).unsaved == {}


def test_a_batch_whose_answer_is_late_saves_nothing_that_a_newer_row_has_replaced() -> None:
    """The first of two is learnt with its own access, after the other one's row was found to be as known."""
    before = AccessTable().record_accesses((A,), 5, ())
    first = before.record_accesses((A,), 6, ())
    table = before.record_writes(before.writes(SCOPE), rows_as(2, "a"))
    assert table.unsaved == {}
    assert list(
        table.record_accesses((A,), 6, ()).record_writes(first.writes(SCOPE), rows_as(1, "a")).unsaved
    ) == ["a"]


@pytest.mark.parametrize(("written", "is_left"), [(1, True), (2, False), (3, False)])
def test_a_deletion_that_is_learnt_late_takes_no_newer_record_away(written: int, is_left: bool) -> None:
    repeated = AccessTable().record_accesses((A,), 5, ())
    repeated = repeated.record_writes(repeated.writes(SCOPE), rows_as(2, "a"))
    after = repeated.record_commit((), ("a",), 6, (), rows_as(written, "a"))
    assert ("a" in after.records, "a" in after.forgotten) == (is_left, not is_left)


@pytest.mark.parametrize("version", [0, 2])
def test_to_delete_what_is_absent_saves_it_though_its_version_stays(version: int) -> None:
    table = records(("a", 5)).without(("a",))
    table = table.record_writes(table.writes(SCOPE), rows_as(version, "a")).delete_again(("a",))
    assert table.record_writes(table.writes(SCOPE), rows_as(version, "a")).unsaved == {}


def test_a_row_that_an_unknown_plan_wrote_may_say_anything() -> None:
    table = records(("a", 5)).record_writes((), rows_as(3, "a"))
    assert (list(table.unsaved), table.is_due) == (["a"], True)


def test_what_is_to_be_deleted_is_due() -> None:
    table = structs.replace(records(("a", 5)), unsaved={}, is_due=False).without(("a",))
    assert (table.unsaved, table.is_due) == ({"a": None}, True)


def test_a_batch_that_a_delete_has_overtaken_is_written_again() -> None:
    table = records(("a", 5)).without(("a",))
    table = table.record_writes(table.writes(SCOPE), rows_as(2, "a"))
    assert (dict(table.records), table.unsaved) == ({}, {})
    first = table.record_accesses((A,), 5, ())
    assert list(first.record_writes(first.writes(SCOPE), rows_as(1, "a")).unsaved) == ["a"]


def test_row_versions_are_kept_of_as_many_ids_as_records_and_the_latest_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "ACCESS_RECORD_COUNT_MAX", 2)
    table = records(("a", 5), ("b", 5), ("c", 5))
    for version, key in enumerate("abca", 1):
        table = table.record_writes((), rows_as(version, key))
    assert (list(table.versions.oldest_first()), table.newest(rows_as(0, *"abc"))) == (
        ["c", "a"], {"c": 3, "a": 4},
    )  # fmt: skip


def test_what_a_commit_says_of_other_rows_saves_nothing() -> None:
    table, where = AccessTable().record_accesses((A,), 5, ()), Address(SCOPE, "vector", "a")
    assert list(table.record_writes((Write(where, None),), [(where, 1)]).unsaved) == ["a"]


def test_a_commit_that_says_something_else_leaves_the_record_unsaved() -> None:
    table = records(("a", 5)).record_writes((Write(Address(SCOPE, "access", "a"), None),), rows_as(2, "a"))
    assert list(table.unsaved) == ["a"]


def test_a_record_that_leaves_is_deleted_in_storage_too() -> None:
    table = records(("a", 1), ("b", 2)).without(("b", "x"))
    assert (list(table.records), table.writes(SCOPE)) == (
        ["a"],
        (Write(Address(SCOPE, "access", "b"), None),),
    )


def test_beyond_the_limit_the_longest_unused_outside_core_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ACCESS_RECORD_COUNT_MAX == 10_000
    monkeypatch.setattr("umi_core.tiers.archive.ACCESS_RECORD_COUNT_MAX", 3)
    full = records(("a", 1), ("b", 2), ("c", 2))
    assert sorted(full.record_accesses((B,), 9, ()).records) == ["a", "b", "c"]
    assert sorted(full.record_accesses((entity("d"),), 9, ()).records) == ["b", "c", "d"]
    kept = full.record_accesses((entity("d"),), 9, ("a",))
    assert (sorted(kept.records), sorted(kept.unsaved)) == (["a", "c", "d"], ["b", "d"])


@pytest.mark.parametrize(("now_ms", "stale"), [(ACCESS_PRUNE_MS + 1, ()), (ACCESS_PRUNE_MS + 2, ("a",))])
def test_a_record_is_stale_after_90_days_outside_core(now_ms: int, stale: tuple[str, ...]) -> None:
    table = records(("a", 1), ("b", 2), ("c", 1))
    assert table.stale(now_ms, ("c",)) == stale


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_the_scan_looks_at_each_record_once_per_round(count: int) -> None:
    table = records(*((f"e{n:03}", n) for n in range(count)))
    seen, cursor, runs = list[str](), "", 0
    while runs == 0 or cursor:
        page, cursor = table.after(cursor, SCAN_COUNT_MAX)
        seen += [record.entity_id for record in page]
        runs += 1
    assert (seen, runs) == (sorted(table.records), max(1, -(-count // SCAN_COUNT_MAX)))


def test_a_scan_goes_on_behind_its_cursor_whatever_has_gone_or_come() -> None:
    table = records(("a", 1), ("c", 1), ("e", 1))
    _, cursor = table.after("", 2)
    changed = structs.replace(table, records=dict.fromkeys("bde", table.records["a"]))
    page, end = changed.after(cursor, 2)
    assert (cursor, len(page), end) == ("c", 2, "")

"""Goal: access records, as pages that are shared, are what plain dicts that are copied and sorted are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from unittest.mock import patch

from tests.properties.laws import Draw, law
from umi_core.rows import AccessRecord, Address, Entity
from umi_core.tiers import archive, paged
from umi_core.tiers.archive import AccessRecords, AccessTable, RowVersions
from umi_core.values import Scope

SCOPE: Final = Scope("u", "a")
KEYS: Final = tuple(f"k{number:02}" for number in range(40))
TIMES: Final = 6  # few, so that many records are equally old
ROOM: Final = 12

Rows = dict[str, tuple[int, int]]
Changes = Sequence[tuple[Rows, Sequence[str]]]
Accesses = Sequence[tuple[str, Sequence[str], int, Sequence[str]]]


def some_keys(draw: Draw, count_max: int) -> list[str]:
    return draw.many(lambda draw: draw.pick(KEYS), 0, count_max)


def changes(draw: Draw) -> tuple[Changes]:
    def change(draw: Draw) -> tuple[Rows, Sequence[str]]:
        return {key: (draw.below(TIMES), draw.below(3)) for key in some_keys(draw, 8)}, some_keys(draw, 8)

    return (draw.many(change, 0, 12),)


@law(changes)
def test_a_paged_table_is_a_dict_in_order_of_key(changes: Changes) -> None:
    table, rows = RowVersions({}), Rows()
    with patch.object(paged, "PAGE_ROWS_MAX", 4):
        for put, gone in changes:
            before, was = table, dict(table)
            table, rows = table.change_rows(put, gone), {**rows, **put}
            rows = {key: rows[key] for key in sorted(rows) if key not in gone}
            assert list(before.items()) == list(was.items())
            assert list(table.items()) == list(rows.items())
            assert (table, len(table)) == (RowVersions(rows), len(rows))
            assert all(0 < len(page.rows) <= 4 for page in table.pages)
            assert list(table.oldest_first()) == sorted(rows, key=lambda key: (rows[key][0], key))
            for count in (1, 3, 50):
                assert all(table.after(key, count) == after(rows, key, count) for key in ("", *KEYS))


def after(rows: Mapping[str, object], key: str, count: int) -> tuple[str, ...]:
    return tuple(it for it in rows if it > key)[:count]


def accesses(draw: Draw) -> tuple[Accesses]:
    def access(draw: Draw) -> tuple[str, Sequence[str], int, Sequence[str]]:
        what = draw.pick(("touch", "save", "forget"))
        return what, some_keys(draw, 4), draw.below(TIMES), some_keys(draw, 3)

    return (draw.many(access, 0, 40),)


@law(accesses)
def test_the_records_that_stay_are_those_that_a_plain_table_keeps(accesses: Accesses) -> None:
    table, plain = AccessTable(), PlainTable()
    with patch.object(paged, "PAGE_ROWS_MAX", 4), patch.object(archive, "ACCESS_RECORD_COUNT_MAX", ROOM):
        for what, keys, number, in_core in accesses:
            if what == "touch":
                table = table.record_accesses([entity(key) for key in keys], number, in_core)
                plain.touch(keys, number, in_core)
            elif what == "forget":
                table = table.without(keys)
                plain.forget(keys)
            else:
                versions = [(Address(SCOPE, "access", key), number) for key in keys]
                table = table.record_writes(table.writes(SCOPE), versions)
                plain.save(dict.fromkeys(keys, number))
            assert dict(table.records) == plain.records
            assert list(table.unsaved) == list(plain.unsaved)
            assert table.newest([(Address(SCOPE, "access", key), 0) for key in KEYS]) == dict(plain.versions)


def entity(key: str) -> Entity:
    return Entity(key, "person", key, "x", 1, 500_000, 500_000, "human", 0, 0)


class PlainTable:
    """Compute the same with plain dicts and lists that are searched from end to end."""

    def __init__(self) -> None:
        self.records: dict[str, AccessRecord] = {}
        self.unsaved: dict[str, Any] = {}
        self.versions: list[tuple[str, int]] = []

    def touch(self, keys: Sequence[str], now_ms: int, in_core: Sequence[str]) -> None:
        for key in keys:
            old = self.records.get(key, AccessRecord(key, "person", 500_000, 0, now_ms, now_ms))
            last_ms = max(old.last_ms, now_ms)
            self.records[key] = AccessRecord(key, "person", 500_000, old.count + 1, old.first_ms, last_ms)
        stays = {*keys, *in_core}
        outside = sorted(self.records.values(), key=lambda it: (it.last_ms, it.entity_id))
        old_ones = [it.entity_id for it in outside if it.entity_id not in stays]
        too_many = max(0, len(self.records) - ROOM) if keys else 0
        gone = old_ones[:too_many]
        self.records = {key: it for key, it in self.records.items() if key not in gone}
        self.unsaved |= dict.fromkeys((*keys, *gone))

    def forget(self, keys: Sequence[str]) -> None:
        there = [key for key in keys if key in self.records]
        self.records = {key: it for key, it in self.records.items() if key not in there}
        self.unsaved |= dict.fromkeys(there)

    def save(self, versions: Mapping[str, int]) -> None:
        known = dict(self.versions)
        newer = {key: version for key, version in versions.items() if version >= known.get(key, 0)}
        waiting = list(self.unsaved)
        self.unsaved |= dict.fromkeys(newer)
        for key in newer:
            if key in waiting:  # every waiting record was just written
                del self.unsaved[key]
        self.versions = [*[it for it in self.versions if it[0] not in newer], *newer.items()][-ROOM:]


def test_a_record_that_leaves_makes_a_rebalance_due() -> None:
    """Storage still has it; only a rebalance, or the next commit, deletes it there."""
    for key, is_known in (("e1", True), ("e2", False)):
        table = AccessTable(AccessRecords({"e1": AccessRecord("e1", "note", 0, 1, 0, 0)})).without([key])
        assert (table.is_due, list(table.unsaved)) == (is_known, ["e1"] if is_known else [])

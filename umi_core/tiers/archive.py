"""The archive tier in memory: an access record per entity, and which of these records are unsaved.

Law 1. An entity is accessed when an answered recall hits it or a committed remember names it; nothing else
counts. Law 2. There are at most ACCESS_RECORD_COUNT_MAX records; above that the least recently used one
outside core is dropped. Law 3. `unsaved` names every record that differs, or may differ, from storage; the
next commit writes these records, and such a commit is scheduled. Of two concurrent batches, the first planned
may land last, and its answer may come first, last or never:

    remember  plan Bob, Alice's count 2 ..................... lands last: storage has count 2 again
    recall        Alice: 3
    remember          plan Carol, Alice's count 3   lands
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice, takewhile
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import Count, Moment
from umi_core.limits import ACCESS_PRUNE_MS, ACCESS_RECORD_COUNT_MAX, FORGOTTEN_COUNT_MAX, I64_MAX
from umi_core.messages.effects import Write
from umi_core.rows import AccessRecord, Address, Entity
from umi_core.text import show_value
from umi_core.tiers.paged import PagedTable
from umi_core.values import Scope

Versions = Iterable[tuple[Address, int]]


class AccessRecords(PagedTable[AccessRecord]):
    """Access records by entity id; the oldest is the least recently used."""

    __slots__ = ()

    @staticmethod
    def time_of(value: AccessRecord) -> int:
        return value.last_ms


class RowVersions(PagedTable[tuple[int, int]]):
    """By id a pair of turn and row version. A turn is a number that orders when versions became known.

    Only the order of turns matters, so they are encoded as pairs of id and version, oldest first.
    """

    __slots__ = ()

    @staticmethod
    def time_of(value: tuple[int, int]) -> int:
        return value[0]

    def pairs(self) -> list[tuple[str, int]]:
        # {"ann": (7, 3), "bob": (9, 1)} becomes [("ann", 3), ("bob", 1)]; decoding counts turns from 0 again.
        return [(key, self[key][1]) for key in self.oldest_first()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowVersions) and self.pairs() == other.pairs()


def as_records(rows: Mapping[str, AccessRecord]) -> AccessRecords:
    return rows if isinstance(rows, AccessRecords) else AccessRecords(rows)


def as_versions(
    pairs: PagedTable[tuple[int, int]] | Iterable[tuple[str, int]],
) -> PagedTable[tuple[int, int]]:
    if isinstance(pairs, PagedTable):
        return pairs
    return RowVersions({key: (turn, version) for turn, (key, version) in enumerate(pairs)})


NO_RECORDS: Final = AccessRecords({})
NO_VERSIONS: Final = RowVersions({})


class AccessTable(Data):
    """Access records by entity id, the ids of unsaved records, and the position of the rebalance scan.

    `cursor` is the scan position in the head row, whose version is `head_version` (0: there is no such row).
    `repair_cursor`: where the search for rows without a vector continues; empty at its start.
    `touch_count` grows with every access or requested scan, so that a scan can tell whether one came later.
    `forgotten`: ids that were removed recently, oldest first; a recall that read such an entity before its
    removal must not create its record again.
    `versions`: the newest known row version of each id written recently, oldest first. It and `forgotten` are
    encoded as sequences, because their order must survive encoding and decoding.
    `told_count`: the next turn of `versions`.
    """

    tag = 89
    records: PagedTable[AccessRecord] = NO_RECORDS
    unsaved: Mapping[str, None] = {}
    cursor: str = ""
    head_version: Count = 0
    is_due: bool = False
    ran_ms: Moment = 0
    touch_count: Count = 0
    forgotten: tuple[str, ...] = ()
    versions: PagedTable[tuple[Count, int]] = NO_VERSIONS
    repair_cursor: str = ""
    told_count: int = -1
    uncompared = ("told_count",)

    def __post_init__(self) -> None:
        # Decoding gives a dict and a tuple, and no `told_count`, which is derived.
        structs.force_setattr(self, "records", as_records(self.records))
        structs.force_setattr(self, "versions", as_versions(self.versions))
        if self.told_count < 0:
            structs.force_setattr(self, "told_count", len(self.versions))

    def unsound(self) -> str:
        """Describe the first contradiction in a decoded table; empty if there is none."""
        others = (key for key, record in self.records.items() if key != record.entity_id or not record.count)
        return next((f"the record of {show_value(key)} is another's, or of no access" for key in others), "")

    def record_accesses(
        self, entities: Collection[Entity], now_ms: int, in_core: Collection[str]
    ) -> "AccessTable":
        """Count one more access of each entity at `now_ms`; records of `in_core` are never dropped."""
        if not entities:
            return self
        put = dict[str, AccessRecord]()
        for entity in entities:
            # A commit that names an entity twice counts two accesses.
            put[entity.id] = add_access(put.get(entity.id, self.records.get(entity.id)), entity, now_ms)
        records = self.records.change_rows(put)
        # Drop the least recently used records above the maximum, but none of this access and none in core.
        pruned = surplus(records, {*in_core, *put})
        unsaved = {**self.unsaved, **dict.fromkeys((*put, *pruned))}
        return structs.replace(
            self, records=records.change_rows({}, pruned) if pruned else records, unsaved=unsaved,
            is_due=True, touch_count=self.touch_count + 1,
        )  # fmt: skip

    def record_recall(
        self, entities: Iterable[Entity], now_ms: int, in_core: Collection[str]
    ) -> "AccessTable":
        """Count an access of each hit, except those that were forgotten after the recall read them."""
        removed = dict.fromkeys(self.forgotten)
        there = [self.as_known(entity) for entity in entities if entity.id not in removed]
        return self.record_accesses(there, now_ms, in_core)

    def record_commit(
        self,
        entities: Collection[Entity],
        removed: Collection[str],
        now_ms: int,
        in_core: Collection[str],
        versions: Versions = (),
        newest: Mapping[str, int] | None = None,
    ) -> "AccessTable":
        """Record a durable commit that named `entities`, removed ids, and wrote rows of these `versions`.

        `newest`: the newest known versions of these rows, if the caller has looked them up already.
        """
        stored = dict(of_access(versions))
        newest = self.newest(versions) if newest is None else newest
        late = [key for key, version in stored.items() if version < newest.get(key, 0)]
        removed = [key for key in removed if key not in late]  # a later commit has stored them again
        # A fact that is stored again leaves `forgotten`, so that a later recall may count it.
        back = {entity.id: None for entity in entities}
        left = {key: None for key in self.forgotten if key not in back} | dict.fromkeys(removed)
        # Only the newest are kept: no recall in flight has read facts forgotten a thousand forgets ago.
        forgotten = tuple(left)[-FORGOTTEN_COUNT_MAX:]
        named = [self.as_known(entity) if entity.id in late else entity for entity in entities]
        table = self.record_accesses(named, now_ms, in_core).without(removed)
        return structs.replace(table, forgotten=forgotten) if forgotten != self.forgotten else table

    def as_known(self, entity: Entity) -> Entity:
        """Return the entity with the importance on record, so that a late answer overwrites nothing newer."""
        record = self.records.get(entity.id)
        if record is None or record.importance_ppm == entity.importance_ppm:
            return entity
        return structs.replace(entity, importance_ppm=record.importance_ppm)

    def without(self, entity_ids: Iterable[str]) -> "AccessTable":
        removed = {entity_id: None for entity_id in entity_ids if entity_id in self.records}
        if not removed:
            return self
        records = self.records.change_rows({}, removed)
        return structs.replace(self, records=records, unsaved={**self.unsaved, **removed}, is_due=True)

    def record_writes(
        self, writes: Iterable[Write], versions: Versions, newest: Mapping[str, int] | None = None
    ) -> "AccessTable":
        """Mark the access writes of a commit as saved, unless storage is known to hold a newer row.

        Deleting an absent row makes no newer version. `newest`: as in `record_commit`.
        """
        stored = of_access(versions)
        newest = self.newest(versions) if newest is None else newest
        newer = {key: version for key, version in stored if version >= newest.get(key, 0)}
        if not newer:
            return self
        written = {write.address.id: write.body for write in writes if write.address.kind == "access"}
        # A record that was accessed after the plan differs from the row written, and stays unsaved.
        same = [key for key in newer if key in written and written[key] == self.records.get(key)]
        unsaved = {**self.unsaved, **dict.fromkeys(newer)}
        for key in same:
            del unsaved[key]
        turns = enumerate(newer.items(), self.told_count)
        known = self.versions.change_rows({key: (turn, version) for turn, (key, version) in turns})
        # Keep the versions written last, for at most ACCESS_RECORD_COUNT_MAX ids.
        too_many = max(0, len(known) - ACCESS_RECORD_COUNT_MAX)
        known = known.change_rows({}, tuple(islice(known.oldest_first(), too_many)))
        is_due, told_count = self.is_due or len(same) < len(newer), self.told_count + len(newer)
        return structs.replace(self, unsaved=unsaved, versions=known, is_due=is_due, told_count=told_count)

    def request_scan(self) -> "AccessTable":
        """Schedule another scan, because another process, or a forget in doubt, may have written a record."""
        return structs.replace(self, is_due=True, touch_count=self.touch_count + 1)

    def newest(self, versions: Versions) -> dict[str, int]:
        """Return the known versions of these rows, by entity id."""
        known = {key: self.versions.get(key) for key, _ in of_access(versions)}
        return {key: found[1] for key, found in known.items() if found is not None}

    def delete_again(self, entity_ids: Collection[str]) -> "AccessTable":
        """Delete these records once more with the next commit.

        An older commit may have become durable after the forget or the scan and stored the record again.
        """
        if not entity_ids:
            return self
        return structs.replace(self, unsaved={**self.unsaved, **dict.fromkeys(entity_ids)}, is_due=True)

    def writes(self, scope: Scope, removed: Collection[str] = ()) -> tuple[Write, ...]:
        """Return writes of the unsaved records, by id, except for facts that the same batch removes."""
        keys = (key for key in sorted(self.unsaved) if key not in removed)
        return tuple(Write(Address(scope, "access", key), self.records.get(key)) for key in keys)

    def stale(self, now_ms: int, in_core: Collection[str]) -> tuple[str, ...]:
        """Return the ids outside core that were not accessed for ACCESS_PRUNE_MS."""
        old, records = now_ms - ACCESS_PRUNE_MS, self.records
        # The oldest come first, so the search ends at the first record that is young enough.
        unused = takewhile(lambda key: records[key].last_ms < old, records.oldest_first())
        return tuple(sorted(key for key in unused if key not in in_core))

    def scan_at(self, cursor: str, head_version: int) -> "AccessTable":
        """Return the table with the scan position of the head row, unless a newer head row is known."""
        return self.scan_from(cursor, head_version) if head_version > self.head_version else self

    def scan_from(self, cursor: str, head_version: int) -> "AccessTable":
        """Return the table with this scan position, even if older: storage may have lost a newer head row."""
        return structs.replace(self, cursor=cursor, head_version=head_version)

    def after(self, cursor: str, count: int) -> tuple[tuple[AccessRecord, ...], str]:
        """Return the next records of the scan, by id, and the new cursor, which is empty at the end."""
        later = self.records.after(cursor, count + 1)
        page = later[:count]
        return tuple(self.records[key] for key in page), (page[-1] if len(later) > count else "")


def of_access(versions: Versions) -> list[tuple[str, int]]:
    return [(where.id, version) for where, version in versions if where.kind == "access"]


def is_passed(writes: Iterable[Write], versions: Versions, newest: Mapping[str, int]) -> bool:
    """Check whether another process wrote one of the put records in between: a version is missing here."""
    put = {it.address.id for it in writes if it.address.kind == "access" and it.body is not None}
    written = [(key, version) for key, version in of_access(versions) if key in put]
    # Version 3 was known and this commit became version 5: another process wrote version 4 in between.
    return any(version > newest.get(key, version) + 1 for key, version in written)


def add_access(record: AccessRecord | None, entity: Entity, now_ms: int) -> AccessRecord:
    """Return the record with one more access; accesses may arrive out of order, `last_ms` is the latest."""
    count, first_ms, last_ms = (
        (record.count, record.first_ms, record.last_ms) if record else (0, now_ms, now_ms)
    )
    last_ms = max(last_ms, now_ms)
    # A record changed by another program may be at the limit. A larger count would make its row damaged, and
    # recovery, which needs every access record, would retry it without end.
    count = min(count + 1, I64_MAX)
    return AccessRecord(entity.id, entity.type, entity.importance_ppm, count, first_ms, last_ms)


def surplus(records: PagedTable[AccessRecord], in_core: Collection[str]) -> tuple[str, ...]:
    """Return the ids of the records above the maximum: the least recently used outside core."""
    outside = (key for key in records.oldest_first() if key not in in_core)
    return tuple(islice(outside, max(0, len(records) - ACCESS_RECORD_COUNT_MAX)))

"""Paged tables: immutable mappings in which a change copies only the pages that it touches.

Law 1. Rows are ordered by key, whatever the order of puts. Tables with equal rows are equal, however the rows
are divided into pages.
Law 2. Each page records its oldest row, so the oldest rows of a table are found without reading all rows.

Pages are never merged. Keys are hashes, so each page receives new rows in proportion to its range of keys.
"""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, Generic, Self, TypeVar

from umi_core.data import Data

PAGE_ROWS_MAX: Final = 128

V = TypeVar("V")


class TablePage(Data, Generic[V]):
    """One or more rows in order of key; `oldest` is the smallest pair of time and key."""

    rows: dict[str, V]
    first: str
    oldest: tuple[int, str]


class PagedTable(Mapping[str, V]):
    """An immutable mapping; `change_rows` returns a new one that shares all unchanged pages."""

    __slots__ = ("pages", "row_count", "starts")

    def __init__(self, rows: Mapping[str, V]) -> None:
        self.set_pages(self.pages_of(rows))

    @staticmethod
    @abstractmethod
    def time_of(value: V) -> int:
        """Return the time of a row; of rows with equal time, the one with the smallest key is the oldest."""

    def set_pages(self, pages: list[TablePage[V]]) -> None:
        self.pages, self.row_count = pages, sum(len(page.rows) for page in pages)
        self.starts = [page.first for page in pages[1:]]  # keys before the first page belong to it

    def pages_of(self, rows: Mapping[str, V]) -> list[TablePage[V]]:
        """Divide rows into pages of about equal size."""
        keys = sorted(rows)
        page_count = -(-len(keys) // PAGE_ROWS_MAX)
        # 129 rows make two pages of 65 and 64, not one of 128 and one of 1.
        size = -(-len(keys) // page_count) if keys else 1
        parts = [{key: rows[key] for key in keys[at : at + size]} for at in range(0, len(keys), size)]
        return [TablePage(part, next(iter(part)), min(self.times_of(part))) for part in parts]

    def times_of(self, rows: Mapping[str, V]) -> list[tuple[int, str]]:
        return [(self.time_of(value), key) for key, value in rows.items()]

    def change_rows(self, put: Mapping[str, V], removed: Iterable[str] = ()) -> Self:
        """Return the table with these rows put, and then without these keys."""
        parts: dict[int, dict[str, V]] = {}
        for key, value in put.items():
            self.part_of(key, parts)[key] = value
        for key in removed:
            self.part_of(key, parts).pop(key, None)
        # For each old page, its replacement: itself, no page if it is empty now, two if it is too large.
        pages = [[page] for page in self.pages] or [[]]
        for at, part in parts.items():
            pages[at] = self.pages_of(part)
        table = self.__class__.__new__(self.__class__)
        table.set_pages([page for each in pages for page in each])
        return table

    def part_of(self, key: str, parts: dict[int, dict[str, V]]) -> dict[str, V]:
        """Return the rows of this key's page, which are copied into `parts` at the first call."""
        at = bisect_right(self.starts, key)
        if at not in parts:
            parts[at] = dict(self.pages[at].rows) if self.pages else {}
        return parts[at]

    def oldest_first(self) -> Iterator[str]:
        """Yield the keys, the oldest first."""
        # A heap item with rows stands for a whole page, at the position of its oldest row; an item without
        # rows is a single row. A page is split up only when its oldest row is next, so most never are.
        heap = [(*page.oldest, page.rows) for page in self.pages]  # keys are distinct, so rows never compare
        heapify(heap)
        while heap:
            _, key, rows = heappop(heap)
            if rows:
                for each in self.times_of(rows):
                    heappush(heap, (*each, {}))
            else:
                yield key

    def after(self, key: str, count: int) -> tuple[str, ...]:
        """Return the next `count` keys after this one."""
        at, found = bisect_right(self.starts, key), list[str]()
        while at < len(self.pages) and len(found) < count:
            found += [it for it in self.pages[at].rows if it > key]
            at += 1
        return tuple(found[:count])

    # The mapping.

    def __getitem__(self, key: str) -> V:
        if not self.pages:
            raise KeyError(key)
        return self.pages[bisect_right(self.starts, key)].rows[key]

    def __iter__(self) -> Iterator[str]:
        for page in self.pages:
            yield from page.rows

    def __len__(self) -> int:
        return self.row_count

    def __repr__(self) -> str:
        return repr(dict(self))

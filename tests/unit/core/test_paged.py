"""Goal: a paged table is a mapping like any other, and a change of it copies the pages that it concerns."""

import pytest

from umi_core.tiers.archive import RowVersions
from umi_core.tiers.paged import PAGE_ROWS_MAX

LONG = {f"k{number:04}": (number, 1) for number in range(1_000)}


def test_a_table_without_rows_has_none() -> None:
    table = RowVersions({})
    assert (dict(table), len(table), table.pages, table.after("", 9)) == ({}, 0, [], ())
    assert list(table.oldest_first()) == []
    with pytest.raises(KeyError, match="a"):
        table["a"]


def test_a_key_before_the_first_page_is_looked_for_in_it() -> None:
    assert RowVersions(LONG).get("a") is None
    assert next(iter(RowVersions(LONG).change_rows({"a": (7, 7)}))) == "a"


def test_a_change_shares_all_pages_but_its_own() -> None:
    table = RowVersions(LONG)
    changed = table.change_rows({"k0001": (5, 5)}, ["k0999"])
    shared = [page for page in changed.pages if page in table.pages]
    assert (len(table.pages), len(shared)) == (8, 6)
    assert all(any(page is old for old in table.pages) for page in shared)
    assert (table["k0001"], changed["k0001"], "k0999" in table, "k0999" in changed) == (
        (1, 1), (5, 5), True, False,
    )  # fmt: skip


def test_a_full_page_is_divided_and_an_empty_one_leaves() -> None:
    keys = sorted(LONG)[: PAGE_ROWS_MAX + 1]
    full = RowVersions({key: LONG[key] for key in keys[:-1]})
    divided = full.change_rows({keys[-1]: (0, 1)})
    assert [len(page.rows) for page in (*full.pages, *divided.pages)] == [128, 65, 64]
    assert [len(page.rows) for page in divided.change_rows({}, keys[65:]).pages] == [65]


def test_equal_rows_are_equal_however_they_were_put() -> None:
    table = RowVersions({})
    for key in sorted(LONG, reverse=True):
        table = table.change_rows({key: LONG[key]})
    assert [page.first for page in table.pages] != [page.first for page in RowVersions(LONG).pages]
    assert (table, list(table.items())) == (RowVersions(LONG), list(LONG.items()))


def test_row_versions_are_equal_if_they_were_written_in_one_order() -> None:
    table = RowVersions({"a": (3, 7), "b": (1, 8)})
    assert table == RowVersions({"a": (1, 7), "b": (0, 8)})
    assert table != RowVersions({"a": (0, 7), "b": (1, 8)})
    assert table != {"a": (3, 7), "b": (1, 8)}
    assert repr(RowVersions({"a": (1, 2)})) == "{'a': (1, 2)}"

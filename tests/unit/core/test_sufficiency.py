"""Goal: what a level gives stands there once, at its best; enough is what the table says, for good (H7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row as SpecRow
from tests.spec_tables import rows, whole
from tests.worlds import SCOPE
from umi_core.policies.ranking import ScoredRow, is_enough, union, united_ppm
from umi_core.rows import Address, Resource, Row

AVERAGE = 800_000
LISTS = st.lists(st.integers(0, 1_000_000) | st.none(), max_size=8)


def found(scores: list[int | None]) -> list[ScoredRow]:
    row = Row(Address(SCOPE, "entity", "e"), 1, None)
    return [ScoredRow("entities", row, ppm or 0, ppm) for ppm in scores]


JUDGED = [row for row in rows("hierarchy", "enough") if "then" not in row["scores"]]


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["scores"])
def test_enough_is_what_the_table_says(row: SpecRow) -> None:
    """A row that is named twice counts once: the union of the lists sees to that."""
    terms, _, total = row["scores"].replace(" twice for one id,", "").partition(", with total_limit ")
    scores = [None if it.endswith("w") else whole(it) * 1_000 for it in terms.split()]
    wanted = whole(total) if total else 3
    assert is_enough(found(scores), wanted, AVERAGE) == (row["result"] == "enough")


@pytest.mark.uncounted
@given(LISTS, st.integers(0, 1_000_000) | st.none(), st.integers(1, 4), st.integers(0, 1_000_000))
def test_one_more_hit_never_revokes_enough(
    scores: list[int | None], more: int | None, wanted: int, average_ppm: int
) -> None:
    if is_enough(found(scores), wanted, average_ppm):
        assert is_enough(found([*scores, more]), wanted, average_ppm)


def text(row_id: str, score_ppm: int, parent_id: str | None = None) -> Row:
    body = Resource(row_id, "text", row_id, "0", row_id, 0, 0, 1, 1, parent_id=parent_id)
    return Row(Address(SCOPE, "resource", row_id), 1, body, score_ppm)


@pytest.mark.parametrize(
    ("of_text", "parts", "remaining"),
    [
        (500, {"a": 400, "b": 300}, ["whole"]), (500, {"a": 500, "b": 300}, ["a", "b"]),
        (500, {"a": 600, "b": 300}, ["a", "b"]), (500, {}, ["whole"]),
    ],
)  # fmt: skip
def test_of_a_text_and_its_parts_the_better_ones_stay(
    of_text: int, parts: dict[str, int], remaining: list[str]
) -> None:
    hits = [text("whole", of_text), *(text(part, ppm, "whole") for part, ppm in parts.items())]
    assert [it.row.address.id for it in union("resources", (), hits, 9)] == remaining


def test_a_row_of_both_lists_stands_there_once_with_both_scores() -> None:
    by_vector = [text("a", 300_000), text("b", 900_000)]
    hits = union("resources", by_vector, [text("a", 700_000), text("c", 700_000)], 2)
    assert [(it.row.address.id, it.score_ppm, it.vector_ppm) for it in hits] == [
        ("b", 900_000, 900_000), ("a", united_ppm(300_000, 700_000), 300_000),
    ]  # fmt: skip

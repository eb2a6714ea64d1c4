"""Goal: what a row is called depends on whose it is and on its name, and on nothing else (M2.2)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.spec_tables import Row, plain, read_cell, rows, whole
from umi_core.ids import (
    block_id,
    commit_key,
    derived_id,
    entity_id,
    fact_id,
    relation_id,
    session_id,
)
from umi_core.text import cut, has_control, is_text, norm, size, tidy
from umi_core.values import Scope

SCOPE = Scope("u1", "a1")
ALICE = entity_id(SCOPE, "Alice")


MADE: dict[str, Callable[..., str]] = {
    "entity": entity_id,
    "fact": lambda scope, about, content: fact_id(scope, tuple(about), content),
    "relation": lambda scope, source, target, kind: relation_id(scope, tuple(source), tuple(target), kind),
    "block": block_id,
    "session": session_id,
    "commit key": commit_key,
}


@pytest.mark.parametrize("row", rows("memory", "ids"), ids=lambda row: row["id"])
def test_ids_are_those_of_the_table(row: Row) -> None:
    scope: Any = Scope(*read_cell(row["scope"]))
    assert MADE[row["what"]](scope, *read_cell(row["parts"])) == plain(row["id"])


@pytest.mark.parametrize("row", rows("hierarchy", "archive_ids"), ids=lambda row: row["kind"])
def test_ids_of_rows_to_come_are_made_in_the_same_way(row: Row) -> None:
    parts = read_cell(row["parts"])
    assert derived_id(row["prefix"], row["kind"], SCOPE, *parts) == plain(row["id"])


def test_an_id_depends_on_each_of_its_parts() -> None:
    ids = [
        relation_id(SCOPE, ("a", 1), ("b", 1), "update"),
        relation_id(SCOPE, ("b", 1), ("a", 1), "update"),
        relation_id(SCOPE, ("a", 2), ("b", 1), "update"),
        relation_id(SCOPE, ("a", 1), ("b", 2), "update"),
        relation_id(SCOPE, ("a", 1), ("b", 1), "extend"),
        relation_id(Scope("u1a", "1"), ("a", 1), ("b", 1), "update"),
        session_id(SCOPE, 1000, 1),
        session_id(SCOPE, 1001, 0),
    ]
    assert len(dict.fromkeys(ids)) == len(ids)


# Text.


@pytest.mark.parametrize("row", rows("memory", "cut"), ids=lambda row: f"{row['text']} {row['bytes']}")
def test_a_text_is_cut_between_code_points(row: Row) -> None:
    assert cut(read_cell(row["text"]), whole(row["bytes"])) == read_cell(row["result"])


def test_a_name_is_kept_tidy_and_compared_without_case() -> None:
    assert tidy(" Zoe\u0308\t\n Doe ") == "Zo\u00eb Doe"
    assert norm(" Zoe\u0308\t\n DOE ") == "zo\u00eb doe"
    assert norm("STRASSE") == norm("Straße")


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("abc", 3), ("aë𝄞", 7)])
def test_a_size_is_in_bytes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", True),
        ("", True),
        ("ë𝄞", True),
        ("a\ud800", False),
        ("\udfff", False),
        (b"a", False),
        (None, False),
    ],
)
def test_a_text_has_no_lone_surrogate(value: object, expected: bool) -> None:
    assert is_text(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b~\u00a0", False), ("\0", True), ("a\x1f", True), ("\x7f", True), ("\x9f", True)],
)
def test_a_control_character_is_one_of_category_cc(text: str, expected: bool) -> None:
    assert has_control(text) == expected

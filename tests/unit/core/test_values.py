"""Goal: what a row is called depends on whose it is and on its name, and on nothing else (memory.md 2)."""

import pytest

from umi_core.ids import block_id, commit_key, content_hash, entity_id, note_id, relation_id, session_id
from umi_core.text import cut, has_control, is_text, norm, size, tidy
from umi_core.values import Scope

SCOPE = Scope("u1", "a1")
ALICE = entity_id(SCOPE, "person", "Alice")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (ALICE, "ent_d77159c2f7575629b14ff3b0"),
        (entity_id(SCOPE, "person", " ALICE "), ALICE),
        (entity_id(SCOPE, "note", "Alice"), "ent_7ada9f9a75115796a731d941"),
        (entity_id(SCOPE, "person", "Zo\u00eb"), "ent_e11679f6dbcef7457f57750a"),
        (entity_id(SCOPE, "person", "Zoe\u0308"), "ent_e11679f6dbcef7457f57750a"),
        (entity_id(Scope("u1", "a2"), "person", "Alice"), "ent_ba5fdb896da41715739113aa"),
        (content_hash("Alice works at Acme"), "bb06f3cbf207caed"),
        (note_id(SCOPE, "Alice works at Acme"), "ent_d8349b2d7cf9832b2fa08069"),
        (relation_id(SCOPE, (ALICE, 1), (ALICE, 2), "update"), "rel_95293d3e3041d0d05fa81dc8"),
        (block_id(SCOPE, "human", ""), "blk_5b41a166d4135cf895bf3c8f"),
        (block_id(SCOPE, "human", "work"), "blk_f17ad76373f9bd2c58f00ef4"),
        (session_id(SCOPE, 1000, 0), "ses_d3363bafb44a607274f98c29"),
        (commit_key(SCOPE, "key", "k1"), "idm_fe7445adfc11c723efc0d57a"),
        (commit_key(SCOPE, 1, 7, "commit"), "idm_5487b6995ea75499ac36d50d"),
    ],
)
def test_ids_are_those_of_the_table(made: str, expected: str) -> None:
    assert made == expected


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


@pytest.mark.parametrize(
    ("limit_bytes", "expected"), [(0, ""), (1, "a"), (2, "a"), (3, "aë"), (6, "aë"), (7, "aë𝄞"), (8, "aë𝄞")]
)
def test_a_text_is_cut_between_code_points(limit_bytes: int, expected: str) -> None:
    assert cut("aë𝄞", limit_bytes) == expected


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

"""Goal: at most one verdict per asked pair, and a reason for each row that is dropped (M14.2)."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import rows
from umi_core.language.evolution import Drop, Evolution, StatementVerdict, parse_evolution
from umi_core.language.replies import UnusableReply
from umi_core.limits import RELATION_REASON_BYTES_MAX
from umi_core.values import EVOLUTION_KINDS

PAIR, OTHER = ("ent_a@2", "ent_a@1"), ("ent_a@2", "ent_b@1")
FLOOR = 300_000


def row(pair: tuple[object, object] = PAIR, **fields: object) -> dict[str, object]:
    row = {"new": pair[0], "old": pair[1], "type": "update", "confidence": 0.9, "reason": "why"} | fields
    return {name: value for name, value in row.items() if value != "absent"}


def evolution(*rows: object, asked: tuple[tuple[str, str], ...] = (PAIR, OTHER)) -> Evolution:
    found = parse_evolution(json.dumps(list(rows)), asked, FLOOR)
    assert isinstance(found, Evolution)
    return found


UPDATE = StatementVerdict("update", 900_000, "why")


def test_a_sound_row_is_a_verdict_of_the_model() -> None:
    assert evolution(row()) == Evolution(((PAIR, UPDATE),))
    assert UPDATE.by == "model"


def test_verdicts_come_in_the_order_of_the_reply() -> None:
    extend = StatementVerdict("extend", 500_000, "why")
    expected = Evolution(((OTHER, extend), (PAIR, UPDATE)))
    assert evolution(row(OTHER, type="extend", confidence=0.5), row()) == expected


@pytest.mark.parametrize("kind", [*EVOLUTION_KINDS, "UPDATE", " Extend "])
def test_the_four_types_relate_however_they_are_written(kind: str) -> None:
    ((_, verdict),) = evolution(row(type=kind)).verdicts
    assert verdict.kind == kind.strip().lower()


# Dropped, row by row of the table.

DROPPED: list[tuple[Any, str]] = [
    (7, "not_object"),
    (None, "not_object"),
    ("update", "not_object"),
    ([], "not_object"),
    ({}, "unknown_pair"),
    (row((3, "ent_a@1")), "unknown_pair"),
    (row(("ent_a@2", "ent_z@1")), "unknown_pair"),
    (row(("ent_a@1", "ent_a@2")), "unknown_pair"),  # the wrong way round
    (row(("ENT_A@2", "ent_a@1")), "unknown_pair"),
    (row(type="absent"), "bad_type"),
    (row(type=None), "bad_type"),
    (row(type=3), "bad_type"),
    (row(type="undo"), "bad_type"),
    (row(type="works_at"), "bad_type"),
    (row(confidence="absent"), "bad_confidence"),
    (row(confidence="sure"), "bad_confidence"),
    (row(confidence=True), "bad_confidence"),
    (row(confidence=1.01), "bad_confidence"),
    (row(confidence=-0.1), "bad_confidence"),
    (row(type="none", confidence=None), "bad_confidence"),
]


@pytest.mark.parametrize(("stray", "reason"), DROPPED, ids=lambda value: str(value)[:60])
def test_a_malformed_row_is_dropped_with_its_reason_and_costs_no_other(stray: object, reason: Drop) -> None:
    sound = row(OTHER)
    assert evolution(stray, sound) == Evolution(((OTHER, UPDATE),), (reason,))


def test_the_reasons_to_drop_are_those_of_the_table() -> None:
    assert {row["reason"] for row in rows("memory", "evolution_drops")} == set(get_args(Drop))


def test_all_rows_of_a_repeated_pair_are_dropped() -> None:
    assert evolution(row(), row(type="extend"), row(OTHER)) == Evolution(
        ((OTHER, UPDATE),), ("duplicate_pair", "duplicate_pair")
    )


def test_a_pair_that_was_not_asked_is_unknown_however_often_it_comes() -> None:
    stray = row(("x", "y"))
    assert evolution(stray, stray).dropped == ("unknown_pair", "unknown_pair")


def test_the_first_of_several_faults_is_reported() -> None:
    worst = row(type=5, confidence=5)
    assert evolution(worst).dropped == ("bad_type",)
    assert evolution(worst, worst).dropped == ("duplicate_pair", "duplicate_pair")


# Sound, and yet no relation.


@pytest.mark.parametrize(
    ("fields", "relates"),
    [
        ({"type": "none"}, False),
        ({"confidence": 0.299999}, False),
        ({"confidence": 0.3}, True),
        ({"confidence": 0}, False),
        ({"confidence": 1}, True),
    ],
)
def test_none_and_too_little_confidence_are_no_relation_and_no_fault(
    fields: dict[str, Any], relates: bool
) -> None:
    found = evolution(row(**fields))
    assert (len(found.verdicts), found.dropped) == (int(relates), ())


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("absent", ""),
        (None, ""),
        (5, ""),
        ("", ""),
        ("x" * RELATION_REASON_BYTES_MAX, "x" * RELATION_REASON_BYTES_MAX),
        ("x" * 1_023 + "é", "x" * 1_023),
        ("日" * 400, "日" * 341),
    ],
)
def test_a_reason_is_a_text_of_so_many_bytes_or_empty(reason: object, kept: str) -> None:
    ((_, verdict),) = evolution(row(reason=reason)).verdicts
    assert verdict.reason == kept


# Whole replies.


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("[" * 50_001, "too_long"),
        ("They agree.", "no_json"),
        ("[1, 2]", "no_json"),
    ],
)
def test_an_unusable_reply_says_why(reply: str, reason: str) -> None:
    assert parse_evolution(reply, (PAIR,), FLOOR) == UnusableReply(reason)  # type: ignore[arg-type]


def test_an_empty_array_is_an_answer_without_verdicts() -> None:
    assert parse_evolution("[]", (PAIR,), FLOOR) == Evolution()


def test_prose_fences_and_wrapping_objects_need_no_rule() -> None:
    for form in ("So: HERE ok?", "```json\nHERE\n```", '{"relations": HERE}', "```\nHERE"):
        reply = form.replace("HERE", json.dumps([row()]))
        assert parse_evolution(reply, (PAIR,), FLOOR) == Evolution(((PAIR, UPDATE),)), form


def test_a_prompt_that_comes_back_says_nothing() -> None:
    form = '[{"new": REF, "old": REF, "type": TYPE, "confidence": NUMBER, "reason": TEXT}, ...]'
    assert parse_evolution(form, (PAIR,), FLOOR) == UnusableReply("no_json")


FIELDS = st.sampled_from(["new", "old", "type", "confidence", "reason", "x"])
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*PAIR, "update"])
)
ROWS = st.lists(st.dictionaries(FIELDS, LEAVES, max_size=6) | LEAVES, max_size=6).map(json.dumps)


@given(
    st.text()
    | st.text().map(lambda text: f"[{text}]")
    | ROWS
    | st.text().map(lambda text: json.dumps([row()]) + text)
)
def test_any_reply_gives_verdicts_on_asked_pairs_once_each(reply: str) -> None:
    found = parse_evolution(reply, (PAIR, OTHER), FLOOR)
    if isinstance(found, Evolution):
        pairs = [pair for pair, _ in found.verdicts]
        assert len(set(pairs)) == len(pairs)
        assert set(pairs) <= {PAIR, OTHER}
        assert all(FLOOR <= verdict.confidence_ppm <= 1_000_000 for _, verdict in found.verdicts)


def test_a_sound_row_that_is_no_verdict_says_why_and_a_reason_what_became_of_it() -> None:
    third = ("ent_a@2", "ent_c@1")
    asked = (PAIR, OTHER, third)
    found = evolution(
        row(type="none"), row(OTHER, confidence=0.2), row(third, reason="x" * 1_025), asked=asked
    )
    assert found.shapes == ("none", "low_confidence", "reason cut")
    assert evolution(row(reason=None), 7).shapes == ("not_object", "reason missing")

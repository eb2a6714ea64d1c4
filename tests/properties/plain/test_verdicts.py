"""Goal: a reply to `evolve` is read as M14.2 and M14.3 say.

That the memory reads it so too: tests/properties/test_replies.py.
"""

import json

import pytest

from tests.properties.replies_reference import (
    ExpectedVerdict,
    Verdicts,
    read_verdicts,
)

PAIR = ("a@2", "a@1")
FLOOR_PPM = 300_000


def read(*rows: object) -> Verdicts:
    found = read_verdicts(json.dumps(rows), [PAIR, ("a@2", "b@1")], FLOOR_PPM)
    assert found is not None
    return found


def row(**fields: object) -> dict[str, object]:
    return {"new": "a@2", "old": "a@1", "type": "update", "confidence": 0.9, "reason": "x"} | fields


# The table, row by row.


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (7, "not_object"),
        (row(old="z@1"), "unknown_pair"),
        (row(new=7), "unknown_pair"),
        (row(type=7), "bad_type"),
        (row(type="undo"), "bad_type"),
        (row(confidence=None), "bad_confidence"),
    ],
)
def test_a_row_that_says_nothing_sound_is_dropped(given: object, reason: str) -> None:
    found = read(given, row(old="b@1"))
    assert [pair for pair, _ in found.by_pair] == [("a@2", "b@1")]
    assert found.dropped == (reason,)


def test_of_a_pair_with_two_rows_both_are_dropped() -> None:
    other = row(old="b@1")
    found = read(row(), other, row(type="extend"))
    assert found.dropped == ("duplicate_pair", "duplicate_pair")
    assert [pair for pair, _ in found.by_pair] == [("a@2", "b@1")]


@pytest.mark.parametrize("fields", [row(type="none"), row(confidence=0.29)])
def test_a_row_that_sees_nothing_or_is_unsure_relates_nothing(fields: dict[str, object]) -> None:
    assert read(fields) == Verdicts((), ())


@pytest.mark.parametrize(("given", "reason"), [(7, ""), ("é" * 513, "é" * 512)])
def test_a_reason_is_a_short_text(given: object, reason: str) -> None:
    assert read(row(reason=given)).by_pair == ((PAIR, ExpectedVerdict("update", 900_000, reason, "model")),)

"""Goal: a reply to `evolve` is read as M14.2 and M14.3 say, and the memory reads it so too."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.plain.drawn import HALF_TEXT, NUMBERS, TEXTS, answers, framed, quoted, rows
from tests.properties.readings import as_plain
from tests.properties.replies_reference import (
    ExpectedVerdict,
    Pair,
    Verdicts,
    read_verdicts,
    why_unusable,
)
from umi_core.language.evolution import parse_evolution
from umi_core.language.prompts import Statement, ask_evolve
from umi_core.values import EVOLUTION_KINDS

PAIR = ("a@2", "a@1")
FLOOR_PPM = 300_000


def read(*told: object) -> Verdicts:
    found = read_verdicts(json.dumps(told), [PAIR, ("a@2", "b@1")], FLOOR_PPM)
    assert found is not None
    return found


def row(**fields: object) -> dict[str, object]:
    return {"new": "a@2", "old": "a@1", "type": "update", "confidence": 0.9, "reason": "x"} | fields


# The table, row by row.


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (7, "not_object"),
        (row(old="z@1"), "unknown_pair"),
        (row(new=7), "unknown_pair"),
        (row(type=7), "bad_type"),
        (row(type="undo"), "bad_type"),
        (row(confidence=None), "bad_confidence"),
    ],
)
def test_a_row_that_says_nothing_sound_is_dropped(told: object, reason: str) -> None:
    found = read(told, row(old="b@1"))
    assert [pair for pair, _ in found.by_pair] == [("a@2", "b@1")]
    assert found.dropped == (reason,)


def test_of_a_pair_with_two_rows_both_are_dropped() -> None:
    other = row(old="b@1")
    found = read(row(), other, row(type="extend"))
    assert found.dropped == ("duplicate_pair", "duplicate_pair")
    assert [pair for pair, _ in found.by_pair] == [("a@2", "b@1")]


@pytest.mark.parametrize("told", [row(type="none"), row(confidence=0.29)])
def test_a_row_that_sees_nothing_or_is_unsure_relates_nothing(told: dict[str, object]) -> None:
    assert read(told) == Verdicts((), ())


@pytest.mark.parametrize(("told", "reason"), [(7, ""), ("é" * 513, "é" * 512)])
def test_a_reason_is_a_short_text(told: object, reason: str) -> None:
    assert read(row(reason=told)).by_pair == ((PAIR, ExpectedVerdict("update", 900_000, reason, "model")),)


# Against the memory.

NEW = (Statement("a@2", "Alice", "left Acme", 2), Statement("b@2", "Bob", "naps", 2))
OLD = (Statement("a@1", "Alice", "works at Acme", 1), Statement("c@1", "Acme", "hires", 1))
PAIRS: list[Pair] = [(new.ref, old.ref) for new in NEW for old in OLD]
PAYLOADS = rows(
    {
        "new": quoted("a@2", "b@2", "a@1", "z@9"),
        "old": quoted("a@1", "c@1", "b@2"),
        "type": quoted(*EVOLUTION_KINDS, "none", "UPDATE", " None", "undo"),
        "confidence": NUMBERS,
        "reason": TEXTS.map(json.dumps),
    }
)


@pytest.mark.slow
@pytest.mark.uncounted
@settings(max_examples=120)
@given(
    framed(PAYLOADS) | HALF_TEXT | answers("evolve", ask_evolve(NEW, OLD, tuple(PAIRS))),
    st.lists(st.sampled_from(PAIRS), unique=True),
    st.sampled_from([0, FLOOR_PPM, 1_000_000]),
)
def test_the_memory_reads_anything_alike(reply: str, pairs: list[Pair], floor_ppm: int) -> None:
    wanted = read_verdicts(reply, pairs, floor_ppm)
    got = as_plain(parse_evolution(reply, pairs, floor_ppm))
    assert got == (why_unusable(reply) if wanted is None else wanted)

"""Goal: the plain reading of sentences says what the tables of docs/spec/memory.md say (M10.17, M10.18)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.plain.drawn import ANY_TEXT, TEXTS
from tests.properties.text_reference import ENDS, list_uncovered, sentences
from tests.spec_tables import Row, read_cell, words
from tests.spec_tables import rows as table_rows
from umi_core.language import extraction
from umi_core.language.sentences import sentences as find_sentences
from umi_core.language.tables import (
    ABBREVIATIONS,
    DENIALS,
    FULL_STOPS,
    IDLE,
    NAME_PRONOUNS,
    ORDINAL_WORDS,
    SHORT_FORMS,
    STATE_WORDS,
)

GOING_ON = (
    "_Mr. ",
    "(Dr. ",
    "e.g. ",
    "9 p.m. ",
    "Aug. ",
    "im 3. ",
    "9. Juni",
    " J. ",
    "K. ",
    "z. ",
    "I. ",
    "U.S. ",
    "Army",
)
PARTS = st.sampled_from([*ENDS, *FULL_STOPS, *GOING_ON, " ", "\n", "\r", "\u3000", "Hi", "I run", "42", "so"])
PATCHED = st.lists(PARTS | ANY_TEXT, max_size=8).map("".join)


@pytest.mark.parametrize("row", table_rows("memory", "told_sentences"), ids=lambda row: row["text"])
def test_sentences_are_those_of_the_table(row: Row) -> None:
    assert sentences(read_cell(row["text"])) == read_cell(row["sentences"])


@pytest.mark.parametrize("row", table_rows("memory", "passed_over"), ids=lambda row: row["text"])
def test_what_is_passed_over_is_as_the_table_says(row: Row) -> None:
    assert list_uncovered(read_cell(row["text"]), read_cell(row["told"])) == read_cell(row["passed over"])


def test_abbreviations_are_those_of_the_lists() -> None:
    assert sorted(ABBREVIATIONS) == words("memory", "abbreviations")
    assert sorted(SHORT_FORMS) == words("memory", "short_forms")
    assert sorted(ORDINAL_WORDS) == words("memory", "ordinal_words")
    assert sorted(STATE_WORDS) == words("memory", "state_words")


def test_denials_are_those_of_the_list() -> None:
    assert sorted(DENIALS) == sorted(words("memory", "denials"))


def test_idle_words_are_those_of_the_list() -> None:
    assert sorted(IDLE - NAME_PRONOUNS) == sorted(words("memory", "idle_words"))


@given(TEXTS | PATCHED, st.lists(TEXTS | PATCHED, max_size=2))
def test_the_memory_finds_the_same_sentences(text: str, kept: list[str]) -> None:
    assert list(find_sentences(text)) == sentences(text)
    assert list(extraction.find_uncovered(text, kept)) == list_uncovered(text, kept)

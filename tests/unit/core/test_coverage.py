"""Goal: what an answer passes over is found out, and courtesies are not (M10.17, M10.18)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, rows, told, words
from umi_core.language.extraction import find_uncovered, sentences, telling
from umi_core.language.tables import IDLE

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(". \n?!。I"), max_size=60)


@pytest.mark.parametrize("row", rows("memory", "told_sentences"), ids=lambda row: row["text"])
def test_sentences_are_those_of_the_table(row: Row) -> None:
    assert list(sentences(told(row["text"]))) == told(row["sentences"])


@pytest.mark.parametrize("row", rows("memory", "passed_over"), ids=lambda row: row["text"])
def test_what_is_passed_over_is_as_the_table_says(row: Row) -> None:
    assert list(find_uncovered(told(row["text"]), told(row["told"]))) == told(row["passed over"])


def test_idle_words_are_those_of_the_lists() -> None:
    assert {*words("memory", "idle_words"), *words("memory", "name_pronouns")} == IDLE


@given(TEXTS)
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_each_sentence_says_nothing_or_is_told_or_is_passed_over(text: str, kept: list[str]) -> None:
    told_now = (*kept, *find_uncovered(text, kept))
    assert find_uncovered(text, told_now) == ()
    assert find_uncovered(text, (text,)) == ()
    assert all(telling(sentence) for sentence in find_uncovered(text, kept))

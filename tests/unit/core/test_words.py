"""Goal: words, stop words and automatic names are those of the rules, for any text in any script (M0.15)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows
from tests.spec_tables import words as listed
from umi_core.language.tables import STOP_WORDS
from umi_core.language.words import auto_name, clean_name, content, words
from umi_core.text import has_control, size, tidy

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("row", rows("memory", "words"), ids=lambda row: row["text"])
def test_words_are_runs_of_letters_and_digits(row: Row) -> None:
    assert words(read_cell(row["text"])) == tuple(read_cell(row["words"]).split())


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_takes_no_other_way_than_the_rest(text: str) -> None:
    assert words(text) == words(text + "\ud800")


def test_content_words_keep_their_order_and_lose_the_stop_words() -> None:
    assert content(words("Where does Alice work, and who is Bob?")) == ("alice", "work", "bob")
    assert content(words("will you be there")) == ("there",)


def test_the_stop_words_are_frozen() -> None:
    assert sorted(STOP_WORDS) == sorted(listed("memory", "stop_words"))


@pytest.mark.parametrize("row", rows("memory", "auto_names"), ids=lambda row: row["text"][:40])
def test_a_text_is_named_by_its_first_line(row: Row) -> None:
    assert auto_name(read_cell(row["text"])) == read_cell(row["name"])


@given(TEXTS)
def test_words_of_words_are_the_words(text: str) -> None:
    once = words(text)
    assert all(once)
    assert words(" ".join(words(" ".join(once)))) == words(" ".join(once))


@given(TEXTS)
def test_an_automatic_name_is_a_name(text: str) -> None:
    name = auto_name(text)
    assert size(name) <= 53
    assert not has_control(name)
    assert bool(name) == bool(text.strip())


@given(TEXTS)
def test_a_clean_name_is_tidy_and_stays(text: str) -> None:
    name = clean_name(text)
    assert not has_control(name)
    assert tidy(name) == name == clean_name(name)

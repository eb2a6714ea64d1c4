"""Goal: a text with a word of a change has those of what it changes, and no other text has any (M14.34)."""

import pytest

from tests.spec_tables import text
from umi_core.language.wordings import CHANGE_ROWS, words_before, words_of_change


def test_the_table_is_that_of_the_specification() -> None:
    assert text("memory", "changes").split("\n") == [f"{change}: {before}" for change, before in CHANGE_ROWS]


@pytest.mark.parametrize(("change", "before"), CHANGE_ROWS)
def test_each_word_of_a_row_leads_to_the_other_side(change: str, before: str) -> None:
    for word in change.split():
        assert before in list(words_before(f"I {word.upper()} it")), word
    for word in before.split():
        assert change in list(words_of_change(f"do I {word}?")), word


def test_accents_and_apostrophes_are_those_of_a_search() -> None:
    assert list(words_before("J'ai demenage")) == ["habite habitons vis vit"]
    assert list(words_of_change("Où est-ce que j'habite ?")) == ["déménagé"]


@pytest.mark.parametrize("text", ["", "I like tea.", "leftovers", "我搬到了里斯本"])
def test_any_other_text_has_none(text: str) -> None:
    assert [*words_before(text), *words_of_change(text)] == []

"""Goal: texts are cut, folded and split as M0 says, and the memory does so too."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.properties import text_reference as plain
from tests.properties.plain.drawn import ANY_TEXT, HALF_TEXT, NAMES, TEXTS
from tests.spec_tables import Row, read_cell, rows, whole
from tests.spec_tables import words as listed
from umi_core import json_text
from umi_core import text as memory
from umi_core.language import terms as memory_terms
from umi_core.language import words as memory_words
from umi_core.language.tables import STOP_WORDS


@pytest.mark.parametrize("row", rows("memory", "cut"), ids=lambda row: f"{row['text']} {row['bytes']}")
def test_a_cut_falls_between_code_points(row: Row) -> None:
    assert plain.cut(read_cell(row["text"]), whole(row["bytes"])) == read_cell(row["result"])


@pytest.mark.parametrize("row", rows("memory", "words"), ids=lambda row: row["text"])
def test_the_words_of_a_text(row: Row) -> None:
    assert plain.words(read_cell(row["text"])) == tuple(read_cell(row["words"]).split())


def test_stop_words_say_nothing() -> None:
    assert sorted(STOP_WORDS) == sorted(listed("memory", "stop_words"))
    assert plain.content_words("What is the Name of it?") == ("name", "it")


@given(TEXTS | NAMES | ANY_TEXT)
@example("a'b''c'’d 東''s 東'京 'x _y_ ー・")
def test_the_memory_reads_texts_alike(text: str) -> None:
    assert memory.tidy(text) == plain.tidy(text)
    assert memory.norm(text) == plain.fold_name(text)
    assert memory.line_ends(text) == plain.line_ends(text)
    assert memory.has_control(text) == plain.has_any(text, plain.CONTROLS)
    assert memory.has_unwritable(text) == plain.has_any(text, plain.UNWRITABLE)
    assert memory.size(text) == plain.byte_count(text)
    assert memory_words.clean_name(text) == plain.without_controls(plain.tidy(text))
    for limit in (0, 1, 7, 50):
        assert memory.cut(text, limit) == plain.cut(text, limit)


@given(TEXTS | NAMES | ANY_TEXT)
@example("a'b''c'’d 東''s 東'京 'x _y_ ー・")
def test_the_memory_finds_the_same_words(text: str) -> None:
    assert tuple(memory_words.words(text)) == plain.words(text)
    assert tuple(memory_words.content(memory_words.words(text))) == plain.content_words(text)


@given(HALF_TEXT)
def test_the_memory_takes_the_same_for_a_text(text: str) -> None:
    assert memory.is_text(text) == plain.is_text(text)
    assert json_text.whole(text) == plain.replace_surrogates(text)


@given(ANY_TEXT | HALF_TEXT)
def test_the_memory_shows_values_alike(text: str) -> None:
    for value in (text, text.encode(errors="surrogatepass"), (text, 7)):
        assert memory.show_value(value) == plain.show_value(value)


@pytest.mark.parametrize("row", rows("memory", "search_terms"), ids=lambda row: row["text"])
def test_terms_are_those_of_the_table(row: Row) -> None:
    assert plain.terms(read_cell(row["text"])) == tuple(read_cell(row["terms"]).split())
    assert plain.asked_terms(read_cell(row["text"])) == tuple(read_cell(row["of a query"]).split())


MIXED = st.text(
    st.sampled_from("aZé\u0301'’ʼ ज्य ก็ 東京カ한\u3099🙂🏽🇩🇪\u200d\ufe0f\u20e3\U0001fa77\ud7b0½x²_-.ıŁ")
)


@given(MIXED | st.text(st.characters(exclude_categories=["Cs"])))
def test_the_memory_finds_the_same_terms(text: str) -> None:
    assert memory_terms.split_terms(text) == plain.terms(text)
    assert memory_terms.split_query(text) == plain.asked_terms(text)


def test_the_memory_takes_each_code_point_for_the_same() -> None:
    names = {"w": "spaced", "d": "dense", "m": "mark", "f": "flag", "s": "symbol"}
    for char in map(chr, [*range(0x12000), *range(0x1F000, 0x20100), *range(0xE0000, 0xE0200)]):
        found = memory_terms.classify(char)
        assert names.get(found, "") == plain.script_of(char), hex(ord(char))
        assert (found == "s") or (memory_terms.keep_character(char) == "") == plain.is_left_out(char)

"""Goal: a query's references are found by words, in order, in four languages, and nothing else is."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows
from umi_core.language import languages, tables
from umi_core.language.pronouns import IDIOMS, LANGUAGES, phrase, read


def terms(text: str) -> str:
    return ", ".join(read(text).terms)


def test_the_tables_are_frozen() -> None:
    sets = (tables.HELPING, tables.POINTING, tables.CLAUSE_OPENING, tables.DETERMINERS, tables.INDEFINITE)
    marks = (*tables.LIGHT_WORDS.items(), *tables.MARKS.items(), ("", tables.MAYBE_NAMES))
    frozen = (
        list(LANGUAGES.items()),
        IDIOMS,
        [sorted(words) for words in (*sets, tables.BEFORE_NOUN)],
        [(language, sorted(words)) for language, words in marks],
        tables.PERSON_ROWS,
        languages.ENDINGS,
    )
    assert blake2b(ascii(frozen).encode(), digest_size=16).hexdigest() == "6151e1b00beaca31cdb10e4eee4d5c23"


@pytest.mark.parametrize("row", rows("memory", "terms"), ids=lambda row: row["query"])
def test_terms_are_read_from_left_to_right_the_longest_first(row: Row) -> None:
    assert terms(read_cell(row["query"])) == read_cell(row["terms"])


def test_an_opening_without_its_rest_is_a_term() -> None:
    assert terms("And Ben?") == "and …"
    assert terms("And when does Ben come?") == ""


@pytest.mark.uncounted
@pytest.mark.parametrize("term", LANGUAGES)
def test_every_term_is_found_alone_and_leaves_no_other_word(term: str) -> None:
    own = LANGUAGES[term].replace("zh", "")
    reading = read(term, own)
    assert (reading.terms, reading.others) == ((term,), ())
    assert read(f"xyz {term} xyz", own).others == ("xyz", "xyz")


@pytest.mark.uncounted
@given(st.lists(st.sampled_from([*LANGUAGES, *IDIOMS, "Bob", "IT", "x"])).map(" ".join))
def test_a_text_in_ascii_is_read_as_with_all_the_terms(text: str) -> None:
    plain = "".join(char for char in text if char.isascii())
    reading = read(f"{plain} \u3002")  # a mark that is no word, and not ASCII
    assert read(plain) == reading


@given(st.text())
def test_any_text_is_read_and_no_word_is_lost(text: str) -> None:
    reading = read(text)
    found = [word for term in reading.terms for word in phrase(term)]
    assert sorted([*found, *reading.others]) == sorted(phrase(text))


def test_a_spanish_subject_that_is_left_out_is_found() -> None:
    assert terms("¿Por qué ladra?") == "… ladra"
    assert terms("¿Cuánto va a costar?") == "… va"
    assert terms("¿Cuándo se casa?") == "… casa"
    for query in ("¿Por qué ladra el perro?", "¿Cómo se dice libro?", "¿Cuándo vive aquí Ana?", "¿Por qué?"):
        assert "… " not in terms(query)

"""Goal: references are found as M13.2 to M13.4 say, and the memory finds the same."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.properties.plain.drawn import ANY_TEXT, QUERIES
from tests.properties.queries_reference import PHRASE_WORDS, references, terms_by_first_word
from tests.spec_tables import Row, read_cell, rows
from umi_core.language.languages import ELIDED
from umi_core.language.pronouns import IDIOMS, LANGUAGES, read
from umi_core.language.tables import TERM_ROWS


@pytest.mark.parametrize("row", rows("memory", "terms"), ids=lambda row: row["query"])
def test_the_references_of_a_query(row: Row) -> None:
    assert ", ".join(references(read_cell(row["query"])).terms) == read_cell(row["terms"])


def test_what_is_no_reference_is_left_with_the_words_of_no_term() -> None:
    found = references("Ist die IT dort, wo es there is sagt?")
    assert found.others == ("ist", "die", "it", "wo", "es", "there", "is", "sagt")
    assert (found.terms, found.languages) == (("dort",), ("de",))


def test_a_term_stands_in_one_language_only() -> None:
    terms = [term for _, row in TERM_ROWS for term in row.split(", ")]
    assert len(terms) == len(dict.fromkeys(terms))


# Against the memory.


def test_the_memory_has_the_same_terms_and_no_others() -> None:
    terms = [each for row in terms_by_first_word().values() for each in row]
    assert {term.text: term.language for _, term in terms} == LANGUAGES
    assert len(terms) == len(LANGUAGES)
    assert max(len(words) for words, _ in terms) <= PHRASE_WORDS


NOUNS = ("boss", "budget", "Haus", "casa", "chat", "haus")
PIECES = [word for term in (*LANGUAGES, *IDIOMS) for word in re.findall(r"[^\W_]+", term)]
CLAUSES = (
    "the place that serves",
    "Ella Ruiz",
    "anything that",
    "know that she",
    "about that",
    "those x who",
)
OPEN = (*"one the boss der das la le l' casa chat Haus en y otro lo he and why und y et 呢".split(), *ELIDED)
WORDS = st.sampled_from(
    [*LANGUAGES, *CLAUSES, *OPEN, "budget", "Ann", "one", "东", "Ⅷ", "ß"]
) | st.sampled_from(PIECES)
FORMS = st.sampled_from(
    [str.lower, str.lower, str.capitalize, str.upper, lambda it: f"{it}'s", lambda it: f"{it}’ll"]
)
GAPS = st.sampled_from([" ", " ", " ", " ", " ", ", ", "? ", "", "-", "/", "\n", "'", "''", "_"])
TALK = st.lists(st.builds(lambda word, form, gap: form(word) + gap, WORDS, FORMS, GAPS), max_size=8).map(
    "".join
)


@pytest.mark.slow
@settings(max_examples=100)
@given(TALK | QUERIES | ANY_TEXT)
@example("there was there")
@example("東's 東京’s a'東'b")
def test_the_memory_finds_the_same_references(text: str) -> None:
    found, got = references(text, None, NOUNS), read(text, None, frozenset(NOUNS))
    assert (found.terms, found.others, found.spoken) == (got.terms, got.others, got.language)
    assert (frozenset(found.names), frozenset(found.big)) == (got.names, got.capitals)
    assert found.nouns == got.pointed
    assert frozenset(found.definite) == got.nouns

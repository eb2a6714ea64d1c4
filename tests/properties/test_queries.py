"""Goal: what a query refers to, whether a model is asked, and what becomes of its rewrite are as specified.

The memory and its reference are given small words of six languages in any order.
"""

from itertools import product
from typing import Any, Final

import pytest

from tests.properties import queries, text_reference
from tests.properties import queries_reference as plain_queries
from tests.properties.laws import Draw, agree, law
from tests.properties.queries_reference import is_another_person, references
from tests.properties.readings import PromptSubject, check_read
from umi_core.config import Config
from umi_core.language import languages, persons, pronouns, rewriting
from umi_core.values import Turn


@pytest.mark.slow
@law(queries.asked, examples=150)
def test_a_model_is_asked_only_where_a_query_needs_it(
    query: str, turns: tuple[Turn, ...], is_on: bool, is_forced: bool
) -> None:
    shown = plain_queries.shown_turns(turns)
    assert shown == rewriting.shown_turns(turns)
    wanted = plain_queries.resolve_without_model(query, turns, is_on, is_forced)
    assert wanted == rewriting.resolve_without_model(query, shown, is_on, is_forced)
    for deep in (None, True, False):
        assert plain_queries.is_deep(query, deep) == rewriting.is_deep(query, deep)


@pytest.mark.slow
@law(queries.rewrites, examples=150)
def test_a_rewrite_is_taken_or_refused(reply: str, query: str, turns: tuple[Turn, ...]) -> None:
    check_read("rewrite", reply, PromptSubject(query=query, turns=turns), Config())


test_a_rewrite_speaks_of_the_same_persons = agree(
    persons.changes_person, is_another_person, queries.speakers, examples=300
)


def read_plainly(query: str, language: str | None) -> tuple[Any, ...]:
    it = references(query, language)
    names, capitals = {*it.names} & {*it.others}, {*it.big} & {*it.others}
    return it.terms, it.others, it.spoken, names, capitals, it.nouns


def read_by_memory(query: str, language: str | None) -> tuple[Any, ...]:
    it = pronouns.read(query, language)
    names, capitals = it.names & {*it.others}, it.capitals & {*it.others}
    return it.terms, it.others, it.language, names, capitals, it.pointed


def lines(draw: Draw) -> tuple[str, str | None]:
    return queries.line(draw), draw.pick((None, None, None, *queries.LANGUAGES, ""))


test_references_are_found = pytest.mark.slow(agree(read_by_memory, read_plainly, lines, examples=600))


BEGINNINGS: Final = ("", "t", "te", "tea", "haus", "日本")
ENDINGS: Final = ("", *"s es ies ing ed e y en em er n os as o a".split())


def test_a_word_loses_its_endings_in_each_language() -> None:
    for parts in product(BEGINNINGS, ENDINGS, ENDINGS):
        for language in (*queries.LANGUAGES, ""):
            word = "".join(parts)
            assert text_reference.bare(word, language) == languages.stem(word, language), (word, language)

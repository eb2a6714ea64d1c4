"""Wordings: words for a change, and the words of older statements and questions that it concerns.

    I live in Porto.     I moved to Lisbon.           where do I live
    I am single.         I got married in May.        am I single

The second statement ends the first one and answers the question, but shares no content word with either. So
the search for statements that a new one may end also uses the words of older statements, and the search for
answers to a question also uses the words of changes.

Law 1. Pure: a text in, words out. Law 2. Only the words of this table have others.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from umi_core.language.terms import split_folded

CHANGE_ROWS: Final = (  # words that state a change, and words of the statements that it may end
    ("moved relocated", "live lives living based"),
    ("gezogen umgezogen", "wohne wohnen wohnt lebe leben lebt"),
    ("déménagé", "habite habitons vis vit"),
    ("mudé mudó mudado mudamos", "vivo vive vivimos"),
    ("trasferito trasferita", "vivo vive abito abita"),
    ("joined left hired", "work works working job company employer"),
    ("angefangen gekündigt", "arbeite arbeitet"),
    ("married divorced widowed", "single married engaged"),
    ("geheiratet geschieden", "ledig verheiratet"),
    ("marié mariée divorcé divorcée", "célibataire marié mariée"),
    ("casé casó divorcié divorciado divorciada", "soltero soltera casado casada"),
    ("sposato sposata divorziato divorziata", "single sposato sposata"),
    ("turned", "years old age"),
)


def words_before(text: str) -> Iterator[str]:
    """Yield the words of older statements that this one may end, one text per matching row of the table."""
    spoken = fold_words(text)
    yield from (before for change, before in CHANGE_ROWS if not spoken.isdisjoint(words_of_row(change)))


def words_of_change(question: str) -> Iterator[str]:
    """Yield the words of newer statements that may answer a question, one text per matching row."""
    spoken = fold_words(question)
    yield from (change for change, before in CHANGE_ROWS if not spoken.isdisjoint(words_of_row(before)))


def fold_words(text: str) -> frozenset[str]:
    """Return the words of a text, in any case and with or without accents: `J'habite` has `habite`."""
    return frozenset(split_folded(text, with_single=False))


@cache
def words_of_row(words: str) -> frozenset[str]:
    """Return the words of one side of a row of the table."""
    return fold_words(words)

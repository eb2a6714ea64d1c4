"""Wordings: other words in which people speak of a thing once it has changed.

    I live in Porto.     I moved to Lisbon.           where do I live
    I am single.         I got married in May.        am I single

The second statement shares no word with the first one, which it ends, and none with the question, which it
answers. So a new statement is compared with those that have the words of what it changes, too, and a question
may be asked in the words of a change.

Law 1. Pure: a text in, words out. Law 2. Only the words of this table have others.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

from umi_core.language.terms import split_folded

CHANGE_ROWS: Final = (  # words that tell a change, and those of what it changes
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
    """Yield the words of older statements that this one may change, a row of the table each."""
    spoken = fold_words(text)
    yield from (before for change, before in CHANGE_ROWS if not spoken.isdisjoint(words_of_row(change)))


def words_of_change(question: str) -> Iterator[str]:
    """Yield the words of newer statements that may answer a question, a row of the table each."""
    spoken = fold_words(question)
    yield from (change for change, before in CHANGE_ROWS if not spoken.isdisjoint(words_of_row(before)))


def fold_words(text: str) -> frozenset[str]:
    """Return the words of a text, in any case and with or without accents: `J'habite` has `habite`."""
    return frozenset(split_folded(text, with_single=False))


@cache
def words_of_row(words: str) -> frozenset[str]:
    """Return the words of one side of a row of the table."""
    return fold_words(words)

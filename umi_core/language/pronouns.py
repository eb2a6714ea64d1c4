"""Pronouns and other references: the words of a query that mean something said earlier.

Law 1. Detection is by words, left to right, longest first, without overlap; part of a word never counts.
Law 2. The tables are frozen: a changed term changes recorded runs.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.language.words import word_matches

# The terms by language. Words that mean something else in another of them are left out: German "es", Spanish
# "lo" and "el". English is as in M13.4; a word of it stands there once for all languages.
TERM_ROWS: Final = (
    # Pronouns.
    ("en", "he, him, his, himself, she, her, hers, herself, it, its, itself, they, them, their, theirs, "
           "themselves"),
    ("de", "er, ihn, ihm, sie, ihr, ihre, ihren, ihrem, ihrer, ihres, ihnen, sein, seine, seinen, seinem, "
           "seiner, seines"),
    ("es", "él, ella, ellos, ellas, su, sus"),
    ("zh", "他, 她, 它, 他们, 她们, 它们"),
    # Demonstratives.
    ("en", "this, that, these, those, here, there"),
    ("de", "dies, diese, dieser, dieses, diesen, diesem, dort, dorthin, dahin, darüber, davon, dazu, daran, "
           "dafür, damit, darauf, dabei, danach, darin, daraus, dagegen"),
    ("es", "esto, eso, aquello, este, esta, estos, estas, ese, esa, esos, esas, aquel, aquella, ahí, allí, "
           "allá"),
    ("zh", "这个, 那个, 这些, 那些, 这件事, 那件事, 这里, 那里, 这儿, 那儿"),
    # Temporal.
    ("en", "earlier, before, previously, yesterday, recently, again, last time, just now"),
    ("de", "vorher, gestern, neulich, letztes mal"),
    ("es", "ayer, anteriormente, otra vez, la última vez"),
    ("zh", "昨天, 之前, 上次"),
    # Implicit.
    ("en", "the same, similar, like before, as usual, the other, another one, the issue, the problem, "
           "the error, the bug, the feature, the method, the function, the file, the code"),
    ("de", "dasselbe, das gleiche, wie üblich, das problem, der fehler"),
    ("es", "lo mismo, como siempre, el problema, el error"),
    ("zh", "一样的, 那个问题, 这个问题"),
)  # fmt: skip

# Phrases that hold a term and refer to nothing.
IDIOM_ROWS: Final = (
    "there is, there are, there was, there were, is there, are there, was there, were there",
    "其他, 其它, 吉他",
)

Phrase = tuple[str, ...]
ByFirstWord = dict[str, list[tuple[Phrase, str]]]


@attrs.frozen
class Word(Data):
    """A word as it is compared, and as it was written with what follows its apostrophe."""

    text: str
    written: str


def written_words(text: str) -> tuple[Word, ...]:
    return tuple(Word(match[1].casefold(), match[0]) for match in word_matches(text))


def phrase(text: str) -> Phrase:
    return tuple(word.text for word in written_words(text))


LANGUAGES: Final = {term: language for language, row in TERM_ROWS for term in row.split(", ")}
IDIOMS: Final = tuple(idiom for row in IDIOM_ROWS for idiom in row.split(", "))
assert len(LANGUAGES) == sum(len(row.split(", ")) for _, row in TERM_ROWS)  # each term stands once


@cache
def by_first_word(is_ascii: bool) -> ByFirstWord:
    """The terms, and the idioms as a term that is empty; of those with one first word the longest first.

    `is_ascii`: those that a text in ASCII can hold; words of other letters take longer to find.
    """
    terms = {phrase(term): term for term in LANGUAGES if term.isascii() or not is_ascii}
    idioms = {phrase(idiom): "" for idiom in IDIOMS if idiom.isascii() or not is_ascii}
    assert not terms.keys() & idioms.keys()
    assert is_ascii or len(terms | idioms) == len(LANGUAGES) + len(IDIOMS)
    found: ByFirstWord = {}
    for words, term in sorted((terms | idioms).items(), key=lambda pair: -len(pair[0])):
        found.setdefault(words[0], []).append((words, term))
    return found


@attrs.frozen
class Reading(Data):
    """A text read for references: its terms in order, repeated ones too, and the words outside of them."""

    terms: tuple[str, ...]
    others: tuple[str, ...]


@lru_cache(maxsize=64)  # a query is read when it is asked, answered and judged
def read(text: str) -> Reading:
    """What a text refers to. `What did he say about that?` has the terms `he` and `that`."""
    written = written_words(text)
    texts = tuple(word.text for word in written)
    has_lower, known = any(char.islower() for char in text), by_first_word(text.isascii())
    terms: list[str] = []
    others: list[str] = []
    at = 0
    while at < len(texts):
        words, term = next(phrases_at(texts, at, known), ((texts[at],), ""))
        if term and not (len(words) == 1 and is_name(written[at], has_lower)):
            terms.append(term)
        else:
            others.extend(words)
        at += len(words)
    return Reading(tuple(terms), tuple(others))


def phrases_at(texts: Phrase, at: int, known: ByFirstWord) -> Iterator[tuple[Phrase, str]]:
    """The terms and idioms that begin here, the longest first."""
    for words, term in known.get(texts[at], ()):
        if texts[at : at + len(words)] == words:
            yield words, term


def is_name(word: Word, has_lower: bool) -> bool:
    """`IT` among small letters is a name, and `there's` says that something exists."""
    is_acronym = has_lower and len(word.text) > 1 and word.written.isupper()
    return is_acronym or word.written.casefold().replace("’", "'") == "there's"

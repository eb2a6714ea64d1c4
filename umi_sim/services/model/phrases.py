"""Phrases: which words of a text stand together as a name or a noun, in languages with spaces.

Law 1. By tables and order alone: a determiner, a capital or a preposition opens a phrase, and a word of
`grammar` ends it. Law 2. One pass over the words.
"""

import re
from collections.abc import Iterator
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.kernel.characters import is_upper, lower, word_matches
from umi_sim.services.model import grammar

PHRASE_WORDS_MAX: Final = 4
BETWEEN_MAX: Final = 3  # words that count or describe, between a determiner and its noun
JOINTS: Final = (" ", "-", "/", ".")  # a point inside a name, as in v2.3
SENTENCE_END: Final = re.compile(r"[.!?;:\n…¿¡—]")
OPENERS: Final = frozenset("about regarding concerning sobre".split())


@attrs.frozen
class Token(Data):
    """A word, what stands between it and the one before, and whether it begins a sentence."""

    text: str
    key: str
    start: int
    end: int
    gap: str
    is_capital: bool
    is_first: bool


@attrs.frozen
class Phrase(Data):
    """Tokens `start` up to `end`, and the token that is its determiner."""

    start: int
    end: int
    determiner: int | None = None


def read_tokens(text: str) -> list[Token]:
    found: list[Token] = []
    end = 0
    for match in word_matches(text):
        gap = text[end : match.start()]
        if found and gap == ". " and found[-1].key in grammar.TITLES:
            gap = " "
        is_first = not found or (gap not in JOINTS and bool(SENTENCE_END.search(gap)))
        word = match[0]
        found.append(Token(word, lower(word), match.start(), match.end(), gap, is_upper(word[0]), is_first))
        end = match.end()
    return found


def person_gender(key: str) -> str | None:
    """The gender of a given name, empty for either; None if the word is none."""
    return next((gender for gender, names in grammar.GIVEN_NAMES.items() if key in names), None)


def person_noun(key: str) -> str | None:
    """The gender of a noun for a person, empty for either; None if the word is none."""
    return next((gender for gender, nouns in grammar.PERSONS.items() if key in nouns), None)


def is_possessive(token: Token) -> bool:
    return token.key == "s" and token.gap in ("'", "’")


def is_plural(key: str) -> bool:
    return len(key) > 3 and key.endswith("s") and not key.endswith(("ss", "us", "is"))


class Reader:
    """One pass over the words of a text."""

    def __init__(self, tokens: list[Token], language: str) -> None:
        self.tokens, self.language = tokens, language
        self.determiners = grammar.DETERMINERS[language]
        self.articles = grammar.ARTICLES[language]
        self.function_words = grammar.FUNCTION_WORDS[language]
        self.verbs = grammar.VERBS[language]
        self.small = self.function_words | self.determiners

    def read(self) -> Iterator[Phrase]:
        """The phrases by place; one may lie inside of another."""
        at = 0
        while at < len(self.tokens):
            phrase = self.phrase_at(at)
            if phrase is None:
                at += 1
                continue
            yield phrase
            yield from self.inside(phrase)
            at = phrase.end
            if at < len(self.tokens) and is_possessive(self.tokens[at]) and self.opens(at + 1):
                owned = Phrase(phrase.start, self.noun_end(at + 1), phrase.determiner)
                yield owned
                yield from self.inside(Phrase(at + 1, owned.end))
                at = owned.end

    def phrase_at(self, at: int) -> Phrase | None:
        token = self.tokens[at]
        if self.is_name(at):
            return Phrase(at, self.name_end(at))
        if token.key in self.determiners:
            return self.determined(at)
        if token.key in OPENERS or token.key in self.verbs or token.key in grammar.FINITE[self.language]:
            return self.bare(at + 1, token.key in OPENERS)
        if token.key in grammar.NUMERALS and self.language != "de":
            return self.bare(at + 1, False)
        return None

    def determined(self, at: int) -> Phrase | None:
        """A determiner, words that count or describe, and the noun with what belongs to it."""
        start = at + 1
        while self.is_between(start) and start - at <= BETWEEN_MAX:
            start += 1
        if self.language == "de":
            return Phrase(start, self.name_end(start), at) if self.is_noun(start) else None
        if not self.opens(start) or (self.tokens[at].key in grammar.POINTING and self.is_verb(start)):
            return None
        return Phrase(start, self.noun_end(start), at)

    def bare(self, at: int, is_open: bool) -> Phrase | None:
        """A noun without determiner behind `about`, or a plural behind a verb."""
        if self.language == "de" or not self.opens(at) or self.tokens[at].key in self.verbs:
            return None
        end = self.noun_end(at)
        return Phrase(at, end) if is_open or is_plural(self.tokens[end - 1].key) else None

    def inside(self, phrase: Phrase) -> Iterator[Phrase]:
        """The name behind a small word of a phrase: `Raquel` in `el coche de Raquel`."""
        for at in range(phrase.start + 1, phrase.end):
            key, is_small = self.tokens[at - 1].key, not self.tokens[at - 1].is_capital
            is_whom = at == phrase.start + 1 and person_noun(key) is not None and key not in grammar.TITLES
            if self.tokens[at].is_capital and (is_whom if self.language == "de" else is_small):
                yield Phrase(at, phrase.end)
                return

    # Ends.

    def name_end(self, at: int) -> int:
        """The end of a run of capitals; in English with the small words that follow a name of no person."""
        end = at + 1
        while self.is_joined(end) and end - at < PHRASE_WORDS_MAX and self.is_name_part(end):
            end += 1
        is_person = person_gender(self.tokens[at].key) is not None or self.tokens[at].key in grammar.TITLES
        while not is_person and self.language == "en" and end - at < PHRASE_WORDS_MAX and self.extends(end):
            end += 1
        return end

    def noun_end(self, at: int) -> int:
        """The end of the noun that begins here, with what stands behind it and belongs to it."""
        end = at + 1
        while end - at < PHRASE_WORDS_MAX and self.extends(end):
            end += 1
        for _ in range(2):
            inner = end
            if inner < len(self.tokens) and self.tokens[inner].key in grammar.OF[self.language]:
                inner += 1
                if inner < len(self.tokens) and self.tokens[inner].key in self.articles:
                    inner += 1
                if self.opens(inner) and self.tokens[inner].key not in self.verbs:
                    end = inner + 1
        return end

    # Words.

    def is_name(self, at: int) -> bool:
        """Whether a capital here begins a name; one that begins a sentence must look like no other word."""
        token = self.tokens[at]
        if not token.is_capital or len(token.text) == 1 or token.key in self.function_words:
            return False
        if not token.is_first:
            return True
        if token.key in self.verbs or token.key in self.determiners:
            return False
        if person_gender(token.key) is not None or person_noun(token.key) is not None:
            return True
        if self.language == "es" and token.key.endswith(grammar.FIRST_PERSON):
            return False
        if token.key in grammar.PLACES or token.key in grammar.TITLES or at + 1 == len(self.tokens):
            return at + 1 < len(self.tokens)
        follower = self.tokens[at + 1]
        is_verb = follower.key in self.verbs or (self.language == "de" and follower.key.endswith("t"))
        is_told = is_verb or follower.key in self.function_words or follower.is_capital
        return is_possessive(follower) or (is_told and follower.gap == " ")

    def is_noun(self, at: int) -> bool:
        """Whether a German noun stands here, behind its determiner."""
        if at >= len(self.tokens) or self.tokens[at].gap != " ":
            return False
        token = self.tokens[at]
        return token.is_capital and token.key not in self.function_words

    def is_between(self, at: int) -> bool:
        if at >= len(self.tokens) or self.tokens[at].gap not in (" ", ". "):
            return False
        token = self.tokens[at]
        is_described = (
            self.language == "de" and token.key.endswith(grammar.INFLECTED) and not token.is_capital
        )
        return token.key in grammar.COUNTING or token.key.isdecimal() or is_described

    def is_joined(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].gap in JOINTS and not self.tokens[at].is_first

    def is_name_part(self, at: int) -> bool:
        token = self.tokens[at]
        is_small = token.key in self.small
        return (token.is_capital and not is_small) or token.key.isdecimal()

    def opens(self, at: int) -> bool:
        """Whether a noun may begin here."""
        if at >= len(self.tokens) or self.tokens[at].gap != " " or self.tokens[at].key.isdecimal():
            return False
        return self.tokens[at].key not in self.small

    def extends(self, at: int) -> bool:
        """Whether the word here goes on with the noun before it."""
        if not self.is_joined(at) or self.tokens[at].key in self.small:
            return False
        token = self.tokens[at]
        if self.language == "es":
            return token.is_capital or token.key.endswith(grammar.ADJECTIVE_ENDS)
        return token.is_capital or not (self.is_verb(at) or (self.language == "en" and self.looks_finite(at)))

    def is_verb(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].key in self.verbs

    def looks_finite(self, at: int) -> bool:
        """Whether an English word behind a noun ends as a verb does, and no noun follows."""
        key, after = self.tokens[at].key, self.tokens[at + 1].key if self.is_joined(at + 1) else ""
        is_end = after == "" or after in self.small
        is_done = person_noun(self.tokens[at - 1].key) is not None and key.endswith(("s", "ed"))
        return is_done or (key.endswith("ed") and is_end) or (is_plural(key) and after in self.determiners)

"""Mentions: what the turns of a talk name, as one that reads for a pronoun sees it, in languages with spaces.

Law 1. By tables and order alone: a determiner, a capital, a quote or a preposition opens a phrase, a word of
`grammar` ends it. Law 2. One pass over the words.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import attrs

from umi_sim.model import grammar
from umi_sim.model.names import NAME
from umi_sim.text import WORD, is_upper, lower

PHRASE_WORDS_MAX: Final = 4
JOINTS: Final = (" ", "-", "/", ".")  # a point inside a name, as in v2.3
SENTENCE_END: Final = re.compile(r"[.!?;:\n…¿¡(\[\"“„«—]")


@attrs.frozen
class Token:
    """A word, what stands between it and the one before, and whether it begins a sentence."""

    text: str
    key: str
    start: int
    end: int
    gap: str
    is_capital: bool
    is_first: bool


@attrs.frozen
class Mention:
    """A phrase that a reference may mean.

    `kind` is person, group, place or thing; a `place` may be a thing too. `gender` is m, f, n or empty for
    unknown. `article` tells that the phrase needs one: a name needs none, nor does a phrase that tells whose.
    """

    text: str
    start: int
    end: int
    kind: str
    gender: str = ""
    is_plural: bool = False
    article: bool = False

    @property
    def head(self) -> str:
        return lower(self.text).split(" ")[-1]


def read_tokens(text: str) -> list[Token]:
    found: list[Token] = []
    end = 0
    for match in WORD.finditer(text):
        gap = text[end : match.start()]
        is_first = not found or (gap not in JOINTS and bool(SENTENCE_END.search(gap)))
        word = match[0]
        found.append(Token(word, lower(word), match.start(), match.end(), gap, is_upper(word[0]), is_first))
        end = match.end()
    return found


def mentions(text: str, language: str) -> list[Mention]:
    """What a text mentions, by place."""
    quoted = [match for match in NAME.finditer(text) if not match["run"]]
    found = [Mention(quote_in(match), match.start(), match.end(), "thing") for match in quoted]
    inside = [(match.start(), match.end()) for match in quoted]
    tokens = [
        token
        for token in read_tokens(text)
        if not any(start <= token.start < end for start, end in inside[:20])
    ]
    found += Reader(text, tokens, language).read()
    found.sort(key=lambda mention: (mention.start, mention.end))
    return found + list(pairs(text, found, language))


def quote_in(match: re.Match[str]) -> str:
    return next(part for part in match.groups() if part)


ANDS: Final = {"en": "and", "de": "und", "es": "y"}


def pairs(text: str, found: list[Mention], language: str) -> Iterator[Mention]:
    """Two neighbours with an `and` between them, as one."""
    for left, right in pairwise(found):
        between = lower(text[left.end : right.start]).split() if right.start - left.end < 20 else []
        is_joined = between[:1] == [ANDS[language]] and len(between) <= 2
        if is_joined and all(word in grammar.DETERMINERS[language] for word in between[1:]):
            kind = "group" if "person" in (left.kind, right.kind) else left.kind
            yield Mention(text[left.start : right.end], left.start, right.end, kind, "", True, left.article)


class Reader:
    """One pass over the words of a text."""

    def __init__(self, text: str, tokens: list[Token], language: str) -> None:
        self.text, self.tokens, self.language = text, tokens, language
        self.determiners = grammar.DETERMINERS[language]
        self.articles = grammar.ARTICLES[language]
        self.function_words = grammar.FUNCTION_WORDS[language]
        self.verbs = grammar.VERBS[language]

    def read(self) -> list[Mention]:
        found: list[Mention] = []
        at = 0
        while at < len(self.tokens):
            end, mention = self.phrase_at(at)
            if mention is not None:
                found.append(mention)
            at = max(end, at + 1)
        return found

    def phrase_at(self, at: int) -> tuple[int, Mention | None]:
        """The phrase that begins here, and the place behind it."""
        token = self.tokens[at]
        if self.is_name(at):
            return self.named(at, None)
        if token.key in self.determiners:
            return self.determined(at)
        if token.key in OPENERS or token.key in self.verbs:
            return self.bare(at + 1, token.key in OPENERS)
        return at + 1, None

    # Phrases.

    def named(self, at: int, determiner: Token | None) -> tuple[int, Mention | None]:
        """A run of capitals, with the small words of its noun where the language writes nouns so."""
        end = at + 1
        while end < len(self.tokens) and end - at < PHRASE_WORDS_MAX and self.continues(end, True):
            end += 1
        while end > at + 1 and self.tokens[end - 1].key in self.function_words:
            end -= 1
        kind, gender = self.kind_of(at, end)
        if kind == "thing" and self.language == "en":
            while end < len(self.tokens) and end - at < PHRASE_WORDS_MAX and self.continues(end, False):
                end += 1
            kind, gender = self.kind_of(at, end)
        return end, self.mention(at, end, kind, gender, determiner)

    def determined(self, at: int) -> tuple[int, Mention | None]:
        """A determiner, words that only count or compare, and the noun with what stands before it."""
        start = at + 1
        while start < len(self.tokens) and start - at < 4 and self.tokens[start].key in grammar.COUNTING:
            start += 1
        if self.language == "de":
            while start < len(self.tokens) and start - at < 4 and self.is_adjective(start):
                start += 1
            if start < len(self.tokens) and self.is_name(start, True):
                return self.named(start, self.tokens[at])
            return at + 1, None
        if start >= len(self.tokens) or not self.opens(start):
            return at + 1, None
        end = start + 1
        while end < len(self.tokens) and end - start < PHRASE_WORDS_MAX and self.extends(start, end):
            end += 1
        end = self.with_complement(end)
        kind, gender = self.kind_of(start, end)
        if kind == "person":
            names = [i for i in range(start, end) if self.tokens[i].is_capital and i > start]
            if names and self.is_noun(self.tokens[names[0] - 1].key):
                return end, self.mention(names[0], end, kind, gender, None)
        return end, self.mention(start, end, kind, gender, self.tokens[at])

    def bare(self, at: int, is_open: bool) -> tuple[int, Mention | None]:
        """A noun without determiner behind a preposition, or a plural behind a verb."""
        if self.language == "de" or at >= len(self.tokens) or self.is_name(at):
            return at, None
        end = at
        while (
            end < len(self.tokens) and end - at < PHRASE_WORDS_MAX and self.continues(end, False, end == at)
        ):
            end += 1
        if end == at or not (is_open or is_plural(self.tokens[end - 1].key)):
            return at, None
        kind, gender = self.kind_of(at, end)
        return end, self.mention(at, end, kind, gender, self.tokens[at])

    def mention(self, at: int, end: int, kind: str, gender: str, determiner: Token | None) -> Mention:
        """The words from `at` on as a mention; a determiner that tells whose stays with them."""
        start, stop = self.tokens[at].start, self.tokens[end - 1].end
        head = self.tokens[end - 1].key
        many = kind == "group" or (self.language != "de" and not self.is_proper(at, end) and is_plural(head))
        keeps = determiner is not None and determiner.key not in self.articles and start >= determiner.end
        if determiner is not None and keeps and self.text[determiner.end : start] == " ":
            start = determiner.start
        if self.language == "de" and determiner is not None and not gender:
            gender = grammar.GENDERS.get(determiner.key, "")
        article = (determiner is not None and not keeps and kind != "person") or self.needs_article(
            at, end, kind
        )
        return Mention(
            self.text[start:stop], start, stop, kind, gender, many, article and start >= self.tokens[at].start
        )

    # Words.

    def is_name(self, at: int, after_determiner: bool = False) -> bool:
        """Whether a capital here begins a name; one that begins a sentence must look like no other word."""
        token = self.tokens[at]
        if not token.is_capital or len(token.text) == 1 or token.key in self.function_words:
            return False
        if not token.is_first or after_determiner:
            return True
        if token.key in self.verbs or token.key in self.determiners:
            return False
        follower = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if person_gender(token.key) is not None or token.key in grammar.PLACES or token.key in grammar.TITLES:
            return True
        return (
            follower is not None
            and (
                follower.key in self.verbs | self.function_words
                or follower.is_capital
                or is_possessive(follower)
            )
            and (follower.gap == " " or is_possessive(follower))
        )

    def continues(self, at: int, is_capital: bool, is_start: bool = False) -> bool:
        """Whether the word here goes on with the phrase before it."""
        token = self.tokens[at]
        if (token.gap not in JOINTS and not is_start) or token.key in self.function_words:
            return False
        if token.key in self.verbs or token.key in self.determiners:
            return token.is_capital and is_capital and self.language == "en" and not token.is_first
        return token.is_capital == is_capital or token.text.isdigit()

    def opens(self, at: int) -> bool:
        token = self.tokens[at]
        return token.gap == " " and token.key not in self.function_words and token.key not in self.determiners

    def extends(self, start: int, end: int) -> bool:
        """Whether the word at `end` belongs to the noun phrase that began at `start`."""
        token = self.tokens[end]
        if token.gap not in JOINTS or token.is_first or token.key in self.function_words | self.determiners:
            return False
        if self.language == "es":
            return token.is_capital or token.key.endswith(grammar.ADJECTIVE_ENDS)
        return token.key not in self.verbs or token.is_capital

    def with_complement(self, end: int) -> int:
        """The end of the phrase with `of the X`, `de la X`, once or twice."""
        for _ in range(2):
            at = end
            if at < len(self.tokens) and self.tokens[at].key in grammar.OF[self.language]:
                at += 1
                if at < len(self.tokens) and self.tokens[at].key in self.articles:
                    at += 1
                if at < len(self.tokens) and self.opens(at) and self.tokens[at].key not in self.verbs:
                    end = at + 1
        return end

    def is_adjective(self, at: int) -> bool:
        token = self.tokens[at]
        return not token.is_capital and token.gap == " " and token.key.endswith(grammar.INFLECTED)

    def is_proper(self, at: int, end: int) -> bool:
        return self.language != "de" and self.tokens[end - 1].is_capital

    def needs_article(self, at: int, end: int, kind: str) -> bool:
        return self.language == "en" and kind in ("thing", "place") and not self.is_proper(at, end)

    def is_noun(self, key: str) -> bool:
        return any(key in words for words in grammar.PERSONS.values()) or key in grammar.TITLES

    def kind_of(self, at: int, end: int) -> tuple[str, str]:
        """What a phrase means, by its words and those beside it."""
        keys = [token.key for token in self.tokens[at:end]]
        head = keys[-1]
        genders = [found for key in keys if (found := person_gender(key)) is not None]
        if self.language == "es" and not self.tokens[end - 1].is_capital:
            head = keys[0]
        if head in grammar.GROUPS:
            return "group", ""
        for gender, words in grammar.PERSONS.items():
            if head in words or (keys[0] in words and genders):
                return "person", gender or next(filter(None, genders), "")
        if keys[0] in grammar.TITLES and len(keys) > 1:
            return "person", grammar.TITLES[keys[0]] or next(filter(None, genders), "")
        if genders and self.tokens[end - 1].is_capital and person_gender(keys[0]) is not None:
            return "person", next(filter(None, genders), "")
        if any(key in grammar.PLACES for key in keys) and self.tokens[end - 1].is_capital:
            return "place", ""
        if head in grammar.PLACE_NOUNS:
            return "place", ""
        before = self.tokens[at - 1].key if at else ""
        after = self.tokens[end].key if end < len(self.tokens) else ""
        if all(token.is_capital for token in self.tokens[at:end]) and self.language != "de":
            if after in grammar.SAYING or before in grammar.ADDRESSING:
                return "person", ""
            if before in ("in", "en"):
                return "place", ""
        return "thing", ""


OPENERS: Final = frozenset("about regarding concerning sobre".split())


def person_gender(key: str) -> str | None:
    """The gender of a given name, empty for either; None if the word is none."""
    return next((gender for gender, names in grammar.GIVEN_NAMES.items() if key in names), None)


def is_possessive(token: Token) -> bool:
    return token.key == "s" and token.gap in ("'", "’")


def is_plural(key: str) -> bool:
    return len(key) > 3 and key.endswith("s") and not key.endswith(("ss", "us", "is"))

"""Mentions: what a text names, and how likely a later word means it.

Law 1. What a mention is follows from its words and those beside it. Law 2. In a sentence the thing that it is
about comes first, then the last of the others, and what only tells where or with whom comes last.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.kernel.characters import lower
from umi_sim.services.model import grammar
from umi_sim.services.model.names import name_matches
from umi_sim.services.model.phrases import (
    Phrase,
    Reader,
    Token,
    is_plural,
    person_gender,
    person_noun,
    read_tokens,
)

WIDE_GAP_MAX: Final = 12
PAIR_GAP_MAX: Final = 20
VERB_NEAR_MAX: Final = 5
QUOTE_COUNT_MAX: Final = 20
ANDS: Final = {"en": "and", "de": "und", "es": "y"}
ABOUT, PLAIN, ASIDE = 2, 1, 0  # ranks of a mention in its sentence


@attrs.frozen
class Mention(Data):
    """A phrase that a reference may mean.

    `kind` is person, group, place or thing. `gender` is m, f, n or empty for unknown. `article` tells that
    the phrase needs one: a name needs none, nor what tells whose. `aside` is the preposition before it.
    """

    text: str
    start: int
    end: int
    kind: str
    gender: str = ""
    is_plural: bool = False
    article: bool = False
    aside: str = ""
    rank: int = PLAIN
    sentence: int = 0
    wider: str = ""  # with what is said of it behind: `contract with Acme`


def mentions(text: str, language: str) -> list[Mention]:
    """What a text mentions: the last is what a reference behind the text means first."""
    quotes = [match for match in name_matches(text) if not match["run"]][:QUOTE_COUNT_MAX]
    tokens = [
        token
        for token in read_tokens(text)
        if not any(match.start() <= token.start < match.end() for match in quotes)
    ]
    teller = Teller(text, tokens, language)
    found = [mention for phrase in Reader(tokens, language).read() if (mention := teller.mention(phrase))]
    found += [teller.quote(match) for match in quotes]
    found.sort(key=lambda mention: (mention.start, mention.end))
    found = [*widened(found, text), *pairs(found, text, language)]
    return sorted(found, key=lambda mention: (mention.sentence, mention.rank))


def widened(found: list[Mention], text: str) -> Iterator[Mention]:
    """The mentions, and with each the words up to the end of one that belongs to it."""
    for left, right in pairwise(found):
        is_near = 0 < right.start - left.end < WIDE_GAP_MAX and right.sentence == left.sentence
        yield attrs.evolve(left, wider=text[left.start : right.end]) if right.aside and is_near else left
    yield from found[-1:]


def pairs(found: list[Mention], text: str, language: str) -> Iterator[Mention]:
    """Two neighbours with an `and` between them, as one."""
    for left, outer, inner in zip(found, found[1:], [*found[2:], *found[-1:]], strict=False):
        gap = outer.start - left.end
        between = lower(text[left.end : outer.start]).split() if 0 < gap < PAIR_GAP_MAX else []
        is_joined = between[:1] == [ANDS[language]] and len(between) <= 3
        right = inner if inner.end == outer.end and outer.kind == "person" else outer
        if is_joined and left.kind == right.kind:
            kind = "group" if left.kind == "person" else left.kind
            both = f"{left.text} {ANDS[language]} {right.text}"
            yield attrs.evolve(
                right, text=both, start=left.start, kind=kind, is_plural=True, article=left.article
            )


class Teller:
    """Tells what the phrases of a text are."""

    def __init__(self, text: str, tokens: list[Token], language: str) -> None:
        self.text, self.tokens, self.language = text, tokens, language
        self.sentences: list[int] = []
        self.has_verb: list[bool] = []  # in the sentence, before the word
        number, verb = 0, False
        for token in tokens:
            number, verb = (number + 1, False) if token.is_first else (number, verb)
            self.sentences.append(number)
            self.has_verb.append(verb)
            verb = verb or token.key in grammar.VERBS[language] or token.key in grammar.FINITE[language]

    def quote(self, match: re.Match[str]) -> Mention:
        quoted = next(part for part in match.groups() if part)
        before = [
            n for n, token in zip(self.sentences, self.tokens, strict=True) if token.start < match.start()
        ]
        return Mention(quoted, match.start(), match.end(), "thing", sentence=max(before, default=1))

    def mention(self, phrase: Phrase) -> Mention | None:
        """The phrase as a mention; None if it only counts something."""
        words = self.tokens[phrase.start : phrase.end]
        if words[0].text[0].isdecimal():
            return None
        kind, gender = self.kind_of(phrase)
        determiner = self.tokens[phrase.determiner] if phrase.determiner is not None else None
        keeps = determiner is not None and determiner.key not in grammar.ARTICLES[self.language]
        is_beside = determiner is not None and keeps and phrase.determiner == phrase.start - 1
        first = determiner if determiner is not None and is_beside else words[0]
        head = words[0].key if self.language == "es" else words[-1].key
        contracted = determiner.key if determiner is not None else ""
        asides = grammar.ASIDES[self.language]
        aside = next((key for key in (self.before(phrase), contracted) if key in asides), "")
        return Mention(
            self.text[first.start : words[-1].end],
            words[0].start,
            words[-1].end,
            kind,
            gender or self.gender_of(words[-1].key, contracted),
            kind == "group" or self.is_many(phrase, head),
            not keeps and self.needs_article(phrase),
            aside,
            self.rank_of(phrase, kind, aside),
            self.sentences[phrase.start],
        )

    def is_many(self, phrase: Phrase, head: str) -> bool:
        """Whether the noun ends as a plural does; in German, whether a verb behind it is one."""
        if self.language != "de":
            return not self.tokens[phrase.end - 1].is_capital and is_plural(head)
        behind = self.tokens[phrase.end : phrase.end + VERB_NEAR_MAX]
        return self.of_many(phrase) and any(token.key in grammar.PLURAL_VERBS for token in behind)

    def of_many(self, phrase: Phrase) -> bool:
        return phrase.determiner is not None and self.tokens[phrase.determiner].key in (
            "die",
            "meine",
            "unsere",
        )

    def rank_of(self, phrase: Phrase, kind: str, aside: str) -> int:
        """How much the sentence is about it: a thing before any verb, unless it has a name or acts."""
        is_named = self.tokens[phrase.end - 1].is_capital and self.language != "de"
        is_agent = any(token.key in grammar.AGENTIVE for token in self.tokens[phrase.end : phrase.end + 1])
        is_predicate = (
            kind == "person"
            and phrase.determiner is not None
            and self.tokens[phrase.determiner].key in grammar.INDEFINITE
            and self.before(phrase) in grammar.FINITE[self.language]
        )
        if aside or is_predicate or (is_agent and kind != "person"):
            return ASIDE
        if kind not in ("thing", "place") or (is_named and phrase.determiner is None):
            return PLAIN
        return PLAIN if self.has_verb[phrase.start] else ABOUT

    def has_the(self, phrase: Phrase) -> bool:
        return phrase.determiner is not None and self.tokens[phrase.determiner].key == "the"

    def before(self, phrase: Phrase) -> str:
        at = phrase.start if phrase.determiner is None else phrase.determiner
        return self.tokens[at - 1].key if at and not self.tokens[at].is_first else ""

    def needs_article(self, phrase: Phrase) -> bool:
        """Whether the phrase is a noun and no name."""
        last = self.tokens[phrase.end - 1]
        if any(self.is_whose(at) for at in range(phrase.start, phrase.end)):
            return False
        if self.language == "de":
            return phrase.determiner is not None and person_gender(last.key) is None
        return not last.is_capital and not (self.language == "es" and self.tokens[phrase.start].is_capital)

    def is_whose(self, at: int) -> bool:
        return self.tokens[at].key == "s" and self.tokens[at].gap in ("'", "’")

    def gender_of(self, head: str, determiner: str) -> str:
        """The gender of a German noun, by its end, else by its determiner."""
        if self.language != "de":
            return ""
        found = (gender for ends, gender in grammar.NOUN_ENDS if head.endswith(ends))
        return next(found, grammar.GENDERS.get(determiner, ""))

    def kind_of(self, phrase: Phrase) -> tuple[str, str]:
        """What a phrase means, by its words and those beside it; for a person with the gender."""
        words = self.tokens[phrase.start : phrase.end]
        first, head = words[0], words[-1]
        if self.language == "es" and not first.is_capital:
            head = first
        names = [
            found for word in words if word.is_capital and (found := person_gender(word.key)) is not None
        ]
        if any(self.is_whose(at) for at in range(phrase.start, phrase.end)):
            names = []
        noun = person_noun(head.key)
        is_family = self.language == "en" and head.is_capital and is_plural(head.key) and self.has_the(phrase)
        is_of = len(words) > 1 and words[1].is_capital and first.key in grammar.GROUPS
        if head.key in grammar.GROUPS or is_family or is_of:
            return "group", ""
        if noun is not None:
            return "person", noun or next(filter(None, names), "")
        if len(words) > 1 and words[1].is_capital and not self.is_whose(phrase.start + 1):
            noun = (
                person_noun(first.key)
                if person_noun(first.key) is not None
                else grammar.TITLES.get(first.key)
            )
            if noun is not None:
                return "person", noun or next(filter(None, names), "")
        before = self.tokens[phrase.start - 1] if phrase.start else first
        if first.is_capital and first.gap == " " and (known := person_noun(before.key)) is not None:
            return "person", known or next(filter(None, names), "")
        if names and head.is_capital and person_gender(first.key) is not None:
            return "person", next(filter(None, names), "")
        if head.key in grammar.PLACE_NOUNS or (
            head.is_capital and any(w.key in grammar.PLACES for w in words)
        ):
            return "place", ""
        if all(word.is_capital for word in words) and self.language != "de":
            after = self.tokens[phrase.end].key if phrase.end < len(self.tokens) else ""
            is_told = after in grammar.SAYING or (self.language == "es" and after.endswith("ó"))
            if is_told or self.before(phrase) in grammar.ADDRESSING:
                return "person", ""
            if self.before(phrase) in ("in", "en"):
                return "place", ""
        return "thing", ""

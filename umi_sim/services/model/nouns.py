"""Nouns: the nouns of the cast in a text with spaces, with their adjectives and owners."""

from collections.abc import Iterator
from typing import Final

from umi_core.data import Data
from umi_sim.kernel.characters import is_upper, lower, word_matches
from umi_sim.services.model.cast import known_nouns
from umi_sim.services.model.languages import SMALL

DESCRIBING_MAX: Final = 2  # words between a determiner and its noun
DETERMINERS: Final = frozenset(
    "a an the this that these those his her their its another some two three der die das den dem des ein "
    "eine einen einem einer dieser diese dieses diesen diesem sein seine seinen seinem seiner ihr ihre ihren "
    "ihrem ihrer im am zum zur vom beim ins el la los las un una unos unas este esta ese esa al del".split()
)
OWN: Final = frozenset(
    "my our your mein meine meinen meinem meiner unser unsere unseren unserem unserer dein deine mi mis "
    "nuestro nuestra nuestros nuestras tu tus".split()
)
BEING: Final = ("is", "was", "am", "ist", "war", "es", "era")
A: Final = ("a", "an", "ein", "eine", "un", "una")
PLURALS: Final = {"person": "group", "place": "things", "thing": "things"}


class Antecedent(Data):
    """A phrase to which a later word may refer.

    `kind`: person, group, place, city (a place by name), thing or things; `other` and `unknown` for names and
    nouns without a known kind; no word refers to any other kind.
    `gender`: m, f, n, or empty for any. `has_article`: it needs an article, as a noun without an owner does.
    """

    text: str
    start: int
    end: int
    kind: str
    gender: str = ""
    has_article: bool = False


class Token(Data):
    """A word with its lower-case form, `key`. Separators other than blanks and hyphens have an empty key."""

    text: str
    start: int
    end: int
    key: str


def read_words(text: str) -> list[Token]:
    found = [Token("", 0, 0, "")]
    for match in word_matches(text):
        if text[found[-1].end : match.start()] not in (" ", "-"):
            found.append(Token("", match.start(), match.start(), ""))
        found.append(Token(match[0], match.start(), match.end(), lower(match[0])))
    return [*found, Token("", len(text), len(text), "")]


def noun_of(word: str, language: str) -> tuple[str, str] | None:
    """Return kind and gender of a noun of the cast, or of its plural; a German noun must have a capital."""
    known, key = known_nouns(language), word if language == "de" else lower(word)
    if key in known or language == "de":
        return known.get(key)
    kind, gender = known.get(key.removesuffix("s")) or known.get(key.removesuffix("es")) or ("", "")
    return (PLURALS[kind], gender) if kind in PLURALS else None


def noun_phrases(text: str, language: str) -> Iterator[Antecedent]:
    words = read_words(text)
    for at, word in enumerate(words[:-1]):
        noun = noun_of(word.text, language)
        if noun is None and is_unknown(words, at, language):
            yield Antecedent(word.text, word.start, word.end, "unknown")
        if noun is None or (language == "en" and noun_of(words[at + 1].text, language)):
            continue  # the last word is the noun: `design document`
        found = phrase_at(words, at, noun[0], SMALL[language])
        if found is not None:
            start, has_article = found
            yield Antecedent(text[start : word.end], start, word.end, *noun, has_article)


def is_unknown(words: list[Token], at: int, language: str) -> bool:
    """Check whether a noun that is not in the cast begins here: `the lounge`, but not `the old hotel`."""
    word, before = words[at], words[at - 1].key
    if before not in DETERMINERS | OWN or word.key in ("", *SMALL[language]) or word.key[0].isdecimal():
        return False
    behind = words[at + 1 : at + 1 + DESCRIBING_MAX]
    is_noun = is_upper(word.text[0]) == (language == "de")
    return is_noun and not any(noun_of(it.text, language) for it in behind)


def phrase_at(words: list[Token], at: int, kind: str, small: frozenset[str]) -> tuple[int, bool] | None:
    """Return the start of a noun's phrase, and whether it needs an article; None if it is no antecedent."""
    first, is_person = at, kind in ("person", "group")
    while at - first < DESCRIBING_MAX and words[first - 1].key not in small and words[first - 1].key:
        first -= 1
    before = words[first - 1].key
    if before == "s" and first > 2 and words[first - 3].key not in small:
        return words[first - 3].start, False  # `Daniel's mother`
    if before in OWN:
        return words[first - 1].start, False
    if before in DETERMINERS:
        is_predicate = is_person and before in A and words[first - 2].key in BEING  # `Jack is a nurse`
        return None if is_predicate else (words[first].start, True)
    is_name = is_person and is_upper(words[at].text[0])  # `Grandma`
    return (words[at].start, False) if is_name else None

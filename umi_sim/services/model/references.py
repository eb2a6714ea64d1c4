"""References: the words of a query that refer to something in earlier turns, and the kinds that fit each.

Law 1. The table and the neighbouring words decide. A word that only looks like a reference (`that` before a
sentence, `it` of the weather, `there is`) is none.
Law 2. Only words of the query's language count: Spanish `he` is no pronoun.
"""

import re
from collections.abc import Iterator
from typing import Final

from umi_core.data import Data
from umi_sim.kernel.characters import is_upper, lower
from umi_sim.services.model.cast import known_nouns
from umi_sim.services.model.languages import SMALL
from umi_sim.services.model.nouns import DETERMINERS, OWN, Token, noun_of, read_words

# Each row has: the kinds that fit, the best first, with a gender if it matters; the form of the replacement;
# the words. A form is 's, de, `place`, `that` (a noun may follow), a German case (`da`: with a preposition),
# or empty.
ROWS: Final = {
    "en": (
        ("person m", "", "he him himself"), ("person m", "'s", "his"),
        ("person f", "", "she her herself"), ("person f", "'s", "hers"),
        ("thing, place", "", "it itself"), ("thing, place", "'s", "its"), ("thing", "that", "this that"),
        ("group, things", "", "they them themselves"), ("group", "'s", "their theirs"),
        ("things, group", "that", "these those"), ("place, city", "place", "here there"),
    ),
    "de": (
        ("person m, thing m", "nom", "er"), ("person m, thing m", "acc", "ihn"), ("person m", "dat", "ihm"),
        ("person f, thing f", "nom", "sie"), ("person f", "dat", "ihr"), ("group", "dat", "ihnen"),
        ("person m", "'s", "sein seine seinen seinem seiner seines"),
        ("group, person f", "'s", "ihre ihren ihrem ihrer ihres"),
        ("place, city", "place", "dort dorthin dahin"),
        ("thing", "that", "dies diese dieser dieses diesen diesem"),
        ("thing, place, other", "da acc", "darüber dafür darauf dagegen"),
        ("thing, place, other", "da dat", "davon dazu daran damit dabei danach darin daraus"),
    ),
    "es": (
        ("person m", "", "él"), ("person f", "", "ella"), ("group", "", "ellos ellas"),
        ("group, person", "de", "su sus"), ("place, city", "place", "ahí allí allá"),
        ("thing", "", "esto eso aquello"), ("thing", "that", "este esta ese esa aquel aquella"),
        ("things", "that", "estos estas esos esas"),
    ),
}  # fmt: skip
TERMS: Final = {
    language: {
        term: (tuple(wants.split(", ")), form) for wants, form, terms in rows for term in terms.split()
    }
    for language, rows in ROWS.items()
}
BEFORE_THAT: Final = frozenset("is was are does did do can will would could should about of with for".split())
BEHIND_THAT: Final = DETERMINERS | OWN | {"why", "how", "what", "because"}
# A word inside one of these phrases is no reference.
EMPTY: Final = re.compile(
    r"there(?:'s| is| are| was| were)\b|\b(?:is|are|was|were) there\b|\bthat's\b|\blike that\b|\bist es\b"
    r"|\b(?:(?:is|was|be|feel) it|it(?:'s| is| was| feels)?)(?: \w+){0,2} (?:to|that|how|when|if)\b"
    r"|\b(?:is|was|'s) it (?:like|going|been)\b|\bit(?:'s| has) been\b|\bit (?:feel|to be|takes?)\b"
    r"|\b(?:will|would) it (?:take|be)\b|\bit(?: \w+)? (?:rain|snow)\w*|\b(?:make|made) it\b"
    r"|\bthat means?\b|\bit a lot\b|\bit far\b|, \w+n't (?:it|he|she|they)\b",
    re.ASCII,
)
CHINESE: Final = re.compile(
    "其他|其它|吉他|(?P<group>他们|她们)|(?P<things>它们)|(?P<m>他)|(?P<f>她)|(?P<thing>它|这件事|那件事)"
    "|(?P<place>这里|那里|那儿|这儿)|(?P<that>这个|那个|这些|那些|[这那](?=[台份家本辆部次]))"
)
CHINESE_WANTS: Final = {
    "group": ("group",), "things": ("things", "thing"), "m": ("person m",), "f": ("person f",),
    "thing": ("thing",), "place": ("place", "city"), "that": ("thing",),
}  # fmt: skip


class Reference(Data):
    """A place of the query to fill: the kinds that fit, and the form of the replacement.

    `noun` is the word after a demonstrative, if there is one: `that bug` refers to a bug.
    """

    start: int
    end: int
    wants: tuple[str, ...]
    form: str = ""
    noun: str = ""


def references(query: str, language: str) -> Iterator[Reference]:
    """Yield the references of a query in order of their place."""
    if language == "zh":
        yield from in_chinese(query)
        return
    words = read_words(query)
    empty = [match.span() for match in EMPTY.finditer(lower(query))]
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        is_empty = any(start <= word.start < end for start, end in empty)
        found = (
            None if is_empty or word.key not in TERMS[language] else read_term(before, word, after, language)
        )
        if found is not None:
            yield found


def read_term(before: Token, word: Token, after: Token, language: str) -> Reference | None:
    """Return the reference made by a term, given its neighbours; None if it refers to nothing."""
    wants, form = TERMS[language][word.key]
    is_noun = bool(after.key) and after.key not in SMALL[language]
    is_noun = is_noun and (language != "de" or is_upper(after.text[0]))
    if form == "that" and is_noun and noun_of(after.text, language):
        return Reference(word.start, after.end, wants, form, after.key)
    if form == "that" and not points(before.key, word.key, after.key, is_noun):
        return None
    if language == "de" and before.key and is_upper(word.text[0]):
        return None  # the polite form of address, as in `Sie`
    if form == "de":
        return Reference(word.start, after.end, wants, form) if is_noun else None
    if word.key in ("her", "ihr") and is_noun:
        wants, form = wants if word.key == "her" else ("group", *wants), "'s"
    elif word.key == "sie" and before.key.endswith("en"):
        wants = ("group", "things")
    preposition = word.key[2:].lstrip("r")  # `darauf` contains `auf`
    return Reference(word.start, word.end, wants, form.replace("da ", f"{preposition} "))


def points(before: str, key: str, after: str, is_noun: bool) -> bool:
    """Check whether a demonstrative without a noun of the cast is a reference, for example at an end."""
    if key == "that" and before in BEFORE_THAT:
        return is_noun or after not in BEHIND_THAT
    return not after or (before in BEFORE_THAT and not is_noun)


def in_chinese(query: str) -> Iterator[Reference]:
    for match in CHINESE.finditer(query):
        kind, end = match.lastgroup, match.end()
        if kind is not None:
            nouns = known_nouns("zh") if kind == "that" else ()
            noun = next((noun for noun in nouns if query.startswith(noun, end)), "")
            yield Reference(match.start(), end + len(noun), CHINESE_WANTS[kind], noun=noun)

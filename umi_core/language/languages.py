"""Languages: detecting the language of a query by its small words, and splitting it into written words.

Law 1. Total: the language of a text is "" if it is unknown here. Law 2. A word that may be a name is no mark
of a language: capitalized words count only at the start of a sentence, and if no name is spelt so.
Law 3. The tables are frozen: a changed word changes recorded runs.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from umi_core.data import Data
from umi_core.language.tables import IRREGULAR_ROWS, MARKS, MAYBE_NAMES
from umi_core.language.words import word_matches
from umi_core.text import is_capital


class WrittenWord(Data):
    """A word as it is compared (`text`), and as it was written, with the part after its apostrophe.

    `opens`: it begins a sentence. `is_joined`: only blanks or a hyphen separate it from the word before.
    """

    text: str
    written: str
    opens: bool
    is_joined: bool
    is_tied: bool = False  # by a hyphen, as the last word of `vend-il` is

    @property
    def is_capital(self) -> bool:
        return is_capital(self.written[0])


# French words that lose their vowel: `l'a-t-elle` is `l` and `a`, while `Sheila's` is one word.
ELIDED: Final = frozenset("l d j m t s n c qu jusqu lorsqu puisqu".split())
OPENING: Final = re.compile('[.!?…:;¿¡"“”„«»()—–\n]')  # a sentence begins after one of these
APOSTROPHE: Final = re.compile("['’]")
JOINT: Final = re.compile(r"\s*|-")


ENCLITIC: Final = re.compile("(.*(?:[aeiáéí]r|ndo))((?:[mt]e|nos|se)?)(l[aoe]s?)")


def split_enclitics(written: tuple[WrittenWord, ...]) -> tuple[WrittenWord, ...]:
    """Return Spanish words with pronouns split off verbs: `cambiarla` becomes `cambiar` and `la`."""
    return tuple(part for word in written for part in split_word(word))


def split_word(word: WrittenWord) -> Iterator[WrittenWord]:
    match = None if word.is_capital or word.text in NO_ENCLITICS else ENCLITIC.fullmatch(word.text)
    if match is None:
        yield word
        return
    verb = match[1].translate(UNSTRESSED)
    yield WrittenWord(verb, verb, word.opens, word.is_joined)
    yield from (WrittenWord(it, it, False, True, True) for it in (match[2], match[3]) if it)


UNSTRESSED: Final = str.maketrans("áéí", "aei")
NO_ENCLITICS: Final = frozenset("charla charlas perla perlas burla burlas".split())


@lru_cache(maxsize=64)  # the turns are split again for each word that may be an antecedent
def written_words(text: str) -> tuple[WrittenWord, ...]:
    return tuple(each_word(text))


def each_word(text: str) -> Iterator[WrittenWord]:
    end = 0
    for match in word_matches(text):
        gap = match.string[end : match.start()]
        is_first = end == 0
        opens = is_first or bool(OPENING.search(gap))
        joint, is_tied = not is_first and bool(JOINT.fullmatch(gap)), not is_first and gap == "-"
        text, written = match[1].casefold(), match[0]
        if text in ELIDED and len(text) < len(written):
            yield WrittenWord(
                text, written[: len(text)], opens, joint and not is_first, is_tied and not is_first
            )
            opens, joint, is_first, is_tied = False, True, False, False
            written = written[len(text) + 1 :]
            text = APOSTROPHE.split(written)[0].casefold()
        yield WrittenWord(text, written, opens, joint, is_tied)
        end = match.end()


def language_of(text: str, written: tuple[WrittenWord, ...]) -> str:
    """Return the language with most marks in a text, English if tied; "" without any mark."""
    if "¿" in text or "¡" in text:
        return "es"
    # `Ella` of "Wo ist Ella?" is a name and no mark of Spanish.
    known = [word.text for word in written if not word.is_capital or (word.opens and is_sure(word.text))]
    counts = {language: sum(word in marks for word in known) for language, marks in MARKS.items()}
    most = max(counts.values())
    # If several languages have as many, the first of MARKS wins; English is the first.
    return next(language for language, count in counts.items() if count == most) if most else ""


def is_sure(word: str) -> bool:
    """Check whether a capitalized word is still a mark: `Wann`, but not `Ella`, `Su` or `Er`."""
    return word not in MAYBE_NAMES


# Forms of a word. The table is frozen: a changed ending changes recorded runs.

STEM_CHARS_MIN: Final = 3
ENDINGS: Final = {
    "en": "ies ing ed es s e y".split(),
    "de": "en em er es e n s".split(),
    "es": "ados ado ada ido ida os as es o ó a s e n ar er ir".split(),
    "fr": "es e s x".split(),
}
IRREGULAR: Final = {
    (language, form): base
    for language, row in IRREGULAR_ROWS
    for base, *forms in (group.split() for group in row.split(","))
    for form in forms
}


def stem(word: str, language: str) -> str:
    """Return the word without its endings. Words with equal stems count as forms of one word."""
    word = IRREGULAR.get((language, word), word)
    # `raise`, `raised`, `raises` and `raising` all become `rai`.
    endings = ENDINGS.get(language, ())
    while found := next((it for it in endings if word.endswith(it)), ""):
        if len(word) - len(found) < STEM_CHARS_MIN:
            break
        word = word.removesuffix(found)
    return word

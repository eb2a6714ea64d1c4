"""Terms: what a search compares instead of words, so that a text is found however it is written.

A rewrite must keep every accent of a name, so `words` keeps them too. A search must find the name by
whatever a keyboard has. So a term has lost case, width and accents, and English terms are stemmed:

    Zoë's cafés        zoe cafe
    ＡＢＣ１２３        abc123
    दिल्ली में           दिल्ली में        a vowel sign belongs to its letter
    住在上海            住 在 上 海 住在 在上 上海
    🎉 🇩🇪              🎉 🇩🇪

Law 1. Total and pure: any text has terms, the same on every machine.
Law 2. Every term of a query is a term of a text that has the same characters in the same order.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from umi_core.characters import LATER
from umi_core.language.tables import DENSE_SCRIPTS, FLAG_HALVES, FOLDED_CHARACTERS, SELECTORS
from umi_core.language.words import content
from umi_core.text import of_known

FOLDED: Final = str.maketrans(FOLDED_CHARACTERS)
ASCII_RUN: Final = re.compile("[0-9a-z]+(?:'[0-9a-z]+)*")
RUN: Final = re.compile("[wm]+(?:'[wm]+)*|(?:dm*)+|ff|[fs]")  # of what `classify` gives
CLUSTER: Final = re.compile("dm*")
PIECE_CHARS_MIN: Final = 3
STEM_COUNT_MAX: Final = 65_536
CHARACTER_COUNT_MAX: Final = 16_384

Ranges = tuple[tuple[int, int], ...]


def split_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text that is searched, with repeats.

    Each character of a script without spaces is a term, and so is each pair of neighbours.
    """
    return tuple(map(stem_term, split_folded(text, with_single=True)))


def split_query(text: str) -> tuple[str, ...]:
    """Return the distinct terms that a query asks for: without stop words, unless it has nothing else.

    A script without spaces is searched by pairs of characters, or by a character that stands alone.
    """
    # Pairs alone: a single character of Chinese stands in most texts, a pair of them hardly ever by chance.
    asked = tuple(split_folded(text, with_single=False))
    return tuple(dict.fromkeys(map(stem_term, content(asked) or asked)))


def split_folded(text: str, with_single: bool) -> Iterator[str]:
    """Yield the terms of a text before they are stemmed."""
    if text.isascii():
        for match in ASCII_RUN.finditer(text.lower()):
            yield from split_pieces(match[0])
        return
    folded = of_known(fold_characters, text)
    classes = "".join(map(classify, folded))
    for match in RUN.finditer(classes):
        run = folded[slice(*match.span())]
        if match[0][0] == "d":
            yield from pair_characters(run, match[0], with_single)
        else:
            yield from split_pieces(run)


def split_pieces(run: str) -> Iterator[str]:
    """Yield what stands between apostrophes, and is long enough not to be an ending: `o'brien`, `l'école`.

    If nothing is, what stands before the first apostrophe: `it's`.
    """
    pieces = run.split("'")
    yield from [piece for piece in pieces if len(piece) >= PIECE_CHARS_MIN] or pieces[:1]


def pair_characters(run: str, classes: str, with_single: bool) -> Iterator[str]:
    """Yield each pair of neighbours, a letter with its marks being one; a letter without one is itself."""
    clusters = [run[slice(*match.span())] for match in CLUSTER.finditer(classes)]
    if with_single or len(clusters) == 1:
        yield from clusters
    for first, second in pairwise(clusters):
        yield first + second


@lru_cache(maxsize=STEM_COUNT_MAX)
def stem_term(term: str) -> str:
    """Return the English stem of a term in plain letters, and any other term as it is."""
    if not (term.isascii() and term.isalpha()):
        return term
    from snowballstemmer.english_stemmer import (  # type: ignore[import-untyped]  # some 30 ms: when needed
        EnglishStemmer,
    )

    stem: str = EnglishStemmer().stemWord(term)  # it is never shared: it keeps the word that it works on
    return stem


# Characters.


def fold_characters(text: str) -> str:
    """Return a text without case, width, accents and what is not seen; letters keep their other marks."""
    spread = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", "".join(map(keep_character, spread)).translate(FOLDED))


@lru_cache(maxsize=CHARACTER_COUNT_MAX)
def keep_character(char: str) -> str:
    """Return a character, or nothing for an accent, an enclosing mark or a format character.

    Accents are known by their combining class: overlays (1), the points of Hebrew, Arabic and Syriac (10 to
    36), and all that stands at a side of its letter (200 and more). Vowel signs of other scripts, viramas
    and nuktas have other classes.
    """
    order = unicodedata.combining(char)
    is_accent = order == 1 or 10 <= order <= 36 or order >= 200
    is_unseen = unicodedata.category(char) in ("Cf", "Me") or is_within(char, SELECTORS)
    return "" if is_accent or is_unseen else char


@lru_cache(maxsize=CHARACTER_COUNT_MAX)
def classify(char: str) -> str:
    """Return w for a letter or digit, d for one of a script without spaces, m for a mark, f for half a flag,
    s for another symbol or a character that Unicode 14 does not know, ' for itself and a space for the rest.
    """
    if is_within(char, LATER):
        return "s"
    if is_within(char, FLAG_HALVES):
        return "f"
    category = unicodedata.category(char)
    if category[0] in "LN":
        return "d" if is_within(char, DENSE_SCRIPTS) else "w"
    return {"Mn": "m", "Mc": "m", "So": "s"}.get(category, "'" if char == "'" else " ")


def is_within(char: str, ranges: Ranges) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)

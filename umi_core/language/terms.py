"""Terms: the units that a search compares, so that spelling variants of a word match.

`words` keeps accents, because a rewrite must keep every accent of a name. A search must find a name typed
without them. So terms have no case, width or accents, and English terms are stemmed:

    Zoë's cafés        zoe cafe
    ＡＢＣ１２３        abc123
    दिल्ली में           दिल्ली में        vowel signs are kept
    住在上海            住 在 上 海 住在 在上 上海
    🎉 🇩🇪              🎉 🇩🇪

Law 1. Total and pure: any text can be split, with the same result on every machine.
Law 2. A text equal to a query has every term of the query.
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
from umi_core.text import of_known, size, without_later

FOLDED: Final = str.maketrans(FOLDED_CHARACTERS)
ASCII_RUN: Final = re.compile("[0-9a-z]+(?:'[0-9a-z]+)*")
RUN: Final = re.compile("[wm]+(?:'[wm]+)*|(?:dm*)+|ff|[fs]")  # of what `classify` gives
CLUSTER: Final = re.compile("dm*")
PIECE_CHARS_MIN: Final = 3
STEM_COUNT_MAX: Final = 65_536
CHARACTER_COUNT_MAX: Final = 16_384

Ranges = tuple[tuple[int, int], ...]


def split_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a stored text, with repeats.

    In a script without spaces each character is a term, and so is each pair of adjacent characters.
    """
    return tuple(map(stem_term, split_folded(text, with_single=True)))


def split_query(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a query, without stop words unless it has nothing else.

    In a script without spaces the terms are pairs of characters; a run of one character is itself a term.
    """
    # Pairs only: most texts have a given common character of Chinese, but few have a given pair by chance.
    asked = tuple(split_folded(text, with_single=False))
    return tuple(dict.fromkeys(map(stem_term, content(asked) or asked)))


def split_folded(text: str, with_single: bool) -> Iterator[str]:
    """Yield the terms of a text before stemming; `with_single`: also single characters of dense scripts."""
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
    """Yield the parts between apostrophes that are not short like endings: `brien` of `o'brien`.

    If all of them are short, yield only the part before the first apostrophe: `it` of `it's`.
    """
    pieces = run.split("'")
    yield from [piece for piece in pieces if len(piece) >= PIECE_CHARS_MIN] or pieces[:1]


def pair_characters(run: str, classes: str, with_single: bool) -> Iterator[str]:
    """Yield each pair of adjacent letters, with their marks; a letter without a neighbour alone."""
    clusters = [run[slice(*match.span())] for match in CLUSTER.finditer(classes)]
    if with_single or len(clusters) == 1:
        yield from clusters
    for first, second in pairwise(clusters):
        yield first + second


# Other spellings of the parts of a query (M12.17): a stored text has one spelling, so a query has several.

HIRAGANA: Final = range(0x3041, 0x3097)
KANA: Final = {it: it + 96 for it in HIRAGANA} | {it + 96: it for it in HIRAGANA}
SPELLINGS: Final = (  # a part of a query, what is replaced in it, and by what
    (r"\b[^\W\d]++(?:[-\u2010\u2011][^\W\d]++)+", r"\W", ""),  # co-op: coop
    (r"\b(?:[^\W\d]\.){2,}\w?", r"\W", ""),  # U.S.A.: USA
    (r"\b\d{1,3}(?:[.,' ]\d{3})+\b", r"\D", ""),  # 12,500: 12500
    # IdaMarie: Ida Marie, PhD: Ph D, Gate77: Gate 77
    (r"\b[A-Za-z]+[A-Z0-9]\w*", r"(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z])(?!^)|(?<=[A-Za-z]{2})(?=\d)", " "),
    (r"\b[A-Z]{2,4}\b", "(?!^|$)", " "),  # USA: U S A
    (r"\b\d{5,9}\b", r"(?!^)(?=(?:\d{3})+$)", " "),  # 98765: 98 765
    ("\\b\u0627\u0644[\u0621-\u064a]{3,}", "^\u0627\u0644", ""),  # without the article of Arabic
    ("^[\u3041-\u3096\u30fc ]+$|^[\u30a1-\u30f6\u30fc ]+$", "(?s:.+)", lambda it: it[0].translate(KANA)),
)


def list_spellings(query: str, bytes_max: int) -> tuple[str, ...]:
    """Return the query with other spellings of its parts behind it: `Gate 77 coop` for `Gate77 co-op`."""
    known = without_later(query)
    found = ((it[0], old, new) for part, old, new in SPELLINGS for it in re.finditer(part, known))
    others = (other for part, old, new in found if (other := re.sub(old, new, part)) != part)
    text = " ".join(dict.fromkeys((query, *others)))
    return (text,) if text != query and size(text) <= bytes_max else ()


@lru_cache(maxsize=STEM_COUNT_MAX)
def stem_term(term: str) -> str:
    """Return the English stem of a term of ASCII letters, and any other term unchanged."""
    if not (term.isascii() and term.isalpha()):
        return term
    from snowballstemmer.english_stemmer import (  # type: ignore[import-untyped]  # some 30 ms: when needed
        EnglishStemmer,
    )

    stem: str = EnglishStemmer().stemWord(term)  # it is never shared: it keeps the word that it works on
    return stem


# Characters.


def fold_characters(text: str) -> str:
    """Return a text without case, width, accents and invisible characters; letters keep their other marks."""
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
    """Return the class of a character: w a letter or digit, d one of a script without spaces, m a mark.

    Also f half of a flag, s another symbol or a character newer than Unicode 14, ' itself, a blank the rest.
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

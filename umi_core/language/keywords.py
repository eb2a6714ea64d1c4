"""Keywords: the most frequent words of texts, and names for groups of texts that are made of them.

Law 1. Pure and total, and independent of the order of the texts.
Law 2. If a model names a group, only the key words of its reply count. A reply without any is no name.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Final, Literal

from umi_core.data import Data
from umi_core.json_text import whole
from umi_core.language.rewriting import clean_line
from umi_core.language.tables import NO_KEYWORDS, TECHNICAL
from umi_core.language.tagged import REFUSAL, read_tagged
from umi_core.limits import KEYWORD_COUNT_MAX, REPLY_BYTES_MAX, SUBCATEGORY_NAME_BYTES_MAX
from umi_core.text import compose_text, cut, norm, size, without_later

ASCII_LENGTH_MIN: Final = 3
LENGTH_MIN: Final = 2
NAMING_KEYWORD_COUNT: Final = 3


class Unnamed(Data):
    """A reply without a name."""

    reason: Literal["too_long", "no_word"]


def key_words(text: str) -> list[str]:
    """Return the words of a text that may be keywords, in order."""
    folded = compose_text(without_later(text)).casefold()
    runs = ("".join(chars) for is_word, chars in groupby(folded, is_of_word) if is_word)
    return [run for run in runs if is_key_word(run)]


def is_of_word(char: str) -> bool:
    # Marks belong to words, because Hindi writes vowels as marks. Underscores join words: `go_lang`.
    return char == "_" or unicodedata.category(char) in ("Nd",) or unicodedata.category(char)[0] in "LM"


def is_key_word(run: str) -> bool:
    if unicodedata.category(run[0]) == "Nd" or run in NO_KEYWORDS or not run.strip("_"):
        return False
    # Two characters of Chinese are often a word, two of English rarely: TECHNICAL has `ci` and `go`.
    return run in TECHNICAL or len(run) >= (ASCII_LENGTH_MIN if run.isascii() else LENGTH_MIN)


def keywords(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the most frequent words of all texts, technical words counted twice, ties in word order."""
    counts = Counter(word for text in texts for word in key_words(text))
    weights = {word: count * (2 if word in TECHNICAL else 1) for word, count in counts.items()}
    return tuple(sorted(weights, key=lambda word: (-weights[word], word))[:KEYWORD_COUNT_MAX])


def parse_name(reply: str) -> str | Unnamed:
    """Return the key words of the first non-blank line, joined by underscores."""
    text = whole(reply)
    if size(text) > REPLY_BYTES_MAX:
        return Unnamed("too_long")
    named = read_tagged(text, ("name",)).get("name", text)
    line = re.sub(r"[^:]*\bname\b[^:]*:", "", clean_line(named), count=1, flags=re.IGNORECASE)
    words = [] if REFUSAL.match(text) else key_words(line)
    return cut("_".join(words), SUBCATEGORY_NAME_BYTES_MAX) if words else Unnamed("no_word")


def name_of(words: Collection[str], founder_id: str) -> str:
    """Return a name that is made of the first keywords, or of the founder's id if there are none."""
    first = cut("_".join(tuple(words)[:NAMING_KEYWORD_COUNT]), SUBCATEGORY_NAME_BYTES_MAX)
    return first or f"group_{founder_id[-8:]}"


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return the name, with a number if it is taken; `taken`: the normed names of the category."""
    if norm(wanted) not in taken:
        return wanted
    # Of len(taken) + 1 numbered names at least one is free.
    return next(name for n in range(1, len(taken) + 2) if norm(name := f"{wanted}-{n}") not in taken)

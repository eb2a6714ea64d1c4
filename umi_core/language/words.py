"""Words: how texts are split, compared and named.

Law 1. Total and pure: any text can be split, with the same result on every machine.
Law 2. All rules about words compare these words and never search for substrings.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import Final

from umi_core.language.tables import SELECTORS, STOP_WORDS
from umi_core.text import CONTROL, compose_text, cut, size, tidy, without_later

AUTO_NAME_BYTES_MAX: Final = 50

# Scripts where every code point is a word: kana and Chinese have no blanks between words, and Hangul joins
# particles to words.
ALONE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
MARK_BLOCKS: Final = (  # all blocks with marks of letters; scanning all of Unicode takes ten times as long
    (0x300, 0x309A), (0xA66F, 0xABED), (0xFB1E, 0xFE2F), (0x101FD, 0x11FFF), (0x16AF0, 0x16FF1),
    (0x1BC9D, 0x1E94A),
)  # fmt: skip
ASCII_WORD: Final = re.compile("([0-9A-Za-z]+)(?:'[0-9A-Za-z]+)*")  # `word_pattern` for ASCII texts


def word_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the words of a text in order as written; group 1 is the part before the first apostrophe."""
    if text.isascii():
        return ASCII_WORD.finditer(text)
    return word_pattern().finditer(compose_text(without_later(text)))


@cache  # built on first use, because it takes about 10 ms
def word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word: letters and digits, each with the marks after it, as in `दिल्ली`."""
    letter, mark = rf"[^\W_{ALONE}]", f"[{''.join(list_marks())}]"  # `\w` is `str.isalnum` and the underscore
    run = f"{letter}(?:{letter}+|{mark})*+"
    return re.compile(f"({run}|[{ALONE}]{mark}*)(?:['’]{run})*")


def list_marks() -> Iterator[str]:
    """Yield ranges of vowel signs, points, accents and all other marks that belong to the letter before."""
    for first, last in MARK_BLOCKS:
        kinds = ((code, unicodedata.category(chr(code))) for code in range(first, last + 1))
        codes = (code for code, kind in kinds if kind in ("Mn", "Mc") and not is_selector(code))
        # Consecutive codes have the same difference to their index, so each group is one range.
        for _, run in groupby(enumerate(codes), lambda it: it[1] - it[0]):
            (_, begin), *rest = run
            yield f"{chr(begin)}-{chr(rest[-1][1] if rest else begin)}"


def is_selector(code: int) -> bool:
    return any(first <= code <= last for first, last in SELECTORS)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, casefolded, each up to its first apostrophe."""
    return tuple(match[1].casefold() for match in word_matches(text))


def content(some_words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that are not stop words, in order."""
    return tuple(word for word in some_words if word not in STOP_WORDS)


def auto_name(text: str) -> str:
    """Return a name for a text: its first non-blank line, cut between words to AUTO_NAME_BYTES_MAX bytes."""
    line = next((name for line in text.split("\n") if (name := clean_name(line))), "")
    if size(line) <= AUTO_NAME_BYTES_MAX:
        return line
    start = cut(line, AUTO_NAME_BYTES_MAX)
    # Cut at the last blank before the limit, or within the line if it has no blank, such as Chinese.
    return (start.rpartition(" ")[0] or start) + "..."


def clean_name(text: str) -> str:
    """Return the text as a valid name: tidy, with U+FFFD for each control character."""
    return CONTROL.sub("\ufffd", tidy(text))

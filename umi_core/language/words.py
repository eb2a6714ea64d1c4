"""Words: how texts are split, compared and named.

Law 1. Total and pure: any text has words, the same on every machine.
Law 2. Every word rule of the project uses these words; none tests for substrings.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from umi_core.language.tables import STOP_WORDS
from umi_core.text import CONTROL, compose_text, cut, size, tidy, without_later

AUTO_NAME_BYTES_MAX: Final = 50

# Kana and Chinese characters, which no blanks part, and Hangul, whose particles are joined to their words.
ALONE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"  # every code point is a word
RUN: Final = rf"[^\W_{ALONE}]+"  # `\w` is `str.isalnum` and the underscore
WORD: Final = rf"([{ALONE}]|{RUN})(?:['’]{RUN})*"  # a text: `re` makes the pattern when it is first needed
ASCII_WORD: Final = re.compile("([0-9A-Za-z]+)(?:'[0-9A-Za-z]+)*")  # the same, made twenty times sooner


def word_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the words of a text in order as written; group 1 is what stands before the first apostrophe."""
    if text.isascii():
        return ASCII_WORD.finditer(text)
    return re.finditer(WORD, compose_text(without_later(text)))


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, casefolded, each up to its first apostrophe."""
    return tuple(match[1].casefold() for match in word_matches(text))


def content(some_words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that are not stop words, in order."""
    return tuple(word for word in some_words if word not in STOP_WORDS)


def auto_name(text: str) -> str:
    """Return the name of a text that has none: its first non-blank line, cut at a word."""
    line = next((name for line in text.split("\n") if (name := clean_name(line))), "")
    if size(line) <= AUTO_NAME_BYTES_MAX:
        return line
    start = cut(line, AUTO_NAME_BYTES_MAX)
    # Cut at the last blank before the limit; a line without one, say of Chinese, at a character.
    return (start.rpartition(" ")[0] or start) + "..."


def clean_name(text: str) -> str:
    """Return the text as a name may be: tidy, with U+FFFD for each control character."""
    return CONTROL.sub("\ufffd", tidy(text))

"""Words and sentences by frozen tables, because the tables of an interpreter change with its Unicode version.

Law 1. Every function accepts any string, lone surrogates included. A character in no table separates words.
Law 2. Only characters below U+0530 have upper and lower case.
Law 3. No `unicodedata`, `isalpha`, `isupper` or `\\w` is used here; a golden test hashes the tables.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

Ranges = tuple[tuple[int, int], ...]

# Scripts written with spaces, and digits: a run of these is a word. The ranges include marks that occur only
# after a letter of the same script.
SPACED: Final[Ranges] = (
    (0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xB5, 0xB5), (0xBA, 0xBA),
    (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2C1), (0x1D00, 0x1DBF), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F),
    (0xA722, 0xA788), (0xA78B, 0xA7FF), (0xAB30, 0xAB5A), (0xAB5C, 0xAB69), (0xFB00, 0xFB06),
    (0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A),  # Latin and digits, full width
    (0x370, 0x374), (0x376, 0x37D), (0x37F, 0x37F), (0x386, 0x386), (0x388, 0x3F5), (0x3F7, 0x3FF),
    (0x1F00, 0x1FBC), (0x1FBE, 0x1FBE), (0x1FC2, 0x1FCC), (0x1FD0, 0x1FDB), (0x1FE0, 0x1FEC),
    (0x1FF2, 0x1FFC),  # Greek
    (0x400, 0x481), (0x483, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA672),
    (0xA674, 0xA67D), (0xA67F, 0xA69F),  # Cyrillic
    (0x531, 0x556), (0x559, 0x559), (0x560, 0x588), (0xFB13, 0xFB17),  # Armenian
    (0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7), (0x5D0, 0x5EA),
    (0x5EF, 0x5F2), (0xFB1D, 0xFB28), (0xFB2A, 0xFB4F),  # Hebrew
    (0x610, 0x61A), (0x620, 0x669), (0x66E, 0x6D3), (0x6D5, 0x6DC), (0x6DF, 0x6E8), (0x6EA, 0x6FC),
    (0x6FF, 0x6FF), (0x750, 0x77F), (0x870, 0x887), (0x889, 0x88E), (0x898, 0x8E1), (0x8E3, 0x8FF),
    (0xFB50, 0xFBB1), (0xFBD3, 0xFD3D), (0xFD50, 0xFDC7), (0xFDF0, 0xFDFB), (0xFE70, 0xFEFC),  # Arabic
    (0x900, 0x963), (0x966, 0x96F), (0x971, 0x9F1), (0x9FC, 0x9FC), (0x9FE, 0x9FE), (0xA01, 0xA75),
    (0xA81, 0xAEF), (0xAF9, 0xB6F), (0xB71, 0xB71), (0xB82, 0xBEF), (0xC00, 0xC6F), (0xC80, 0xC83),
    (0xC85, 0xCFF), (0xD00, 0xD4E), (0xD54, 0xD57), (0xD5F, 0xD6F), (0xD7A, 0xDF3),  # Devanagari to Sinhala
    (0x10A0, 0x10FA), (0x10FC, 0x10FF), (0x1C90, 0x1CBF), (0x2D00, 0x2D2D),  # Georgian
)  # fmt: skip

# Scripts written without spaces: a run of these becomes overlapping pairs.
DENSE: Final[Ranges] = (
    (0xE01, 0xE30), (0xE32, 0xE33), (0xE40, 0xE46), (0xE50, 0xE59),  # Thai
    (0xE81, 0xEB0), (0xEB2, 0xEB3), (0xEBD, 0xEC6), (0xED0, 0xEDF),  # Lao
    (0x1100, 0x115F), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0xFFA1, 0xFFDC),  # Hangul
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF),
    (0xFF66, 0xFF9D),  # kana
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAD9),
    (0x20000, 0x323AF),  # CJK
)  # fmt: skip

# Combining marks, joiners, variation selectors and tags. They belong to the word before them, if any.
MARKS: Final[Ranges] = (
    (0x300, 0x36F), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0xFE20, 0xFE2F),
    (0xE31, 0xE31), (0xE34, 0xE3A), (0xE47, 0xE4E), (0xEB1, 0xEB1), (0xEB4, 0xEBC), (0xEC8, 0xECE),
    (0x1160, 0x11FF), (0xD7B0, 0xD7FB), (0x302A, 0x302F), (0x3099, 0x309A), (0xFF9E, 0xFF9F),
    (0x200C, 0x200D), (0xFE00, 0xFE0F), (0xE0020, 0xE007F), (0xE0100, 0xE01EF),
)  # fmt: skip

EMOJI: Final[Ranges] = (
    (0x231A, 0x231B), (0x23E9, 0x23FA), (0x25FB, 0x25FE), (0x2600, 0x27BF), (0x2B05, 0x2B07),
    (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55), (0x1F000, 0x1FAFF),
)  # fmt: skip
FLAG_LETTERS: Final[Ranges] = ((0x1F1E6, 0x1F1FF),)
SKIN_TONES: Final[Ranges] = ((0x1F3FB, 0x1F3FF),)

CASE_END: Final = "\u0530"
LOWER: Final = {code: chr(code).lower() for code in range(ord(CASE_END)) if chr(code).lower() != chr(code)}
BLANKS: Final = " \t\r\v\f\u00a0\u3000"
SENTENCE_ENDS: Final = ".!?。！？؟।"


def char_class(*tables: Ranges, below: int = 0x110000) -> str:
    """Return the tables as one set of characters of a regular expression, below a code point."""
    ranges = [one for ranges in tables for one in ranges if one[1] < below]
    return "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges) + "]"


ONE_DENSE: Final = f"{char_class(DENSE)}{char_class(MARKS)}*"
ONE_EMOJI: Final = f"{char_class(EMOJI)}{char_class(MARKS, SKIN_TONES)}*"

ASCII: Final = 0x80
ASCII_WORD: Final = re.compile(f"{char_class(SPACED, below=ASCII)}+|(?P<dense>(?!))")  # `dense` never matches
SENTENCE: Final = re.compile(rf"[^{SENTENCE_ENDS}\n]*[{SENTENCE_ENDS}]+|[^{SENTENCE_ENDS}\n]+")


# Strings rather than compiled patterns: `re` compiles and caches them at their first use. Few short runs need
# them, since ASCII texts have equivalent patterns of their own, which compile in a tenth of the time.
WORD: Final = (  # one word, or one run of a dense script (then the group `dense` is set)
    f"{char_class(SPACED)}{char_class(SPACED, MARKS)}*"
    f"|(?P<dense>(?:{ONE_DENSE})+)"
    f"|{char_class(FLAG_LETTERS)}{{2}}"
    f"|{ONE_EMOJI}(?:(?<=\u200d){ONE_EMOJI})*"
)


def word_matches(text: str) -> Iterator[re.Match[str]]:
    """Return the words of a text in order, as written."""
    return ASCII_WORD.finditer(text) if text.isascii() else re.finditer(WORD, text)


def tokens(text: str) -> list[str]:
    """Return the words of a text, lower-cased, in order; a run of a dense script as overlapping pairs."""
    if text.isascii():
        return [match[0] for match in ASCII_WORD.finditer(text.lower())]
    found: list[str] = []
    for match in word_matches(lower(text)):
        found += pairs(match[0]) if match["dense"] else [match[0]]
    return found


def sentences(text: str) -> list[str]:
    """Return the sentences of a text with their end marks, without the blanks around them; none is empty."""
    trimmed = (found.strip(BLANKS) for found in SENTENCE.findall(text))
    return [sentence for sentence in trimmed if sentence]


def lower(text: str) -> str:
    """Return the text with every capital below U+0530 in lower case, converted one by one."""
    return text.lower() if text.isascii() else text.translate(LOWER)


def is_upper(char: str) -> bool:
    """Return whether a character is a capital below U+0530."""
    assert len(char) == 1
    return ord(char) in LOWER


def pairs(run: str) -> list[str]:
    """Return each pair of neighbours in a dense run, with their marks; a single character by itself."""
    chars = re.findall(ONE_DENSE, run)
    return [first + second for first, second in pairwise(chars)] or chars

"""Texts as the rules of docs/spec/memory.md say them: composed, folded, cut, and what no text may hold."""

import unicodedata
from typing import Final

SURROGATES: Final = range(0xD800, 0xE000)
CONTROLS: Final = (*range(0x20), *range(0x7F, 0xA0))
UNWRITABLE: Final = (*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0xFFFE, 0xFFFF)  # by XML


def is_text(value: object) -> bool:
    return type(value) is str and not any(ord(char) in SURROGATES for char in value)


def has_any(text: str, codes: tuple[int, ...]) -> bool:
    return any(ord(char) in codes for char in text)


def byte_count(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def tidy(text: str) -> str:
    """How names and labels are kept."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def folded(text: str) -> str:
    """The key of a name: names that fold to the same text are one name."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cut(text: str, limit_bytes: int) -> str:
    """As many whole characters as fit."""
    data = text.encode()[:limit_bytes]
    return data.decode(errors="ignore")

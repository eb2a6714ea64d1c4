"""Text: sizes in UTF-8 bytes, cuts between code points, and the form in which names are compared and kept."""

import re
import unicodedata
from typing import Final


def size(text: str) -> int:
    """Bytes of the UTF-8 encoding."""
    return len(text) if text.isascii() else len(text.encode())


def cut(text: str, limit_bytes: int) -> str:
    """The longest prefix of whole code points with at most `limit_bytes` bytes."""
    return text.encode()[:limit_bytes].decode(errors="ignore")


def tidy(text: str) -> str:
    """NFC, white-space runs become one space, trimmed: how names and labels are kept."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def norm(text: str) -> str:
    """The key of a name: composed, case-folded, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


SURROGATE: Final = re.compile("[\ud800-\udfff]")
CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")  # category Cc


def is_text(value: object) -> bool:
    """True for a `str`, and nothing derived from it, without lone surrogates."""
    return type(value) is str and (value.isascii() or SURROGATE.search(value) is None)


def has_control(text: str) -> bool:
    return CONTROL.search(text) is not None

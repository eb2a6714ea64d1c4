"""Text: sizes in UTF-8 bytes, cuts between code points, and the form in which names are compared and kept."""

import re
import unicodedata
from typing import Final, TypeGuard


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


def is_text(value: object) -> TypeGuard[str]:
    """True for a `str`, and nothing derived from it, without lone surrogates."""
    return type(value) is str and (value.isascii() or SURROGATE.search(value) is None)


def has_control(text: str) -> bool:
    return CONTROL.search(text) is not None


# What blocks of core may hold.

UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML has no way to write them


def has_unwritable(text: str) -> bool:
    return UNWRITABLE.search(text) is not None


def line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def core_text(text: str) -> str:
    """Promoted text as core may show it; in authored text the same characters are an error instead."""
    return UNWRITABLE.sub("\ufffd", line_ends(text))


# Messages.

SHOWN_CHARS_MAX: Final = 72


def shown(value: object) -> str:
    """A value as a message may show it: short, one line, no surprises for a terminal."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."

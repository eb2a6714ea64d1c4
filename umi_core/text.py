"""Text: sizes in UTF-8 bytes, cuts between code points, and the forms for storing and comparing names."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Final, TypeGuard

from umi_core.characters import LATER, UNICODE_VERSION


def size(text: str) -> int:
    """Return the length of the UTF-8 encoding in bytes."""
    return len(text) if text.isascii() else len(text.encode())


def cut(text: str, limit_bytes: int) -> str:
    """Return the longest prefix of whole code points with at most `limit_bytes` bytes."""
    # For example, cut("né", 2) is "n", because "é" has two bytes.
    return text.encode()[:limit_bytes].decode(errors="ignore")


def tidy(text: str) -> str:
    """Return the text in NFC, trimmed, with single spaces: how names and labels are stored."""
    return " ".join(compose_text(text).split())


@lru_cache(maxsize=256)  # a name is compared with many others, and an id is derived again from its text
def norm(text: str) -> str:
    """Return the key for comparing names and contents: in NFC, case-folded, with single spaces."""
    return " ".join(of_known(fold_case, text).split())


def skeleton(text: str) -> str:
    """Return only the letters and digits, in one width and case and without marks.

    For names that must not be imitated: `System`, ` s-y-s-t-e-m` and `ｓｙｓｔｅｍ` have the same skeleton.
    """
    return of_known(bare, text)


def bare(text: str) -> str:
    spread = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in unicodedata.normalize("NFKD", spread) if char.isalnum())


def unique(texts: Iterable[str]) -> dict[str, str]:
    """Return the first text with each key (`norm`), by its key."""
    once: dict[str, str] = {}
    for text in texts:
        once.setdefault(norm(text), text)
    return once


# Characters that are not in Unicode 14 stay as they are, on every interpreter.

KNOWS_LATER: Final = unicodedata.unidata_version != UNICODE_VERSION


@cache  # compiled at the first use; an interpreter with Unicode 14 never needs it
def later_run() -> re.Pattern[str]:
    ranges = "".join(f"{chr(first)}-{chr(last)}" for first, last in LATER)
    return re.compile(f"([{ranges}]+)")


def of_known(change: Callable[[str], str], text: str) -> str:
    """Apply `change` to each part between unknown characters, which therefore compose with nothing."""
    if text.isascii() or not KNOWS_LATER:
        return change(text)
    return "".join(part if at % 2 else change(part) for at, part in enumerate(later_run().split(text)))


def compose_text(text: str) -> str:
    """Return the text in NFC."""
    return of_known(lambda part: unicodedata.normalize("NFC", part), text)


def fold_case(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def without_later(text: str) -> str:
    """Return the text with unknown characters replaced by U+FFFD, so that no rule takes them for letters."""
    return text if text.isascii() or not KNOWS_LATER else later_run().sub("\ufffd", text)


# The case of a letter is read from its category, which never changes. `islower` and `isupper` use properties
# that later versions of Unicode have added to existing letters.


def has_small(text: str) -> bool:
    return any(unicodedata.category(char) == "Ll" for char in without_later(text))


def is_capital(text: str) -> bool:
    """Check that the text has a capital letter, and no letter in small or title case."""
    categories = {unicodedata.category(char) for char in without_later(text)}
    return "Lu" in categories and categories.isdisjoint(("Ll", "Lt"))


SURROGATE: Final = re.compile("[\ud800-\udfff]")
CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")  # category Cc


def is_text(value: object) -> TypeGuard[str]:
    """Check for a `str`, of no derived class, without lone surrogates."""
    return type(value) is str and (value.isascii() or SURROGATE.search(value) is None)


def has_control(text: str) -> bool:
    return CONTROL.search(text) is not None


# Texts of blocks of core.

UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML cannot represent them


def has_unwritable(text: str) -> bool:
    return UNWRITABLE.search(text) is not None


def line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def core_text(text: str) -> str:
    """Return promoted text with unwritable characters replaced; in authored text they are an error."""
    return UNWRITABLE.sub("\ufffd", line_ends(text))


# Messages.

SHOWN_CHARS_MAX: Final = 72
CONTRAST_CHARS_MAX: Final = 200
ALIKE_CHARS_MAX: Final = 40  # equal characters shown before the first difference
ELLIPSIS: Final = "..."


def show_value(value: object, chars_max: int = SHOWN_CHARS_MAX) -> str:
    """Return a value for a message: short, in one line, without control characters."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = value if isinstance(value, str) else known_repr(value)
    is_plain = text.isprintable() and without_later(text) == text
    text = text if is_plain else text.encode("unicode_escape").decode()
    return text if len(text) <= chars_max else text[:chars_max] + "..."


def contrast_texts(expected: str, got: str) -> tuple[str, str]:
    """Cut both texts to one line at the same place, so that their first difference is shown."""
    length = min(len(expected), len(got))
    alike = next((at for at in range(length) if expected[at] != got[at]), length)
    if alike < CONTRAST_CHARS_MAX - ALIKE_CHARS_MAX:
        return expected[:CONTRAST_CHARS_MAX], got[:CONTRAST_CHARS_MAX]
    # For example, if the first 500 characters are equal, both are shown from character 460 on.
    start = alike - ALIKE_CHARS_MAX
    end = start + CONTRAST_CHARS_MAX - len(ELLIPSIS)
    return f"{ELLIPSIS}{expected[start:end]}", f"{ELLIPSIS}{got[start:end]}"


def known_repr(value: object) -> str:
    """Return `repr` as an interpreter with Unicode 14 writes it."""
    text = repr(value)
    if text.isascii() or not KNOWS_LATER:
        return text
    return later_run().sub(lambda run: run[0].encode("unicode_escape").decode(), text)


# Character references: `&amp;` stands for `&`.

UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
CHARACTER_NAMES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
REFERENCE: Final = re.compile(r"&(?:([A-Za-z]{2,6})|#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6}));")


def resolve_references(text: str) -> str:
    """Resolve character references once; a reference to a control character stays as it is."""
    return REFERENCE.sub(resolve_reference, text) if "&" in text else text


def resolve_reference(match: re.Match[str]) -> str:
    named, decimal, hexadecimal = match.groups()
    if named:
        return CHARACTER_NAMES.get(named, match[0])
    # &#65; and &#x41; are A; a number beyond Unicode counts as a control character.
    code = int(decimal) if decimal else int(hexadecimal, 16)
    char = chr(code) if code <= 0x10FFFF else "\x00"
    return match[0] if UNSEEN.search(char) or SURROGATE.search(char) else char

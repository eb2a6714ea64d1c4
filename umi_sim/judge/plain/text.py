"""Texts as M0 (docs/spec/memory.md) says them: composed, folded, cut, their words, and what none may hold."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from umi_core.characters import LATER

SURROGATES: Final = re.compile("[\ud800-\udfff]")
CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # by XML
STRANGE: Final = "\ufffd"  # stands where a character may not stand
APOSTROPHES: Final = "'’"
UNKNOWN: Final = re.compile(f"([{''.join(f'{chr(first)}-{chr(last)}' for first, last in LATER)}]+)")
DENSE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"  # no spaces
KEPT: Final = 8_192  # a text is looked through far more often than it changes
SHOWN_CHARS: Final = 72  # of a value in a message
STOP_WORDS: Final = tuple(
    "a about am an and any are as at be been being but by can could did do does for from had has have how i "
    "if in into is just me my no not of on or our should so some than the then to up us was we were what "
    "when where which who whom whose why will with would you your".split()
)
PRONOUNS: Final = tuple(
    "he him his himself she her hers herself it its itself they them their theirs themselves "
    "i me my you your we us our".split()
)


def is_text(value: object) -> bool:
    return type(value) is str and (value.isascii() or not has_any(value, SURROGATES))


def has_any(text: str, chars: re.Pattern[str]) -> bool:
    return chars.search(text) is not None


def byte_count(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def tidy(text: str) -> str:
    """How names and labels are kept."""
    return " ".join(composed(text).split())


def folded(text: str) -> str:
    """The key of a name: names that fold to the same text are one name."""
    return " ".join(each_known(text, lambda part: unicodedata.normalize("NFC", part).casefold()).split())


def letters_of(text: str) -> str:
    """What is left of a name in its barest spelling: small letters and digits, no marks, one width."""

    def bare(part: str) -> str:
        for _ in range(2):
            part = unicodedata.normalize("NFKD", part).casefold()
        return "".join(char for char in unicodedata.normalize("NFKD", part) if kind_of(char)[0] in "LN")

    return each_known(text, bare)


def said_once(lines: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """What of these lines is news, in their order: in no other case, form or spacing is it there already."""
    return [line for n, line in enumerate(lines) if folded(line) not in {*map(folded, (*known, *lines[:n]))}]


def composed(text: str) -> str:
    return each_known(text, lambda part: unicodedata.normalize("NFC", part))


# What Unicode 14 does not know.


def each_known(text: str, change: Callable[[str], str]) -> str:
    """What Unicode 14 knows is changed; what came later stands between as it is."""
    if text.isascii():
        return change(text)
    runs = UNKNOWN.split(text)  # one that is known, one that is not, and so on
    return "".join(run if at % 2 else change(run) for at, run in enumerate(runs))


def kind_of(char: str) -> str:
    """The category that Unicode gives it."""
    return unicodedata.category(char)


def without_later(text: str) -> str:
    return UNKNOWN.sub(lambda run: STRANGE * len(run[0]), text)


def line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cut(text: str, limit_bytes: int) -> str:
    """As many whole characters as fit."""
    data = text.encode()[:limit_bytes]
    return data.decode(errors="ignore")


def one_line(text: str) -> str:
    """White space runs become one space, and none stands at an end."""
    return " ".join(text.split())


def made_whole(text: str) -> str:
    """Half a surrogate pair, which no text may hold, becomes a character that says so."""
    return re.sub("[\ud800-\udfff]", STRANGE, text)


def without_controls(text: str) -> str:
    return re.sub("[\x00-\x1f\x7f-\x9f]", STRANGE, text)


# Case.


def has_small(text: str) -> bool:
    """Whether some letter that is known is a small one."""
    return any(unicodedata.category(char) == "Ll" for char in without_later(text))


def is_letter(char: str) -> bool:
    return char.isalpha()


def is_capital(text: str) -> bool:
    """Whether all letters that have two forms are capitals, and there is one."""
    kinds = [unicodedata.category(char) for char in without_later(text)]
    return "Lu" in kinds and "Ll" not in kinds and "Lt" not in kinds


# Words.


def written_words(text: str) -> list[str]:
    """The words of a text as they stand there, with what follows an apostrophe: `Sheila's`.

    A run of letters and digits is one; a character of a script without spaces is one by itself.
    """
    apart = re.sub(f"[^\\w{DENSE}{APOSTROPHES}]|_", " ", composed(without_later(text)))
    apart = re.sub(f"([{DENSE}])(?![{APOSTROPHES}])", r" \1 ", apart)
    apart = re.sub(f"([{DENSE}])", r" \1", apart)  # what follows its own apostrophe stays with it
    runs = re.sub(f"[{APOSTROPHES}]{{2,}}", " ", apart).split()  # two in a row join nothing
    return [bare for run in runs if (bare := run.strip(APOSTROPHES))]


@lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    """Small letters, each word as far as its first apostrophe."""
    return tuple(re.split(f"[{APOSTROPHES}]", word)[0].casefold() for word in written_words(text))


@lru_cache(maxsize=KEPT)
def content_words(text: str) -> tuple[str, ...]:
    """The words that say something by themselves."""
    return tuple(word for word in words(text) if word not in STOP_WORDS)


# Messages.


def known_only(text: str) -> str:
    """What Unicode 14 does not know is written as an interpreter writes it that does not know it."""
    return UNKNOWN.sub(lambda run: run[0].encode("unicode_escape").decode(), text)


def shown(value: object) -> str:
    """A value in a message: short, and in one line."""
    if type(value) is int and abs(value) >= 2**256:
        return f"a number of {value.bit_length()} bits"
    text = value if isinstance(value, str) else known_only(repr(value))
    is_plain = text.isprintable() and (text.isascii() or not UNKNOWN.search(text))
    line = text if is_plain else text.encode("unicode_escape").decode()
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}..."

"""Wording: counts, times, long runs and hostile texts as text, with the same bytes everywhere."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

LINE_CHARS_MAX: Final = 120
NAME_CHARS_MAX: Final = 60
KNOWN_COUNT_MAX: Final = 12
UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
# Controls, lone surrogates, combining accents (e and one looks like é), joiners, bidi marks, separators,
# tags, no characters.
UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0300-\u036f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
RUN_MIN: Final = 32  # shorter runs are written as they are
# A unit of one to four characters, the shortest that fits, 32 times or more: "ababab..." is ["ab", n].
RUN: Final = re.compile(rf"(.{{1,4}}?)\1{{{RUN_MIN - 1},}}", re.DOTALL)


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def show_counts(counts: Mapping[str, int]) -> list[str]:
    return [f"{name} {count}" for name, count in counts.items()]


def show_value(value: object) -> str:
    """Write a value for people: short, and without addresses of this process."""
    text = repr(value)
    if " at 0x" in text:
        text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return text if len(text) <= LINE_CHARS_MAX else f"{text[:LINE_CHARS_MAX]}... ({len(text)} characters)"


def group_digits(number: int) -> str:
    """Write a number with a blank between thousands: 10 000."""
    return f"{number:,}".replace(",", " ")


def duration(ms: int) -> str:
    """Return a time in its largest whole unit: 33 min, -1 d."""
    size, unit = next(((size, unit) for size, unit in UNITS if abs(ms) >= size), (1, "ms"))
    return f"{'-' if ms < 0 else ''}{abs(ms) // size} {unit}"


def cut(text: str, chars_max: int = LINE_CHARS_MAX) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 3] + "..."


def escape_text(text: str) -> str:
    """Return the text with an escape for every character that a terminal would obey or hide."""
    return UNSEEN.sub(lambda found: code_of(found[0]), text)


def split_runs(value: str) -> Any:
    """Return the text, or its pieces if it has a long run: "abcxxx..." is {"runs": ["abc", ["x", 5000]]}."""
    pieces: list[Any] = []
    at = 0
    for found in RUN.finditer(value) if len(value) >= RUN_MIN else ():
        pieces += [value[at : found.start()], [found[1], len(found[0]) // len(found[1])]]
        at = found.end()
    return {"runs": [piece for piece in (*pieces, value[at:]) if piece]} if pieces else value


def code_of(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def suggest_names(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return the end of an error about an unknown name: the closest known names, or all if they are few."""
    import difflib  # imported here, since it is needed only for an unknown name

    names = {each.lower(): each for each in known}
    close = [names[each] for each in difflib.get_close_matches(name[:NAME_CHARS_MAX].lower(), names, most)]
    listed = f"; known: {', '.join(names.values())}" if 0 < len(names) <= KNOWN_COUNT_MAX else ""
    return f"; did you mean {' or '.join(close)}?" if close else listed

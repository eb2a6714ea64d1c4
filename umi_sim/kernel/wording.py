"""Wording: how counts, times, long lists and hostile texts stand in a line for people.

Law 1. Whatever a memory or a model said is shown with control and bidi characters escaped.
Law 2. The same bytes everywhere: no locale, no width of a terminal.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

LINE_CHARS_MAX: Final = 120
LABEL_COLUMN: Final = 9
ROW_COUNT_MAX: Final = 8
UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
UNSEEN: Final = re.compile(  # controls, lone surrogates, joiners, bidi marks, separators, tags, no characters
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


# Rows.


def row(label: str, text: str) -> str:
    return f"  {label:{LABEL_COLUMN}}{text}".rstrip()


def rows(label: str, text: str, column: int = LABEL_COLUMN) -> Iterator[str]:
    """A long list in several rows, broken after its commas; what has no room in the last one is counted."""
    lines, parts = [""], text.split(", ")
    for at, part in enumerate(parts):
        joined = f"{lines[-1]}, {part}" if lines[-1] else part
        is_last, rest = len(lines) == ROW_COUNT_MAX, f", and {len(parts) - at} more"
        if len(joined) + len(rest) * is_last <= LINE_CHARS_MAX - column or not lines[-1]:
            lines[-1] = joined
        elif is_last:
            lines[-1] += rest
            break
        else:
            lines[-1] += ","
            lines.append(part)
    return (f"  {'' if at else label:{column}}{cut(line)}".rstrip() for at, line in enumerate(lines))


# Words.


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def spaced(number: int) -> str:
    """10 000: thousands apart."""
    return f"{number:,}".replace(",", " ")


def duration(ms: int) -> str:
    """A time in its largest whole unit: 33 min, -1 d."""
    size, unit = next(((size, unit) for size, unit in UNITS if abs(ms) >= size), (1, "ms"))
    return f"{'-' if ms < 0 else ''}{abs(ms) // size} {unit}"


def cut(text: str, chars_max: int = LINE_CHARS_MAX) -> str:
    return text if len(text) <= chars_max else text[: chars_max - 3] + "..."


def escaped(text: str) -> str:
    """The text with every character that a terminal would obey or hide written out."""
    return UNSEEN.sub(lambda found: code_of(found[0]), text)


def code_of(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

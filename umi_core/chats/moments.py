"""Dates of messages, as programs write them: seconds, ISO 8601, `1:56 pm on 8 May, 2023`.

Law 1. Pure and total: any JSON value is a date or none. Law 2. A date without a zone is taken for UTC.
"""

import re
from typing import Final

from umi_core.json_text import Json, JsonNumber
from umi_core.language.times import LAST_MS, instant, minute_of

NUMBER: Final = re.compile(r"([0-9]{9,19})(?:\.([0-9]{1,12}))?")
SCALES: Final = ((11, 1_000, 1), (14, 1, 1), (17, 1, 1_000), (19, 1, 1_000_000))  # seconds to nanoseconds
ISO: Final = re.compile(
    r"""(?P<year>\d{4})[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)
        (?:[T,\s]+(?:\([^()]*\)\s*)?(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?
           \s*(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?)?""",
    re.ASCII | re.VERBOSE,
)
SPOKEN: Final = re.compile(
    r"(?:(?P<hour>\d\d?):(?P<minute>\d\d)\s*(?P<half>am|pm)?,?\s+(?:on\s+)?)?"
    r"(?P<day>\d\d?)\s+(?P<name>[a-z]{3})[a-z]*,?\s+(?P<year>\d{4})",
    re.ASCII | re.IGNORECASE,
)
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_moment(value: Json) -> tuple[str, int | None]:
    """Return a date as it is shown, and in milliseconds; a text that is no date is shown as it is.

    1710000001.0                "2024-03-09T16:00Z", 1710000001000
    "2024-03-09 17:00 +0100"    as it is,            1710000000000
    "last spring"               as it is,            None
    """
    if isinstance(value, JsonNumber):
        at_ms = count_ms(value.text)
        return ("", None) if at_ms is None else (minute_of(at_ms), at_ms)
    if not isinstance(value, str):
        return "", None
    text = " ".join(value.split())
    at_ms = count_ms(text)
    return (text, date_ms(text)) if at_ms is None else (minute_of(at_ms), at_ms)


def count_ms(text: str) -> int | None:
    """Return what a number of seconds, or of thousandths, millionths or billionths, is in milliseconds."""
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    factor, divisor = next((factor, divisor) for size, factor, divisor in SCALES if len(found[1]) <= size)
    rest = int((found[2] or "0").ljust(3, "0")[:3]) if factor > 1 else 0
    at_ms = int(found[1]) * factor // divisor + rest
    return at_ms if at_ms <= LAST_MS else None


def date_ms(text: str) -> int | None:
    """Return the milliseconds of a written date; None if it is none, or before 1970."""
    found = ISO.fullmatch(text) or SPOKEN.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    month = int(parts["month"]) if "month" in parts else month_of(parts["name"])
    hour = hour_of(int(parts["hour"] or 0), parts.get("half"))
    zone = parts.get("zone") or "Z"
    zone = "Z" if zone.isalpha() else f"{zone[:3]}:{zone[-2:]}"
    minute, second = int(parts["minute"] or 0), int(parts.get("second") or 0)
    day = f"{parts['year']}-{month:02}-{int(parts['day']):02}"
    at_ms = instant(f"{day}T{hour:02}:{minute:02}:{second:02}{zone}", is_end=False)
    return at_ms if at_ms is not None and at_ms >= 0 else None


def month_of(name: str) -> int:
    return MONTHS.index(name.lower()) + 1 if name.lower() in MONTHS else 0


def hour_of(hour: int, half: str | None) -> int:
    """Return the hour of the day: 12 am is 0, and 1 pm is 13."""
    if half is None:
        return hour
    return hour % 12 + (12 if half.lower() == "pm" else 0)

"""Times in texts: whole milliseconds as RFC 3339 in UTC, and back.

    2026-11-25T16:26:18.250Z     1795623978250

Law 1. Pure and total: any text is a time or None. Law 2. `instant` reads what `format_time` wrote as the
same time.
"""

import re
from typing import Final

from umi_core.limits import DAY_MS

YEAR_MAX: Final = 9999
DAYS_OF_400_YEARS: Final = 146_097
EPOCH_DAY: Final = 719_468  # days from the first of March of the year 0 to 1970-01-01
LAST_MS: Final = 253_402_300_799_999  # the end of the year 9999, the last one of RFC 3339
FORM: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+ -]\d\d:\d\d))?", re.ASCII
)
DAYS_OF_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def format_time(at_ms: int) -> str | None:
    """Return the time as text; None for 0, which means no date; clamped to the end of the year 9999."""
    if at_ms == 0:
        return None
    seconds, ms = divmod(min(at_ms, LAST_MS), 1_000)
    return f"{minute_of(at_ms)[:-1]}:{seconds % 60:02}.{ms:03}Z"


def minute_of(at_ms: int) -> str:
    """Return the minute as prompts show it: `2026-11-28T17:38Z`; clamped to the end of the year 9999."""
    days, rest_ms = divmod(min(at_ms, LAST_MS), DAY_MS)
    year, month, day = date_of(days)
    minutes = rest_ms // 60_000
    return f"{year:04}-{month:02}-{day:02}T{minutes // 60:02}:{minutes % 60:02}Z"


def instant(text: str, *, is_end: bool) -> int | None:
    """Return the time of a text in milliseconds, or None. A date alone means the beginning of its day.

    With `is_end`, a date alone means the beginning of the next day, because ends are exclusive.
    """
    found = FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day = map(int, found.groups()[:3])
    if not (1 <= month <= 12 and 1 <= day <= days_of(year, month)):
        return None
    start_ms = days_to(year, month, day) * DAY_MS
    if found[4] is None:
        return start_ms + (DAY_MS if is_end else 0)
    hour, minute, second = map(int, found.groups()[3:6])
    if hour > 23 or minute > 59 or second > 59:
        return None
    # ".5" is 500 ms, ".0005" is 0 ms: digits beyond milliseconds are cut.
    ms = int((found[7] or "0").ljust(3, "0")[:3])
    offset_ms = offset(found[8])
    clock_ms = ((hour * 60 + minute) * 60 + second) * 1_000 + ms
    return None if offset_ms is None else start_ms + clock_ms - offset_ms


def offset(text: str) -> int | None:
    """Return an offset from UTC in milliseconds, or None. A blank is a plus that was decoded from a URL."""
    if text in ("Z", "z"):
        return 0
    hours, minutes = int(text[1:3]), int(text[4:])
    span_ms = (hours * 60 + minutes) * 60_000
    is_span = hours <= 23 and minutes <= 59
    return None if not is_span else -span_ms if text[0] == "-" else span_ms


def days_of(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else DAYS_OF_MONTH[month - 1]


# The functions below count years from March, so that a leap day is the last day of its year.


def days_to(year: int, month: int, day: int) -> int:
    """Return the day of a date, in days since 1970."""
    # The days_from_civil of Howard Hinnant ("chrono-Compatible Low-Level Date Algorithms"), and its inverse
    # below. No module that reads clocks or zones may be imported here (tools/house.py).
    year -= month <= 2
    return year * 365 + year // 4 - year // 100 + year // 400 + days_before(month) + day - 1 - EPOCH_DAY


def days_before(month: int) -> int:
    """Return the days before this month in a year that begins with March."""
    # March to July have 31, 30, 31, 30, 31 days, together 153, and August to December the same: so the line
    # 153/5 * n, rounded, goes through 0, 31, 61, 92, 122, 153, ... January and February end the year.
    return (153 * ((month + 9) % 12) + 2) // 5


def date_of(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of a day, in days since 1970."""
    centuries, rest = divmod(days + EPOCH_DAY, DAYS_OF_400_YEARS)
    # Leap days are subtracted, so that every year has 365 days: 2000-02-29 belongs to year 399 from March
    # 1600, and is not the first day of year 400.
    year = (rest - rest // 1_460 + rest // 36_524 - rest // 146_096) // 365
    day = rest - (365 * year + year // 4 - year // 100)
    at = (5 * day + 2) // 153
    month = (at + 2) % 12 + 1
    return 400 * centuries + year + (month <= 2), month, day - days_before(month) + 1

"""Dates, plainly: a day is found by walking through years and months, one by one."""

from functools import cache
from typing import Final

DAY_MS: Final = 86_400_000
LAST_MS: Final = 253_402_300_799_999  # of the year 9999
MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    return year % 400 == 0 or (year % 4 == 0 and year % 100 != 0)


@cache
def date_of(day: int) -> str:
    """The date so many days after the first of 1970."""
    year = 1970
    while day >= 365 + is_leap(year):
        day -= 365 + is_leap(year)
        year += 1
    lengths = [length + (at == 1 and is_leap(year)) for at, length in enumerate(MONTHS)]
    month = 0
    while day >= lengths[month]:
        day -= lengths[month]
        month += 1
    return f"{year:04}-{month + 1:02}-{day + 1:02}"


def clock_of(ms: int) -> str:
    day, rest = divmod(ms, DAY_MS)
    seconds = rest // 1_000
    clock = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{date_of(day)}T{clock}.{rest % 1_000:03}"


def time_told(ms: int) -> str | None:
    """No date is 0; one behind the last year is its end."""
    return None if ms == 0 else f"{clock_of(min(ms, LAST_MS))}Z"

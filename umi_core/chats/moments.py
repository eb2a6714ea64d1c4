"""Dates of messages, as programs write them: numbers, ISO 8601, mail dates, `1:56 pm on 8 May, 2023`.

Law 1. Reading is pure and total: any JSON value gives a date or none. Law 2. A date without a zone is UTC.
Law 3. An ambiguous date is no date: `10/03/2024` may be in March or in October.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Final

from umi_core.json_text import Json, JsonNumber
from umi_core.language.times import LAST_MS, instant, minute_of

NUMBER: Final = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,18}))?(?:[eE]\+?([0-9]{1,2}))?")
DIGITS_MIN: Final = 9  # seconds since 1970 have at least so many digits from 1973 on
SCALES: Final = ((11, 1_000, 1), (14, 1, 1), (17, 1, 1_000), (19, 1, 1_000_000))  # seconds to nanoseconds
MS_OF_NET: Final = re.compile(r"/Date\(([0-9]+)(?:[+-][0-9]{4})?\)/")
WRAPPED: Final = (
    "$date",
    "$numberLong",
    "seconds",
    "_seconds",
    "iso",
    "value",
)  # names under which objects hold a date

CLOCK: Final = (
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?(?:\s*(?P<half>[ap])\.?m\b\.?)?"
)
ZONE: Final = (
    r"\s*(?P<zone>Z|(?:UTC|GMT)(?:[+-]\d\d:?\d\d)?|[+-]\d\d(?::?\d\d)?)?(?:\s*UTC|\s*[(\[][^()\[\]]*[)\]])?"
)
DAY: Final = r"(?P<day>\d\d?)(?:st|nd|rd|th)?"
MONTH: Final = r"(?P<name>[a-zà-ÿ]{3,10})\.?"
YEAR: Final = r"(?P<year>\d{4})"
WEEKDAY: Final = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
GAP: Final = r"[\s,/.-]+(?:(?:of|de|del)\s+)?"
THEN: Final = r"[\s,T]+(?:(?:at|um|à|a las|alle|às)\s+)?(?:\([^()]*\)\s*)?"
BARE: Final = r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)T(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?"
DAYS: Final = (
    rf"{YEAR}[-/.](?P<month>\d\d?)[-/.]{DAY}",
    rf"{YEAR}[年년]\s*(?P<month>\d\d?)[月월]\s*(?P<day>\d\d?)[日일]",
    rf"(?P<day>\d\d?)\.(?P<month>\d\d?)\.{YEAR}",  # dates with points always begin with the day
    rf"(?P<day>1[3-9]|2\d|3[01])[-/](?P<month>\d\d?)[-/]{YEAR}",
    rf"(?P<month>\d\d?)[-/](?P<day>1[3-9]|2\d|3[01])[-/]{YEAR}",
    rf"{WEEKDAY}{DAY}{GAP}{MONTH}{GAP}{YEAR}",
    rf"{WEEKDAY}{MONTH}{GAP}{DAY}{GAP}{YEAR}",
)
SHORT_DAY: Final = re.compile(r"(\d\d?)[/.-](\d\d?)[/.-](\d{4}|\d\d)(?!\d)", re.ASCII)
MONTH_COUNT: Final = 12
FORMS: Final = (
    *(rf"{day}(?:{THEN}{CLOCK}{ZONE})?" for day in DAYS),
    *(rf"{CLOCK},?\s+(?:on\s+)?{day}" for day in DAYS),
    rf"{BARE}{ZONE}",
    rf"{WEEKDAY}{MONTH}\s+{DAY}\s+{CLOCK}\s+{YEAR}",  # ctime: Sun Mar 10 12:00:00 2024
)
MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip


OTHER_MONTHS: Final = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)


@cache
def compiled_forms() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of FORMS, compiled at first use, because most commands read no dates."""
    return tuple(re.compile(form, re.ASCII | re.IGNORECASE) for form in FORMS)


def read_moment(value: Json) -> tuple[str, int | None]:
    """Return a date as a text to show, and in milliseconds; a text that is no date is shown unchanged.

    1710000001.0                "2024-03-09T16:00Z", 1710000001000
    "2024-03-09 17:00 +0100"    unchanged,           1710000000000
    "last spring"               unchanged,           None
    """
    if isinstance(value, dict):
        return next((read_moment(value[name]) for name in WRAPPED if name in value), ("", None))
    if isinstance(value, JsonNumber):
        at_ms = count_ms(value.text)
        return ("", None) if at_ms is None else (minute_of(at_ms), at_ms)
    if not isinstance(value, str):
        return "", None
    text = " ".join(value.split())
    found = MS_OF_NET.fullmatch(text)
    at_ms = count_ms(found[1] if found else text)
    return (text, date_ms(text)) if at_ms is None else (minute_of(at_ms), at_ms)


def is_descending(times: Sequence[int | None]) -> bool:
    """Check whether a list has the newest first: all times are known, none is later than the one before it,
    and the first and last differ.
    """
    known = [it for it in times if it is not None]
    if not known or len(known) < len(times) or known[0] == known[-1]:
        return False
    return all(one >= next_one for one, next_one in pairwise(known))


def count_ms(text: str) -> int | None:
    """Convert seconds, milliseconds, microseconds or nanoseconds, told apart by length, to milliseconds."""
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    # "1.71e9": the point moves nine digits to the right
    shift = int(found[3] or "0")
    fraction = (found[2] or "").ljust(shift, "0")
    whole, rest = (found[1] + fraction[:shift]).lstrip("0"), fraction[shift:]
    scale = next((it for it in SCALES if DIGITS_MIN <= len(whole) <= it[0]), None)
    if scale is None:
        return None
    _, factor, divisor = scale
    ms = int(rest.ljust(3, "0")[:3]) if factor > 1 else 0
    at_ms = int(whole) * factor // divisor + ms
    return at_ms if at_ms <= LAST_MS else None


def date_ms(text: str) -> int | None:
    """Return the milliseconds of a written date; None if it is not a date, or before 1970."""
    found = next((match for form in compiled_forms() if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    parts = found.groupdict()
    month = month_of(parts["name"]) if parts.get("name") else int(parts["month"])
    hour = hour_of(int(parts["hour"] or 0), parts.get("half"))
    minute, second = int(parts["minute"] or 0), int(parts.get("second") or 0)
    day = f"{parts['year']}-{month:02}-{int(parts['day']):02}"
    zone = zone_of(parts.get("zone") or "")
    at_ms = instant(f"{day}T{hour:02}:{minute:02}:{second:02}{zone}", is_end=False)
    return at_ms if at_ms is not None and at_ms >= 0 else None


# Ambiguous dates such as 3/10/24: other dates of the file decide whether the day or the month is first.


def find_order(times: Iterable[str]) -> str:
    """Return whether numeric dates of a file begin with `day` or `month`; empty if that is ambiguous."""
    days = [found for it in times if (found := SHORT_DAY.match(it))]
    if any("." in it[0] or int(it[1]) > MONTH_COUNT for it in days):
        return "day"
    return "month" if any(int(it[2]) > MONTH_COUNT for it in days) else ""


def order_day(text: str, order: str) -> str:
    """Rewrite a date that begins with a day or a month so that it begins with the year."""
    found = SHORT_DAY.match(text)
    if found is None or not order:
        return text
    day, month = (found[1], found[2]) if order == "day" else (found[2], found[1])
    year = found[3] if len(found[3]) > 2 else f"20{found[3]}"
    return f"{year}-{month}-{day}{text[found.end() :]}"


def zone_of(text: str) -> str:
    """Return a zone as `Z` or `+01:00`."""
    digits = text.upper().removeprefix("UTC").removeprefix("GMT").removeprefix("Z").replace(":", "")
    return f"{digits[:3]}:{digits[3:] or '00'}" if digits else "Z"


def month_of(name: str) -> int:
    """Return the number of a month by its name, in English also by three letters; 0 if it is no month."""
    short = "sep" if name.lower() == "sept" else name.lower()
    whole = (number for number, month in enumerate(MONTHS, 1) if short in (month, month[:3]))
    others = (
        number for names in OTHER_MONTHS for number, month in enumerate(names.split(), 1) if month == short
    )
    return next(chain(whole, others), 0)


def hour_of(hour: int, half: str | None) -> int:
    """Return the hour of the day: 12 am is 0, and 1 pm is 13."""
    if half is None:
        return hour
    # 13 pm is invalid, so it becomes hour 24, which is refused later
    return hour % 12 + (12 if half.lower() == "p" else 0) if hour <= 12 else 24

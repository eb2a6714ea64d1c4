"""Dates after words such as `yesterday`, which mean nothing once the day of the text is unknown.

    Ann moved yesterday.         Ann moved yesterday (2026-11-28).
    Bob left last week.          Bob left last week (2026-11-16/2026-11-22).
    I met Eve two years ago.     I met Eve two years ago (2024).

This is done here because models make mistakes with dates, and because it must also work without a model.

Law 1. No word changes. A date in parentheses that already follows such a word is corrected.
Law 2. Words that may mean several days get no date: `next Friday`, `in two weeks`, कल of Hindi.
Two adjacent phrases get one date: `heute vor einer Woche`, `a week from tomorrow`.
Law 3. Pure, total and idempotent.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from umi_core.config import Config
from umi_core.language.date_words import (
    AGO,
    DAYS,
    DIGITS_OF_NUMBER,
    FRENCH,
    FROM,
    FROM_NOW,
    LAST_WEEKDAY,
    MONTHS,
    MORE_THAN,
    NOT_BEHIND_MANANA,
    NOT_BEHIND_MORGEN,
    NUMBERS,
    OF_WEEK,
    PART_OF_NUMBER,
    PERIODS,
)
from umi_core.language.terms import classify, split_folded
from umi_core.language.times import date_of, days_to
from umi_core.limits import DAY_MS
from umi_core.text import size

NOT_BEHIND_THE: Final = "(?<!the )"  # the last week of May, the next week
ENGLISH_PERIODS: Final = ("last ", "next ")
AMBIGUOUS: Final = {  # words of `spans` that also mean other things, each with a pattern of where it is a day
    "hier": "hier",
    "morgen": "".join(f"(?<!{it} )" for it in NOT_BEHIND_MORGEN.split()) + "morgen",
    "mañana": "".join(f"(?<!{it} )" for it in NOT_BEHIND_MANANA.split()) + "mañana",
}

Span = tuple[str, int]
"""A unit and a number: how many units later. `weekday`: the last one before today, from 0 for Monday.
`monday`: days after this week's Monday. `last_month`: the last such month, from 0 for January. `from_` and a
unit: how many units after the day of the adjacent phrase.
"""
UNITS: Final = ("day", "week", "month", "year")
DATE: Final = r"[0-9]{4}(?:-[0-9]{2}){0,2}"
BEHIND: Final = rf"(?P<own>['’]s)?(?: \({DATE}(?:/{DATE})?\))?"
IN_SENTENCE: Final = re.compile(r"[a-zß-öø-ÿ] $")
FIRST_GREEK: Final = "\u0370"
FIRST_INDIC: Final = (
    "\u0900"  # from here on, most scripts write words without blanks, or particles behind them
)
LETTERS_BEFORE: Final = "a-z\u00c0-\u024f\u0370-\u05f2\u0620-\u064a\u0671-\u06d3"
NOT_IN_NUMBER: Final = (
    "".join(f"(?<!{it})" for it in (*PART_OF_NUMBER, *MORE_THAN)) + f"(?<![{DIGITS_OF_NUMBER}])(?<![0-9][.,])"
)
YEAR_MAX: Final = 9999
WEEK_DAYS: Final = 7
FIRST_MONDAY: Final = 4  # 1970-01-05
FIRST_DAY: Final = days_to(1, 1, 1)
LAST_DAY: Final = days_to(YEAR_MAX, 12, 31)


def add_dates(text: str, day: int, bytes_max: int) -> str:
    """Return the text with a date after each phrase relative to `day`, or unchanged if it would be too long.

    `day`: of the text, in days since 1970.
    """
    return add_written(text, lambda span: write_date(span, day), bytes_max)


def list_dated(text: str, day: int, bytes_max: int) -> tuple[str, ...]:
    """Return the text with its dates: seven times, with each day of the weeks it mentions, or else once."""

    def write(at: int) -> str:
        return add_written(text, lambda span: write_date(as_day(span, day, at), day), bytes_max)

    first = write(0)
    # Most texts have no date, and few of those that have one mention a week.
    is_of_week = first != text and first != write(WEEK_DAYS - 1)
    return tuple(dict.fromkeys(map(write, range(WEEK_DAYS)))) if is_of_week else (first,)


def add_written(text: str, write: Callable[[Span], str | None], bytes_max: int) -> str:
    dated = replace_dates(text, lambda span: f" ({date})" if (date := write(span)) else None)
    return dated if size(dated) <= bytes_max else text


def drop_dates(text: str) -> str:
    """Return the text without the dates after relative phrases."""
    # The search for phrases is slow compared with all other work on a short text.
    return replace_dates(text, lambda span: "") if " (" in text else text


def replace_dates(text: str, write: Callable[[Span], str | None]) -> str:
    """Return the text with the result of `write` after each phrase; None leaves that place unchanged."""
    pieces, done = list[str](), 0
    for last, end, span in find_phrases(text):
        if (date := write(span)) is not None:
            pieces += (text[done:last], date)
            done = end
    return "".join((*pieces, text[done:]))


@lru_cache(maxsize=64)  # the same text is dated several times, and the search is slow
def find_phrases(text: str) -> tuple[tuple[int, int, Span], ...]:
    """Return where the words of each phrase end, where a date behind them ends, and what they mean."""
    lower = text.replace("İ", "i").lower()  # lower() makes two characters of it, shifting indexes
    found = [
        (it, span_of(it, text) if stands_alone(it, text) else None)
        for it in pattern_for(lower).finditer(lower)
    ]
    return tuple(
        (match.end("own" if match["own"] else "word"), match.end(), span)
        for (match, _), span in zip(found, join_spans(found, lower), strict=True)
        if span is not None
    )


def join_spans(found: list[tuple[re.Match[str], Span | None]], text: str) -> list[Span | None]:
    """Return the spans, but None for the first of two adjacent ones: `today a week ago` is one day."""
    spans = [span for _, span in found]
    for at, ((match, one), (later, two)) in enumerate(pairwise(found)):
        if one is None or two is None or text[match.end() : later.start()] != " ":
            continue
        day, other = (one, two) if one[0] == "day" and is_counted(later) else (two, one)
        if day[0] == "day" and (is_counted(match) or is_counted(later)):
            unit, count = other[0].removeprefix("from_"), other[1]
            days = count * {"day": 1, "week": WEEK_DAYS}.get(unit, 0)
            spans[at], spans[at + 1] = None, ("day", day[1] + days) if days else None
    return spans


def is_counted(match: re.Match[str]) -> bool:
    """Check whether a match is a number of units."""
    return any(text is not None for name, text in match.groupdict().items() if name.startswith("counted"))


def stands_alone(match: re.Match[str], text: str) -> bool:
    """Check whether a match is no part of a word and no title: "Yesterday" in quotes is a song."""
    first, last = match.span("word")
    before, behind = text[first - 1 : first], text[last : last + 1]
    if before and before in '"“„«' and behind and behind in '"”“»':
        return False
    # A capitalized word after a lower-case one is a name: "The album Yesterday is old".
    if IN_SENTENCE.search(text, 0, first) and text[first : first + 1].isupper() and text[first + 1].islower():
        return False
    # From U+1100 on, words need no end: Korean particles follow directly, and many scripts have no spaces.
    sides = ((before, text[first]), (behind, text[last - 1]))
    return not any(side and classify(side) in "wm" and own < "\u1100" for side, own in sides)


def span_of(match: re.Match[str], text: str) -> Span | None:
    """Return the span that a match means, or None if its words mean something else here."""
    word = match["word"].replace("’", "'")
    if word == "hier" and FRENCH.isdisjoint(split_folded(text, with_single=False)):
        return None
    # "Morgen fliege ich", but not the greeting "Morgen!" and not "der Morgen".
    if word == "morgen" and text[match.start()] == "M" and not re.match(r" [^\W\d_]", text[match.end() :]):
        return None
    if is_counted(match):
        name, sign, language, form = next(it for it in forms_of_count() if re.fullmatch(it[3], word))
        found = re.fullmatch(form, word)
        assert found is not None
        assert found.lastgroup is not None
        count = int(found[1]) if found[1].isdecimal() else count_of(found[1], language)
        return name + found.lastgroup, sign * count
    return spans().get(word)


def count_of(word: str, language: str) -> int:
    words = enumerate(NUMBERS[language].split(), 1)
    return next(count for count, its in words if word in its.replace("_", " ").split("/"))


def write_date(span: Span, day: int) -> str | None:
    """Return the date of a span from a day, for a week both its ends; None outside the years 1 to 9999."""
    unit, count = span
    year, month, _ = date_of(day)
    match unit:
        case "year":
            return f"{year + count:04}" if 1 <= year + count <= YEAR_MAX else None
        case "month":
            years, months = divmod(12 * year + month - 1 + count, 12)
            return f"{years:04}-{months + 1:02}" if 1 <= years <= YEAR_MAX else None
        case "week":
            first, last = (write_date(as_day(span, day, at), day) for at in (0, WEEK_DAYS - 1))
            return f"{first}/{last}" if first and last else None
        case "monday":
            return write_day(day - (day - FIRST_MONDAY) % WEEK_DAYS + count)
        case "last_month":
            return f"{year - (month <= count + 1):04}-{count + 1:02}" if year > 1 else None
        case "from_day" | "from_week" | "from_month" | "from_year":
            return None
        case "weekday":
            # On a Friday, last Friday is a week ago.
            return write_day(day - 1 - (day - 1 - FIRST_MONDAY - count) % WEEK_DAYS)
    return write_day(day + count)


def as_day(span: Span, day: int, at: int) -> Span:
    """Return a span of a week as one of its days, `at` from 0 for Monday to 6; any other span unchanged."""
    unit, count = span
    return ("day", WEEK_DAYS * count - (day - FIRST_MONDAY) % WEEK_DAYS + at) if unit == "week" else span


def day_of(at_ms: int, config: Config) -> int:
    """Return the day of a time, in days since 1970, in the time zone of the configuration."""
    return (at_ms + config.utc_offset_minutes * 60_000) // DAY_MS


def write_day(day: int) -> str | None:
    year, month, date = date_of(day)
    return f"{year:04}-{month:02}-{date:02}" if 1 <= year <= YEAR_MAX else None


def name_day(day: int) -> str:
    """Return the day as prompts show it: `Sunday 2026-11-29`; clamped to the years 1 to 9999."""
    kept = min(max(day, FIRST_DAY), LAST_DAY)
    names = LAST_WEEKDAY[0][1].split()
    return f"{names[(kept - FIRST_MONDAY) % WEEK_DAYS].capitalize()} {write_day(kept)}"


@cache
def spans() -> dict[str, Span]:
    """Return the span of each fixed phrase."""
    days = {phrase: ("day", count) for count, phrases in DAYS.items() for phrase in phrases.split(", ")}
    periods = {phrase: span for span, phrases in PERIODS.items() for phrase in phrases.split(", ")}
    weekdays = {
        form.format(name): ("weekday", at)
        for form, names in LAST_WEEKDAY
        for at, name in enumerate(names.split())
    }
    weekdays |= {
        form.replace("_", " ").format(name): ("monday", WEEK_DAYS * weeks + at)
        for names, by_week in OF_WEEK.items()
        for weeks, forms in by_week.items()
        for form in forms.split()
        for at, name in enumerate(names.split())
    }
    months = {f"last {name}": ("last_month", at) for at, name in enumerate(MONTHS.split())}
    return {
        **days,
        **periods,
        **weekdays,
        **months,
        "hier": ("day", -1),
        "morgen": ("day", 1),
        "mañana": ("day", 1),
    }


@cache
def forms_of_count() -> tuple[tuple[str, int, str, str], ...]:
    """Return the forms with a number: the prefix of the unit, the sign, the language, and a pattern.

    The groups of a pattern are the number and its unit. `re` compiles a pattern when a date needs it: most
    runs need none, and all of them take 8 ms.
    """
    forms = [("", -1, *it) for it in AGO] + [("", 1, *FROM_NOW)] + [("from_", 1, *it) for it in FROM]
    return tuple(
        (name, sign, language, form.format(f"({count_in(language)}) ?(?:{name_units(units)})"))
        for name, sign, language, form, units in forms
    )


def count_in(language: str) -> str:
    words = re.split("[ /]", NUMBERS[language])
    return "|".join(("[0-9]{1,3}", *(it.replace("_", " ") for it in words)))


def name_units(units: str) -> str:
    return "|".join(f"(?P<{unit}>{form})" for unit, form in zip(UNITS, units.split(), strict=True))


def pattern_for(text: str) -> re.Pattern[str]:
    """Return the pattern for a text: most texts need only the phrases in Latin letters."""
    return pattern(is_latin=text.isascii() or max(text) < FIRST_GREEK)


@cache
def pattern(is_latin: bool) -> re.Pattern[str]:
    """Return the pattern of all phrases, compiled on first use, because many commands never need it."""
    counted = {re.sub(r"\((?!\?:)(?:\?P<\w+>)?", "(?:", form): None for *_, form in forms_of_count()}
    written = sorted((it for it in spans() if it not in AMBIGUOUS), key=len, reverse=True)
    plain = [NOT_BEHIND_THE * it.startswith(ENGLISH_PERIODS) + re.escape(it) for it in written]
    groups = list[str]()
    for is_spaced in (True, False)[: 1 + (not is_latin)]:
        ours = [it for it in (*plain, *AMBIGUOUS.values()) if (max(it) < FIRST_INDIC) is is_spaced]
        forms = [it for it in counted if (max(it) < FIRST_INDIC) is is_spaced]
        ours, forms = (
            [it for it in its if not (is_latin and max(it) >= FIRST_GREEK)] for its in (ours, forms)
        )
        first = rf"(?<![{LETTERS_BEFORE}])" * is_spaced
        groups.append(
            f"{first}(?:{'|'.join(ours)}|(?P<counted{int(is_spaced)}>{NOT_IN_NUMBER}(?:{'|'.join(forms)})))"
        )
    words = "|".join(groups).replace("\\ ", " ").replace("'", "['’]")
    return re.compile(rf"(?P<word>{words}){BEHIND}")

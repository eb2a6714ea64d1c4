"""Dates behind words such as `yesterday`, which say nothing to a reader who does not know when that was.

    Ann moved yesterday.         Ann moved yesterday (2026-11-28).
    Bob left last week.          Bob left last week (2026-11-16/2026-11-22).
    I met Eve two years ago.     I met Eve two years ago (2024).

A model counts days badly, and without a model nothing counts them, so this is done here.

Law 1. Words stay as they are. A date in parentheses that stands behind such a word already is corrected.
Law 2. Words that may mean several days get no date: `next Friday`, `in two weeks`, कल of Hindi.
Law 3. Pure and total, and done twice as done once.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from umi_core.config import Config
from umi_core.language.terms import classify, split_folded
from umi_core.language.times import date_of, days_to
from umi_core.limits import DAY_MS
from umi_core.text import size

# Phrases by unit, and how many units later than the text's day, week, month or year.
DAYS: Final = {
    -2: "day before yesterday, vorgestern, avant-hier, anteayer, antes de ayer, l'altro ieri, anteontem, "
        "eergisteren, przedwczoraj, позавчера, позавчора, 前天, 一昨日, おととい, 그저께",
    -1: "yesterday, last night, gestern, hier soir, hier matin, ayer, anoche, ieri, ontem, gisteren, "
        "wczoraj, dün, igår, i går, вчера, вчора, أمس, אתמול, 昨天, 昨日, 어제, hôm qua, kemarin, เมื่อวาน",
    0: "today, tonight, this morning, this afternoon, this evening, heute, aujourd'hui, ce matin, ce soir, "
       "hoy, esta mañana, esta tarde, esta noche, oggi, stamattina, stasera, hoje, vandaag, dziś, dzisiaj, "
       "bugün, idag, i dag, сегодня, сьогодні, היום, आज, 今天, 今日, 오늘, hôm nay, hari ini, วันนี้",
    1: "tomorrow, demain, domani, amanhã, jutro, yarın, imorgon, завтра, غدا, מחר, 明天, 明日, 내일, "
       "ngày mai, พรุ่งนี้",
    2: "day after tomorrow, übermorgen, après-demain, pasado mañana, dopodomani, depois de amanhã, "
       "overmorgen, pojutrze, послезавтра, післязавтра, 后天, 明後日, 모레",
}  # fmt: skip
PERIODS: Final = {
    ("week", -1): "last week, letzte woche, vorige woche, la semaine dernière, la semana pasada, "
                  "la settimana scorsa, semana passada, vorige week, afgelopen week, 上周, 先週, 지난주",
    ("week", 0): "this week, diese woche, cette semaine, esta semana, questa settimana",
    ("week", 1): "next week, nächste woche, la semaine prochaine, la próxima semana, la semana que viene, "
                 "la settimana prossima, semana que vem, volgende week",
    ("month", -1): "last month, letzten monat, vorigen monat, le mois dernier, el mes pasado, "
                   "il mese scorso, mês passado, vorige maand, afgelopen maand, 上个月, 先月, 지난달",
    ("month", 0): "this month, diesen monat, ce mois-ci, este mes, questo mese, este mês",
    ("month", 1): "next month, nächsten monat, le mois prochain, el próximo mes, el mes que viene, "
                  "il mese prossimo, mês que vem, volgende maand",
    ("year", -1): "last year, letztes jahr, voriges jahr, l'an dernier, l'année dernière, el año pasado, "
                  "l'anno scorso, ano passado, vorig jaar, afgelopen jaar, 去年, 昨年, 작년",
    ("year", 0): "this year, dieses jahr, cette année, este año, quest'anno, este ano, 今年, 올해",
    ("year", 1): "next year, nächstes jahr, l'année prochaine, l'an prochain, el próximo año, "
                 "el año que viene, l'anno prossimo, ano que vem, volgend jaar, 明年, 来年, 내년",
}  # fmt: skip
LAST_WEEKDAY: Final = (  # how the last one is named, and the days from Monday
    ("last {}", "monday tuesday wednesday thursday friday saturday sunday"),
    ("letzten {}", "montag dienstag mittwoch donnerstag freitag samstag sonntag"),
    ("{} dernier", "lundi mardi mercredi jeudi vendredi samedi dimanche"),
    ("{} pasado", "lunes martes miércoles jueves viernes sábado domingo"),
    ("{} scorso", "lunedì martedì mercoledì giovedì venerdì sabato"),
    ("afgelopen {}", "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
)
AGO: Final = (  # day, week, month and year in each language, behind a number
    ("{} ago", "days? weeks? months? years?"),
    ("vor {}", "tag(?:en)? wochen? monat(?:en)? jahr(?:en)?"),
    ("il y a {}", "jours? semaines? mois ans?"),
    ("hace {}", "días? semanas? mes(?:es)? años?"),
    ("{} fa", "(?:giorno|giorni) (?:settimana|settimane) (?:mese|mesi) (?:anno|anni)"),
    ("há {}", "dias? semanas? (?:meses|mes|mês) anos?"),
)
NUMBERS: Final = (
    "a one an un une una uno um uma ein einem einer eine", "two zwei deux dos due dois duas",
    "three drei trois tres tre três", "four vier quatre cuatro quattro quatro", "five fünf cinq cinco cinque",
    "six sechs seis sei", "seven sieben sept siete sette sete", "eight acht huit ocho otto oito",
    "nine neun neuf nueve nove", "ten zehn dix diez dieci dez",
)  # fmt: skip

# Words that are also others: French `hier` is German for here; guten Morgen and la mañana are no days.
FRENCH: Final = frozenset("ai as avons avez ont est était suis nous vous il elle ils elles j'ai".split())
NOT_BEHIND_THE: Final = "(?<!the )"  # the last week of May, the next week
ENGLISH_PERIODS: Final = ("last ", "next ")
NOT_BEHIND_MORGEN: Final = "guten heute gestern jeden am goede elke de"
NOT_BEHIND_MANANA: Final = "la esta cada de una pasado"
AMBIGUOUS: Final = {  # words of `spans`, and where each is meant
    "hier": "hier",
    "morgen": "".join(f"(?<!{it} )" for it in NOT_BEHIND_MORGEN.split()) + "morgen",
    "mañana": "".join(f"(?<!{it} )" for it in NOT_BEHIND_MANANA.split()) + "mañana",
}

Span = tuple[str, int]  # a unit and how many later; of the last Friday, or another: weekday, days from Monday
UNITS: Final = ("day", "week", "month", "year")
DATE: Final = r"[0-9]{4}(?:-[0-9]{2}){0,2}"
BEHIND: Final = rf"(?P<own>['’]s)?(?: \({DATE}(?:/{DATE})?\))?"
COUNT: Final = rf"[0-9]{{1,3}}|{'|'.join(' '.join(NUMBERS).split())}"
YEAR_MAX: Final = 9999
WEEK_DAYS: Final = 7
FIRST_MONDAY: Final = 4  # 1970-01-05
FIRST_DAY: Final = days_to(1, 1, 1)
LAST_DAY: Final = days_to(YEAR_MAX, 12, 31)


def add_dates(text: str, day: int, bytes_max: int) -> str:
    """Return the text with a date behind each word that counts from its day, unless it became too long.

    `day`: days since 1970.
    """
    return add_written(text, lambda span: write_date(span, day), bytes_max)


def list_dated(text: str, day: int, bytes_max: int) -> tuple[str, ...]:
    """Return the text with its dates: once for each day of a week if it speaks of weeks, else only once."""

    def write(at: int) -> str:
        return add_written(text, lambda span: write_date(as_day(span, day, at), day), bytes_max)

    first = write(0)
    # Most texts have no date, and few of those that have one speak of a week.
    is_of_week = first != text and first != write(WEEK_DAYS - 1)
    return tuple(dict.fromkeys(map(write, range(WEEK_DAYS)))) if is_of_week else (first,)


def add_written(text: str, write: Callable[[Span], str | None], bytes_max: int) -> str:
    dated = replace_dates(text, lambda span: f" ({date})" if (date := write(span)) else None)
    return dated if size(dated) <= bytes_max else text


def drop_dates(text: str) -> str:
    """Return the text without the dates behind words that count from a day."""
    # Looking for the words takes longer than all else that is done with a short text.
    return replace_dates(text, lambda span: "") if " (" in text else text


def replace_dates(text: str, write: Callable[[Span], str | None]) -> str:
    """Return the text with what `write` returns behind each such word; None leaves it as it is."""
    lower = text.replace("İ", "i").lower()  # the one letter of which lower() makes two: places would differ
    pieces, done = list[str](), 0
    for match in pattern().finditer(lower):
        span = span_of(match, text) if stands_alone(match, text) else None
        if span is not None and (date := write(span)) is not None:
            end = match.end("own" if match["own"] else "word")
            pieces += (text[done:end], date)
            done = match.end()
    return "".join((*pieces, text[done:]))


def stands_alone(match: re.Match[str], text: str) -> bool:
    """Return whether it is no part of a word, and no title: "Yesterday" in quotes is a song."""
    first, last = match.span("word")
    before, behind = text[first - 1 : first], text[last : last + 1]
    if before and before in '"“„«' and behind and behind in '"”“»':
        return False
    # Scripts without spaces have no end of a word to look for, and Korean particles stand right behind one.
    sides = ((before, text[first]), (behind, text[last - 1]))
    return not any(side and classify(side) in "wm" and own < "\u1100" for side, own in sides)


def span_of(match: re.Match[str], text: str) -> Span | None:
    """Return what the words of a match mean; None if they mean something else here."""
    word = match["word"].replace("’", "'")
    if word == "hier" and FRENCH.isdisjoint(split_folded(text, with_single=False)):
        return None
    if word == "morgen" and text[match.start()] == "M":  # der Morgen
        return None
    for form in forms_of_ago():
        if found := form.fullmatch(word):
            assert found.lastgroup is not None
            return found.lastgroup, -(int(found[1]) if found[1].isdecimal() else count_of(found[1]))
    return spans().get(word)


def count_of(word: str) -> int:
    return next(count for count, words in enumerate(NUMBERS, 1) if word in words.split())


def write_date(span: Span, day: int) -> str | None:
    """Return the date that far from a day, of a week its ends; None outside the years 1 to 9999."""
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
        case "weekday":
            # Last Friday, said on a Friday, is a week ago.
            return write_day(day - 1 - (day - 1 - FIRST_MONDAY - count) % WEEK_DAYS)
    return write_day(day + count)


def as_day(span: Span, day: int, at: int) -> Span:
    """Return a week as one of its days, from 0 for Monday to 6; any other span as it is."""
    unit, count = span
    return ("day", WEEK_DAYS * count - (day - FIRST_MONDAY) % WEEK_DAYS + at) if unit == "week" else span


def day_of(at_ms: int, config: Config) -> int:
    """Return the day since 1970 on which a time falls, by the clocks of the memory's users."""
    return (at_ms + config.utc_offset_minutes * 60_000) // DAY_MS


def write_day(day: int) -> str | None:
    year, month, date = date_of(day)
    return f"{year:04}-{month:02}-{date:02}" if 1 <= year <= YEAR_MAX else None


def name_day(day: int) -> str:
    """Return the day as a model is told it: `Sunday 2026-11-29`; beyond the years 1 to 9999 their end."""
    kept = min(max(day, FIRST_DAY), LAST_DAY)
    names = LAST_WEEKDAY[0][1].split()
    return f"{names[(kept - FIRST_MONDAY) % WEEK_DAYS].capitalize()} {write_day(kept)}"


@cache
def spans() -> dict[str, Span]:
    """Return what each phrase means."""
    days = {phrase: ("day", count) for count, phrases in DAYS.items() for phrase in phrases.split(", ")}
    periods = {phrase: span for span, phrases in PERIODS.items() for phrase in phrases.split(", ")}
    weekdays = {
        form.format(name): ("weekday", at)
        for form, names in LAST_WEEKDAY
        for at, name in enumerate(names.split())
    }
    return {**days, **periods, **weekdays, "hier": ("day", -1), "morgen": ("day", 1), "mañana": ("day", 1)}


@cache
def forms_of_ago() -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each language, whose groups are the number and the unit that it counts."""
    return tuple(
        re.compile(form.format(f"({COUNT}) (?:{'|'.join(map(name_group, UNITS, units.split()))})"))
        for form, units in AGO
    )


def name_group(unit: str, form: str) -> str:
    return f"(?P<{unit}>{form})"


@cache
def pattern() -> re.Pattern[str]:
    """Return what finds all these words, compiled when a text first needs it: a command may need it never."""
    plain = sorted((it for it in spans() if it not in AMBIGUOUS), key=len, reverse=True)
    plain = [NOT_BEHIND_THE * it.startswith(ENGLISH_PERIODS) + re.escape(it) for it in plain]
    ago = [re.sub(r"\((?!\?:)(?:\?P<\w+>)?", "(?:", it.pattern) for it in forms_of_ago()]
    words = "|".join((*ago, *plain, *AMBIGUOUS.values())).replace("\\ ", " ")
    words = words.replace("'", "['’]")
    return re.compile(rf"(?P<word>{words}){BEHIND}")

"""Goal: words that count from a day get their date, and others have none."""

import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import read_cell, rows
from umi_core.config import Config
from umi_core.language import date_words, dates
from umi_core.language.dates import add_dates, day_of, drop_dates, find_phrases, list_dated, name_day
from umi_core.language.extraction import Extraction, parse_extraction
from umi_core.limits import DAY_MS
from umi_core.text import size
from umi_core.workflows.recall import list_texts

EPOCH = date(1970, 1, 1)
SUNDAY = (date(2026, 11, 29) - EPOCH).days
ANY = 100_000


def dated(text: str, day: int = SUNDAY) -> str:
    return add_dates(text, day, ANY)


def test_no_word_has_two_meanings() -> None:
    rows = [*date_words.DAYS.values(), *date_words.PERIODS.values()]
    words = [word for row in rows for word in row.split(", ")]
    assert sorted({*words}) == sorted(words)
    assert all(len(row.split()) == 10 for row in date_words.NUMBERS.values())
    assert {language for language, *_ in date_words.AGO} == {*date_words.NUMBERS}


def test_each_phrase_of_a_table_is_found_with_its_meaning() -> None:
    meant = [(phrases.split(", "), ("day", count)) for count, phrases in date_words.DAYS.items()]
    meant += [(phrases.split(", "), span) for span, phrases in date_words.PERIODS.items()]
    meant += [
        ([form.format(name)], ("weekday", at))
        for form, names in date_words.LAST_WEEKDAY
        for at, name in enumerate(names.split())
        if name != "_"
    ]
    found = [(each, span, find_phrases(each)) for phrases, span in meant for each in phrases]
    assert [it for it in found if [span for _, _, span in it[2]] != [it[1]]] == []


def test_the_first_text_of_a_process_gets_the_dates_of_any_later_one() -> None:
    texts = ("three days ago, last week and last Sunday", "上周五见了他", "vor 2 Wochen", "две недели назад")
    later = [dated(text) for text in texts]
    for cached in (dates.spans, dates.forms_of_count, dates.pattern):
        cached.cache_clear()
    assert [dated(text) for text in texts] == later
    assert all(text != given for text, given in zip(texts, later, strict=True))


NUMBERED = [
    (form.replace("{}", f"{number.replace('_', ' ')} {unit}"), -count)
    for language, form, units in date_words.AGO
    for count, numbers in enumerate(date_words.NUMBERS[language].split(), 1)
    for number in numbers.split("/")
    for unit in units.split()[:1]
    if not {*"(?["} & {*form, *unit}
]


@pytest.mark.parametrize(("text", "count"), NUMBERED)
def test_each_number_of_days_is_counted(text: str, count: int) -> None:
    due = EPOCH + timedelta(days=SUNDAY + count)
    assert dated(text) == f"{text} ({due.isoformat()})"


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("Ann moved yesterday.", "Ann moved yesterday (2026-11-28)."),
        ("YESTERDAY I ran", "YESTERDAY (2026-11-28) I ran"),
        ("the day before yesterday", "the day before yesterday (2026-11-27)"),
        ("See you tomorrow!", "See you tomorrow (2026-11-30)!"),
        ("yesterday's meeting", "yesterday's (2026-11-28) meeting"),
        ("yesterday’s meeting", "yesterday’s (2026-11-28) meeting"),
        ("Bob left last week.", "Bob left last week (2026-11-16/2026-11-22)."),
        ("this week, next week", "this week (2026-11-23/2026-11-29), next week (2026-11-30/2026-12-06)"),
        ("last month and next month", "last month (2026-10) and next month (2026-12)"),
        ("a year ago", "a year ago (2025)"),
        ("14 months ago", "14 months ago (2025-09)"),
        ("two weeks ago", "two weeks ago (2026-11-09/2026-11-15)"),
        ("ten days ago", "ten days ago (2026-11-19)"),
        ("last Sunday", "last Sunday (2026-11-22)"),
        ("last Saturday, last Monday", "last Saturday (2026-11-28), last Monday (2026-11-23)"),
        ("Gestern kam sie", "Gestern (2026-11-28) kam sie"),
        ("ich fahre morgen", "ich fahre morgen (2026-11-30)"),
        ("vor drei Jahren", "vor drei Jahren (2023)"),
        ("letzten Freitag", "letzten Freitag (2026-11-27)"),
        ("Il est venu hier", "Il est venu hier (2026-11-28)"),
        ("il y a deux jours", "il y a deux jours (2026-11-27)"),
        ("l’an dernier", "l’an dernier (2025)"),
        ("pasado mañana", "pasado mañana (2026-12-01)"),
        ("mañana por la mañana", "mañana (2026-11-30) por la mañana"),
        ("hace una semana", "hace una semana (2026-11-16/2026-11-22)"),
        ("tre giorni fa", "tre giorni fa (2026-11-26)"),
        ("há dois meses", "há dois meses (2026-09)"),
        ("вчера был дождь", "вчера (2026-11-28) был дождь"),
        ("我昨天去了上海", "我昨天 (2026-11-28)去了上海"),
        ("어제는 비가 왔다", "어제 (2026-11-28)는 비가 왔다"),
        ("เมื่อวานฝนตก", "เมื่อวาน (2026-11-28)ฝนตก"),
        ("เมื่อวานซืนฝนตก", "เมื่อวานซืน (2026-11-27)ฝนตก"),
        ("大前天下雨", "大前天 (2026-11-26)下雨"),
        ("أول أمس كنت هنا", "أول أمس (2026-11-27) كنت هنا"),
        ("kemarin lusa saya sakit", "kemarin lusa (2026-11-27) saya sakit"),
        ("上周五见了他", "上周五 (2026-11-20)见了他"),
        ("先週の金曜日に会った", "先週の金曜日 (2026-11-20)に会った"),
        ("지난주 금요일에 만났다", "지난주 금요일 (2026-11-20)에 만났다"),
        ("来週の月曜日", "来週の月曜日 (2026-11-30)"),
        ("Bob两个星期前走了", "Bob两个星期前 (2026-11-09/2026-11-15)走了"),
        ("3일전에 왔다", "3일전 (2026-11-26)에 왔다"),
        ("две недели назад", "две недели назад (2026-11-09/2026-11-15)"),
        ("twee weken geleden", "twee weken geleden (2026-11-09/2026-11-15)"),
        ("в прошлую пятницу", "в прошлую пятницу (2026-11-27)"),
        ("heute vor einer Woche", "heute vor einer Woche (2026-11-22)"),
        ("Gestern vor 2 Tagen", "Gestern vor 2 Tagen (2026-11-26)"),
        ("a week ago today", "a week ago today (2026-11-22)"),
        ("a week from tomorrow", "a week from tomorrow (2026-12-07)"),
        ("morgen in einer Woche", "morgen in einer Woche (2026-12-07)"),
        ("ten days from now", "ten days from now (2026-12-09)"),
        ("a couple of days ago", "a couple of days ago (2026-11-27)"),
        ("last November and last December", "last November (2025-11) and last December (2025-12)"),
        ("last October", "last October (2026-10)"),
        ("Morgen fliege ich", "Morgen (2026-11-30) fliege ich"),
        ("I ran. Yesterday, too", "I ran. Yesterday (2026-11-28), too"),
    ],
)
def test_a_word_has_its_date_behind_it(text: str, due: str) -> None:
    assert dated(text) == due


@pytest.mark.parametrize(
    "text",
    [
        "", "next Friday", "in two weeks", "yesterdays", "todayish", "midyesterday", "ago", "last", "lastly",
        "Ich wohne hier.", "guten morgen", "Morgen!", "la mañana", "कल मिलेंगे",
        'They sang "Yesterday" again', "„Yesterday“", "«Today»", "2026-11-28", "week", "one of two", "six",
        "the last week of May", "in the last year", "The next month she left.", "the last night",
        "the last Friday", "half a year ago", "twenty two days ago", "twenty-two days ago", "2.5 years ago",
        "more than a week ago", "veinte y dos días", "二十三天前", "几天前", "a year ago today",
        "Morgen, Ann", "Der Morgen graut", "the album Yesterday", "in einer Woche", "a month from",
    ],
)  # fmt: skip
def test_any_other_word_has_none(text: str) -> None:
    assert dated(text) == text


def test_a_date_that_stands_there_is_put_right() -> None:
    assert dated("Yesterday (2020-01-01) and last week (2020)") == (
        "Yesterday (2026-11-28) and last week (2026-11-16/2026-11-22)"
    )
    assert dated("yesterday (in Rome)") == "yesterday (2026-11-28) (in Rome)"


@pytest.mark.parametrize("text", ["Ann moved yesterday.", "last week and today", "nothing of that"])
def test_dates_that_were_added_can_be_dropped(text: str) -> None:
    assert drop_dates(dated(text)) == text


def test_a_letter_that_lower_case_makes_longer_shifts_no_place() -> None:
    assert dated("İzmir, Yesterday") == "İzmir, Yesterday (2026-11-28)"


def test_a_text_that_would_be_too_long_has_none() -> None:
    text = "yesterday " * 10
    assert add_dates(text, SUNDAY, size(dated(text))) == dated(text)
    assert add_dates(text, SUNDAY, size(dated(text)) - 1) == text


def test_years_that_cannot_be_written_have_none() -> None:
    first, last = (date(1, 1, 1) - EPOCH).days, (date(9999, 12, 31) - EPOCH).days
    for text in ("yesterday", "last week", "last month", "last year", "last Friday", "999 years ago"):
        assert dated(text, first) == text
    for text in ("tomorrow", "next week", "next month", "next year"):
        assert dated(text, last) == text
    assert dated("today", first) == "today (0001-01-01)"
    assert (name_day(first - 1), name_day(last + 1)) == (name_day(first), name_day(last))


def test_a_letter_that_is_two_in_lower_case_moves_no_date() -> None:
    assert dated("İstanbul yesterday") == "İstanbul yesterday (2026-11-28)"


@given(st.integers(-700_000, 2_900_000))
def test_days_are_those_of_the_calendar(day: int) -> None:
    there = EPOCH + timedelta(days=day)
    assert name_day(day) == f"{there:%A} {there.isoformat()}"
    assert dated("yesterday", day) == f"yesterday ({(there - timedelta(days=1)).isoformat()})"
    weekday = name_day(day).split()[0]
    assert dated(f"last {weekday}", day) == f"last {weekday} ({(there - timedelta(days=7)).isoformat()})"
    monday = there - timedelta(days=there.weekday())
    assert dated("this week", day) == f"this week ({monday}/{monday + timedelta(days=6)})"


PIECES = st.sampled_from(
    [
        *dates.spans(),
        "three days ago",
        "vor 2 Wochen",
        " (2020-01-01)",
        " (2020)",
        "'s",
        '"',
        "é",
        "\n",
        "İ",
        "x",
    ]
)


@pytest.mark.uncounted
@given(st.lists(st.one_of(PIECES, st.text(max_size=5))).map(" ".join), st.integers(0, 40_000))
def test_words_stay_and_a_second_pass_changes_nothing(text: str, day: int) -> None:
    once = add_dates(text, day, ANY)
    assert add_dates(once, day, ANY) == once
    words = dates.pattern(is_latin=False)
    assert words.sub(lambda found: found["word"], once.lower()) == words.sub(
        lambda found: found["word"], text.lower()
    )


def test_other_spellings_are_in_the_first_text_of_a_search_alone() -> None:
    assert list_texts("Gate77", 0) == ("Gate77 Gate 77", "Gate77")
    assert list_texts("Gate77 yesterday", 1) == ("Gate77 yesterday Gate 77", "Gate77 yesterday (1970-01-01)")


@pytest.mark.parametrize("row", rows("memory", "searched_texts"), ids=str)
def test_the_texts_of_a_query_are_those_of_the_specification(row: dict[str, str]) -> None:
    query, day = read_cell(row["query"]), (date.fromisoformat(row["on"]) - EPOCH).days
    assert list_texts(query, day) == (query, *read_cell(row["texts with dates"]))


def test_a_query_has_a_text_for_each_day_of_a_week_and_else_one() -> None:
    days = [f"2026-11-{day}" for day in range(16, 23)]
    texts = [f"yesterday (2026-11-28) or last week ({day})" for day in days]
    assert list_dated("yesterday or last week", SUNDAY, ANY) == tuple(texts)
    assert list_dated("this month or this year", SUNDAY, ANY) == ("this month (2026-11) or this year (2026)",)
    assert list_dated("no such word", SUNDAY, ANY) == ("no such word",)
    monday = "two weeks ago (2026-11-09)"
    assert list_dated("two weeks ago (2026-11-09/2026-11-15)", SUNDAY, ANY)[0] == monday


def test_the_last_week_that_can_be_written_has_the_days_that_can_be() -> None:
    last = (date(9999, 12, 31) - EPOCH).days  # a Friday
    texts = [*(f"this week (9999-12-{day})" for day in range(27, 32)), "this week"]
    assert list_dated("this week", last, ANY) == tuple(texts)
    assert list_dated("next week", last, ANY) == ("next week",)


def test_a_query_that_would_become_too_long_is_searched_as_it_is() -> None:
    query = "yesterday " * 10
    (text,) = list_dated(query, SUNDAY, ANY)
    assert list_dated(query, SUNDAY, size(text)) == (text,)
    assert list_dated(query, SUNDAY, size(text) - 1) == (query,)


@pytest.mark.uncounted
@given(st.lists(st.one_of(PIECES, st.text(max_size=5))).map(" ".join), st.integers(0, 40_000))
def test_texts_with_dates_say_what_the_query_says(text: str, day: int) -> None:
    texts = list_dated(text, day, ANY)
    assert {drop_dates(it) for it in texts} == {drop_dates(text)}
    assert len(texts) in (1, 7)
    assert len({*texts}) == len(texts)
    assert len(texts) == 7 or texts == (add_dates(text, day, ANY),)


def test_days_are_those_of_the_users() -> None:
    late = 10 * DAY_MS - 60_000
    assert day_of(late, Config()) == 9
    assert day_of(late, Config(utc_offset_minutes=1)) == 10
    assert day_of(10 * DAY_MS, Config(utc_offset_minutes=-1)) == 9


def test_a_model_that_counts_wrong_is_corrected() -> None:
    contents = ["Ann moved yesterday (2026-11-20)", "Ann moved yesterday", "Ann moved yesterday (2026-11-28)"]
    reply = json.dumps({"entities": [{"name": "Ann", "type": "person", "content": it} for it in contents]})
    found = parse_extraction(reply, dated("Ann moved yesterday"), Config(), SUNDAY)
    assert isinstance(found, Extraction)
    assert [it.content for it in found.entities] == ["Ann moved yesterday (2026-11-28)"]

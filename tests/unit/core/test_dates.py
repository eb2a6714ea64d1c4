"""Goal: words that count from a day get their date, and others have none."""

import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import rows, told
from tests.spec_tables import text as spec_text
from umi_core.config import Config
from umi_core.language import dates
from umi_core.language.dates import add_dates, day_of, drop_dates, list_dated, name_day
from umi_core.language.extraction import Extraction, parse_extraction
from umi_core.limits import DAY_MS
from umi_core.text import size
from umi_core.workflows.recall import list_texts

EPOCH = date(1970, 1, 1)
SUNDAY = (date(2026, 11, 29) - EPOCH).days
ANY = 100_000


def dated(text: str, day: int = SUNDAY) -> str:
    return add_dates(text, day, ANY)


def test_the_words_are_those_of_the_specification() -> None:
    spans = [("day", count, words) for count, words in dates.DAYS.items()]
    spans += [(unit, count, words) for (unit, count), words in dates.PERIODS.items()]
    rows = [f"{unit} {count:+}: {words}" for unit, count, words in spans]
    rows += [f"{form}: {words}" for form, words in (*dates.LAST_WEEKDAY, *dates.AGO)]
    rows += [f"{count}: {words}" for count, words in enumerate(dates.NUMBERS, 1)]
    rows += [f"morgen: {dates.NOT_BEHIND_MORGEN}", f"mañana: {dates.NOT_BEHIND_MANANA}"]
    assert spec_text("memory", "dates").split("\n") == rows


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
        "the last Friday",
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
    assert dates.pattern().sub(lambda found: found["word"], once.lower()) == dates.pattern().sub(
        lambda found: found["word"], text.lower()
    )


@pytest.mark.parametrize("row", rows("memory", "searched_texts"), ids=str)
def test_the_texts_of_a_query_are_those_of_the_specification(row: dict[str, str]) -> None:
    query, day = told(row["query"]), (date.fromisoformat(row["on"]) - EPOCH).days
    assert list_texts(query, day) == (query, *told(row["texts with dates"]))


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

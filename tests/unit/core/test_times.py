"""Goal: a time of the wire is the millisecond that a calendar says, and comes back as it went (K9.4)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.times import LAST_MS, format_time, instant
from umi_core.limits import DAY_MS

START = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(1, LAST_MS))
def test_a_time_is_printed_as_a_calendar_date_and_read_again(at_ms: int) -> None:
    due = (START + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert format_time(at_ms) == due
    assert instant(due, is_end=False) == at_ms


@pytest.mark.parametrize("year", [1972, 1999, 2000, 2023, 2024, 2100, 2400, 9999])
def test_every_day_of_a_year_is_one_day_after_the_one_before(year: int) -> None:
    first = (datetime(year, 1, 1, tzinfo=UTC) - START).days
    last = (datetime(year, 12, 31, tzinfo=UTC) - START).days
    for day in range(first, last + 1):
        date = (START + timedelta(days=day)).date().isoformat()
        assert instant(date, is_end=False) == day * DAY_MS
        assert instant(date, is_end=True) == (day + 1) * DAY_MS


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-02T00:00:00Z", DAY_MS), ("1970-01-02t00:00:00z", DAY_MS), ("1970-01-02 00:00:00Z", DAY_MS),
        ("1970-01-02T00:00:00.5Z", DAY_MS + 500), ("1970-01-02T00:00:00.123999Z", DAY_MS + 123),
        ("1970-01-02T01:30:00+01:30", DAY_MS), ("1970-01-01T19:00:00-05:00", DAY_MS),
        ("1970-01-02T01:30:00 01:30", DAY_MS),  # a plus in a query is a blank
        ("1969-12-31T23:59:59.999Z", -1), ("0000-03-01", -719_468 * DAY_MS),
    ],
)  # fmt: skip
def test_forms_of_a_time(text: str, at_ms: int) -> None:
    assert instant(text, is_end=False) == at_ms


@pytest.mark.parametrize(
    "text",
    [
        "", "1970", "1970-1-1", "1970-13-01", "1970-00-01", "1970-01-00", "1970-01-32", "2023-02-29",
        "2100-02-29", "1970-01-01T00:00:00", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+00:60", "\u0661970-01-01", "1970-01-01\n", "yesterday",
    ],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    assert instant(text, is_end=False) is None


def test_no_date_and_dates_behind_the_last_year() -> None:
    assert format_time(0) is None
    assert format_time(LAST_MS + 1) == "9999-12-31T23:59:59.999Z"

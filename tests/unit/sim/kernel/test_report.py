"""Goal: a report fits the width, nothing that is copied is broken, and a program gets the same."""

import pytest

from umi_sim.kernel.report import (
    COMMA,
    Line,
    Pair,
    Report,
    ReportRow,
    as_object,
    laid_out,
    list_row,
    row,
    under,
    whole,
)

NAMES = [f"kind_number_{n}" for n in range(200)]


@pytest.mark.parametrize("width", [30, 40, 80, 120, 200])
def test_every_line_that_can_be_broken_fits(width: int) -> None:
    lines: list[Line] = [
        row("label", "a word " * 99), list_row("never", NAMES),
        ReportRow("odd", ("x" * 20,) * 9, " | ", hang=4),
        Pair("l" * 500, "r" * 500, "|"), "a head " * 50, row("a label that is very long", "text " * 50),
    ]  # fmt: skip
    rows = list(laid_out(Report("head " * 60, lines), width))
    assert max(map(len, rows)) <= width
    assert len(rows) > len(lines) + 1


def test_what_is_copied_is_never_broken() -> None:
    command = "umi-sim replay " + "x" * 99
    (line,) = laid_out(Report("", [whole("repeat", command)]), 40)
    assert line == f"  repeat   {command}"


def test_what_is_beyond_the_most_is_counted() -> None:
    (line,) = laid_out(Report("", [list_row("never", NAMES, 2)]), 120)
    assert line == "  never    kind_number_0, kind_number_1, and 198 more"


def test_rows_under_a_label_have_it_once() -> None:
    assert list(laid_out(Report("head", under("bugs", [row("", "one"), row("", "two")])))) == [
        "head",
        "  bugs     one",
        "           two",
    ]


def test_a_terminal_obeys_nothing_that_a_report_holds() -> None:
    hostile = "\x1b[2J\u202e\n"
    lines: list[Line] = [
        row(hostile, hostile),
        ReportRow("", (hostile,) * 3, COMMA),
        Pair(hostile, hostile),
        hostile,
    ]
    assert all(line.isprintable() for line in laid_out(Report(hostile, lines)))


def test_a_program_gets_rows_by_their_labels() -> None:
    rows = [
        row("seen", "inside, by hand"),
        list_row("faults", ["a", "b"]),
        *under("bugs", [row("", "one"), row("", "two")]),
    ]
    assert as_object(rows) == {"seen": "inside, by hand", "faults": ["a", "b"], "bugs": ["one", "two"]}
    assert as_object([row("", "without a label")]) == {"more": ["without a label"]}

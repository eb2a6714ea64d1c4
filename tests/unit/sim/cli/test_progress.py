"""Goal: a command of more than two seconds prints its progress, in a line that is correct."""

import io
import sys

import pytest

from umi_sim.cli import progress
from umi_sim.cli.progress import AFTER_MS, LONG_MS, PLAIN_MS, ProgressDisplay, StageView
from umi_sim.kernel.progress import Stage, at


def test_a_line_tells_how_far_how_fast_and_how_long() -> None:
    view = StageView()
    assert view.line(Stage("run"), 1_000) == "run"
    assert view.line(Stage("sweep", 0, 400), 1_000) == "sweep: 0 of 400 runs"
    line = view.line(Stage("sweep", 120, 400, note="0 failures"), 5_000)
    assert line == "sweep: 120 of 400 runs, 30 a second, 9 s left, 0 failures"


def test_a_rate_below_one_a_second_is_printed_as_the_time_of_one() -> None:
    view = StageView()
    view.line(Stage("matrix", 0, 10), 0)
    assert view.line(Stage("matrix", 2, 10), 9_000) == "matrix: 2 of 10 runs, 4 s each, 36 s left"


def test_where_time_decides_it_is_counted_down() -> None:
    view = StageView()
    view.line(Stage("sweep", 0, 0, seconds=120), 0)
    assert view.line(Stage("sweep", 10, 0, seconds=120), 30_000) == "sweep: 10 runs, 3 s each, 1 min left"


def test_the_operations_of_one_run_are_printed() -> None:
    stage = Stage("smoke seed 42", unit="operation", within=lambda: (7, 50))
    assert StageView().line(stage, 0).startswith("smoke seed 42: 7 of 50 operations")


def test_what_ends_soon_says_nothing_and_a_plain_line_comes_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    at("replay", 1, 4, unit="file")
    watch = ProgressDisplay(0)
    watch.look(AFTER_MS - 1)
    assert capsys.readouterr().err == ""
    for ms in (AFTER_MS, AFTER_MS + 1, AFTER_MS + PLAIN_MS):
        watch.look(ms)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("umi-sim: replay: 1 of 4 files") for line in lines)


def test_a_notice_for_what_takes_minutes_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    watch = ProgressDisplay(0)
    at("sweep", 0, 1_000)
    watch.look(0)
    for second in range(10, 30, 10):
        at("sweep", second, 1_000)
        watch.look(second * 1_000)
    assert LONG_MS < 900_000
    assert capsys.readouterr().err.count("Ctrl-C ends it") == 1


def test_a_live_line_fits_its_terminal_and_a_dumb_one_gets_no_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "40")
    stage = Stage("looking for " + "x" * 100, 1)
    monkeypatch.setattr(progress, "NOW", stage)
    monkeypatch.setenv("TERM", "xterm")
    progress.ProgressDisplay(began_ms=0).look(progress.AFTER_MS)
    assert len(stream.getvalue().removeprefix(progress.ERASE)) == 40
    monkeypatch.setenv("TERM", "dumb")
    progress.ProgressDisplay(began_ms=0).look(progress.AFTER_MS)
    assert stream.getvalue().count("\x1b") == 1

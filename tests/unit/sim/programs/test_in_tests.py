"""Goal: a program is a test of pytest by a marker, and a rule of Hypothesis by a call."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umi_sim.programs import BadProgram, CancelTask, ProgramRun, check, simulate

pytest_plugins = ("pytester",)
PLUGIN = ("-p", "umi_sim.testing.pytest_plugin")
TESTS = """
import asyncio
import pytest

async def resume(run):
    assert run.history != ["half"], "half of it is there"

@pytest.mark.umi_program(resume=resume, drawn=2)
async def test_good(umi_run, tmp_path):
    assert tmp_path.is_dir()
    await asyncio.sleep(0.01)
    umi_run.history = ["half", "other"]

@pytest.mark.umi_program(resume=resume)
async def test_bad(umi_run):
    umi_run.history = ["half"]
    await asyncio.sleep(0.01)
    umi_run.history = ["half", "other"]

@pytest.mark.umi_program
async def test_without_a_run():
    await asyncio.sleep(0.01)

@pytest.mark.umi_program(without=["end"])
async def test_wrong():
    pass

@pytest.mark.umi_program
def test_plain(umi_run):
    pass
"""


def test_a_marked_test_is_a_program(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:xdist", "--strict-markers")
    done.assert_outcomes(passed=2, failed=3)
    done.stdout.fnmatch_lines(
        ["FAIL *:test_bad continues", "*repeat*pytest *.py::test_bad", "*half of it is there*"]
    )
    done.stdout.fnmatch_lines(["*without: unknown rule 'end'*"])
    done.stdout.fnmatch_lines(["*test_plain: expected an async test, as its marker is umi_program"])
    done.stdout.no_fnmatch_line("*another exception*")
    (kept,) = (pytester.path / ".umi-sim" / "programs").iterdir()
    again = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:xdist", "-k", "test_bad")
    again.stdout.fnmatch_lines(["*kept before: 1 run, 1 failing"])
    assert kept.exists()


def test_the_first_line_of_a_failed_check_is_its_verdict(tmp_path: Path) -> None:
    async def main(run: ProgramRun) -> None:
        raise ValueError("one\ntwo")

    with pytest.raises(AssertionError) as caught:
        check(main, folder=tmp_path)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("FAIL test_in_tests:")
    at = next(number for number, line in enumerate(lines) if line.startswith("  got "))
    assert lines[at].startswith("  got      main raised: ValueError: one; at test_in_tests.py:")
    assert lines[at + 1] == "           two"


def test_what_is_no_perturbation_is_refused() -> None:
    async def main() -> None: ...

    for own_loop in (False, True):
        with pytest.raises(BadProgram, match="got 'cancel'"):
            simulate(main, "cancel", own_loop=own_loop)  # type: ignore[arg-type] # that is the point


def test_a_partial_function_is_a_program(tmp_path: Path) -> None:
    async def main(number: int, run: ProgramRun) -> None:
        run.history = [number]
        assert number == 2, "it is another"

    assert check(partial(main, 2), folder=tmp_path, drawn=0).findings == []
    with pytest.raises(AssertionError, match="it is another"):
        check(partial(main, 1), folder=tmp_path, drawn=0)


@given(step=st.integers(1, 9))
@settings(max_examples=5, deadline=None)
def test_a_case_is_run_within_hypothesis(step: int) -> None:
    async def main(run: ProgramRun) -> None:
        await asyncio.sleep(0.01)

    simulate(main, CancelTask(step)).check()


@pytest.mark.parametrize(
    ("history", "calls"),
    [
        (
            [{"role": "assistant", "tool_calls": [{"id": "a"}]}, {"role": "tool", "tool_call_id": "a"}],
            "ca ra",
        ),
        (
            [
                {"type": "function_call", "call_id": "a"},
                {"type": "function_call_output", "call_id": "a"},
                {"role": "user", "content": "hello"},
            ],
            "ca ra",
        ),
        (
            [
                {"role": "assistant", "content": [{"type": "text"}, {"type": "tool_use", "id": "a"}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
            ],
            "ca ra",
        ),
        (
            [{"type": "ai", "tool_calls": [{"id": "a"}], "content": [{"type": "tool_use", "id": "a"}]}],
            "ca",
        ),
        ([{"parts": [{"part_kind": "tool-call", "tool_call_id": "a"}]}], "ca"),
        ([{"parts": [{"part_kind": "retry-prompt", "tool_call_id": "a", "tool_name": None}]}], ""),
    ],
)
def test_the_calls_of_a_history_are_read_in_each_form(history: list[Any], calls: str) -> None:
    from umi_sim.programs.rules import list_calls

    assert " ".join(f"{kind[0]}{call_id}" for kind, call_id in list_calls(history)) == calls


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([{"tool_calls": [{"id": "a"}]}], "call 'a' has no result"),
        ([{"role": "tool", "tool_call_id": "a"}], "the result of 'a' has no call before it"),
        (
            [{"tool_calls": [{"id": "a"}]}, *[{"role": "tool", "tool_call_id": "a"}] * 2],
            "call 'a' has more than one result",
        ),
    ],
)
def test_a_call_has_exactly_one_result(history: list[Any], message: str) -> None:
    async def main(run: ProgramRun) -> None:
        run.history = history

    broken = simulate(main).broken
    assert broken is not None
    assert (broken.rule, broken.message) == ("settles_calls", message)

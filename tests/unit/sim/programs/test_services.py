"""Goal: services fail as client libraries do, each failure before or after the request was applied."""

import asyncio
import contextlib
import json
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx
import pytest

from umi_sim.programs import (
    BadProgram,
    CancelTask,
    FailCall,
    ProgramRun,
    play_recording,
    play_script,
    service,
    simulate,
)
from umi_sim.programs.perturbations import FAILURES
from umi_sim.programs.services import LIBRARIES


def test_a_library_that_is_missing_is_reported_whatever_the_program_catches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("umi_sim.programs.services.is_installed", lambda package: package == "httpx")

    async def answer() -> int:
        return 1

    async def main(call: Any) -> None:
        with contextlib.suppress(Exception):
            await call()

    message = "errors='redis': redis is not installed"
    for call in (service(errors="redis")(answer), play_script("model", [1], errors="redis")):
        with pytest.raises(BadProgram, match=message):
            simulate(partial(main, call))
        assert asyncio.run(call()) == 1  # outside it is as it was
    for errors in ("httpx", "python", {"timeout": OSError}):
        assert simulate(partial(main, service(errors=errors)(answer))).broken is None


def test_a_script_that_is_too_short_is_reported_whatever_the_program_catches() -> None:
    model = play_script("model", ["a"])

    async def main() -> None:
        for _ in range(2):
            with contextlib.suppress(Exception):
                await model()

    with pytest.raises(BadProgram, match="model: is asked for reply 2, and has 1"):
        simulate(main)


APPLIED = {"refused": 0, "rate_limit": 0, "timeout": 1, "reset": 1, "malformed": 1, "slow": 1}


def call_once(how: Any, errors: Any = "python") -> tuple[Any, int]:
    """Return what a call came to that fails so, and how often it was applied."""
    applied = list[int]()
    seen = list[Any]()

    @service(errors=errors)
    async def ask() -> dict[str, int]:
        applied.append(1)
        return {"a": 1}

    async def main() -> None:
        try:
            seen.append(await ask())
        except Exception as error:
            seen.append(error)

    simulate(main, FailCall("ask", 1, how)).check()
    return seen[0], len(applied)


@pytest.mark.parametrize("how", APPLIED)
def test_a_failure_comes_before_or_after_the_request_was_applied(how: str) -> None:
    got, applied = call_once(how)
    assert applied == APPLIED[how]
    assert isinstance(got, dict) == (how == "slow")


def test_errors_are_those_of_the_client_library() -> None:
    assert isinstance(call_once("rate_limit")[0], HTTPError)
    assert isinstance(call_once("malformed")[0], json.JSONDecodeError)
    assert isinstance(call_once("timeout", "httpx")[0], httpx.ReadTimeout)
    limited = call_once("rate_limit", "httpx")[0]
    assert (type(limited), limited.response.status_code) == (httpx.HTTPStatusError, 429)
    assert isinstance(call_once("reset", {"reset": lambda: KeyError("own")})[0], KeyError)
    assert isinstance(call_once("refused", {})[0], ConnectionRefusedError)
    with pytest.raises(BadProgram, match="expected one of python, httpx, openai"):
        service(errors="other")(call_once)


@pytest.mark.parametrize("how", [each for each in FAILURES if each != "slow"])
@pytest.mark.parametrize("library", ["python", "httpx"])
def test_each_library_has_an_error_for_each_way(library: str, how: str) -> None:
    assert isinstance(LIBRARIES[library](how), Exception)


def test_a_text_is_cut_in_half_where_it_is_malformed() -> None:
    @service
    def ask() -> str:
        return "sunny!"

    async def main(run: ProgramRun) -> None:
        run.history = [await ask()]

    assert simulate(main, FailCall("ask", 1, "malformed")).check().history == ["sun"]


def test_a_stream_breaks_off_in_the_middle_or_is_slow() -> None:
    @service
    async def ask() -> Any:
        for word in ("a", "b", "c", "d"):
            yield word

    async def main(run: ProgramRun) -> None:
        run.history = []
        try:
            async for each in ask():
                run.history.append(each)
        except EOFError as error:
            run.history.append(type(error).__name__)

    assert simulate(main).check().history == ["a", "b", "c", "d"]
    assert simulate(main, FailCall("ask", 1, "cut")).check().history == ["a", "b", "IncompleteReadError"]
    assert simulate(main, FailCall("ask", 1, "slow")).check().history == ["a", "b", "c", "d"]


def test_a_reply_that_was_lost_is_given_again() -> None:
    ask = play_script("model", ["a", KeyError("x"), "b"])

    async def main(run: ProgramRun) -> None:
        run.history = []
        for _ in range(4):
            try:
                run.history.append(await ask())
            except (ConnectionResetError, KeyError) as error:
                run.history.append(type(error).__name__)

    case = FailCall("model", 1, "reset")
    assert simulate(main, case).check().history == ["ConnectionResetError", "a", "KeyError", "b"]
    with pytest.raises(BadProgram, match="model: is asked for reply 4, and has 3"):
        simulate(main)


def test_outside_of_a_simulation_a_service_is_as_it_was() -> None:
    @service
    async def double(number: int) -> int:
        return 2 * number

    script = play_script("model", ["a", "b"])

    async def main() -> list[Any]:
        return [await double(2), await script(), await script()]

    assert asyncio.run(main()) == [4, "a", "b"]


def test_a_recording_is_made_outside_and_played_within(tmp_path: Path) -> None:
    asked = list[str]()

    async def ask(city: str) -> dict[str, str]:
        asked.append(city)
        return {city: "sunny"}

    weather = play_recording(tmp_path / "weather.jsonl", ask)

    async def main(run: ProgramRun) -> None:
        run.history = [await weather("Bern")]

    with pytest.raises(BadProgram, match=r'no reply of ask to {"args": \["Bern"\].*call it once outside'):
        simulate(main)
    asyncio.run(weather("Bern"))
    assert simulate(main).check().history == [{"Bern": "sunny"}]
    assert asked == ["Bern"]


def test_a_recording_by_hand_may_hold_what_ends_a_line_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "weather.jsonl"
    file.write_text('{"args": ["Oslo"], "kwargs": {}, "reply": "rain\u2028or\x85snow"}\n\n', encoding="utf-8")
    assert asyncio.run(play_recording(file, str)("Oslo")) == "rain\u2028or\x85snow"


def test_a_call_that_is_cancelled_was_applied_or_not() -> None:
    applied = list[int]()

    @service
    async def ask() -> None:
        applied.append(1)

    async def main() -> None:
        await ask()

    counts = []
    for step in range(1, simulate(main).outcome.reached.step_count + 1):
        applied.clear()
        simulate(main, CancelTask(step)).check()
        counts.append(len(applied))
    assert counts == sorted(counts)
    assert set(counts) == {0, 1}

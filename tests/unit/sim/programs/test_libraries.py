"""Goal: a simulation does nothing to a library that a process and a network would not do to it."""

import asyncio
import datetime
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Lock
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from umi_sim.programs import (
    BadProgram,
    CancelTask,
    FailCall,
    FailSite,
    KillProcess,
    Perturbation,
    ProgramRun,
    explore,
    service,
    simulate,
)
from umi_sim.programs.search import kind_of
from umi_sim.targets.clocks import patch_names

SOURCE = """
from datetime import date, datetime
from os import urandom
from threading import Lock
from time import monotonic
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A library that nothing has loaded yet."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "loaded_late.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(folder)
    yield "loaded_late"
    sys.modules.pop("loaded_late", None)


def test_a_library_that_a_run_loads_reads_the_time_of_each_run(library: str) -> None:
    """Modules hold functions of time, chance, files and locks by names of their own."""
    real = datetime.date, datetime.datetime, time.monotonic

    async def main() -> None:
        late = __import__(library)
        before = late.monotonic()
        await asyncio.sleep(5)
        assert 5 <= late.monotonic() - before < 6
        assert abs(late.datetime.now().timestamp() - time.time()) < 1
        chance.append(late.urandom(8))

    chance = list[bytes]()
    for _ in range(3):
        simulate(main).check()
    assert len({*chance}) == 1
    late: Any = sys.modules[library]
    assert (late.date, late.datetime, late.monotonic) == real
    assert late.Lock is __import__("threading").Lock


def test_the_simulator_keeps_its_own_replacements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may be the first to load one of its modules, such as that of the locks of jobs."""
    owner, replacement = SimpleNamespace(Lock=Lock), Mock()
    of_library: Any = ModuleType("of_library")
    of_ours: Any = ModuleType("umi_sim.of_ours")
    of_library.Lock = of_ours.Lock = replacement
    with patch_names([(owner, "Lock", replacement)]):
        assert owner.Lock is replacement
        for module in (of_library, of_ours):
            monkeypatch.setitem(sys.modules, module.__name__, module)
    assert (owner.Lock, of_library.Lock) == (Lock, Lock)
    assert of_ours.Lock is replacement


def test_a_model_that_a_run_declares_may_have_dates() -> None:
    """pydantic and others look up the schema of a class in a dict."""
    pydantic = pytest.importorskip("pydantic")
    shown = {datetime.date: "date", datetime.datetime: "moment"}

    async def main() -> None:
        class Note(pydantic.BaseModel):  # type: ignore[misc, name-defined] # loaded here
            at: datetime.datetime
            day: datetime.date | None = None

        assert Note(at=datetime.datetime.now()).at == datetime.datetime.now()
        assert Note.model_validate_json('{"at": "2026-01-01T00:00:00", "day": "2026-01-01"}').day.year == 2026
        assert shown[datetime.date] == "date" != shown[datetime.datetime]
        assert datetime.date != datetime.datetime

    simulate(main).check()


class Wire:
    """A connection. Its finalizer closes it, as that of a client session does."""

    open_count = 0

    def __init__(self) -> None:
        Wire.open_count += 1

    def __del__(self) -> None:
        type(self).open_count -= 1  # the name may be gone when the interpreter ends


pool = list[Wire]()


@pytest.mark.parametrize("where", ["state", "global"])
def test_what_dies_runs_no_finalizer(where: str) -> None:
    async def main(run: ProgramRun) -> None:
        wire = Wire()
        if where == "state":
            run.state.wire = wire
        else:
            pool.append(wire)
        del wire
        await asyncio.sleep(1)
        counts.append(Wire.open_count)

    counts = list[int]()
    simulate(main, KillProcess(2)).check()
    assert counts == [1]


def test_a_reply_that_is_lost_closes_its_connection() -> None:
    """The client cannot close a response that it never got."""

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"ok"

        async def aclose(self) -> None:
            closed.append(True)

    async def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Body())

    async def main(run: ProgramRun) -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(reply)) as client:
            request = client.build_request("GET", "http://service.invalid/")
            response = await client.send(request, stream=True)
            await response.aclose()

    closed = list[bool]()
    outcome = simulate(main, FailSite("response", 1)).check()
    assert (closed, outcome.endings[0].how) == ([True], "raised")


@service
async def ask(name: str) -> str:
    if name == "b":
        raise ValueError("the second one")
    return name


async def ask_both() -> None:
    async with asyncio.TaskGroup() as tasks:
        for name in "ab":
            tasks.create_task(ask_alone(name))


async def ask_alone(name: str) -> None:
    assert (await ask(name)) == name


def test_the_error_in_a_group_is_named() -> None:
    broken = simulate(ask_both).broken
    assert broken is not None
    assert broken.message.endswith("(1 sub-exception): ValueError: the second one")
    assert broken.error == "ValueError"
    assert "(ask)" in broken.place


def test_two_errors_of_one_group_are_two_findings() -> None:
    async def fail(kind: type[Exception]) -> None:
        raise kind("it")

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail(kinds[0]))

    kinds: list[type[Exception]] = [KeyError]
    first = simulate(main).broken
    kinds[0] = OSError
    second = simulate(main).broken
    assert first is not None
    assert second is not None
    assert kind_of(first) != kind_of(second)


def test_what_is_out_of_reach_is_refused_in_a_group_too() -> None:
    async def connect() -> None:
        await asyncio.open_connection("localhost", 1)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(connect())

    with pytest.raises(BadProgram, match="needs an event loop with sockets"):
        simulate(main)


def test_a_program_may_end_its_executor_on_a_loop_of_asyncio() -> None:
    async def main() -> None:
        await asyncio.to_thread(sum, [1])
        await asyncio.get_running_loop().shutdown_default_executor()

    assert simulate(main, own_loop=True).check().leaked == ()


async def count_up() -> AsyncIterator[int]:
    for number in range(3):
        await asyncio.sleep(1)
        yield number


def test_the_place_of_a_task_is_found_within_an_async_generator() -> None:
    async def main() -> None:
        async for _ in count_up():
            pass

    async def step() -> None:
        task = asyncio.ensure_future(anext(count_up(), None))
        await task

    (effect,) = simulate(main, CancelTask(2)).check().effects
    assert effect.endswith("(count_up)")
    (effect,) = simulate(step, CancelTask(3, 1)).outcome.effects
    assert effect.endswith("(count_up)")


def test_a_coroutine_that_a_cancel_keeps_from_beginning_is_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """A search does it on purpose, thousands of times."""

    async def main() -> None:
        later = [asyncio.sleep(1) for _ in range(3)]
        while later:
            await later.pop()

    assert explore(main, drawn=10).findings == []
    assert [each for each in recwarn if "never awaited" in str(each.message)] == []


@pytest.mark.parametrize("case", [CancelTask(3, 1), FailCall("ask", 1, "refused")], ids=str)
def test_an_ended_task_keeps_nothing_open(case: Perturbation) -> None:
    """Outside a simulation the error of a task, and what its frames refer to, is soon forgotten."""

    async def main() -> None:
        child = asyncio.create_task(hold())
        await asyncio.wait([child])
        del child
        seen.append(Wire.open_count)
        await hold()

    async def hold() -> None:
        wire = Wire()
        assert await ask("a"), wire

    async def resume() -> None:
        seen.append(Wire.open_count)

    seen = list[int]()
    outcome = simulate(main, case, resume=resume).check()
    assert (len(outcome.effects), {*seen}) == (1, {0})
    seen.clear()
    simulate(hold, CancelTask(2), resume=resume, own_loop=True).check()
    assert seen == [0]

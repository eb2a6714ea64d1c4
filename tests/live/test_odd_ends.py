"""Goal: a memory that ends in an odd way is neither stuck nor in the way of the next one."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.test_command import surroundings
from umi_live import LiveError, LiveMemory, ScopeTaken, StoreError, open_blocking, open_memory
from umi_live.local import HashEmbedder

ODD_ENDS: Final = (
    asyncio.CancelledError, GeneratorExit, SystemExit, KeyError, lambda: BaseExceptionGroup("", [KeyError()]),
)  # fmt: skip
FORKS: Final = """
import os, sys
from umi_live import Closed, ScopeTaken, open_blocking

with open_blocking("agent.db", user="ann", agent="helper") as memory:
    memory.remember("Ann likes tea.")
    child = os.fork()
    if not child:
        try:
            memory.count()
        except Closed as error:
            print(error)
        try:
            open_blocking("agent.db", user="ann", agent="helper").__enter__()
        except ScopeTaken as error:
            print(error)
        with open_blocking("agent.db", user="ann", agent="other") as other:
            other.remember("Ann likes figs.")
            print(other.count(), flush=True)
    else:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        memory.remember("Ann likes milk.")
        print(memory.count())
"""
INTERRUPTED: Final = """
import asyncio, signal
from umi_live import open_blocking

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs behind

class Silent:
    name = "silent"
    async def ask(self, task, prompt, timeout_ms):
        print("asked", flush=True)
        await asyncio.sleep(1_000)
    async def close(self):
        print("closed", flush=True)

with open_blocking(":memory:", user="ann", agent="helper", model=Silent()) as memory:
    memory.remember("Ann likes tea.", embed=False)
"""


@pytest.mark.parametrize("is_at_once", [False, True])
@pytest.mark.parametrize("end", ODD_ENDS)
def test_whatever_a_service_raises_its_question_has_an_answer(
    end: Callable[[], BaseException], is_at_once: bool
) -> None:
    class Failing(HashEmbedder):
        name, dims = "failing", 8

        async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
            raise end()

    class FailingAtOnce(Failing):
        def embed_at_once(self, texts: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
            raise end()

    async def use() -> None:
        embedder = FailingAtOnce() if is_at_once else Failing()
        async with (
            asyncio.timeout(20),
            open_memory(":memory:", user="ann", agent="helper", embedder=embedder) as memory,
        ):
            result = await memory.remember("Ann likes tea.")
            assert [(it.name, it.reason) for it in result.degraded] == [("embed:no_vectors", "unavailable")]

    asyncio.run(use())


def test_a_memory_whose_loop_has_ended_without_closing_it_may_be_opened_again(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "agent.db", user="ann", agent="helper")

    async def leave_open() -> None:
        await memory.__aenter__()
        await memory.remember("Ann likes tea.")

    async def use(again: LiveMemory) -> int:
        async with again:
            with pytest.raises(ScopeTaken, match="open in this process"):
                await open_memory(tmp_path / "agent.db", user="ann", agent="helper").__aenter__()
            return await again.count()

    asyncio.run(leave_open())
    assert asyncio.run(use(memory)) == 1
    asyncio.run(leave_open())
    assert asyncio.run(use(open_memory(tmp_path / "agent.db", user="ann", agent="helper"))) == 1
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as last:
        assert last.count() == 1


def test_an_open_blocking_memory_is_not_opened_twice_and_a_missing_file_not_read(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        with pytest.raises(LiveError, match="is open already"):
            memory.__enter__()
        assert memory.count() == 0
    with (
        pytest.raises(StoreError, match=r"no\.db: is not there"),
        open_blocking(tmp_path / "no.db", user="ann", agent="helper", read_only=True),
    ):
        pass


def test_a_fork_opens_the_file_anew_and_leaves_the_memory_of_its_parent_alone(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "ignore", "-P", "-c", FORKS]
    done = subprocess.run(words, cwd=tmp_path, env=surroundings(), capture_output=True, timeout=60, text=True)
    assert done.stdout.splitlines() == [
        "the memory was opened by the process that forked this one; open it here as well",
        "the memory of user 'ann' and agent 'helper' is open in another process; close it there first",
        "1",
        "2",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupted_call_is_withdrawn_though_the_model_is_silent(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-c", INTERRUPTED]
    with subprocess.Popen(
        words, cwd=tmp_path, env=surroundings(), stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)  # less than the time that a model has
    assert output == "closed\n"
    assert errors.endswith("KeyboardInterrupt\n")


def test_what_an_interrupt_left_under_way_is_withdrawn_by_the_end_of_the_block() -> None:
    """An interrupt may come before the caller waits; then only the end of the block can withdraw the call."""
    asked, closed = threading.Event(), threading.Event()

    class Silent:
        name = "silent"

        async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
            asked.set()
            await asyncio.sleep(1_000)
            raise AssertionError("it is never asked for so long")

        async def close(self) -> None:
            closed.set()

    begun = list[Future[object]]()

    def interrupt() -> None:
        with open_blocking(":memory:", user="ann", agent="helper", model=Silent()) as memory:
            begun.append(memory.begin(memory.memory.remember("Ann likes tea.", embed=False)))
            assert asked.wait(20)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert ([it.cancelled() for it in begun], closed.is_set()) == ([True], True)

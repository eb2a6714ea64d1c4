"""Goal: a call that is out of time ends, says what became of it, and leaves no request that goes on."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from tests.live.served import holding_commits
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.requests import Recall, Remember
from umi_live import LiveMemory, NotDone, RequestRefused, TimedOut, open_blocking, open_memory
from umi_live.deadlines import limit_time
from umi_live.local import HashEmbedder, RuleModel

TEA = "Ann likes tea."
SOON = 0.05


class Hanging(RuleModel):
    """Answers nothing while it hangs; counts its questions, and those of which the wait was ended."""

    def __init__(self) -> None:
        self.hangs, self.asked, self.ended = True, 0, 0

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        self.asked += 1
        try:
            if self.hangs:
                await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.ended += 1
            raise
        return await super().ask(task, prompt, timeout_ms)


def live(use: Callable[[LiveMemory], Awaitable[None]], path: Path | str = ":memory:", **options: Any) -> None:
    async def run() -> None:
        async with open_memory(path, user="ann", agent="helper", **options) as memory:
            await memory.count()  # recovery has ended
            await use(memory)

    asyncio.run(run())


def test_a_request_that_waits_for_a_model_ends_without_a_change() -> None:
    model = Hanging()

    async def use(memory: LiveMemory) -> None:
        with pytest.raises(TimedOut) as found:
            await memory.remember(TEA, timeout=SOON)
        error = found.value
        assert (error.operation, error.seconds, error.may_be_done) == ("remember", SOON, False)
        assert str(error) == "remember: not done within 0.05 seconds; nothing was changed"
        assert isinstance(error, NotDone)
        assert isinstance(error, TimeoutError)
        assert memory.host is not None
        await memory.host.drain()  # it asks nothing more, so it ends at once
        assert (model.asked, model.ended) == (1, 1)
        model.hangs = False
        assert await memory.count() == 0
        await memory.remember(TEA, timeout=60)

    live(use, model=model)


def test_a_request_whose_commit_was_sent_may_be_done_and_is_once(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        assert memory.store is not None
        with holding_commits(memory.store), pytest.raises(TimedOut) as found:
            await memory.remember(TEA, request_key="k", timeout=0.2)
        assert found.value.may_be_done
        assert str(found.value).endswith("it may be done yet: ask again with the same request_key")
        assert (await memory.remember(TEA, request_key="k")).value.repeated
        assert await memory.count() == 1

    live(use, tmp_path / "agent.db")


def test_a_question_that_was_read_for_too_long_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Hanging()
    model.hangs = False

    async def use(memory: LiveMemory) -> None:
        assert memory.store is not None
        assert memory.host is not None
        storage, read = memory.store.storage, memory.store.storage.read

        def read_late(*given: Any) -> Any:
            time.sleep(0.2)
            return read(*given)

        with monkeypatch.context() as slow:
            slow.setattr(storage, "read", read_late)
            with pytest.raises(TimedOut, match="nothing was changed"):
                await memory.remember(TEA, request_key="k", timeout=SOON)
            await memory.host.drain()
        assert model.asked == 0
        assert await memory.count() == 0

    live(use, model=model)


def test_a_cancelled_request_asks_no_more_either() -> None:
    model = Hanging()

    async def use(memory: LiveMemory) -> None:
        for cancel in (asyncio.timeout(SOON), asyncio.timeout(0)):
            with pytest.raises(TimeoutError):
                async with cancel:
                    await memory.remember(TEA)
        model.hangs = False
        assert memory.host is not None
        await memory.host.drain()
        assert (model.asked, await memory.count()) == (model.ended, 0)

    live(use, model=model)


def test_a_request_that_waits_for_its_turn_has_not_begun() -> None:
    model = Hanging()

    async def use(memory: LiveMemory) -> None:
        others = [asyncio.create_task(memory.remember(f"Fact {n}.")) for n in range(OP_COUNT_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(TimedOut, match="nothing was changed"):
            await memory.recall("tea", timeout=SOON)
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        model.hangs = False
        assert (await memory.count(timeout=60), model.asked) == (0, 8)  # MODEL_CALLS_MAX

    live(use, model=model)


class SlowEmbedder(HashEmbedder):
    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        await asyncio.sleep(0.3)
        return await super().embed(texts, timeout_ms)


def test_a_memory_has_a_limit_for_calls_that_give_none() -> None:
    async def use(memory: LiveMemory) -> None:
        for call in (
            memory.recall("tea"),
            memory.ask(Recall(0, "tea"), object),
            memory.drive(Recall(0, "tea")),
        ):
            with pytest.raises(TimedOut, match=r"^recall: not done within 0.1 seconds; nothing was changed$"):
                await call
        assert list(await memory.recall("tea", timeout=math.inf)) == []
        assert (await memory.ask(Remember(0, TEA), object, timeout=5)).degraded == ()

    live(use, embedder=SlowEmbedder(), timeout=0.1)


def test_a_call_of_many_requests_has_one_limit_and_may_be_done_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(memory: LiveMemory) -> None:
        await memory.remember("Ann likes tea. Ann works at Acme. Ann lives in Oslo.", timeout=math.inf)
        forget = memory.forget

        async def forget_late(key: str) -> Any:
            result = await forget(key)
            await asyncio.sleep(0.2)
            return result

        with monkeypatch.context() as slow:
            slow.setattr(memory, "forget", forget_late)
            with pytest.raises(TimedOut, match=r"^forget_all_about: .*; it may be done yet"):
                await memory.forget_all_about("Ann", timeout=0.3)
        assert await memory.count() == 1
        with pytest.raises(TimedOut, match=r"^clear: "):
            await memory.clear(timeout=1e-9)
        async with limit_time("all", 60):  # the inner limit tells the outer one what it knows
            assert len(await memory.forget_all_about("Ann", timeout=50)) == 1

    live(use, timeout=10)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, True, "5"])
def test_a_limit_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(RequestRefused, match=r"timeout: .* is not allowed, expected seconds, more than 0"):
        open_memory(":memory:", user="ann", agent="helper", timeout=wrong)
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        with pytest.raises(RequestRefused, match="timeout"):
            memory.remember(TEA, timeout=wrong)
        with pytest.raises(RequestRefused, match="timeout"):
            memory.ask(Recall(0, "tea"), object, timeout=wrong)


def test_every_method_that_waits_takes_a_limit() -> None:
    waiting = [it for name, it in vars(LiveMemory).items() if iscoroutinefunction(it) and name[0] != "_"]
    without = [it.__name__ for it in waiting if "timeout" not in signature(it).parameters]
    assert (len(waiting) > 20, without) == (True, [])


def test_a_blocking_call_has_a_limit_too() -> None:
    with (
        open_blocking(":memory:", user="ann", agent="helper", model=Hanging(), timeout=SOON) as memory,
        pytest.raises(TimedOut, match="remember"),
    ):
        memory.remember(TEA)


def test_a_timeout_of_something_else_is_its_own() -> None:
    async def run() -> None:
        for seconds in (None, 60):
            with pytest.raises(TimeoutError) as found:
                async with limit_time("all", seconds):
                    raise TimeoutError
            assert not isinstance(found.value, TimedOut)

    asyncio.run(run())
